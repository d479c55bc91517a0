"""Worlds of a server as Gymnasium's environments. The server computes the task: a step is one call.

    import gymnasium, axion.gym

    envs = axion.gym.make_vec("Ant-v5", 64, target="127.0.0.1:8470")     # or gymnasium.make_vec("axion/Ant-v5", num_envs=64, ...)
    observations, _ = envs.reset(seed=1)

Importing this module registers axion/Ant-v5, HalfCheetah-v5, Hopper-v5, Humanoid-v5, InvertedDoublePendulum-v5,
InvertedPendulum-v5, Pusher-v5, Reacher-v5, Swimmer-v5 and Walker2d-v5. It needs the extra `gym` of this package.
axion.gym.sb3, which has to be imported by itself, is the same for Stable-Baselines3.
"""

from __future__ import annotations

import gymnasium

from axion.gym.arrays import NumericInfos
from axion.gym.server_tasks import SERVER_TASKS, TASK_CHOICES, ServerTask, command_task, server_task
from axion.gym.vector_env import AxionEnv, AxionVectorEnv, make_vec

__all__ = ["AxionEnv", "AxionVectorEnv", "NumericInfos", "SERVER_TASKS", "ServerTask", "command_task", "make_vec", "server_task"]

for _name, (_, _choices) in TASK_CHOICES.items():
    gymnasium.register(f"axion/{_name}", entry_point="axion.gym:AxionEnv", vector_entry_point="axion.gym:AxionVectorEnv",
                       max_episode_steps=_choices["max_episode_steps"], kwargs={"task": _name})
