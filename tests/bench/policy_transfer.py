"""What becomes of a policy that was trained in one simulator when it runs in the other. Wants the Python package and gymnasium[mujoco].

    python tests/bench/policy_transfer.py build/release/bin/axiond [--tasks Hopper-v5 HalfCheetah-v5] [--steps 1e6] [--out learned]

Trains each task with the examples' PPO, over the server's worlds with rigid contacts and with soft ones, and over Gymnasium's MuJoCo
environments, with the same choices and seed, and plays each policy in each, without exploration, from Gymnasium's starts. A policy that
lies in --out is not trained anew. Prints a table in Markdown: mean and deviation of the returns of --episodes episodes.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import axion
import axion.gym
from axion.learning.play import episodes
from axion.learning.policy import Policy
from axion.learning.ppo import Choices, Learner, Progress

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from axiond_process import AxiondProcess  # noqa: E402

# Choices of the batch; MuJoCo has none.
SIMULATORS: dict[str, dict[str, Any]] = {"Axion": {}, "Axion-soft": {"options": {"contact_softness": "mjcf"}}, "MuJoCo": {}}


@contextlib.contextmanager
def environments(simulator: str, task: str, worlds: int, client: axion.Client, mode: AutoresetMode) -> Iterator[Any]:
    """Worlds of one of them, which tell the same."""
    if simulator != "MuJoCo":
        envs: Any = axion.gym.make_vec(task, worlds, client=client, autoreset_mode=mode, batch_choices=SIMULATORS[simulator])
    else:
        envs = RecordEpisodeStatistics(SyncVectorEnv([lambda: gymnasium.make(task)] * worlds, autoreset_mode=mode))
    try:
        yield envs
    finally:
        envs.close()


def trained(simulator: str, task: str, given: argparse.Namespace, client: axion.Client) -> Policy:
    """The policy of a file, or one that is trained now."""
    path = given.out / f"{task}-{simulator}-{given.seed}.npz"
    if not path.exists():
        last = 0

        def tell(progress: Progress) -> None:
            nonlocal last
            if progress.episode_return is not None and progress.steps - last >= given.steps / 5:
                last = progress.steps
                print(f"{task} in {simulator}: {progress.steps:,} steps, {progress.seconds:.0f} s, return {progress.episode_return:.0f}",
                      file=sys.stderr, flush=True)

        with environments(simulator, task, given.worlds, client, AutoresetMode.SAME_STEP) as envs:
            learner = Learner(envs, given.seed, Choices(rollout_steps=given.rollout_steps), {"task": task, "trained_in": simulator})
            learner.train(int(given.steps), tell)
        learner.policy.save(path)
    return Policy.load(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond")
    parser.add_argument("--tasks", nargs="+", default=["Hopper-v5", "HalfCheetah-v5"], help="[%(default)s]")
    parser.add_argument("--simulators", nargs="+", choices=SIMULATORS, default=list(SIMULATORS), help="[%(default)s]")
    parser.add_argument("--steps", type=float, default=1e6, help="of training [%(default)s]")
    parser.add_argument("--worlds", type=int, default=32, help="[%(default)s]")
    parser.add_argument("--rollout_steps", type=int, default=128, help="of each world between updates [%(default)s]")
    parser.add_argument("--episodes", type=int, default=32, help="that a policy is played [%(default)s]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("learned"), help="folder [%(default)s]")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    columns = "".join(f" return in {player} | steps |" for player in given.simulators)
    print(f"| task | trained in |{columns}\n| --- | --- |{' --- | --- |' * len(given.simulators)}")
    with AxiondProcess(given.axiond) as server, axion.Client(server.address) as client:
        for task in given.tasks:
            for trainer in given.simulators:
                policy, cells = trained(trainer, task, given, client), []
                for player in given.simulators:
                    with environments(player, task, given.episodes, client, AutoresetMode.NEXT_STEP) as envs:
                        returns, lengths = episodes(envs, policy, 1000)
                    cells.append(f"{returns.mean():.0f} +- {returns.std():.0f} | {lengths.mean():.0f}")
                print(f"| {task} | {trainer} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
