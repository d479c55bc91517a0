#!/usr/bin/env python3
"""Environment steps per second of Gymnasium's MuJoCo tasks: Axion's server beside Gymnasium, EnvPool and mujoco.batch, in turns.

    python tests/bench/env_steps.py build/release/bin/axiond [--tasks Ant-v5 Hopper-v5] [--worlds 64 256] [--turns 3] [--policies learned]

Each engine has a process of its own, which makes its environments once and steps them when it is told to, one engine at a time, all of
them in every turn: what slows the machine for a while slows all. An environment step is one control period: an action in; observation,
reward and ends out; environments that have ended start anew. Only the batches give states alone, of which this program looks at heights,
to start anew where Gymnasium would. Actions are uniform and drawn before the clock starts.

engines: axion (axion.gym.make_vec over the loopback), sync and async (gymnasium.vector), envpool (PyPI's; a row says so where it is not
installed), batch (mujoco.batch with the file's integrator), and batch with each variant of peer.py.

The second table has the time step that each engine holds at the same control period: time steps are taken out of the period one by one
until the mean return of --episodes episodes differs from that with the file's time step by more than a tenth and by more than two standard
errors; the last before is held. A policy acts that policy_transfer.py has trained in that engine (--policies FOLDER) where there is one,
else actions are random. The third is error at equal speed: Axion at the time step that it holds, and each variant of MuJoCo at the
shortest time step at which it is about as fast, with the greatest overlap of any world in as many steps under the same actions.
Wants the Python package and gymnasium[mujoco] with mujoco 4.0 or later; prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import multiprocessing
import os
import pathlib
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "bench")]
import peer  # noqa: E402
import stamp  # noqa: E402

TASKS = ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Humanoid-v5")
BATCHES = {f"batch, {name}": name for name in peer.VARIANTS}
ENGINES = ("axion", "sync", "async", "envpool", "batch", *BATCHES)
MUJOCO_INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
HEIGHTS = {"Ant-v5": (2, 0.2, 1.0), "Hopper-v5": (1, 0.7, np.inf), "Walker2d-v5": (1, 0.8, 2.0), "Humanoid-v5": (2, 1.0, 2.0)}


def gymnasium_env(task: str, substeps: int = 0, engine: str = "batch") -> Any:
    """Gymnasium's environment, with so many time steps in its control period (0: the file's), and stepped as a batch's variant says."""
    import gymnasium
    import mujoco_bench

    env = gymnasium.make(task)
    inner: Any = env.unwrapped
    if substeps:
        inner.model.opt.timestep *= inner.frame_skip / substeps
        inner.frame_skip = substeps
    if engine in BATCHES:
        flags = peer.VARIANTS[BATCHES[engine]]
        mujoco_bench.choose(inner.model, flags[1], "--speculative" in flags)
    return env


def period_of(task: str) -> tuple[int, float, str]:
    """Time steps in a control period, the file's time step (s) and its integrator."""
    inner: Any = gymnasium_env(task).unwrapped
    return inner.frame_skip, inner.model.opt.timestep, MUJOCO_INTEGRATORS[inner.model.opt.integrator]


class MujocoBatch:
    """mujoco.batch over worlds that start anew where they fall; `look`: that keeps the greatest overlap of any step."""

    def __init__(self, task: str, worlds: int, threads: int, substeps: int, engine: str, look: bool = False) -> None:
        import mujoco_bench

        env: Any = gymnasium_env(task, substeps, engine)
        inner = env.unwrapped
        self._substeps, self._heights = inner.frame_skip, HEIGHTS.get(task)
        self._looker = mujoco_bench.Looker(inner.model, worlds) if look else None
        self._batch = self._looker.batch if self._looker else mujoco_bench.Batch(inner.model, worlds, nthread=threads)
        self._control, self._qpos = self._batch.bind("ctrl"), self._batch.bind("qpos")
        for qpos, qvel in zip(self._qpos, self._batch.bind("qvel")):
            env.reset()
            qpos[:], qvel[:] = inner.data.qpos, inner.data.qvel
        self._starts = self._batch.state.copy()
        self.action_space = env.action_space

    @property
    def overlap(self) -> float:
        """m."""
        assert self._looker is not None
        return self._looker.overlap

    def step(self, action: np.ndarray) -> None:
        self._control[:] = action
        if self._looker:
            for _ in range(self._substeps):
                self._looker.step()
        else:
            self._batch.step(nstep=self._substeps)
        if self._heights:
            at, low, high = self._heights
            height = self._qpos[:, at]
            fallen = ~((height > low) & (height < high))
            self._batch.state[fallen] = self._starts[fallen]

    def close(self) -> None:
        pass


