"""Answers as tables and labelled arrays: pandas and xarray, where these are installed (the extra `tables` brings both)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axion.model import Model
from axion.results import Contacts, WorldStats

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import xarray  # type: ignore[import-not-found, import-untyped, unused-ignore]

_POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_IMPULSE = ("jx", "jy", "jz", "lx", "ly", "lz")   # linear, then angular
# Axes of each field after those of worlds and records: name, and labels where the model does not say them.
_AXES: dict[str, tuple[tuple[str, Sequence[str]], ...]] = {
    "body_pose": (("body", ()), ("pose", _POSE)), "body_velocity": (("body", ()), ("twist", _TWIST)),
    "contact_impulse": (("body", ()), ("impulse", _IMPULSE)), "joint_impulse": (("joint", ()), ("impulse", _IMPULSE)),
    "joint_position": (("coordinate", ()),), "joint_velocity": (("rate", ()),), "control": (("actuator", ()),),
    "actuator_force": (("actuator", ()),), "sensor_data": (("reading", ()),), "activation": (("activation_of", ()),),
    "mocap_pose": (("mocap", ()), ("pose", _POSE)), "contact_count": (), "outcome": (), "time": (), "step_index": ()}
_UNITS = {"body_pose": "m, 1", "body_velocity": "m/s, rad/s", "contact_impulse": "N s, N m s", "joint_impulse": "N s, N m s",
          "joint_position": "m, rad", "joint_velocity": "m/s, rad/s", "actuator_force": "N, N m", "mocap_pose": "m, 1", "time": "s"}


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed (pip install 'axion-server-client[tables]'): {error}") from error


def _numbered(owner: str, count: int) -> list[str]:
    return [owner] if count == 1 else [f"{owner}.{index}" for index in range(count)]


def _labels(model: Model) -> dict[str, list[str]]:
    """What the model calls the columns of each axis."""
    joints = [joint for joint in model.proto.joints if not joint.closes_loop]
    return {"body": model.body_names, "joint": model.joint_names, "actuator": model.actuator_names,
            "coordinate": [label for joint in joints for label in _numbered(joint.name, joint.position_count)],
            "rate": [label for joint in joints for label in _numbered(joint.name, joint.velocity_count)],
            "reading": [label for name, where in model.sensors.items() for label in _numbered(name, where.stop - where.start)],
            "mocap": [mocap.name for mocap in model.proto.mocaps]}


def _axes_of(name: str, array: npt.NDArray[Any], labels: Mapping[str, list[str]]) -> tuple[list[str], dict[str, list[Any]]]:
    """Names of an array's axes, and labels of those that have some."""
    own = _AXES.get(name)
    if own is None:
        own = tuple((f"{name}_{axis}", ()) for axis in range(array.ndim - 1))
    before = ["world", "record"][:array.ndim - len(own)]
    if len(before) + len(own) != array.ndim:
        raise ValueError(f"answer: {name} has shape {list(array.shape)}; it must be [n, ...] or [n, records, ...]")
    found: dict[str, list[Any]] = {axis: list(fixed) or list(labels.get(axis, [])) for axis, fixed in own}
    for (axis, words), length in zip(found.items(), array.shape[len(before):]):
        if not words:
            found[axis] = list(range(length))
        elif len(words) != length:
            raise ValueError(f"model: has {len(words)} labels of {axis}, but {name} has {length}; the answer is of another model")
    return [*before, *found], found


