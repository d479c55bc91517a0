"""Plays a policy that `axion train` has trained, on a running axiond: figures, pictures, a movie or the viewer.

    axion play learned/quadruped-1.npz                          commanded and measured speeds
    axion play learned/quadruped-1.npz --movie walk.mp4         a movie, .mp4 or .gif, without a browser
    axion play learned/quadruped-1.npz --picture walk.png       eight moments of two seconds in one picture
    axion play learned/quadruped-1.npz --commands walk.png      what it does under six commands, in one picture
    axion play learned/quadruped-1.npz --view                   in the browser, as fast as the clock

Pictures and the viewer want the extra `view`. With --command it does always the same.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import signal
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import axion
import axion.gym
from axion.learning.policy import Policy
from axion.learning.task import TaskChoice
from axion.stop_requests import StopRequests
from axion.tool import add_server_arguments, check_writable, connect, tell_progress

COMMANDS = ((0.0, 0.0, 0.0), (0.4, 0.0, 0.0), (0.8, 0.0, 0.0), (-0.5, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, -0.4, 0.0), (0.0, 0.0, 0.8),
            (0.0, 0.0, -0.8), (0.5, 0.0, 0.6), (0.5, 0.3, 0.0))
SETTLING = 1.0  # s that a robot has to come up to its command


def parser(verb: str = "play") -> argparse.ArgumentParser:
    """What reads the command line of the verb."""
    made = argparse.ArgumentParser(prog=f"axion {verb}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("policy", type=pathlib.Path, metavar="POLICY.npz", help="written by axion train")
    add_server_arguments(made)
    made.add_argument("--worlds", type=int, default=32, help="[%(default)s]")
    made.add_argument("--seed", type=int, default=1, help="of the first world's episodes [%(default)s]")
    made.add_argument("--seconds", type=float, default=5.0, help="of each command, and of the movie [%(default)s]")
    made.add_argument("--dt", type=float, help="time step, s, if not that of training; actions last as long as there")
    made.add_argument("--command", type=float, nargs=3, metavar=("FORWARD", "LEFT", "TURN"), help="m/s, m/s, rad/s")
    made.add_argument("--movie", type=pathlib.Path, help="to write, .mp4 or .gif")
    made.add_argument("--picture", type=pathlib.Path, help="to write, .png")
    made.add_argument("--commands", type=pathlib.Path, help="picture of six commands to write, .png")
    made.add_argument("--json", action="store_true", help="say figures and files as JSON")
    made.add_argument("--view", action="store_true", help="show worlds in the browser until Ctrl-C")
    return made


def choice_of(policy: Policy, dt: float | None) -> TaskChoice:
    """What it was trained for; with another time step, of which an action holds for as many as make the same time."""
    about = dict(policy.about)
    if dt is not None:
        held = about["dt"] * about["frame_skip"]
        if round(held / dt) < 1 or abs(round(held / dt) * dt - held) > 1e-9:
            raise ValueError(f"dt: {dt} s; the policy acts every {held:g} s, which must be a multiple of it")
        about.update(dt=dt, frame_skip=round(held / dt))
    return TaskChoice.of(about)


def body_twist(pose: npt.NDArray[Any], velocity: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """[n, 3] of poses [n, 7] and velocities [n, 6] (world axes): m/s forwards and to the left in the body's axes, rad/s about its z."""
    w, x, y, z = np.moveaxis(np.asarray(pose[:, 3:], np.float64), 1, 0)
    axes = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
                     [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
                     [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]])
    linear, angular = (np.einsum("ijn,nj->ni", axes, np.asarray(part, np.float64)) for part in (velocity[:, :3], velocity[:, 3:]))
    return np.column_stack([linear[:, :2], angular[:, 2]])


def follow(client: axion.Client, policy: Policy, choice: TaskChoice, command: Sequence[float], worlds: int, seed: int,
           seconds: float) -> tuple[npt.NDArray[np.float64], int]:
    """The mean of each world's speeds [worlds, 3] under one command, after SETTLING; and how many fell."""
    task = choice.server_task(command)
    model = client.create_model(path=task.model)
    trunk = list(model.body_names).index(choice.body)
    with client.create_batch(model, worlds, task=task.spec, **task.batch_choices) as batch:
        observation = batch.begin_episodes(seeds=np.arange(seed, seed + worlds, dtype=np.uint64))
        step_seconds = batch.proto.task.step_seconds
        twists, stands = [], np.ones(worlds, bool)
        for step in range(round(seconds / step_seconds)):
            answer = batch.step_task(policy.act(observation), outputs=["body_pose", "body_velocity"])
            observation = answer.observation
            stands &= ~answer.terminated
            if step * step_seconds >= SETTLING:
                twists.append(body_twist(answer["body_pose"][:, trunk], answer["body_velocity"][:, trunk]))
    return np.mean(twists, axis=0), int(np.count_nonzero(~stands))


