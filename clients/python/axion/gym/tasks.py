"""Gymnasium's MuJoCo tasks, version 5: observations, rewards, terminations and starts, for all worlds of a batch at once.

Each is what the environment of the same name in gymnasium.envs.mujoco computes, term by term, for the same state; the engine that
makes the states is another. A task of one's own is a Task with its own `observe`, `rewards` and `terminated`.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from axion.gym.mechanics import Floats, Mechanics, WorldState
from axion.texts import documented

Terms = dict[str, Floats]


def _asset(name: str) -> pathlib.Path:
    """A model of the installed gymnasium. FileNotFoundError where that has none of this name."""
    import gymnasium
    path = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / name
    if not path.exists():
        raise FileNotFoundError(f"{path}: this version of gymnasium has no such model; give `model` a path")
    return path


@dataclasses.dataclass
class Task:
    """What is observed, rewarded and ended, and how worlds start.

    Methods take and return arrays of n worlds.

    Parameters
    ----------
    model : str
        Path of the MJCF file, or the name of one that gymnasium has.
    frame_skip : int
        Steps of the model's time step with one action.
    max_episode_steps : int, default 1000
        Actions after which an episode is truncated.
    reset_noise_scale : float, default 0.0
        Half width of the uniform noise of a start (rad, m and per second), or of velocities the standard deviation,
        with normal_velocity_noise.
    normal_velocity_noise : bool, default False
        Whether velocities are drawn from a normal distribution.
    needs_contacts : bool, default False
        `observe` or `rewards` read cfrc_ext, which takes another call to the server after each step.
    """

    model: str
    frame_skip: int
    max_episode_steps: int = 1000
    reset_noise_scale: float = 0.0
    normal_velocity_noise: bool = False
    needs_contacts: bool = False

    def model_path(self) -> pathlib.Path:
        """Finds the model's file.

        Returns
        -------
        pathlib.Path
            Where it is.

        Raises
        ------
        FileNotFoundError
            There is none of this name here or in gymnasium.
        """
        path = pathlib.Path(self.model)
        return path if path.exists() else _asset(self.model)

    def start(self, rng: np.random.Generator, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats]:
        """Draws what an episode begins with.

        Parameters
        ----------
        rng : np.random.Generator
            The world's own random numbers.
        qpos : numpy.ndarray
            Coordinates of the file, rad and m: [nq].
        qvel : numpy.ndarray
            Their rates: [nv].

        Returns
        -------
        tuple of numpy.ndarray
            Coordinates [nq] and rates [nv].
        """
        noise = self.reset_noise_scale
        position = qpos + rng.uniform(-noise, noise, len(qpos))
        drawn = rng.standard_normal(len(qvel)) * noise if self.normal_velocity_noise else rng.uniform(-noise, noise, len(qvel))
        return position, qvel + drawn

    @documented
    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        """Computes what is observed.

        Returns
        -------
        numpy.ndarray
            Float64 [n, k].
        """
        return np.concatenate([state.qpos, state.qvel], axis=1)

    @documented
    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        """Computes the terms of the reward, which is their sum.

        Parameters
        ----------
        before : WorldState
            The worlds before the action.
        after : WorldState
            The worlds after it.
        action : numpy.ndarray
            [n, nu].
        dt : float
            s from before to after.

        Returns
        -------
        dict of str to numpy.ndarray
            Float64 [n] of each name.
        """
        raise NotImplementedError

    @documented
    def terminated(self, robot: Mechanics, state: WorldState) -> npt.NDArray[np.bool_]:
        """Tells which episodes have come to an end of their own.

        Returns
        -------
        numpy.ndarray
            Bool [n].
        """
        return np.zeros(len(state.qpos), dtype=bool)


def _square_sum(a: Floats) -> Floats:
    total: Floats = np.square(a).sum(axis=tuple(range(1, a.ndim)))
    return total


def _length(a: Floats) -> Floats:
    return np.sqrt(_square_sum(a))


@dataclasses.dataclass
class Runner(Task):
    """A robot that is rewarded for its velocity along x, less what its controls cost."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    healthy_reward: float = 0.0
    terminate_when_unhealthy: bool = True
    skipped_positions: int = 1
    greatest_velocity: float = np.inf

    def x_velocity(self, robot: Mechanics, before: WorldState, after: WorldState, dt: float) -> Floats:
        """[n] m/s between two states."""
        velocity: Floats = (after.qpos[:, 0] - before.qpos[:, 0]) / dt
        return velocity

    def is_healthy(self, state: WorldState) -> npt.NDArray[np.bool_]:
        """[n]"""
        return np.ones(len(state.qpos), dtype=bool)

    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        limit = self.greatest_velocity
        return np.concatenate([state.qpos[:, self.skipped_positions:], np.clip(state.qvel, -limit, limit)], axis=1)

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        terms = {"reward_forward": self.forward_reward_weight * self.x_velocity(robot, before, after, dt),
                 "reward_ctrl": -self.ctrl_cost_weight * _square_sum(action)}
        if self.healthy_reward:
            terms["reward_survive"] = self.healthy_reward * self.is_healthy(after).astype(np.float64)
        return terms

    def terminated(self, robot: Mechanics, state: WorldState) -> npt.NDArray[np.bool_]:
        return ~self.is_healthy(state) & self.terminate_when_unhealthy


