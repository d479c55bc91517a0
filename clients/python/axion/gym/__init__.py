"""Worlds of a server as Gymnasium's environments.

    import gymnasium, axion.gym

    envs = gymnasium.make_vec("axion/Ant-v5", num_envs=64, target="127.0.0.1:8470")     # or axion.gym.AxionVectorEnv
    observations, _ = envs.reset(seed=1)

Importing this module registers axion/Ant-v5, HalfCheetah-v5, Hopper-v5, Humanoid-v5, InvertedDoublePendulum-v5,
InvertedPendulum-v5, Pusher-v5, Reacher-v5, Swimmer-v5 and Walker2d-v5. It needs the extra `gym` of this package.
"""

from __future__ import annotations

import functools

import gymnasium

from axion.gym.mechanics import Mechanics, WorldState
from axion.gym.tasks import GYMNASIUM_TASKS, Task
from axion.gym.vector_env import AxionEnv, AxionVectorEnv

__all__ = ["AxionEnv", "AxionVectorEnv", "GYMNASIUM_TASKS", "Mechanics", "Task", "WorldState"]

for _name, _task in GYMNASIUM_TASKS.items():
    gymnasium.register(f"axion/{_name}", entry_point=functools.partial(AxionEnv, _name),
                       vector_entry_point=functools.partial(AxionVectorEnv, _name), max_episode_steps=_task().max_episode_steps)