def tell_speeds(client: axion.Client, policy: Policy, choice: TaskChoice, args: argparse.Namespace) -> dict[str, Any]:
    """Prints a table of commands and what was measured, unless --json is given; what it says, for JSON."""
    if args.seconds <= SETTLING:
        raise ValueError(f"seconds: {args.seconds:g}; speeds are measured after {SETTLING:g} s, so it must be more")
    if not args.json:
        print(f"{args.worlds} worlds, {args.seconds - SETTLING:g} s each after {SETTLING:g} s; mean over worlds, deviation between them\n")
        print("| commanded m/s, m/s, rad/s | forwards m/s | to the left m/s | turn rad/s | fell |")
        print("| --- | --- | --- | --- | --- |")
    found: list[dict[str, Any]] = []
    commands = [args.command] if args.command else COMMANDS
    for command in commands:
        speeds, fell = follow(client, policy, choice, command, args.worlds, args.seed, args.seconds)
        mean, deviation = speeds.mean(axis=0), speeds.std(axis=0)
        found.append({"command": list(command), "mean": mean.tolist(), "deviation": deviation.tolist(), "fell": fell})
        if args.json:
            tell_progress("measured", len(found), len(commands), "commands")
        else:
            cells = " | ".join(f"{middle:+.2f} +- {spread:.2f}" for middle, spread in zip(mean, deviation))
            print(f"| {', '.join(f'{part:+.1f}' for part in command)} | {cells} | {fell} |", flush=True)
    return {"worlds": args.worlds, "commands": found}


