"""Where pictures and viewers get worlds from: one look at a batch, without renewing its lease where the server can."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axion.errors import UnimplementedError
from axion.model import Model
from axion.results import Contacts, WorldStats
from axion.watch import Watch

if TYPE_CHECKING:
    from axion.batch import Batch


@dataclasses.dataclass(frozen=True)
class Look:
    """Worlds at an instant. worlds: their indices, [n]. body_pose: [n, nb, 7]. mocap_pose: [n, mocap bodies, 7]. time: [n]
    s. contacts: of these worlds."""

    worlds: list[int]
    body_pose: npt.NDArray[Any]
    mocap_pose: npt.NDArray[Any]
    time: npt.NDArray[np.float64]
    contacts: Contacts | None


def model_of(batch: Batch) -> Model:
    """The Model of a batch."""
    return batch.client.get_model(batch.model)


def _pose_fields(batch: Batch) -> list[str]:
    """Those that say where shapes are. A server from before there were mocap bodies has the first alone."""
    known = {info.name for info in batch.proto.fields}
    return [name for name in ("body_pose", "mocap_pose") if name in known]


def _mocap_pose(state: Mapping[str, npt.NDArray[Any]], worlds: list[int]) -> npt.NDArray[Any]:
    return state["mocap_pose"] if "mocap_pose" in state else np.zeros((len(worlds), 0, 7))


def look_at(batch: Batch, worlds: list[int], contacts: bool) -> Look:
    """Worlds of a batch as they stand."""
    fields = _pose_fields(batch)
    try:
        with batch.watch(fields, worlds, contacts=contacts) as watch:
            frame = next(watch)
        return Look(worlds, frame.state["body_pose"], _mocap_pose(frame.state, worlds), frame.state.time, frame.contacts)
    except UnimplementedError:  # a server from before there was Watch
        state = batch.get_state(fields, worlds)
        return Look(worlds, state["body_pose"], _mocap_pose(state, worlds), state.time, batch.contacts(worlds) if contacts else None)


@dataclasses.dataclass(frozen=True)
class Moment(Look):
    """A Look with fields by name, [n, ...], step_index [n], what the solver did, and how many frames were dropped so far."""

    fields: Mapping[str, npt.NDArray[Any]]
    step_index: npt.NDArray[np.int64]
    statistics: WorldStats | None
    dropped: int


@contextlib.contextmanager
def moments(batch: Batch, worlds: list[int], fields: list[str], rate: float,
            contacts: bool) -> Iterator[tuple[Watch | None, Iterator[Moment]]]:
    """Worlds whenever they change, and the Watch to close from another thread; None with a server that has none, of which
    the worlds are read at the same rate, which renews their lease."""
    asked = list(dict.fromkeys([*_pose_fields(batch), *fields]))
    if "watch" in batch.client.server_info().features:
        with batch.watch(asked, worlds, rate, contacts, solver_stats=True) as watch:
            yield watch, (Moment(worlds, frame.state["body_pose"], _mocap_pose(frame.state, worlds), frame.state.time, frame.contacts,
                                 frame.state, frame.state.step_index, frame.worlds, frame.dropped_frames) for frame in watch)
        return

    def read() -> Iterator[Moment]:
        while True:
            state = batch.get_state(asked, worlds)
            yield Moment(worlds, state["body_pose"], _mocap_pose(state, worlds), state.time,
                         batch.contacts(worlds) if contacts else None, state, state.step_index, batch.world_stats(worlds), 0)
            time.sleep(1 / rate)

    yield None, read()


def moment_at(batch: Batch, worlds: list[int], fields: list[str], contacts: bool) -> Moment:
    """Worlds as they stand, with fields and what the solver did last."""
    with moments(batch, worlds, fields, 1000.0, contacts) as (_, frames):
        return next(frames)
