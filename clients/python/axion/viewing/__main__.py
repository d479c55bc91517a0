"""`axion view` and `axion render`: python -m axion.viewing view|render TARGET [FLAGS]."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from typing import Any

import numpy.typing as npt

from axion.batch import Batch
from axion.client import DEFAULT_TARGET, Client
from axion.errors import AxionError
from axion.model import Model
from axion.results import Contacts
from axion.viewing.mcap_file import McapRecorder
from axion.viewing.raycast import Camera
from axion.viewing.render import Marks, Renderer, save, save_movie
from axion.viewing.source import Look, Moment, look_at, moment_at, moments


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="axion", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("target", metavar="batches/ID|models/ID|FILE", help="a batch as it stands, or worlds made for this")
    both.add_argument("--server", default=DEFAULT_TARGET, help="host:port [%(default)s]")
    both.add_argument("--token", help="of the tenant; better by AXION_TOKEN")
    both.add_argument("--tls", action="store_true", default=None, help="TLS with the system's authorities")
    for name in ("tls_ca", "tls_cert", "tls_key", "tls_server_name"):
        both.add_argument(f"--{name}")
    both.add_argument("--insecure_token", action="store_true", help="send the token to another machine without TLS")
    both.add_argument("--worlds", type=int, default=1, help="of a batch that is made for this [%(default)s]")
    both.add_argument("--dt", type=float, help="s, likewise; the model's own")
    both.add_argument("--seed", type=int, default=0, help="of its initial noise")
    both.add_argument("--noise", type=float, default=0.0, help="on initial joint positions, rad or m")
    both.add_argument("--keyframe", default="", help="at which it starts")
    both.add_argument("--hold", metavar="KEYFRAME", help="whose joint positions the position actuators hold")
    both.add_argument("--allow_unsupported", action="store_true", help="elements that are not supported are left out")
    both.add_argument("--show", type=_indices, help="indices of worlds, separated by commas")
    both.add_argument("--json", action="store_true", help="say what was done as JSON")

    view = verbs.add_parser("view", parents=[both], help="show worlds in a browser")
    view.add_argument("--host", default="127.0.0.1", help="where the page is served [%(default)s]")
    view.add_argument("--port", type=int, default=8080, help="[%(default)s], or the next that is free")
    view.add_argument("--rate", type=float, default=30.0, help="frames a second at most [%(default)s]")
    view.add_argument("--no-browser", action="store_true", help="only say where the page is")

    render = verbs.add_parser("render", parents=[both], help="write a picture or a movie, without a browser")
    render.add_argument("--out", "--png", required=True, metavar="FILE", help=".png; with --seconds .gif, .mp4 or .mcap")
    render.add_argument("--seconds", type=float, default=0.0, help="simulated: a movie; of a batch that exists, it is stepped")
    render.add_argument("--look_on", action="store_true", help="with --seconds: record a batch that somebody else steps")
    render.add_argument("--fields", type=lambda text: text.split(","), default=[], help="kept in an .mcap beside poses, by commas")
    render.add_argument("--fps", type=float, default=25.0, help="frames a second of a movie [%(default)s]")
    render.add_argument("--width", type=int, default=640)
    render.add_argument("--height", type=int, default=480)
    render.add_argument("--samples", type=int, default=2, help="rays of a pixel, across and down [%(default)s]")
    render.add_argument("--azimuth", type=float, default=135.0, help="deg, of the direction of sight [%(default)s]")
    render.add_argument("--elevation", type=float, default=-22.0, help="deg [%(default)s]")
    render.add_argument("--distance", type=float, help="m; what shows everything")
    render.add_argument("--look_at", type=_point, help="x,y,z in m; the middle of what is shown")
    render.add_argument("--track", metavar="BODY", help="the camera moves with this body")
    for name in ("contacts", "joint_frames", "centers_of_mass", "names"):
        render.add_argument(f"--{name}", action="store_true")
    return parser


def _indices(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _point(text: str) -> tuple[float, float, float]:
    x, y, z = (float(word) for word in text.split(","))
    return x, y, z


@contextlib.contextmanager
def _batch(client: Client, given: argparse.Namespace) -> Iterator[Batch]:
    """The batch of that name, or one for as long as this lasts."""
    if given.target.startswith("batches/"):
        yield client.get_batch(given.target)
        return
    model: Model | str = given.target
    if not given.target.startswith("models/"):
        if not os.path.exists(given.target):
            raise ValueError(f"there is no file {given.target!r}; batches are named batches/ID and models models/ID")
        model = client.create_model(path=given.target, allow_unsupported=given.allow_unsupported)
        for warning in model.warnings:
            print(f"axion: {warning}", file=sys.stderr)
    with client.create_batch(model, given.worlds, given.dt, seed=given.seed, joint_position_noise=given.noise) as batch:
        batch.reset(keyframe=given.keyframe)
        yield batch


def _view(batch: Batch, given: argparse.Namespace) -> int:
    from axion.viewing.viewer import view  # the page's server takes a second to load, which pictures need not wait for

    with view(batch, given.show, host=given.host, port=given.port, rate=given.rate) as viewer:
        told = f"{batch.name} is shown at {viewer.url}; Ctrl-C ends"
        print(json.dumps({"url": viewer.url, "batch": batch.name}) if given.json else told, flush=True)
        if not given.no_browser:
            webbrowser.open(viewer.url)
        if not given.target.startswith("batches/"):
            viewer.run(True)
        with contextlib.suppress(KeyboardInterrupt):
            viewer.wait()
    return 0


def _seen(look: Look) -> tuple[npt.NDArray[Any], Contacts | None]:
    return look.body_pose, look.contacts


def _tell(done: float, whole: float) -> None:
    """On a terminal, how far a recording is."""
    if sys.stderr.isatty():
        print(f"\r{min(done, whole):.2f} of {whole:g} s", end="\n" if done >= whole else "", file=sys.stderr, flush=True)


def _own_frames(batch: Batch, worlds: list[int], given: argparse.Namespace, control: npt.NDArray[Any] | None) -> Iterator[Moment]:
    """Steps the batch, and gives what is to be seen at each frame."""
    done, count = 0, max(1, round(given.seconds * given.fps))
    for frame in range(count):
        due = round(frame / given.fps / batch.dt)
        if due > done:
            batch.step(control=control, steps=due - done)
            done = due
        yield moment_at(batch, worlds, given.fields, given.contacts)
        _tell((frame + 1) / given.fps, count / given.fps)


def _others_frames(batch: Batch, worlds: list[int], given: argparse.Namespace) -> Iterator[Moment]:
    """What is seen while somebody else steps the batch, until its first world has gone on for so long."""
    with moments(batch, worlds, given.fields, given.fps, given.contacts) as (_, frames):
        passed, last = 0.0, None
        for moment in frames:
            now = float(moment.time[0])
            passed += max(0.0, now - last) if last is not None else 0.0
            last = now
            yield moment
            _tell(passed, given.seconds)
            if passed >= given.seconds:
                return


def _render(batch: Batch, given: argparse.Namespace) -> int:
    model = batch.client.get_model(batch.model)
    worlds = given.show if given.show is not None else list(range(min(batch.world_count, 64)))
    camera = Camera(given.azimuth, given.elevation, given.distance, given.look_at, given.track)
    marks = Marks(given.contacts, given.joint_frames, given.centers_of_mass, given.names)
    renderer = Renderer(model, given.width, given.height, camera, marks, samples=given.samples)
    is_picture = not given.out.lower().endswith((".gif", ".mp4", ".mcap"))
    if is_picture == (given.seconds > 0):
        raise ValueError(f"--out={given.out} and --seconds={given.seconds:g}: a .gif, .mp4 or .mcap wants --seconds above 0, "
                         "a picture has none")
    if given.look_on and not given.target.startswith("batches/"):
        raise ValueError(f"--look_on: {given.target} is no batch that somebody else could be stepping")
    if given.hold is not None and given.hold not in model.keyframes:
        raise ValueError(f"--hold={given.hold}: the model's keyframes are {', '.join(model.keyframes) or 'none'}")
    control = None if given.hold is None else model.hold_control(given.hold)

    if is_picture:
        save(given.out, renderer.render(*_seen(look_at(batch, worlds, given.contacts)), batch.dt, worlds))
        count = 1
    else:
        frames = _others_frames(batch, worlds, given) if given.look_on else _own_frames(batch, worlds, given, control)
        if given.out.lower().endswith(".mcap"):
            with McapRecorder(given.out, model, worlds, batch.dt) as recorder:
                for frame in frames:
                    recorder.take(frame)
            count = recorder.frames
        else:
            pictures = [renderer.render(*_seen(frame), batch.dt, worlds) for frame in frames]
            save_movie(given.out, pictures, given.fps)
            count = len(pictures)
    told = f"{given.out}: {batch.name}, worlds shown: {len(worlds)}, frames: {count}"
    print(json.dumps({"file": given.out, "frames": count, "worlds": worlds, "batch": batch.name}) if given.json else told)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    given = _arguments().parse_args(arguments)
    try:
        with Client(given.server, token=given.token, tls=given.tls, tls_ca=given.tls_ca, tls_cert=given.tls_cert,
                    tls_key=given.tls_key, tls_server_name=given.tls_server_name,
                    insecure_token=given.insecure_token) as client, _batch(client, given) as batch:
            return _view(batch, given) if given.verb == "view" else _render(batch, given)
    except (AxionError, OSError) as error:
        print(f"axion {given.verb}: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"axion {given.verb}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
