"""The log of a run: how its worlds began and what was asked of them since, from which any instant can be had again (replay.py).

An MCAP file (https://mcap.dev) of messages of the service, as its protocol has them, on these topics. Their time is the simulated time that
the world which has gone furthest had gone when they were sent.

    /run/beginning   axion.v1.Snapshot, once: the whole batch, its model's scene in it
    /run/batch       axion.v1.Batch, once: as the server told of it
    /run/about       JSON, once: whose log it is, the worlds that are in it, versions
    /run/step        axion.v1.StepRequest; only the worlds that are in the log, without what is asked back
    /run/reset       axion.v1.ResetRequest, likewise
    /run/set_state   axion.v1.SetStateRequest, likewise
    /run/worlds      axion.v1.GetStateResponse, now and then: what each world carries, and in the field run_steps how many steps of the run
                     it has made; a field run_jump where worlds had come there by a call whose end is not known
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion._version import __version__
from axion.errors import AbortedError, AxionError, DeadlineExceededError, InternalError, UnavailableError
from axion.fleet_results import cut
from axion.v1 import simulation_pb2, snapshot_pb2, state_pb2

if TYPE_CHECKING:
    from axion.batch import Batch

CALLS = {"Step": "/run/step", "Reset": "/run/reset", "SetState": "/run/set_state"}
MESSAGES: dict[str, Any] = {
    "/run/beginning": snapshot_pb2.Snapshot, "/run/batch": simulation_pb2.Batch, "/run/step": simulation_pb2.StepRequest,
    "/run/reset": state_pb2.ResetRequest, "/run/set_state": state_pb2.SetStateRequest, "/run/worlds": state_pb2.GetStateResponse}
FORMAT = "1"
_CHUNK_BYTES = 256 << 10  # what a process that is killed loses at most of its log
# What may have stepped worlds though it was not answered.
_UNKNOWN_ENDS = (AbortedError, DeadlineExceededError, InternalError, UnavailableError)
_NOT_KEPT = ("batch", "request_id", "expected_step", "expected_incarnation", "outputs", "record_every", "world_indices")


def steps_of(request: Any) -> int:
    """Steps of the run that a request makes: one for a step of the task, else its simulated steps; none for what is no Step."""
    if not isinstance(request, simulation_pb2.StepRequest):
        return 0
    return 1 if request.HasField("action") or not request.HasField("step_count") else request.step_count


def instant_ns(steps: int, dt: float) -> int:
    """The time of a message about worlds of which the furthest has made so many steps."""
    return round(steps * dt * 1e9)


def _schema(message: Any) -> bytes:
    """A message's type with all that it is made of, as MCAP wants it."""
    from google.protobuf import descriptor_pb2

    files, names = descriptor_pb2.FileDescriptorSet(), set[str]()

    def add(file: Any) -> None:
        if file.name not in names:
            names.add(file.name)
            for needed in file.dependencies:
                add(needed)
            file.CopyToProto(files.file.add())
    add(message.DESCRIPTOR.file)
    return files.SerializeToString()


