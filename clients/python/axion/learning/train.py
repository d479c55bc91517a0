"""Teaches a quadruped to walk after commands, or solves one of Gymnasium's tasks, on a running axiond.

PPO in NumPy (ppo.py), one call to the server a step of all worlds. Writes a policy for each seed (NAME-SEED.npz, to be played by
`axion play`), the curve of rewards of all seeds (NAME.png, with the extra `examples`) and, of robots that follow commands, a picture
of what each policy does under six of them (NAME-SEED.png, with the extra `view`).

    axion train example --seeds 1 2 3 --out learned
    axion train Hopper-v5 --worlds 64 --out learned
    axion train example --library sb3               Stable-Baselines3's PPO in its place, with the extra `sb3`
    axion train example --servers a:8470,b:8470     worlds over several servers; one that is lost costs time, and no bit
    axion train example --servers farm:8470 --least_servers 4     likewise, over all servers whose addresses the name `farm` has
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import axion
import axion.gym
from axion.learning.policy import Policy
from axion.learning.ppo import Choices, Learner, Progress
from axion.learning.task import EXAMPLE, TaskChoice
from axion.tool import add_server_arguments, connect, credentials_of, over_progress, tell_progress

if TYPE_CHECKING:
    from axion.learning.sb3 import Sb3Learner

Floats = npt.NDArray[np.float64]
WINDOW = 20  # updates that a shown number is the mean of
# What the flags of Choices say of themselves.
_CHOICES = {"rollout_steps": "steps of each world between updates", "epochs": "passes over them", "minibatches": "of a pass",
            "discount": "of rewards, from one step to the next", "trace": "lambda of the advantages",
            "clip": "of the ratio of probabilities",
            "entropy_weight": "of the loss", "learning_rate": "at first",
            "move": "Kullback-Leibler divergence of an update that the learning rate is led to", "greatest_norm": "of a gradient",
            "hidden": "units of each hidden layer"}


def parser(verb: str = "train") -> argparse.ArgumentParser:
    """What reads the command line of the verb."""
    made = argparse.ArgumentParser(prog=f"axion {verb}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", nargs="?", metavar="TASK", help="as --task; `example` is the quadruped")
    add_server_arguments(made)
    made.add_argument("--servers", type=lambda text: text.split(",") if "," in text else text, metavar="HOST:PORT,HOST:PORT",
                      help="several in the place of --server, over which the worlds are spread; those of one that is lost go on elsewhere; "
                      "HOST:PORT alone is every address of that host")
    made.add_argument("--least_servers", type=int, help="with --servers: how many must answer before it begins [1 of a host, 0 of several]")
    made.add_argument("--wait", type=float, default=60.0, help="with --servers: s that these are waited for [%(default)s]")
    made.add_argument("--patience", type=float, default=5.0, help="with --servers: s until one that is gone counts as lost [%(default)s]")
    made.add_argument("--worlds", type=int, default=256, help="[%(default)s]")
    made.add_argument("--steps", type=float, default=3e6, help="of all worlds together [%(default)s]")
    made.add_argument("--seeds", type=int, nargs="+", default=[1], help="one policy each [%(default)s]")
    made.add_argument("--out", type=pathlib.Path, default=pathlib.Path("learned"), help="folder [%(default)s]")
    made.add_argument("--library", choices=("numpy", "sb3"), default="numpy",
                      help="whose PPO: axion.learning.ppo's or that of Stable-Baselines3, which wants the extra `sb3` [%(default)s]")
    made.add_argument("--no-pictures", action="store_true", help="of what the policies do")
    made.add_argument("--json", action="store_true", help="say what came of it as JSON on the output, and all else on the error output")
    made.add_argument("--run_log", type=pathlib.Path, metavar="FILE.mcap",
                      help="log what is asked of the worlds, from which `axion replay` has any instant again; of several seeds FILE-SEED")
    made.add_argument("--run_log_worlds", type=lambda text: [int(word) for word in text.split(",")], metavar="WORLD,...",
                      help="the worlds that are in it, by commas [all]")
    TaskChoice.add_arguments(made)
    algorithm = made.add_argument_group("of the algorithm")
    for field in dataclasses.fields(Choices):
        several = isinstance(field.default, tuple)
        algorithm.add_argument(f"--{field.name}", type=int if several else type(field.default), nargs="+" if several else None,
                               default=field.default, help=f"{_CHOICES[field.name]} [%(default)s]")
    return made


class Curve:
    """The mean reward of a step and the returns of episodes over environment steps; printed now and then."""

    def __init__(self, label: str, goal: float) -> None:
        self._label, self._goal = label, goal
        self.rows: list[tuple[int, float, float]] = []

    def add(self, progress: Progress) -> None:
        ended = progress.episode_return
        self.rows.append((progress.steps, progress.reward, float("nan") if ended is None else ended))
        tell_progress(self._label, progress.steps, self._goal, "steps")
        if len(self.rows) == 1 or len(self.rows) % WINDOW == 0 or progress.steps >= self._goal:
            recent = np.array(self.rows[-WINDOW:])
            returns = recent[~np.isnan(recent[:, 2]), 2]
            told = f"return {returns.mean():8.2f}" if len(returns) else "no episode ended"
            left = (self._goal - progress.steps) * progress.seconds / progress.steps
            print(f"{over_progress()}{self._label}: {progress.steps:10,} steps {progress.seconds:6.1f} s "
                  f"({progress.steps / progress.seconds:7,.0f}/s)  "
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


def learner_of(library: str) -> type[Learner | Sb3Learner]:
    """Who trains. ValueError where the library is not installed."""
    if library == "numpy":
        return Learner
    try:
        from axion.learning.sb3 import Sb3Learner
    except ImportError as error:
        raise ValueError(f"library: {error}") from error
    return Sb3Learner


def servers_of(args: argparse.Namespace) -> axion.Client | axion.Fleet:
    """One server, or several."""
    if args.servers is None:
        return connect(args)
    return axion.Fleet(args.servers, patience=args.patience, least=args.least_servers, wait=args.wait, **credentials_of(args))


class Losses:
    """Says which servers of a fleet are lost, and which are back or new, once each, while one trains."""

    def __init__(self, client: axion.Client | axion.Fleet) -> None:
        self._client = client
        self._left = client.targets if isinstance(client, axion.Fleet) else []

    def tell(self) -> None:
        if not isinstance(self._client, axion.Fleet) or (now := self._client.targets) == self._left:
            return
        lost, found = ([target for target in one if target not in other] for one, other in ((self._left, now), (now, self._left)))
        self._left = now
        for said in ([f"Lost: {', '.join(lost)}; its worlds go on at {', '.join(now)}"] if lost else []) + (
                [f"There: {', '.join(found)}; worlds that it had go back"] if found else []):
            print(f"{over_progress()}{said}", file=sys.stderr, flush=True)


def run_log(envs: Any, args: argparse.Namespace, seed: int) -> contextlib.AbstractContextManager[Any]:
    """The log of a training of this seed, or none."""
    if args.run_log is None:
        return contextlib.nullcontext()
    path = args.run_log if len(args.seeds) == 1 else args.run_log.with_stem(f"{args.run_log.stem}-{seed}")
    return axion.RunLog(envs.unwrapped.batch, path, args.run_log_worlds)


def train(client: axion.Client | axion.Fleet, args: argparse.Namespace, seed: int) -> Curve:
    """One policy, kept as NAME-SEED.npz."""
    choice = TaskChoice.of(vars(args))
    told = {field.name: getattr(args, field.name) for field in dataclasses.fields(Choices)}
    choices = Choices(**{**told, "hidden": tuple(args.hidden)})
    curve = Curve(f"{choice.task} seed {seed}", args.steps)
    envs = axion.gym.make_vec(choice.server_task(), args.worlds, client=client, autoreset_mode="SameStep")
    try:
        learner = learner_of(args.library)(envs, seed, choices, dataclasses.asdict(choice))
        log = run_log(envs, args, seed)
        path, losses = args.out / f"{choice.task}-{seed}.npz", Losses(client)

        def report(progress: Progress) -> None:
            losses.tell()
            curve.add(progress)

        try:
            with log:
                learner.train(int(args.steps), report)
        except (KeyboardInterrupt, axion.AxionError):
            learner.policy.save(path)
            print(f"{over_progress()}Policy, as far as it came: {path}", file=sys.stderr)
            raise
        learner.policy.save(path)
    finally:
        envs.close()
    return curve


def draw_policies(args: argparse.Namespace, target: str) -> list[str]:
    """A picture of what each policy does under commands, on one server: the files."""
    from axion.learning.pictures import draw_commands  # wants packages of the extra `view`

    files = []
    with axion.Client(target, **credentials_of(args)) as client:
        for seed in args.seeds:
            path = args.out / f"{args.task}-{seed}.png"
            draw_commands(client, Policy.load(args.out / f"{args.task}-{seed}.npz"), path, seed)
            files.append(str(path))
    return files


def run(args: argparse.Namespace) -> int:
    """Trains all seeds and says what came of it; the exit code 0. AxionError of the server, ValueError for a flag, with whose name the
    message begins, OSError for a file that cannot be written."""
    if args.what is not None:
        args.task = "quadruped" if args.what == EXAMPLE else args.what
    if not args.steps >= 1 or args.worlds < 1:
        raise ValueError(f"steps: {args.steps:g}, worlds: {args.worlds}; both must be at least 1")
    if args.task != "quadruped" and args.task not in axion.gym.SERVER_TASKS:
        raise ValueError(f"task: {args.task!r} is none of {EXAMPLE}, {', '.join(axion.gym.SERVER_TASKS)}")
    if args.run_log is not None and args.servers is not None:
        raise ValueError("run_log: is of one server's worlds, and --servers has several")
    learner_of(args.library)
    TaskChoice.of(vars(args)).server_task()  # what is wrong with it is told before anything is made
    args.out.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {"task": args.task, "worlds": args.worlds, "policies": [], "curve": None, "pictures": []}
    with servers_of(args) as client:
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
                told["pictures"] = draw_policies(args, client.targets[0] if isinstance(client, axion.Fleet) else args.server)
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
