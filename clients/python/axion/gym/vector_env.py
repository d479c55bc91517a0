"""Gymnasium's environments over worlds of a server: many at once, or one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from axion.client import Client
from axion.errors import NotFoundError
from axion.fleet import Fleet
from axion.gym.mechanics import Floats, Mechanics, WorldState
from axion.gym.pictures import RENDER_MODES, checked_mode, drawn, picture_metadata, pictures_of
from axion.gym.tasks import GYMNASIUM_TASKS, Task
from axion.texts import documented

if TYPE_CHECKING:
    from axion.viewing.raycast import Camera

_Bools = npt.NDArray[np.bool_]


def _task_of(task: Task | str, choices: Mapping[str, Any]) -> Task:
    if isinstance(task, Task):
        if choices:
            raise TypeError(f"{', '.join(choices)}: are given to the Task itself")
        return task
    if task not in GYMNASIUM_TASKS:
        raise ValueError(f"task: {task!r} is none of {', '.join(sorted(GYMNASIUM_TASKS))}")
    return GYMNASIUM_TASKS[task](**choices)


def check_begun(closed: bool, has_begun: bool) -> None:
    """Raises ClosedEnvironmentError of an environment that is closed, and ResetNeeded of one that was never reset."""
    if closed:
        raise gymnasium.error.ClosedEnvironmentError("the environments are closed; make new ones")
    if not has_begun:
        raise gymnasium.error.ResetNeeded("the environments have not been reset; call reset before the first step")


@documented
class AxionVectorEnv(VectorEnv[npt.NDArray[np.float64], npt.NDArray[np.float32], npt.NDArray[Any]]):
    """A gymnasium.vector.VectorEnv whose environments are the worlds of one batch.

    Observations are float64 [num_envs, k], actions float32 [num_envs, nu] within the actuators' ranges. Each world
    draws its starts from its own generator, seeded by its own seed: the episodes of a world do not depend on how many
    others there are. infos has the reward's terms [num_envs], by name, and with SAME_STEP "final_obs" and
    "final_info" of ended episodes.

    Parameters
    ----------
    task : Task or str
        A Task, or the name of one of Gymnasium's, for example "Ant-v5".
    num_envs : int, default 1
        Worlds.
    client : Client or Fleet, optional
        Of the server, or a Fleet of servers; without it the environment connects and closes itself.
    target : str, optional
        "host:port" of the server, without client.
    autoreset_mode : AutoresetMode or str, default AutoresetMode.NEXT_STEP
        NEXT_STEP, SAME_STEP or DISABLED, as gymnasium.vector.AutoresetMode says.
    max_episode_steps : int, optional
        Actions after which an episode is truncated; None: the task's.
    dt : float, optional
        s, of a step; None: the model's.
    batch_choices : Mapping[str, Any], optional
        Further arguments of Client.create_batch, for example precision or options.

    Raises
    ------
    AxionError
        The server refuses something, or cannot be reached.
    ValueError
        An argument makes no sense.
    TypeError
        Choices are given beside a Task, or there are no such.
    """

    def __init__(self, task: Task | str, num_envs: int = 1, *, client: Client | Fleet | None = None, target: str | None = None,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, max_episode_steps: int | None = None,
                 dt: float | None = None, batch_choices: Mapping[str, Any] | None = None, render_mode: str | None = None,
                 width: int = 480, height: int = 480, camera: Camera | None = None, **task_choices: Any) -> None:
        self.task = _task_of(task, task_choices)
        if num_envs < 1:
            raise ValueError(f"num_envs: is {num_envs}; it must be at least 1")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.render_mode = checked_mode(render_mode)
        self.max_episode_steps = self.task.max_episode_steps if max_episode_steps is None else max_episode_steps
        self._own_client = Client(target) if client is None else None
        opened = client if client is not None else self._own_client
        assert opened is not None
        self._client = opened
        try:
            self.model = opened.create_model(path=self.task.model_path())
            self.robot = Mechanics(opened, self.model)
            self._pictures = pictures_of(self.model, self.render_mode, width, height, camera)
            self.batch = opened.create_batch(self.model, num_envs, dt, **(batch_choices or {}))
        except BaseException:
            self._close_client()
            raise
        self.dt = self.batch.dt * self.task.frame_skip
        self.metadata = {"autoreset_mode": self.autoreset_mode, **picture_metadata(self.dt)}
        state = self.batch.get_state(("joint_position", "joint_velocity"), worlds=[0])
        self._start_qpos = np.array(state["joint_position"][0], dtype=np.float64)
        self._start_qvel = np.array(state["joint_velocity"][0], dtype=np.float64)
        self._generators = [np.random.default_rng() for _ in range(num_envs)]
        self._episode_steps = np.zeros(num_envs, dtype=np.int64)
        self._ended = np.zeros(num_envs, dtype=bool)
        self._has_begun = False
        self._control = np.zeros((num_envs, self.model.control_count))
        self._state = self._read(None)
        self.single_action_space = self._actions()
        size = self.task.observe(self.robot, self._state).shape[1]
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)

    def _actions(self) -> gymnasium.spaces.Box:
        actuators = self.model.proto.actuators
        low = [a.control_lower if a.control_limited else -np.inf for a in actuators]
        high = [a.control_upper if a.control_limited else np.inf for a in actuators]
        return gymnasium.spaces.Box(np.array(low, dtype=np.float32), np.array(high, dtype=np.float32), dtype=np.float32)

    def _read(self, answer: Mapping[str, npt.NDArray[Any]] | None, worlds: npt.NDArray[np.int64] | None = None) -> WorldState:
        """The state of worlds (all: None) from the fields of an answer, or asked for; contacts only after a step."""
        fields = answer if answer is not None else self.batch.get_state(Mechanics.FIELDS, worlds=worlds)
        contacts = self.batch.contacts(worlds=worlds) if answer is not None and self.task.needs_contacts else None
        control = self._control if worlds is None else self._control[worlds]
        return self.robot.state(fields, control, contacts, self.batch.dt)

    def _start(self, worlds: npt.NDArray[np.int64]) -> None:
        """Begins episodes in these worlds."""
        if len(worlds) == 0:
            return
        starts = [self.task.start(self._generators[w], self._start_qpos, self._start_qvel) for w in worlds]
        qpos, qvel = np.array([q for q, _ in starts]), np.array([v for _, v in starts])
        self.batch.reset(worlds=worlds, joint_position=qpos, joint_velocity=self.robot.joint_velocity(qpos, qvel))
        self._control[worlds] = 0
        self._episode_steps[worlds] = 0
        self._ended[worlds] = False
        self._put(self._state, self._read(None, worlds), worlds)

    @staticmethod
    def _put(whole: WorldState, part: WorldState, worlds: npt.NDArray[np.int64]) -> None:
        for name, array in vars(part).items():
            getattr(whole, name)[worlds] = array

    @documented
    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
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
        for world in np.flatnonzero(mask):
            if seeds[world] is not None:
                self._generators[world] = np.random.default_rng(seeds[world])
        self._start(np.flatnonzero(mask))
        self._has_begun = True
        return self.task.observe(self.robot, self._state), {}

    @documented
    def step(self, actions: npt.NDArray[np.float32]) -> tuple[Floats, Floats, _Bools, _Bools, dict[str, Any]]:
        """Steps every world with its action.

        Returns
        -------
        tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray, dict[str, Any]]
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
        action = np.asarray(actions, dtype=np.float64)
        if action.shape != self.action_space.shape:
            raise ValueError(f"actions: have shape {list(action.shape)}; it must be {list(self.action_space.shape or ())}")
        if not np.isfinite(action).all():
            raise ValueError(f"actions: are not finite in world {int(np.flatnonzero(~np.isfinite(action).all(axis=1))[0])}")
        starting = self._ended.copy()
        if starting.any() and self.autoreset_mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(f"world {int(np.flatnonzero(starting)[0])} has ended and was not reset")
        stepping = np.flatnonzero(~starting)
        rewards, terminated, truncated = np.zeros(self.num_envs), np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {}
        if len(stepping):
            terms = self._advance(stepping, action)
            rewards[stepping] = sum(terms.values())
            terminated[stepping] = self.task.terminated(self.robot, self._state)[stepping]
            for name, values in terms.items():
                infos[name], infos[f"_{name}"] = np.zeros(self.num_envs), ~starting
                infos[name][stepping] = values
        self._start(np.flatnonzero(starting))
        truncated[stepping] = self._episode_steps[stepping] >= self.max_episode_steps
        self._ended = terminated | truncated
        observations = self.task.observe(self.robot, self._state)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended.copy()
            final = np.full(self.num_envs, None, dtype=object)
            for world in np.flatnonzero(ended):
                final[world] = observations[world]
            infos.update(final_obs=final, _final_obs=ended, final_info={k: np.copy(v) for k, v in infos.items()}, _final_info=ended)
            self._start(np.flatnonzero(ended))
            observations = self.task.observe(self.robot, self._state)
        return observations, rewards, terminated, truncated, infos

    def _advance(self, stepping: npt.NDArray[np.int64], action: Floats) -> dict[str, Floats]:
        """One action of these worlds; returns the terms of their rewards."""
        some = None if len(stepping) == self.num_envs else stepping
        self._control[stepping] = action[stepping]
        answer = self.batch.step(self._control[stepping], steps=self.task.frame_skip, outputs=Mechanics.FIELDS, worlds=some)
        self._episode_steps[stepping] += 1
        after = self._read(answer, some)
        before = after if some is None else WorldState(**{name: array[stepping] for name, array in vars(self._state).items()})
        if some is None:
            before, self._state = self._state, after
        else:
            self._put(self._state, after, stepping)
        return self.task.rewards(self.robot, before, after, action[stepping], self.dt)

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


