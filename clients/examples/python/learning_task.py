"""What train_quadruped.py and play_policy.py take for a task: a legged robot that is to follow commands, or one of Gymnasium's."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import axion
import axion.gym
from axion.v1 import task_pb2

QUADRUPED = pathlib.Path(__file__).resolve().parents[1] / "models" / "quadruped.xml"


@dataclasses.dataclass(frozen=True)
class TaskChoice:
    """A task by name: "quadruped", or one of axion.gym.SERVER_TASKS.

    The rest is for "quadruped": the robot's file (this project's own where empty), its trunk, the keyframe that it begins at, how low
    its trunk may come (m), the time step (s) and how many of them an action is held, and what the joints' speeds (s^2/rad^2) and the
    actions cost.
    """

    task: str = "quadruped"
    model: str = ""
    body: str = "trunk"
    keyframe: str = "stand"
    least_height: float = 0.18
    dt: float = 0.01
    frame_skip: int = 2
    speed_cost: float = 1e-3
    action_cost: float = 0.01

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Flags of the same names."""
        told = {"task": f"quadruped, or {', '.join(axion.gym.SERVER_TASKS)}", "body": "its trunk", "keyframe": "at which it begins",
                "model": "another legged robot's file, for the quadruped's task", "dt": "time step, s",
                "least_height": "of the trunk, m; an episode ends below", "frame_skip": "time steps that an action is held",
                "speed_cost": "of the sum of squares of the joints' speeds, rad/s", "action_cost": "of the sum of squares of the actions"}
        for field in dataclasses.fields(cls):
            default: Any = field.default
            parser.add_argument(f"--{field.name}", type=type(default), default=default,
                                help=f"{told[field.name]}{'' if default == '' else ' [%(default)s]'}")

    @classmethod
    def of(cls, given: dict[str, Any]) -> TaskChoice:
        """From parsed flags, or from what a policy tells about itself; what else is in there is left."""
        return cls(**{field.name: given[field.name] for field in dataclasses.fields(cls) if field.name in given})

    @property
    def follows_commands(self) -> bool:
        """Whether it is told where to go."""
        return self.task == "quadruped"

    def server_task(self, command: Sequence[float] | None = None, noise: bool = True) -> axion.gym.ServerTask:
        """The task as data. command: m/s forwards, m/s to the left, rad/s to the left, always, in place of drawn ones. noise: that
        observations are to have. ValueError for a name that there is none of."""
        if not self.follows_commands:
            return axion.gym.server_task(self.task)
        spec = copy.deepcopy(axion.gym.command_task(self.body, keyframe=self.keyframe, least_height=self.least_height,
                                                    frame_skip=self.frame_skip))
        for term in spec.reward:
            if term.name == "tracks_turn":
                term.weight = 0.8  # with less, some seeds learn to turn one way and stand still for the other
        # What there is to track says nothing about how: these keep the legs near the keyframe's pose, and calm.
        rates = task_pb2.Quantity(robot=task_pb2.ROBOT_QUANTITY_GENERALIZED_VELOCITY, start=6)
        spec.reward.add(name="hurries", weight=-self.speed_cost, measure=task_pb2.MEASURE_SQUARE_SUM).quantity.CopyFrom(rates)
        action = task_pb2.Quantity(robot=task_pb2.ROBOT_QUANTITY_ACTION)
        spec.reward.add(name="strays", weight=-self.action_cost, measure=task_pb2.MEASURE_SQUARE_SUM).quantity.CopyFrom(action)
        if command is not None:
            del spec.command[0].lower[:], spec.command[0].upper[:]
            spec.command[0].lower.extend(command)
            spec.command[0].upper.extend(command)
            spec.command[0].zero_probability = 0
        if not noise:
            for term in spec.observation:
                term.noise = 0
        return axion.gym.ServerTask(self.model or str(QUADRUPED), spec, batch_choices={"dt": self.dt})
