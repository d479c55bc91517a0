"""What linearise returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.results import Outcome
from axion.texts import documented
from axion.v1 import linearize_pb2, tensor_pb2

if TYPE_CHECKING:
    from axion.model import Model

_Floats: TypeAlias = "npt.NDArray[np.float64]"


def _product(a: _Floats, b: _Floats) -> _Floats:
    """Of quaternions [n, 4]."""
    w, v, x, u = a[:, :1], a[:, 1:], b[:, :1], b[:, 1:]
    return np.concatenate([w * x - (v * u).sum(axis=1, keepdims=True), w * u + x * v + np.cross(v, u)], axis=1)


def _rotated(q: _Floats, v: _Floats) -> _Floats:
    """A vector [3] turned by each of unit quaternions [n, 4]."""
    twice = 2 * np.cross(q[:, 1:], v)
    turned: _Floats = v + q[:, :1] * twice + np.cross(q[:, 1:], twice)
    return turned


def _turn(to: _Floats, since: _Floats) -> _Floats:
    """The rotation vectors [n, 3] that lead from quaternions to others [n, 4]."""
    by = _product(to, since * [1, -1, -1, -1])
    by = np.where(by[:, :1] < 0, -by, by)
    sine = np.linalg.norm(by[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(sine, by[:, :1])
    vectors: _Floats = by[:, 1:] * np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0)
    return vectors


def linearisation_method(word: str) -> linearize_pb2.LinearizeMethod:
    """ValueError unless it is "exact" or "differences"."""
    methods = {"exact": linearize_pb2.LINEARIZE_METHOD_EXACT, "differences": linearize_pb2.LINEARIZE_METHOD_DIFFERENCES}
    if word not in methods:
        raise ValueError(f"method: {word!r} is none of {', '.join(methods)}")
    return methods[word]


def words_of(enum: Any, prefix: str, values: tensor_pb2.Tensor) -> npt.NDArray[np.str_]:
    """The names of an enum's values in plain words; "" of UNSPECIFIED and of values that are newer than this client."""
    words = {value: name.removeprefix(prefix).lower().replace("_", " ") for name, value in enum.items() if value != 0}
    array = tensors.to_array(values)
    return np.array([words.get(int(one), "") for one in array.ravel()], dtype=np.str_).reshape(array.shape)