@dataclasses.dataclass
class HalfCheetah(Runner):
    """HalfCheetah-v5."""

    model: str = "half_cheetah.xml"
    frame_skip: int = 5
    reset_noise_scale: float = 0.1
    normal_velocity_noise: bool = True


@dataclasses.dataclass
class Hopper(Runner):
    """Hopper-v5."""

    model: str = "hopper.xml"
    frame_skip: int = 4
    reset_noise_scale: float = 5e-3
    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    greatest_velocity: float = 10.0
    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    healthy_z_range: tuple[float, float] = (0.7, np.inf)
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)

    def is_healthy(self, state: WorldState) -> npt.NDArray[np.bool_]:
        (z_low, z_high), (low, high), (least, greatest) = self.healthy_z_range, self.healthy_angle_range, self.healthy_state_range
        rest = np.concatenate([state.qpos[:, 2:], state.qvel], axis=1)
        z, angle = state.qpos[:, 1], state.qpos[:, 2]
        healthy: npt.NDArray[np.bool_] = (((least < rest) & (rest < greatest)).all(axis=1) & (z_low < z) & (z < z_high) &
                                          (low < angle) & (angle < high))
        return healthy


@dataclasses.dataclass
class Walker2d(Hopper):
    """Walker2d-v5."""

    model: str = "walker2d_v5.xml"
    healthy_state_range: tuple[float, float] = (-np.inf, np.inf)
    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)


@dataclasses.dataclass
class Swimmer(Runner):
    """Swimmer-v5."""

    model: str = "swimmer.xml"
    frame_skip: int = 4
    reset_noise_scale: float = 0.1
    ctrl_cost_weight: float = 1e-4
    skipped_positions: int = 2


@dataclasses.dataclass
class Ant(Runner):
    """Ant-v5."""

    model: str = "ant.xml"
    frame_skip: int = 5
    reset_noise_scale: float = 0.1
    normal_velocity_noise: bool = True
    needs_contacts: bool = True
    ctrl_cost_weight: float = 0.5
    healthy_reward: float = 1.0
    skipped_positions: int = 2
    contact_cost_weight: float = 5e-4
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    main_body: str = "torso"

    def x_velocity(self, robot: Mechanics, before: WorldState, after: WorldState, dt: float) -> Floats:
        body = robot.body(self.main_body)
        velocity: Floats = (after.xpos[:, body, 0] - before.xpos[:, body, 0]) / dt
        return velocity

    def is_healthy(self, state: WorldState) -> npt.NDArray[np.bool_]:
        low, high = self.healthy_z_range
        finite = np.isfinite(np.concatenate([state.qpos, state.qvel], axis=1)).all(axis=1)
        healthy: npt.NDArray[np.bool_] = finite & (low <= state.qpos[:, 2]) & (state.qpos[:, 2] <= high)
        return healthy

    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        forces = np.clip(state.cfrc_ext, *self.contact_force_range).reshape(len(state.qpos), -1)
        return np.concatenate([super().observe(robot, state), forces], axis=1)

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        terms = super().rewards(robot, before, after, action, dt)
        terms["reward_contact"] = -self.contact_cost_weight * _square_sum(np.clip(after.cfrc_ext, *self.contact_force_range))
        return terms


