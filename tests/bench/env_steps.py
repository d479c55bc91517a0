#!/usr/bin/env python3
"""Environment steps per second of Gymnasium's MuJoCo tasks: Axion's server beside Gymnasium, EnvPool and mujoco.rollout, in turns.

    python tests/bench/env_steps.py build/release/bin/axiond [--tasks Ant-v5 Hopper-v5] [--worlds 64 256] [--turns 3] [--policies learned]

Each engine has a process of its own, which makes its environments once and steps them when it is told to, one engine at a time, all of
them in every turn: what slows the machine for a while slows all. An environment step is one control period: an action in; observation,
reward and ends out; environments that have ended start anew. Only rollout gives states alone, of which this program looks at heights,
to start anew where Gymnasium would. Actions are uniform and drawn before the clock starts.

engines: axion (axion.gym.make_vec over the loopback), sync and async (gymnasium.vector), envpool (PyPI's; a row says so where it is not
installed), rollout (mujoco.rollout with the file's integrator), rollout-implicitfast (with a single evaluation of forces a time step).

The second table has the time step that each engine holds at the same control period: time steps are taken out of the period one by one
until the mean return of --episodes episodes differs from that with the file's time step by more than a tenth and by more than two standard
errors; the last before is held. A policy acts that policy_transfer.py has trained in that engine (--policies FOLDER) where there is one,
else actions are random.
Wants the Python package and gymnasium[mujoco]; prints tables in Markdown.
"""

from __future__ import annotations

import argparse
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
sys.path.insert(0, str(ROOT / "tests" / "support"))

TASKS = ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Humanoid-v5")
ENGINES = ("axion", "sync", "async", "envpool", "rollout", "rollout-implicitfast")
MUJOCO_INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")
HEIGHTS = {"Ant-v5": (2, 0.2, 1.0), "Hopper-v5": (1, 0.7, np.inf), "Walker2d-v5": (1, 0.8, 2.0), "Humanoid-v5": (2, 1.0, 2.0)}


def gymnasium_env(task: str, substeps: int = 0, integrator: str = "file's") -> Any:
    """Gymnasium's environment, with so many time steps in its control period (0: the file's)."""
    import gymnasium

    env = gymnasium.make(task)
    inner: Any = env.unwrapped
    if substeps:
        inner.model.opt.timestep *= inner.frame_skip / substeps
        inner.frame_skip = substeps
    if integrator != "file's":
        inner.model.opt.integrator = MUJOCO_INTEGRATORS.index(integrator)
    return env


def period_of(task: str) -> tuple[int, float, str]:
    """Time steps in a control period, the file's time step (s) and its integrator."""
    inner: Any = gymnasium_env(task).unwrapped
    return inner.frame_skip, inner.model.opt.timestep, MUJOCO_INTEGRATORS[inner.model.opt.integrator]


class Rollout:
    """mujoco.rollout over worlds that start anew where they fall."""

    def __init__(self, task: str, worlds: int, threads: int, substeps: int, integrator: str) -> None:
        import mujoco
        import mujoco.rollout

        env: Any = gymnasium_env(task, substeps, integrator)
        inner = env.unwrapped
        self._model, self._substeps, self._heights = inner.model, inner.frame_skip, HEIGHTS.get(task)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._starts = np.zeros((worlds, mujoco.mj_stateSize(self._model, kind)))
        for row in self._starts:
            env.reset()
            mujoco.mj_getState(self._model, inner.data, row, kind)
        self._states = self._starts.copy()
        self._workers = [mujoco.MjData(self._model) for _ in range(threads)]
        self._rollout = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.action_space = env.action_space

    def step(self, action: np.ndarray) -> None:
        control = np.repeat(action[:, None, :], self._substeps, axis=1)
        self._states = self._rollout.rollout(self._model, self._workers, self._states, control)[0][:, -1].copy()
        if self._heights:
            at, low, high = self._heights
            height = self._states[:, 1 + at]  # time comes first
            fallen = ~((height > low) & (height < high))
            self._states[fallen] = self._starts[fallen]

    def close(self) -> None:
        self._rollout.close()


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
    envs = Rollout(task, worlds, threads, substeps, "implicitfast" if engine == "rollout-implicitfast" else "file's")
    return envs, envs.action_space


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
                dtype = np.float64 if engine.startswith(("envpool", "rollout")) else np.float32
                actions = np.random.default_rng(1).uniform(box.low, box.high, (16, worlds, *box.shape)).astype(dtype)
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
        name = {"axion": "implicit, first order", "rollout-implicitfast": "implicitfast"}.get(engine, integrator)
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
    integrator = "implicitfast" if engine == "rollout-implicitfast" else "file's"

    def play(substeps: int) -> np.ndarray:
        envs = axion_envs(task, given.episodes, address, substeps) if engine == "axion" else \
            SyncVectorEnv([lambda: gymnasium_env(task, substeps, integrator)] * given.episodes)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond")
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="[%(default)s]")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES, help="beside axion [all]")
    parser.add_argument("--worlds", nargs="+", type=int, default=[64, 256], help="[%(default)s]")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of each engine that has threads [%(default)s]")
    parser.add_argument("--turns", type=int, default=3, help="[%(default)s]")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one engine's turn [%(default)s]")
    parser.add_argument("--episodes", type=int, default=16, help="by which the held time step is judged; 0: no second table [%(default)s]")
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
            head = ["task", "worlds", "engine", "integrator", "time step ms", "control period ms", "environment steps/s",
                    "axion / it: median (least to greatest)"]
            print(f"{given.threads} threads; {given.turns} turns of {given.seconds:g} s, load {os.getloadavg()[0]:.1f} before\n")
            print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
            for task in given.tasks:
                for worlds in given.worlds:
                    rows(task, worlds, rates_of(workers, task, worlds, {}, given), {}, {})
            some = [worker for worker in workers if worker.engine == "axion" or worker.engine.startswith("rollout")]
            if given.episodes:
                print("\nAt the time step that each engine holds:\n")
                print(f"| {' | '.join(head)} | acts: return with the file's time step, with this |\n|{' --- |' * (len(head) + 1)}")
            for task in given.tasks if given.episodes else ():
                found = {worker.engine: held_substeps(worker.engine, task, server.address, given) for worker in some}
                substeps = {engine: held for engine, (held, _) in found.items()}
                worlds = max(given.worlds)
                remarks = {engine: told for engine, (_, told) in found.items()}
                rows(task, worlds, rates_of(some, task, worlds, substeps, given), substeps, remarks)
        finally:
            for worker in workers:
                worker.close()
    print(f"\n{time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
