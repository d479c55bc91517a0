"""What calls on worlds return."""

from __future__ import annotations

import collections.abc
import enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.texts import documented
from axion.v1 import query_pb2, simulation_pb2, solver_pb2, state_pb2, tensor_pb2

_Floats: TypeAlias = "npt.NDArray[np.float64]"
_Ints: TypeAlias = "npt.NDArray[np.int32]"


class Outcome(enum.IntFlag):
    """Bits of a world's outcome.

    Over several steps CONVERGED is set only if all of them were, the others if any was.
    """

    CONVERGED = 1
    MAX_ITERATIONS = 2     # at least one step stopped above its tolerance
    CONTACT_OVERFLOW = 4   # more contacts than the model's contact_capacity; the deepest were kept
    NON_FINITE = 8         # frozen at its last finite state until it is reset
    FALLBACK = 16          # at least one step was redone with a more robust joint mode
    EASED = 32             # an equality that no motion could meet gave way
    OVERLAP = 64           # bodies stayed deep in each other: no motion, or none within bounds, parts them


class _Fields(collections.abc.Mapping[str, "npt.NDArray[Any]"]):
    """Read-only mapping from field names to arrays [n, ...]; the arrays share the bytes of the response."""

    def __init__(self, proto: Any, field_tensors: collections.abc.Mapping[str, tensor_pb2.Tensor]) -> None:
        self._answer = proto
        self._tensors = field_tensors

    def __reduce__(self) -> tuple[Any, ...]:
        """Answers go from process to process as the message that they are of."""
        return type(self), (self._answer,)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._tensors:
            raise KeyError(f"{name!r} was not asked for; there are {', '.join(sorted(self._tensors)) or 'none'}")
        return tensors.to_array(self._tensors[name])

    def __iter__(self) -> collections.abc.Iterator[str]:
        return iter(sorted(self._tensors))

    def __len__(self) -> int:
        return len(self._tensors)

    def _of_each_world(self, name: str, dtype: Any) -> npt.NDArray[Any]:
        """A list of the message as an array; where it was asked for as a field too, that one, without a walk over it."""
        if name in self._tensors and len(self._tensors[name].shape) == 1:  # two dimensions: it was recorded
            return tensors.to_array(self._tensors[name])
        return np.fromiter(getattr(self._answer, name), dtype, len(getattr(self._answer, name)))

    @property
    def time(self) -> _Floats:
        """Simulated time of each world, s: float64 [n]."""
        return self._of_each_world("time", np.float64)

    @property
    def step_index(self) -> npt.NDArray[np.int64]:
        """Steps of each world since its last reset: int64 [n]."""
        return self._of_each_world("step_index", np.int64)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(self[name].shape)}" for name in self)
        return f"<{type(self).__name__} of {len(self._answer.time)} worlds: {shapes or 'no fields'}>"


@documented
class StepResult(_Fields):
    """Answer to a step: a mapping from the outputs asked for to arrays.

    Arrays are [n, ...] or, with record_every, [n, records, ...]; they are read-only and share the bytes of the
    answer.

    Attributes
    ----------
    proto : axion.v1.StepResponse
        The answer.
    """

    def __init__(self, proto: simulation_pb2.StepResponse) -> None:
        super().__init__(proto, proto.outputs)
        self.proto = proto

    @property
    def outcome(self) -> npt.NDArray[np.uint32]:
        """Bits of Outcome of each world: uint32 [n]."""
        return self._of_each_world("outcome", np.uint32)

    @property
    def request_id(self) -> str:
        """The identity of the request, by which it may be repeated."""
        return self.proto.request_id

    @property
    def converged(self) -> npt.NDArray[np.bool_]:
        """True for each world all of whose steps met the tolerance: bool [n]."""
        mask: npt.NDArray[np.bool_] = (self.outcome & Outcome.CONVERGED) != 0
        return mask


