"""What a model looks like: triangles of its shapes, colours, frames and markers; where worlds stand on a grid."""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import trimesh

from axion.model import Model
from axion.results import Contacts
from axion.v1 import scene_pb2, shape_pb2, visual_pb2

Floats: TypeAlias = "npt.NDArray[np.float64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"

# Of bodies whose scene says nothing, in turn: legible on a light ground and apart from each other in most eyes.
_PALETTE = ((0.90, 0.62, 0.25), (0.35, 0.60, 0.82), (0.42, 0.68, 0.45), (0.80, 0.45, 0.55), (0.62, 0.54, 0.78),
            (0.55, 0.70, 0.72), (0.82, 0.74, 0.42), (0.65, 0.52, 0.42))
_FIXED_COLOR = (0.62, 0.64, 0.68)
CONTACT_COLOR, FORCE_COLOR = (0.95, 0.80, 0.10), (0.85, 0.15, 0.15)
AXIS_COLORS = ((0.85, 0.2, 0.2), (0.2, 0.65, 0.25), (0.2, 0.35, 0.85))
MASS_COLOR = (0.1, 0.1, 0.1)
_MOST_FACES = 20_000  # of a mesh for the eye
_LEAST_SIZE, _MOST_SIZE = 1e-9, 1e9  # m, of one that can be seen, in single precision
_MOST_FIXED = 5.0  # times what moves: larger fixed shapes are its surroundings


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Triangles: vertices float64 [v, 3], m; normals float64 [v, 3], unit, of the smooth surface; faces int64 [f, 3]."""

    vertices: Floats
    normals: Floats
    faces: Ints

    def placed(self, rotation: Floats, position: Floats) -> Mesh:
        return Mesh(self.vertices @ rotation.T + position, self.normals @ rotation.T, self.faces)


@dataclasses.dataclass(frozen=True)
class Shape:
    """A shape of the model in the frame that it goes with. A plane has no mesh: it has no end."""

    name: str
    frame: int        # of frame_poses; -1 is the world
    mesh: Mesh | None
    color: tuple[float, float, float]
    opacity: float
    rotation: Floats  # [3, 3], of the shape's own frame in that
    position: Floats  # [3] m
    radius: float     # of a sphere about its origin that holds it, m
    corners: Floats   # [8, 3] m, of a box in its frame that holds it


def rotation_matrices(quaternions: npt.ArrayLike) -> Floats:
    """Rotation matrices [..., 3, 3] of unit quaternions [..., 4], w x y z."""
    w, x, y, z = np.moveaxis(np.asarray(quaternions, dtype=np.float64), -1, 0)
    rows = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def quaternion_of(rotation: Floats) -> Floats:
    """The unit quaternion [4], w x y z, of a rotation matrix [3, 3]."""
    # Of the four squares that follow from the diagonal the greatest is far from zero.
    trace, diagonal = np.trace(rotation), np.diag(rotation)
    squares = np.array([1 + trace, *(1 + 2 * diagonal - trace)])
    r = rotation
    products = np.array([[squares[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
                         [r[2, 1] - r[1, 2], squares[1], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
                         [r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], squares[2], r[1, 2] + r[2, 1]],
                         [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], squares[3]]])
    chosen = products[int(np.argmax(squares))]
    return np.asarray(chosen / np.linalg.norm(chosen), dtype=np.float64)


def quaternion_products(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Products of quaternions [..., 4], w x y z: the rotation b, then a."""
    aw, ax, ay, az = np.moveaxis(np.asarray(a, np.float64), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b, np.float64), -1, 0)
    return np.stack([aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
                     aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw], -1)


