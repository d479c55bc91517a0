"""N worlds of one model on the server: step, read, write."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axion import results, tensors
from axion.errors import AxionError, DeadlineExceededError, UnavailableError, raises_axion_error
from axion.retry import new_request_id
from axion.stream import StepStream
from axion.task import TaskResult
from axion.tensors import Snapshots, Worlds
from axion.v1 import query_pb2, scene_pb2, simulation_pb2, snapshot_pb2, state_pb2, task_pb2
from axion.watch import Watch

if TYPE_CHECKING:
    from axion.client import Client


def _state_update(snapshot: Snapshots | None, parameters: Mapping[str, npt.ArrayLike] | None = None,
                  **arrays: npt.ArrayLike | None) -> state_pb2.StateUpdate | None:
    given = {name: tensors.to_tensor(array, name) for name, array in arrays.items() if array is not None}
    if not given and snapshot is None and not parameters:
        return None
    return state_pb2.StateUpdate(**given, snapshot=() if snapshot is None else tensors.snapshot_list(snapshot),
                                 parameters=tensors.to_tensors(parameters or {}, "parameters"))


class Batch:
    """Worlds of one model, resident on one device, stepped at one dt. Made by Client.create_batch or get_batch.

    As a context manager it deletes itself at the end. Everywhere, n is the number of worlds that a call is about:
    `worlds` (distinct indices or a boolean mask), or all when that is None. Arrays may be float32 or float64.
    Every call raises AxionError; a refused call changes nothing.

    name: "batches/{id}". model: resource name. world_count. dt: s. device: for example "cpu". memory_bytes.
    proto: the whole axion.v1.Batch, with every solver option filled.
    """

    def __init__(self, client: Client, proto: simulation_pb2.Batch) -> None:
        self._client = client
        self.proto = proto
        self.name = proto.name
        self.model = proto.model
        self.world_count = proto.world_count
        self.dt = proto.dt
        self.device = proto.device
        self.memory_bytes = proto.memory_bytes

    @property
    def client(self) -> Client:
        """The Client that it was made by."""
        return self._client

    @property
    def task(self) -> task_pb2.TaskInfo:
        """What follows from its task: sizes, bounds and names, an axion.v1.TaskInfo; empty without a task."""
        return self.proto.task

    def __repr__(self) -> str:
        return f"<axion.Batch {self.name}: {self.world_count} worlds of {self.model}, dt {self.dt:g} s, {self.device}>"

    def __len__(self) -> int:
        """Its worlds."""
        return self.world_count

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.delete()
        except AxionError:
            if kind is None:  # else the error on its way says more than a failed clean-up; the lease ends the batch
                raise

    def _indices(self, worlds: Worlds) -> list[int]:
        return tensors.world_indices(worlds, self.world_count)

    def step_request(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
                     record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
                     body_wrench: npt.ArrayLike | None = None, request_id: str = "",
                     mocap_pose: npt.ArrayLike | None = None) -> simulation_pb2.StepRequest:
        """The axion.v1.StepRequest that `step` sends; for StepStream."""
        request = simulation_pb2.StepRequest(
            batch=self.name, world_indices=self._indices(worlds), step_count=steps, record_every=record_every,
            outputs=[outputs] if isinstance(outputs, str) else outputs, request_id=request_id,
            expected_incarnation=self.proto.incarnation)
        if not request_id and self._client.patience.tries_again:
            request.request_id = new_request_id()
        if control is not None:
            per_world = self._per_world(control, len(request.world_indices), "control")
            request.control.CopyFrom(tensors.to_tensor(per_world, "control"))
        if body_wrench is not None:
            request.body_wrench.CopyFrom(tensors.to_tensor(body_wrench, "body_wrench"))
        if mocap_pose is not None:
            request.mocap_pose.CopyFrom(tensors.to_tensor(mocap_pose, "mocap_pose"))
        if expected_step is not None:
            request.expected_step = expected_step
        return request

    def _per_world(self, given: npt.ArrayLike, count: int, name: str) -> npt.NDArray[Any]:
        """One row of controls stands for all worlds."""
        values = np.asarray(given)
        if values.ndim == 0:
            raise ValueError(f"{name}: wants shape [nu], [n, nu] or [n, k, nu], not a single number")
        return np.broadcast_to(values, (count or self.world_count, len(values))) if values.ndim == 1 else values

    @raises_axion_error
    def step(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
             record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
             body_wrench: npt.ArrayLike | None = None, request_id: str = "",
             timeout: float | None = None, mocap_pose: npt.ArrayLike | None = None) -> results.StepResult:
        """Steps the worlds k = `steps` times and returns a StepResult.

        control: [nu] for every world alike, [n, nu] held over the steps, or [n, k, nu] one row a step; rad, m, N or N m
          as the actuator says. None keeps the last control (zero at first).
        outputs: names of fields to return, for example ["body_pose", "joint_velocity"] (Model.proto.fields lists them).
        record_every: 0 returns the outputs after the last step, [n, ...]; r returns them after every r steps,
          [n, k / r, ...].
        expected_step: if given, every world must be at this step index, else AbortedError.
        body_wrench: [n, nb, 6] force (N), then torque about the centre of mass (N m), world frame, held.
        mocap_pose: [n, mocap bodies, 7] x y z (m), quaternion w x y z: where they stand from the first of the steps on;
          None: where they are (Model.proto.mocaps names them).
        request_id: a repeated one gets the first answer again and steps nothing, so that a retry is safe. Where none is given
          a client that retries makes one.
        timeout: s.
        """
        request = self.step_request(control, steps, outputs, record_every, worlds, expected_step, body_wrench,
                                    request_id, mocap_pose)
        return results.StepResult(self._client.stub.Step(request, timeout=timeout))

    @raises_axion_error
    def step_task(self, action: npt.ArrayLike, outputs: str | Iterable[str] = (), worlds: Worlds = None,
                  body_wrench: npt.ArrayLike | None = None, request_id: str = "", timeout: float | None = None) -> TaskResult:
        """Makes one step of the batch's task (create_batch's `task`) and returns a TaskResult.

        action: [n, actions] as TaskInfo says (Batch.proto.task). The rest as of `step`.
        """
        request = self.step_request(None, 1, outputs, 0, worlds, None, body_wrench, request_id)
        request.ClearField("step_count")
        request.action.CopyFrom(tensors.to_tensor(action, "action"))
        return TaskResult(self._client.stub.Step(request, timeout=timeout))

    @raises_axion_error
    def begin_episodes(self, worlds: Worlds = None, seeds: npt.ArrayLike = (), joint_position: npt.ArrayLike | None = None,
                       joint_velocity: npt.ArrayLike | None = None, timeout: float | None = None) -> npt.NDArray[Any]:
        """Begins episodes of the batch's task and returns what is observed first, [n, k].

        seeds: [n] integers, the worlds' seeds from now on, whose first episodes begin; none: the next episodes of the seeds that
          they have. joint_position: [n, nq] and joint_velocity: [n, nv] take the place of what the task draws.
        """
        answer = self._client.stub.Reset(state_pb2.ResetRequest(
            batch=self.name, world_indices=self._indices(worlds),
            state=_state_update(None, joint_position=joint_position, joint_velocity=joint_velocity),
            seeds=[int(seed) for seed in np.asarray(seeds, dtype=np.uint64).reshape(-1)]), timeout=timeout)
        return tensors.to_array(answer.task.observation)

    def stream(self) -> StepStream:
        """A StepStream on this batch: a connection on which steps are sent ahead of their answers."""
        return StepStream(self._client, self)

    @raises_axion_error
    def reset(self, worlds: Worlds = None, keyframe: str = "", seeds: npt.ArrayLike = (),
              body_pose: npt.ArrayLike | None = None, body_velocity: npt.ArrayLike | None = None,
              joint_position: npt.ArrayLike | None = None, joint_velocity: npt.ArrayLike | None = None,
              time: npt.ArrayLike | None = None, snapshot: Snapshots | None = None,
              timeout: float | None = None, activation: npt.ArrayLike | None = None,
              parameters: Mapping[str, npt.ArrayLike] | None = None,
              mocap_pose: npt.ArrayLike | None = None) -> None:
        """Starts worlds again: at the initial state or a keyframe, with the given states on top (see set_state), or as
        snapshots say.

        seeds: [n] integers that drive the batch's initial noise, if it has one. Clears warm starts and outcomes.
        snapshot: as of set_state; without a keyframe, seeds or noise. parameters: as of set_state; the worlds start with
        these numbers.
        """
        self._client.stub.Reset(state_pb2.ResetRequest(
            batch=self.name, world_indices=self._indices(worlds), keyframe=keyframe,
            state=_state_update(snapshot, parameters, body_pose=body_pose, body_velocity=body_velocity,
                                joint_position=joint_position, joint_velocity=joint_velocity, time=time,
                                activation=activation, mocap_pose=mocap_pose),
            seeds=[int(seed) for seed in np.asarray(seeds, dtype=np.uint64).reshape(-1)]), timeout=timeout)

    @raises_axion_error
    def get_state(self, fields: str | Iterable[str] = (), worlds: Worlds = None,
                  timeout: float | None = None) -> results.State:
        """State of worlds: a State, which maps names of fields to arrays [n, ...]. No fields: all of them.

        The field "snapshot", to be asked for by name, is all that a world carries: an array of n bytes objects for
        set_state and reset.
        """
        return results.State(self._client.stub.GetState(state_pb2.GetStateRequest(
            batch=self.name, world_indices=self._indices(worlds),
            fields=[fields] if isinstance(fields, str) else fields), timeout=timeout))

    @raises_axion_error
    def set_state(self, worlds: Worlds = None, body_pose: npt.ArrayLike | None = None,
                  body_velocity: npt.ArrayLike | None = None, joint_position: npt.ArrayLike | None = None,
                  joint_velocity: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None,
                  snapshot: Snapshots | None = None, timeout: float | None = None,
                  activation: npt.ArrayLike | None = None,
                  parameters: Mapping[str, npt.ArrayLike] | None = None,
                  mocap_pose: npt.ArrayLike | None = None) -> None:
        """Sets the state of worlds; parts that are None keep their value.

        body_pose: [n, nb, 7] x y z (m), quaternion w x y z. body_velocity: [n, nb, 6] linear of the centre of mass,
        angular, world frame. joint_position: [n, nq], joint_velocity: [n, nv], place the bodies by the joint tree.
        Give body_* or joint_*, not both. time: [n] s. activation: [n, activations], held within
        their ranges. mocap_pose: [n, mocap bodies, 7]. Quaternions are normalised by the server.
        snapshot: get_state("snapshot")["snapshot"] of any worlds of the same model, precision, dt and options, or one
        bytes for all; alone. The worlds go on with the same bits as those that it was taken of:

            now = batch.get_state("snapshot", worlds=[3])["snapshot"][0]
            plans.set_state(snapshot=now)  # another batch: every world branches from here

        parameters: numbers that these worlds have in place of the model's from now on, by name: [n, ...] of the shape
        that parameter_shapes gives; see get_parameters. Bodies stay where they are and go on as they moved.
        """
        self._client.stub.SetState(state_pb2.SetStateRequest(
            batch=self.name, world_indices=self._indices(worlds),
            state=_state_update(snapshot, parameters, body_pose=body_pose, body_velocity=body_velocity,
                                joint_position=joint_position, joint_velocity=joint_velocity, time=time,
                                activation=activation, mocap_pose=mocap_pose)),
            timeout=timeout)

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape for one world of each parameter, by name: the numbers of the model that a world may have of its own.

        gravity [3]; body_mass [nb], body_center_of_mass [nb, 3], body_inertia [nb, 6] (xx yy zz xy xz yz);
        axis_damping, axis_armature, axis_stiffness, axis_spring_reference, axis_friction_loss, axis_lower, axis_upper
        [axes], axis_anchor [axes, 3], of hinges and slides joint by joint; shape_friction, shape_restitution [shapes],
        shape_size, shape_position [shapes, 3]; actuator_gear, actuator_kp, actuator_kd [nu]. Units as in SceneSpec.
        """
        return {info.name: tuple(info.shape) for info in self.proto.parameters}

    @raises_axion_error
    def get_parameters(self, names: str | Iterable[str] = (), worlds: Worlds = None,
                       timeout: float | None = None) -> dict[str, npt.NDArray[np.float64]]:
        """Numbers that worlds have, the model's or their own: dict of name to float64 array [n, ...], which may be
        changed and given to set_state, reset or create_batch. No names: all of them.

            mass = batch.get_parameters("body_mass")["body_mass"]
            batch.set_state(parameters={"body_mass": mass * rng.uniform(0.8, 1.2, mass.shape)})
        """
        wanted = [names] if isinstance(names, str) else list(names)
        answer = self._client.stub.GetState(state_pb2.GetStateRequest(
            batch=self.name, world_indices=self._indices(worlds), fields=["time"],
            parameters=wanted or list(self.parameter_shapes)), timeout=timeout)
        return {name: tensors.to_array(tensor).copy() for name, tensor in answer.parameters.items()}

    @raises_axion_error
    def contacts(self, worlds: Worlds = None, timeout: float | None = None) -> results.Contacts:
        """Contacts of the last step: a Contacts."""
        return results.Contacts(self._client.stub.GetContacts(state_pb2.GetContactsRequest(
            batch=self.name, world_indices=self._indices(worlds)), timeout=timeout))

    @raises_axion_error
    def cast_rays(self, origin: npt.ArrayLike, direction: npt.ArrayLike, worlds: Worlds = None, *, body: int | None = None,
                  heading_only: bool = False, max_distance: float | None = None, ignored_bodies: Iterable[int] = (),
                  timeout: float | None = None) -> results.RayHits:
        """How far along rays the first shape is: a RayHits.

        origin, direction: [n, rays, 3], or [rays, 3] for all worlds alike; m, and of any length above zero. In the frame
        of `body` (index into the model's bodies) where that is given, else in the world; with heading_only in that
        body's origin turned about the vertical alone. Rays go through the shapes of ignored_bodies (-1: the world).

            grid = np.stack(np.meshgrid(np.linspace(-1, 1, 11), np.linspace(-1, 1, 11), [5.0]), -1).reshape(-1, 3)
            hits = batch.cast_rays(grid, np.tile([0, 0, -1.0], (121, 1)), body=0, heading_only=True, ignored_bodies=[0])
            height_below_the_body = 5 - hits.distance
        """
        return results.RayHits(self._client.stub.CastRays(query_pb2.CastRaysRequest(
            batch=self.name, world_indices=self._indices(worlds), origin=tensors.to_tensor(origin, "origin"),
            direction=tensors.to_tensor(direction, "direction"), body=body, heading_only=heading_only,
            max_distance=max_distance, ignored_bodies=ignored_bodies), timeout=timeout))

    @raises_axion_error
    def distances(self, pairs: Iterable[tuple[int, int]], worlds: Worlds = None, max_distance: float | None = None,
                  timeout: float | None = None) -> results.Distances:
        """Nearest distances of pairs of shapes (indices into the model's shapes), whether they may touch or not: a
        Distances. max_distance: m; further apart is not looked at. None: 10."""
        return results.Distances(self._client.stub.GetDistances(query_pb2.GetDistancesRequest(
            batch=self.name, world_indices=self._indices(worlds),
            pairs=[query_pb2.ShapePair(shape_a=int(a), shape_b=int(b)) for a, b in pairs], max_distance=max_distance),
            timeout=timeout))

    @raises_axion_error
    def dynamics(self, frames: Iterable[tuple[int, npt.ArrayLike]] = (), worlds: Worlds = None, *,
                 mass_matrix: bool = True, bias_force: bool = True, timeout: float | None = None) -> results.Dynamics:
        """Jacobians, mass matrix and bias force in the nv coordinates of joint_velocity: a Dynamics.

        frames: pairs of a body (index into the model's bodies, -1 the world) and a point in its frame (m), or a pose
        x y z, quaternion w x y z.
        """
        def spec(body: int, pose: npt.ArrayLike) -> scene_pb2.FrameSpec:
            numbers = [float(number) for number in np.asarray(pose, dtype=np.float64).reshape(-1)]
            if len(numbers) not in (3, 7):
                raise TypeError(f"frames: wants 3 or 7 numbers for a frame, not {len(numbers)}")
            position = scene_pb2.Vec3(x=numbers[0], y=numbers[1], z=numbers[2])
            w, x, y, z = numbers[3:] if len(numbers) == 7 else (1.0, 0.0, 0.0, 0.0)
            return scene_pb2.FrameSpec(body=int(body), pose=scene_pb2.Pose(
                position=position, rotation=scene_pb2.Quaternion(w=w, x=x, y=y, z=z)))

        return results.Dynamics(self._client.stub.GetDynamics(query_pb2.GetDynamicsRequest(
            batch=self.name, world_indices=self._indices(worlds), frames=[spec(body, pose) for body, pose in frames],
            mass_matrix=mass_matrix, bias_force=bias_force), timeout=timeout))

    def watch(self, fields: str | Iterable[str] = ("body_pose",), worlds: Worlds = None, rate: float = 30.0,
              contacts: bool = False, solver_stats: bool = False) -> Watch:
        """A Watch of this batch: its worlds as they are while somebody else steps them, at most `rate` times a second.

        It renews no lease, waits for no step and slows none by more than a fiftieth; a frame that the client has no time
        for is not made. fields: as of get_state. contacts, solver_stats: frames have them.
        """
        return Watch(self._client, self, fields, worlds, rate, contacts, solver_stats)

    @raises_axion_error
    def solver_stats(self, timeout: float | None = None) -> results.BatchStats:
        """What the solver did over all world-steps of this batch: a BatchStats."""
        return results.BatchStats(self._client.stub.GetSolverStats(simulation_pb2.GetSolverStatsRequest(
            batch=self.name, batch_only=True), timeout=timeout).batch)

    @raises_axion_error
    def world_stats(self, worlds: Worlds = None, timeout: float | None = None) -> results.WorldStats:
        """What the solver did in the last step of each world: a WorldStats."""
        return results.WorldStats(self._client.stub.GetSolverStats(simulation_pb2.GetSolverStatsRequest(
            batch=self.name, world_indices=self._indices(worlds)), timeout=timeout).worlds)

    @raises_axion_error
    def keep_alive(self, timeout: float | None = None) -> datetime.datetime:
        """Renews the lease (every other call on the worlds does too); returns the new end of it, datetime in UTC."""
        answer = self._client.stub.KeepAlive(simulation_pb2.KeepAliveRequest(name=self.name), timeout=timeout)
        return answer.expire_time.ToDatetime()

    def kept_alive(self) -> _LeaseKeeper:
        """Context manager that renews the lease in the background, for a client that may pause longer than it."""
        return _LeaseKeeper(self)

    @raises_axion_error
    def save_snapshot(self, display_name: str = "", return_content: bool = False, skip_store: bool = False,
                      timeout: float | None = None) -> snapshot_pb2.Snapshot:
        """Takes a snapshot of the whole batch, which the server keeps from when this returns: an axion.v1.Snapshot, for
        Client.restore_snapshot.

        display_name: for people. return_content: the answer has its bytes (`content`), for another server or another day.
        skip_store: the server keeps nothing; with return_content.
        """
        return self._client.stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(
            batch=self.name, display_name=display_name, return_content=return_content, skip_store=skip_store), timeout=timeout)

    @raises_axion_error
    def delete(self, timeout: float | None = None) -> None:
        """Frees the worlds."""
        self._client.stub.DeleteBatch(simulation_pb2.DeleteBatchRequest(name=self.name), timeout=timeout)


class _LeaseKeeper:
    """Renews a lease three times in its length until the context ends or the server refuses."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._ended = threading.Event()
        self._interval = max(batch.proto.idle_ttl.ToTimedelta().total_seconds() / 3, 0.1)
        self._thread = threading.Thread(target=self._renew, name="axion-lease", daemon=True)

    def __enter__(self) -> Batch:
        self._thread.start()
        return self._batch

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(self._interval):
            try:
                self._batch.keep_alive(timeout=self._interval)
            except AxionError as error:
                if not isinstance(error, (UnavailableError, DeadlineExceededError)):
                    return  # The batch is gone; whoever uses it next is told so.
