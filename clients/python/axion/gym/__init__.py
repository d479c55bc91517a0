"""Worlds of a server as Gymnasium's environments.

    import gymnasium, axion.gym

    envs = gymnasium.make_vec("axion/Ant-v5", num_envs=64, target="127.0.0.1:8470")     # or axion.gym.AxionVectorEnv
    observations, _ = envs.reset(seed=1)

Where the server computes the task, a step is one call (axion.gym.make_vec, or "axion-server/Ant-v5"):

    envs = axion.gym.make_vec("Ant-v5", 64, target="127.0.0.1:8470")

Importing this module registers axion/Ant-v5, HalfCheetah-v5, Hopper-v5, Humanoid-v5, InvertedDoublePendulum-v5,
InvertedPendulum-v5, Pusher-v5, Reacher-v5, Swimmer-v5 and Walker2d-v5, and the same in the namespace
axion-server. It needs the extra `gym` of this package.
axion.gym.sb3, which has to be imported by itself, is the same for Stable-Baselines3.
"""

from __future__ import annotations

import gymnasium

from axion.gym.arrays import NumericInfos
from axion.gym.mechanics import Mechanics, WorldState
from axion.gym.server_tasks import SERVER_TASKS, ServerTask, command_task, server_task
from axion.gym.task_env import TaskEnv, TaskVectorEnv, make_vec
from axion.gym.tasks import GYMNASIUM_TASKS, Task
from axion.gym.vector_env import AxionEnv, AxionVectorEnv

__all__ = ["AxionEnv", "AxionVectorEnv", "GYMNASIUM_TASKS", "Mechanics", "NumericInfos", "SERVER_TASKS", "ServerTask", "Task",
           "TaskEnv", "TaskVectorEnv", "WorldState", "command_task", "make_vec", "server_task"]

for _name, _task in GYMNASIUM_TASKS.items():
    gymnasium.register(f"axion/{_name}", entry_point="axion.gym:AxionEnv", vector_entry_point="axion.gym:AxionVectorEnv",
                       max_episode_steps=_task().max_episode_steps, kwargs={"task": _name})
for _name in SERVER_TASKS:
    gymnasium.register(f"axion-server/{_name}", entry_point="axion.gym:TaskEnv", vector_entry_point="axion.gym:TaskVectorEnv",
                       kwargs={"task": _name})