def rotation_to(direction: npt.ArrayLike) -> Floats:
    """A rotation [3, 3] that takes z to this direction."""
    z = np.asarray(direction, dtype=np.float64)
    z = z / np.linalg.norm(z)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _flat(vertices: Floats, faces: Ints) -> Mesh:
    """With a normal for each face, so that edges are seen."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return Mesh(corners.reshape(-1, 3), np.repeat(normals, 3, axis=0), np.arange(3 * len(faces)).reshape(-1, 3))


def hull(points: npt.ArrayLike) -> Mesh:
    """The convex hull of points [n, 3], of which all are its vertices and there are few: a plane through three of them
    that has the others on one side holds a face."""
    given = np.unique(np.asarray(points, dtype=np.float64), axis=0)
    size = float(np.ptp(given, axis=0).max())
    triples = np.array([(i, j, k) for i in range(len(given)) for j in range(i + 1, len(given)) for k in range(j + 1, len(given))],
                       dtype=np.int64).reshape(-1, 3)
    a, b, c = (given[triples[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    kept = lengths > 1e-9 * size * size
    normals, anchors = normals[kept] / lengths[kept, None], a[kept]
    heights = normals @ given.T - np.einsum("ij,ij->i", normals, anchors)[:, None]
    tolerance = 1e-6 * size
    below, above = heights.max(1) <= tolerance, heights.min(1) >= -tolerance
    normals = np.where(below[:, None], normals, -normals)[below | above]
    offsets = np.einsum("ij,ij->i", normals, anchors[below | above])
    faces: list[tuple[int, int, int]] = []
    while len(normals):
        normal, offset = normals[0], offsets[0]
        same = (normals @ normal > 1 - 1e-9) & (np.abs(offsets - offset) <= 2 * tolerance)
        normals, offsets = normals[~same], offsets[~same]
        members = np.flatnonzero(np.abs(given @ normal - offset) <= 2 * tolerance)
        frame = rotation_to(normal)
        flat = (given[members] - given[members].mean(0)) @ frame
        members = members[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))]
        faces += [(int(members[0]), int(members[i]), int(members[i + 1])) for i in range(1, len(members) - 1)]
    return _flat(given, np.array(faces, dtype=np.int64).reshape(-1, 3))


@functools.lru_cache(maxsize=256)
def _primitive(kind: int, x: float, y: float, z: float, detail: int) -> Mesh | None:
    if kind == scene_pb2.SHAPE_KIND_SPHERE or kind == scene_pb2.SHAPE_KIND_ELLIPSOID:
        ball = trimesh.creation.uv_sphere(radius=1.0, count=[detail, 2 * detail])
        unit = np.asarray(ball.vertices, np.float64)
        axes = np.array([x, x, x] if kind == scene_pb2.SHAPE_KIND_SPHERE else [x, y, z])
        normals = unit / axes
        return Mesh(unit * axes, normals / np.linalg.norm(normals, axis=1, keepdims=True), np.asarray(ball.faces, np.int64))
    if kind == scene_pb2.SHAPE_KIND_CAPSULE:
        # Two half balls with their equators apart: trimesh's own stands on its foot.
        ball = trimesh.creation.uv_sphere(radius=1.0, count=[2 * (detail // 2) + 1, 2 * detail])
        unit = np.asarray(ball.vertices, np.float64)
        return Mesh(unit * x + np.where(unit[:, 2:] >= 0, y, -y) * [0, 0, 1], unit, np.asarray(ball.faces, np.int64))
    if kind == scene_pb2.SHAPE_KIND_BOX:
        box = trimesh.creation.box(extents=[2 * x, 2 * y, 2 * z])
        return _flat(np.asarray(box.vertices, np.float64), np.asarray(box.faces, np.int64))
    if kind == scene_pb2.SHAPE_KIND_CYLINDER:
        return _cylinder(x, y, 2 * detail)
    return None


def file_mesh(content: bytes, name: str, scale: tuple[float, float, float]) -> Mesh | None:
    """A mesh of a file, whose format its name's ending says, its vertices scaled; None where it cannot be read."""
    ending = name.rpartition(".")[2].lower()
    try:
        vertices, faces = _msh(content) if ending == "msh" else _by_trimesh(content, ending)
    except Exception:  # of a format, a library or a file that is not what it says: the shape that collides is drawn
        return None
    vertices, faces = _thinned(vertices * scale, faces, _MOST_FACES)
    size = float(np.abs(vertices).max()) if len(faces) > 0 else 0.0
    if not _LEAST_SIZE < size < _MOST_SIZE:  # nor where it is no number
        return None
    return _flat(vertices, faces if np.prod(scale) > 0 else faces[:, ::-1])


