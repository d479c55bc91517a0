"""The connection to a server."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import grpc
import numpy.typing as npt

from axion import credentials as access
from axion import options as choices
from axion.batch import Batch
from axion.errors import AxionError, UnavailableError, raises_axion_error
from axion.files import is_urdf, read_mjcf, read_urdf
from axion.model import Model
from axion.retry import Patience, RetryingMethod, new_request_id
from axion.scene import Scene
from axion.task import TaskLike, task_spec
from axion.v1 import scene_pb2, server_info_pb2, simulation_pb2, simulation_pb2_grpc, snapshot_pb2

DEFAULT_TARGET = "127.0.0.1:8470"
DEFAULT_MAX_MESSAGE_BYTES = 256 << 20


_Item = TypeVar("_Item")


def _timedelta(seconds: float | datetime.timedelta) -> datetime.timedelta:
    return seconds if isinstance(seconds, datetime.timedelta) else datetime.timedelta(seconds=seconds)


def _pages(call: Callable[[Any], Any], request: Any, items: Callable[[Any], Iterable[_Item]]) -> Iterator[_Item]:
    while True:
        response = call(request)
        yield from items(response)
        if not response.next_page_token:
            return
        request.page_token = response.next_page_token


def channel_arguments(found: access.Credentials, max_message_bytes: int) -> list[tuple[str, Any]]:
    """Of a channel of gRPC with these credentials."""
    arguments: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", max_message_bytes), ("grpc.max_send_message_length", max_message_bytes),
        # Answers are megabytes; with the defaults of 64 KiB and 16 KiB both ends wake each other often.
        ("grpc.http2.lookahead_bytes", 16 << 20), ("grpc.http2.max_frame_size", 1 << 20)]
    if found.channel is not None and found.server_name:
        arguments.append(("grpc.ssl_target_name_override", found.server_name))
    return arguments


class _WithMetadata:
    """A method of the stub whose calls carry metadata of their own."""

    def __init__(self, method: Any, metadata: tuple[tuple[str, str], ...]) -> None:
        self._method, self._metadata = method, metadata

    def __call__(self, request: Any, **arguments: Any) -> Any:
        return self._method(request, **self._extended(arguments))

    def with_call(self, request: Any, **arguments: Any) -> Any:
        return self._method.with_call(request, **self._extended(arguments))

    def future(self, request: Any, **arguments: Any) -> Any:
        return self._method.future(request, **self._extended(arguments))

    def _extended(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "metadata": (*(arguments.get("metadata") or ()), *self._metadata)}


class Client:
    """A client of one server. Thread-safe; as a context manager it closes itself.

    target: "host:port".
    token: of the tenant, sent with every call. tls_ca: file of the authorities, PEM, that may have issued the server's
      certificate. tls: True for TLS with the system's authorities, False for none whatever the environment says.
      tls_cert, tls_key: files of this client's own certificate, for servers that want one. tls_server_name: what the server's
      certificate is for, where that is not the target's name. Each of these is taken from AXION_TOKEN, AXION_TLS_CA, AXION_TLS,
      AXION_TLS_CERT, AXION_TLS_KEY or AXION_TLS_SERVER_NAME where it is not given. Without any of them there is no TLS.
    insecure_token: send the token to another machine without TLS.
    credentials: grpc.ChannelCredentials made by hand, in the place of all of tls.
    max_message_bytes: the greatest message taken or sent; the server has its own limit (server_info().limits).
    retry: s for which a call is made again, with growing waits, while the server is UNAVAILABLE, as when it is started again; a
      call's own timeout holds besides. Not before the server was there once. Steps carry a request_id and the batch's
      incarnation, so none is made twice: a batch that has lost steps (docs/snapshots.md) raises AbortedError. 0: never.
    Connects at the first call. Calls raise AxionError; credentials that cannot be used raise ValueError here.
    """

    def __init__(self, target: str = DEFAULT_TARGET, credentials: grpc.ChannelCredentials | None = None,
                 max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES, *, token: str | None = None, tls: bool | None = None,
                 tls_ca: access.PathLike | None = None, tls_cert: access.PathLike | None = None,
                 tls_key: access.PathLike | None = None, tls_server_name: str | None = None,
                 insecure_token: bool = False, retry: float = 30.0) -> None:
        found = access.resolve(target, token=token, tls=tls, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
                               tls_server_name=tls_server_name, insecure_token=insecure_token, credentials=credentials)
        channel_options = channel_arguments(found, max_message_bytes)
        self.target = target
        self._channel = (grpc.insecure_channel(target, channel_options) if found.channel is None else
                         grpc.secure_channel(target, found.channel, channel_options))
        self.stub = simulation_pb2_grpc.SimulationStub(self._channel)
        if found.token is not None:
            metadata = (("authorization", f"Bearer {found.token}"),)
            for name, method in list(vars(self.stub).items()):
                setattr(self.stub, name, _WithMetadata(method, metadata))
        self.patience = Patience(retry)
        if self.patience.tries_again:
            for name, method in list(vars(self.stub).items()):
                if name not in ("StepStream", "Watch"):
                    setattr(self.stub, name, RetryingMethod(name, method, self.patience))

    def __repr__(self) -> str:
        return f"<axion.Client of {self.target}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; batches stay on the server until they are deleted or their lease ends."""
        self.patience.end()
        self._channel.close()

    def wait_until_ready(self, timeout: float = 10.0) -> None:
        """Waits for the connection. Raises UnavailableError if there is none after `timeout` s."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout=timeout)
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
        """axion.v1.ServerInfo: version, devices with their memory, limits, counts, features."""
        return self.stub.GetServerInfo(simulation_pb2.GetServerInfoRequest(), timeout=timeout)

    @raises_axion_error
    def create_model(self, mjcf: str | None = None, *, path: str | os.PathLike[str] | None = None,
                     urdf: str | None = None, scene: Scene | scene_pb2.SceneSpec | None = None,
                     assets: Mapping[str, str | bytes] | None = None, allow_unsupported: bool = False,
                     shape_overrides: Mapping[str, Mapping[str, float]] | None = None,
                     joint_overrides: Mapping[str, Mapping[str, float]] | None = None,
                     urdf_options: Mapping[str, Any] | None = None,
                     timeout: float | None = None) -> Model:
        """Compiles a scene and returns its Model; the same content gives the same model.

        mjcf: text of an MJCF file; or urdf: that of a URDF file; or path: where a file of either is, which is sent with the
        files that it refers to (read_mjcf, read_urdf); or scene: an axion.Scene or axion.v1.SceneSpec. assets: dict of file
        name to bytes (or text) for files that the MJCF includes, and for meshes; with a path, beside those that are found.
        allow_unsupported: elements that would change the physics and are not supported become warnings; else
        InvalidArgumentError names them. See Model.warnings.
        shape_overrides: what MJCF has no words for, by the name of the shape, "" for every shape: dict of name to dict of
        restitution, contact_stiffness, contact_damping. joint_overrides: likewise lock_stiffness, lock_damping.
        urdf_options: what URDF has no words for: base ("fixed", the default, or "free"), base_position and base_rotation (w, x, y,
        z) of the root link, actuators ("none", the default, or "motor"), ground and self_collision (bool).
        """
        if sum(source is not None for source in (mjcf, path, urdf, scene)) != 1:
            raise TypeError("create_model wants one of mjcf, path, urdf and scene")
        if path is not None:
            found: dict[str, bytes]
            if is_urdf(path):
                urdf, found = read_urdf(path)
            else:
                mjcf, found = read_mjcf(path)
            assets = {**found, **(assets or {})}
        message = scene.proto if isinstance(scene, Scene) else scene
        request = simulation_pb2.CreateModelRequest(mjcf=mjcf, urdf=urdf, scene=message, allow_unsupported=allow_unsupported,
                                                    shape_overrides=choices.shape_overrides(shape_overrides or {}),
                                                    joint_overrides=choices.joint_overrides(joint_overrides or {}))
        if urdf_options is not None:
            request.urdf_options.CopyFrom(choices.urdf_options(urdf_options))
        for name, content in (assets or {}).items():
            request.assets[name] = content.encode() if isinstance(content, str) else bytes(content)
        return Model(self.stub.CreateModel(request, timeout=timeout))

    @raises_axion_error
    def get_model(self, name: str, timeout: float | None = None) -> Model:
        """The Model of a resource name."""
        return Model(self.stub.GetModel(simulation_pb2.GetModelRequest(name=name), timeout=timeout))

    @raises_axion_error
    def get_scene(self, model: Model | str, timeout: float | None = None) -> Scene:
        """The whole scene that a Model, or resource name, was compiled from; create_model(scene=...) makes the same
        model of it, here or on another server."""
        name = model if isinstance(model, str) else model.name
        request = simulation_pb2.GetModelRequest(name=name, view=simulation_pb2.MODEL_VIEW_FULL)
        return Scene.of(self.stub.GetModel(request, timeout=timeout).scene)

    @raises_axion_error
    def list_models(self, page_size: int = 0) -> list[Model]:
        """All models on the server: a list of Model."""
        return [Model(proto) for proto in _pages(self.stub.ListModels,
                                                 simulation_pb2.ListModelsRequest(page_size=page_size),
                                                 lambda response: response.models)]

    @raises_axion_error
    def delete_model(self, model: Model | str, timeout: float | None = None) -> None:
        """Deletes a Model or resource name. FailedPreconditionError while a batch uses it."""
        name = model if isinstance(model, str) else model.name
        self.stub.DeleteModel(simulation_pb2.DeleteModelRequest(name=name), timeout=timeout)

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
        """Makes `world_count` worlds of a model and returns their Batch.

        model: a Model or resource name. dt: s; None takes the model's timestep.
        preset: "default", "axion_seed" or "velocity". precision: "float32" (default) or "float64". options: dict of
          further solver options, for example {"tolerance": 1e-4, "joint_mode": "current"} (see axion.solver_options).
        body_pose: [n, nb, 7] initial poses. mass_scale: [n, nb] > 0. friction_scale: [n] >= 0. gain_scale: [n, nu] >= 0
          scales motors and drives.
        parameters: numbers that worlds have in place of the model's, by name: [n, ...] each. Batch.parameter_shapes lists
          them; Batch.set_state and reset change them later.
        seed, joint_position_noise, joint_velocity_noise: uniform noise of this half width (rad or m, and per second) on
          hinges and slides, in the first state and at reset.
        task: what the server is to observe, reward and end (axion.task_spec says in which forms); for step_task and
          begin_episodes. Its worlds' seeds follow from `seed`.
        idle_ttl: s (or timedelta) after which a batch that nobody names is deleted; None is one hour.
        stream_ttl: s (or timedelta) after which a batch whose last stream has ended is deleted, when nobody names it; 0
          is at once, so that the batch ends with its client. None: streams change nothing.
        """
        request = simulation_pb2.CreateBatchRequest(
            model=model if isinstance(model, str) else model.name, world_count=world_count, dt=dt, seed=seed,
            options=choices.solver_options(**{"preset": preset, "precision": precision, **(options or {})}),
            overrides=choices.batch_overrides(body_pose=body_pose, mass_scale=mass_scale,
                                              friction_scale=friction_scale, gain_scale=gain_scale, parameters=parameters))
        if self.patience.tries_again:
            request.request_id = new_request_id()
        if task is not None:
            request.task.CopyFrom(task_spec(task))
        if joint_position_noise or joint_velocity_noise:
            request.initial_noise.joint_position = joint_position_noise
            request.initial_noise.joint_velocity = joint_velocity_noise
        if idle_ttl is not None:
            request.idle_ttl.FromTimedelta(_timedelta(idle_ttl))
        if stream_ttl is not None:
            request.stream_ttl.FromTimedelta(_timedelta(stream_ttl))
        return Batch(self, self.stub.CreateBatch(request, timeout=timeout))

    @raises_axion_error
    def get_batch(self, name: str, timeout: float | None = None) -> Batch:
        """The Batch of a resource name."""
        return Batch(self, self.stub.GetBatch(simulation_pb2.GetBatchRequest(name=name), timeout=timeout))

    @raises_axion_error
    def list_batches(self, page_size: int = 0) -> list[Batch]:
        """All batches on the server: a list of Batch."""
        return [Batch(self, proto) for proto in _pages(self.stub.ListBatches,
                                                       simulation_pb2.ListBatchesRequest(page_size=page_size),
                                                       lambda response: response.batches)]

    @raises_axion_error
    def restore_snapshot(self, snapshot: snapshot_pb2.Snapshot | str | bytes, batch: Batch | str | None = None,
                         timeout: float | None = None) -> Batch:
        """Makes a new Batch of a snapshot, or gives `batch` its worlds; either steps on with the bits of the batch that it was taken
        of.

        snapshot: what Batch.save_snapshot returned, the name of one that the server keeps, or the bytes of its content.
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
        """All snapshots that the server keeps: a list of axion.v1.Snapshot, the oldest first."""
        return list(_pages(self.stub.ListSnapshots, snapshot_pb2.ListSnapshotsRequest(page_size=page_size),
                           lambda response: response.snapshots))

    @raises_axion_error
    def delete_snapshot(self, snapshot: snapshot_pb2.Snapshot | str, timeout: float | None = None) -> None:
        """Deletes a snapshot that the server keeps, by its message or name."""
        name = snapshot if isinstance(snapshot, str) else snapshot.name
        self.stub.DeleteSnapshot(snapshot_pb2.DeleteSnapshotRequest(name=name), timeout=timeout)
