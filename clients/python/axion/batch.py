"""N worlds of one model on the server: step, read, write."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from axion import results, tensors
from axion.batch_writes import BatchWrites
from axion.errors import AxionError, raises_axion_error
from axion.lease import LeaseKeeper
from axion.stream import StepStream
from axion.task import TaskResult
from axion.tensors import Worlds
from axion.v1 import simulation_pb2, snapshot_pb2, task_pb2

if TYPE_CHECKING:
    from axion.client import Client


class Batch(BatchWrites):
    """Worlds of one model, resident on one device, stepped at one time step.

    Client.create_batch and Client.get_batch make it; as a context manager it deletes itself at the end. Everywhere, n
    is the number of worlds that a call is about, nb, nq, nv and nu the numbers of bodies, joint coordinates, their
    rates and controls of the model. Arrays may be float32 or float64. Every call raises AxionError; a refused call
    changes nothing.

    Parameters
    ----------
    client : Client
        The connection.
    proto : Batch
        What the server said of it.

    Attributes
    ----------
    name : str
        Resource name, "batches/{id}".
    model : str
        Resource name of its model.
    world_count : int
        How many worlds it has.
    dt : float
        Time step, s.
    device : str
        Where it lives, for example "cpu".
    memory_bytes : int
        What it takes there, bytes.
    proto : axion.v1.Batch
        The whole message, with every solver option filled.
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
        """Client : The connection that it was made by."""
        return self._client

    @property
    def task(self) -> task_pb2.TaskInfo:
        """axion.v1.TaskInfo : What follows from its task: sizes, bounds and names; empty without a task."""
        return self.proto.task

    def __repr__(self) -> str:
        return f"<axion.Batch {self.name}: {self.world_count} worlds of {self.model}, dt {self.dt:g} s, {self.device}>"

    def __len__(self) -> int:
        """Its worlds."""
        return self.world_count

    def __reduce__(self) -> NoReturn:
        """A connection does not go to another process; the name of a batch does."""
        raise TypeError("a batch is not pickled: the process that is to have it opens it, by "
                        f"axion.Client(address).get_batch({self.name!r})")

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.delete()
        except AxionError:
            if kind is None:  # else the error on its way says more than a failed clean-up; the lease ends the batch
                raise

    def step_request(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
                     record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
                     body_wrench: npt.ArrayLike | None = None, request_id: str = "",
                     mocap_pose: npt.ArrayLike | None = None) -> simulation_pb2.StepRequest:
        """Makes the message that `step` sends, for StepStream.

        Parameters
        ----------
        control : array_like, optional
            Controls (rad, m, N or N m as the actuator says): [nu] for every world alike, [n, nu] held over the steps,
            or [n, steps, nu] one row a step. None keeps the last, zero at first.
        steps : int, default 1
            How many steps.
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        record_every : int, default 0
            0 returns the outputs after the last step, [n, ...]; r returns them after every r steps, [n, steps / r,
            ...].
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        expected_step : int, optional
            Step index that every world must be at.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].
        request_id : str, default ''
            A repeated one gets the first answer again and steps nothing, so that a retry is safe. Without one a
            client that retries makes one.
        mocap_pose : array_like, optional
            Where the mocap bodies stand, x y z (m) and quaternion w x y z: [n, mocap bodies, 7]. None leaves them
            where they are; Model.proto.mocaps names them.

        Returns
        -------
        StepRequest
            The message.

        Raises
        ------
        TypeError
            An array is not of real numbers.
        ValueError
            An array has no such shape.
        """
        request = simulation_pb2.StepRequest(
            batch=self.name, world_indices=self._indices(worlds), step_count=steps, record_every=record_every,
            outputs=[outputs] if isinstance(outputs, str) else outputs,
            request_id=request_id or self._client.patience.request_id(),
            expected_incarnation=self.proto.incarnation)
        if control is not None:
            per_world = self._per_world(control, len(request.world_indices), "control")
            request.control.CopyFrom(tensors.to_tensor(per_world, "control"))
        for name, array in (("body_wrench", body_wrench), ("mocap_pose", mocap_pose)):
            if array is not None:
                rows = tensors.of_each_world(array, tensors.WORLD_DIMENSIONS[name], len(request.world_indices) or self.world_count)
                getattr(request, name).CopyFrom(tensors.to_tensor(rows, name))
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
        """Steps worlds.

        Parameters
        ----------
        control : array_like, optional
            Controls (rad, m, N or N m as the actuator says): [nu] for every world alike, [n, nu] held over the steps,
            or [n, steps, nu] one row a step. None keeps the last, zero at first.
        steps : int, default 1
            How many steps.
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        record_every : int, default 0
            0 returns the outputs after the last step, [n, ...]; r returns them after every r steps, [n, steps / r,
            ...].
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        expected_step : int, optional
            Step index that every world must be at.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].
        request_id : str, default ''
            A repeated one gets the first answer again and steps nothing, so that a retry is safe. Without one a
            client that retries makes one.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.
        mocap_pose : array_like, optional
            Where the mocap bodies stand, x y z (m) and quaternion w x y z: [n, mocap bodies, 7]. None leaves them
            where they are; Model.proto.mocaps names them.

        Returns
        -------
        StepResult
            The outputs asked for, [n, ...] or [n, records, ...], and the outcome of each world.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        AbortedError
            A world is not at expected_step.
        TypeError
            An array is not of real numbers.
        ValueError
            An array has no such shape.
        """
        request = self.step_request(control, steps, outputs, record_every, worlds, expected_step, body_wrench,
                                    request_id, mocap_pose)
        return results.StepResult(self._client.stub.Step(request, timeout=timeout))

    @raises_axion_error
    def step_task(self, action: npt.ArrayLike, outputs: str | Iterable[str] = (), worlds: Worlds = None,
                  body_wrench: npt.ArrayLike | None = None, request_id: str = "", timeout: float | None = None) -> TaskResult:
        """Makes one step of the batch's task.

        Parameters
        ----------
        action : array_like
            Actions within the bounds of Batch.task: [n, actions].
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].
        request_id : str, default ''
            A repeated one gets the first answer again and steps nothing, so that a retry is safe. Without one a
            client that retries makes one.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        TaskResult
            Observations [n, k], rewards [n], ends [n] and the outputs asked for.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        request = self.step_request(None, 1, outputs, 0, worlds, None, body_wrench, request_id)
        request.ClearField("step_count")
        rows = tensors.of_each_world(action, tensors.WORLD_DIMENSIONS["action"], len(request.world_indices) or self.world_count)
        request.action.CopyFrom(tensors.to_tensor(rows, "action"))
        return TaskResult(self._client.stub.Step(request, timeout=timeout))

    def stream(self) -> StepStream:
        """Makes a connection on which steps are sent ahead of their answers.

        Returns
        -------
        StepStream
            The stream, a context manager.
        """
        return StepStream(self._client, self)

    @raises_axion_error
    def keep_alive(self, timeout: float | None = None) -> datetime.datetime:
        """Renews the lease, as every other call on the worlds does too.

        Parameters
        ----------
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        datetime.datetime
            The new end of it, UTC.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        answer = self._client.stub.KeepAlive(simulation_pb2.KeepAliveRequest(name=self.name), timeout=timeout)
        return answer.expire_time.ToDatetime()

    def kept_alive(self) -> LeaseKeeper:
        """Renews the lease in the background, for a client that may pause longer than it.

        Returns
        -------
        context manager
            Renews from entry to exit.
        """
        return LeaseKeeper(self)

    @raises_axion_error
    def save_snapshot(self, display_name: str = "", return_content: bool = False, skip_store: bool = False,
                      timeout: float | None = None) -> snapshot_pb2.Snapshot:
        """Takes a snapshot of the whole batch, which the server keeps from when this returns.

        Parameters
        ----------
        display_name : str, default ''
            What people call it.
        return_content : bool, default False
            Whether the answer has its bytes (`content`), for another server or another day.
        skip_store : bool, default False
            The server keeps nothing; with return_content.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        Snapshot
            For Client.restore_snapshot.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        return self._client.stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(
            batch=self.name, display_name=display_name, return_content=return_content, skip_store=skip_store), timeout=timeout)

    @raises_axion_error
    def delete(self, timeout: float | None = None) -> None:
        """Frees the worlds.

        Parameters
        ----------
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        self._client.stub.DeleteBatch(simulation_pb2.DeleteBatchRequest(name=self.name), timeout=timeout)