@dataclasses.dataclass
class Humanoid(Runner):
    """Humanoid-v5."""

    model: str = "humanoid.xml"
    frame_skip: int = 5
    reset_noise_scale: float = 1e-2
    needs_contacts: bool = True
    forward_reward_weight: float = 1.25
    ctrl_cost_weight: float = 0.1
    healthy_reward: float = 5.0
    skipped_positions: int = 2
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-np.inf, 10.0)
    healthy_z_range: tuple[float, float] = (1.0, 2.0)

    def x_velocity(self, robot: Mechanics, before: WorldState, after: WorldState, dt: float) -> Floats:
        velocity: Floats = (after.center_of_mass[:, 0] - before.center_of_mass[:, 0]) / dt
        return velocity

    def is_healthy(self, state: WorldState) -> npt.NDArray[np.bool_]:
        low, high = self.healthy_z_range
        healthy: npt.NDArray[np.bool_] = (low < state.qpos[:, 2]) & (state.qpos[:, 2] < high)
        return healthy

    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        n = len(state.qpos)
        return np.concatenate([super().observe(robot, state), state.cinert.reshape(n, -1), state.cvel.reshape(n, -1),
                               robot.qfrc_actuator(state.control)[:, 6:], state.cfrc_ext.reshape(n, -1)], axis=1)

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        terms = super().rewards(robot, before, after, action, dt)
        terms["reward_contact"] = -np.clip(self.contact_cost_weight * _square_sum(after.cfrc_ext), *self.contact_cost_range)
        return terms


@dataclasses.dataclass
class Reacher(Task):
    """Reacher-v5."""

    model: str = "reacher.xml"
    frame_skip: int = 2
    max_episode_steps: int = 50
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 1.0

    def start(self, rng: np.random.Generator, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats]:
        position = qpos + rng.uniform(-0.1, 0.1, len(qpos))
        goal = rng.uniform(-0.2, 0.2, 2)
        while np.linalg.norm(goal) >= 0.2:
            goal = rng.uniform(-0.2, 0.2, 2)
        velocity = qvel + rng.uniform(-0.005, 0.005, len(qvel))
        position[-2:], velocity[-2:] = goal, 0
        return position, velocity

    def _to_target(self, robot: Mechanics, state: WorldState) -> Floats:
        arm: Floats = state.xpos[:, robot.body("fingertip")] - state.xpos[:, robot.body("target")]
        return arm

    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        angle = state.qpos[:, :2]
        return np.concatenate([np.cos(angle), np.sin(angle), state.qpos[:, 2:], state.qvel[:, :2],
                               self._to_target(robot, state)[:, :2]], axis=1)

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        return {"reward_dist": -self.reward_dist_weight * _length(self._to_target(robot, after)),
                "reward_ctrl": -self.reward_control_weight * _square_sum(action)}


