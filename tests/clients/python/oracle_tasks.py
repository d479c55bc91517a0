"""Gymnasium's MuJoCo tasks, version 5, in NumPy: what the server's observations, rewards and ends of the same states are compared with.

Each is what the environment of the same name in gymnasium.envs.mujoco computes, term by term, of n worlds at once. What weighs and bounds
them is as the server's tasks have it, which tests compare with Gymnasium's own.
"""

import numpy as np

from axion.gym.server_tasks import TASK_CHOICES


def _square_sum(a):
    return np.square(a).sum(axis=tuple(range(1, a.ndim)))


def _length(a):
    return np.sqrt(_square_sum(a))


class Task:
    """Has the choices of a task as attributes. Methods take states as oracle_mechanics makes them."""

    def __init__(self, choices):
        vars(self).update(choices)

    def observe(self, robot, state):
        """[n, k]"""
        return np.concatenate([state.qpos, state.qvel], axis=1)

    def rewards(self, robot, before, after, action, dt):
        """Terms [n] by name, of an action that took dt s."""
        raise NotImplementedError

    def terminated(self, robot, state):
        """bool [n]"""
        return np.zeros(len(state.qpos), dtype=bool)


class Runner(Task):
    """A robot that is rewarded for its velocity along x, less what its controls cost."""

    def forward(self, robot, state):
        """[n] m, that whose rate is rewarded"""
        return state.qpos[:, 0]

    def is_healthy(self, state):
        return np.ones(len(state.qpos), dtype=bool)

    def observe(self, robot, state):
        limit = self.greatest_velocity
        return np.concatenate([state.qpos[:, self.skipped_positions:], np.clip(state.qvel, -limit, limit)], axis=1)

    def rewards(self, robot, before, after, action, dt):
        terms = {"reward_forward": self.forward_reward_weight * (self.forward(robot, after) - self.forward(robot, before)) / dt,
                 "reward_ctrl": -self.ctrl_cost_weight * _square_sum(action)}
        return {**terms, "reward_survive": self.healthy_reward * self.is_healthy(after)} if self.healthy_reward else terms

    def terminated(self, robot, state):
        return ~self.is_healthy(state) & self.terminate_when_unhealthy


class Hopper(Runner):
    def is_healthy(self, state):
        (z_low, z_high), (low, high), (least, greatest) = self.healthy_z_range, self.healthy_angle_range, self.healthy_state_range
        rest = np.concatenate([state.qpos[:, 2:], state.qvel], axis=1)
        z, angle = state.qpos[:, 1], state.qpos[:, 2]
        return ((least < rest) & (rest < greatest)).all(axis=1) & (z_low < z) & (z < z_high) & (low < angle) & (angle < high)


class Ant(Runner):
    def forward(self, robot, state):
        return state.xpos[:, robot.body(self.main_body), 0]

    def is_healthy(self, state):
        low, high = self.healthy_z_range
        finite = np.isfinite(np.concatenate([state.qpos, state.qvel], axis=1)).all(axis=1)
        return finite & (low <= state.qpos[:, 2]) & (state.qpos[:, 2] <= high)

    def observe(self, robot, state):
        forces = np.clip(state.cfrc_ext, *self.contact_force_range).reshape(len(state.qpos), -1)
        return np.concatenate([super().observe(robot, state), forces], axis=1)

    def rewards(self, robot, before, after, action, dt):
        contact = -self.contact_cost_weight * _square_sum(np.clip(after.cfrc_ext, *self.contact_force_range))
        return {**super().rewards(robot, before, after, action, dt), "reward_contact": contact}


