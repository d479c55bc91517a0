"""Pictures and movies of worlds without a browser."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import imageio_ffmpeg  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from axion.model import Model
from axion.results import Contacts
from axion.tool import check_writable
from axion.viewing import geometry
from axion.viewing.geometry import Floats
from axion.viewing.raycast import Camera, Ground, Picture, Surface
from axion.viewing.source import look_at, model_of

if TYPE_CHECKING:
    from axion.batch import Batch

Image8 = npt.NDArray[np.uint8]
_TRIANGLES = 300_000  # that a picture of many worlds shall have; round shapes get coarser beyond


class Drawn(np.ndarray[tuple[int, ...], np.dtype[np.uint8]]):
    """A picture, uint8 [height, width, 3], which a notebook shows where it is a cell's last value; in all else an array."""

    def _repr_png_(self) -> bytes | None:
        if self.dtype != np.uint8 or self.ndim != 3 or self.shape[2] != 3 or self.size == 0:
            return None  # a part of a picture, or what was computed of it: a notebook then writes its numbers
        written = io.BytesIO()
        Image.fromarray(self.view(np.ndarray)).save(written, "PNG")
        return written.getvalue()


@dataclasses.dataclass(frozen=True)
class Marks:
    """What a picture shows besides shapes.

    Parameters
    ----------
    contacts : bool, default False
        Points, and forces as arrows.
    joint_frames : bool, default False
        Axes of joints.
    centers_of_mass : bool, default False
        A dot in each body.
    names : bool, default False
        Of bodies.
    """

    contacts: bool = False
    joint_frames: bool = False
    centers_of_mass: bool = False
    names: bool = False


def _poses(name: str, given: npt.ArrayLike, count: int) -> Floats:
    """Poses [n, count, 7]; of one world without n."""
    poses = np.asarray(given, dtype=np.float64)
    poses = poses[None] if poses.ndim == 2 else poses
    if poses.ndim != 3 or poses.shape[1:] != (count, 7):
        raise ValueError(f"{name}: has shape {list(np.shape(given))}; it must be [n, {count}, 7]")
    return poses


