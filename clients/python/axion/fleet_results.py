"""What calls on the worlds of a Fleet return: answers of several servers as one, in the caller's order of worlds."""

from __future__ import annotations

import collections.abc
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from axion.task import TaskResult

_Array: TypeAlias = "npt.NDArray[Any]"
_Rows: TypeAlias = "Sequence[npt.NDArray[np.int64]]"
# Arrays [n, ...] of a TaskResult that have a row for each world.
_OF_EACH_WORLD = ("observation", "reward", "terms", "terminated", "truncated", "ended_by", "episode_return", "episode_length", "episode")


class FleetResult(collections.abc.Mapping[str, "npt.NDArray[Any]"]):
    """Fields of n worlds of a fleet: a mapping from names to arrays [n, ...].

    Parameters
    ----------
    fields : Mapping[str, numpy.ndarray]
        The arrays.
    rows : Mapping[str, numpy.ndarray]
        time, step_index and, after steps, outcome.

    Attributes
    ----------
    time : numpy.ndarray
        Simulated time, s: float64 [n].
    step_index : numpy.ndarray
        Steps since the last reset: int64 [n].
    outcome : numpy.ndarray or None
        Bits of Outcome: uint32 [n].
    """

    def __init__(self, fields: Mapping[str, _Array], rows: Mapping[str, _Array]) -> None:
        self._fields = fields
        self.time = rows["time"]
        self.step_index = rows["step_index"]
        self.outcome = rows.get("outcome")

    def __getitem__(self, name: str) -> _Array:
        return self._fields[name]

    def __iter__(self) -> collections.abc.Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self._fields.items())
        return f"<{type(self).__name__} of {len(self.time)} worlds: {shapes or 'no fields'}>"


class FleetTaskResult(FleetResult):
    """Answer to a step of a task by all servers: a FleetResult, besides what TaskResult says of the n worlds.

    Parameters
    ----------
    answers : sequence of TaskResult
        Of each server.
    rows : _Rows
        Which of the n each has answered for.

    Attributes
    ----------
    observation : numpy.ndarray
        [n, k] in the batch's precision.
    reward : numpy.ndarray
        Float64 [n].
    terms : numpy.ndarray
        Float64 [n, t], the reward's terms in the order of TaskInfo.reward_terms.
    terminated, truncated : numpy.ndarray
        Bool [n].
    ended_by : numpy.ndarray
        Index into TaskInfo.end_names, or -1: int32 [n].
    episode_return, episode_length, episode : numpy.ndarray
        Of the episode that the reward belongs to: float64, int64, int64 [n].
    final_rows : numpy.ndarray
        With autoreset in the same step, which of the n have ended: int32 [ended].
    final_observation : numpy.ndarray
        Their last observations: [ended, k].
    """

    observation: _Array
    reward: npt.NDArray[np.float64]
    terms: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    ended_by: npt.NDArray[np.int32]
    episode_return: npt.NDArray[np.float64]
    episode_length: npt.NDArray[np.int64]
    episode: npt.NDArray[np.int64]

    def __init__(self, answers: Sequence[TaskResult], rows: _Rows) -> None:
        names = ("time", "step_index", "outcome", *_OF_EACH_WORLD)
        each = {name: joined([getattr(answer, name) for answer in answers], rows) for name in names}
        super().__init__({name: joined([answer[name] for answer in answers], rows) for name in answers[0]}, each)
        for name in _OF_EACH_WORLD:
            setattr(self, name, each[name])
        ended = [row[answer.final_rows] for answer, row in zip(answers, rows)]
        order = np.argsort(np.concatenate(ended))
        self.final_rows: npt.NDArray[np.int32] = np.concatenate(ended)[order].astype(np.int32)
        self.final_observation: _Array = np.concatenate([answer.final_observation for answer in answers])[order]


def joined(parts: Sequence[_Array], rows: _Rows) -> _Array:
    """Arrays of parts as one, whose row rows[p][i] is row i of part p."""
    together: _Array = np.concatenate(parts)[np.argsort(np.concatenate(rows))]
    return together


def joined_fields(answers: Sequence[Any], rows: _Rows, names: Sequence[str]) -> FleetResult:
    """A FleetResult of the fields of StepResults or States, and of their arrays of these names."""
    return FleetResult({name: joined([answer[name] for answer in answers], rows) for name in answers[0]},
                       {name: joined([getattr(answer, name) for answer in answers], rows) for name in names})


def world_seeds(seed: int, first: int, end: int) -> npt.NDArray[np.uint64]:
    """The seeds that the server gives worlds first to end - 1 of one batch with this seed: uint64 [end - first].

    SplitMix64 (Steele, Lea, Flood 2014) of both, as server/schedule/initial_noise.cpp has it.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)

    def mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
    of_batch = mixed(np.array([seed], dtype=np.uint64) + golden)
    return mixed(of_batch ^ (np.arange(first + 1, end + 1, dtype=np.uint64) * golden))
