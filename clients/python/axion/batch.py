"""N worlds of one model on the server: step, read, write."""

import threading

import numpy as np

from axion import results, tensors
from axion.errors import AxionError, raises_axion_error
from axion.stream import StepStream
from axion.v1 import simulation_pb2, state_pb2


def _state_update(body_pose, body_velocity, joint_position, joint_velocity, time):
    arrays = dict(body_pose=body_pose, body_velocity=body_velocity, joint_position=joint_position,
                  joint_velocity=joint_velocity, time=time)
    given = {name: tensors.to_tensor(array, name) for name, array in arrays.items() if array is not None}
    return state_pb2.StateUpdate(**given) if given else None


class Batch:
    """Worlds of one model, resident on one device, stepped at one dt. Made by Client.create_batch or get_batch.

    As a context manager it deletes itself at the end. Everywhere, n is the number of worlds that a call is about:
    `worlds` (distinct indices or a boolean mask), or all when that is None. Arrays may be float32 or float64.
    Every call raises AxionError; a refused call changes nothing.

    name: "batches/{id}". model: resource name. world_count. dt: s. device: for example "cpu". memory_bytes.
    proto: the whole axion.v1.Batch, with every solver option filled.
    """

    def __init__(self, client, proto):
        self._client = client
        self.proto = proto
        self.name = proto.name
        self.model = proto.model
        self.world_count = proto.world_count
        self.dt = proto.dt
        self.device = proto.device
        self.memory_bytes = proto.memory_bytes

    def __repr__(self):
        return f"<axion.Batch {self.name}: {self.world_count} worlds of {self.model}, dt {self.dt:g} s, {self.device}>"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            self.delete()
        except AxionError:
            if kind is None:  # else the error on its way says more than a failed clean-up; the lease ends the batch
                raise

    def step_request(self, control=None, steps=1, outputs=(), record_every=0, worlds=None, expected_step=None,
                     body_wrench=None, request_id=""):
        """The axion.v1.StepRequest that `step` sends; for StepStream."""
        request = simulation_pb2.StepRequest(
            batch=self.name, world_indices=tensors.world_indices(worlds), step_count=steps, record_every=record_every,
            outputs=[outputs] if isinstance(outputs, str) else outputs, request_id=request_id)
        if control is not None:
            request.control.CopyFrom(tensors.to_tensor(self._per_world(control, request.world_indices, "control"),
                                                       "control"))
        if body_wrench is not None:
            request.body_wrench.CopyFrom(tensors.to_tensor(body_wrench, "body_wrench"))
        if expected_step is not None:
            request.expected_step = expected_step
        return request

    def _per_world(self, values, indices, name):
        """One row of controls stands for all worlds."""
        values = np.asarray(values)
        if values.ndim == 0:
            raise ValueError(f"{name}: wants shape [nu], [n, nu] or [n, k, nu], not a single number")
        return np.broadcast_to(values, (len(indices) or self.world_count, len(values))) if values.ndim == 1 else values

    @raises_axion_error
    def step(self, control=None, steps=1, outputs=(), record_every=0, worlds=None, expected_step=None,
             body_wrench=None, request_id="", timeout=None):
        """Steps the worlds k = `steps` times and returns a StepResult.

        control: [nu] for every world alike, [n, nu] held over the steps, or [n, k, nu] one row a step; rad, m, N or N m
          as the actuator says. None keeps the last control (zero at first).
        outputs: names of fields to return, for example ["body_pose", "joint_velocity"] (Model.proto.fields lists them).
        record_every: 0 returns the outputs after the last step, [n, ...]; r returns them after every r steps,
          [n, k / r, ...].
        expected_step: if given, every world must be at this step index, else AbortedError.
        body_wrench: [n, nb, 6] force (N), then torque about the centre of mass (N m), world frame, held.
        request_id: a repeated one gets the first answer again and steps nothing, so that a retry is safe.
        timeout: s.
        """
        request = self.step_request(control, steps, outputs, record_every, worlds, expected_step, body_wrench,
                                    request_id)
        return results.StepResult(self._client.stub.Step(request, timeout=timeout))

    def stream(self):
        """A StepStream on this batch: a connection on which steps are sent ahead of their answers."""
        return StepStream(self._client, self)

    @raises_axion_error
    def reset(self, worlds=None, keyframe="", seeds=(), body_pose=None, body_velocity=None, joint_position=None,
              joint_velocity=None, time=None, timeout=None):
        """Starts worlds again: at the initial state or a keyframe, with the given states on top (see set_state).

        seeds: [n] integers that drive the batch's initial noise, if it has one. Clears warm starts and outcomes.
        """
        self._client.stub.Reset(state_pb2.ResetRequest(
            batch=self.name, world_indices=tensors.world_indices(worlds), keyframe=keyframe,
            state=_state_update(body_pose, body_velocity, joint_position, joint_velocity, time),
            seeds=np.asarray(seeds, dtype=np.uint64).tolist()), timeout=timeout)

    @raises_axion_error
    def get_state(self, fields=(), worlds=None, timeout=None):
        """State of worlds: a State, which maps names of fields to arrays [n, ...]. No fields: all of them."""
        return results.State(self._client.stub.GetState(state_pb2.GetStateRequest(
            batch=self.name, world_indices=tensors.world_indices(worlds),
            fields=[fields] if isinstance(fields, str) else fields), timeout=timeout))

    @raises_axion_error
    def set_state(self, worlds=None, body_pose=None, body_velocity=None, joint_position=None, joint_velocity=None,
                  time=None, timeout=None):
        """Sets the state of worlds; parts that are None keep their value.

        body_pose: [n, nb, 7] x y z (m), quaternion w x y z. body_velocity: [n, nb, 6] linear of the centre of mass,
        angular, world frame. joint_position: [n, nq], joint_velocity: [n, nv], place the bodies by the joint tree.
        Give body_* or joint_*, not both. time: [n] s. Quaternions are normalised by the server.
        """
        self._client.stub.SetState(state_pb2.SetStateRequest(
            batch=self.name, world_indices=tensors.world_indices(worlds),
            state=_state_update(body_pose, body_velocity, joint_position, joint_velocity, time)), timeout=timeout)

    @raises_axion_error
    def contacts(self, worlds=None, timeout=None):
        """Contacts of the last step: a Contacts."""
        return results.Contacts(self._client.stub.GetContacts(state_pb2.GetContactsRequest(
            batch=self.name, world_indices=tensors.world_indices(worlds)), timeout=timeout))

    @raises_axion_error
    def solver_stats(self, timeout=None):
        """What the solver did over all world-steps of this batch: a BatchStats."""
        return results.BatchStats(self._client.stub.GetSolverStats(simulation_pb2.GetSolverStatsRequest(
            batch=self.name, batch_only=True), timeout=timeout).batch)

    @raises_axion_error
    def world_stats(self, worlds=None, timeout=None):
        """What the solver did in the last step of each world: a WorldStats."""
        return results.WorldStats(self._client.stub.GetSolverStats(simulation_pb2.GetSolverStatsRequest(
            batch=self.name, world_indices=tensors.world_indices(worlds)), timeout=timeout).worlds)

    @raises_axion_error
    def keep_alive(self, timeout=None):
        """Renews the lease (every other call on the worlds does too); returns the new end of it, datetime in UTC."""
        answer = self._client.stub.KeepAlive(simulation_pb2.KeepAliveRequest(name=self.name), timeout=timeout)
        return answer.expire_time.ToDatetime()

    def kept_alive(self):
        """Context manager that renews the lease in the background, for a client that may pause longer than it."""
        return _LeaseKeeper(self)

    @raises_axion_error
    def delete(self, timeout=None):
        """Frees the worlds."""
        self._client.stub.DeleteBatch(simulation_pb2.DeleteBatchRequest(name=self.name), timeout=timeout)


class _LeaseKeeper:
    """Renews a lease three times in its length until the context ends or the server refuses."""

    def __init__(self, batch):
        self._batch = batch
        self._ended = threading.Event()
        self._interval = max(batch.proto.idle_ttl.ToTimedelta().total_seconds() / 3, 0.1)
        self._thread = threading.Thread(target=self._renew, name="axion-lease", daemon=True)

    def __enter__(self):
        self._thread.start()
        return self._batch

    def __exit__(self, kind, error, trace):
        self._ended.set()
        self._thread.join()

    def _renew(self):
        while not self._ended.wait(self._interval):
            try:
                self._batch.keep_alive(timeout=self._interval)
            except AxionError as error:
                if error.code.name not in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
                    return  # The batch is gone; whoever uses it next is told so.