def _arrays(answer: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Fields of an answer, and what a StepResult or State says beside them."""
    found = {name: np.asarray(answer[name]) for name in answer if name != "snapshot"}
    for name in ("time", "step_index", "outcome"):
        value = getattr(answer, name, None)
        if name not in found and value is not None:
            found[name] = np.asarray(value)
    if not found:
        raise ValueError("answer: has no fields")
    return found


def _worlds(worlds: Sequence[int] | None, count: int) -> list[int]:
    chosen = list(range(count)) if worlds is None else [int(world) for world in worlds]
    if len(chosen) != count:
        raise ValueError(f"worlds: has {len(chosen)} indices; the answer is of {count} worlds")
    return chosen


def to_xarray(answer: Mapping[str, npt.NDArray[Any]], model: Model, worlds: Sequence[int] | None = None) -> xarray.Dataset:
    """Makes a labelled dataset of an answer, with the arrays as they are.

    Parameters
    ----------
    answer : mapping of str to numpy.ndarray
        A State, StepResult, TaskResult, or fields of one, [n, ...] or [n, records, ...] each.
    model : Model
        Of the worlds; bodies, joints, actuators and sensors are labelled by its names.
    worlds : sequence of int, optional
        Indices of the n worlds in the batch; None: they are the first n.

    Returns
    -------
    xarray.Dataset
        A variable for each field, over the dimensions "world" [n], "record" where there are records, and those of the field, such as
        "body" and "pose" (x y z, qw qx qy qz). The attribute "units" says the unit.

    Raises
    ------
    ImportError
        xarray is not installed.
    ValueError
        The answer has no fields, is of another model, or of another number of worlds.

    Examples
    --------
    >>> heights = axion.to_xarray(batch.get_state(), model)["body_pose"].sel(body="trunk", pose="z")
    """
    library = _library("xarray")
    arrays, labels = _arrays(answer), _labels(model)
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {"world": _worlds(worlds, len(next(iter(arrays.values()))))}
    for name, array in arrays.items():
        axes, found = _axes_of(name, array, labels)
        coordinates.update(found)
        variables[name] = (axes, array, {"units": _UNITS[name]} if name in _UNITS else {})
    made: xarray.Dataset = library.Dataset(variables, coordinates, {"model": model.name})
    return made


def to_pandas(answer: Mapping[str, npt.NDArray[Any]] | Contacts | WorldStats, model: Model | None = None,
              worlds: Sequence[int] | None = None) -> pandas.DataFrame:
    """Makes a table of an answer.

    Parameters
    ----------
    answer : mapping of str to numpy.ndarray, Contacts or WorldStats
        Fields as of to_xarray, [n, ...] or [n, records, ...] each; or contacts; or what the solver did in the last step.
    model : Model, optional
        Of the worlds. Fields want it; of contacts it names shapes and bodies, in columns of their own.
    worlds : sequence of int, optional
        Indices of the n worlds in the batch, of fields; None: they are the first n.

    Returns
    -------
    pandas.DataFrame
        Of fields a row for each world, and record where there are records, by the index, and a column for each number, such as
        "body_pose.trunk.z" (m). Of contacts a row for each contact, of the solver one for each world.

    Raises
    ------
    ImportError
        pandas is not installed.
    ValueError
        Fields are given without their model, or as of to_xarray.
    """
    library = _library("pandas")
    if isinstance(answer, (Contacts, WorldStats)):
        return library.DataFrame(_contact_columns(answer, model) if isinstance(answer, Contacts) else _solver_columns(answer))
    if model is None:
        raise ValueError("model: names the columns of fields; give the answer's")
    arrays, labels = _arrays(answer), _labels(model)
    chosen = _worlds(worlds, len(next(iter(arrays.values()))))
    records = max((array.shape[1] for name, array in arrays.items() if "record" in _axes_of(name, array, labels)[0]), default=0)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, array in arrays.items():
        axes, found = _axes_of(name, array, labels)
        if records and "record" not in axes:  # the last step's, in every row of its world
            array = np.repeat(array[:, None], records, axis=1)
        words = [""]
        for axis in found:
            words = [f"{word}.{label}" for word in words for label in found[axis]]
        rows = array.reshape(len(chosen) * max(records, 1), len(words))
        columns.update({f"{name}{word}": rows[:, index] for index, word in enumerate(words)})
    index = (library.MultiIndex.from_product([chosen, range(records)], names=["world", "record"]) if records else
             library.Index(chosen, name="world"))
    return library.DataFrame(columns, index=index)


def _contact_columns(contacts: Contacts, model: Model | None) -> dict[str, Any]:
    columns: dict[str, Any] = {name: getattr(contacts, name) for name in ("world", "shape_a", "shape_b", "body_a", "body_b", "gap",
                                                                          "normal_impulse")}
    if model is not None:
        for side in ("a", "b"):
            columns[f"shape_{side}_name"] = [model.shape_names[index] for index in columns[f"shape_{side}"]]
            columns[f"body_{side}_name"] = [model.body_names[index] if index >= 0 else "world" for index in columns[f"body_{side}"]]
    for name in ("point", "normal", "friction_impulse"):
        vectors = np.asarray(getattr(contacts, name)).reshape(-1, 3)
        columns.update({f"{name}.{axis}": vectors[:, index] for index, axis in enumerate("xyz")})
    return columns


def _solver_columns(stats: WorldStats) -> dict[str, Any]:
    columns: dict[str, Any] = {name: getattr(stats, name) for name in (
        "world", "newton_iterations", "linear_iterations", "line_search_steps", "sweep_rounds", "contact_sweeps", "contact_count",
        "outcome", "joint_mode", "max_penetration", "max_joint_error")}
    for name in ("residual", "residual_normalised"):
        columns.update({f"{name}.{block}": getattr(stats, name)[:, index] for index, block in enumerate(stats.residual_blocks)})
    return columns