def episodes(envs: Any, policy: Policy, seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return and length of the first episode of each environment of a gymnasium.vector.VectorEnv, acting without exploration."""
    observation, _ = envs.reset(seed=seed)
    returns, lengths, goes_on = np.zeros(envs.num_envs), np.zeros(envs.num_envs, np.int64), np.ones(envs.num_envs, bool)
    while goes_on.any():
        observation, reward, terminated, truncated, _ = envs.step(policy.act(observation))
        returns[goes_on] += reward[goes_on]
        lengths[goes_on] += 1
        goes_on &= ~(terminated | truncated)
    return returns, lengths


def poses(envs: Any, policy: Policy, seed: int, seconds: float) -> Iterator[npt.NDArray[Any]]:
    """The poses [bodies, 7] of the one world of a gymnasium.vector.VectorEnv after each of its steps."""
    observation, _ = envs.reset(seed=seed)
    for step in range(round(seconds / envs.dt)):
        observation, *_ = envs.step(policy.act(observation))
        yield envs.batch.get_state("body_pose")["body_pose"][0]
        tell_progress("stepped", (step + 1) * envs.dt, seconds, "s")


def pictures(model: axion.Model, moments: npt.NDArray[Any], body: str | None, width: int, height: int) -> Iterator[npt.NDArray[np.uint8]]:
    """One of each moment, from the side, the camera going along."""
    track = body if body in model.body_names else model.body_names[0]
    renderer = axion.Renderer(model, width, height, axion.Camera(azimuth=120, elevation=-15, distance=1.6 if body else 5.0, track=track),
                              samples=1)
    for count, moment in enumerate(moments, 1):
        yield renderer.render(moment)
        tell_progress("drawn", count, len(moments), "pictures")


def write_pictures(client: axion.Client, policy: Policy, choice: TaskChoice, args: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Writes the movie, and the picture of moments side by side: the files, by what they are; and whether Ctrl-C ended it.

    The files then have what was seen until it came.
    """
    from axion.viewing.until_interrupt import UntilInterrupt  # wants packages of the extra `view`

    told: dict[str, Any] = {}
    body = choice.body if choice.follows_commands else None
    with contextlib.closing(axion.gym.make_vec(choice.server_task(args.command), 1, client=client, autoreset_mode="SameStep")) as envs:
        model, dt = envs.model, envs.dt
        seen = UntilInterrupt(poses(envs, policy, args.seed, args.seconds), are_soon=True)
        with seen:
            moments = np.array(list(seen))
    is_cut = seen.is_cut
    if args.movie:
        every = max(1, round(1 / (25 * dt)))
        drawn = UntilInterrupt(pictures(model, moments[::every], body, 640, 480))
        with drawn:
            axion.save_movie(args.movie, drawn, 1 / (every * dt))
        told["movie"], is_cut = str(args.movie), is_cut or drawn.is_cut
    if args.picture:
        from PIL import Image

        last = min(len(moments), round((SETTLING + 1.0) / dt))
        shown = moments[np.linspace(max(0, last - round(1.0 / dt)), last - 1, 8).astype(int)]
        made = list(pictures(model, shown, body, 400, 300))
        rows = [np.concatenate(made[start:start + 4], axis=1) for start in (0, 4)]
        Image.fromarray(np.concatenate(rows, axis=0)).save(args.picture)
        told["picture"] = str(args.picture)
    return told, is_cut


def show(client: axion.Client, policy: Policy, choice: TaskChoice, args: argparse.Namespace) -> None:
    """Worlds in the browser, at the clock's pace, until Ctrl-C."""
    envs = axion.gym.make_vec(choice.server_task(args.command), args.worlds, client=client, autoreset_mode="SameStep")
    batch = envs.batch
    assert isinstance(batch, axion.Batch)  # of one server
    with contextlib.closing(envs), axion.view(batch) as viewer, StopRequests(signal.SIGINT) as stop:
        viewer.follow(choice.follows_commands)
        told = f"{batch.name} is shown at {viewer.url}; Ctrl-C ends"
        print(json.dumps({"url": viewer.url, "batch": batch.name}) if args.json else told, flush=True)
        observation, _ = envs.reset(seed=args.seed)
        due = time.monotonic()
        while not stop.asked and not viewer.wait(max(0.0, due - time.monotonic())):
            observation, *_ = envs.step(policy.act(observation))
            due = max(due + envs.dt, time.monotonic() - envs.dt)


def tell_returns(client: axion.Client, policy: Policy, choice: TaskChoice, args: argparse.Namespace) -> dict[str, Any]:
    """Prints what whole episodes earned, unless --json is given; what it says, for JSON."""
    with contextlib.closing(axion.gym.make_vec(choice.server_task(), args.worlds, client=client)) as envs:
        returns, lengths = episodes(envs, policy, args.seed)
    if not args.json:
        print(f"{choice.task}, {args.worlds} episodes: return {returns.mean():.1f} +- {returns.std():.1f}, from {returns.min():.1f} to "
              f"{returns.max():.1f}; steps {lengths.mean():.1f}")
    return {"task": choice.task, "returns": returns.tolist(), "lengths": lengths.tolist()}


def run(args: argparse.Namespace) -> int:
    """Plays the policy and says what it did; the exit code 0. AxionError of the server, ValueError for a flag or the policy's file, with
    whose name the message begins, OSError for a file."""
    if not args.seconds > 0 or args.worlds < 1:
        raise ValueError(f"seconds: {args.seconds:g}, worlds: {args.worlds}; both must be above 0")
    policy = Policy.load(args.policy)
    choice = choice_of(policy, args.dt)
    if args.command and not choice.follows_commands:
        raise ValueError(f"command: {choice.task} takes none")
    for path in (args.commands, args.movie, args.picture):
        if path is not None:
            check_writable(path)
    with connect(args) as client:
        if args.view:
            show(client, policy, choice, args)
            return 0
        files: dict[str, Any] = {}
        is_cut = False
        if args.commands:
            from axion.learning.pictures import draw_commands  # wants packages of the extra `view`

            draw_commands(client, policy, args.commands, args.seed, args.dt)
            files["commands"] = str(args.commands)
        if args.movie or args.picture:
            written, is_cut = write_pictures(client, policy, choice, args)
            files.update(written)
        if files:
            told = files
            if not args.json:
                print("\n".join(f"{kind.capitalize()}: {path}" for kind, path in files.items()))
        else:
            told = (tell_speeds if choice.follows_commands else tell_returns)(client, policy, choice, args)
    if args.json:
        print(json.dumps(told))
    if is_cut:
        raise KeyboardInterrupt
    return 0