def axion_envs(task: str, worlds: int, address: str, substeps: int) -> Any:
    import axion.gym

    what: Any = axion.gym.server_task(task)
    if substeps:
        frame_skip, dt, _ = period_of(task)
        what.spec.action.frame_skip = substeps
        what.batch_choices = {**what.batch_choices, "dt": dt * frame_skip / substeps}
    return axion.gym.make_vec(what, worlds, target=address)


def make(engine: str, task: str, worlds: int, threads: int, address: str, substeps: int) -> tuple[Any, Any]:
    """Environments, and the box of one's actions."""
    import gymnasium
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

    if engine == "axion":
        envs = axion_envs(task, worlds, address, substeps)
        return envs, envs.single_action_space
    if engine in ("sync", "async"):
        several: list[Callable[[], Any]] = [lambda: gymnasium.make(task)] * worlds
        # Forked: hundreds of processes that each import everything take minutes to start.
        envs: Any = SyncVectorEnv(several) if engine == "sync" else AsyncVectorEnv(several, context="fork")
        return envs, envs.single_action_space
    if engine == "envpool":
        import envpool  # type: ignore[import-not-found, unused-ignore]

        envs = envpool.make(task, env_type="gymnasium", num_envs=worlds, num_threads=threads)
        return envs, envs.action_space
    envs = MujocoBatch(task, worlds, threads, substeps, engine)
    return envs, envs.action_space


def actions_of(box: Any, worlds: int, dtype: Any) -> np.ndarray:
    """[16, worlds, actuator]"""
    return np.random.default_rng(1).uniform(box.low, box.high, (16, worlds, *box.shape)).astype(dtype)


def overlap_of(engine: str, task: str, worlds: int, address: str, substeps: int, periods: int) -> float:
    """The greatest overlap of any world and step over so many control periods, m."""
    if engine == "axion":
        envs = axion_envs(task, worlds, address, substeps)
        envs.reset()
        box, dtype = envs.single_action_space, np.float32
    else:
        envs = MujocoBatch(task, worlds, 1, substeps, engine, look=True)
        box, dtype = envs.action_space, np.float64
    try:
        actions = actions_of(box, worlds, dtype)
        for period in range(periods):
            envs.step(actions[period % len(actions)])
        return envs.batch.solver_stats().max_penetration if engine == "axion" else envs.overlap
    finally:
        envs.close()


def received(pipe: Connection) -> Any:
    """The next order; None, as at the end, where nobody is left to give one."""
    try:
        return pipe.recv()
    except EOFError:
        return None


def work(pipe: Connection, engine: str, threads: int, address: str) -> None:
    """A process that has one engine's environments: ("make", task, worlds, substeps) and ("measure", seconds) until None."""
    envs, actions = None, np.zeros(0)
    while (order := received(pipe)) is not None:
        try:
            if order[0] == "make":
                if envs is not None:
                    envs.close()
                _, task, worlds, substeps = order
                envs, box = make(engine, task, worlds, threads, address, substeps)
                actions = actions_of(box, worlds, np.float64 if engine.startswith(("envpool", "batch")) else np.float32)
                if hasattr(envs, "reset"):
                    envs.reset()
                for action in actions:
                    envs.step(action)
                pipe.send(("ready", None))
            else:
                assert envs is not None
                count, begin = 0, time.perf_counter()
                while (spent := time.perf_counter() - begin) < order[1]:
                    envs.step(actions[count % len(actions)])
                    count += 1
                pipe.send(("rate", count * actions.shape[1] / spent))
        except Exception:  # noqa: BLE001 - told to whoever asked
            pipe.send(("error", traceback.format_exc(limit=3)))
    if envs is not None:
        envs.close()