def _by_trimesh(content: bytes, ending: str) -> tuple[Floats, Ints]:
    made = cast(trimesh.Trimesh, trimesh.load(io.BytesIO(content), file_type=ending, force="mesh", process=False, skip_materials=True))
    return np.asarray(made.vertices, np.float64), np.asarray(made.faces, np.int64)


def _msh(content: bytes) -> tuple[Floats, Ints]:
    """MuJoCo's own format: four counts (int32), vertices, normals, texture coordinates (float32), faces (int32)."""
    counts = np.frombuffer(content, "<i4", 4).astype(int)
    start = 16
    vertices = np.frombuffer(content, "<f4", 3 * counts[0], start).reshape(-1, 3).astype(np.float64)
    start += 4 * (3 * counts[0] + 3 * counts[1] + 2 * counts[2])
    return vertices, np.frombuffer(content, "<i4", 3 * counts[3], start).reshape(-1, 3).astype(np.int64)


def _thinned(vertices: Floats, faces: Ints, most: int) -> tuple[Floats, Ints]:
    """At most so many triangles, or somewhat more: vertices within a cell of a grid become one, their mean."""
    cells = 256.0
    first, first_faces = vertices, faces
    size = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    while len(faces) > most and cells >= 8 and size > 0:
        keys = np.floor((first - first.min(0)) * (cells / size)).astype(np.int64)
        _, place = np.unique(keys @ np.array([1, 1 << 20, 1 << 40]), return_inverse=True)
        counts = np.bincount(place)
        vertices = np.stack([np.bincount(place, first[:, i]) / counts for i in range(3)], 1)
        faces = place[first_faces]
        faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
        _, kept = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        faces = faces[np.sort(kept)]
        cells /= np.sqrt(2.0)
    return vertices, faces


def _cylinder(radius: float, half_length: float, sides: int, top: float = 1.0) -> Mesh:
    """Along z; `top` is the radius of its upper end in parts of `radius`: 0 makes a cone."""
    angles = np.arange(sides) * (2 * np.pi / sides)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides)], 1)
    slope = np.array([0, 0, radius * (1 - top) / (2 * half_length)])
    side = ring + slope
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up, down = np.array([0, 0, 1.0]), np.array([0, 0, -1.0])
    low, high = ring * radius + down * half_length, ring * (radius * top) + up * half_length
    vertices = np.concatenate([low, high, low, high])
    normals = np.concatenate([side, side, np.tile(down, (sides, 1)), np.tile(up, (sides, 1))])
    i = np.arange(sides)
    j = (i + 1) % sides
    fan = np.stack([np.zeros(sides - 2, int), np.arange(1, sides - 1), np.arange(2, sides)], 1)
    faces = np.concatenate([np.stack([i, j, j + sides], 1), np.stack([i, j + sides, i + sides], 1),
                            fan[:, ::-1] + 2 * sides, fan + 3 * sides])
    return Mesh(vertices, normals, faces)


def arrow(start: npt.ArrayLike, along: npt.ArrayLike, radius: float) -> Mesh:
    """An arrow from `start` along a vector, both [3] m."""
    vector, origin = np.asarray(along, np.float64), np.asarray(start, np.float64)
    length = float(np.linalg.norm(vector))
    head = min(6 * radius, 0.5 * length)
    shaft, point = _cylinder(radius, 0.5 * (length - head), 10), _cylinder(2.2 * radius, 0.5 * head, 12, top=0.0)
    rotation = rotation_to(vector)
    return joined([shaft.placed(rotation, origin + rotation[:, 2] * 0.5 * (length - head)),
                   point.placed(rotation, origin + rotation[:, 2] * (length - 0.5 * head))])


