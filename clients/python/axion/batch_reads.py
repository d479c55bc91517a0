"""What is asked about the worlds of a batch without changing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axion import results, tensors
from axion.arguments import checked
from axion.batch_requests import BatchRequests, IndexOfName
from axion.calls import Calls
from axion.linearisation import Linearisation, linearisation_method
from axion.names import Choices
from axion.step_gradient import StepGradient
from axion.tensors import Worlds
from axion.texts import documented_call
from axion.v1 import linearize_pb2, query_pb2, scene_pb2, simulation_pb2, state_pb2, step_gradient_pb2

_Result = TypeVar("_Result")


def _frame(index: IndexOfName, body: int | str, pose: npt.ArrayLike) -> scene_pb2.FrameSpec:
    """A point or a pose of a body."""
    numbers = tensors.as_array(pose, "frames", np.float64).reshape(-1).tolist()
    if len(numbers) not in (3, 7):
        raise TypeError(f"frames: wants 3 or 7 numbers for a frame, not {len(numbers)}")
    position = scene_pb2.Vec3(x=numbers[0], y=numbers[1], z=numbers[2])
    w, x, y, z = numbers[3:] if len(numbers) == 7 else (1.0, 0.0, 0.0, 0.0)
    return scene_pb2.FrameSpec(body=index("frames", body, "body"), pose=scene_pb2.Pose(
        position=position, rotation=scene_pb2.Quaternion(w=w, x=x, y=y, z=z)))


def _pairs(given: Iterable[tuple[Any, Any]], name: str, words: str) -> list[tuple[Any, Any]]:
    """Pairs that an argument of that name gives, in words such pairs."""
    found = list(given)
    for one in found:
        if isinstance(one, (str, bytes)) or not hasattr(one, "__len__") or len(one) != 2:
            raise TypeError(f"{name}: wants pairs of {words}, not {one!r}")
    return found


class BatchReads(BatchRequests, Calls):
    """The part of Batch that reads; n, nb, nq, nv and nu are as there."""

    def _ask_of_names(self, method: str, build: Callable[[IndexOfName], Any], read: Callable[[Any], _Result],
                      timeout: float | None) -> _Result:
        """`_ask` of a request with names of the model, whose indices `build` takes from what it is given."""
        raise NotImplementedError

    @documented_call
    @checked
    def get_state(self, fields: str | Iterable[str] = (), worlds: Worlds = None,
                  timeout: float | None = None) -> results.State:
        """Reads the state of worlds.

        Parameters
        ----------
        fields : str or Iterable[str], optional
            Names of fields; none are all of them. "snapshot", which has to be asked for by name, is all that a world
            carries, as bytes for set_state and reset.

        Returns
        -------
        State
            The fields, [n, ...] each.
        """
        return self._ask("GetState", state_pb2.GetStateRequest(
            batch=self.name, world_indices=self._indices(worlds),
            fields=[fields] if isinstance(fields, str) else fields), results.State, timeout)

    @documented_call
    @checked
    def get_parameters(self, names: str | Iterable[str] = (), worlds: Worlds = None,
                       timeout: float | None = None) -> dict[str, npt.NDArray[np.float64]]:
        """Reads numbers that worlds have, the model's or their own.

        Parameters
        ----------
        names : str or Iterable[str], optional
            Which, of parameter_shapes; none are all of them.

        Returns
        -------
        dict of str to numpy.ndarray
            Float64 [n, ...] of each name; they may be changed and given to set_state, reset or create_batch.

        Examples
        --------
        >>> mass = batch.get_parameters("body_mass")["body_mass"]
        >>> batch.set_state(parameters={"body_mass": mass * rng.uniform(0.8, 1.2, mass.shape)})
        """
        wanted = [names] if isinstance(names, str) else list(names)
        request = state_pb2.GetStateRequest(batch=self.name, world_indices=self._indices(worlds), fields=["time"],
                                            parameters=wanted or list(self.parameter_shapes))
        return self._ask("GetState", request, lambda answer: Choices("parameter", {
            name: tensors.to_array(tensor).copy() for name, tensor in answer.parameters.items()}), timeout)

    @documented_call
    @checked
    def contacts(self, worlds: Worlds = None, timeout: float | None = None) -> results.Contacts:
        """Reads the contacts of the last step.

        Returns
        -------
        Contacts
            The contacts of all these worlds, by columns.
        """
        return self._ask("GetContacts", state_pb2.GetContactsRequest(batch=self.name, world_indices=self._indices(worlds)),
                         results.Contacts, timeout)

    @documented_call
    @checked
    def cast_rays(self, origin: npt.ArrayLike, direction: npt.ArrayLike, worlds: Worlds = None, *, body: int | str | None = None,
                  heading_only: bool = False, max_distance: float | None = None, ignored_bodies: Iterable[int | str] = (),
                  timeout: float | None = None) -> results.RayHits:
        """Finds how far along rays the first shape is.

        Parameters
        ----------
        origin : array_like
            Where rays begin, m: [n, rays, 3], or [rays, 3] for all worlds alike.
        direction : array_like
            Where they go, of any length above zero: [n, rays, 3] or [rays, 3].
        body : int or str, optional
            Index or name of the model's body in whose frame both are; None is the world.
        heading_only : bool, default False
            In that body's origin, turned about the vertical alone.
        max_distance : float, optional
            How far is looked, m; None is the server's default.
        ignored_bodies : Iterable[int or str], optional
            Bodies whose shapes rays go through, by index or name; -1 and "world" are the world.

        Returns
        -------
        RayHits
            Distances (m) and shapes, [n, rays] each.

        Raises
        ------
        KeyError
            The model has nothing of such a name.

        Examples
        --------
        >>> grid = np.stack(np.meshgrid(np.linspace(-1, 1, 11), np.linspace(-1, 1, 11), [5.0]), -1).reshape(-1, 3)
        >>> hits = batch.cast_rays(grid, np.tile([0, 0, -1.0], (121, 1)), body="trunk", heading_only=True, ignored_bodies=["trunk"])
        >>> height_below_the_body = 5 - hits.distance
        """
        ignored = list(ignored_bodies)
        return self._ask_of_names("CastRays", lambda index: query_pb2.CastRaysRequest(
            batch=self.name, world_indices=self._indices(worlds), origin=tensors.to_tensor(origin, "origin"),
            direction=tensors.to_tensor(direction, "direction"), heading_only=heading_only, max_distance=max_distance,
            body=None if body is None else index("body", body, "body"),
            ignored_bodies=[index("ignored_bodies", one, "body") for one in ignored]), results.RayHits, timeout)

    @documented_call
    @checked
    def distances(self, pairs: Iterable[tuple[int | str, int | str]], worlds: Worlds = None, max_distance: float | None = None,
                  timeout: float | None = None) -> results.Distances:
        """Measures the nearest distances of pairs of shapes, whether they may touch or not.

        Parameters
        ----------
        pairs : Iterable[tuple[int or str, int or str]]
            Pairs of the model's shapes, by index or name.
        max_distance : float, optional
            What is further apart is not looked at, m; None is 10.

        Returns
        -------
        Distances
            Distances [n, pairs] and nearest points [n, pairs, 3], m.

        Raises
        ------
        KeyError
            The model has nothing of such a name.
        """
        wanted = _pairs(pairs, "pairs", "shapes")
        return self._ask_of_names("GetDistances", lambda index: query_pb2.GetDistancesRequest(
            batch=self.name, world_indices=self._indices(worlds), max_distance=max_distance,
            pairs=[query_pb2.ShapePair(shape_a=index("pairs", a, "shape"), shape_b=index("pairs", b, "shape")) for a, b in wanted]),
            results.Distances, timeout)

    @documented_call
    @checked
    def dynamics(self, frames: Iterable[tuple[int | str, npt.ArrayLike]] = (), worlds: Worlds = None, *,
                 mass_matrix: bool = True, bias_force: bool = True, timeout: float | None = None) -> results.Dynamics:
        """Computes Jacobians, mass matrix and bias force in the nv coordinates of joint_velocity.

        Parameters
        ----------
        frames : Iterable[tuple[int or str, array_like]], optional
            Pairs of a body (index or name of the model's, -1 and "world" are the world) and a point [3] in its frame (m), or a
            pose [7]: x y z, quaternion w x y z.
        mass_matrix : bool, default True
            Whether it is wanted.
        bias_force : bool, default True
            Whether it is wanted.

        Returns
        -------
        Dynamics
            Jacobians [n, frames, 6, nv], mass matrix [n, nv, nv], bias force [n, nv].

        Raises
        ------
        KeyError
            The model has nothing of such a name.
        TypeError
            A frame has neither 3 nor 7 numbers.
        """
        wanted = _pairs(frames, "frames", "a body and a point or pose")
        return self._ask_of_names("GetDynamics", lambda index: query_pb2.GetDynamicsRequest(
            batch=self.name, world_indices=self._indices(worlds), frames=[_frame(index, body, pose) for body, pose in wanted],
            mass_matrix=mass_matrix, bias_force=bias_force), results.Dynamics, timeout)

    @documented_call
    @checked
    def linearise(self, worlds: Worlds = None, control: npt.ArrayLike | None = None, *, body_pose: npt.ArrayLike | None = None,
                  body_velocity: npt.ArrayLike | None = None, joint_position: npt.ArrayLike | None = None,
                  joint_velocity: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None,
                  activation: npt.ArrayLike | None = None, mocap_pose: npt.ArrayLike | None = None, sensors: bool = True,
                  difference: float | None = None, method: str = "exact", timeout: float | None = None) -> Linearisation:
        """Computes how steps depend on the state that they begin with and on their controls: A, B, C and D.

        The steps follow each other along a trajectory, from where the worlds are or from the state that is given. Each
        begins as after set_state: it knows its state alone, and of the step before nothing. Nothing of the batch
        changes. All is in float64 whatever the batch's precision. The matrices are exact where all laws of a step have an
        exact derivative, else central differences; `method` and `law` of the answer say which and why.

        Parameters
        ----------
        control : array_like, optional
            Controls of the steps (rad, m, N or N m as the actuator says): [n, k, nu] of k steps, or [n, nu], or [nu] for
            every world alike, of one step. None: one step with the last control.
        sensors : bool, default True
            Whether C, D and sensor_data are wanted.
        difference : float, optional
            By how much each coordinate and control is moved either way, in its unit, 1e-10 to 1e-2; None is 1e-6. Of
            exact matrices it is how far a kink is looked for.
        method : str, default "exact"
            "exact": exact where that can be, else by differences; "differences": always so.

        Returns
        -------
        Linearisation
            A [n, k, x, x], B [n, k, x, nu], C [n, k, sensor_size, x], D [n, k, sensor_size, nu], the trajectory and the
            names of the coordinates.

        Examples
        --------
        >>> lin = batch.linearise(worlds=[0], control=np.zeros((1, 1, batch_nu)))
        >>> A, B = lin.A[0, 0], lin.B[0, 0]
        """
        indices = self._indices(worlds)
        request = linearize_pb2.LinearizeRequest(
            batch=self.name, world_indices=indices, sensors=sensors, difference=difference, method=linearisation_method(method),
            start=self._state_update(indices, None, body_pose=body_pose, body_velocity=body_velocity, joint_position=joint_position,
                                     joint_velocity=joint_velocity, time=time, activation=activation, mocap_pose=mocap_pose))
        if control is not None:
            request.control.CopyFrom(tensors.to_tensor(self._per_world(control, len(indices), "control"), "control"))
        return self._ask("Linearize", request, Linearisation, timeout)

    @documented_call
    @checked
    def step_gradient(self, output_gradients: Mapping[str, npt.ArrayLike] | None = None, worlds: Worlds = None,
                      control: npt.ArrayLike | None = None, steps: int = 1, record_every: int = 0, *,
                      state_gradient: npt.ArrayLike | None = None, inputs: str | Iterable[str] = (),
                      outputs: str | Iterable[str] = (), body_wrench: npt.ArrayLike | None = None,
                      body_pose: npt.ArrayLike | None = None, body_velocity: npt.ArrayLike | None = None,
                      joint_position: npt.ArrayLike | None = None, joint_velocity: npt.ArrayLike | None = None,
                      time: npt.ArrayLike | None = None, activation: npt.ArrayLike | None = None,
                      mocap_pose: npt.ArrayLike | None = None, difference: float | None = None,
                      timeout: float | None = None) -> StepGradient:
        """Computes the gradient of a loss by what steps begin with, from its gradient by what they lead to.

        The steps are those of `linearise`: each begins as after set_state, in float64. Nothing of the batch changes. The
        gradient is exact where all laws of the steps have an exact derivative; `outcome` and `law` of the answer say where
        differences stand for one.

        Parameters
        ----------
        output_gradients : mapping of str to array_like, optional
            dL/d(field) by the field's name: [n, ...], or [n, records, ...] with record_every. body_pose, body_velocity,
            joint_position, joint_velocity, activation, sensor_data.
        control : array_like, optional
            Controls of the steps (rad, m, N or N m as the actuator says): [n, k, nu], or [n, nu] or [nu] held over the
            steps. None: the last control, held.
        steps : int, default 1
            k.
        record_every : int, default 0
            Records are after every that many steps, which divide k; 0: one, after the last step.
        state_gradient : array_like, optional
            dL/d(state after the last step) by the coordinates of a linearisation: [n, x]; `state` of the answer to a call
            for the steps after these.
        inputs : str or Iterable[str], optional
            What the gradient is wanted by besides start and controls: mass_scale, friction_scale, gain_scale, body_wrench,
            or a parameter's name, such as body_mass, shape_friction, axis_damping or gravity.
        outputs : str or Iterable[str], optional
            Names of fields whose values are wanted, of those above.
        body_wrench : array_like, optional
            As in `step`, held: [n, nb, 6].
        difference : float, optional
            By how much numbers are moved where differences stand for a law, and within which kinks are looked for, 1e-10
            to 1e-2; None is 1e-6.

        Returns
        -------
        StepGradient
            dL/d(start), dL/d(control), dL/d(inputs), the values of outputs, and how each world's were found.

        Examples
        --------
        >>> gradient = batch.step_gradient({"joint_position": [[1.0] * nq]}, worlds=[0], control=[0.0] * batch_nu, steps=10)
        >>> gradient.control.shape[0]
        1
        """
        indices = self._indices(worlds)
        count = len(indices) or self.world_count
        request = step_gradient_pb2.StepGradientRequest(
            batch=self.name, world_indices=indices, step_count=steps, record_every=record_every, difference=difference,
            inputs=[inputs] if isinstance(inputs, str) else inputs, outputs=[outputs] if isinstance(outputs, str) else outputs,
            start=self._state_update(indices, None, body_pose=body_pose, body_velocity=body_velocity, joint_position=joint_position,
                                     joint_velocity=joint_velocity, time=time, activation=activation, mocap_pose=mocap_pose))
        if control is not None:
            request.control.CopyFrom(tensors.to_tensor(self._per_world(control, len(indices), "control"), "control"))
        if body_wrench is not None:
            rows = tensors.of_each_world(body_wrench, tensors.WORLD_DIMENSIONS["body_wrench"], count, "body_wrench")
            request.body_wrench.CopyFrom(tensors.to_tensor(rows, "body_wrench"))
        if state_gradient is not None:
            rows = tensors.of_each_world(state_gradient, 2, count, "state_gradient")
            request.state_gradient.CopyFrom(tensors.to_tensor(rows, "state_gradient"))
        for name, of in (output_gradients or {}).items():
            request.output_gradients[name].CopyFrom(tensors.to_tensor(tensors.as_array(of, name, np.float64), name))
        return self._ask("StepGradient", request, StepGradient, timeout)

    @documented_call
    @checked
    def world_stats(self, worlds: Worlds = None, timeout: float | None = None) -> results.WorldStats:
        """Reads what the solver did in the last step of each world.

        Returns
        -------
        WorldStats
            Columns [n].
        """
        return self._ask("GetSolverStats", simulation_pb2.GetSolverStatsRequest(batch=self.name, world_indices=self._indices(worlds)),
                         lambda answer: results.WorldStats(answer.worlds), timeout)
