"""`axion replay`, which axion.tool runs: an instant of a world of a recorded run again."""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import signal
import sys
from typing import Any

import mcap.reader  # noqa: F401 - of the extra `replay`, whose absence axion.tool tells of
import numpy as np

from axion.batch import Batch
from axion.client import Client
from axion.recorded_run import RecordedRun
from axion.stop_requests import StopRequests
from axion.tool import add_server_arguments, check_writable, connect, tell_progress


def _progress(done: int, whole: int) -> None:
    tell_progress("replayed", done, whole, "steps")


def parser(verb: str = "replay") -> argparse.ArgumentParser:
    """Makes the parser of `axion replay`.

    Parameters
    ----------
    verb : {"replay"}
        The verb.

    Returns
    -------
    argparse.ArgumentParser
        What reads its command line.
    """
    made = argparse.ArgumentParser(prog=f"axion {verb}", description="Show an instant of a world of a recorded run again, with its bits.")
    made.add_argument("run", metavar="RUN.mcap", help="what axion.RunLog or `axion train --run_log` has written; alone, says what is in it")
    add_server_arguments(made)
    made.add_argument("--at", type=int, metavar="STEP", help="steps of the run that the world has made; 0 is its beginning")
    made.add_argument("--world", type=int, help="its index [the first in the log]")
    made.add_argument("--verify", action="store_true", help="make all steps of the world again and compare each state of it that was kept")
    made.add_argument("--fields", type=lambda text: text.split(","), default=["joint_position"],
                      help="of the state that is said, by commas [joint_position]")
    made.add_argument("--out", metavar="FILE", help=".npz of all fields, or a picture, as .png")
    made.add_argument("--view", action="store_true", help="show the world in a browser, where it can be stepped on")
    made.add_argument("--host", default="127.0.0.1", help="where the page is served [%(default)s]")
    made.add_argument("--port", type=int, default=8080, help="[%(default)s], or the next that is free")
    made.add_argument("--no-browser", action="store_true", help="only say where the page is")
    made.add_argument("--json", action="store_true", help="say what was found as JSON")
    return made


def _told(given: argparse.Namespace, told: dict[str, Any], text: str) -> None:
    print(json.dumps(told) if given.json else text, flush=True)


def _write(path: str, batch: Batch, world: int) -> None:
    if path.lower().endswith(".npz"):
        state = batch.get_state([info.name for info in batch.proto.fields], [world])
        arrays: dict[str, Any] = {"time": state.time, "step_index": state.step_index, **{name: np.asarray(state[name]) for name in state}}
        np.savez(path, **arrays)
        return
    from axion.viewing.render import render

    render(batch, [world], path=path)


def _view(batch: Batch, given: argparse.Namespace, world: int) -> None:
    import webbrowser

    from axion.viewing.viewer import view

    with view(batch, [world], host=given.host, port=given.port) as viewer, StopRequests(signal.SIGINT) as stop:
        _told(given, {"url": viewer.url, "batch": batch.name}, f"{batch.name} is shown at {viewer.url}; Ctrl-C ends")
        if not given.no_browser:
            webbrowser.open(viewer.url)
        stop.wait(viewer.wait)


def _show(run: RecordedRun, client: Client, given: argparse.Namespace, world: int) -> None:
    with run.instant(client, given.at, world, _progress) as batch:
        state = batch.get_state(["snapshot", *given.fields], [world])
        digest = hashlib.sha256(state["snapshot"][0]).hexdigest()
        numbers = {name: np.asarray(state[name])[0].tolist() for name in given.fields}
        told = {"file": given.run, "world": world, "step": given.at, "time": float(state.time[0]), "step_index": int(state.step_index[0]),
                "sha256": digest, "state": numbers, "out": given.out}
        if given.out:
            _write(given.out, batch, world)
        lines = [f"world {world} after {given.at} steps of {run.steps[world]}: time {state.time[0]:.9g} s since its last start, "
                 f"sha256 {digest}",
                 *(f"{name}: {np.array2string(np.asarray(values), precision=9, threshold=40)}" for name, values in numbers.items())]
        _told(given, told, "\n".join(lines + ([given.out] if given.out else [])))
        if given.view:
            _view(batch, given, world)


def run(given: argparse.Namespace) -> int:
    """Runs the verb.

    Parameters
    ----------
    given : argparse.Namespace
        The command line, read by `parser`.

    Returns
    -------
    int
        The exit code 0.

    Raises
    ------
    AxionError
        The server refuses or is not there.
    ValueError
        A flag is wrong, or the file is no log of a run.
    OSError
        A file cannot be read or written.
    """
    if given.at is None and (given.out or given.view):
        raise ValueError(f"--at: is missing; --{'out' if given.out else 'view'} wants the instant")
    recorded = RecordedRun(given.run)
    world = recorded.worlds[0] if given.world is None else given.world
    recorded._place(world)
    if not recorded.is_whole:
        most = max(recorded.steps.values())
        print(f"axion replay: {given.run} was not ended; what is whole of it has steps up to {most}", file=sys.stderr)
    if given.out:
        check_writable(given.out)
        if pathlib.Path(given.out).suffix == "":
            raise ValueError(f"--out={given.out}: wants an ending, .npz or that of a picture, as .png")
    if given.at is None and not given.verify:
        least, most = min(recorded.steps.values()), max(recorded.steps.values())
        told = {"file": given.run, **recorded.about, "dt": recorded.batch.dt, "steps": [recorded.steps[one] for one in recorded.worlds]}
        _told(given, told, f"{given.run}: {recorded.about['batch']}, worlds in the log: {len(recorded.worlds)}, steps: {least} to {most}, "
              f"dt {recorded.batch.dt:g} s, made by version {recorded.about['server']} on {recorded.about['device']}")
        return 0
    with connect(given) as client:
        if given.verify:
            same = recorded.verify(client, world, _progress)
            _told(given, {"file": given.run, "world": world, "steps": recorded.steps[world], "same": same},
                  f"world {world}: {recorded.steps[world]} steps made again; bits are the same at {len(same)} instants")
        if given.at is not None:
            _show(recorded, client, given, world)
    return 0
