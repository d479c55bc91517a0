"""Choices of a batch: words and numbers to axion.v1.SolverOptions and axion.v1.BatchOverrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy.typing as npt

from axion import tensors
from axion.v1 import scene_pb2, simulation_pb2, solver_pb2

_Override = TypeVar("_Override", simulation_pb2.ShapeOverride, simulation_pb2.JointOverride)

_ENUMS: dict[str, tuple[str, Any]] = {
    "preset": ("SOLVER_PRESET_", solver_pb2.SolverPreset),
    "precision": ("PRECISION_", solver_pb2.Precision),
    "constraint_level": ("CONSTRAINT_LEVEL_", solver_pb2.ConstraintLevel),
    "joint_mode": ("JOINT_MODE_", solver_pb2.JointMode),
    "gyroscopic_mode": ("GYROSCOPIC_MODE_", solver_pb2.GyroscopicMode),
    "contact_function": ("CONTACT_FUNCTION_", solver_pb2.ContactFunction),
    "contact_softness": ("CONTACT_SOFTNESS_", solver_pb2.ContactSoftness),
    "friction_model": ("FRICTION_MODEL_", solver_pb2.FrictionModel),
    "linear_solver": ("LINEAR_SOLVER_", solver_pb2.LinearSolver),
    "base": ("URDF_BASE_", simulation_pb2.UrdfBase),
    "actuators": ("URDF_ACTUATORS_", simulation_pb2.UrdfActuators),
}


def _enum_value(field: str, word: object) -> int:
    prefix, enum = _ENUMS[field]
    names: dict[str, int] = {name.removeprefix(prefix).lower(): value for name, value in enum.items() if value != 0}
    if not isinstance(word, str) or word.lower() not in names:
        raise ValueError(f"{field}: {word!r} is none of {', '.join(names)}")
    return names[word.lower()]


def solver_options(**choices: str | float | bool | None) -> solver_pb2.SolverOptions:
    """Makes solver options of words and numbers.

    preset, precision, constraint_level, joint_mode, gyroscopic_mode, contact_function, contact_softness,
    friction_model and linear_solver are words, for example preset="velocity"; the others (tolerance,
    max_newton_iterations, baumgarte, ...) are numbers or booleans as in proto/axion/v1/solver.proto.
    clients/README.md tells what each does.

    Parameters
    ----------
    **choices
        Options by name; None leaves a choice to the preset.

    Returns
    -------
    SolverOptions
        The options.

    Raises
    ------
    TypeError
        There is no option of a name.
    ValueError
        There is no choice of a word.
    """
    options = solver_pb2.SolverOptions()
    known = set(options.DESCRIPTOR.fields_by_name)
    for field, value in choices.items():
        if field not in known:
            raise TypeError(f"unknown solver option {field!r}; there are {', '.join(sorted(known))}")
        if value is not None:
            setattr(options, field, _enum_value(field, value) if field in _ENUMS else value)
    return options


def urdf_options(choices: Mapping[str, Any]) -> simulation_pb2.UrdfOptions:
    """An axion.v1.UrdfOptions of base ("fixed", "free"), base_position, base_rotation (w, x, y, z), actuators ("none", "motor"),
    ground, self_collision, keep_overlaps and massless. Raises TypeError for an unknown name, ValueError for an unknown word."""
    options = simulation_pb2.UrdfOptions()
    for field, value in choices.items():
        if field == "base_position":
            x, y, z = value
            options.base_pose.position.CopyFrom(scene_pb2.Vec3(x=x, y=y, z=z))
        elif field == "base_rotation":
            w, x, y, z = value
            options.base_pose.rotation.CopyFrom(scene_pb2.Quaternion(w=w, x=x, y=y, z=z))
        elif field in ("base", "actuators", "ground", "self_collision", "keep_overlaps", "massless"):
            setattr(options, field, _enum_value(field, value) if field in _ENUMS else value)
        else:
            raise TypeError(f"unknown URDF option {field!r}; there are base, base_position, base_rotation, actuators, "
                            "ground, self_collision, keep_overlaps, massless")
    return options


def batch_overrides(world_count: int, parameters: Mapping[str, npt.ArrayLike] | None = None,
                    **arrays: npt.ArrayLike | None) -> simulation_pb2.BatchOverrides | None:
    """An axion.v1.BatchOverrides of arrays: body_pose [n, nb, 7], mass_scale [n, nb], friction_scale [n],
    gain_scale [n, nu], and parameters by name; None leaves the model's own. One robot's, without the dimension of the
    worlds, stand for each of them (not of parameters, whose shapes are the batch's). Raises TypeError for what is not
    an array of reals."""
    given = {name: tensors.to_tensor(tensors.of_each_world(array, tensors.WORLD_DIMENSIONS[name], world_count, name), name)
             for name, array in arrays.items() if array is not None}
    if not given and not parameters:
        return None
    return simulation_pb2.BatchOverrides(**given, parameters=tensors.to_tensors(parameters or {}, "parameters"))


def shape_overrides(changes: Mapping[str, Mapping[str, float]]) -> list[simulation_pb2.ShapeOverride]:
    """axion.v1.ShapeOverride of names and their changes: restitution, contact_stiffness, contact_damping. The name "" is
    every shape. Raises TypeError for an unknown change."""
    return [_named(simulation_pb2.ShapeOverride(name=name), change, "shape_overrides") for name, change in changes.items()]


def joint_overrides(changes: Mapping[str, Mapping[str, float]]) -> list[simulation_pb2.JointOverride]:
    """axion.v1.JointOverride of names and their changes: lock_stiffness, lock_damping. The name "" is every joint that
    is neither free nor fixed. Raises TypeError for an unknown change."""
    return [_named(simulation_pb2.JointOverride(name=name), change, "joint_overrides") for name, change in changes.items()]


def _named(message: _Override, change: Mapping[str, float], name: str) -> _Override:
    known = [field.name for field in message.DESCRIPTOR.fields if field.name != "name"]
    if not isinstance(change, Mapping):
        raise TypeError(f'{name}["{message.name}"]: wants numbers by name, not {change!r}')
    for field, value in change.items():
        if field not in known:
            raise TypeError(f"{name}: {field!r} is none of {', '.join(known)}")
        setattr(message, field, value)
    return message
