"""Proximal policy optimisation (Schulman et al., 2017) in NumPy, over any of Gymnasium's vector environments with continuous actions.

The clipped objective, generalised advantages, a learning rate that follows how far the policy moves, normalised observations and
rewards. An episode that was cut off by its time limit is valued by what the critic expects after it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from axion.learning.policy import Array, Network, Normaliser, Policy
from axion.texts import documented

Floats = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class Choices:
    """What of the algorithm there is to choose.

    Parameters
    ----------
    rollout_steps : int, default 32
        Steps of each world between updates.
    epochs : int, default 5
        Passes over them.
    minibatches : int, default 4
        Of a pass.
    discount : float, default 0.99
        Of rewards, from one step to the next.
    trace : float, default 0.95
        Lambda of the advantages.
    clip : float, default 0.2
        Of the ratio of probabilities.
    entropy_weight : float, default 0.003
        Of the loss.
    learning_rate : float, default 0.001
        At first.
    move : float, default 0.02
        Kullback-Leibler divergence of an update that the learning rate is led to.
    greatest_norm : float, default 1.0
        Of a gradient.
    hidden : tuple[int, ...], default (128, 128)
        Units of each hidden layer.
    """

    rollout_steps: int = 32
    epochs: int = 5
    minibatches: int = 4
    discount: float = 0.99
    trace: float = 0.95
    clip: float = 0.2
    entropy_weight: float = 0.003
    learning_rate: float = 1e-3
    move: float = 0.02
    greatest_norm: float = 1.0
    hidden: tuple[int, ...] = (128, 128)


class Adam:
    """Kingma and Ba's optimiser over several arrays at once, with the gradients' common norm held to a bound."""

    def __init__(self, parameters: list[Array]) -> None:
        self._parameters = parameters
        self._mean = [np.zeros_like(each) for each in parameters]
        self._square = [np.zeros_like(each) for each in parameters]
        self._steps = 0

    def step(self, gradients: list[Array], rate: float, greatest_norm: float) -> None:
        """Moves the parameters against the gradients."""
        norm = float(np.sqrt(sum(float(np.vdot(each, each)) for each in gradients)))
        shrink = min(1.0, greatest_norm / (norm + 1e-6))
        self._steps += 1
        step = rate * np.sqrt(1 - 0.999 ** self._steps) / (1 - 0.9 ** self._steps)
        for parameter, gradient, mean, square in zip(self._parameters, gradients, self._mean, self._square):
            mean += 0.1 * (shrink * gradient - mean)
            square += 0.001 * ((shrink * gradient) ** 2 - square)
            parameter -= (step * mean / (np.sqrt(square) + 1e-8)).astype(parameter.dtype)


@dataclasses.dataclass
class Samples:
    """Steps of worlds, [n, ...]: what was seen (normalised), done, how likely it was, and how good it turned out to be."""

    observation: Array
    action: Array
    log_probability: Array
    mean: Array
    advantage: Array
    value: Array
    returns: Array

    def of(self, rows: npt.NDArray[np.int64]) -> Samples:
        """Some of them."""
        return Samples(*(getattr(self, field.name)[rows] for field in dataclasses.fields(self)))


def log_probability(action: Array, mean: Array, log_deviation: Array) -> Array:
    """[n] of actions [n, a] under normal distributions."""
    scaled = (action - mean) * np.exp(-log_deviation)
    likely: Array = -0.5 * (scaled ** 2).sum(axis=1) - log_deviation.sum() - 0.5 * action.shape[1] * np.log(2 * np.pi)
    return likely


def loss_and_gradients(policy: Policy, critic: Network, samples: Samples, choices: Choices) -> tuple[float, float, list[Array]]:
    """The loss, how far the policy is from the one that acted, and the loss's gradients by the policy's network, its log
    deviation and the critic.

    The loss is the clipped objective's negative, less `entropy_weight` times the entropy, plus half the square error of the value.
    """
    count = len(samples.action)
    log_deviation, mean = policy.log_deviation, policy.network(samples.observation)
    inverse = np.exp(-log_deviation)
    scaled = (samples.action - mean) * inverse
    now = log_probability(samples.action, mean, log_deviation)
    ratio = np.exp(np.clip(now - samples.log_probability, -20, 20))
    clipped = np.clip(ratio, 1 - choices.clip, 1 + choices.clip)
    plain, held = ratio * samples.advantage, clipped * samples.advantage
    values = critic(samples.observation)[:, 0]
    error = values - samples.returns
    loss = -np.minimum(plain, held).mean() - choices.entropy_weight * log_deviation.sum() + 0.5 * (error ** 2).mean()
    # Where the clipped one is the lesser, the ratio has no effect.
    slope = np.where(plain <= held, -plain, 0) / count
    policy.network.backward(slope[:, None] * scaled * inverse)
    by_deviation = (slope[:, None] * (scaled ** 2 - 1)).sum(axis=0) - choices.entropy_weight
    critic.backward((error / count)[:, None])
    moved = float((0.5 * (((samples.mean - mean) * inverse) ** 2).sum(axis=1)).mean())
    return float(loss), moved, [policy.network.gradient, by_deviation.astype(log_deviation.dtype), critic.gradient]


def advantages(rewards: Array, values: Array, last_value: Array, ended: Array, discount: float, trace: float) -> Array:
    """Generalised advantages [t, n] of rewards [t, n], values [t, n] of the states before, and [n] of that after the last; `ended`
    [t, n] where an episode ended with the step."""
    found, carried, following = np.zeros_like(values), np.zeros_like(last_value), last_value
    for step in reversed(range(len(rewards))):
        goes_on = 1 - ended[step].astype(values.dtype)
        carried = rewards[step] + discount * following * goes_on - values[step] + discount * trace * goes_on * carried
        found[step], following = carried, values[step]
    return found


@dataclasses.dataclass(frozen=True)
class Progress:
    """What training tells after an update.

    Parameters
    ----------
    steps : int
        Of all worlds together, since the start.
    seconds : float
        Since the start.
    episode_return : float
        Mean over the episodes that ended since the last update; None: none did.
    episode_length : float
        Likewise, steps.
    reward : float
        Mean of a step.
    deviation : float
        Mean spread of the actions.
    learning_rate : float
        Of this update.
    """

    steps: int
    seconds: float
    episode_return: float | None
    episode_length: float | None
    reward: float
    deviation: float
    learning_rate: float


@documented
class Learner:
    """Trains a policy by proximal policy optimisation, in NumPy.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        A gymnasium.vector.VectorEnv with boxes of observations [k] and actions [a], which resets in the same step
        (autoreset_mode SAME_STEP) and tells "final_obs" in its infos.
    seed : int
        Of the weights, the exploration and the worlds.
    choices : Choices, default Choices()
        Of the algorithm.

    Attributes
    ----------
    policy : Policy
        What is trained.
    """

    def __init__(self, envs: Any, seed: int, choices: Choices = Choices(), about: dict[str, Any] | None = None) -> None:
        self.envs, self.choices = envs, choices
        self._random = np.random.default_rng(seed)
        inputs, outputs = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
        box = envs.single_action_space
        self.policy = Policy(Network((inputs, *choices.hidden, outputs), self._random, 0.01), Normaliser.of_size(inputs), box.low,
                             box.high, {**(about or {}), "seed": seed})
        self.critic = Network((inputs, *choices.hidden, 1), self._random)
        self._adam = Adam([self.policy.network.parameters, self.policy.log_deviation, self.critic.parameters])
        self._rate, self._steps, self._started = choices.learning_rate, 0, time.perf_counter()
        self._returns = Normaliser.of_size(1)
        self._running = np.zeros(envs.num_envs)
        self._episodes = np.zeros((2, envs.num_envs))  # returns and lengths so far
        self._observations = envs.reset(seed=(seed * 1_000_003) % 2**31)[0]
        self.policy.normaliser.see(self._observations)

    def __repr__(self) -> str:
        return f"<axion.learning.Learner of {self.policy!r}: {self._steps:,} environment steps>"

    @documented
    def train(self, steps: int, report: Callable[[Progress], None]) -> None:
        """Steps the worlds and improves the policy.

        Parameters
        ----------
        steps : int
            Of all worlds together, at least.
        """
        while self._steps < steps:
            samples, returns, lengths, reward = self._collect()
            self._update(samples)
            self._steps += self.choices.rollout_steps * self.envs.num_envs
            report(Progress(self._steps, time.perf_counter() - self._started, float(np.mean(returns)) if returns else None,
                            float(np.mean(lengths)) if lengths else None, reward, float(np.exp(self.policy.log_deviation).mean()),
                            self._rate))

    def _collect(self) -> tuple[Samples, list[float], list[float], float]:
        """Steps of all worlds; the returns and lengths of episodes that ended in them, and the mean reward."""
        steps, count = self.choices.rollout_steps, self.envs.num_envs
        seen, kept, returns, lengths = [], [], list[float](), list[float]()
        rewards, ended = np.zeros((steps, count), np.float32), np.zeros((steps, count), bool)
        total = 0.0
        for step in range(steps):
            observation = self.policy.normaliser(self._observations)
            mean = self.policy.network(observation)
            noise = self._random.standard_normal(mean.shape, dtype=np.float32)
            action = mean + np.exp(self.policy.log_deviation) * noise
            kept.append((observation, action, log_probability(action, mean, self.policy.log_deviation), mean))
            seen.append(self._observations)
            self._observations, reward, terminated, truncated, infos = self.envs.step(self.policy.actions(action))
            ended[step] = terminated | truncated
            self._episodes += np.stack([reward, np.ones(count)])
            total += float(reward.mean()) / steps
            rewards[step] = self._scaled(reward, ended[step])
            if ended[step].any():
                over = ended[step]
                returns += self._episodes[0, over].tolist()
                lengths += self._episodes[1, over].tolist()
                self._episodes[:, over] = 0
                cut = np.flatnonzero(truncated & ~terminated)
                if len(cut):
                    last = self.policy.normaliser(np.stack(infos["final_obs"][cut]))
                    rewards[step, cut] += self.choices.discount * self.critic(last)[:, 0]
        observations, actions, likely, means = (np.stack(each) for each in zip(*kept))
        values = self.critic(observations.reshape(steps * count, -1)).reshape(steps, count)
        after = self.critic(self.policy.normaliser(self._observations))[:, 0]
        gained = advantages(rewards, values, after, ended, self.choices.discount, self.choices.trace)
        # What was seen counts from the next rollout on: all of this one was normalised alike.
        self.policy.normaliser.see(np.concatenate(seen))
        flat = [each.reshape(steps * count, *each.shape[2:]) for each in (observations, actions, likely, means, gained, values,
                                                                           gained + values)]
        return Samples(*flat), returns, lengths, total

    def _scaled(self, reward: Array, ended: Array) -> Array:
        """Rewards divided by the deviation of discounted sums of them, so that values are of the order of one."""
        self._running = self.choices.discount * self._running + reward
        self._returns.see(self._running[:, None])
        self._running[ended] = 0
        scaled: Array = np.clip(reward / np.sqrt(self._returns.variance[0] + 1e-8), -10, 10)
        return scaled

    def _update(self, samples: Samples) -> None:
        """Passes over the samples, in an order that is drawn."""
        choices, count = self.choices, len(samples.action)
        samples.advantage = (samples.advantage - samples.advantage.mean()) / (samples.advantage.std() + 1e-8)
        for _ in range(choices.epochs):
            moves = []
            for rows in np.array_split(self._random.permutation(count), choices.minibatches):
                _, moved, gradients = loss_and_gradients(self.policy, self.critic, samples.of(rows), choices)
                self._adam.step(gradients, self._rate, choices.greatest_norm)
                moves.append(moved)
            if np.mean(moves) > 2 * choices.move:
                self._rate = max(self._rate / 1.5, 1e-5)
            elif np.mean(moves) < choices.move / 2:
                self._rate = min(self._rate * 1.5, 1e-2)
        np.clip(self.policy.log_deviation, -3, 0.5, out=self.policy.log_deviation)
