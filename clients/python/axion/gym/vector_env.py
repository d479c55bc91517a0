"""Gymnasium's environments over worlds of a server, which computes their task: many at once, a call a step, or one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from axion.arguments import checked
from axion.batch import Batch
from axion.client import Client
from axion.errors import AbortedError, NotFoundError
from axion.fleet import Fleet
from axion.fleet_batch import FleetBatch
from axion.gym.given import actions_of, check_client, mask_of, mode_of, own_ends, own_observations, own_rewards, seeds_of, task_of
from axion.gym.pictures import RENDER_MODES, checked_mode, drawn, picture_metadata, pictures_of
from axion.gym.server_tasks import ServerTask
from axion.task import TaskResult, task_spec
from axion.tensors import as_array
from axion.texts import documented, documented_call
from axion.v1 import task_pb2

if TYPE_CHECKING:
    from axion.viewing.raycast import Camera

_Array = npt.NDArray[Any]
_Bools = npt.NDArray[np.bool_]
_Answer = tuple[_Array, npt.NDArray[np.float64], _Bools, _Bools, dict[str, Any]]
_NO_SEEDS = np.zeros(0, np.uint64)
_RESETS = {AutoresetMode.NEXT_STEP: task_pb2.AUTORESET_NEXT_STEP, AutoresetMode.SAME_STEP: task_pb2.AUTORESET_SAME_STEP,
           AutoresetMode.DISABLED: task_pb2.AUTORESET_DISABLED}


def _aligned(values: _Array) -> _Array:
    """A copy that begins at a multiple of 64 bytes, as libraries want it that take arrays over without copying them."""
    room = np.empty(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy: _Array = room[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def _kept(values: _Array) -> _Array:
    """The array, which is not written to from now on: rewards of the next step are of it."""
    values.flags.writeable = False
    return values


@documented_call
class AxionVectorEnv(VectorEnv[_Array, npt.NDArray[np.float32], _Array]):
    """A gymnasium.vector.VectorEnv whose environments are the worlds of one batch.

    The server computes the task: a step is one call. Observations are [num_envs, k] in the batch's precision, a new
    array each step that begins at a multiple of 64 bytes, actions float32 [num_envs, nu] within the actuators' ranges.
    Episodes of a world follow from its seed, and do not depend on how many others there are.

    infos has the reward's terms by name; of episodes that have ended "ended_by", the name of the end ("" where the
    task's own `terminated` said so), "episode_return" and "episode_length"; and with SAME_STEP "final_obs" and
    "final_info"; of a task with a second group of observations "privileged_observation". Masks [num_envs] of the same
    names with "_" before them say whose they are, as in Gymnasium's own vector environments.
    "episode" is left to Gymnasium's RecordEpisodeStatistics.

    Parameters
    ----------
    task : ServerTask or str
        A ServerTask, or the name of one of Gymnasium's (server_task).
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

    @checked
    def __init__(self, task: ServerTask | str, num_envs: int = 1, *, client: Client | Fleet | None = None, target: str | None = None,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, max_episode_steps: int | None = None, seed: int = 0,
                 batch_choices: Mapping[str, Any] | None = None, render_mode: str | None = None, width: int = 480, height: int = 480,
                 camera: Camera | None = None, **task_choices: Any) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: is {num_envs}; it must be at least 1")
        check_client(client)
        self.task = task_of(task, task_choices)
        self.num_envs, self.autoreset_mode, self.render_mode = num_envs, mode_of(autoreset_mode), checked_mode(render_mode)
        spec = task_pb2.TaskSpec()
        spec.CopyFrom(task_spec(self.task.spec))
        spec.autoreset = _RESETS[self.autoreset_mode]
        if max_episode_steps is not None:
            spec.max_episode_steps = max_episode_steps
        self._own_client = Client(target) if client is None else None
        opened = self._own_client if client is None else client
        assert opened is not None
        # Overruled are worlds that the task's own `terminated` has ended, while the server goes on with them.
        self._begun, self._ended, self._overruled = np.zeros((3, num_envs), dtype=bool)
        self._has_gone_back = False  # the batch, to a checkpoint that is older than its last answer
        self._own_return = np.zeros(num_envs)  # sum of the task's own rewards in the episodes so far
        try:
            self.model = opened.create_model(path=self.task.model_path(), **self.task.model_choices)
            self._pictures = pictures_of(self.model, self.render_mode, width, height, camera)
            self.batch: Batch | FleetBatch = opened.create_batch(
                self.model, num_envs, task=spec, **{"seed": seed, **self.task.batch_choices, **(batch_choices or {})})
            self.info = self.batch.task
            low, high = np.array(self.info.action_lower, np.float32), np.array(self.info.action_upper, np.float32)
            if (low > high).any():
                raise ValueError(f"task.action: no action has an effect on {self.info.actuators[np.argmax(low > high)]!r}: with the offset "
                                 "all that the bounds allow is beyond the actuator's range")
            self._seen = self._first()
            observed = own_observations(self.task.observe(_aligned(self._seen)), (num_envs,))
        except BaseException:
            self.close_extras()
            raise
        self._end_names = np.array([*self.info.end_names, ""], dtype=object)  # the last is of -1
        self.dt = self.info.step_seconds
        self.metadata = {"autoreset_mode": self.autoreset_mode, **picture_metadata(self.dt)}
        self.single_action_space = gymnasium.spaces.Box(low, high)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, observed.shape[1:], observed.dtype.type)
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
        TypeError
            A seed is no whole number, or the options are no dict.
        ValueError
            There are not so many seeds, or the mask is none.
        gymnasium.error.ClosedEnvironmentError
            The environments are closed.
        """
        self._check_open()
        seeds, mask = seeds_of(seed, self.num_envs), mask_of(options, self.num_envs)
        if self._has_gone_back and isinstance(self.batch, Batch):
            log = self.batch._log
            self.batch, self._has_gone_back = self.batch.client.get_batch(self.batch.name), False
            if log is not None:
                log.follow(self.batch)
        given = np.array([each is not None for each in seeds])
        numbers = np.array([each or 0 for each in seeds], dtype=np.uint64)
        seen = np.array(self._seen)
        for some, own in ((mask & given, numbers[mask & given]), (mask & ~given, numbers[:0])):
            if some.any():
                seen[some] = self._first(np.flatnonzero(some), own)
        self._seen = _kept(seen)
        self._begun[mask], self._ended[mask], self._overruled[mask], self._own_return[mask] = True, False, False, 0
        return self._observed(seen), self._second_group()

    def _first(self, worlds: npt.NDArray[np.int64] | None = None, seeds: _Array = _NO_SEEDS) -> _Array:
        """Begins episodes of these worlds, or all; what is observed first of them."""
        if not self.info.privileged_observation_size:
            return _kept(self.batch.begin_episodes(worlds=worlds, seeds=seeds))
        groups = self.batch.begin_groups(worlds=worlds, seeds=seeds)
        if worlds is None:
            self._privileged = np.array(groups["critic"])
        else:
            self._privileged[worlds] = groups["critic"]
        return _kept(groups["policy"])

    def _second_group(self) -> dict[str, Any]:
        """What of the second group of observations goes into infos."""
        if not self.info.privileged_observation_size:
            return {}
        return {"privileged_observation": np.array(self._privileged), "_privileged_observation": np.ones(self.num_envs, dtype=bool)}

    @documented
    def step(self, actions: npt.NDArray[np.float32]) -> _Answer:
        """Steps every world with its action.

        Returns
        -------
        tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray, dict[str, Any]]
            Observations [num_envs, k], rewards, terminations and truncations [num_envs], and infos.

        Raises
        ------
        TypeError
            The actions are no real numbers.
        ValueError
            The actions have another shape, or are not finite.
        gymnasium.error.ResetNeeded
            A world was not reset yet, or, with DISABLED, has ended and was not reset; or its server has lost steps, as
            an AbortedError has told, and it was not reset since.
        gymnasium.error.ClosedEnvironmentError
            The environments are closed.
        """
        self._check_open()
        if not self._begun.all():
            raise gymnasium.error.ResetNeeded(f"world {np.argmin(self._begun)} has not been reset; call reset before the first step")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise gymnasium.error.ResetNeeded(f"world {np.argmax(self._ended)} has ended and was not reset")
        action = actions_of(actions, self.action_space.shape or ())
        try:
            answer = self.batch.step_task(action)
        except AbortedError:
            self._begun[:], self._has_gone_back = False, True
            raise
        return self._judged(answer, action)

    def _judged(self, answer: TaskResult, action: _Array) -> _Answer:
        """What the server answers to a step, and what the task's own methods make of it."""
        same_step, went = self.autoreset_mode is AutoresetMode.SAME_STEP, ~self._ended
        before, self._seen = self._seen, _kept(answer.observation)
        self._privileged = np.array(answer.privileged_observation)
        last = np.array(self._privileged)
        last[answer.final_rows] = answer.final_privileged_observation
        self._begin_overruled()  # the server has stepped these in place of beginning them
        after = self._seen
        if len(answer.final_rows):
            after = np.array(after)
            after[answer.final_rows] = answer.final_observation
        after = _kept(after)
        own = own_rewards(self.task.rewards(before, after, action), self.info.reward_terms, self.num_envs)
        own_reward = np.where(went, sum(own.values(), np.zeros(self.num_envs)), 0.0)
        self._own_return = np.where(went, self._own_return, 0.0) + own_reward
        terminated, truncated = answer.terminated & went, answer.truncated & went
        own_ended = own_ends(self.task.terminated(after), self.num_envs) & went & ~terminated
        self._overruled = own_ended & ~truncated
        terminated |= own_ended
        ended = terminated | truncated
        infos: dict[str, Any] = {}
        for name, values in (dict(zip(self.info.reward_terms, answer.terms.T)) | own).items():
            infos[name], infos[f"_{name}"] = np.where(went, values, 0.0), went & ~ended if same_step else went
        if ended.any():
            for name, values in (("episode_return", np.where(ended, answer.episode_return + self._own_return, 0.0)),
                                 ("episode_length", np.where(ended, answer.episode_length, 0)),
                                 ("ended_by", self._end_names[np.where(ended & ~own_ended, answer.ended_by, -1)])):
                infos[name], infos[f"_{name}"] = values, ended
        if same_step and ended.any():
            self._begin_overruled()
            self._own_return[ended] = 0
            self._tell_final({**infos, **({"privileged_observation": last} if last.shape[1] else {})}, infos, ended, self._observed(after))
        infos.update(self._second_group())
        self._ended = ended & (not same_step)
        self._overruled &= self.autoreset_mode is AutoresetMode.NEXT_STEP
        return self._observed(self._seen), np.where(went, answer.reward, 0.0) + own_reward, terminated, truncated, infos

    def _begin_overruled(self) -> None:
        """Begins episodes in worlds that the server goes on with, though the task's own `terminated` has ended them."""
        if self._overruled.any():
            seen = np.array(self._seen)
            seen[self._overruled] = self._first(np.flatnonzero(self._overruled))
            self._seen = _kept(seen)

    def _observed(self, seen: _Array) -> _Array:
        """What the task observes of a copy: callers may write to what they are answered, and the task to what it is given."""
        return own_observations(self.task.observe(_aligned(seen)), self.observation_space.shape or ())

    def _tell_final(self, last: dict[str, Any], infos: dict[str, Any], ended: _Bools, observations: _Array) -> None:
        """Adds what was observed last of episodes that have ended, and what else was told of them, as Gymnasium's vector
        environments do."""
        final = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(ended):
            final[world] = np.array(observations[world])
        told = {name: ended if name.startswith("_") else values for name, values in last.items()}
        infos.update(final_info=told, _final_info=ended, final_obs=final, _final_obs=ended)

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environments are closed; make new ones")

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """Draws every world as it stands.

        Returns
        -------
        tuple of numpy.ndarray, or None
            Uint8 [height, width, 3] each; None, and a warning, without a render_mode.

        Raises
        ------
        gymnasium.error.ClosedEnvironmentError
            The environments are closed.
        """
        self._check_open()
        return drawn(self, self._pictures, self.batch)

    def close_extras(self, **kwargs: Any) -> None:
        """Deletes the batch, if the server still has it, and ends the connection where it is the environment's own.

        Parameters
        ----------
        **kwargs
            Gymnasium's; not used.
        """
        try:
            if hasattr(self, "batch"):
                with contextlib.suppress(NotFoundError):
                    self.batch.delete()
        finally:
            self.closed = True  # whatever became of the batch, whose lease ends otherwise
            if self._own_client is not None:
                self._own_client.close()


