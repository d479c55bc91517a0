"""The connection to a server."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import NoReturn

import grpc
import numpy.typing as npt
from google.protobuf import duration_pb2

from axion import credentials as access
from axion import options as choices
from axion.batch import Batch
from axion.channel import DEFAULT_TARGET, WithMetadata, channel_arguments, pages
from axion.client_models import ClientModels
from axion.errors import AxionError, UnavailableError, raises_axion_error
from axion.local_server import find_program, local_target
from axion.model import Model
from axion.retry import SILENT_SECONDS, Patience, RetryingMethod, checked_timeout, tell_of_wait
from axion.task import TaskLike, task_spec
from axion.v1 import server_info_pb2, simulation_pb2, simulation_pb2_grpc, snapshot_pb2

DEFAULT_MAX_MESSAGE_BYTES = 256 << 20


def _set_seconds(field: duration_pb2.Duration, seconds: float | datetime.timedelta | None) -> None:
    if seconds is not None:
        field.FromTimedelta(seconds if isinstance(seconds, datetime.timedelta) else datetime.timedelta(seconds=seconds))


class Client(ClientModels):
    """A client of one server.

    It connects at its first call, may be used by many threads, and closes itself as a context manager. Calls raise
    AxionError. Each of the choices of TLS and the token is taken from its variable of the environment, AXION_TOKEN,
    AXION_TLS_CA and so on, where it is not given; without any of them there is no TLS.

    Parameters
    ----------
    target : str, optional
        Address of the server, "host:port", or "host" where it listens on port 8470. None: that of the environment's AXION_SERVER; else
        DEFAULT_TARGET if something listens there or credentials are given; else that of `local`, if there is an axiond to start.
    credentials : grpc.ChannelCredentials, optional
        Made by hand, in the place of all choices of TLS.
    max_message_bytes : int, default DEFAULT_MAX_MESSAGE_BYTES
        The greatest message taken or sent, bytes; the server has its own limit (server_info().limits).
    token : str, optional
        Of the tenant, sent with every call.
    tls : bool, optional
        True for TLS with the system's authorities, False for none whatever the environment says.
    tls_ca : path, optional
        File of the authorities, PEM, that may have issued the server's certificate.
    tls_cert : path, optional
        File of this client's own certificate, PEM, for servers that want one.
    tls_key : path, optional
        File of its key, PEM.
    tls_server_name : str, optional
        What the server's certificate is for, where that is not the target's name.
    insecure_token : bool, default False
        Send the token to another machine without TLS.
    retry : float, default 30.0
        Seconds for which a call is made again, with growing waits, while the server is UNAVAILABLE, as when it is
        started again; a call's own timeout holds besides. Not before the server was there once; 0 is never. Steps
        carry a request_id and the batch's incarnation, so that none is made twice: a batch that has lost steps
        (docs/snapshots.md) raises AbortedError.

    Raises
    ------
    ValueError
        Credentials cannot be used; the message names which.
    """

    def __init__(self, target: str | None = None, credentials: grpc.ChannelCredentials | None = None,
                 max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES, *, token: str | None = None, tls: bool | None = None,
                 tls_ca: access.PathLike | None = None, tls_cert: access.PathLike | None = None,
                 tls_key: access.PathLike | None = None, tls_server_name: str | None = None,
                 insecure_token: bool = False, retry: float = 30.0) -> None:
        target, found = access.resolve_target(target, token=token, tls=tls, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
                                              tls_server_name=tls_server_name, insecure_token=insecure_token, credentials=credentials)
        channel_options = channel_arguments(found, max_message_bytes)
        self.target = target
        self._channel = (grpc.insecure_channel(target, channel_options) if found.channel is None else
                         grpc.secure_channel(target, found.channel, channel_options))
        self.stub = simulation_pb2_grpc.SimulationStub(self._channel)
        if found.token is not None:
            metadata = (("authorization", f"Bearer {found.token}"),)
            for name, method in list(vars(self.stub).items()):
                setattr(self.stub, name, WithMetadata(method, metadata))
        self.patience = Patience(retry, target)
        for name, method in list(vars(self.stub).items()):
            if name not in ("StepStream", "Watch"):
                setattr(self.stub, name, RetryingMethod(name, method, self.patience))

    def __repr__(self) -> str:
        return f"<axion.Client of {self.target}>"

    def __reduce__(self) -> NoReturn:
        """Neither a connection nor a token goes to another process."""
        raise TypeError(f"a client is not pickled: the process that is to have one makes its own, by axion.Client({self.target!r})")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection.

        Batches stay on the server until they are deleted or their lease ends.
        """
        self.patience.end()
        self._channel.close()

    def wait_until_ready(self, timeout: float = 10.0) -> None:
        """Waits for the connection.

        Parameters
        ----------
        timeout : float, default 10.0
            Seconds to wait at most.

        Raises
        ------
        UnavailableError
            There is no server after that time; the message says why, where that is known.
        """
        self.patience.check_open()
        ready = grpc.channel_ready_future(self._channel)
        limit = checked_timeout(timeout)
        timeout = threading.TIMEOUT_MAX if limit is None else limit
        silent = min(timeout, SILENT_SECONDS)
        try:
            ready.result(timeout=silent)
        except grpc.FutureTimeoutError:
            if timeout > silent:
                tell_of_wait(self.target, timeout - silent, self._why_unavailable())
            try:
                ready.result(timeout=timeout - silent)
            except grpc.FutureTimeoutError:
                why = f": {reason}" if (reason := self._why_unavailable()) else ""
                raise UnavailableError(grpc.StatusCode.UNAVAILABLE,
                                       f"no server at {self.target} within {timeout:g} s{why}") from None

    def _why_unavailable(self) -> str:
        """What the last attempt to connect ran into, by a call that does not wait."""
        try:
            self.server_info(timeout=1.0)
        except AxionError as error:
            return error.message
        return ""

    @raises_axion_error
    def server_info(self, timeout: float | None = None) -> server_info_pb2.ServerInfo:
        """Asks the server what it is.

        Parameters
        ----------
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        ServerInfo
            Version, devices with their memory (bytes), limits, counts, features.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        return self.stub.GetServerInfo(simulation_pb2.GetServerInfoRequest(), timeout=timeout)

    @raises_axion_error
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
        model : Model or str
            The model, or its resource name.
        world_count : int
            How many worlds, n.
        dt : float, optional
            Time step, s; None takes the model's.
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
            Seconds, or a timedelta, after which a batch that nobody names is deleted; None is one hour.
        stream_ttl : float or datetime.timedelta, optional
            Likewise, when its last stream has ended and nobody names it; 0 is at once. None: streams change nothing.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        Batch
            The worlds.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
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
            request_id=self.patience.request_id())
        if task is not None:
            request.task.CopyFrom(task_spec(task))
        if joint_position_noise or joint_velocity_noise:
            request.initial_noise.joint_position, request.initial_noise.joint_velocity = joint_position_noise, joint_velocity_noise
        _set_seconds(request.idle_ttl, idle_ttl)
        _set_seconds(request.stream_ttl, stream_ttl)
        return Batch(self, self.stub.CreateBatch(request, timeout=timeout))

    @raises_axion_error
    def get_batch(self, name: str, timeout: float | None = None) -> Batch:
        """Fetches a batch that the server has, and renews its lease.

        Parameters
        ----------
        name : str
            Its resource name, "batches/{id}".
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        Batch
            The batch.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        return Batch(self, self.stub.GetBatch(simulation_pb2.GetBatchRequest(name=name), timeout=timeout))

    @raises_axion_error
    def list_batches(self, page_size: int = 0) -> list[Batch]:
        """Lists the batches on the server.

        Parameters
        ----------
        page_size : int, default 0
            How many the server is asked for at once; 0 leaves that to the server. All are returned in any case.

        Returns
        -------
        list[Batch]
            All of them.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        return [Batch(self, proto) for proto in pages(self.stub.ListBatches,
                                                       simulation_pb2.ListBatchesRequest(page_size=page_size),
                                                       lambda response: response.batches)]

    @raises_axion_error
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
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        Batch
            The batch.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        request = snapshot_pb2.RestoreSnapshotRequest(batch=batch.name if isinstance(batch, Batch) else batch or "")
        if isinstance(snapshot, bytes):
            request.content = snapshot
        elif isinstance(snapshot, str):
            request.snapshot = snapshot
        elif snapshot.name:
            request.snapshot = snapshot.name
        else:
            request.content = snapshot.content
        return Batch(self, self.stub.RestoreSnapshot(request, timeout=timeout))

    @raises_axion_error
    def list_snapshots(self, page_size: int = 0) -> list[snapshot_pb2.Snapshot]:
        """Lists the snapshots that the server keeps.

        Parameters
        ----------
        page_size : int, default 0
            How many the server is asked for at once; 0 leaves that to the server. All are returned in any case.

        Returns
        -------
        list[Snapshot]
            All of them, the oldest first.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        return list(pages(self.stub.ListSnapshots, snapshot_pb2.ListSnapshotsRequest(page_size=page_size),
                           lambda response: response.snapshots))

    @raises_axion_error
    def delete_snapshot(self, snapshot: snapshot_pb2.Snapshot | str, timeout: float | None = None) -> None:
        """Deletes a snapshot that the server keeps.

        Parameters
        ----------
        snapshot : Snapshot or str
            The snapshot, or its name.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        name = snapshot if isinstance(snapshot, str) else snapshot.name
        self.stub.DeleteSnapshot(snapshot_pb2.DeleteSnapshotRequest(name=name), timeout=timeout)


def local() -> Client:
    """Connects to a server of this process's own, which it starts at the first call.

    That is axiond on a free port of the loopback device. All calls of a process, and children that it forks, share one. It ends with the
    process, however that ends. Its program is that of the environment's AXION_SERVER_PROGRAM, else axiond on the PATH, in the
    package axion-server, or in the build of the checkout that this package lies in. A line on the error output says what was started.

    Returns
    -------
    Client
        A connection of its own, without credentials.

    Raises
    ------
    FileNotFoundError
        There is no such program.
    RuntimeError
        The server does not serve; its log is in the message.
    """
    program = find_program()
    if program is None:
        named = os.environ.get("AXION_SERVER_PROGRAM", "")
        raise FileNotFoundError(f"AXION_SERVER_PROGRAM: there is no program {named!r}" if named else
                                "axiond is neither on the PATH nor in the package axion-server; AXION_SERVER_PROGRAM names its path")
    return Client(local_target(program), tls=False, token="")
