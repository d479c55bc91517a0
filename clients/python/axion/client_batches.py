"""What a client asks about batches, snapshots and the server itself."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy.typing as npt
from google.protobuf import duration_pb2

from axion import options as choices
from axion.arguments import checked
from axion.calls import nothing
from axion.client_models import ClientModels
from axion.model import Model
from axion.task import TaskLike, task_spec
from axion.texts import documented_call
from axion.v1 import server_info_pb2, simulation_pb2, snapshot_pb2

if TYPE_CHECKING:
    from axion.batch import Batch


def _set_seconds(field: duration_pb2.Duration, seconds: float | datetime.timedelta | None, name: str) -> None:
    if seconds is None:
        return
    try:
        field.FromTimedelta(seconds if isinstance(seconds, datetime.timedelta) else datetime.timedelta(seconds=float(seconds)))
    except (OverflowError, ValueError) as error:  # infinite, no number, or of more than millions of years
        raise ValueError(f"{name}: {seconds!r} is no time in seconds: {error}") from None


class ClientCalls(ClientModels):
    """All that a client asks."""

    def _batch(self, proto: simulation_pb2.Batch) -> Batch:
        """The worlds that an answer is about."""
        raise NotImplementedError

    def _request_id(self) -> str:
        """Of a call that is to be made once however often it is sent; none if it is never made again."""
        raise NotImplementedError

    @documented_call
    @checked
    def server_info(self, timeout: float | None = None) -> server_info_pb2.ServerInfo:
        """Asks the server what it is.

        Returns
        -------
        ServerInfo
            Version, devices with their memory (bytes), limits, counts, features.
        """
        def read(answer: server_info_pb2.ServerInfo) -> server_info_pb2.ServerInfo:
            return answer
        return self._ask("GetServerInfo", simulation_pb2.GetServerInfoRequest(), read, timeout)

    @documented_call
    @checked
    def create_batch(self, model: Model | str, world_count: int, dt: float | None = None, *,
                     preset: str | None = None, precision: str | None = None,
                     options: Mapping[str, str | float | bool | None] | None = None,
                     body_pose: npt.ArrayLike | None = None, mass_scale: npt.ArrayLike | None = None,
                     friction_scale: npt.ArrayLike | None = None, gain_scale: npt.ArrayLike | None = None,
                     parameters: Mapping[str, npt.ArrayLike] | None = None,
                     seed: int = 0, joint_position_noise: float = 0.0, joint_velocity_noise: float = 0.0,
                     task: TaskLike | None = None, idle_ttl: float | datetime.timedelta | None = None,
                     stream_ttl: float | datetime.timedelta | None = None, timeout: float | None = None) -> Batch:
        """Makes worlds of a model.

        Parameters
        ----------
        preset : str, optional
            "default", "axion_seed" or "velocity".
        precision : str, optional
            "float32", the default, or "float64".
        options : Mapping[str, str | float | bool], optional
            Further solver options, for example {"tolerance": 1e-4, "joint_mode": "current"}; see solver_options.
        body_pose : array_like, optional
            Initial poses, x y z (m) and quaternion w x y z: [n, nb, 7].
        mass_scale : array_like, optional
            Factors above 0 of the masses: [n, nb].
        friction_scale : array_like, optional
            Factors from 0 on of the friction: [n].
        gain_scale : array_like, optional
            Factors from 0 on of motors and drives: [n, nu].
        parameters : Mapping[str, array_like], optional
            Numbers in place of the model's, by name: [n, ...] each; Batch.parameter_shapes lists them.
        seed : int, default 0
            Of the initial noise, and of the worlds of a task.
        joint_position_noise : float, default 0.0
            Half width of the uniform noise on positions of hinges and slides (rad, m), in the first state and at
            reset.
        joint_velocity_noise : float, default 0.0
            Likewise on their velocities (rad/s, m/s).
        task : task_like, optional
            What the server is to observe, reward and end, for step_task and begin_episodes; task_spec says in which
            forms.
        idle_ttl : float or datetime.timedelta, optional
            Seconds, or a timedelta, after which a batch that no call names is deleted; None is one hour.
        stream_ttl : float or datetime.timedelta, optional
            Likewise, when its last stream has ended and no call names it; 0 is at once. None: streams change nothing.

        Returns
        -------
        Batch
            The worlds.

        Raises
        ------
        TypeError
            An option has no such name, or an array is not of real numbers.
        ValueError
            A word is no choice of its option, or a field of the task does not exist.
        """
        request = simulation_pb2.CreateBatchRequest(
            model=model if isinstance(model, str) else model.name, world_count=world_count, dt=dt, seed=seed,
            options=choices.solver_options(**{"preset": preset, "precision": precision, **(options or {})}),
            overrides=choices.batch_overrides(world_count, body_pose=body_pose, mass_scale=mass_scale,
                                              friction_scale=friction_scale, gain_scale=gain_scale, parameters=parameters),
            request_id=self._request_id())
        if task is not None:
            request.task.CopyFrom(task_spec(task))
        if joint_position_noise or joint_velocity_noise:
            request.initial_noise.joint_position, request.initial_noise.joint_velocity = joint_position_noise, joint_velocity_noise
        _set_seconds(request.idle_ttl, idle_ttl, "idle_ttl")
        _set_seconds(request.stream_ttl, stream_ttl, "stream_ttl")
        return self._ask("CreateBatch", request, self._batch, timeout)

    @documented_call
    @checked
    def get_batch(self, name: str, timeout: float | None = None) -> Batch:
        """Fetches a batch that the server has. Its lease stays as it is.

        Parameters
        ----------
        name : str
            Its resource name, "batches/{id}".

        Returns
        -------
        Batch
            The batch.
        """
        return self._ask("GetBatch", simulation_pb2.GetBatchRequest(name=name), self._batch, timeout)

    @documented_call
    @checked
    def list_batches(self, page_size: int = 0) -> list[Batch]:
        """Lists the batches on the server.

        Returns
        -------
        list[Batch]
            All of them.
        """
        return self._ask_all("ListBatches", simulation_pb2.ListBatchesRequest(page_size=page_size),
                             lambda page: [self._batch(proto) for proto in page.batches])

    @documented_call
    @checked
    def restore_snapshot(self, snapshot: snapshot_pb2.Snapshot | str | bytes, batch: Batch | str | None = None,
                         timeout: float | None = None) -> Batch:
        """Makes a new batch of a snapshot, or gives a batch its worlds.

        Either steps on with the bits of the batch that it was taken of.

        Parameters
        ----------
        snapshot : Snapshot, str or bytes
            What Batch.save_snapshot returned, the name of one that the server keeps, or the bytes of its content.
        batch : Batch or str, optional
            The batch that gets the worlds, or its name; None makes a new one.

        Returns
        -------
        Batch
            The batch.
        """
        request = snapshot_pb2.RestoreSnapshotRequest(
            batch=batch if isinstance(batch, str) else batch.name if batch is not None else "", request_id=self._request_id())
        if isinstance(snapshot, bytes):
            request.content = snapshot
        elif isinstance(snapshot, str):
            request.snapshot = snapshot
        elif snapshot.name:
            request.snapshot = snapshot.name
        else:
            request.content = snapshot.content
        return self._ask("RestoreSnapshot", request, self._batch, timeout)

    @documented_call
    @checked
    def list_snapshots(self, page_size: int = 0) -> list[snapshot_pb2.Snapshot]:
        """Lists the snapshots that the server keeps.

        Returns
        -------
        list[Snapshot]
            All of them, the oldest first.
        """
        return self._ask_all("ListSnapshots", snapshot_pb2.ListSnapshotsRequest(page_size=page_size), lambda page: page.snapshots)

    @documented_call
    @checked
    def delete_snapshot(self, snapshot: snapshot_pb2.Snapshot | str, timeout: float | None = None) -> None:
        """Deletes a snapshot that the server keeps.

        Parameters
        ----------
        snapshot : Snapshot or str
            The snapshot, or its name.
        """
        name = snapshot if isinstance(snapshot, str) else snapshot.name
        return self._ask("DeleteSnapshot", snapshot_pb2.DeleteSnapshotRequest(name=name), nothing, timeout)
