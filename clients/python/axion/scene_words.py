"""Numbers and words of a scene as messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from axion.v1 import actuator_pb2, scene_pb2, shape_pb2

Kind = TypeVar("Kind")

SHAPES: dict[str, scene_pb2.ShapeKind] = {"plane": scene_pb2.SHAPE_KIND_PLANE, "sphere": scene_pb2.SHAPE_KIND_SPHERE,
           "capsule": scene_pb2.SHAPE_KIND_CAPSULE, "box": scene_pb2.SHAPE_KIND_BOX,
           "cylinder": scene_pb2.SHAPE_KIND_CYLINDER, "ellipsoid": scene_pb2.SHAPE_KIND_ELLIPSOID,
           "mesh": scene_pb2.SHAPE_KIND_MESH, "height_field": shape_pb2.SHAPE_KIND_HEIGHT_FIELD}
ACTUATORS: dict[str, scene_pb2.ActuatorKind] = {"motor": scene_pb2.ACTUATOR_KIND_MOTOR, "position": scene_pb2.ACTUATOR_KIND_POSITION,
              "velocity": scene_pb2.ACTUATOR_KIND_VELOCITY, "affine": actuator_pb2.ACTUATOR_KIND_AFFINE,
              "muscle": actuator_pb2.ACTUATOR_KIND_MUSCLE}
WORLD = -1


def vec3(values: Sequence[float]) -> scene_pb2.Vec3:
    """The message of three numbers."""
    x, y, z = values
    return scene_pb2.Vec3(x=x, y=y, z=z)


def pose(position: Sequence[float], rotation: Sequence[float]) -> scene_pb2.Pose:
    """The message of a place [3] and a quaternion w, x, y, z."""
    w, x, y, z = rotation
    return scene_pb2.Pose(position=vec3(position), rotation=scene_pb2.Quaternion(w=w, x=x, y=y, z=z))


def color_of(values: Sequence[float] | None) -> shape_pb2.Color | None:
    """The message of three or four numbers; ValueError for other ones."""
    if values is None:
        return None
    if len(values) not in (3, 4) or not all(0 <= value <= 1 for value in values):
        raise ValueError(f"color: {values!r} is not three or four numbers from 0 to 1")
    red, green, blue, alpha = (*values, 1.0)[:4]
    return shape_pb2.Color(red=red, green=green, blue=blue, alpha=alpha)


def kind_of(kinds: Mapping[str, Kind], word: str) -> Kind:
    """What a word stands for; ValueError for one that there is not."""
    if word not in kinds:
        raise ValueError(f"kind: {word!r} is none of {', '.join(kinds)}")
    return kinds[word]


def with_range(choices: dict[str, Any], name: str, limits: Sequence[float] | None) -> dict[str, Any]:
    """The choices, with bounds where there are some."""
    if limits is not None:
        choices[f"{name}_limited"] = True
        choices[f"{name}_lower"], choices[f"{name}_upper"] = limits
    return choices
