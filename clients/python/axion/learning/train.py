"""Teaches a quadruped to walk after commands, or solves one of Gymnasium's tasks, on a running axiond.

PPO in NumPy (ppo.py), one call to the server a step of all worlds. Writes a policy for each seed (NAME-SEED.npz, to be played by
`axion play`), the curve of rewards of all seeds (NAME.png, with the extra `examples`) and, of robots that follow commands, a picture
of what each policy does under six of them (NAME-SEED.png, with the extra `view`).

    axion train example --seeds 1 2 3 --out learned
    axion train Hopper-v5 --worlds 64 --out learned
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import axion
import axion.gym
from axion.learning.connection import add_server_arguments, connect, in_words
from axion.learning.policy import Policy
from axion.learning.ppo import Choices, Learner, Progress
from axion.learning.task import EXAMPLE, TaskChoice

Floats = npt.NDArray[np.float64]
WINDOW = 20  # updates that a shown number is the mean of


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="axion train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", metavar="TASK", help="as --task; `example` is the quadruped")
    add_server_arguments(parser)
    parser.add_argument("--worlds", type=int, default=256, help="[%(default)s]")
    parser.add_argument("--steps", type=float, default=3e6, help="of all worlds together [%(default)s]")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one policy each [%(default)s]")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("learned"), help="folder [%(default)s]")
    parser.add_argument("--no-pictures", action="store_true", help="of what the policies do")
    parser.add_argument("--json", action="store_true", help="say what came of it as JSON on the output, and all else on the error output")
    TaskChoice.add_arguments(parser)
    algorithm = parser.add_argument_group("of the algorithm")
    for field in dataclasses.fields(Choices):
        several = isinstance(field.default, tuple)
        algorithm.add_argument(f"--{field.name}", type=int if several else type(field.default), nargs="+" if several else None,
                               default=field.default, help="[%(default)s]")
    parsed = parser.parse_args(given)
    if parsed.what is not None:
        parsed.task = "quadruped" if parsed.what == EXAMPLE else parsed.what
    return parsed


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
            left = (self._goal - progress.steps) * progress.seconds / progress.steps
            print(f"{self._label}: {progress.steps:10,} steps {progress.seconds:6.1f} s ({progress.steps / progress.seconds:7,.0f}/s)  "
                  f"reward {recent[:, 1].mean():7.3f}  {told}  spread {progress.deviation:.2f}  rate {progress.learning_rate:.1e}  "
                  f"{max(0.0, left):.0f} s left",
                  file=sys.stderr, flush=True)

    def smooth(self) -> tuple[Floats, Floats]:
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


def draw_policies(client: axion.Client, args: argparse.Namespace) -> list[str]:
    """A picture of what each policy does under commands: the files."""
    from axion.learning.pictures import draw_commands  # wants packages of the extra `view`

    files = []
    for seed in args.seeds:
        path = args.out / f"{args.task}-{seed}.png"
        draw_commands(client, Policy.load(args.out / f"{args.task}-{seed}.npz"), path, seed)
        files.append(str(path))
    return files


def main(given: Sequence[str] | None = None) -> int:
    """Trains all seeds and says what came of it; the exit code."""
    args = arguments(given)
    TaskChoice.of(vars(args)).server_task()  # what is wrong with it is told before anything is made
    args.out.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {"task": args.task, "worlds": args.worlds, "policies": [], "curve": None, "pictures": []}
    with connect(args) as client:
        curves = {seed: train(client, args, seed) for seed in args.seeds}
        told["policies"] = [str(args.out / f"{args.task}-{seed}.npz") for seed in args.seeds]
        told["last_rewards"] = {str(seed): float(curve.smooth()[1][-1]) for seed, curve in curves.items()}
        rows: dict[str, Any] = {f"seed_{seed}": np.array(curve.rows) for seed, curve in curves.items()}
        np.savez(args.out / f"{args.task}-curves.npz", **rows)
        try:
            draw(args.out / f"{args.task}.png", curves, f"PPO, {args.task}, {args.worlds} worlds")
            told["curve"] = str(args.out / f"{args.task}.png")
        except ImportError:
            print("No picture of the curve: matplotlib comes with the extra `examples`", file=sys.stderr)
        if not args.no_pictures and TaskChoice.of(vars(args)).follows_commands:
            try:
                told["pictures"] = draw_policies(client, args)
            except ImportError as error:
                print(f"No pictures of the policies: they want the extra `view`: {error}", file=sys.stderr)
    if args.json:
        print(json.dumps(told))
        return 0
    drawn = [told["curve"]] if told["curve"] else []
    for name, files in (("Policies", told["policies"]), ("Curve", drawn), ("Pictures", told["pictures"])):
        if files:
            print(f"{name}: {', '.join(files)}")
    return 0


def program(given: Sequence[str] | None = None) -> int:
    """main, with errors as words; the exit code."""
    return in_words("train", lambda: main(given))
