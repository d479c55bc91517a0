"""Recordings as MCAP (https://mcap.dev) with the messages of Foxglove: shapes, poses, contacts and numbers of worlds.

Topics, all JSON with a schema, at the simulated time of the first world, which goes on where a world is reset:

    /scene           foxglove.SceneUpdate, once: the shapes of each world, each in its body's frame "WORLD/BODY"
    /tf              foxglove.FrameTransforms: where the bodies are, in the frame "world"
    /contacts        foxglove.SceneUpdate: forces on body a as arrows; the whole weight is half as long as the world
    /world/N/state   time (s), step, and each field as an object of its numbers by their names
    /world/N/solver  what the solver did: iterations, contacts, penetration and joint error (m)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from mcap.writer import Writer

from axion.model import Model
from axion.viewing import geometry
from axion.viewing.labels import STATISTICS, names_of
from axion.viewing.source import Moment, model_of, moments

if TYPE_CHECKING:
    from axion.batch import Batch

_DETAIL = 10            # of round shapes
_GROUND_REACH = 10.0    # half of a plane's side, in sizes of the world
_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TIME = _object(sec={"type": "integer"}, nsec={"type": "integer"})
_VECTOR = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER)
_QUATERNION = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_POSE = _object(position=_VECTOR, orientation=_QUATERNION)
_COLOR = _object(r=_NUMBER, g=_NUMBER, b=_NUMBER, a=_NUMBER)
_TRANSFORM = _object(timestamp=_TIME, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR, rotation=_QUATERNION)
_ARROW = _object(pose=_POSE, shaft_length=_NUMBER, shaft_diameter=_NUMBER, head_length=_NUMBER, head_diameter=_NUMBER, color=_COLOR)
_TRIANGLES = _object(pose=_POSE, points=_list(_VECTOR), color=_COLOR, colors=_list(_COLOR), indices=_list({"type": "integer"}))
_ENTITY = _object(timestamp=_TIME, frame_id=_TEXT, id=_TEXT, lifetime=_TIME, frame_locked={"type": "boolean"},
                  metadata=_list(_object(key=_TEXT, value=_TEXT)), arrows=_list(_ARROW), triangles=_list(_TRIANGLES))
_SCHEMAS = {
    "foxglove.FrameTransforms": _object(transforms=_list(_TRANSFORM)),
    "foxglove.SceneUpdate": _object(deletions=_list(_object(timestamp=_TIME, type={"type": "integer"}, id=_TEXT)),
                                    entities=_list(_ENTITY)),
    "axion.State": _object(time=_NUMBER, step={"type": "integer"}),
    "axion.SolverStatistics": _object(**{name: _NUMBER for name in STATISTICS}),
}


def _vector(values: Sequence[float] | npt.NDArray[Any]) -> dict[str, float]:
    return {axis: float(value) for axis, value in zip("xyz", values)}


def _quaternion(wxyz: Sequence[float] | npt.NDArray[Any]) -> dict[str, float]:
    return {axis: float(value) for axis, value in zip("wxyz", wxyz)}


def _pose(position: npt.NDArray[Any], wxyz: npt.NDArray[Any]) -> dict[str, Any]:
    return {"position": _vector(position), "orientation": _quaternion(wxyz)}


def _color(rgb: Sequence[float], opacity: float = 1.0) -> dict[str, float]:
    return dict(zip("rgba", (*map(float, rgb), float(opacity))))


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None  # JSON has no words for the others


class McapRecorder:
    """Writes moments of worlds to an MCAP file; as a context manager it ends the file.

    Parameters
    ----------
    output : path or binary file
        Path of the file, or what is open to write bytes to.
    model : Model
        Of the worlds.
    worlds : sequence of int
        Their indices in the batch.
    dt : float
        s, of a step: forces are impulses divided by it.
    offsets : numpy.ndarray, optional
        m, [n, 3]: where the worlds stand beside each other. None: on a grid, as far apart as they reach at first.
    """

    def __init__(self, output: Any, model: Model, worlds: Sequence[int], dt: float,
                 offsets: npt.NDArray[np.float64] | None = None) -> None:
        self._model, self._worlds, self._dt, self._offsets = model, [int(world) for world in worlds], dt, offsets
        self._shapes, self._frame_names = geometry.shapes_of(model, _DETAIL), geometry.frame_names(model)
        self._writer = Writer(os.fspath(output) if isinstance(output, os.PathLike) else output)
        self._writer.start(library="axion")
        schemas = {name: self._writer.register_schema(name, "jsonschema", json.dumps({"title": name, **schema}).encode())
                   for name, schema in _SCHEMAS.items()}
        topics = [("/scene", "foxglove.SceneUpdate"), ("/tf", "foxglove.FrameTransforms"), ("/contacts", "foxglove.SceneUpdate")]
        for world in self._worlds:
            topics += [(f"/world/{world}/state", "axion.State"), (f"/world/{world}/solver", "axion.SolverStatistics")]
        self._channels = {topic: self._writer.register_channel(topic, "json", schemas[schema]) for topic, schema in topics}
        self._size, self._now, self._last = 1.0, 0.0, 0.0
        self.frames = 0

    def __repr__(self) -> str:
        return f"<axion.McapRecorder: {len(self._worlds)} worlds, {self.frames} frames>"

    def __enter__(self) -> McapRecorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the file: readers want its last part."""
        finish: Any = self._writer.finish  # which has no types
        finish()

    def take(self, moment: Moment) -> None:
        """Writes a moment.

        Parameters
        ----------
        moment : Moment
            Of these worlds.
        """
        if self.frames == 0:
            self._begin(moment)
        # A world that is reset is at an earlier time, and what happens then happens later all the same.
        self._now += max(0.0, float(moment.time[0]) - self._last)
        self._last = float(moment.time[0])
        if self.frames == 0:
            self._put("/scene", {"deletions": [], "entities": self._entities()})
        self._put("/tf", {"transforms": self._transforms(moment)})
        if moment.contacts is not None:
            self._put("/contacts", {"deletions": [], "entities": self._forces(moment)})
        for row, world in enumerate(self._worlds):
            state: dict[str, Any] = {"time": float(moment.time[row]), "step": int(moment.step_index[row])}
            for field, values in moment.fields.items():
                numbers = np.asarray(values[row]).reshape(-1)
                if field not in ("body_pose", "mocap_pose"):  # which are the transforms
                    state[field] = dict(zip(names_of(self._model, field, len(numbers)), map(_finite, numbers)))
            self._put(f"/world/{world}/state", state)
            if moment.statistics is not None:
                self._put(f"/world/{world}/solver", {name: _finite(getattr(moment.statistics, name)[row]) for name in STATISTICS})
        self.frames += 1

    def _begin(self, moment: Moment) -> None:
        poses = self._frame_poses(moment)
        low, high = geometry.bounds_of_all([geometry.scene_bounds(self._shapes, pose) for pose in poses])
        self._size = float(np.linalg.norm(high - low))
        if self._offsets is None:
            low, high = geometry.bounds_of_all([geometry.world_bounds(self._shapes, pose) for pose in poses])
            self._offsets = geometry.grid_offsets(len(self._worlds), 1.3 * float(max(high[0] - low[0], high[1] - low[1])))

    def _stamp(self) -> dict[str, int]:
        nanoseconds = round(self._now * 1e9)
        return {"sec": nanoseconds // 10**9, "nsec": nanoseconds % 10**9}

    def _put(self, topic: str, message: dict[str, Any]) -> None:
        at = round(self._now * 1e9)
        self._writer.add_message(self._channels[topic], at, json.dumps(message, allow_nan=False).encode(), at, self.frames)

    def _frame(self, world: int, frame: int) -> str:
        return f"{world}/{self._frame_names[frame] or frame}" if frame >= 0 else f"{world}/world"

    def _frame_poses(self, moment: Moment) -> npt.NDArray[np.float64]:
        return geometry.frame_poses(self._model, moment.body_pose, moment.mocap_pose)

    def _entities(self) -> list[dict[str, Any]]:
        entities = []
        for world in self._worlds:
            for index, shape in enumerate(self._shapes):
                mesh = shape.mesh
                if mesh is None:  # a plane, once for all worlds: it has no end
                    if world != self._worlds[0]:
                        continue
                    reach = _GROUND_REACH * self._size
                    points = reach * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
                    indices = [0, 1, 2, 0, 2, 3]
                else:
                    points, indices = mesh.vertices, [int(index) for index in mesh.faces.reshape(-1)]
                triangles = {"pose": _pose(shape.position, geometry.quaternion_of(shape.rotation)), "indices": indices, "colors": [],
                             "points": [_vector(point) for point in points], "color": _color(shape.color, shape.opacity)}
                entities.append({"timestamp": self._stamp(), "frame_id": self._frame(world, shape.frame), "id": f"{world}/shape {index}",
                                 "lifetime": {"sec": 0, "nsec": 0}, "frame_locked": True,
                                 "metadata": [{"key": "name", "value": shape.name}], "arrows": [], "triangles": [triangles]})
        return entities

    def _transforms(self, moment: Moment) -> list[dict[str, Any]]:
        assert self._offsets is not None
        stamp, found = self._stamp(), []
        for world, poses, offset in zip(self._worlds, self._frame_poses(moment), self._offsets):
            own = np.vstack([np.concatenate([np.zeros(3), [1, 0, 0, 0]]), poses])
            found += [{"timestamp": stamp, "parent_frame_id": "world", "child_frame_id": self._frame(world, frame),
                       "translation": _vector(pose[:3] + offset), "rotation": _quaternion(pose[3:])}
                      for frame, pose in enumerate(own, start=-1)]
        return found

    def _forces(self, moment: Moment) -> list[dict[str, Any]]:
        assert self._offsets is not None and moment.contacts is not None
        weight = sum(body.mass for body in self._model.proto.bodies) * float(np.linalg.norm(self._model.gravity))
        scale, wide = (0.5 * self._size / weight if weight > 0 else 0.0), 0.012 * self._size
        arrows: dict[int, list[dict[str, Any]]] = {world: [] for world in self._worlds}
        offsets = dict(zip(self._worlds, self._offsets))
        forces = geometry.forces_on_a(moment.contacts, self._dt)
        for world, point, force in zip(moment.contacts.world, moment.contacts.point.reshape(-1, 3), forces):
            length = float(np.linalg.norm(force)) * scale
            if length <= 0:
                continue
            along_x = geometry.rotation_to(force)[:, [2, 0, 1]]  # an arrow of this format points along its x
            arrows[int(world)].append({
                "pose": _pose(point + offsets[int(world)], geometry.quaternion_of(along_x)), "shaft_length": 0.8 * length,
                "shaft_diameter": wide, "head_length": 0.2 * length, "head_diameter": 2 * wide, "color": _color(geometry.FORCE_COLOR)})
        return [{"timestamp": self._stamp(), "frame_id": "world", "id": f"{world}/contacts", "lifetime": {"sec": 0, "nsec": 0},
                 "frame_locked": False, "metadata": [], "arrows": arrows[world], "triangles": []} for world in self._worlds]


def record(batch: Batch, path: str | os.PathLike[str], worlds: Sequence[int] = (0,), *, fields: str | Iterable[str] = (),
           contacts: bool = True, rate: float = 30.0, seconds: float = 10.0) -> int:
    """Records worlds that somebody else steps to an MCAP file, without renewing their lease.

    Parameters
    ----------
    batch : Batch
        Anybody's.
    path : str or path
        Of the file.
    worlds : sequence of int, default (0,)
        Their indices.
    fields : str or iterable of str, optional
        Names of fields to be kept beside poses, for example "joint_position".
    contacts : bool, default True
        Whether forces of contacts are kept.
    rate : float, default 30.0
        Frames a second (of the clock) at most.
    seconds : float, default 10.0
        s, simulated, of the first of the worlds, after which it ends.

    Returns
    -------
    int
        Frames that were written.

    Raises
    ------
    AxionError
        Where the batch is gone, or there is no such field or world.
    """
    wanted = [fields] if isinstance(fields, str) else list(fields)
    chosen = [int(world) for world in worlds]
    with McapRecorder(path, model_of(batch), chosen, batch.dt) as recorder, moments(batch, chosen, wanted, rate, contacts) as (_, frames):
        start = None
        for moment in frames:
            recorder.take(moment)
            start = float(moment.time[0]) if start is None else start
            if moment.time[0] - start >= seconds:
                break
        return recorder.frames