@dataclasses.dataclass
class Pusher(Task):
    """Pusher-v5."""

    model: str = "pusher_v5.xml"
    frame_skip: int = 5
    max_episode_steps: int = 100
    reward_near_weight: float = 0.5
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 0.1

    def start(self, rng: np.random.Generator, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats]:
        position, goal = qpos.copy(), np.zeros(2)
        cylinder = np.array([rng.uniform(-0.3, 0), rng.uniform(-0.2, 0.2)])
        while np.linalg.norm(cylinder - goal) <= 0.17:
            cylinder = np.array([rng.uniform(-0.3, 0), rng.uniform(-0.2, 0.2)])
        velocity = qvel + rng.uniform(-0.005, 0.005, len(qvel))
        position[-4:-2], position[-2:], velocity[-4:] = cylinder, goal, 0
        return position, velocity

    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        places = [state.xpos[:, robot.body(name)] for name in ("tips_arm", "object", "goal")]
        return np.concatenate([state.qpos[:, :7], state.qvel[:, :7], *places], axis=1)

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        tips, thing, goal = (after.xpos[:, robot.body(name)] for name in ("tips_arm", "object", "goal"))
        return {"reward_dist": -self.reward_dist_weight * _length(thing - goal),
                "reward_near": -self.reward_near_weight * _length(thing - tips),
                "reward_ctrl": -self.reward_control_weight * _square_sum(action)}


@dataclasses.dataclass
class InvertedPendulum(Task):
    """InvertedPendulum-v5."""

    model: str = "inverted_pendulum.xml"
    frame_skip: int = 2
    reset_noise_scale: float = 0.01

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        return {"reward_survive": (~self.terminated(robot, after)).astype(np.float64)}

    def terminated(self, robot: Mechanics, state: WorldState) -> npt.NDArray[np.bool_]:
        finite = np.isfinite(self.observe(robot, state)).all(axis=1)
        fallen: npt.NDArray[np.bool_] = ~finite | (np.abs(state.qpos[:, 1]) > 0.2)
        return fallen


@dataclasses.dataclass
class InvertedDoublePendulum(Task):
    """InvertedDoublePendulum-v5. Its last observation, the force that holds the cart at the ends of its rail, is zero here."""

    model: str = "inverted_double_pendulum.xml"
    frame_skip: int = 5
    reset_noise_scale: float = 0.1
    normal_velocity_noise: bool = True
    healthy_reward: float = 10.0
    tip: tuple[float, float, float] = (0.0, 0.0, 0.6)  # m, the file's site "tip" in the frame of its last body

    def _tip(self, robot: Mechanics, state: WorldState) -> Floats:
        body = robot.body("pole2")
        place: Floats = state.xpos[:, body] + state.xmat[:, body] @ np.array(self.tip)
        return place

    def observe(self, robot: Mechanics, state: WorldState) -> Floats:
        angle = state.qpos[:, 1:]
        return np.concatenate([state.qpos[:, :1], np.sin(angle), np.cos(angle), np.clip(state.qvel, -10, 10),
                               np.zeros((len(angle), 1))], axis=1)

    def rewards(self, robot: Mechanics, before: WorldState, after: WorldState, action: Floats, dt: float) -> Terms:
        tip = self._tip(robot, after)
        return {"reward_survive": self.healthy_reward * (~self.terminated(robot, after)).astype(np.float64),
                "distance_penalty": -(0.01 * tip[:, 0] ** 2 + (tip[:, 2] - 2) ** 2),
                "velocity_penalty": -(1e-3 * after.qvel[:, 1] ** 2 + 5e-3 * after.qvel[:, 2] ** 2)}

    def terminated(self, robot: Mechanics, state: WorldState) -> npt.NDArray[np.bool_]:
        fallen: npt.NDArray[np.bool_] = self._tip(robot, state)[:, 2] <= 1
        return fallen


# By the name of Gymnasium's environment; called with fields of the task that are to differ.
GYMNASIUM_TASKS: dict[str, Callable[..., Task]] = {
    "Ant-v5": Ant, "HalfCheetah-v5": HalfCheetah, "Hopper-v5": Hopper, "Humanoid-v5": Humanoid,
    "InvertedDoublePendulum-v5": InvertedDoublePendulum, "InvertedPendulum-v5": InvertedPendulum, "Pusher-v5": Pusher,
    "Reacher-v5": Reacher, "Swimmer-v5": Swimmer, "Walker2d-v5": Walker2d}
