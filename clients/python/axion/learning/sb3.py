"""The same training by Stable-Baselines3's PPO: `axion train --library sb3`. Wants the extra `sb3`, which brings PyTorch.

Its policy is a network of the same shape, so that what it learnt is kept as one of axion.learning's and played as those are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from axion.gym.sb3 import AxionVecEnv
from axion.gym.vector_env import AxionVectorEnv
from axion.learning.policy import Network, Normaliser, Policy
from axion.learning.ppo import Choices, Progress

import stable_baselines3  # type: ignore[import-not-found, import-untyped, unused-ignore]  # axion.gym.sb3 says what is missing
from stable_baselines3.common.callbacks import BaseCallback  # type: ignore[import-not-found, import-untyped, unused-ignore]
from stable_baselines3.common.vec_env import VecNormalize  # type: ignore[import-not-found, import-untyped, unused-ignore]

_EPSILON = 1e-8  # added to variances, as Normaliser does


class _Tells(BaseCallback):  # type: ignore[misc, unused-ignore]
    """Reports after each rollout, as Learner does after each of its updates."""

    def __init__(self, learner: Sb3Learner, report: Callable[[Progress], None]) -> None:
        super().__init__()
        self._learner, self._report, self._started = learner, report, time.perf_counter()
        self._rewards, self._episodes = list[float](), list[tuple[float, int]]()

    def _on_step(self) -> bool:
        self._rewards.append(float(self._learner.envs.get_original_reward().mean()))
        self._episodes += [(info["episode"]["r"], info["episode"]["l"]) for info in self.locals["infos"] if "episode" in info]
        return True

    def _on_rollout_end(self) -> None:
        ended = np.array(self._episodes, float).reshape(-1, 2)
        mean, model = ended.mean(axis=0) if len(ended) else None, self._learner.model
        self._report(Progress(self.num_timesteps, time.perf_counter() - self._started, None if mean is None else float(mean[0]),
                              None if mean is None else float(mean[1]), float(np.mean(self._rewards)),
                              float(model.policy.log_std.detach().exp().mean()), float(model.learning_rate)))
        self._rewards.clear()
        self._episodes.clear()


class Sb3Learner:
    """Trains a policy with stable_baselines3.PPO, by the choices of ppo.Learner, whose arguments it takes.

    The learning rate stays what it was at first; the epochs of an update end early instead once the policy has moved by `move`.

    Attributes
    ----------
    model : stable_baselines3.PPO
        What is trained.
    envs : stable_baselines3.common.vec_env.VecNormalize
        The worlds, their observations and rewards normalised.
    """

    def __init__(self, envs: AxionVectorEnv, seed: int, choices: Choices = Choices(), about: dict[str, Any] | None = None) -> None:
        self._about = {**(about or {}), "seed": seed, "library": "sb3"}
        self._box: Any = envs.single_action_space
        self.envs: Any = VecNormalize(AxionVecEnv(envs), gamma=choices.discount, clip_obs=10, epsilon=_EPSILON)
        layers = list(choices.hidden)
        self.model: Any = stable_baselines3.PPO(
            "MlpPolicy", self.envs, learning_rate=choices.learning_rate, n_steps=choices.rollout_steps,
            batch_size=-(-choices.rollout_steps * envs.num_envs // choices.minibatches), n_epochs=choices.epochs,
            gamma=choices.discount, gae_lambda=choices.trace, clip_range=choices.clip, ent_coef=choices.entropy_weight,
            max_grad_norm=choices.greatest_norm, target_kl=choices.move, seed=(seed * 1_000_003) % 2**31, device="cpu",
            policy_kwargs={"net_arch": {"pi": layers, "vf": layers}, "log_std_init": -0.7})

    def __repr__(self) -> str:
        return f"<axion.learning.sb3.Sb3Learner of {self._about.get('task')}: {self.model.num_timesteps:,} environment steps>"

    def train(self, steps: int, report: Callable[[Progress], None]) -> None:
        """As Learner.train; progress is told after each rollout."""
        self.model.learn(steps, callback=_Tells(self, report))

    @property
    def policy(self) -> Policy:
        """Policy : What was learnt so far. Its actions are those that `model` predicts without exploration."""
        learnt = self.model.policy
        layers = [layer for layer in learnt.mlp_extractor.policy_net if hasattr(layer, "weight")] + [learnt.action_net]
        network = Network((layers[0].in_features, *(layer.out_features for layer in layers)))
        parts = [part.detach().numpy() for layer in layers for part in (layer.weight.T, layer.bias)]
        seen = self.envs.obs_rms
        made = Policy(network, Normaliser(seen.mean.copy(), seen.var.copy(), float(seen.count)), self._box.low, self._box.high, self._about)
        # Actions of the model are in the task's units, those of the network between -1 and 1.
        parts[-2], parts[-1] = parts[-2] / made.half, (parts[-1] - made.middle) / made.half
        network.parameters[:] = np.concatenate([part.ravel() for part in parts])
        made.log_deviation[:] = learnt.log_std.detach().numpy() - np.log(made.half)
        return made
