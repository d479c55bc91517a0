"""Worlds of a server as Stable-Baselines3's VecEnv. Wants the extra `sb3` (`pip install 'axion-server-client[sb3]'`), which brings PyTorch.

    import stable_baselines3
    from axion.gym.sb3 import make_sb3

    envs = make_sb3("Hopper-v5", 64, target="127.0.0.1:8470")
    model = stable_baselines3.PPO("MlpPolicy", envs, n_steps=128, batch_size=1024)
    model.learn(1_000_000)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from axion.gym.server_tasks import ServerTask
from axion.gym.vector_env import AxionVectorEnv
from axion.texts import documented

try:
    from stable_baselines3.common.monitor import Monitor  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from stable_baselines3.common.vec_env import VecEnv  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as error:
    raise ImportError("axion.gym.sb3 wants Stable-Baselines3: pip install 'axion-server-client[sb3]'") from error

_Indices = int | Iterable[int] | None


class AxionVecEnv(VecEnv):  # type: ignore[misc, unused-ignore]
    """Environments of one batch as a stable_baselines3.common.vec_env.VecEnv.

    Each info has the terms of the reward by name, and of an episode that has ended "terminal_observation" [k],
    "TimeLimit.truncated", "episode" with its return "r", its steps "l" and the seconds since the start "t", and the
    end's name "ended_by". The environments say that they are wrapped in a Monitor: they tell what it tells.

    The worlds step together: attributes and methods are those of all of them.

    Parameters
    ----------
    envs : AxionVectorEnv
        Its autoreset_mode is SAME_STEP, as VecEnv wants it.
    """

    def __init__(self, envs: AxionVectorEnv) -> None:
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"envs: autoreset_mode is {envs.autoreset_mode.value}; a VecEnv wants {AutoresetMode.SAME_STEP.value}")
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._started = time.perf_counter()
        self._actions: npt.NDArray[np.float32] | None = None

    def reset(self) -> npt.NDArray[Any]:
        """Begins episodes in all worlds, with the seeds that seed() has set.

        Returns
        -------
        numpy.ndarray
            Observations: [num_envs, k].
        """
        if any(self._options):
            raise ValueError("options: there are none")
        seeds = None if all(seed is None for seed in self._seeds) else list(self._seeds)
        observations, _ = self.envs.reset(seed=seeds)
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    @documented
    def step_async(self, actions: npt.NDArray[np.float32]) -> None:
        """Takes the actions of the next step_wait."""
        self._actions = np.asarray(actions, np.float32)

    def step_wait(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Steps every world with its action.

        Returns
        -------
        tuple
            Observations [num_envs, k], rewards and dones [num_envs], and an info of each world.

        Raises
        ------
        RuntimeError
            There was no step_async.
        """
        if self._actions is None:
            raise RuntimeError("step_wait: there was no step_async")
        actions, self._actions = self._actions, None
        observations, rewards, terminated, truncated, infos = self.envs.step(actions)
        done = terminated | truncated
        return observations, rewards.astype(np.float32), done, self._infos(infos, done, truncated & ~terminated)

    def _infos(self, infos: dict[str, Any], done: npt.NDArray[np.bool_], cut: npt.NDArray[np.bool_]) -> list[dict[str, Any]]:
        names = [name for name, values in infos.items()
                 if isinstance(values, np.ndarray) and values.dtype.kind == "f" and name != "episode_return"]
        columns = np.column_stack([infos[name] for name in names]) if names else np.zeros((self.num_envs, 0))
        told: list[dict[str, Any]] = [dict(zip(names, row)) for row in columns.tolist()]
        for world in np.flatnonzero(done).tolist():
            told[world]["terminal_observation"] = infos["final_obs"][world]
            told[world]["TimeLimit.truncated"] = bool(cut[world])
            told[world]["episode"] = {"r": float(infos["episode_return"][world]), "l": int(infos["episode_length"][world]),
                                      "t": round(time.perf_counter() - self._started, 6)}
            told[world]["ended_by"] = str(infos["ended_by"][world])
        return told

    def close(self) -> None:
        """Ends the worlds."""
        self.envs.close()

    def _some(self, indices: _Indices) -> list[int]:
        return list(range(self.num_envs)) if indices is None else [indices] if isinstance(indices, int) else list(indices)

    def get_attr(self, attr_name: str, indices: _Indices = None) -> list[Any]:
        """The attribute of the environments, once for each index."""
        value = getattr(self.envs, attr_name)
        return [value for _ in self._some(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: _Indices = None) -> None:
        """Sets the attribute of all. ValueError where only some of them are meant."""
        if set(self._some(indices)) != set(range(self.num_envs)):
            raise ValueError(f"indices: {attr_name} is one for all {self.num_envs} environments")
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: _Indices = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method of the environments, which is one for all; its result once for each index."""
        chosen = self._some(indices)
        if set(chosen) != set(range(self.num_envs)):
            raise ValueError(f"indices: {method_name} is one for all {self.num_envs} environments")
        result = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [result for _ in chosen]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: _Indices = None) -> list[bool]:
        """Only in a Monitor: episodes are counted."""
        return [wrapper_class is Monitor for _ in self._some(indices)]

    def get_images(self) -> Sequence[npt.NDArray[Any] | None]:
        """A picture of each world [height, width, 3], with render_mode "rgb_array"; None each without."""
        return self.envs.render() or [None for _ in range(self.num_envs)]


@documented
def make_sb3(task: ServerTask | str, num_envs: int = 1, **choices: Any) -> AxionVecEnv:
    """Makes an AxionVecEnv whose task the server computes.

    Parameters
    ----------
    num_envs : int, default 1
        Worlds.
    **choices
        As of AxionVectorEnv, but autoreset_mode.

    Returns
    -------
    AxionVecEnv
        The environments.

    Raises
    ------
    ValueError
        There is no such task, or num_envs is below 1.
    AxionError
        The server refuses something, or cannot be reached.
    """
    return AxionVecEnv(AxionVectorEnv(task, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **choices))