def ball(center: npt.ArrayLike, radius: float) -> Mesh:
    """A sphere about a point [3]."""
    made = _primitive(scene_pb2.SHAPE_KIND_SPHERE, radius, 0.0, 0.0, 8)
    assert made is not None
    return made.placed(np.eye(3), np.asarray(center, np.float64))


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """All of them in one."""
    counts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate([mesh.normals for mesh in meshes]),
                np.concatenate([mesh.faces + start for mesh, start in zip(meshes, counts)]))


def height_field(field: shape_pb2.HeightFieldSpec) -> Mesh:
    """The surface of a height field, and its walls down to the base."""
    heights = np.array(field.heights, dtype=np.float64).reshape(field.rows, field.columns)
    x, y = np.linspace(-field.half_x, field.half_x, field.columns), np.linspace(-field.half_y, field.half_y, field.rows)
    top = np.stack([*np.meshgrid(x, y), heights], axis=-1).reshape(-1, 3)
    place = np.arange(len(top)).reshape(field.rows, field.columns)
    a, b, c, d = (corner.ravel() for corner in (place[:-1, :-1], place[:-1, 1:], place[1:, :-1], place[1:, 1:]))
    faces = [np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)]
    rim = np.concatenate([place[0], place[1:, -1], place[-1, -2::-1], place[-2:0:-1, 0]])
    bottom = len(top) + np.arange(len(rim))
    faces += [np.stack([rim, bottom, np.roll(bottom, -1)], axis=1),
              np.stack([rim, np.roll(bottom, -1), np.roll(rim, -1)], axis=1)]
    return _flat(np.concatenate([top, top[rim] * [1, 1, 0] - [0, 0, field.base]]), np.concatenate(faces))


def frame_names(model: Model) -> list[str]:
    """Names of what shapes go with: the bodies, then those that clients place (mocap)."""
    return [*model.body_names, *(mocap.name for mocap in model.proto.mocaps)]


def frame_poses(model: Model, body_pose: npt.ArrayLike, mocap_pose: npt.ArrayLike | None = None) -> Floats:
    """Poses [n, frames, 7] of what shapes go with, from the fields of that name: [n, bodies, 7] and [n, mocap bodies, 7].
    None: mocap bodies stand where they do after a reset."""
    bodies = np.asarray(body_pose, np.float64)
    if mocap_pose is None:
        placed = [[*position, *quaternion_of(rotation)] for rotation, position in (pose_of(mocap.pose) for mocap in model.proto.mocaps)]
        mocap_pose = np.tile(np.array(placed, np.float64).reshape(1, -1, 7), (len(bodies), 1, 1))
    return np.concatenate([bodies, np.asarray(mocap_pose, np.float64)], axis=1)


def _color_of(shape: scene_pb2.ShapeSpec | visual_pb2.VisualSpec, frame: int) -> tuple[tuple[float, float, float], float]:
    """The scene's own colour and opacity; where it has none, one for each body."""
    if shape.HasField("color"):
        return (shape.color.red, shape.color.green, shape.color.blue), shape.color.alpha
    return (_FIXED_COLOR if frame < 0 else _PALETTE[frame % len(_PALETTE)]), 1.0


def _shape(name: str, frame: int, mesh: Mesh | None, looks: tuple[tuple[float, float, float], float], rotation: Floats,
           position: Floats) -> Shape:
    radius = float(np.linalg.norm(mesh.vertices, axis=1).max()) if mesh is not None else 0.0
    ends = np.stack([mesh.vertices.min(0), mesh.vertices.max(0)]) if mesh is not None else np.zeros((2, 3))
    corners = np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    return Shape(name, frame, mesh, *looks, rotation, position, radius, corners)