@documented
class State(_Fields):
    """Answer to get_state: a mapping from names of fields to arrays [n, ...].

    "snapshot", if it was asked for, is an array of n bytes objects: what set_state and reset take.

    Attributes
    ----------
    proto : axion.v1.GetStateResponse
        The answer.
    """

    def __init__(self, proto: state_pb2.GetStateResponse) -> None:
        super().__init__(proto, proto.fields)
        self.proto = proto

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name != "snapshot" or not self.proto.snapshot:
            return super().__getitem__(name)
        snapshots = np.empty(len(self.proto.snapshot), dtype=object)
        snapshots[:] = list(self.proto.snapshot)
        return snapshots

    def __iter__(self) -> collections.abc.Iterator[str]:
        return iter(sorted([*self._tensors, *(["snapshot"] if self.proto.snapshot else [])]))

    def __len__(self) -> int:
        return len(self._tensors) + (1 if self.proto.snapshot else 0)


@documented
class RayHits:
    """Answer to cast_rays.

    Attributes
    ----------
    distance : numpy.ndarray
        Float64 [n, rays], m; -1 where a ray meets nothing.
    shape : numpy.ndarray
        Int32 [n, rays], index into the model's shapes; -1 where a ray meets nothing.
    """

    def __init__(self, proto: query_pb2.CastRaysResponse) -> None:
        self.distance: _Floats = tensors.to_array(proto.distance)
        self.shape: _Ints = tensors.to_array(proto.shape)

    def __repr__(self) -> str:
        return f"<axion.RayHits {int((self.shape >= 0).sum())} of {self.shape.size} rays meet a shape>"


@documented
class Distances:
    """Answer to distances.

    Attributes
    ----------
    distance : numpy.ndarray
        Float64 [n, pairs], m; negative where shapes overlap, max_distance where they are further apart.
    point_a, point_b : numpy.ndarray
        Float64 [n, pairs, 3], m, world frame: the nearest points, zero where shapes are further apart.
    """

    def __init__(self, proto: query_pb2.GetDistancesResponse) -> None:
        self.distance: _Floats = tensors.to_array(proto.distance)
        self.point_a: _Floats = tensors.to_array(proto.point_a)
        self.point_b: _Floats = tensors.to_array(proto.point_b)

    def __repr__(self) -> str:
        return f"<axion.Distances of {self.distance.shape[1]} pairs in {self.distance.shape[0]} worlds>"


@documented
class Dynamics:
    """Answer to dynamics, of the joint tree, in the nv coordinates of joint_velocity.

    mass_matrix dv/dt + bias_force are the forces along the coordinates.

    Attributes
    ----------
    frame_pose : numpy.ndarray
        Float64 [n, frames, 7]: x y z (m), quaternion w x y z, in the world.
    jacobian : numpy.ndarray
        Float64 [n, frames, 6, nv]: velocity of each frame's origin (m/s), then angular velocity (rad/s), world axes.
    mass_matrix : numpy.ndarray or None
        Float64 [n, nv, nv], with armature.
    bias_force : numpy.ndarray or None
        Float64 [n, nv], N or N m.
    """

    def __init__(self, proto: query_pb2.GetDynamicsResponse) -> None:
        self.frame_pose: _Floats = tensors.to_array(proto.frame_pose)
        self.jacobian: _Floats = tensors.to_array(proto.jacobian)
        self.mass_matrix: _Floats | None = tensors.to_array(proto.mass_matrix) if proto.HasField("mass_matrix") else None
        self.bias_force: _Floats | None = tensors.to_array(proto.bias_force) if proto.HasField("bias_force") else None

    def __repr__(self) -> str:
        return f"<axion.Dynamics of {self.jacobian.shape[1]} frames and {self.jacobian.shape[3]} coordinates>"


