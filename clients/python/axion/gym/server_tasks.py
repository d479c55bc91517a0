"""Tasks for the server: axion.v1.TaskSpec with a model, and Gymnasium's MuJoCo tasks, version 5, as such data, with the observations,
rewards, ends and starts of the environment of the same name, for the same state."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from axion.task import TaskLike, task_spec
from axion.tensors import as_array
from axion.texts import documented
from axion.v1 import task_pb2

_Fields = dict[str, Any]
_Task = types.SimpleNamespace


@dataclasses.dataclass
class ServerTask:
    """A model and what the server is to compute of its worlds.

    A subclass adds what the client computes of it, for all worlds at once: `observe`, `rewards` and `terminated` are
    given what the server's task observes, to which `observe` alone may write.

    Parameters
    ----------
    model : str
        Path of an MJCF or URDF file, or the name of a file that Gymnasium has for MuJoCo.
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

        Raises
        ------
        FileNotFoundError
            There is none of this name here or in gymnasium.
        TypeError
            It is no path.
        """
        if not isinstance(self.model, (str, os.PathLike)):
            raise TypeError(f"model: wants the path of a file, not {self.model!r}"[:200])
        path = pathlib.Path(self.model)
        known = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / path
        if not path.is_file() and not known.is_file():
            raise FileNotFoundError(f"{path}: is no file, and this version of gymnasium has no such model; give `model` a path")
        return path if path.is_file() else known

    def observe(self, seen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Computes what environments observe; here just that which the server's task does.

        Parameters
        ----------
        seen : numpy.ndarray
            What the server's task observes: [n, k].

        Returns
        -------
        numpy.ndarray
            What is observed: [n, m].
        """
        return seen

    @documented
    def rewards(self, before: npt.NDArray[Any], after: npt.NDArray[Any], action: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """Computes terms that the reward has besides those of the server's task; here none.

        Parameters
        ----------
        before : numpy.ndarray
            What the server's task observed before the action: [n, k].
        action : numpy.ndarray
            [n, nu].

        Returns
        -------
        dict of str to numpy.ndarray
            Float64 [n] of each name; none is that of a term of the server's task.
        """
        return {}

    @documented
    def terminated(self, after: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Tells which episodes come to an end besides those that the server's task ends; here none.

        Returns
        -------
        numpy.ndarray
            Bool [n].
        """
        return np.zeros(len(after), dtype=bool)


def _check_choice(name: str, value: Any, known: Any) -> None:
    """TypeError for a choice that is of another kind than its value in Gymnasium."""
    if isinstance(known, str):
        kind, right = "a text", isinstance(value, (str, os.PathLike))
    elif isinstance(known, bool):
        kind, right = "True or False", isinstance(value, (int, np.bool_))
    else:
        kind, given = f"{len(known)} numbers" if isinstance(known, tuple) else "a number", as_array(value, name)
        right = given.shape == np.shape(known) and given.dtype.kind in "biuf"
    if not right:
        raise TypeError(f"{name}: wants {kind}, not {value!r}"[:200])


def _positions(skipped: int, count: int = 0) -> _Fields:
    return {"field": "joint_position", "start": skipped, "count": count}


def _velocities(limit: float = np.inf) -> _Fields:
    quantity: _Fields = {"robot": "ROBOT_QUANTITY_GENERALIZED_VELOCITY"}
    return {**quantity, "lower": -limit, "upper": limit} if np.isfinite(limit) else quantity


def _observe(*quantities: _Fields) -> list[_Fields]:
    return [{"quantity": quantity} for quantity in quantities]


def _bounds(lower: float, upper: float) -> _Fields:
    return {key: value for key, value in (("lower", lower), ("upper", upper)) if np.isfinite(value)}


def _control(weight: float) -> _Fields:
    return {"name": "reward_ctrl", "weight": -weight, "measure": "MEASURE_SQUARE_SUM", "quantity": {"robot": "ROBOT_QUANTITY_ACTION"}}


def _survive(weight: float) -> _Fields:
    return {"name": "reward_survive", "weight": weight, "measure": "MEASURE_ALIVE"}


def _outside(name: str, quantity: _Fields, bounds: tuple[float, float], bounds_end: bool) -> list[_Fields]:
    within = _bounds(*bounds)
    return [{"name": name, "quantity": quantity, "bounds_end": bounds_end, **within}] if within else []


def _non_finite() -> list[_Fields]:
    return [{"name": "positions", "condition": "CONDITION_NON_FINITE", "quantity": _positions(0)},
            {"name": "velocities", "condition": "CONDITION_NON_FINITE", "quantity": _velocities()}]


def _start(task: _Task) -> list[_Fields]:
    noise = task.reset_noise_scale
    velocity: _Fields = ({"distribution": "DISTRIBUTION_NORMAL", "deviation": noise} if task.normal_velocity_noise else
                         {"lower": -noise, "upper": noise})
    return [{"of": "START_OF_POSITION", "lower": -noise, "upper": noise}, {"of": "START_OF_VELOCITY", **velocity}]


def _runner(task: _Task, along: _Fields, ends: list[_Fields]) -> _Fields:
    if not task.terminate_when_unhealthy and task.healthy_reward and ends:
        raise ValueError("terminate_when_unhealthy: False has no form for the server beside a healthy_reward: its term for being alive "
                         "is 0 where an episode ends alone; a ServerTask's own `rewards` has it (docs/tasks.md)")
    forward = {"name": "reward_forward", "weight": task.forward_reward_weight, "measure": "MEASURE_RATE", "quantity": {**along, "count": 1}}
    return {"observation": _observe(_positions(task.skipped_positions), _velocities(task.greatest_velocity)),
            "reward": [forward, _control(task.ctrl_cost_weight), *([_survive(task.healthy_reward)] if task.healthy_reward else [])],
            "termination": ends if task.terminate_when_unhealthy else [], "start": _start(task)}


def _ant(task: _Task) -> _Fields:
    wrenches = {"robot": "ROBOT_QUANTITY_BODY_WRENCHES", **_bounds(*task.contact_force_range)}
    made = _runner(task, {"body": task.main_body}, _outside("height", _positions(2, 1), task.healthy_z_range, False) + _non_finite())
    made["observation"] += _observe(wrenches)
    made["reward"].append({"name": "reward_contact", "weight": -task.contact_cost_weight, "measure": "MEASURE_SQUARE_SUM",
                           "quantity": wrenches})
    return made


def _plain_runner(task: _Task) -> _Fields:
    return _runner(task, _positions(0), [])


def _hopper(task: _Task) -> _Fields:
    return _runner(task, _positions(0), _outside("height", _positions(1, 1), task.healthy_z_range, True) +
                   _outside("angle", _positions(2, 1), task.healthy_angle_range, True) +
                   _outside("positions", _positions(2), task.healthy_state_range, True) +
                   _outside("velocities", _velocities(), task.healthy_state_range, True))


def _humanoid(task: _Task) -> _Fields:
    wrenches = {"robot": "ROBOT_QUANTITY_BODY_WRENCHES"}
    made = _runner(task, {"robot": "ROBOT_QUANTITY_CENTER_OF_MASS"}, _outside("height", _positions(2, 1), task.healthy_z_range, True))
    made["observation"] += _observe({"robot": "ROBOT_QUANTITY_BODY_INERTIAS"}, {"robot": "ROBOT_QUANTITY_BODY_TWISTS"},
                                    {"robot": "ROBOT_QUANTITY_ACTUATOR_FORCES", "start": 6}, wrenches)
    low, high = task.contact_cost_range
    made["reward"].append({"name": "reward_contact", "weight": -task.contact_cost_weight, "measure": "MEASURE_SQUARE_SUM",
                           "quantity": wrenches, **_bounds(-high, -low)})
    return made


def _inverted_pendulum(task: _Task) -> _Fields:
    return {"observation": _observe(_positions(0), _velocities()), "reward": [_survive(1.0)],
            "termination": _outside("angle", _positions(1), (-0.2, 0.2), False) + _non_finite(), "start": _start(task)}


def _inverted_double_pendulum(task: _Task) -> _Fields:
    # The last observation, the force that holds the cart at the ends of its rail, is zero.
    tip = {"body": "pole2", "point": dict(zip("xyz", task.tip))}
    return {"observation": _observe(_positions(0, 1), {**_positions(1), "function": "FUNCTION_SINE"},
                                    {**_positions(1), "function": "FUNCTION_COSINE"}, _velocities(10.0),
                                    {**_positions(0, 1), "scale": [0.0]}),
            "reward": [_survive(task.healthy_reward),
                       {"name": "distance_penalty", "weight": -1.0, "measure": "MEASURE_SQUARE_SUM",
                        "quantity": {**tip, "scale": [0.1, 0.0, 1.0], "offset": [0.0, 0.0, -2.0]}},
                       {"name": "velocity_penalty", "weight": -1.0, "measure": "MEASURE_SUM",
                        "quantity": {**_velocities(), "start": 1, "function": "FUNCTION_SQUARE", "scale": [1e-3, 5e-3]}}],
            "termination": _outside("height", {**tip, "start": 2}, (1.0, np.inf), True), "start": _start(task)}


def _distance(name: str, body: str, other: str, weight: float) -> _Fields:
    return {"name": name, "weight": -weight, "measure": "MEASURE_LENGTH", "quantity": {"body": body, "relative_to": other}}


def _reacher(task: _Task) -> _Fields:
    angles = _positions(0, 2)
    return {"observation": _observe({**angles, "function": "FUNCTION_COSINE"}, {**angles, "function": "FUNCTION_SINE"}, _positions(2),
                                    {**_velocities(), "count": 2}, {"body": "fingertip", "relative_to": "target", "count": 2}),
            "reward": [_distance("reward_dist", "fingertip", "target", task.reward_dist_weight), _control(task.reward_control_weight)],
            "start": [{"of": "START_OF_POSITION", "count": 2, "lower": -0.1, "upper": 0.1},
                      {"of": "START_OF_POSITION", "start": 2, "replaces": True, "lower": -0.2, "upper": 0.2, "shorter_than": 0.2},
                      {"of": "START_OF_VELOCITY", "count": 2, "lower": -0.005, "upper": 0.005}]}


def _pusher(task: _Task) -> _Fields:
    return {"observation": _observe(_positions(0, 7), {**_velocities(), "count": 7}, {"body": "tips_arm"}, {"body": "object"},
                                    {"body": "goal"}),
            "reward": [_distance("reward_dist", "object", "goal", task.reward_dist_weight),
                       _distance("reward_near", "object", "tips_arm", task.reward_near_weight), _control(task.reward_control_weight)],
            "start": [{"of": "START_OF_POSITION", "start": 7, "count": 2, "replaces": True, "lower": -1, "upper": 1,
                       "scale": [0.15, 0.2], "offset": [-0.15, 0.0], "longer_than": 0.17},
                      {"of": "START_OF_VELOCITY", "count": 7, "lower": -0.005, "upper": 0.005}]}


_PLAIN: _Fields = {"max_episode_steps": 1000, "reset_noise_scale": 0.1, "normal_velocity_noise": False}
_RUNNER: _Fields = {**_PLAIN, "frame_skip": 5, "forward_reward_weight": 1.0, "ctrl_cost_weight": 0.1, "healthy_reward": 0.0,
                    "terminate_when_unhealthy": True, "skipped_positions": 1, "greatest_velocity": np.inf}
_HOPPER: _Fields = {**_RUNNER, "model": "hopper.xml", "frame_skip": 4, "reset_noise_scale": 5e-3, "ctrl_cost_weight": 1e-3,
                    "healthy_reward": 1.0, "greatest_velocity": 10.0, "healthy_state_range": (-100.0, 100.0),
                    "healthy_z_range": (0.7, np.inf), "healthy_angle_range": (-0.2, 0.2)}
_ARM: _Fields = {"reward_dist_weight": 1.0, "reward_control_weight": 1.0}

# Of each of Gymnasium's environments what makes its data, and the choices that there are with Gymnasium's values.
TASK_CHOICES: dict[str, tuple[Callable[[_Task], _Fields], _Fields]] = {
    "Ant-v5": (_ant, {**_RUNNER, "model": "ant.xml", "normal_velocity_noise": True, "ctrl_cost_weight": 0.5, "healthy_reward": 1.0,
                      "skipped_positions": 2, "contact_cost_weight": 5e-4, "contact_force_range": (-1.0, 1.0),
                      "healthy_z_range": (0.2, 1.0), "main_body": "torso"}),
    "HalfCheetah-v5": (_plain_runner, {**_RUNNER, "model": "half_cheetah.xml", "normal_velocity_noise": True}),
    "Hopper-v5": (_hopper, _HOPPER),
    "Humanoid-v5": (_humanoid, {**_RUNNER, "model": "humanoid.xml", "reset_noise_scale": 1e-2, "forward_reward_weight": 1.25,
                                "healthy_reward": 5.0, "skipped_positions": 2, "contact_cost_weight": 5e-7,
                                "contact_cost_range": (-np.inf, 10.0), "healthy_z_range": (1.0, 2.0)}),
    "InvertedDoublePendulum-v5": (_inverted_double_pendulum, {
        **_PLAIN, "model": "inverted_double_pendulum.xml", "frame_skip": 5, "normal_velocity_noise": True, "healthy_reward": 10.0,
        "tip": (0.0, 0.0, 0.6)}),  # m, the file's site "tip" in the frame of its last body
    "InvertedPendulum-v5": (_inverted_pendulum, {**_PLAIN, "model": "inverted_pendulum.xml", "frame_skip": 2, "reset_noise_scale": 0.01}),
    "Pusher-v5": (_pusher, {**_ARM, "model": "pusher_v5.xml", "frame_skip": 5, "max_episode_steps": 100, "reward_near_weight": 0.5,
                            "reward_control_weight": 0.1}),
    "Reacher-v5": (_reacher, {**_ARM, "model": "reacher.xml", "frame_skip": 2, "max_episode_steps": 50}),
    "Swimmer-v5": (_plain_runner, {**_RUNNER, "model": "swimmer.xml", "frame_skip": 4, "ctrl_cost_weight": 1e-4, "skipped_positions": 2}),
    "Walker2d-v5": (_hopper, {**_HOPPER, "model": "walker2d_v5.xml", "healthy_state_range": (-np.inf, np.inf),
                              "healthy_z_range": (0.8, 2.0), "healthy_angle_range": (-1.0, 1.0)})}

# Names of Gymnasium's environments that server_task takes.
SERVER_TASKS = tuple(TASK_CHOICES)


def server_task(name: str, **choices: Any) -> ServerTask:
    """Makes the task of Gymnasium's environment of a name.

    Parameters
    ----------
    name : str
        For example "Ant-v5"; SERVER_TASKS has them all.
    **choices
        What is to differ, by Gymnasium's names: reset_noise_scale, frame_skip, ctrl_cost_weight, healthy_z_range and so
        on. An error lists the choices of a task.

    Returns
    -------
    ServerTask
        The task.

    Raises
    ------
    ValueError
        There is no data of such a task, or of such a choice.
    TypeError
        The task has no such choice, or not of such a kind.
    """
    if name not in TASK_CHOICES:
        raise ValueError(f"task: {name!r} is none of {', '.join(SERVER_TASKS)}")
    make, fields = TASK_CHOICES[name]
    for choice in choices:
        if choice not in fields:
            raise TypeError(f"{choice}: is no choice of {name}, which has {', '.join(sorted(fields))}")
        _check_choice(choice, choices[choice], fields[choice])
    task = _Task(**{**fields, **choices})
    return ServerTask(task.model, task_spec({**make(task), "action": {"frame_skip": task.frame_skip},
                                             "max_episode_steps": str(task.max_episode_steps)}))


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
    ends = _outside("upside_down", {**upright, "start": 2}, (-np.inf, -0.3), False)
    if least_height is not None:
        ends += _outside("height", {"body": body, "start": 2}, (least_height, np.inf), False)
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
