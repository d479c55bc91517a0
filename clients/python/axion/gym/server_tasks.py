"""Gymnasium's MuJoCo tasks, version 5, as data for the server: axion.v1.TaskSpec with the observations, rewards, ends and starts of
the environment of the same name, for the same state."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from axion.gym.tasks import GYMNASIUM_TASKS
from axion.task import TaskLike, task_spec
from axion.v1 import task_pb2

_Fields = dict[str, Any]


@dataclasses.dataclass
class ServerTask:
    """A model and what the server is to compute of its worlds.

    Parameters
    ----------
    model : str
        Path of an MJCF or URDF file.
    spec : task_like
        An axion.v1.TaskSpec, or in which forms task_spec takes one.
    model_choices : mapping, optional
        Further arguments of Client.create_model.
    batch_choices : mapping, optional
        Further arguments of Client.create_batch, for example dt.
    """

    model: str
    spec: TaskLike
    model_choices: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    batch_choices: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def model_path(self) -> pathlib.Path:
        """Finds the model's file.

        Returns
        -------
        pathlib.Path
            Where it is.
        """
        return pathlib.Path(self.model)


def _positions(skipped: int, count: int = 0) -> _Fields:
    return {"field": "joint_position", "start": skipped, "count": count}


def _velocities(limit: float | None = None) -> _Fields:
    quantity: _Fields = {"robot": "ROBOT_QUANTITY_GENERALIZED_VELOCITY"}
    if limit is not None:
        quantity.update(lower=-limit, upper=limit)
    return quantity


def _observe(*quantities: _Fields) -> list[_Fields]:
    return [{"quantity": quantity} for quantity in quantities]


def _forward(quantity: _Fields, weight: float = 1.0) -> _Fields:
    return {"name": "reward_forward", "weight": weight, "measure": "MEASURE_RATE", "quantity": {**quantity, "count": 1}}


def _control(weight: float) -> _Fields:
    return {"name": "reward_ctrl", "weight": -weight, "measure": "MEASURE_SQUARE_SUM", "quantity": {"robot": "ROBOT_QUANTITY_ACTION"}}


def _survive(weight: float) -> _Fields:
    return {"name": "reward_survive", "weight": weight, "measure": "MEASURE_ALIVE"}


def _outside(name: str, quantity: _Fields, lower: float | None, upper: float | None, bounds_end: bool) -> _Fields:
    bounds = {key: value for key, value in (("lower", lower), ("upper", upper)) if value is not None}
    return {"name": name, "quantity": quantity, "bounds_end": bounds_end, **bounds}


def _start(noise: float, normal_velocity: bool) -> list[_Fields]:
    velocity: _Fields = ({"distribution": "DISTRIBUTION_NORMAL", "deviation": noise} if normal_velocity else
                         {"lower": -noise, "upper": noise})
    return [{"of": "START_OF_POSITION", "lower": -noise, "upper": noise}, {"of": "START_OF_VELOCITY", **velocity}]


def _ant() -> _Fields:
    wrenches = {"robot": "ROBOT_QUANTITY_BODY_WRENCHES", "lower": -1.0, "upper": 1.0}
    return {"observation": _observe(_positions(2), _velocities(), wrenches),
            "reward": [_forward({"body": "torso"}), _control(0.5), _survive(1.0),
                       {"name": "reward_contact", "weight": -5e-4, "measure": "MEASURE_SQUARE_SUM", "quantity": wrenches}],
            "termination": [_outside("height", _positions(2, 1), 0.2, 1.0, False),
                            {"name": "positions", "condition": "CONDITION_NON_FINITE", "quantity": _positions(0)},
                            {"name": "velocities", "condition": "CONDITION_NON_FINITE", "quantity": _velocities()}],
            "action": {"frame_skip": 5}, "start": _start(0.1, True)}


def _half_cheetah() -> _Fields:
    return {"observation": _observe(_positions(1), _velocities()), "reward": [_forward(_positions(0)), _control(0.1)],
            "action": {"frame_skip": 5}, "start": _start(0.1, True)}


def _hopper() -> _Fields:
    return {"observation": _observe(_positions(1), _velocities(10.0)),
            "reward": [_forward(_positions(0)), _control(1e-3), _survive(1.0)],
            "termination": [_outside("height", _positions(1, 1), 0.7, None, True), _outside("angle", _positions(2, 1), -0.2, 0.2, True),
                            _outside("positions", _positions(2), -100.0, 100.0, True),
                            _outside("velocities", _velocities(), -100.0, 100.0, True)],
            "action": {"frame_skip": 4}, "start": _start(5e-3, False)}


def _walker() -> _Fields:
    return {**_hopper(), "termination": [_outside("height", _positions(1, 1), 0.8, 2.0, True),
                                         _outside("angle", _positions(2, 1), -1.0, 1.0, True)]}


def _swimmer() -> _Fields:
    return {"observation": _observe(_positions(2), _velocities()), "reward": [_forward(_positions(0)), _control(1e-4)],
            "action": {"frame_skip": 4}, "start": _start(0.1, False)}


def _humanoid() -> _Fields:
    wrenches = {"robot": "ROBOT_QUANTITY_BODY_WRENCHES"}
    return {"observation": _observe(_positions(2), _velocities(), {"robot": "ROBOT_QUANTITY_BODY_INERTIAS"},
                                    {"robot": "ROBOT_QUANTITY_BODY_TWISTS"},
                                    {"robot": "ROBOT_QUANTITY_ACTUATOR_FORCES", "start": 6}, wrenches),
            "reward": [_forward({"robot": "ROBOT_QUANTITY_CENTER_OF_MASS"}, 1.25), _control(0.1), _survive(5.0),
                       {"name": "reward_contact", "weight": -5e-7, "measure": "MEASURE_SQUARE_SUM", "quantity": wrenches, "lower": -10.0}],
            "termination": [_outside("height", _positions(2, 1), 1.0, 2.0, True)],
            "action": {"frame_skip": 5}, "start": _start(1e-2, False)}


def _inverted_pendulum() -> _Fields:
    return {"observation": _observe(_positions(0), _velocities()), "reward": [_survive(1.0)],
            "termination": [_outside("angle", _positions(1), -0.2, 0.2, False),
                            {"name": "positions", "condition": "CONDITION_NON_FINITE", "quantity": _positions(0)},
                            {"name": "velocities", "condition": "CONDITION_NON_FINITE", "quantity": _velocities()}],
            "action": {"frame_skip": 2}, "start": _start(0.01, False)}


def _inverted_double_pendulum() -> _Fields:
    # The last observation, the force that holds the cart at the ends of its rail, is zero, as in axion.gym.tasks.
    tip = {"body": "pole2", "point": {"z": 0.6}}
    return {"observation": _observe(_positions(0, 1), {**_positions(1), "function": "FUNCTION_SINE"},
                                    {**_positions(1), "function": "FUNCTION_COSINE"}, _velocities(10.0),
                                    {**_positions(0, 1), "scale": [0.0]}),
            "reward": [_survive(10.0),
                       {"name": "distance_penalty", "weight": -1.0, "measure": "MEASURE_SQUARE_SUM",
                        "quantity": {**tip, "scale": [0.1, 0.0, 1.0], "offset": [0.0, 0.0, -2.0]}},
                       {"name": "velocity_penalty", "weight": -1.0, "measure": "MEASURE_SUM",
                        "quantity": {**_velocities(), "start": 1, "function": "FUNCTION_SQUARE", "scale": [1e-3, 5e-3]}}],
            "termination": [_outside("height", {**tip, "start": 2}, 1.0, None, True)],
            "action": {"frame_skip": 5}, "start": _start(0.1, True)}


_SPECS: dict[str, Callable[[], _Fields]] = {
    "Ant-v5": _ant, "HalfCheetah-v5": _half_cheetah, "Hopper-v5": _hopper, "Humanoid-v5": _humanoid,
    "InvertedDoublePendulum-v5": _inverted_double_pendulum, "InvertedPendulum-v5": _inverted_pendulum, "Swimmer-v5": _swimmer,
    "Walker2d-v5": _walker}


# Names of Gymnasium's environments that server_task takes.
SERVER_TASKS = tuple(sorted(_SPECS))


def server_task(name: str) -> ServerTask:
    """Makes the task of Gymnasium's environment of a name.

    Parameters
    ----------
    name : str
        For example "Ant-v5"; SERVER_TASKS has them all.

    Returns
    -------
    ServerTask
        The task.

    Raises
    ------
    ValueError
        There is no data of such a task.
    """
    if name not in _SPECS:
        raise ValueError(f"task: {name!r} is none of {', '.join(SERVER_TASKS)}")
    task = GYMNASIUM_TASKS[name]()
    spec = task_spec({**_SPECS[name](), "max_episode_steps": str(task.max_episode_steps)})
    return ServerTask(str(task.model_path()), spec)


def command_task(body: str, *, keyframe: str = "", action_scale: float = 0.3, frame_skip: int = 4, least_height: float | None = None,
                 falls_on: Sequence[str] = (), greatest_speed: Sequence[float] = (1.0, 0.5, 1.0), max_episode_steps: int = 1000,
                 tracking_width: float = 0.5, actuator_ranges: bool = True) -> task_pb2.TaskSpec:
    """Makes the task of a legged robot that is to move with a velocity it is told.

    The velocity is along its x and y (m/s) and about its vertical (rad/s); another one is drawn every 100 to 300
    steps, and one in ten is to stand.

    Parameters
    ----------
    body : str
        Its trunk, which a free joint carries.
    keyframe : str, default ''
        The pose that episodes begin at and that an action of zero holds.
    action_scale : float, default 0.3
        Of an action of 1, in the actuators' unit.
    frame_skip : int, default 4
        Time steps that an action is held.
    least_height : float, optional
        Of the trunk, m; an episode ends below.
    falls_on : sequence of str, optional
        Bodies whose touching anything ends an episode.
    greatest_speed : sequence of float, default (1.0, 0.5, 1.0)
        Of the command, each way, m/s, m/s, rad/s: [3].
    max_episode_steps : int, default 1000
        Actions after which an episode is truncated.
    tracking_width : float, default 0.5
        Miss of a commanded speed that is worth exp(-1) of following it, m/s and rad/s.
    actuator_ranges : bool, default True
        Whether actions are held within -1 to 1.

    Returns
    -------
    TaskSpec
        The task.
    """
    turning = {"body": body, "body_quantity": "BODY_QUANTITY_ANGULAR_VELOCITY", "in_body_axes": True}
    moving = {"body": body, "body_quantity": "BODY_QUANTITY_VELOCITY", "in_body_axes": True}
    upright = {"body": body, "body_quantity": "BODY_QUANTITY_GRAVITY"}
    free = 7 - 1  # numbers of a free joint's rates
    ends: list[_Fields] = [_outside("upside_down", {**upright, "start": 2}, None, -0.3, False)]
    if least_height is not None:
        ends.append(_outside("height", {"body": body, "start": 2}, least_height, None, False))
    if falls_on:
        ends.append({"name": "fell", "condition": "CONDITION_CONTACT", "bodies": list(falls_on)})
    return task_spec({
        "observation": [{"quantity": moving, "noise": 0.05}, {"quantity": {**turning, "scale": [0.25]}, "noise": 0.02},
                        {"quantity": upright, "noise": 0.02}, {"quantity": {"command": "velocity"}},
                        {"quantity": _positions(7), "noise": 0.01},
                        {"quantity": {**_velocities(), "start": free, "scale": [0.05]}, "noise": 0.02},
                        {"quantity": {"robot": "ROBOT_QUANTITY_ACTION"}}],
        "reward": [{"name": "tracks_velocity", "weight": 1.0, "measure": "MEASURE_TRACKING", "tracking_width": tracking_width,
                    "quantity": {**moving, "count": 2}, "target": {"command": "velocity", "count": 2}},
                   {"name": "tracks_turn", "weight": 0.5, "measure": "MEASURE_TRACKING", "tracking_width": tracking_width,
                    "quantity": {**turning, "start": 2}, "target": {"command": "velocity", "start": 2}},
                   {"name": "bounces", "weight": -2.0, "measure": "MEASURE_SQUARE_SUM", "quantity": {**moving, "start": 2}},
                   {"name": "rolls", "weight": -0.05, "measure": "MEASURE_SQUARE_SUM", "quantity": {**turning, "count": 2}},
                   {"name": "leans", "weight": -1.0, "measure": "MEASURE_SQUARE_SUM", "quantity": {**upright, "count": 2}},
                   {"name": "jerks", "weight": -0.01, "measure": "MEASURE_SQUARE_SUM", "quantity": {"robot": "ROBOT_QUANTITY_ACTION"},
                    "target": {"robot": "ROBOT_QUANTITY_PREVIOUS_ACTION"}},
                   _survive(0.1)],
        "termination": ends, "max_episode_steps": str(max_episode_steps), "keyframe": keyframe,
        "action": {"scale": [action_scale], "offset_keyframe": keyframe, "frame_skip": frame_skip,
                   **({"lower": [-1.0], "upper": [1.0]} if actuator_ranges else {})},
        "start": [{"of": "START_OF_ROTATION", "lower": -3.1416, "upper": 3.1416},
                  {"of": "START_OF_POSITION", "start": 7, "lower": -0.05, "upper": 0.05},
                  {"of": "START_OF_VELOCITY", "lower": -0.1, "upper": 0.1}],
        "command": [{"name": "velocity", "lower": [-speed for speed in greatest_speed], "upper": list(greatest_speed),
                     "least_steps": 100, "most_steps": 300, "zero_probability": 0.1}]})
