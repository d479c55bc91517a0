"""`axion view` and `axion render`, which axion.tool runs."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import signal
import sys
import webbrowser
from collections.abc import Iterable, Iterator
from typing import Any

import numpy.typing as npt
from PIL import Image

from axion.batch import Batch
from axion.client import Client
from axion.files import is_urdf
from axion.model import Model
from axion.stop_requests import StopRequests
from axion.tool import add_server_arguments, check_writable, connect, tell_progress
from axion.viewing.mcap_file import McapRecorder
from axion.viewing.raycast import Camera
from axion.viewing.render import Marks, Renderer, save, save_movie
from axion.viewing.source import Look, Moment, look_at, moment_at, moments
from axion.viewing.until_interrupt import UntilInterrupt

_MOVIE_RATE = 200.0  # frames a second that are asked for where a movie is made of what somebody else steps, as quickly as they may
_ABOUT = {"view": "Show worlds in a browser.", "render": "Write a picture or a movie of worlds, without a browser."}


def parser(verb: str) -> argparse.ArgumentParser:
    """Makes the parser of one of the two verbs.

    Parameters
    ----------
    verb : {"view", "render"}
        The verb.

    Returns
    -------
    argparse.ArgumentParser
        What reads its command line.
    """
    made = argparse.ArgumentParser(prog=f"axion {verb}", description=_ABOUT[verb])
    made.set_defaults(verb=verb)
    made.add_argument("target", metavar="batches/ID|models/ID|FILE", help="a batch as it stands, or worlds made for this")
    add_server_arguments(made)
    made.add_argument("--worlds", type=int, default=1, help="of a batch that is made for this [%(default)s]")
    made.add_argument("--dt", type=float, help="s, likewise; the model's own")
    made.add_argument("--seed", type=int, default=0, help="of its initial noise")
    made.add_argument("--noise", type=float, default=0.0, help="on initial joint positions, rad or m")
    made.add_argument("--keyframe", default="", help="at which it starts")
    made.add_argument("--hold", metavar="KEYFRAME", help="whose joint positions the position actuators hold")
    made.add_argument("--file_folders", type=lambda text: text.split(","), default=[], metavar="FOLDER,...",
                      help="further folders of which files that the scene file names may be sent")
    made.add_argument("--allow_unsupported", action="store_true", help="elements that are not supported are left out")
    made.add_argument("--base", choices=("fixed", "free"), default="fixed",
                      help="of a URDF file: how the root link hangs on the world [%(default)s]")
    made.add_argument("--base_height", type=float, default=0.0, help="of a URDF file: z of the root link, m [%(default)s]")
    made.add_argument("--motors", action="store_true", help="of a URDF file: a motor along every axis, within its limit of effort")
    made.add_argument("--ground", action="store_true", help="of a URDF file: add a plane at z = 0")
    made.add_argument("--show", type=_indices, help="indices of worlds, separated by commas")
    made.add_argument("--json", action="store_true", help="say what was done as JSON")
    if verb == "view":
        _add_page(made)
    else:
        _add_picture(made)
    return made


def _add_page(made: argparse.ArgumentParser) -> None:
    made.add_argument("--host", default="127.0.0.1", help="where the page is served [%(default)s]")
    made.add_argument("--port", type=int, default=8080, help="[%(default)s], or the next that is free")
    made.add_argument("--rate", type=float, default=30.0, help="frames a second at most [%(default)s]")
    made.add_argument("--follow", action="store_true", help="keep the chosen world in the middle, wherever it goes")
    made.add_argument("--no-browser", action="store_true", help="only say where the page is")


def _add_picture(made: argparse.ArgumentParser) -> None:
    made.add_argument("--out", "--png", required=True, metavar="FILE", help=".png; with --seconds .gif, .mp4 or .mcap")
    made.add_argument("--seconds", type=float, default=0.0, help="simulated: a movie; of a batch that exists, it is stepped")
    made.add_argument("--look_on", action="store_true", help="with --seconds: record a batch that somebody else steps")
    made.add_argument("--fields", type=lambda text: text.split(","), default=[], help="kept in an .mcap beside poses, by commas")
    made.add_argument("--fps", type=float, default=25.0, help="frames a second of a movie [%(default)s]")
    made.add_argument("--width", type=int, default=640, help="pixels [%(default)s]")
    made.add_argument("--height", type=int, default=480, help="pixels [%(default)s]")
    made.add_argument("--samples", type=int, default=2, help="rays of a pixel, across and down [%(default)s]")
    made.add_argument("--azimuth", type=float, default=135.0, help="deg, of the direction of sight [%(default)s]")
    made.add_argument("--elevation", type=float, default=-22.0, help="deg [%(default)s]")
    made.add_argument("--distance", type=float, help="m; what shows everything")
    made.add_argument("--look_at", type=_point, help="x,y,z in m; the middle of what is shown")
    made.add_argument("--track", metavar="BODY", help="the camera moves with this body")
    made.add_argument("--contacts", action="store_true", help="show contacts and their forces")
    made.add_argument("--joint_frames", action="store_true", help="show the axes of joints")
    made.add_argument("--centers_of_mass", action="store_true", help="show the centres of mass of bodies")
    made.add_argument("--names", action="store_true", help="show the names of bodies")


def _indices(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of indices of worlds, such as 0,3") from None


def _point(text: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not x,y,z in m, such as 0,0,0.5") from None
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
            raise FileNotFoundError(errno.ENOENT, "no such file; batches are named batches/ID, and models models/ID", given.target)
        urdf = {"base": given.base, "base_position": [0, 0, given.base_height], "actuators": "motor" if given.motors else "none",
                "ground": given.ground}
        model = client.create_model(path=given.target, file_folders=given.file_folders,
                                    allow_unsupported=given.allow_unsupported,
                                    urdf_options=urdf if is_urdf(given.target) else None)
        for warning in model.warnings:
            print(f"warning: {warning}", file=sys.stderr)  # as the verbs of the other language do
    with client.create_batch(model, given.worlds, given.dt, seed=given.seed, joint_position_noise=given.noise) as batch:
        batch.reset(keyframe=given.keyframe)
        yield batch


def _view(batch: Batch, given: argparse.Namespace) -> int:
    from axion.viewing.viewer import view  # the page's server takes a second to load, which pictures need not wait for

    with view(batch, given.show, host=given.host, port=given.port, rate=given.rate) as viewer, StopRequests(signal.SIGINT) as stop:
        viewer.follow(given.follow)
        told = f"{batch.name} is shown at {viewer.url}; Ctrl-C ends"
        print(json.dumps({"url": viewer.url, "batch": batch.name}) if given.json else told, flush=True)
        if not given.no_browser:
            webbrowser.open(viewer.url)
        if not given.target.startswith("batches/"):
            viewer.run(True)
        stop.wait(viewer.wait)
    return 0


def _picture(renderer: Renderer, look: Look, dt: float) -> npt.NDArray[Any]:
    return renderer.render(look.body_pose, look.contacts, dt, look.worlds, look.mocap_pose)


def _own_frames(batch: Batch, worlds: list[int], given: argparse.Namespace, control: npt.NDArray[Any] | None) -> Iterator[Moment]:
    """Steps the batch, and gives what is to be seen at each frame."""
    done, count = 0, max(1, round(given.seconds * given.fps))
    for frame in range(count):
        due = round(frame / given.fps / batch.dt)
        if due > done:
            batch.step(control=control, steps=due - done)
            done = due
        yield moment_at(batch, worlds, given.fields, given.contacts)
        tell_progress("recorded", (frame + 1) / given.fps, count / given.fps, "s")


def _others_frames(batch: Batch, worlds: list[int], given: argparse.Namespace, rate: float) -> Iterator[tuple[float, Moment]]:
    """What is seen while somebody else steps the batch, until its first world has gone on for so long; with how long it has, s."""
    with moments(batch, worlds, given.fields, rate, given.contacts) as (_, frames):
        passed, last = 0.0, None
        for moment in frames:
            now = float(moment.time[0])
            passed += max(0.0, now - last) if last is not None else 0.0
            last = now
            yield passed, moment
            tell_progress("recorded", passed, given.seconds, "s")
            if passed >= given.seconds:
                return


def _others_movie(batch: Batch, worlds: list[int], given: argparse.Namespace) -> Iterator[Moment]:
    """Such moments one period of a movie's frames apart, by the time of the worlds, however quickly somebody steps them.

    All are kept before the first is drawn: frames that nobody takes meanwhile would be lost.
    """
    kept, is_cut = list[Moment](), False
    try:
        for passed, moment in _others_frames(batch, worlds, given, _MOVIE_RATE):
            kept += [moment] * (math.floor(passed * given.fps + 1e-6) + 1 - len(kept))
    except KeyboardInterrupt:
        is_cut = True
    yield from kept[:max(1, round(given.seconds * given.fps))]
    if is_cut:
        raise KeyboardInterrupt


def _is_picture(out: str) -> bool:
    return not out.lower().endswith((".gif", ".mp4", ".mcap"))


def _check_out(given: argparse.Namespace) -> None:
    """ValueError where the file to write does not go with the other flags, OSError where it cannot be written."""
    is_picture = _is_picture(given.out)
    if is_picture == (given.seconds > 0):
        raise ValueError(f"--out={given.out} and --seconds={given.seconds:g}: a .gif, .mp4 or .mcap wants --seconds above 0, "
                         "a picture has none")
    ending = os.path.splitext(given.out)[1].lower()
    if is_picture and ending not in Image.registered_extensions():
        raise ValueError(f"--out={given.out}: {ending or 'no ending'!r} is no format of pictures, as .png is, or of movies, as .gif, "
                         ".mp4 and .mcap are")
    check_writable(given.out)


def _record(out: str, model: Model, worlds: list[int], dt: float, frames: Iterable[Moment]) -> None:
    """Writes frames as MCAP; what an error ends leaves no file, since none could be read."""
    try:
        with McapRecorder(out, model, worlds, dt) as recorder:
            for frame in frames:
                recorder.take(frame)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(out)
        raise


def _render(batch: Batch, given: argparse.Namespace) -> int:
    model = batch.client.get_model(batch.model)
    worlds = given.show if given.show is not None else list(range(min(batch.world_count, 64)))
    camera = Camera(given.azimuth, given.elevation, given.distance, given.look_at, given.track)
    marks = Marks(given.contacts, given.joint_frames, given.centers_of_mass, given.names)
    renderer = Renderer(model, given.width, given.height, camera, marks, samples=given.samples)
    if given.look_on and not given.target.startswith("batches/"):
        raise ValueError(f"--look_on: {given.target} is no batch that somebody else could be stepping")
    if given.hold is not None and given.hold not in model.keyframes:
        raise ValueError(f"--hold={given.hold}: the model's keyframes are {', '.join(model.keyframes) or 'none'}")
    control = None if given.hold is None else model.hold_control(given.hold)

    if _is_picture(given.out):
        save(given.out, _picture(renderer, look_at(batch, worlds, given.contacts), batch.dt))
        count, is_cut = 1, False
    else:
        is_mcap = given.out.lower().endswith(".mcap")
        if not given.look_on:
            frames = UntilInterrupt(_own_frames(batch, worlds, given, control), are_soon=True)
        elif is_mcap:
            frames = UntilInterrupt(moment for _, moment in _others_frames(batch, worlds, given, given.fps))
        else:
            frames = UntilInterrupt(_others_movie(batch, worlds, given))
        with frames:
            if is_mcap:
                _record(given.out, model, worlds, batch.dt, frames)
            else:
                save_movie(given.out, frames.drawn(lambda moment: _picture(renderer, moment, batch.dt)), given.fps)
        count, is_cut = frames.count, frames.is_cut
    told = f"{given.out}: {batch.name}, worlds shown: {len(worlds)}, frames: {count}"
    print(json.dumps({"file": given.out, "frames": count, "worlds": worlds, "batch": batch.name}) if given.json else told)
    if is_cut:
        raise KeyboardInterrupt
    return 0


def run(given: argparse.Namespace) -> int:
    """Runs the verb that was parsed.

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
        A flag is wrong; the message begins with its name.
    OSError
        A file cannot be read or written.
    """
    if given.verb == "render":
        _check_out(given)
    with connect(given) as client, _batch(client, given) as batch:
        return _view(batch, given) if given.verb == "view" else _render(batch, given)