class Worker:
    """A process of one engine."""

    def __init__(self, engine: str, threads: int, address: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.engine = engine
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, engine, threads, address))
        self._process.start()

    def ask(self, *order: Any) -> Any:
        self._pipe.send(order)
        kind, told = self._pipe.recv()
        if kind == "error":
            raise RuntimeError(f"{self.engine}: {told}")
        return told

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()


def rates_of(workers: list[Worker], task: str, worlds: int, substeps: dict[str, int], given: argparse.Namespace) -> dict[str, list[float]]:
    """Environment steps per second of each engine, one number a turn."""
    for worker in workers:
        worker.ask("make", task, worlds, substeps.get(worker.engine, 0))
    rates: dict[str, list[float]] = {worker.engine: [] for worker in workers}
    for turn in range(given.turns):
        for worker in workers if turn % 2 == 0 else workers[::-1]:
            rates[worker.engine].append(worker.ask("measure", given.seconds))
    return rates


def rows(task: str, worlds: int, rates: dict[str, list[float]], substeps: dict[str, int], remarks: dict[str, str]) -> None:
    """Of a table, one for each engine; the ratio is Axion's rate by the engine's, of each turn."""
    frame_skip, dt, integrator = period_of(task)
    for engine, found in rates.items():
        held = substeps.get(engine, 0) or frame_skip
        name = "implicit, Axion's own" if engine == "axion" else BATCHES.get(engine, integrator)
        ratio = [ours / theirs for ours, theirs in zip(rates["axion"], found)]
        compared = "" if engine == "axion" else f"{statistics.median(ratio):.2f} ({min(ratio):.2f} to {max(ratio):.2f})"
        cells = [task, str(worlds), engine, name, f"{1e3 * dt * frame_skip / held:g}", f"{1e3 * dt * frame_skip:g}",
                 f"{statistics.median(found):,.0f}", compared, *([remarks[engine]] if remarks else [])]
        print(f"| {' | '.join(cells)} |", flush=True)


def returns_of(envs: Any, worlds: int, box: Any, policy: Any, seed: int) -> np.ndarray:
    """[worlds], of the first episode of each, of at most 1,000 steps."""
    random = np.random.default_rng(seed)
    observation, _ = envs.reset(seed=seed)
    returns, goes_on = np.zeros(worlds), np.ones(worlds, bool)
    for _ in range(1000):
        action = policy.act(observation) if policy else random.uniform(box.low, box.high, (worlds, *box.shape)).astype(np.float32)
        observation, reward, terminated, truncated, _ = envs.step(action)
        returns[goes_on] += reward[goes_on]
        goes_on &= ~(terminated | truncated)
        if not goes_on.any():
            break
    return returns


def held_substeps(engine: str, task: str, address: str, given: argparse.Namespace) -> tuple[int, str]:
    """The least number of time steps in a control period with which, and with every greater one, the return stays; and what was found."""
    from gymnasium.vector import SyncVectorEnv
    from axion.learning.policy import Policy

    path = given.policies / f"{task}-{'Axion' if engine == 'axion' else 'MuJoCo'}-1.npz" if given.policies else None
    policy = Policy.load(path) if path is not None and path.exists() else None

    def play(substeps: int) -> np.ndarray:
        envs = axion_envs(task, given.episodes, address, substeps) if engine == "axion" else \
            SyncVectorEnv([lambda: gymnasium_env(task, substeps, engine)] * given.episodes)
        try:
            return returns_of(envs, given.episodes, envs.single_action_space, policy, 1000)
        finally:
            envs.close()

    held = period_of(task)[0]
    first = play(held)
    last = first
    while held > 1:
        found = play(held - 1)
        error = np.sqrt((found.var() + first.var()) / given.episodes)
        if not np.isfinite(found).all() or abs(found.mean() - first.mean()) > max(0.1 * abs(first.mean()), 2 * error):
            break
        held, last = held - 1, found
    return held, f"{'policy' if policy else 'random'}: {first.mean():.0f}, {last.mean():.0f}"


