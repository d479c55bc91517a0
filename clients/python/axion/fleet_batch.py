"""Worlds over the servers of a Fleet, and how they come to be elsewhere when one is lost."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from axion.batch import Batch
from axion.batch_requests import IndexOfName
from axion.batch_steps import BatchCalls
from axion.calls import nothing
from axion.client import Client
from axion.errors import AbortedError, AxionError, NotFoundError, UnavailableError
from axion.fleet_members import Member
from axion.fleet_results import cut, joined
from axion.v1 import simulation_pb2

if TYPE_CHECKING:
    from axion.fleet import Fleet

_Indices = npt.NDArray[np.int64]
_Answer = TypeVar("_Answer")
_CHANGES = ("Step", "Reset", "SetState")  # what else is asked of worlds changes nothing


class Part:
    """Worlds first to first + count - 1 of a fleet's batch, on one server at a time, and how they came to where they are."""

    def __init__(self, fleet: Fleet, member: Member, first: int, count: int, make: Callable[[Client], Batch],
                 checkpoint_every: int) -> None:
        self._fleet, self.member, self.first, self.count = fleet, member, first, count
        self._home = member  # where the worlds are whenever it is there
        self._client = member.client
        self._make = make
        self._checkpoint_every = checkpoint_every
        self._snapshot: list[bytes] | None = None
        self._asked: list[Callable[[Batch], object]] = []
        self.batch: Batch | None = None
        self._protected(lambda: None)

    def change(self, ask: Callable[[Batch], _Answer]) -> _Answer:
        """The answer to what changes the worlds. The last change is always among those that would be asked again: contacts are of it."""
        if self.member is not self._home and not self._home.is_lost:
            self._go_home()
        if len(self._asked) >= self._checkpoint_every:
            self._take_snapshot()
        answer = self._protected(lambda: ask(self._here()))
        self._asked.append(ask)
        return answer

    def _take_snapshot(self) -> None:
        self._snapshot = self._protected(lambda: list(self._here().get_state("snapshot")["snapshot"]))
        self._asked.clear()

    def _go_home(self) -> None:
        """The worlds go back to the server that they were lost with; one that does not take them is left alone from then on."""
        self._take_snapshot()
        client = self._home.client
        try:
            batch = self._restored(client)
        except AxionError:
            self._home = self.member
            return
        self.delete()
        self.member, self._client, self.batch = self._home, client, batch

    def take_back(self) -> None:
        """The worlds are made again as they were before the last change."""
        self._asked.pop()
        self.delete()
        self.batch = None

    def read(self, ask: Callable[[Batch], _Answer]) -> _Answer:
        """The answer to what changes nothing."""
        return self._protected(lambda: ask(self._here()))

    def _here(self) -> Batch:
        assert self.batch is not None
        return self.batch

    def _protected(self, ask: Callable[[], _Answer]) -> _Answer:
        """Asks, and where the server or its batch is lost, again on another. A server that was started again has lost its batches."""
        is_restored = False
        while True:
            try:
                if self.batch is None:
                    self._client = self.member.client
                    self.batch = self._restored(self._client)
                    is_restored = True
                return ask()
            except (UnavailableError, NotFoundError, AbortedError) as error:
                if is_restored and not isinstance(error, UnavailableError):
                    raise  # worlds that were just made are refused
                self.batch = None
                self.member = self._fleet.member_after_loss(self.member, self._client, error)

    def _restored(self, client: Client) -> Batch:
        batch = self._make(client)
        if self._snapshot is not None:
            batch.set_state(snapshot=self._snapshot)
        for ask in self._asked:
            ask(batch)
        return batch

    def delete(self) -> None:
        """Frees the worlds, where their server is still there."""
        try:
            if self.batch is not None:
                self.batch.delete()
        except AxionError:
            pass  # the lease ends it


