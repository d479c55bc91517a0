"""Tasks that the server computes, as Gymnasium's vector environments: one call to the server a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from axion.batch import Batch
from axion.client import Client
from axion.fleet import Fleet
from axion.fleet_batch import FleetBatch
from axion.gym.server_tasks import ServerTask, server_task
from axion.gym.vector_env import AxionEnv
from axion.gym.worlds_env import WorldsVectorEnv
from axion.model import Model
from axion.task import TaskResult, task_spec
from axion.texts import documented, documented_call
from axion.v1 import task_pb2

if TYPE_CHECKING:
    from axion.viewing.raycast import Camera

_Array = npt.NDArray[Any]
_Bools = npt.NDArray[np.bool_]
_RESETS = {AutoresetMode.NEXT_STEP: task_pb2.AUTORESET_NEXT_STEP, AutoresetMode.SAME_STEP: task_pb2.AUTORESET_SAME_STEP,
           AutoresetMode.DISABLED: task_pb2.AUTORESET_DISABLED}


def _aligned(values: _Array) -> _Array:
    """A copy that begins at a multiple of 64 bytes, as libraries want it that take arrays over without copying them."""
    room = np.empty(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy: _Array = room[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


@documented_call
class TaskVectorEnv(WorldsVectorEnv):
    """A gymnasium.vector.VectorEnv whose task the server computes: a step is one call.

    Observations are [num_envs, k] in the batch's precision, a new array each step that begins at a multiple of 64
    bytes. infos has the reward's terms by name, "episode" with the statistics of episodes that have ended ("r", "l",
    as Gymnasium's RecordEpisodeStatistics says), and with SAME_STEP "final_obs".

    Parameters
    ----------
    task : ServerTask or str
        A ServerTask, or the name of one of Gymnasium's that there is data of (server_task).
    num_envs : int, default 1
        Worlds.
    client : Client or Fleet, optional
        Of the server, or a Fleet of servers; without it the environment connects and closes itself.
    target : str, optional
        "host:port" of the server, without client.
    seed : int, default 0
        Of the batch, whose worlds' seeds follow from it until `reset` gives others.

    Raises
    ------
    ValueError
        An argument makes no sense.
    TypeError
        Choices are given beside a ServerTask, or there are no such.
    """

    def __init__(self, task: ServerTask | str, num_envs: int = 1, *, client: Client | Fleet | None = None, target: str | None = None,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, max_episode_steps: int | None = None, seed: int = 0,
                 batch_choices: Mapping[str, Any] | None = None, render_mode: str | None = None, width: int = 480, height: int = 480,
                 camera: Camera | None = None, **task_choices: Any) -> None:
        if task_choices and not isinstance(task, str):
            raise TypeError(f"{', '.join(task_choices)}: are given to the ServerTask itself")
        self.task = server_task(task, **task_choices) if isinstance(task, str) else task
        self._spec = task_pb2.TaskSpec()
        self._spec.CopyFrom(task_spec(self.task.spec))
        self._spec.autoreset = _RESETS[AutoresetMode(autoreset_mode)]
        if max_episode_steps is not None:
            self._spec.max_episode_steps = max_episode_steps
        self._batch_choices = {"seed": seed, **self.task.batch_choices, **(batch_choices or {})}
        super().__init__(num_envs, client, target, autoreset_mode, (render_mode, width, height, camera))
        self.info = self.batch.task
        self._observations = self.batch.begin_episodes()
        self._describe(self.info.step_seconds, self.info.action_lower, self.info.action_upper, self.info.observation_size,
                       self._observations.dtype.type)

    def _create_model(self, client: Client | Fleet) -> Model:
        return client.create_model(path=self.task.model_path(), **self.task.model_choices)

    def _create_batch(self, client: Client | Fleet) -> Batch | FleetBatch:
        return client.create_batch(self.model, self.num_envs, task=self._spec, **self._batch_choices)

    def _begin(self, mask: _Bools, seeds: list[int | None]) -> _Array:
        observations = np.array(self._observations)
        given = np.array([each is not None for each in seeds])
        numbers = np.array([each or 0 for each in seeds], dtype=np.uint64)
        for some, own in ((np.flatnonzero(mask & given), numbers[mask & given]), (np.flatnonzero(mask & ~given), numbers[:0])):
            if len(some):
                observations[some] = self.batch.begin_episodes(worlds=some, seeds=own)
        self._observations = observations
        return _aligned(observations)

    def _advance(self, action: _Array, starting: _Bools) -> tuple[_Array, npt.NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        answer = self.batch.step_task(action)
        self._ended = answer.terminated | answer.truncated
        self._observations = _aligned(answer.observation)
        return self._observations, np.array(answer.reward), answer.terminated, answer.truncated, self._infos(answer, starting)

    def _infos(self, answer: TaskResult, starting: _Bools) -> dict[str, Any]:
        began = starting if self.autoreset_mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, dtype=bool)
        infos: dict[str, Any] = {}
        for index, name in enumerate(self.info.reward_terms):
            infos[name], infos[f"_{name}"] = answer.terms[:, index], ~began
        if self._ended.any():
            infos["episode"] = {"r": np.where(self._ended, answer.episode_return, 0.0), "_r": self._ended,
                                "l": np.where(self._ended, answer.episode_length, 0), "_l": self._ended}
            infos["_episode"] = self._ended
            infos["ended_by"] = np.array([self.info.end_names[by] if by >= 0 else "" for by in answer.ended_by], dtype=object)
            infos["_ended_by"] = self._ended
        if len(answer.final_rows):
            self._tell_final(infos, answer.final_rows, answer.final_observation)
            self._ended = np.zeros(self.num_envs, dtype=bool)
        return infos


@documented
class TaskEnv(AxionEnv):
    """A gymnasium.Env: one world of a server, which computes the task.

    An episode's limit of steps is the task's own.

    Parameters
    ----------
    **choices
        As of TaskVectorEnv, but num_envs and autoreset_mode.
    """

    def _make(self, task: Any, choices: dict[str, Any]) -> TaskVectorEnv:
        return TaskVectorEnv(task, 1, autoreset_mode=AutoresetMode.DISABLED, **choices)


@documented
def make_vec(task: ServerTask | str, num_envs: int = 1, **choices: Any) -> TaskVectorEnv:
    """Makes a TaskVectorEnv.

    Parameters
    ----------
    num_envs : int, default 1
        Worlds.
    **choices
        As of TaskVectorEnv.

    Returns
    -------
    TaskVectorEnv
        The environments.

    Raises
    ------
    ValueError
        There is no such task, or num_envs is below 1.
    """
    return TaskVectorEnv(task, num_envs, **choices)
