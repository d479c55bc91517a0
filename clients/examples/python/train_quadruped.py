"""Teaches a quadruped to walk after commands, or solves one of Gymnasium's tasks, on a running axiond.

PPO in NumPy (ppo.py), one call to the server a step of all worlds. Writes a policy for each seed (NAME-SEED.npz, to be played by
play_policy.py) and the curve of rewards of all seeds (NAME.png, with the extra `examples`).

    python train_quadruped.py --seeds 1 2 3 --out learned
    python train_quadruped.py --task Hopper-v5 --worlds 64 --out learned
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import axion
import axion.gym
from learning_task import TaskChoice
from ppo import Choices, Learner, Progress

WINDOW = 20  # updates that a shown number is the mean of


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=axion.DEFAULT_TARGET, help="address of axiond [%(default)s]")
    parser.add_argument("--worlds", type=int, default=256, help="[%(default)s]")
    parser.add_argument("--steps", type=float, default=3e6, help="of all worlds together [%(default)s]")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one policy each [%(default)s]")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("learned"), help="folder [%(default)s]")
    TaskChoice.add_arguments(parser)
    algorithm = parser.add_argument_group("of the algorithm")
    for field in dataclasses.fields(Choices):
        several = isinstance(field.default, tuple)
        algorithm.add_argument(f"--{field.name}", type=int if several else type(field.default), nargs="+" if several else None,
                               default=field.default, help="[%(default)s]")
    return parser.parse_args(given)


class Curve:
    """The mean reward of a step and the returns of episodes over environment steps; printed now and then."""

    def __init__(self, label: str, goal: float) -> None:
        self._label, self._goal = label, goal
        self.rows: list[tuple[int, float, float]] = []

    def add(self, progress: Progress) -> None:
        ended = progress.episode_return
        self.rows.append((progress.steps, progress.reward, float("nan") if ended is None else ended))
        if len(self.rows) % WINDOW == 0 or progress.steps >= self._goal:
            recent = np.array(self.rows[-WINDOW:])
            returns = recent[~np.isnan(recent[:, 2]), 2]
            told = f"return {returns.mean():8.2f}" if len(returns) else "no episode ended"
            print(f"{self._label}: {progress.steps:10,} steps {progress.seconds:6.1f} s ({progress.steps / progress.seconds:7,.0f}/s)  "
                  f"reward {recent[:, 1].mean():7.3f}  {told}  spread {progress.deviation:.2f}  rate {progress.learning_rate:.1e}",
                  flush=True)

    def smooth(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps, and the mean reward of a step over a window."""
        rows = np.array(self.rows)
        width = min(WINDOW, len(rows))
        return rows[width - 1:, 0], np.convolve(rows[:, 1], np.full(width, 1 / width), mode="valid")


def draw(path: pathlib.Path, curves: dict[int, Curve], title: str) -> None:
    """The curves of all seeds, as a picture."""
    import matplotlib

    matplotlib.use("Agg")  # no display needed
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for seed, curve in curves.items():
        axis.plot(*curve.smooth(), label=f"seed {seed}", linewidth=1.5)
    axis.set_xlabel("environment steps, all worlds")
    axis.set_ylabel(f"reward of a step, mean of {WINDOW} updates")
    axis.set_title(title)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def train(client: axion.Client, args: argparse.Namespace, seed: int) -> Curve:
    """One policy, kept as NAME-SEED.npz."""
    choice = TaskChoice.of(vars(args))
    told = {field.name: getattr(args, field.name) for field in dataclasses.fields(Choices)}
    choices = Choices(**{**told, "hidden": tuple(args.hidden)})
    curve = Curve(f"{choice.task} seed {seed}", args.steps)
    envs = axion.gym.make_vec(choice.server_task(), args.worlds, client=client, autoreset_mode="SameStep")
    try:
        learner = Learner(envs, seed, choices, dataclasses.asdict(choice))
        learner.train(int(args.steps), curve.add)
        learner.policy.save(args.out / f"{choice.task}-{seed}.npz")
    finally:
        envs.close()
    return curve


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    args.out.mkdir(parents=True, exist_ok=True)
    with axion.Client(args.server) as client:
        curves = {seed: train(client, args, seed) for seed in args.seeds}
    rows: dict[str, Any] = {f"seed_{seed}": np.array(curve.rows) for seed, curve in curves.items()}
    np.savez(args.out / f"{args.task}-curves.npz", **rows)
    print(f"Policies: {', '.join(str(args.out / f'{args.task}-{seed}.npz') for seed in args.seeds)}")
    try:
        draw(args.out / f"{args.task}.png", curves, f"PPO, {args.task}, {args.worlds} worlds")
        print(f"Curve: {args.out / f'{args.task}.png'}")
    except ImportError:
        print("No picture of the curve: matplotlib comes with the extra `examples`")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (axion.AxionError, ValueError, OSError) as error:
        sys.exit(f"train_quadruped: {error}")
