"""What becomes of a policy that was trained in one simulator when it runs in the other. Wants the Python package and gymnasium[mujoco].

    python tests/bench/policy_transfer.py build/release/bin/axiond [--tasks Hopper-v5 HalfCheetah-v5] [--steps 1e6] [--out learned]
    python tests/bench/policy_transfer.py build/release/bin/axiond --players Axion-soft Axion-soft/4 MuJoCo MuJoCo/4

Trains each task with the examples' PPO, over the server's worlds with rigid contacts and with soft ones, and over Gymnasium's MuJoCo
environments, with the same choices and seed, and plays each policy in each, without exploration, from Gymnasium's starts. A policy that
lies in --out is not trained anew. Prints a table in Markdown: mean and deviation of the returns of --episodes episodes. A number after the
simulator's name divides the time step and leaves the period of control as it is: a policy that loses its return already when its own
simulator, or the other, takes a quarter of the step has learned of that simulator's error of integration.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv

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


def parted(simulator: str) -> tuple[str, int]:
    """Its name, and by what its time step is divided: "MuJoCo/4" is ("MuJoCo", 4)."""
    name, _, division = simulator.partition("/")
    if name not in SIMULATORS or not (division or "1").isdigit() or int(division or 1) < 1:
        raise argparse.ArgumentTypeError(f"{simulator}: one of {', '.join(SIMULATORS)}, or with a number after it, as MuJoCo/4")
    return name, int(division or 1)


def gymnasium_environment(task: str, division: int) -> gymnasium.Env[Any, Any]:
    env = gymnasium.make(task)
    bare: Any = env.unwrapped
    bare.model.opt.timestep /= division
    bare.frame_skip *= division
    return env


@contextlib.contextmanager
def environments(name: str, division: int, task: str, worlds: int, client: axion.Client, mode: AutoresetMode) -> Iterator[Any]:
    """Worlds of one of them."""
    if name == "MuJoCo":
        envs: Any = SyncVectorEnv([lambda: gymnasium_environment(task, division)] * worlds, autoreset_mode=mode)
    else:
        choices, chosen = dict(SIMULATORS[name]), copy.deepcopy(axion.gym.server_task(task))
        if division > 1:
            choices["dt"] = gymnasium_environment(task, division).unwrapped.model.opt.timestep  # type: ignore[attr-defined]
            chosen.spec.action.frame_skip *= division
        envs = axion.gym.make_vec(chosen, worlds, client=client, autoreset_mode=mode, batch_choices=choices)
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

        with environments(simulator, 1, task, given.worlds, client, AutoresetMode.SAME_STEP) as envs:
            learner = Learner(envs, given.seed, Choices(rollout_steps=given.rollout_steps), {"task": task, "trained_in": simulator})
            learner.train(int(given.steps), tell)
        learner.policy.save(path)
    return Policy.load(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond")
    parser.add_argument("--tasks", nargs="+", default=["Hopper-v5", "HalfCheetah-v5"], help="[%(default)s]")
    parser.add_argument("--simulators", nargs="+", choices=SIMULATORS, default=list(SIMULATORS), help="that train [%(default)s]")
    parser.add_argument("--players", nargs="+", default=[], type=parted, metavar="SIMULATOR[/DIVISION]",
                        help="where policies are played [those that train]")
    parser.add_argument("--steps", type=float, default=1e6, help="of training [%(default)s]")
    parser.add_argument("--worlds", type=int, default=32, help="[%(default)s]")
    parser.add_argument("--rollout_steps", type=int, default=128, help="of each world between updates [%(default)s]")
    parser.add_argument("--episodes", type=int, default=32, help="that a policy is played [%(default)s]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("learned"), help="folder [%(default)s]")
    given = parser.parse_args()
    players = given.players or [(name, 1) for name in given.simulators]
    given.out.mkdir(parents=True, exist_ok=True)
    titles = (name if division == 1 else f"{name}/{division}" for name, division in players)
    columns = "".join(f" return in {title} | steps |" for title in titles)
    print(f"| task | trained in |{columns}\n| --- | --- |{' --- | --- |' * len(players)}")
    with AxiondProcess(given.axiond) as server, axion.Client(server.address) as client:
        for task in given.tasks:
            for trainer in given.simulators:
                policy, cells = trained(trainer, task, given, client), []
                for name, division in players:
                    with environments(name, division, task, given.episodes, client, AutoresetMode.NEXT_STEP) as envs:
                        returns, lengths = episodes(envs, policy, 1000)
                    cells.append(f"{returns.mean():.0f} +- {returns.std():.0f} | {lengths.mean():.0f}")
                print(f"| {task} | {trainer} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
