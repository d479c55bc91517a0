"""Gymnasium's environments over worlds of a server: many at once, or one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from axion.batch import Batch
from axion.client import Client
from axion.fleet import Fleet
from axion.fleet_batch import FleetBatch
from axion.gym.mechanics import Floats, Mechanics, WorldState
from axion.gym.pictures import RENDER_MODES
from axion.gym.tasks import GYMNASIUM_TASKS, Task
from axion.gym.worlds_env import WorldsVectorEnv
from axion.model import Model
from axion.texts import documented_call

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


@documented_call
class AxionVectorEnv(WorldsVectorEnv):
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
    dt : float, optional
        s, of a step; None: the model's.

    Raises
    ------
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
        self._dt, self._batch_choices = dt, batch_choices or {}
        self.max_episode_steps = self.task.max_episode_steps if max_episode_steps is None else max_episode_steps
        super().__init__(num_envs, client, target, autoreset_mode, (render_mode, width, height, camera))
        state = self.batch.get_state(("joint_position", "joint_velocity"), worlds=[0])
        self._start_qpos = np.array(state["joint_position"][0], dtype=np.float64)
        self._start_qvel = np.array(state["joint_velocity"][0], dtype=np.float64)
        self._generators = [np.random.default_rng() for _ in range(num_envs)]
        self._episode_steps = np.zeros(num_envs, dtype=np.int64)
        self._control = np.zeros((num_envs, self.model.control_count))
        self._state = self._read(None)
        actuators = self.model.proto.actuators
        self._describe(self.batch.dt * self.task.frame_skip, [a.control_lower if a.control_limited else -np.inf for a in actuators],
                       [a.control_upper if a.control_limited else np.inf for a in actuators],
                       self.task.observe(self.robot, self._state).shape[1], np.float64)

    def _create_model(self, client: Client | Fleet) -> Model:
        model = client.create_model(path=self.task.model_path())
        self.robot = Mechanics(client, model)
        return model

    def _create_batch(self, client: Client | Fleet) -> Batch | FleetBatch:
        return client.create_batch(self.model, self.num_envs, self._dt, **self._batch_choices)

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

    def _begin(self, mask: _Bools, seeds: list[int | None]) -> Floats:
        for world in np.flatnonzero(mask):
            if seeds[world] is not None:
                self._generators[world] = np.random.default_rng(seeds[world])
        self._start(np.flatnonzero(mask))
        return self.task.observe(self.robot, self._state)

    def _advance(self, action: npt.NDArray[Any], starting: _Bools) -> tuple[Floats, Floats, _Bools, _Bools, dict[str, Any]]:
        if not np.isfinite(action).all():
            raise ValueError(f"actions: are not finite in world {int(np.flatnonzero(~np.isfinite(action).all(axis=1))[0])}")
        stepping = np.flatnonzero(~starting)
        rewards, terminated, truncated = np.zeros(self.num_envs), np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {}
        if len(stepping):
            terms = self._act(stepping, action.astype(np.float64))
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
            ended = np.flatnonzero(self._ended)
            self._tell_final(infos, ended, observations[ended])
            self._start(ended)
            observations = self.task.observe(self.robot, self._state)
        return observations, rewards, terminated, truncated, infos

    def _act(self, stepping: npt.NDArray[np.int64], action: Floats) -> dict[str, Floats]:
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