class AxionEnv(gymnasium.Env[npt.NDArray[Any], npt.NDArray[np.float32]]):
    """A gymnasium.Env: one world of a server, which computes the task.

    An episode's limit of steps is that of the ServerTask, or max_episode_steps; a task that is named has none of its
    own, as gymnasium.make adds it.

    Parameters
    ----------
    task : ServerTask or str
        A ServerTask, or the name of one of Gymnasium's.
    **choices
        As of AxionVectorEnv, but num_envs and autoreset_mode.
    """

    metadata = {"render_modes": list(RENDER_MODES)}

    def __init__(self, task: ServerTask | str, **choices: Any) -> None:
        limit = {"max_episode_steps": 0} if isinstance(task, str) else {}
        self._is_seeded = "seed" in choices
        self.worlds = AxionVectorEnv(task, 1, autoreset_mode=AutoresetMode.DISABLED, **{**limit, **choices})
        self.observation_space = self.worlds.single_observation_space
        self.action_space = self.worlds.single_action_space
        self.render_mode = self.worlds.render_mode
        self.metadata = {key: value for key, value in self.worlds.metadata.items() if key != "autoreset_mode"}

    def __repr__(self) -> str:
        return f"<axion.gym.{type(self).__name__}: one world of {self.worlds!r}>"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Begins an episode.

        Parameters
        ----------
        seed : int, optional
            Of the world; None: it goes on with its own, at first the `seed` that it was made with, or one at random.
        options : dict[str, Any], optional
            Gymnasium's.

        Returns
        -------
        tuple[numpy.ndarray, dict[str, Any]]
            The observation [k], and infos.
        """
        super().reset(seed=seed)
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(2 ** 32))
        observation, info = self.worlds.reset(seed=[seed])
        self._is_seeded = True
        return observation[0], {name: values[0] for name, values in info.items() if not name.startswith("_")}

    def step(self, action: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Makes one action.

        Parameters
        ----------
        action : numpy.ndarray
            [nu].

        Returns
        -------
        tuple[numpy.ndarray, float, bool, bool, dict[str, Any]]
            Observation [k], reward, termination, truncation, and infos with the terms of the reward.
        """
        self.worlds._ended[:] = False  # a single environment may be stepped on after its end, as Gymnasium's own may
        observation, reward, terminated, truncated, infos = self.worlds.step(as_array(action, "action")[None])
        told = {name: values[0] for name, values in infos.items() if not name.startswith("_")}
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), told

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Draws the world as it stands.

        Returns
        -------
        numpy.ndarray or None
            Uint8 [height, width, 3]; None, and a warning, without a render_mode.
        """
        pictures = self.worlds.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """Ends the world."""
        self.worlds.close()


@documented
def make_vec(task: ServerTask | str, num_envs: int = 1, **choices: Any) -> AxionVectorEnv:
    """Makes an AxionVectorEnv.

    Parameters
    ----------
    num_envs : int, default 1
        Worlds.
    **choices
        As of AxionVectorEnv.

    Returns
    -------
    AxionVectorEnv
        The environments.

    Raises
    ------
    ValueError
        There is no such task, or num_envs is below 1.
    """
    return AxionVectorEnv(task, num_envs, **choices)
