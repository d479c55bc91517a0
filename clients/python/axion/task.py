"""Tasks: what the server observes, rewards and ends, as data; and what a step of one answers. See proto/axion/v1/task.proto."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from google.protobuf import json_format

from axion import results, tensors
from axion.texts import documented
from axion.v1 import simulation_pb2, task_pb2

_Floats: TypeAlias = "npt.NDArray[np.float64]"
_Bools: TypeAlias = "npt.NDArray[np.bool_]"
TaskLike: TypeAlias = "task_pb2.TaskSpec | Mapping[str, Any] | str | os.PathLike[str]"


def task_spec(task: TaskLike) -> task_pb2.TaskSpec:
    """Makes the message of a task.

    Parameters
    ----------
    task : axion.v1.TaskSpec, mapping or path
        The message itself, a mapping with its fields' names, or the path of a JSON file that has such a mapping.

    Returns
    -------
    TaskSpec
        The task.

    Raises
    ------
    TypeError
        It is neither.
    ValueError
        A field or a choice has no such name, or the file is no JSON.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> task_spec({"observation": [{"quantity": {"field": "joint_position"}}, {"quantity": {"field": "joint_velocity"}}],
    ...            "reward": [{"name": "forward", "weight": 1, "measure": "MEASURE_RATE", "quantity": {"body": "torso", "count": 1}}],
    ...            "action": {"frame_skip": 5}, "max_episode_steps": 1000})
    """
    if isinstance(task, task_pb2.TaskSpec):
        return task
    if not isinstance(task, (Mapping, str, os.PathLike)):
        raise TypeError(f"task: wants TaskSpec, mapping or path, not {task!r}"[:200])
    try:
        fields = task if isinstance(task, Mapping) else json.loads(pathlib.Path(task).read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"task: {task}: {error}") from None
    try:
        return json_format.ParseDict(dict(fields), task_pb2.TaskSpec())
    except json_format.ParseError as error:
        raise ValueError(f"task: {error}") from None


def _tensor_or_none(task: task_pb2.TaskAnswer, name: str, rows: int, columns: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A tensor of an answer; without it, zeros."""
    return tensors.to_array(getattr(task, name)) if task.HasField(name) else np.zeros((rows, columns), dtype)


@documented
class TaskResult(results.StepResult):
    """Answer to a step of a task: a StepResult, besides what the task computes of the n worlds.

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
    privileged_observation, final_privileged_observation : numpy.ndarray
        Of the second group of observations: [n, p] and [ended, p], where p may be 0.
    level : numpy.ndarray
        Of each curriculum, in the episodes that the observation belongs to: int32 [n, c].
    """

    def __init__(self, proto: simulation_pb2.StepResponse) -> None:
        super().__init__(proto)
        task = proto.task
        self.observation: npt.NDArray[Any] = tensors.to_array(task.observation)
        self.reward: _Floats = tensors.to_array(task.reward)
        self.terms: _Floats = tensors.to_array(task.terms)
        count = len(self.reward)
        self.terminated: _Bools = np.fromiter(task.terminated, np.bool_, count)
        self.truncated: _Bools = np.fromiter(task.truncated, np.bool_, count)
        self.ended_by: npt.NDArray[np.int32] = np.fromiter(task.ended_by, np.int32, count)
        self.episode_return: _Floats = np.fromiter(task.episode_return, np.float64, count)
        self.episode_length: npt.NDArray[np.int64] = np.fromiter(task.episode_length, np.int64, count)
        self.episode: npt.NDArray[np.int64] = np.fromiter(task.episode, np.int64, count)
        self.final_rows: npt.NDArray[np.int32] = np.fromiter(task.final_rows, np.int32, len(task.final_rows))
        self.final_observation: npt.NDArray[Any] = (tensors.to_array(task.final_observation) if len(self.final_rows) else
                                                    np.zeros((0, self.observation.shape[1]), self.observation.dtype))
        self.privileged_observation: npt.NDArray[Any] = _tensor_or_none(task, "privileged_observation", count, 0, self.observation.dtype)
        self.final_privileged_observation: npt.NDArray[Any] = _tensor_or_none(
            task, "final_privileged_observation", len(self.final_rows), self.privileged_observation.shape[1], self.observation.dtype)
        self.level: npt.NDArray[np.int32] = _tensor_or_none(task, "level", count, 0, np.int32)
