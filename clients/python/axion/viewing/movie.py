"""What a viewer has seen, as a movie or as MCAP."""

from __future__ import annotations

import dataclasses
import io
import pathlib
import tempfile
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from axion.model import Model
from axion.viewing.mcap_file import McapRecorder
from axion.viewing.raycast import Camera
from axion.viewing.render import Marks, Renderer, save_movie
from axion.viewing.source import Moment

_MOST_FRAMES = 1800


class Recorder:
    """Keeps moments and draws them at the end, without the browser: what it records does not depend on how quick that is."""

    def __init__(self, model: Model, worlds: Sequence[int], dt: float, offsets: npt.NDArray[np.float64], rate: float) -> None:
        self._model, self._worlds, self._dt, self._rate = model, list(worlds), dt, rate
        self._spacing = float(np.max(np.abs(offsets[1] - offsets[0]))) if len(offsets) > 1 else 1.0
        self._offsets = offsets
        self._camera, self._marks = Camera(), Marks()
        self._moments: list[Moment] = []
        self._shifts: list[npt.NDArray[np.float64]] = []

    def look(self, position: npt.ArrayLike, look_at: npt.ArrayLike, field_of_view: float, contacts: bool) -> None:
        """As a browser's camera looks: [3] m, [3] m, rad."""
        eye, point = np.asarray(position, np.float64), np.asarray(look_at, np.float64)
        sight = point - eye
        distance = float(np.linalg.norm(sight))
        self._camera = Camera(azimuth=float(np.degrees(np.arctan2(sight[1], sight[0]))),
                              elevation=float(np.degrees(np.arcsin(np.clip(sight[2] / distance, -1, 1)))), distance=distance,
                              look_at=(float(point[0]), float(point[1]), float(point[2])),
                              field_of_view=float(np.degrees(field_of_view)))
        self._marks = Marks(contacts=contacts)

    def take(self, moment: Moment, shift: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """A frame, and by how much all that it shows was moved on the page: [3] m."""
        if len(self._moments) < _MOST_FRAMES:
            self._moments.append(moment)
            self._shifts.append(np.array(shift, np.float64))

    def movie(self, ending: str) -> tuple[str, bytes]:
        """A name and the bytes of a file. ValueError where nothing was recorded."""
        if not self._moments:
            raise ValueError("no frame came while it recorded: is anybody stepping?")
        if ending == "mcap":
            written = io.BytesIO()
            with McapRecorder(written, self._model, self._worlds, self._dt, self._offsets) as recorder:
                for moment in self._moments:
                    recorder.take(moment)
            return "axion.mcap", written.getvalue()
        renderer = Renderer(self._model, 640, 480, self._camera, self._marks, self._spacing, samples=1)
        pictures = []
        for moment, shift in zip(self._moments, self._shifts):
            x, y, z = np.subtract(self._camera.look_at or (0, 0, 0), shift)
            renderer.camera = dataclasses.replace(self._camera, look_at=(float(x), float(y), float(z)))
            pictures.append(renderer.render(moment.body_pose, moment.contacts, self._dt, self._worlds, moment.mocap_pose))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"axion.{ending}"
            save_movie(path, pictures, self._rate)
            return path.name, path.read_bytes()