class RunLog:
    """Logs what this program asks of the worlds of a batch: its calls step, step_task, reset, begin_episodes and set_state, and steps of
    its streams. As a context manager it ends the file.

    What other programs ask of the batch is not in it, nor what restore_snapshot puts into it; keep_worlds() after that makes up for it.

    Parameters
    ----------
    batch : Batch
        The worlds.
    path : str or path
        Of the file.
    worlds : sequence of int, optional
        Worlds that are in the log; None: all.
    keep_every : int, default 500
        Calls from one state of all worlds that is kept to the next. An instant is had again from the state before it, so that this
        bounds how long it takes. 0: the beginning and the end alone.

    Raises
    ------
    ImportError
        The extra `replay` is not installed.
    OSError
        The file cannot be written.
    ValueError
        There is no such world, the batch has a log already, or it is no batch of one server.
    """

    def __init__(self, batch: Batch, path: str | os.PathLike[str], worlds: Sequence[int] | None = None, *, keep_every: int = 500) -> None:
        try:
            from mcap.writer import Writer
        except ModuleNotFoundError as error:
            raise ImportError(f"axion.RunLog wants the extra `replay` (pip install 'axion-server-client[replay]'): {error}") from error
        if not hasattr(batch, "_log"):
            raise ValueError(f"batch: {batch!r} is no batch of one server")
        if batch._log is not None:
            raise ValueError(f"batch: {batch.name} has a log already")
        if keep_every < 0:
            raise ValueError(f"keep_every: is {keep_every}; it must be 0 or more")
        chosen = list(range(batch.world_count)) if worlds is None else [int(world) for world in worlds]
        wrong = [world for world in chosen if not 0 <= world < batch.world_count]
        if wrong or not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"worlds: {chosen[:8]} are not distinct worlds from 0 to {batch.world_count - 1}")
        self._batch, self._worlds, self._keep_every = batch, np.array(sorted(chosen), dtype=np.int64), keep_every
        self._steps = np.zeros(len(chosen), dtype=np.int64)
        self._calls, self._is_kept, self._is_due, self._has_jumped, self._lock = 0, False, False, False, threading.RLock()
        about = {"format": FORMAT, "batch": batch.name, "worlds": self._worlds.tolist(), "client": __version__,
                 "server": batch.client.server_info().version, "device": batch.device}
        beginning = batch.save_snapshot(return_content=True, skip_store=True)
        self._file: Any = open(path, "wb")
        try:
            self._writer: Any = Writer(self._file, chunk_size=_CHUNK_BYTES)
            self._writer.start(profile="axion", library=f"axion {__version__}")
            schemas = {topic: self._writer.register_schema(message.DESCRIPTOR.full_name, "protobuf", _schema(message))
                       for topic, message in MESSAGES.items()}
            self._channels = {topic: self._writer.register_channel(topic, "protobuf", schema) for topic, schema in schemas.items()}
            self._channels["/run/about"] = self._writer.register_channel("/run/about", "json", 0)
            self._put("/run/about", json.dumps(about).encode())
            self._put("/run/batch", batch.proto.SerializeToString())
            self._put("/run/beginning", beginning.SerializeToString())
        except BaseException:
            self._file.close()
            raise
        batch._log = self

    def __repr__(self) -> str:
        return f"<axion.RunLog of {self._batch.name}: {len(self._worlds)} worlds, {self._calls} calls>"

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Keeps the worlds as they stand, where their server is still there, and ends the file."""
        with self._lock:
            if self._file.closed:
                return
            self._batch._log = None
            try:
                if not self._is_kept:
                    self._keep()
            except AxionError:
                pass  # the calls are there all the same
            finally:
                self._writer.finish()
                self._file.close()

    def keep_worlds(self) -> None:
        """Keeps what each world carries now, from which the log goes on: after something else has changed the worlds.

        Raises
        ------
        AxionError
            The server refuses, or cannot be reached.
        """
        self._has_jumped = True
        self._keep()

    def _keep(self) -> None:
        with self._lock:
            request = state_pb2.GetStateRequest(batch=self._batch.name, world_indices=self._worlds.tolist(), fields=["snapshot"])
            kept = state_pb2.GetStateResponse()
            kept.CopyFrom(self._batch._ask("GetState", request, lambda answer: answer))
            kept.fields["run_steps"].CopyFrom(tensors.to_tensor(self._steps, "run_steps"))
            if self._has_jumped:
                kept.fields["run_jump"].CopyFrom(tensors.to_tensor(np.ones(1, dtype=np.int64), "run_jump"))
            self._put("/run/worlds", kept.SerializeToString())
            self._is_kept, self._is_due, self._has_jumped = True, False, False

    def follow(self, batch: Batch) -> None:
        """Goes on with another object of the same batch, as that which stands for it after its server has lost steps.

        Parameters
        ----------
        batch : Batch
            Of the same name.
        """
        self._batch._log = None
        self._batch, batch._log, self._has_jumped = batch, self, True

    def _before(self, method: str) -> None:
        """Before a call is made: after one whose end is not known the worlds are kept as they then stand."""
        if method in CALLS and self._has_jumped:
            self._keep()

    def _made(self, method: str, request: Any, are_others_under_way: bool = False) -> None:
        """A call was answered; worlds are not kept while others are under way, which may have stepped them already."""
        if method not in CALLS:
            return
        with self._lock:
            own, rows = self._own(request)
            if own is None:
                return
            self._put(CALLS[method], own.SerializeToString())
            self._steps[rows] += steps_of(request)
            self._calls, self._is_kept = self._calls + 1, False
            self._is_due = self._is_due or (self._keep_every > 0 and self._calls % self._keep_every == 0)
            if self._is_due and not are_others_under_way:
                self._keep()

    def _failed(self, method: str, error: AxionError) -> None:
        """A call was not answered, or refused; what is refused changes nothing."""
        if method in CALLS and isinstance(error, _UNKNOWN_ENDS):
            self._has_jumped = True

    def _own(self, request: Any) -> tuple[Any, npt.NDArray[np.int64]]:
        """The part of a request about worlds of the log, and their places in it; None where there are none."""
        asked = np.array(request.world_indices, dtype=np.int64) if request.world_indices else np.arange(self._batch.world_count)
        rows = np.flatnonzero(np.isin(asked, self._worlds))
        if len(rows) == 0:
            return None, rows
        if len(rows) < len(asked):
            own = cut(request, rows, len(asked))
        else:
            own = type(request)()
            own.CopyFrom(request)
        names = own.DESCRIPTOR.fields_by_name
        for name in _NOT_KEPT:
            if name in names:
                own.ClearField(name)
        chosen = asked[rows]
        if not np.array_equal(chosen, self._worlds):  # none named: the worlds of the log, in their order
            own.world_indices.extend(chosen.tolist())
        return own, np.searchsorted(self._worlds, chosen)

    def _put(self, topic: str, content: bytes) -> None:
        at = instant_ns(int(self._steps.max()), self._batch.dt)
        self._writer.add_message(self._channels[topic], at, content, at, self._calls & 0xFFFFFFFF)
        self._file.flush()  # chunks that are whole, of which a program that is killed loses none