class Renderer:
    """Draws poses of one model.

    Parameters
    ----------
    model : Model
        Of the worlds.
    width : int, default 640
        pixels.
    height : int, default 480
        pixels.
    camera : Camera, default Camera()
        From where.
    marks : Marks, default Marks()
        What is shown besides shapes.
    spacing : float, optional
        m between worlds on the grid; None: as far as they reach.
    samples : int, default 2
        Rays of a pixel, across and down: 2 smooths edges, 1 is four times as quick.

    Raises
    ------
    ValueError
        A number is out of its range, or the camera tracks no body.
    """

    def __init__(self, model: Model, width: int = 640, height: int = 480, camera: Camera = Camera(), marks: Marks = Marks(),
                 spacing: float | None = None, samples: int = 2) -> None:
        for name, value, most in (("width", width, 8192), ("height", height, 8192), ("samples", samples, 8)):
            if not 1 <= value <= most:
                raise ValueError(f"{name}: {value} is not from 1 to {most}")
        if camera.track is not None and camera.track not in model.body_names:
            raise ValueError(f"track: {camera.track!r} is no body of the model; it has {', '.join(model.body_names) or 'none'}")
        if camera.distance is not None and not camera.distance > 0:
            raise ValueError(f"distance: {camera.distance} m is not above 0")
        if not 0 < camera.field_of_view < 180:
            raise ValueError(f"field_of_view: {camera.field_of_view} deg is not between 0 and 180")
        if not -90 <= camera.elevation <= 90:
            raise ValueError(f"elevation: {camera.elevation} deg is not from -90 to 90")
        self.model, self.width, self.height, self.camera, self.marks = model, width, height, camera, marks
        self.spacing, self.samples = spacing, samples
        self._shapes: dict[int, list[geometry.Shape]] = {}
        self._frame: tuple[Floats, float] | None = None  # what a camera without a place of its own was given at first
        self._scale: tuple[float, float] | None = None  # m between worlds and across all that is shown, of the first picture, too

    def __repr__(self) -> str:
        return f"<axion.Renderer of {self.model.name}: {self.width} x {self.height} pixels, {self.camera}>"

    def render(self, body_pose: npt.ArrayLike, contacts: Contacts | None = None, dt: float = 1.0,
               worlds: Sequence[int] | None = None, mocap_pose: npt.ArrayLike | None = None) -> Image8:
        """Draws a picture.

        A camera that shows everything keeps its place from picture to picture.

        Parameters
        ----------
        body_pose : array_like
            x y z (m), quaternion w x y z: [nb, 7] of one world or [n, nb, 7] of several, which stand on a grid.
        contacts : Contacts, optional
            Of these worlds.
        dt : float, default 1.0
            s, of a step: forces are impulses divided by it.
        worlds : sequence of int, optional
            Their indices in the batch.
        mocap_pose : array_like, optional
            Likewise of mocap bodies, [mocap bodies, 7] or [n, mocap bodies, 7]; None: where they are after a reset.

        Returns
        -------
        numpy.ndarray
            Uint8 [height, width, 3]; a notebook shows it.

        Raises
        ------
        ValueError
            The poses have another shape.
        """
        poses = _poses("body_pose", body_pose, self.model.body_count)
        placed = None if mocap_pose is None else _poses("mocap_pose", mocap_pose, len(self.model.proto.mocaps))
        if placed is not None and len(placed) != len(poses):
            raise ValueError(f"mocap_pose: has {len(placed)} worlds; body_pose has {len(poses)}")
        poses = geometry.frame_poses(self.model, poses, placed)
        shapes = self._shapes_for(len(poses))
        least, most = geometry.bounds_of_all([geometry.world_bounds(shapes, pose) for pose in poses])
        low, high = geometry.bounds_of_all([geometry.scene_bounds(shapes, pose) for pose in poses])
        if self._scale is None:
            self._scale = 1.15 * float(max(most[0] - least[0], most[1] - least[1])), float(np.linalg.norm(high - low))
        spacing, size = self._scale if self.spacing is None else (self.spacing, self._scale[1])
        offsets = geometry.grid_offsets(len(poses), spacing)
        surfaces, labels = self._surfaces(shapes, poses, offsets)
        if self.marks.contacts and contacts is not None:
            surfaces += self._contacts(contacts, dt, list(worlds or range(len(poses))), offsets, size)
        grounds = [Ground(shape.position, shape.rotation[:, 2], geometry.ground_square(size)) for shape in shapes if shape.mesh is None]
        eye, axes = self._eye(poses, offsets, low, high)
        picture = Picture(surfaces, grounds)
        made = picture.seen(eye, *axes, self.camera.field_of_view, self.width, self.height, self.samples)
        return (self._labelled(made, labels, eye, axes) if self.marks.names else made).view(Drawn)

    def _shapes_for(self, count: int) -> list[geometry.Shape]:
        detail = int(np.clip(np.sqrt(_TRIANGLES / max(1, 4 * count * len(self.model.proto.shapes))), 4, 24))
        if detail not in self._shapes:
            self._shapes[detail] = geometry.shapes_of(self.model, detail)
        return self._shapes[detail]

    def _eye(self, poses: Floats, offsets: Floats, low: Floats, high: Floats) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
        camera = self.camera
        axes = camera.axes()
        half = 0.5 * (high - low) + 0.5 * (offsets.max(0) - offsets.min(0))
        if self._frame is None:
            angle = np.radians(camera.field_of_view) / 2
            forward, right, up = axes
            tall, wide = np.abs(up) @ half, np.abs(right) @ half
            fits = max(tall / np.tan(angle), wide / np.tan(angle) * self.height / self.width) + np.abs(forward) @ half
            self._frame = 0.5 * (low + high), 1.08 * float(fits)
        center, distance = self._frame
        point = center if camera.look_at is None else np.array(camera.look_at, np.float64)
        if camera.track is not None:
            body = poses[0, self.model.body_names.index(camera.track), :3] + offsets[0]
            point = body + (np.zeros(3) if camera.look_at is None else np.array(camera.look_at))
        return point - (camera.distance or distance) * axes[0], axes

    def _surfaces(self, shapes: Sequence[geometry.Shape], poses: Floats,
                  offsets: Floats) -> tuple[list[Surface], list[tuple[str, Floats]]]:
        surfaces, labels = [], []
        bodies = self.model.proto.bodies
        for pose, offset in zip(poses, offsets):
            rotations = geometry.rotation_matrices(pose[:, 3:])
            for shape in shapes:
                if shape.mesh is None or shape.opacity <= 0:
                    continue
                rotation, position = shape.rotation, shape.position
                if shape.frame >= 0:
                    rotation = rotations[shape.frame] @ shape.rotation
                    position = rotations[shape.frame] @ shape.position + pose[shape.frame, :3]
                surfaces.append(Surface(shape.mesh.placed(rotation, position + offset), shape.color))
            size = 0.04 * float(np.mean([shape.radius for shape in shapes if shape.mesh is not None] or [1.0]))
            if self.marks.joint_frames:
                for _, child, anchor, vectors in geometry.joint_frames(self.model):
                    start = pose[child, :3] + rotations[child] @ anchor + offset
                    colors = geometry.AXIS_COLORS if len(vectors) > 1 else geometry.AXIS_COLORS[2:]  # a single axis is z
                    surfaces += [Surface(geometry.arrow(start, 20 * size * (rotations[child] @ vector), size), color, True)
                                 for vector, color in zip(vectors, colors)]
            for body, info in enumerate(bodies):
                com = info.center_of_mass
                middle = pose[body, :3] + rotations[body] @ [com.x, com.y, com.z] + offset
                labels.append((info.name, middle))
                if self.marks.centers_of_mass:
                    surfaces.append(Surface(geometry.ball(middle, 3 * size), geometry.MASS_COLOR, True))
        return surfaces, labels

    def _contacts(self, contacts: Contacts, dt: float, worlds: list[int], offsets: Floats, size: float) -> list[Surface]:
        weight = sum(body.mass for body in self.model.proto.bodies) * float(np.linalg.norm(self.model.gravity))
        scale = 0.5 * size / weight if weight > 0 else 0.0  # m for each N: the whole weight is half as long as the world
        place = {world: offset for world, offset in zip(worlds, offsets)}
        surfaces = []
        for world, point, force in zip(contacts.world, contacts.point.reshape(-1, 3), geometry.forces_on_a(contacts, dt)):
            if int(world) not in place:
                continue
            start = point + place[int(world)]
            surfaces.append(Surface(geometry.ball(start, 0.012 * size), geometry.CONTACT_COLOR, True))
            length = float(np.linalg.norm(force)) * scale
            if length > 0.01 * size:
                shown = force * scale * min(1.0, 2 * size / length)
                surfaces.append(Surface(geometry.arrow(start, shown, 0.006 * size), geometry.FORCE_COLOR, True))
        return surfaces

    def _labelled(self, picture: Image8, labels: Sequence[tuple[str, Floats]], eye: Floats,
                  axes: tuple[Floats, Floats, Floats]) -> Image8:
        image = Image.fromarray(picture)
        draw, font = ImageDraw.Draw(image), ImageFont.load_default(max(10, self.height // 36))
        scale = 0.5 * self.height / np.tan(np.radians(self.camera.field_of_view) / 2)
        for name, point in labels:
            ahead, right, up = (float((point - eye) @ axis) for axis in axes)
            if ahead <= 0:
                continue
            at = (0.5 * self.width + right / ahead * scale, 0.5 * self.height - up / ahead * scale)
            draw.text(at, name, fill=(20, 20, 20), font=font, anchor="mm", stroke_width=2, stroke_fill=(255, 255, 255))
        return np.asarray(image)


def render(batch: Batch, worlds: int | Sequence[int] = 0, *, width: int = 640, height: int = 480, camera: Camera = Camera(),
           contacts: bool = False, joint_frames: bool = False, centers_of_mass: bool = False, names: bool = False,
           spacing: float | None = None, samples: int = 2, path: str | os.PathLike[str] | None = None) -> Image8:
    """Draws worlds of a batch as they stand, without a browser.

    Parameters
    ----------
    batch : Batch
        Anybody's.
    worlds : int or Sequence[int], default 0
        One world, or several on a grid.
    width : int, default 640
        pixels.
    height : int, default 480
        pixels.
    camera : Camera, default Camera()
        From where.
    contacts : bool, default False
        Whether points and forces are shown, as arrows.
    joint_frames : bool, default False
        Whether axes of joints are shown.
    centers_of_mass : bool, default False
        Whether a dot is shown in each body.
    names : bool, default False
        Whether names of bodies are shown.
    spacing : float, optional
        m between worlds; None: as far as they reach.
    samples : int, default 2
        Rays of a pixel, across and down.
    path : str or path, optional
        A file to write it to, PNG or what else its ending says.

    Returns
    -------
    numpy.ndarray
        Uint8 [height, width, 3]; a notebook shows it.

    Raises
    ------
    AxionError
        The batch is gone, or has no such world.
    ValueError
        A number is out of its range.
    """
    chosen = [worlds] if isinstance(worlds, int) else [int(world) for world in worlds]
    marks = Marks(contacts, joint_frames, centers_of_mass, names)
    renderer = Renderer(model_of(batch), width, height, camera, marks, spacing, samples)
    look = look_at(batch, chosen, contacts)
    picture = renderer.render(look.body_pose, look.contacts, batch.dt, chosen, look.mocap_pose)
    if path is not None:
        save(path, picture)
    return picture


def save(path: str | os.PathLike[str], picture: Image8) -> None:
    """Writes a picture; the ending of the path says the format."""
    Image.fromarray(picture).save(path)


def save_movie(path: str | os.PathLike[str], pictures: Iterable[Image8], frames_per_second: float = 30.0) -> None:
    """Writes pictures as a movie.

    The movie stands at its path once it is whole; where it does not get there, what stood at the path before still does.

    Parameters
    ----------
    path : str or path
        .gif, or .mp4 with imageio-ffmpeg, which brings its encoder.
    pictures : Iterable[numpy.ndarray]
        Uint8 [height, width, 3] each.
    frames_per_second : float, default 30.0
        How many of them a second.

    Raises
    ------
    ValueError
        The path has another ending, there is no picture, or one has another size.
    OSError
        The file cannot be written.
    """
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in (".gif", ".mp4"):
        raise ValueError(f"path: {os.fspath(path)!r} must end in .gif or .mp4")
    frames = iter(pictures)
    first = next(frames, None)
    if first is None:
        raise ValueError("pictures: has no picture")
    alike = _alike(first, frames)
    check_writable(path)
    place = os.path.realpath(path)
    begun = f"{os.path.splitext(place)[0]}.{os.getpid()}.part{ending}"
    try:
        if ending == ".mp4":
            _encode(begun, first.shape[1], first.shape[0], alike, frames_per_second)
        else:
            images = (Image.fromarray(frame) for frame in alike)
            next(images).save(begun, save_all=True, append_images=images, duration=1000 / frames_per_second, loop=0)
        os.replace(begun, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(begun)
        raise


def _alike(first: Image8, others: Iterable[Image8]) -> Iterator[Image8]:
    """All pictures of a movie, as long as they have the size of the first."""
    yield first
    for i, other in enumerate(others, 1):
        if other.shape != first.shape:
            raise ValueError(f"pictures[{i}]: has shape {list(other.shape)}; that of the first is {list(first.shape)}")
        yield other


def _encode(path: str | os.PathLike[str], width: int, height: int, frames: Iterable[Image8], frames_per_second: float) -> None:
    """Has FFmpeg write an .mp4, which every browser plays.

    imageio-ffmpeg brings the program and could run it, but it does so with code of its own between `fork` and `exec`, whereupon
    gRPC's handlers of forks run in the child beside threads that are gone: now and then the child ends before it is FFmpeg.
    """
    # The format's colors have half the resolution, so that its width and height are even.
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
               "-r", str(Fraction(frames_per_second).limit_denominator()), "-i", "-", "-an", "-c:v", "libx264", "-crf", "25",
               "-pix_fmt", "yuv420p", "-vf", "scale=ceil(iw/2)*2:ceil(ih/2)*2", os.fspath(path)]
    with tempfile.TemporaryFile() as words:
        # A session of its own, so that Ctrl-C of a shell reaches this program alone, which then ends the encoder.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=words, start_new_session=True) as encoder:
            assert encoder.stdin is not None
            try:
                with contextlib.suppress(BrokenPipeError):  # an encoder that gave up says why
                    for frame in frames:
                        encoder.stdin.write(np.ascontiguousarray(frame).tobytes())
            except BaseException:
                encoder.kill()
                raise
            finally:
                with contextlib.suppress(BrokenPipeError):  # what is still to be written has nobody to read it then
                    encoder.stdin.close()
        if encoder.returncode != 0:
            words.seek(0)
            raise OSError(f"{os.fspath(path)!r}: FFmpeg ended with {encoder.returncode}: {words.read().decode(errors='replace').strip()}")