@documented
class Contacts:
    """Contacts of the last step, by columns: of the first world asked for, then of the second, and so on.

    Attributes
    ----------
    world : numpy.ndarray
        Index of the world: int32 [c].
    shape_a, shape_b, body_a, body_b : numpy.ndarray
        Indices into the model: int32 [c]; body -1 is the world.
    point, normal : numpy.ndarray
        Where (m), and the unit normal from b to a, world frame: float64 [c, 3].
    gap : numpy.ndarray
        Distance, m; negative is overlap: float64 [c].
    normal_impulse : numpy.ndarray
        N s: float64 [c].
    friction_impulse : numpy.ndarray
        On a, N s, world frame: float64 [c, 3].
    moment_impulse : numpy.ndarray
        Of torsional and rolling friction, on a, N m s, world frame: float64 [c, 3].
    contact_count : numpy.ndarray
        Contacts of each world asked for: int32 [n].
    """

    shape_a: _Ints
    shape_b: _Ints
    body_a: _Ints
    body_b: _Ints
    gap: _Floats
    normal_impulse: _Floats
    point: _Floats
    normal: _Floats
    friction_impulse: _Floats
    moment_impulse: _Floats

    def __init__(self, proto: state_pb2.GetContactsResponse) -> None:
        self.contact_count: _Ints = np.array(proto.contact_count, dtype=np.int32)
        self.world: _Ints = np.repeat(np.array(proto.world_indices, dtype=np.int32), self.contact_count)
        for name in ("shape_a", "shape_b", "body_a", "body_b"):
            setattr(self, name, np.array(getattr(proto, name), dtype=np.int32))
        for name in ("gap", "normal_impulse"):
            setattr(self, name, np.array(getattr(proto, name)))
        for name in ("point", "normal", "friction_impulse"):
            setattr(self, name, tensors.to_array(getattr(proto, name)))
        known = proto.HasField("moment_impulse")  # servers of before there was such friction have none
        self.moment_impulse = tensors.to_array(proto.moment_impulse) if known else np.zeros_like(self.friction_impulse)

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        return f"<axion.Contacts: {len(self)} of {len(self.contact_count)} worlds>"


class Histogram:
    """Counts of values in bins.

    Parameters
    ----------
    proto : BinnedCounts
        The counts.

    Attributes
    ----------
    bounds : numpy.ndarray
        Upper bounds of the bins but the last: float64 [bins - 1].
    counts : numpy.ndarray
        counts[b] values are above bounds[b-1] and at most bounds[b]; the last bin has those above: int64 [bins].
    sum, mean : float
        Of all values.
    count : int
        How many there are.
    """

    def __init__(self, proto: solver_pb2.BinnedCounts) -> None:
        self.bounds: _Floats = np.array(proto.bounds)
        self.counts: npt.NDArray[np.int64] = np.array(proto.counts, dtype=np.int64)
        self.sum = proto.sum
        self.count = int(self.counts.sum())
        self.mean = self.sum / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return f"<axion.Histogram of {self.count} values: mean {self.mean:.4g}, half of them up to {self.quantile(0.5):g}>"

    def quantile(self, fraction: float) -> float:
        """Finds the bin in which a fraction of the values is reached.

        Parameters
        ----------
        fraction : float
            From 0 to 1.

        Returns
        -------
        float
            Its upper bound; infinity for the last bin, 0 without values.
        """
        if not self.count:
            return 0.0
        bin_index = int(np.searchsorted(np.cumsum(self.counts), fraction * self.count))
        return float(self.bounds[bin_index]) if bin_index < len(self.bounds) else float("inf")


