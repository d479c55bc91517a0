"""Infos of numbers alone, so that Gymnasium's wrappers can hand on everything as arrays of other libraries."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv, VectorWrapper

from axion.gym.vector_env import AxionVectorEnv


class NumericInfos(VectorWrapper):
    """An AxionVectorEnv whose infos have no Python objects in them.

    Gymnasium's wrappers for other libraries' arrays (gymnasium.wrappers.vector.NumpyToTorch, ArrayConversion; they want the extra
    `array-api` of Gymnasium) take whole infos along, and cannot take texts and arrays of arrays. Here

    * "ended_by" is int64 [num_envs], an index into `end_names`, -1 where the episode goes on or the task's own
      `terminated` has ended it;
    * "final_obs" is [num_envs, k] in the observations' precision, zero where no episode has ended;
    * all else is as it was.

    Parameters
    ----------
    env : gymnasium.vector.VectorEnv
        The environments.

    Examples
    --------
    Tensors that lie where the server's answer was put, without a copy::

        envs = gymnasium.wrappers.vector.NumpyToTorch(axion.gym.NumericInfos(axion.gym.make_vec("Ant-v5", 64)))
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, AxionVectorEnv):
            raise TypeError(f"env: wants an AxionVectorEnv, wrapped or not, not {env}")
        self.end_names: tuple[str, ...] = tuple(env.unwrapped.info.end_names)
        self._index = {name: index for index, name in enumerate(self.end_names)}
        space = env.single_observation_space
        if not isinstance(space, gymnasium.spaces.Box):
            raise ValueError(f"env: has observations of {space}; it must be a box of numbers")
        self._space = space

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps the environments.

        Parameters
        ----------
        actions : Any
            [num_envs, nu].

        Returns
        -------
        tuple
            As of the environments, infos in numbers.
        """
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        return observations, rewards, terminated, truncated, self._numbers(infos)

    def _numbers(self, infos: dict[str, Any]) -> dict[str, Any]:
        made = dict(infos)
        if "ended_by" in infos:
            made["ended_by"] = np.array([self._index.get(name, -1) for name in infos["ended_by"]], dtype=np.int64)
        if "final_obs" in infos:
            made["final_obs"] = self._dense(infos["final_obs"], infos["_final_obs"])
        if "final_info" in infos:
            made["final_info"] = self._numbers(infos["final_info"])
        return made

    def _dense(self, rows: npt.NDArray[np.object_], ended: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        whole = np.zeros((self.num_envs, *self._space.shape), self._space.dtype)
        for row in np.flatnonzero(ended):
            whole[row] = rows[row]
        return whole
