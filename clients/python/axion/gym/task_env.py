"""Tasks that the server computes, as Gymnasium's vector environments: one call to the server a step."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from axion.batch import Batch
from axion.client import Client
from axion.errors import NotFoundError
from axion.fleet import Fleet
from axion.fleet_batch import FleetBatch
from axion.gym.pictures import checked_mode, drawn, picture_metadata, pictures_of
from axion.gym.server_tasks import ServerTask, server_task
from axion.gym.vector_env import AxionEnv, check_begun
from axion.task import TaskResult, task_spec
from axion.texts import documented
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


@documented
class TaskVectorEnv(VectorEnv[_Array, npt.NDArray[np.float32], _Array]):
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
    autoreset_mode : AutoresetMode or str, default AutoresetMode.NEXT_STEP
        NEXT_STEP, SAME_STEP or DISABLED.
    max_episode_steps : int, optional
        Actions after which an episode is truncated; None: the task's.
    seed : int, default 0
        Of the batch, whose worlds' seeds follow from it until `reset` gives others.
    batch_choices : Mapping[str, Any], optional
        Further arguments of Client.create_batch, for example precision.

    Raises
    ------
    AxionError
        The server refuses something, or cannot be reached.
    ValueError
        An argument makes no sense.
    TypeError
        Choices are given beside a ServerTask, or there are no such.
    """

    def __init__(self, task: ServerTask | str, num_envs: int = 1, *, client: Client | Fleet | None = None, target: str | None = None,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, max_episode_steps: int | None = None, seed: int = 0,
                 batch_choices: Mapping[str, Any] | None = None, render_mode: str | None = None, width: int = 480, height: int = 480,
                 camera: Camera | None = None, **task_choices: Any) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: is {num_envs}; it must be at least 1")
        if task_choices and not isinstance(task, str):
            raise TypeError(f"{', '.join(task_choices)}: are given to the ServerTask itself")
        self.task = server_task(task, **task_choices) if isinstance(task, str) else task
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.render_mode = checked_mode(render_mode)
        spec = task_pb2.TaskSpec()
        spec.CopyFrom(task_spec(self.task.spec))
        spec.autoreset = _RESETS[self.autoreset_mode]
        if max_episode_steps is not None:
            spec.max_episode_steps = max_episode_steps
        self._own_client = Client(target) if client is None else None
        opened = client if client is not None else self._own_client
        assert opened is not None
        try:
            self.model = opened.create_model(path=self.task.model_path(), **self.task.model_choices)
            self._pictures = pictures_of(self.model, self.render_mode, width, height, camera)
            self.batch: Batch | FleetBatch = opened.create_batch(self.model, num_envs, task=spec, seed=seed,
                                             **{**self.task.batch_choices, **(batch_choices or {})})
        except BaseException:
            self._close_client()
            raise
        self.info = self.batch.task
        self.dt = self.info.step_seconds
        self.metadata = {"autoreset_mode": self.autoreset_mode, **picture_metadata(self.dt)}
        self._ended = np.zeros(num_envs, dtype=bool)
        self._has_begun = False
        self._observations = self.batch.begin_episodes()
        self.single_action_space = gymnasium.spaces.Box(np.array(self.info.action_lower, dtype=np.float32),
                                                        np.array(self.info.action_upper, dtype=np.float32), dtype=np.float32)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self.info.observation_size,), self._observations.dtype.type)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)

    @documented
    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[_Array, dict[str, Any]]:
        """Begins episodes.

        Returns
        -------
        tuple[numpy.ndarray, dict[str, Any]]
            Observations [num_envs, k], and infos.

        Raises
        ------
        ValueError
            There are not so many seeds, or the mask is none.
        """
        check_begun(self.closed, True)
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else list(seed or [None] * self.num_envs)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: has {len(seeds)} numbers for {self.num_envs} environments")
        mask = np.ones(self.num_envs, dtype=bool)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
                raise ValueError(f"options['reset_mask']: must be {self.num_envs} booleans, one of them true")
        observations = np.array(self._observations)
        given = np.array([each is not None for each in seeds])
        numbers = np.array([0 if each is None else each for each in seeds], dtype=np.uint64)
        for some, own in ((np.flatnonzero(mask & given), numbers[mask & given]), (np.flatnonzero(mask & ~given), numbers[:0])):
            if len(some):
                observations[some] = self.batch.begin_episodes(worlds=some, seeds=own)
        self._ended[mask], self._has_begun = False, True
        self._observations = observations
        return _aligned(observations), {}

    @documented
    def step(self, actions: npt.NDArray[np.float32]) -> tuple[_Array, npt.NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """Steps every world with its action.

        Returns
        -------
        tuple[numpy.ndarray, numpy.ndarray
            Observations [num_envs, k], rewards, terminations and truncations [num_envs], and infos.

        Raises
        ------
        ValueError
            The actions have another shape.
        gymnasium.error.ResetNeeded
            There was no reset yet, or, with DISABLED, a world has ended and was not reset.
        gymnasium.error.ClosedEnvironmentError
            The environments are closed.
        """
        check_begun(self.closed, self._has_begun)
        action = np.asarray(actions)
        if action.shape != self.action_space.shape:
            raise ValueError(f"actions: have shape {list(action.shape)}; it must be {list(self.action_space.shape or ())}")
        starting = self._ended
        if starting.any() and self.autoreset_mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(f"world {int(np.flatnonzero(starting)[0])} has ended and was not reset")
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
            final = np.full(self.num_envs, None, dtype=object)
            for row, observation in zip(answer.final_rows, answer.final_observation):
                final[row] = np.array(observation)
            infos.update(final_info={key: value for key, value in infos.items()}, _final_info=self._ended, final_obs=final,
                         _final_obs=self._ended)
            self._ended = np.zeros(self.num_envs, dtype=bool)
        return infos

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """Draws every world as it stands.

        Returns
        -------
        tuple of numpy.ndarray, or None
            Uint8 [height, width, 3] each; None, and a warning, without a render_mode.
        """
        return drawn(self, self._pictures, self.batch)

    def close_extras(self, **kwargs: Any) -> None:
        """Deletes the batch, if the server still has it, and ends the connection where it is the environment's own.

        Parameters
        ----------
        **kwargs
            Gymnasium's; not used.
        """
        try:
            with contextlib.suppress(NotFoundError):
                self.batch.delete()
        finally:
            self._close_client()

    def _close_client(self) -> None:
        if self._own_client is not None:
            self._own_client.close()


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