def shapes_of(model: Model, detail: int = 12) -> list[Shape]:
    """All that is drawn of a model: its shapes, in their order, but for those in whose place its meshes for the eye are drawn,
    which come after them. detail: of round ones, segments of half a turn."""
    meshes = {mesh.name: [(v.x, v.y, v.z) for v in mesh.vertices] for mesh in model.proto.meshes}
    fields = {field.name: field for field in model.proto.height_fields}
    mocaps = {shape: index for index, mocap in enumerate(model.proto.mocaps) for shape in mocap.shapes}
    visuals, lacking = visuals_of(model, detail)
    hidden = set(model.proto.visuals.hidden_shapes) if visuals else set[int]()
    made = []
    for index, shape in enumerate(model.proto.shapes):
        frame = shape.body if shape.HasField("body") else -1
        rotation, position = pose_of(shape.pose)
        if index in mocaps:
            turned, stands = pose_of(model.proto.mocaps[mocaps[index]].pose)
            frame, rotation, position = model.body_count + mocaps[index], turned.T @ rotation, turned.T @ (position - stands)
        if index in hidden and frame not in lacking:
            continue
        size = shape.size
        mesh: Mesh | None
        if shape.kind == scene_pb2.SHAPE_KIND_MESH:
            mesh = hull(meshes[shape.mesh])
        elif shape.kind == shape_pb2.SHAPE_KIND_HEIGHT_FIELD:
            mesh = height_field(fields[shape.height_field])
        else:
            mesh = _primitive(shape.kind, size.x, size.y, size.z, detail)
        made.append(_shape(shape.name, frame, mesh, _color_of(shape, frame), rotation, position))
    return made + visuals


def visuals_of(model: Model, detail: int = 12) -> tuple[list[Shape], set[int]]:
    """What is for the eye alone, and the frames of which some of it cannot be had or read."""
    places = {body.name: (index, np.eye(3), np.zeros(3)) for index, body in enumerate(model.proto.bodies)}
    for weld in model.proto.welds:
        rotation, position = pose_of(weld.pose)
        frame = weld.body
        if weld.HasField("mocap"):
            turned, stands = pose_of(model.proto.mocaps[weld.mocap].pose)
            frame, rotation, position = model.body_count + weld.mocap, turned.T @ rotation, turned.T @ (position - stands)
        places[weld.name] = frame, rotation, position
    made, lacking = list[Shape](), set[int]()
    for visual in model.proto.visuals.visuals:
        frame, turn, shift = places.get(visual.body, (-1, np.eye(3), np.zeros(3)))
        if visual.kind == scene_pb2.SHAPE_KIND_MESH:
            content = model.visual_files.get(visual.asset)
            scale = (visual.scale.x, visual.scale.y, visual.scale.z)
            mesh = None if content is None else _file_mesh_once(visual.asset, visual.file, scale, content)
        else:
            mesh = _primitive(visual.kind, visual.size.x, visual.size.y, visual.size.z, detail)
        if mesh is None:
            lacking.add(frame)
            continue
        rotation, position = pose_of(visual.pose)
        name = visual.file.rpartition("/")[2] or visual.body
        made.append(_shape(name, frame, mesh, _color_of(visual, frame), turn @ rotation, turn @ position + shift))
    return made, lacking


_files: dict[tuple[str, str, tuple[float, float, float]], Mesh | None] = {}


def _file_mesh_once(digest: str, name: str, scale: tuple[float, float, float], content: bytes) -> Mesh | None:
    """As file_mesh: read once for all pictures and pages of the process."""
    key = digest, name.rpartition(".")[2], scale
    if key not in _files:
        _files[key] = file_mesh(content, name, scale)
    return _files[key]


