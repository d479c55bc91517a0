"""What training and playing take for a task: a legged robot that is to follow commands, or one of Gymnasium's."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import axion
import axion.gym
from axion.v1 import task_events_pb2, task_pb2

EXAMPLE = "example"  # another name of the quadruped, for a shell
QUADRUPED = pathlib.Path(__file__).resolve().parent / "quadruped.xml"  # put there while the package is built


@dataclasses.dataclass(frozen=True)
class TaskChoice:
    """A task by name: "quadruped", which follows commands, or one of axion.gym.SERVER_TASKS.

    All but the first parameter is for "quadruped".

    Parameters
    ----------
    task : str, default 'quadruped'
        The name.
    model : str, default ''
        The robot's file; this project's own where empty.
    body : str, default 'trunk'
        Its trunk.
    keyframe : str, default 'stand'
        At which it begins.
    least_height : float, default 0.18
        Of the trunk, m; an episode ends below.
    dt : float, default 0.01
        Time step, s.
    frame_skip : int, default 2
        Time steps that an action is held.
    tracking_width : float, default 0.4
        Miss of a commanded speed that is worth exp(-1) of following it, m/s and rad/s.
    miss_cost : float, default 0.5
        Of a miss of a commanded speed, s/m and s/rad.
    speed_cost : float, default 0.0001
        Of the sum of squares of the joints' speeds, s^2/rad^2.
    action_cost : float, default 0.002
        Of the sum of squares of the actions.
    push_speed : float, default 0
        Greatest change of its velocity by a push, m/s, one every 100 to 200 actions; 0: none.
    spread : float, default 0
        By how much friction, masses, gains and damping of an episode may differ: each is the model's times a number
        from 1 / (1 + spread) to 1 + spread. 0: they are the model's.
    """

    task: str = "quadruped"
    model: str = ""
    body: str = "trunk"
    keyframe: str = "stand"
    least_height: float = 0.18
    dt: float = 0.01
    frame_skip: int = 2
    tracking_width: float = 0.4
    miss_cost: float = 0.5
    speed_cost: float = 1e-4
    action_cost: float = 0.002
    push_speed: float = 0.0
    spread: float = 0.0

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds flags of the same names.

        Parameters
        ----------
        parser : argparse.ArgumentParser
            Gets them.
        """
        told = {"task": f"quadruped, or {', '.join(axion.gym.SERVER_TASKS)}", "body": "its trunk", "keyframe": "at which it begins",
                "model": "another legged robot's file, for the quadruped's task", "dt": "time step, s",
                "least_height": "of the trunk, m; an episode ends below", "frame_skip": "time steps that an action is held",
                "tracking_width": "miss of a commanded speed that is worth exp(-1) of following it, m/s and rad/s",
                "miss_cost": "of a miss of a commanded speed by 1 m/s or 1 rad/s",
                "speed_cost": "of the sum of squares of the joints' speeds, rad/s", "action_cost": "of the sum of squares of the actions",
                "push_speed": "greatest change of its velocity by a push, m/s; 0: no pushes",
                "spread": "friction, masses, gains and damping of an episode are the model's times 1/(1 + spread) to 1 + spread"}
        for field in dataclasses.fields(cls):
            default: Any = field.default
            parser.add_argument(f"--{field.name}", type=type(default), default=default,
                                help=f"{told[field.name]}{'' if default == '' else ' [%(default)s]'}")

    @classmethod
    def of(cls, given: dict[str, Any]) -> TaskChoice:
        """Makes it of parsed flags, or of what a policy tells about itself; what else is in there is left.

        Parameters
        ----------
        given : dict[str, Any]
            Values by name.

        Returns
        -------
        TaskChoice
            The choice.
        """
        return cls(**{field.name: given[field.name] for field in dataclasses.fields(cls) if field.name in given})

    @property
    def follows_commands(self) -> bool:
        """bool : Whether it is told where to go."""
        return self.task == "quadruped"

    def server_task(self, command: Sequence[float] | None = None, noise: bool = True) -> axion.gym.ServerTask:
        """Makes the task as data.

        Parameters
        ----------
        command : sequence of float, optional
            m/s forwards, m/s to the left, rad/s to the left, always: [3]; None draws them.
        noise : bool, default True
            Whether observations have some, and worlds are pushed and drawn.

        Returns
        -------
        axion.gym.ServerTask
            The task.

        Raises
        ------
        ValueError
            There is no task of this name, or a choice makes no sense.
        """
        if not self.follows_commands:
            return axion.gym.server_task(self.task)
        spec = copy.deepcopy(axion.gym.command_task(self.body, keyframe=self.keyframe, least_height=self.least_height,
                                                    frame_skip=self.frame_skip, tracking_width=self.tracking_width))
        weights = {"tracks_turn": 0.8, "bounces": -0.5, "leans": -4.0, "reward_survive": 0.5}
        for term in spec.reward:
            term.weight = weights.get(term.name, term.weight)
        # Of a command that is missed by far, exp(-(miss / width)^2) tells next to nothing: whoever stands still gets no more for a first
        # small step. The plain miss has the same slope everywhere.
        for tracks, name in (("tracks_velocity", "misses_velocity"), ("tracks_turn", "misses_turn")):
            term = next(each for each in spec.reward if each.name == tracks)
            spec.reward.add(name=name, weight=-self.miss_cost, measure=task_pb2.MEASURE_ABSOLUTE_SUM, quantity=term.quantity,
                            target=term.target)
        # What there is to track says nothing about how: these keep the legs near the keyframe's pose, and calm.
        rates = task_pb2.Quantity(robot=task_pb2.ROBOT_QUANTITY_GENERALIZED_VELOCITY, start=6)
        spec.reward.add(name="hurries", weight=-self.speed_cost, measure=task_pb2.MEASURE_SQUARE_SUM).quantity.CopyFrom(rates)
        action = task_pb2.Quantity(robot=task_pb2.ROBOT_QUANTITY_ACTION)
        spec.reward.add(name="strays", weight=-self.action_cost, measure=task_pb2.MEASURE_SQUARE_SUM).quantity.CopyFrom(action)
        if noise:
            self._disturb(spec)
        if command is not None:
            del spec.command[0].lower[:], spec.command[0].upper[:]
            spec.command[0].lower.extend(command)
            spec.command[0].upper.extend(command)
            spec.command[0].zero_probability = 0
        if not noise:
            for seen in spec.observation:
                seen.noise = 0
        return axion.gym.ServerTask(self.model or str(QUADRUPED), spec, batch_choices={"dt": self.dt})

    def _disturb(self, spec: task_pb2.TaskSpec) -> None:
        """Pushes and draws, where they are chosen."""
        if self.push_speed < 0 or self.spread < 0:
            raise ValueError(f"push_speed, spread: are {self.push_speed:g} and {self.spread:g}; neither may be below 0")
        if self.push_speed > 0:
            spec.push.add(of=task_events_pb2.PUSH_OF_VELOCITY, bodies=[self.body], least_steps=100, most_steps=200, upper=self.push_speed)
        for name, parameter, together in (("friction", "shape_friction", True), ("mass", "body_mass", False),
                                          ("gains", "actuator_kp", False), ("damping", "axis_damping", False)):
            if self.spread > 0:
                spec.draw.add(name=name, parameter=parameter, together=together, operation=task_events_pb2.DRAW_OPERATION_SCALE,
                              distribution=task_events_pb2.DRAW_DISTRIBUTION_LOG_UNIFORM, lower=1 / (1 + self.spread),
                              upper=1 + self.spread)
