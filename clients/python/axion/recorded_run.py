"""Any instant of any world of a run again, from its log (run_log.py): the bits that it had, on any server whose engine is the same."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from axion import tensors
from axion.batch import Batch
from axion.client import Client
from axion.errors import AxionError
from axion.fleet_results import cut
from axion.run_log import CALLS, FORMAT, MESSAGES, instant_ns, steps_of

if TYPE_CHECKING:
    from mcap.records import Chunk, ChunkIndex

_METHODS = {topic: method for method, topic in CALLS.items()}


def _untold(done: int, whole: int) -> None:
    """Progress of which nothing is told."""


@dataclasses.dataclass(frozen=True)
class _Kept:
    """What worlds carried: by the place of each in the log. has_jumped: they had come there by a call whose end is not known."""

    steps: list[int]
    snapshots: list[bytes]
    has_jumped: bool


class RecordedRun:
    """The log of a run, which is read as it is needed.

    Parameters
    ----------
    path : str or path
        Of the file that a RunLog has written. Of one that was not ended, as when its program was killed, what is whole is used.

    Attributes
    ----------
    about : dict
        Whose log it is: batch, worlds, versions, device.
    worlds : list of int
        The worlds that are in it.
    batch : axion.v1.Batch
        What the server told of the batch.
    steps : dict of int to int
        How many steps of the run each world has made: a step of the task is one, else each simulated step is.
    is_whole : bool
        Whether the file was ended.

    Raises
    ------
    ImportError
        The extra `replay` is not installed.
    OSError
        The file cannot be read.
    ValueError
        It is no MCAP file, or no log of a run; the message says what it lacks.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            from mcap.exceptions import McapError
        except ModuleNotFoundError as error:
            raise ImportError(f"axion.RecordedRun wants the extra `replay` (pip install 'axion-server-client[replay]'): {error}") from error
        self._path = os.fspath(path)
        self._topics: dict[int, str] = {}
        self.is_whole = True
        with open(self._path, "rb"):
            pass  # OSError where there is none
        try:
            self._chunks: list[Chunk | ChunkIndex] = self._find_chunks()
            first = dict(self._first_messages())
        except McapError as error:
            raise ValueError(f"{self._path}: is no MCAP file: {error or type(error).__name__}") from None
        absent = [topic for topic in ("/run/about", "/run/batch", "/run/beginning") if topic not in first]
        if absent:
            raise ValueError(f"{self._path}: has no {', '.join(absent)}: it is no log of a run, which axion.RunLog writes, and "
                             "axion.record and `axion render` do not")
        self.about: dict[str, Any] = json.loads(first["/run/about"])
        if self.about.get("format") != FORMAT:
            raise ValueError(f"{self._path}: its format is {self.about.get('format')!r}, and this version reads {FORMAT!r}")
        self.worlds: list[int] = self.about["worlds"]
        self.batch = MESSAGES["/run/batch"].FromString(first["/run/batch"])
        self._beginning = MESSAGES["/run/beginning"].FromString(first["/run/beginning"]).content
        self.steps = dict(zip(self.worlds, self._count_steps()))

    def __repr__(self) -> str:
        return f"<axion.RecordedRun of {self.about['batch']}: {len(self.worlds)} worlds, up to {max(self.steps.values())} steps>"

    # ---- The file -------------------------------------------------------------------------------------------------------

    def _find_chunks(self) -> list[Any]:
        """Where the file's chunks are; of a file that was not ended the chunks themselves."""
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
        from mcap.records import Channel, Chunk
        from mcap.stream_reader import StreamReader, breakup_chunk

        with open(self._path, "rb") as stream:
            reader = make_reader(stream)
            try:
                summary = reader.get_summary()
            except McapError:
                summary = None
            if summary is not None and summary.chunk_indexes:
                self._topics = {number: channel.topic for number, channel in summary.channels.items()}
                return sorted(summary.chunk_indexes, key=lambda chunk: chunk.chunk_start_offset)
        self.is_whole, found = False, list[Any]()
        with open(self._path, "rb") as stream:
            with contextlib.suppress(McapError):  # where it breaks off
                for record in StreamReader(stream, emit_chunks=True).records:
                    if isinstance(record, Chunk):
                        found.append(record)
                        self._topics.update({each.id: each.topic for each in breakup_chunk(record) if isinstance(each, Channel)})
        return found

    def _messages_of(self, chunk: Any) -> Iterator[tuple[str, Any]]:
        """Topic and message, in the order in which they were written."""
        from mcap.data_stream import ReadDataStream
        from mcap.records import Chunk, Message
        from mcap.stream_reader import breakup_chunk

        if not isinstance(chunk, Chunk):
            with open(self._path, "rb") as stream:
                stream.seek(chunk.chunk_start_offset + 9)  # behind its opcode and length
                chunk = Chunk.read(ReadDataStream(stream))
        for record in breakup_chunk(chunk, validate_crc=True):
            if isinstance(record, Message):
                yield self._topics[record.channel_id], record

    def _first_messages(self) -> Iterator[tuple[str, bytes]]:
        for chunk in self._chunks[:3]:  # a beginning that is large has a chunk of its own
            for topic, message in self._messages_of(chunk):
                if topic in ("/run/about", "/run/batch", "/run/beginning"):
                    yield topic, message.data

    def _may_have(self, chunk: Any, topic: str) -> bool:
        places = getattr(chunk, "message_index_offsets", None)
        return places is None or any(self._topics[number] == topic for number in places)

    def _kept(self, message: Any) -> _Kept:
        state = MESSAGES["/run/worlds"].FromString(message.data)
        steps = tensors.to_array(state.fields["run_steps"]).astype(np.int64)
        return _Kept(steps.tolist(), list(state.snapshot), "run_jump" in state.fields)

    def _count_steps(self) -> list[int]:
        """Of each world, to the end: from the last state that was kept on."""
        counts = np.zeros(len(self.worlds), dtype=np.int64)
        start = len(self._chunks)
        while start > 0:
            start -= 1
            if self._may_have(self._chunks[start], "/run/worlds") and any(
                    topic == "/run/worlds" for topic, _ in self._messages_of(self._chunks[start])):
                break
        for chunk in self._chunks[start:]:
            for topic, message in self._messages_of(chunk):
                if topic == "/run/worlds":
                    counts[:] = self._kept(message).steps
                elif topic == "/run/step":
                    request = MESSAGES[topic].FromString(message.data)
                    counts[self._rows_of(request)] += steps_of(request)
        return [int(count) for count in counts]

    def _rows_of(self, request: Any) -> list[int]:
        if not request.world_indices:
            return list(range(len(self.worlds)))
        return [self.worlds.index(world) for world in request.world_indices]

    # ---- Instants -------------------------------------------------------------------------------------------------------

    def instant(self, client: Client, step: int, world: int, progress: Callable[[int, int], None] | None = None) -> Batch:
        """Makes a batch in which a world stands as it did at an instant of the run.

        Parameters
        ----------
        client : Client
            Of the server that makes it.
        step : int
            How many steps of the run the world has made: as the last of them has left it; 0: as the first has found it.
        world : int
            Its index, in the batch of the run and in this one.
        progress : callable, optional
            Told again and again how many steps are made, of how many.

        Returns
        -------
        Batch
            The worlds of the run's batch, of which the others stand as at the beginning. The caller deletes it.

        Raises
        ------
        ValueError
            The run has no such world, or it has not made so many steps.
        AxionError
            The server refuses, or cannot be reached.
        """
        place = self._place(world)
        if not 0 <= step <= self.steps[world]:
            raise ValueError(f"at: {step}; the run has steps 0 to {self.steps[world]} of world {world}")
        start, kept = self._newest_kept(step, place)
        return self._made(client, lambda batch: self._go(batch, start, kept, step, world, place, progress or _untold))

    def verify(self, client: Client, world: int, progress: Callable[[int, int], None] | None = None) -> list[int]:
        """Makes all steps of a world again from the beginning, and compares every state of it that was kept.

        Parameters
        ----------
        client : Client
            Of the server that makes them.
        world : int
            Its index.
        progress : callable, optional
            Told again and again how many steps are made, of how many.

        Returns
        -------
        list of int
            The steps at which the bits were the same.

        Raises
        ------
        ValueError
            Bits differ, or the run has no such world.
        AxionError
            The server refuses, or cannot be reached.
        """
        place, same = self._place(world), list[int]()
        with self._made(client, lambda batch: same.extend(self._compare(batch, world, place, progress or _untold))):
            return same

    def _place(self, world: int) -> int:
        if world not in self.worlds:
            listed = ", ".join(map(str, self.worlds[:8])) + (f", … {self.worlds[-1]}" if len(self.worlds) > 8 else "")
            raise ValueError(f"world: {world} is none of the worlds in the log: {listed}")
        return self.worlds.index(world)

    def _made(self, client: Client, use: Any) -> Batch:
        batch = client.restore_snapshot(self._beginning)
        try:
            use(batch)
        except BaseException:
            with contextlib.suppress(AxionError):
                batch.delete()
            raise
        return batch

    def _newest_kept(self, step: int, place: int) -> tuple[int, _Kept | None]:
        """The last state that was kept before a world's step, and the chunk that it is in; none: the beginning."""
        until = instant_ns(step, self.batch.dt)
        for start in reversed(range(len(self._chunks))):
            chunk = self._chunks[start]
            if chunk.message_start_time > until or not self._may_have(chunk, "/run/worlds"):
                continue
            found = [self._kept(message) for topic, message in self._messages_of(chunk) if topic == "/run/worlds"]
            before = [kept for kept in found if kept.steps[place] < step]
            if before:
                return start, before[-1]
        return 0, None

    def _go(self, batch: Batch, start: int, kept: _Kept | None, step: int, world: int, place: int,
            progress: Callable[[int, int], None]) -> None:
        done, is_there = (0, True) if kept is None else (kept.steps[place], False)
        first = done
        if kept is not None:
            batch.set_state(worlds=[world], snapshot=kept.snapshots[place])
        for chunk in self._chunks[start:]:
            for topic, message in self._messages_of(chunk):
                if topic == "/run/worlds":
                    found = self._kept(message)
                    if is_there and found.has_jumped and found.steps[place] < max(step, 1):
                        batch.set_state(worlds=[world], snapshot=found.snapshots[place])
                    is_there = is_there or (kept is not None and found.steps == kept.steps and found.snapshots == kept.snapshots)
                elif is_there and topic in _METHODS:
                    request = MESSAGES[topic].FromString(message.data)
                    if place not in self._rows_of(request):
                        continue
                    if done + steps_of(request) > step and done == step:
                        return
                    done += self._ask(batch, _METHODS[topic], request, world, step - done)
                    progress(done - first, step - first)
                    if 0 < step == done:
                        return

    def _compare(self, batch: Batch, world: int, place: int, progress: Callable[[int, int], None]) -> Iterator[int]:
        done = 0
        for chunk in self._chunks:
            for topic, message in self._messages_of(chunk):
                if topic == "/run/worlds":
                    kept = self._kept(message)
                    if kept.has_jumped:
                        batch.set_state(worlds=[world], snapshot=kept.snapshots[place])
                    elif batch.get_state("snapshot", [world])["snapshot"][0] != kept.snapshots[place]:
                        here = batch.client.server_info().version
                        raise ValueError(f"world {world}: its bits at step {kept.steps[place]} are others than in the run, which version "
                                         f"{self.about['server']} made on {self.about['device']}; this is version {here} on {batch.device}")
                    yield kept.steps[place]
                elif topic in _METHODS:
                    request = MESSAGES[topic].FromString(message.data)
                    if place in self._rows_of(request):
                        done += self._ask(batch, _METHODS[topic], request, world, steps_of(request))
                        progress(done, self.steps[world])

    def _ask(self, batch: Batch, method: str, request: Any, world: int, most: int) -> int:
        """Asks a request's part of one world, of a Step at most so many steps; the steps that this makes."""
        count = len(request.world_indices) or len(self.worlds)
        row = list(request.world_indices or self.worlds).index(world)
        own = cut(request, np.array([row]), count)
        own.batch = batch.name
        own.world_indices.append(world)
        steps = steps_of(own)
        if steps > most > 0:
            own.step_count, steps = most, most
            if len(own.control.shape) == 3:
                rows = tensors.to_array(own.control)[:, :most]
                own.control.CopyFrom(tensors.to_tensor(np.ascontiguousarray(rows), "control"))
        batch._ask(method, own, lambda answer: answer)
        return steps