class FleetBatch(BatchCalls):
    """Worlds over the servers of a Fleet; Fleet.create_batch makes it.

    Its calls are as Batch's, and every one raises UnavailableError when no server is left. Each server takes its worlds' part of a
    request, all at once, and the answer has the worlds in the order that they were asked for. Where a server is lost, its worlds are
    where the last answer left them. What changes worlds takes no request_id, expected_step or timeout, which one server may refuse or
    miss while others have stepped: ValueError.

    Parameters
    ----------
    parts : list[Part]
        Its worlds by server.
    world_count : int
        How many there are.

    Attributes
    ----------
    world_count : int
        How many worlds it has.
    dt : float
        Time step, s.
    model : str
        Resource name on the first server.
    memory_bytes : int
        What it takes on all servers, bytes.
    """

    def __init__(self, parts: list[Part], world_count: int) -> None:
        batches = [part.read(lambda batch: batch) for part in parts]
        proto = simulation_pb2.Batch()
        proto.CopyFrom(batches[0].proto)
        proto.name, proto.world_count, proto.memory_bytes = "", world_count, sum(batch.memory_bytes for batch in batches)
        super().__init__(proto)
        self._parts, self._is_deleted = parts, False
        self._threads = concurrent.futures.ThreadPoolExecutor(len(parts), "axion-fleet")

    def __repr__(self) -> str:
        places = ", ".join(f"{count} on {target}" for target, count in self.placement.items())
        return f"<axion.FleetBatch of {self.model}: {self.world_count} worlds, {places}, dt {self.dt:g} s>"

    def __enter__(self) -> FleetBatch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.delete()

    @property
    def placement(self) -> dict[str, int]:
        """dict of str to int : Worlds on each server now, by its target."""
        counts: dict[str, int] = {}
        for part in self._parts:
            counts[part.member.client.target] = counts.get(part.member.client.target, 0) + part.count
        return counts

    def _request_id(self) -> str:
        return ""  # each server's batch makes one of its own

    def _ask(self, method: str, request: Any, read: Callable[[Any], _Answer], timeout: float | None = None, *,
             refused: Callable[[AxionError], None] = nothing) -> _Answer:
        asked = np.array(list(request.world_indices) or range(self.world_count), dtype=np.int64)
        if self._is_deleted:
            raise ValueError("the batch is deleted; make another one")
        self._check(method, request, asked, timeout)

        def ask(part: Part, own: _Indices, row: _Indices) -> Any:
            mine = cut(request, row, len(asked))
            mine.world_indices.extend(own.tolist())
            return (part.change if method in _CHANGES else part.read)(lambda batch: _sent(batch, method, mine, timeout))
        jobs, asked_of, rows, firsts = [], [], [], []
        for part in self._parts:
            row = np.flatnonzero((asked >= part.first) & (asked < part.first + part.count))
            if len(row) > 0:
                own = asked[row] - part.first
                is_whole = len(own) == part.count and bool((own == np.arange(part.count)).all())
                jobs.append(self._threads.submit(ask, part, own[:0] if is_whole else own, row))
                asked_of.append(part)
                rows.append(row)
                firsts.append(part.first)
        concurrent.futures.wait(jobs)
        errors = [error for job in jobs if (error := job.exception()) is not None]
        if errors:
            for part, job in zip(asked_of, jobs):
                if method in _CHANGES and job.exception() is None:
                    part.take_back()  # others were refused it
            raise errors[0]
        return read(joined([job.result() for job in jobs], rows, firsts))

    def _ask_of_names(self, method: str, build: Callable[[IndexOfName], Any], read: Callable[[Any], _Answer],
                      timeout: float | None) -> _Answer:
        return self._ask(method, self._parts[0].read(lambda batch: build(batch._index)), read, timeout)

    def _check(self, method: str, request: Any, asked: _Indices, timeout: float | None) -> None:
        """What a server could not say of its own part."""
        if asked.min() < 0 or asked.max() >= self.world_count:
            raise ValueError(f"worlds: must be from 0 to {self.world_count - 1}")
        for name, is_given in (("request_id", method in _CHANGES and request.request_id != ""),
                               ("timeout", method in _CHANGES and timeout is not None),
                               ("expected_step", method == "Step" and request.HasField("expected_step"))):
            if is_given:
                raise ValueError(f"{name}: what changes the worlds of a fleet takes none, as servers may differ over it")
        if method == "Step" and request.HasField("action") and list(request.action.shape) != [len(asked), self.task.action_size]:
            raise ValueError(f"action: has shape {list(request.action.shape)}; it must be [{len(asked)}, {self.task.action_size}]")

    def delete(self) -> None:
        """Frees the worlds on all servers."""
        self._is_deleted = True
        for part in self._parts:
            part.delete()
        self._threads.shutdown()


def _sent(batch: Batch, method: str, request: Any, timeout: float | None) -> Any:
    """The answer of one server's batch to what a fleet's was asked."""
    request.batch = batch.name
    if method in _CHANGES:
        request.request_id = batch._request_id()
    if method == "Step":
        request.expected_incarnation = batch.proto.incarnation
    return batch._ask(method, request, lambda answer: answer, timeout)