class BatchStats:
    """Sums over the world-steps of a batch since it was made.

    Parameters
    ----------
    proto : BatchSolverStats
        The sums.

    Attributes
    ----------
    world_steps, converged, max_iterations, contact_overflow, non_finite, fallback, eased, overlap : int
        Counts of world-steps.
    newton_iterations, linear_iterations, line_search_steps : Histogram
        Per world-step.
    sweep_rounds, contact_sweeps, contacts : Histogram
        Rounds of sweeps over contacts, sweeps of all rounds, contacts, per world-step.
    residual : dict of str to Histogram
        By block (dynamics, joint, contact, friction, control), in multiples of the tolerance.
    joint_modes : dict of str to int
        Counts by the joint mode that a step ended in.
    max_penetration, max_joint_error, max_overlap, max_equality_error : float
        The greatest so far, m; the last two of steps that ended OVERLAP and EASED.
    """

    world_steps: int
    converged: int
    max_iterations: int
    contact_overflow: int
    non_finite: int
    fallback: int
    eased: int
    overlap: int
    newton_iterations: Histogram
    linear_iterations: Histogram
    line_search_steps: Histogram
    sweep_rounds: Histogram
    contact_sweeps: Histogram
    contacts: Histogram

    def __init__(self, proto: solver_pb2.BatchSolverStats) -> None:
        for name in ("world_steps", "converged", "max_iterations", "contact_overflow", "non_finite", "fallback", "eased", "overlap"):
            setattr(self, name, getattr(proto, name))
        for name in ("newton_iterations", "linear_iterations", "line_search_steps", "sweep_rounds", "contact_sweeps",
                     "contacts"):
            setattr(self, name, Histogram(getattr(proto, name)))
        self.residual = {block: Histogram(counts) for block, counts in proto.residual.items()}
        self.joint_modes: dict[str, int] = dict(proto.joint_modes)
        self.max_penetration = proto.max_penetration_meters
        self.max_joint_error = proto.max_joint_error_meters
        self.max_overlap = proto.max_overlap_meters
        self.max_equality_error = proto.max_equality_error

    def __repr__(self) -> str:
        return (f"<axion.BatchStats: {self.world_steps} world-steps, {100 * self.converged_fraction:.3f} % converged, "
                f"{self.newton_iterations.mean:.2f} Newton iterations, {self.contacts.mean:.2f} contacts>")

    @property
    def converged_fraction(self) -> float:
        """Share of world-steps that met the tolerance; 1 before the first step."""
        return self.converged / self.world_steps if self.world_steps else 1.0


class WorldStats:
    """What the solver did in the last step of each world asked for, by columns.

    Parameters
    ----------
    proto : WorldSolverStats
        The columns.

    Attributes
    ----------
    world, newton_iterations, linear_iterations, line_search_steps : numpy.ndarray
        Int32 [n].
    sweep_rounds, contact_sweeps, contact_count : numpy.ndarray
        Int32 [n].
    outcome : numpy.ndarray
        Bits of Outcome: uint32 [n].
    residual, residual_normalised : numpy.ndarray
        Float64 [n, 5], in m/s or rad/s, and in multiples of the tolerance, in the order of residual_blocks.
    residual_blocks : list of str
        Names of those columns.
    joint_mode : list of str
        The joint mode that the step ended in; "unspecified" before the first.
    max_penetration, max_joint_error, max_equality_error : numpy.ndarray
        Float64 [n], m (the last, of equalities that were eased, m or rad).
    """

    newton_iterations: _Ints
    linear_iterations: _Ints
    line_search_steps: _Ints
    sweep_rounds: _Ints
    contact_sweeps: _Ints
    contact_count: _Ints

    def __init__(self, proto: solver_pb2.WorldSolverStats) -> None:
        self.world: _Ints = np.array(proto.world_indices, dtype=np.int32)
        for name in ("newton_iterations", "linear_iterations", "line_search_steps", "sweep_rounds", "contact_sweeps",
                     "contact_count"):
            setattr(self, name, np.array(getattr(proto, name), dtype=np.int32))
        self.outcome: npt.NDArray[np.uint32] = np.array(proto.outcome, dtype=np.uint32)
        self.residual: _Floats = tensors.to_array(proto.residual)
        self.residual_normalised: _Floats = tensors.to_array(proto.residual_normalised)
        self.residual_blocks = list(proto.residual_blocks)
        self.joint_mode = [solver_pb2.JointMode.Name(mode).removeprefix("JOINT_MODE_").lower()
                           for mode in proto.joint_mode]
        self.max_penetration: _Floats = np.array(proto.max_penetration_meters)
        self.max_joint_error: _Floats = np.array(proto.max_joint_error_meters)
        self.max_equality_error: _Floats = np.array(proto.max_equality_error)

    def __repr__(self) -> str:
        solved = int(np.count_nonzero(self.outcome & Outcome.CONVERGED))
        return (f"<axion.WorldStats of {len(self.world)} worlds: {solved} converged, at most {self.newton_iterations.max(initial=0)} "
                f"Newton iterations, {self.max_penetration.max(initial=0.0):.2g} m of penetration>")
