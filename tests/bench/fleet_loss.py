"""Trains over a fleet of servers of which one is killed on the way, and once more over one server alone. Wants the Python package's `gym`.

    python tests/bench/fleet_loss.py build/release/bin/axiond [--servers 3] [--worlds 1024] [--updates 8] [--json]

The quadruped's task, PPO of the examples, worlds spread evenly, the second server killed (SIGKILL) in the middle of the middle update. Says
whether each observation, reward and end, and the policy that was trained, have the bits of the run on one server; how long the step
took in which the server was lost; and how many episodes ended before and after it. Exits with 1 where a bit differs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import json
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import axion
import axion.gym
from axion.learning.ppo import Choices, Learner
from axion.learning.task import TaskChoice

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from axiond_process import AxiondProcess  # noqa: E402


class Witness:
    """Environments that keep a digest of all that they answered, and kill what they are told to before one of their steps."""

    def __init__(self, envs: Any, fatal_step: int = -1, kill: Callable[[], None] = lambda: None) -> None:
        self._envs, self._fatal_step, self._kill = envs, fatal_step, kill
        self._digest = hashlib.sha256()
        self.step_seconds: list[float] = []
        self.ended: list[int] = []  # episodes, at each step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)

    @property
    def digest(self) -> str:
        """Of all answers so far."""
        return self._digest.hexdigest()

    def reset(self, **choices: Any) -> Any:
        """As of the environments."""
        answer = self._envs.reset(**choices)
        self._digest.update(np.ascontiguousarray(answer[0]).tobytes())
        return answer

    def step(self, actions: Any) -> Any:
        """As of the environments."""
        if len(self.step_seconds) == self._fatal_step:
            self._kill()
        start = time.perf_counter()
        answer = self._envs.step(actions)
        self.step_seconds.append(time.perf_counter() - start)
        self.ended.append(int(np.count_nonzero(answer[2] | answer[3])))
        for part in answer[:4]:
            self._digest.update(np.ascontiguousarray(part).tobytes())
        return answer


@dataclasses.dataclass
class Run:
    """What a training did: digests of what was answered and of the policy, s of each step, episodes ended at each step."""

    answers: str
    policy: str
    step_seconds: list[float]
    ended: list[int]
    placement: dict[str, int]


def train(addresses: Sequence[str], given: argparse.Namespace, fatal_step: int = -1, kill: Callable[[], None] = lambda: None) -> Run:
    """Trains over these servers."""
    choices = Choices(rollout_steps=given.rollout_steps, epochs=2)
    with axion.Fleet(addresses, patience=given.patience) as fleet:
        choice = {"shares": [1.0] * len(addresses), "checkpoint_every": given.checkpoint_every}
        envs = axion.gym.make_vec(TaskChoice().server_task(), given.worlds, client=fleet, autoreset_mode="SameStep",
                                  max_episode_steps=given.episode_steps, batch_choices=choice)
        with contextlib.closing(envs):
            witness = Witness(envs, fatal_step, kill)
            learner = Learner(witness, given.seed, choices)
            learner.train(given.updates * choices.rollout_steps * given.worlds, lambda progress: None)
            weights = learner.policy.network.parameters.tobytes() + learner.policy.log_deviation.tobytes()
            return Run(witness.digest, hashlib.sha256(weights).hexdigest(), witness.step_seconds, witness.ended,
                       dict(envs.batch.placement))


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond", type=pathlib.Path, help="the server's program")
    parser.add_argument("--servers", type=int, default=3, help="[%(default)s]")
    parser.add_argument("--worlds", type=int, default=1024, help="[%(default)s]")
    parser.add_argument("--updates", type=int, default=8, help="of the policy [%(default)s]")
    parser.add_argument("--rollout_steps", type=int, default=32, help="of each world in an update [%(default)s]")
    parser.add_argument("--episode_steps", type=int, default=60, help="after which an episode is truncated [%(default)s]")
    parser.add_argument("--checkpoint_every", type=int, default=50, help="steps between snapshots [%(default)s]")
    parser.add_argument("--patience", type=float, default=1.0, help="s until a server counts as lost [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="[%(default)s]")
    parser.add_argument("--json", action="store_true", help="say it as JSON")
    return parser.parse_args(given)


def main(arguments_given: Sequence[str] | None = None) -> int:
    given = arguments(arguments_given)
    if given.servers < 2:
        raise ValueError(f"servers: {given.servers}; of less than 2 none may be lost")
    fatal = given.updates // 2 * given.rollout_steps + given.rollout_steps // 2
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(AxiondProcess(given.axiond)) for _ in range(given.servers)]

        def kill() -> None:
            servers[1].process.kill()
            servers[1].process.wait()
        fleet = train([server.address for server in servers], given, fatal, kill)
        alone = train([servers[0].address], given)
    seconds = np.array(fleet.step_seconds)
    told = {"servers": given.servers, "servers_left": len(fleet.placement), "worlds": given.worlds, "steps": len(seconds),
            "killed_before_step": fatal, "same_answers": fleet.answers == alone.answers, "same_policy": fleet.policy == alone.policy,
            "episodes_before": sum(fleet.ended[:fatal]), "episodes_after": sum(fleet.ended[fatal:]),
            "step_seconds_median": float(np.median(seconds)), "step_seconds_of_the_loss": float(seconds[fatal]),
            "step_seconds_median_of_one_server": float(np.median(alone.step_seconds))}
    print(json.dumps(told) if given.json else "\n".join(f"{name:34} {value}" for name, value in told.items()))
    return 0 if told["same_answers"] and told["same_policy"] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (axion.AxionError, ValueError, OSError) as error:
        sys.exit(f"fleet_loss: {error}")