def pose_of(pose: scene_pb2.Pose) -> tuple[Floats, Floats]:
    """Rotation [3, 3] and position [3] of a message; absent parts are none and the origin."""
    q, p = pose.rotation, pose.position
    given = [q.w, q.x, q.y, q.z] if pose.HasField("rotation") else [1, 0, 0, 0]
    quaternion = np.array(given, dtype=np.float64)
    return rotation_matrices(quaternion / np.linalg.norm(quaternion)), np.array([p.x, p.y, p.z])


def joint_frames(model: Model) -> list[tuple[str, int, Floats, list[Floats]]]:
    """Of each axis of a joint: its name, the child body, the anchor [3] and the unit vectors [3] to show, child frame."""
    frames = []
    for joint in model.proto.joints:
        for axis in joint.axes:
            vector = np.array([axis.axis.x, axis.axis.y, axis.axis.z]) if axis.HasField("axis") else np.array([0, 0, 1.0])
            anchor = np.array([axis.anchor.x, axis.anchor.y, axis.anchor.z])
            frames.append((axis.name or joint.name, joint.child, anchor, [vector / np.linalg.norm(vector)]))
        if not joint.axes:
            frames.append((joint.name, joint.child, np.zeros(3), list(np.eye(3))))
    return frames


def forces_on_a(contacts: Contacts, dt: float) -> Floats:
    """Forces of contacts on their body a, world frame, averaged over the last step: float64 [c, 3], N."""
    impulses = contacts.normal_impulse[:, None] * contacts.normal.reshape(-1, 3) + contacts.friction_impulse.reshape(-1, 3)
    return np.asarray(impulses / dt, dtype=np.float64)


def scene_bounds(shapes: Sequence[Shape], poses: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """As world_bounds, of what is to be looked at: without fixed shapes beside which all that moves is small, as hills."""
    moving = [shape for shape in shapes if shape.frame >= 0 and shape.mesh is not None]
    low, high = world_bounds(moving or shapes, poses)
    most = _MOST_FIXED * float(np.linalg.norm(high - low))
    return world_bounds([shape for shape in shapes if shape.frame >= 0 or 2 * shape.radius <= most], poses)


def world_bounds(shapes: Sequence[Shape], poses: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Least and greatest corner [3] of what has an end in one world of frame_poses, [frames, 7]."""
    rotations = rotation_matrices(poses[:, 3:]) if len(poses) else np.zeros((0, 3, 3))
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for shape in shapes:
        if shape.mesh is None:
            continue
        corners = shape.corners @ shape.rotation.T + shape.position
        if shape.frame >= 0:
            corners = corners @ rotations[shape.frame].T + poses[shape.frame, :3]
        low, high = np.minimum(low, corners.min(0)), np.maximum(high, corners.max(0))
    for pose in poses:
        low, high = np.minimum(low, pose[:3]), np.maximum(high, pose[:3])
    return (low, high) if np.all(np.isfinite(low) & np.isfinite(high)) else (np.full(3, -1.0), np.full(3, 1.0))


def bounds_of_all(bounds: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Least and greatest corner [3] of several such pairs."""
    return np.min([low for low, _ in bounds], 0), np.max([high for _, high in bounds], 0)


def grid_offsets(count: int, spacing: float) -> Floats:
    """Where worlds stand beside each other, about the origin: float64 [count, 3], m."""
    columns = int(np.ceil(np.sqrt(count)))
    rows = int(np.ceil(count / columns))
    index = np.arange(count)
    places = np.stack([index % columns - (columns - 1) / 2, (rows - 1) / 2 - index // columns, np.zeros(count)], 1)
    return np.asarray(places * spacing, dtype=np.float64)


def ground_square(size: float) -> float:
    """Of the ground beneath what is so large, m: a power of ten times 1, 2 or 5, about a fifth of it."""
    wanted = max(size, 1e-6) / 5
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * max(step for step in (1, 2, 5) if step * power <= wanted * (1 + 1e-12)))