def equal_speed(workers: list[Worker], task: str, worlds: int, rates: dict[str, list[float]], substeps: dict[str, int], address: str,
                given: argparse.Namespace) -> None:
    """Rows of the third table: `rates` are those of the second, at `substeps`. A variant gets so many more steps that it is as fast."""
    ours = statistics.median(rates["axion"])
    chosen = {engine: max(1, round(substeps[engine] * statistics.median(found) / ours)) for engine, found in rates.items()}
    found = rates_of(workers, task, worlds, chosen, given)
    overlaps = {engine: overlap_of(engine, task, given.looked_worlds, address, count, given.periods) for engine, count in chosen.items()}
    rows(task, worlds, found, chosen, {engine: f"{1e3 * overlap:.2f}" for engine, overlap in overlaps.items()})


def versions() -> list[str]:
    found = [name for name in ("gymnasium", "mujoco", "envpool") if importlib.util.find_spec(name)]
    return [f"{name} {importlib.metadata.version(name)}" for name in found]


def tables(workers: list[Worker], address: str, given: argparse.Namespace) -> None:
    """All three; without --episodes the first alone."""
    head = ["task", "worlds", "engine", "integrator", "time step ms", "control period ms", "environment steps/s",
            "axion / it: median (least to greatest)"]
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for task in given.tasks:
        for worlds in given.worlds:
            rows(task, worlds, rates_of(workers, task, worlds, {}, given), {}, {})
    if not given.episodes:
        return
    some = [worker for worker in workers if worker.engine == "axion" or worker.engine.startswith("batch")]
    worlds, rates, held = max(given.worlds), {}, {}
    print("\nAt the time step that each engine holds:\n")
    print(f"| {' | '.join(head)} | acts: return with the file's time step, with this |\n|{' --- |' * (len(head) + 1)}")
    for task in given.tasks:
        found = {worker.engine: held_substeps(worker.engine, task, address, given) for worker in some}
        held[task] = {engine: count for engine, (count, _) in found.items()}
        rates[task] = rates_of(some, task, worlds, held[task], given)
        rows(task, worlds, rates[task], held[task], {engine: told for engine, (_, told) in found.items()})
    print("\nOverlap at equal speed, Axion at the time step that it holds:\n")
    print(f"| {' | '.join(head)} | greatest overlap, mm |\n|{' --- |' * (len(head) + 1)}")
    for task in given.tasks:
        equal_speed(some, task, worlds, rates[task], held[task], address, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond")
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="[%(default)s]")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES, help="beside axion [all]")
    parser.add_argument("--worlds", nargs="+", type=int, default=[64], help="[%(default)s]")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of each engine that has threads [%(default)s]")
    parser.add_argument("--turns", type=int, default=3, help="[%(default)s]")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one engine's turn [%(default)s]")
    parser.add_argument("--episodes", type=int, default=8, help="by which the held time step is judged; 0: no second table [%(default)s]")
    parser.add_argument("--looked_worlds", type=int, default=16, help="in which overlaps are looked for [%(default)s]")
    parser.add_argument("--periods", type=int, default=100, help="of control, likewise [%(default)s]")
    parser.add_argument("--policies", type=pathlib.Path, help="folder of policy_transfer.py's --out")
    given = parser.parse_args()
    from axiond_process import AxiondProcess

    engines = ["axion", *(engine for engine in ENGINES[1:] if engine in given.engines)]
    if "envpool" in engines and importlib.util.find_spec("envpool") is None:
        engines.remove("envpool")
        print("envpool is not installed: left out (pip install envpool)\n", flush=True)
    begin = time.perf_counter()
    with AxiondProcess(given.axiond, f"--threads={given.threads}") as server:
        workers = [Worker(engine, given.threads, server.address) for engine in engines]
        try:
            print(f"{stamp.stamp(pathlib.Path(given.axiond).parent)}: {', '.join(versions())}; {given.threads} threads, "
                  f"{given.turns} turns of {given.seconds:g} s.\n")
            tables(workers, server.address, given)
        finally:
            for worker in workers:
                worker.close()
    print(f"\n{time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