class AxionEnv(gymnasium.Env[npt.NDArray[Any], npt.NDArray[np.float32]]):
    """A gymnasium.Env: one world of a server.

    gymnasium.make adds the time limit.

    Parameters
    ----------
    task : Task or str
        A Task, or the name of one of Gymnasium's.
    **choices
        As of AxionVectorEnv, but num_envs, autoreset_mode and max_episode_steps.
    """

    metadata = {"render_modes": list(RENDER_MODES)}

    def __init__(self, task: Any, **choices: Any) -> None:
        self.worlds = self._make(task, choices)
        self.observation_space = self.worlds.single_observation_space
        self.action_space = self.worlds.single_action_space
        self.render_mode = self.worlds.render_mode
        self.metadata = {key: value for key, value in self.worlds.metadata.items() if key != "autoreset_mode"}

    def __repr__(self) -> str:
        return f"<axion.gym.{type(self).__name__}: one world of {self.worlds!r}>"

    def _make(self, task: Any, choices: dict[str, Any]) -> Any:
        return AxionVectorEnv(task, 1, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=np.iinfo(np.int64).max, **choices)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Begins an episode.

        Parameters
        ----------
        seed : int, optional
            Of the world; None: it goes on with its own.
        options : dict[str, Any], optional
            Gymnasium's.

        Returns
        -------
        tuple[numpy.ndarray, dict[str, Any]]
            The observation [k], and infos.
        """
        super().reset(seed=seed)
        if seed is None and self._np_random is None:
            seed = int(self.np_random.integers(2 ** 32))
        observation, info = self.worlds.reset(seed=[seed])
        return observation[0], info

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
        observation, reward, terminated, truncated, infos = self.worlds.step(np.asarray(action)[None])
        terms = {name: values[0] for name, values in infos.items() if not name.startswith("_") and isinstance(values, np.ndarray)}
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), terms

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