@documented
class Linearisation:
    """Answer to linearise: how each of k steps of n worlds depends on the state that it begins with and on its control.

    dx' = A dx + B du and dy = C dx + D du, of the state x that a step begins with, the state x' that it leaves, its
    control u and the sensor_data y after it. A change dx of a state has a number for each of `coordinates`: nv of
    position, along the coordinates of joint_velocity, then nv of joint_velocity, then activations. Arrays are read-only.

    Attributes
    ----------
    coordinates : list of axion.v1.StateCoordinate
        Kind, name, joint or actuator, and unit of each coordinate of dx, [x].
    A : numpy.ndarray
        Float64 [n, k, x, x]; NaN where the world is frozen, as from a step on that ended NON_FINITE, and in the column of
        a coordinate that is too great for the difference to move it.
    B : numpy.ndarray
        Float64 [n, k, x, nu], NaN likewise.
    C : numpy.ndarray or None
        Float64 [n, k, sensor_size, x], NaN likewise; None without sensors=True.
    D : numpy.ndarray or None
        Float64 [n, k, sensor_size, nu], NaN likewise; None without sensors=True.
    joint_position : numpy.ndarray
        The trajectory, rad, m: float64 [n, k + 1, nq], before each step and after the last.
    joint_velocity : numpy.ndarray
        Likewise, rad/s, m/s: float64 [n, k + 1, nv].
    activation : numpy.ndarray
        Likewise: float64 [n, k + 1, activations].
    sensor_data : numpy.ndarray or None
        After each step: float64 [n, k, sensor_size], NaN of a world that was frozen before it; None without sensors=True.
    outcome : numpy.ndarray
        Bits of Outcome of each step, and by differences of all that were made beside it: uint32 [n, k].
    kink : numpy.ndarray
        True where a coordinate or control leads over a kink, as where a contact opens, begins to slide, or a limit is
        reached, so that its column is no derivative: bool [n, k, x + nu]. Of exact matrices: where it would within
        `difference`; the column is then that of the step's own side.
    method : numpy.ndarray
        How the matrices of each step were made, "exact" or "differences": str [n, k].
    law : numpy.ndarray
        Which law has no exact derivative yet, where that was asked for, such as "soft contact" or "shape"; else "":
        str [n, k].
    """

    def __init__(self, proto: linearize_pb2.LinearizeResponse) -> None:
        self.coordinates = list(proto.coordinates)
        self.A: _Floats = tensors.to_array(proto.a)
        self.B: _Floats = tensors.to_array(proto.b)
        self.C: _Floats | None = tensors.to_array(proto.c) if proto.HasField("c") else None
        self.D: _Floats | None = tensors.to_array(proto.d) if proto.HasField("d") else None
        self.joint_position: _Floats = tensors.to_array(proto.joint_position)
        self.joint_velocity: _Floats = tensors.to_array(proto.joint_velocity)
        self.activation: _Floats = tensors.to_array(proto.activation)
        self.sensor_data: _Floats | None = tensors.to_array(proto.sensor_data) if proto.HasField("sensor_data") else None
        self.outcome: npt.NDArray[np.uint32] = tensors.to_array(proto.outcome)
        self.kink: npt.NDArray[np.bool_] = tensors.to_array(proto.kink) != 0
        self.method: npt.NDArray[np.str_] = words_of(linearize_pb2.LinearizeMethod, "LINEARIZE_METHOD_", proto.method)
        self.law: npt.NDArray[np.str_] = words_of(linearize_pb2.LinearizeLaw, "LINEARIZE_LAW_", proto.law)

    @property
    def names(self) -> list[str]:
        """list of str : Names of the coordinates: of joints, "d(name)/dt" of their rates, and of actuators, [x]."""
        is_rate = linearize_pb2.STATE_COORDINATE_KIND_VELOCITY
        return [f"d({one.name})/dt" if one.kind == is_rate else one.name for one in self.coordinates]

    @documented
    def deviation(self, model: Model, joint_position: npt.ArrayLike, joint_velocity: npt.ArrayLike,
                  activation: npt.ArrayLike | None = None, step: int = 0) -> _Floats:
        """Computes how far states are from the states of the trajectory, as the changes dx that A takes.

        Parameters
        ----------
        model : Model
            The model of the batch. Centres of mass that worlds have of their own are not looked at.
        joint_position : array_like
            Coordinates of the joints (rad, m): [n, nq], or [nq] for every world alike.
        joint_velocity : array_like
            Their rates (rad/s, m/s): [n, nv], or [nv] for every world alike.
        activation : array_like, optional
            Activations: [n, activations], or [activations] for every world alike; None takes the trajectory's.
        step : int, default 0
            From the state before which of the steps, or k: from that after the last.

        Returns
        -------
        numpy.ndarray
            Float64 [n, x], in the order of `coordinates`.

        Raises
        ------
        ValueError
            An array has no such shape.
        """
        since = self.joint_position[:, step], self.joint_velocity[:, step], self.activation[:, step]
        given = joint_position, joint_velocity, self.activation[:, step] if activation is None else activation
        position, velocity, active = (np.broadcast_to(tensors.as_array(one, name, np.float64), old.shape) for one, old, name in zip(
            given, since, ("joint_position", "joint_velocity", "activation")))
        moved = np.zeros_like(since[1])
        for joint in model.proto.joints:
            p, v, count = joint.position_start, joint.velocity_start, joint.velocity_count
            if joint.position_count == count:  # hinges and slides
                moved[:, v:v + count] = position[:, p:p + count] - since[0][:, p:p + count]
                continue
            at = p + joint.position_count - 4
            to, old = (one[:, at:at + 4] / np.linalg.norm(one[:, at:at + 4], axis=1, keepdims=True) for one in (position, since[0]))
            moved[:, v + count - 3:v + count] = _turn(to, old)
            if count == 6:
                center = model.proto.bodies[joint.child].center_of_mass
                arm = np.array([center.x, center.y, center.z])
                moved[:, v:v + 3] = position[:, p:p + 3] - since[0][:, p:p + 3] + _rotated(to, arm) - _rotated(old, arm)
        return np.concatenate([moved, velocity - since[1], active - since[2]], axis=1)

    @property
    def converged(self) -> npt.NDArray[np.bool_]:
        """True where the step, and all that were made beside it for differences, met the tolerance of 1e-11: bool [n, k]."""
        mask: npt.NDArray[np.bool_] = (self.outcome & Outcome.CONVERGED) != 0
        return mask

    def __repr__(self) -> str:
        n, k = self.A.shape[:2]
        return (f"<axion.Linearisation of {k} steps of {n} worlds: {self.A.shape[2]} coordinates, {self.B.shape[3]} controls, "
                f"{int(self.kink.any(axis=-1).sum())} steps at kinks>")