class Humanoid(Runner):
    def forward(self, robot, state):
        return state.center_of_mass[:, 0]

    def is_healthy(self, state):
        low, high = self.healthy_z_range
        return (low < state.qpos[:, 2]) & (state.qpos[:, 2] < high)

    def observe(self, robot, state):
        n = len(state.qpos)
        return np.concatenate([super().observe(robot, state), state.cinert.reshape(n, -1), state.cvel.reshape(n, -1),
                               robot.qfrc_actuator(state.control)[:, 6:], state.cfrc_ext.reshape(n, -1)], axis=1)

    def rewards(self, robot, before, after, action, dt):
        contact = -np.clip(self.contact_cost_weight * _square_sum(after.cfrc_ext), *self.contact_cost_range)
        return {**super().rewards(robot, before, after, action, dt), "reward_contact": contact}


class Reacher(Task):
    def _to_target(self, robot, state):
        return state.xpos[:, robot.body("fingertip")] - state.xpos[:, robot.body("target")]

    def observe(self, robot, state):
        angle = state.qpos[:, :2]
        return np.concatenate([np.cos(angle), np.sin(angle), state.qpos[:, 2:], state.qvel[:, :2],
                               self._to_target(robot, state)[:, :2]], axis=1)

    def rewards(self, robot, before, after, action, dt):
        return {"reward_dist": -self.reward_dist_weight * _length(self._to_target(robot, after)),
                "reward_ctrl": -self.reward_control_weight * _square_sum(action)}


class Pusher(Task):
    def observe(self, robot, state):
        places = [state.xpos[:, robot.body(name)] for name in ("tips_arm", "object", "goal")]
        return np.concatenate([state.qpos[:, :7], state.qvel[:, :7], *places], axis=1)

    def rewards(self, robot, before, after, action, dt):
        tips, thing, goal = (after.xpos[:, robot.body(name)] for name in ("tips_arm", "object", "goal"))
        return {"reward_dist": -self.reward_dist_weight * _length(thing - goal),
                "reward_near": -self.reward_near_weight * _length(thing - tips),
                "reward_ctrl": -self.reward_control_weight * _square_sum(action)}


class InvertedPendulum(Task):
    def rewards(self, robot, before, after, action, dt):
        return {"reward_survive": (~self.terminated(robot, after)).astype(np.float64)}

    def terminated(self, robot, state):
        return ~np.isfinite(self.observe(robot, state)).all(axis=1) | (np.abs(state.qpos[:, 1]) > 0.2)


class InvertedDoublePendulum(Task):
    """Its last observation, the force that holds the cart at the ends of its rail, is zero here."""

    def _tip(self, robot, state):
        body = robot.body("pole2")
        return state.xpos[:, body] + state.xmat[:, body] @ np.array(self.tip)

    def observe(self, robot, state):
        angle = state.qpos[:, 1:]
        return np.concatenate([state.qpos[:, :1], np.sin(angle), np.cos(angle), np.clip(state.qvel, -10, 10),
                               np.zeros((len(angle), 1))], axis=1)

    def rewards(self, robot, before, after, action, dt):
        tip = self._tip(robot, after)
        return {"reward_survive": self.healthy_reward * ~self.terminated(robot, after),
                "distance_penalty": -(0.01 * tip[:, 0] ** 2 + (tip[:, 2] - 2) ** 2),
                "velocity_penalty": -(1e-3 * after.qvel[:, 1] ** 2 + 5e-3 * after.qvel[:, 2] ** 2)}

    def terminated(self, robot, state):
        return self._tip(robot, state)[:, 2] <= 1


_KINDS = {"Ant-v5": Ant, "HalfCheetah-v5": Runner, "Hopper-v5": Hopper, "Humanoid-v5": Humanoid, "Swimmer-v5": Runner,
          "InvertedDoublePendulum-v5": InvertedDoublePendulum, "InvertedPendulum-v5": InvertedPendulum, "Pusher-v5": Pusher,
          "Reacher-v5": Reacher, "Walker2d-v5": Hopper}


def oracle_task(name, **changes):
    """The task of Gymnasium's environment of this name, with some of its choices changed."""
    return _KINDS[name]({**TASK_CHOICES[name][1], **changes})
