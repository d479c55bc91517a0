"""A compiled scene on the server, as the client knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from axion.names import Named
from axion.v1 import scene_pb2, simulation_pb2


class Model:
    """Names, sizes and shapes of an immutable compiled scene.

    name: resource name "models/{id}", the same for the same content. display_name: the scene's own.
    body_names, joint_names, actuator_names, shape_names: in the order of the tensors' columns; joints that close loops
    have none. loop_joint_names: those joints.
    body_count (nb), joint_position_count (nq), joint_velocity_count (nv), control_count (nu).
    sensors: dict of name to the slice of the field sensor_data that the sensor's readings are in, in the model's order;
    sensor_size: its numbers. sensor_noise: float64 [sensor_size], the standard deviation that the scene gives each
    number, for whoever wants noise: readings have none.
    timestep: s, suggested. contact_capacity: contacts that a world can hold. gravity: [3] m/s^2.
    warnings: each element of the source that was understood only in part.
    fingerprint: stands for all of the scene that decides how its worlds move; the same on every server.
    proto: the whole axion.v1.Model (masses, inertias, joint axes, shapes, ...).
    """

    def __init__(self, proto: simulation_pb2.Model) -> None:
        self.proto = proto
        self.name = proto.name
        self.display_name = proto.display_name
        self.body_names = [body.name for body in proto.bodies]
        self.joint_names = [joint.name for joint in proto.joints]
        self.loop_joint_names = [joint.name for joint in proto.joints if joint.closes_loop]
        self.shape_names = [shape.name for shape in proto.shapes]
        self.actuator_names = [actuator.name for actuator in proto.actuators]
        self.body_count = proto.body_count
        self.joint_position_count = proto.joint_position_count
        self.joint_velocity_count = proto.joint_velocity_count
        self.control_count = proto.control_count
        self.sensors = {sensor.name: slice(sensor.start, sensor.start + sensor.size) for sensor in proto.sensors}
        self.sensor_size = proto.sensor_size
        self.timestep = proto.timestep
        self.contact_capacity = proto.contact_capacity
        self.gravity = np.array([proto.gravity.x, proto.gravity.y, proto.gravity.z])
        self.warnings = list(proto.warnings)
        self.fingerprint = proto.fingerprint

    def __repr__(self) -> str:
        return (f"<axion.Model {self.name} '{self.display_name}': {self.body_count} bodies, nq "
                f"{self.joint_position_count}, nv {self.joint_velocity_count}, nu {self.control_count}>")

    def named(self, answer: Mapping[str, npt.NDArray[Any]]) -> Named:
        """An answer of a batch of this model by names: `model.named(state).body("torso").pose`, likewise joint, actuator, sensor.

        answer: a State, StepResult, TaskResult or any mapping from names of fields to their arrays.
        """
        return Named(self, answer)

    @property
    def sensor_noise(self) -> npt.NDArray[np.float64]:
        """Standard deviation that the scene gives each number of sensor_data: float64 [sensor_size]."""
        return np.repeat([sensor.noise for sensor in self.proto.sensors], [sensor.size for sensor in self.proto.sensors]).astype(float)

    @property
    def keyframes(self) -> dict[str, npt.NDArray[np.float64]]:
        """Joint positions of the keyframes: dict of name to float64 [nq]."""
        return {key.name: np.array(key.joint_position) for key in self.proto.keyframes}

    @property
    def keyframe_controls(self) -> dict[str, npt.NDArray[np.float64]]:
        """Controls of the keyframes, zero where a keyframe gives none: dict of name to float64 [nu]."""
        return {key.name: np.array(key.control) if key.control else np.zeros(self.control_count)
                for key in self.proto.keyframes}

    def joint_positions_of_actuators(self) -> npt.NDArray[np.int64]:
        """Index into joint_position of the coordinate that each actuator drives, -1 on a tendon or at a site: int64 [nu]."""
        joints, actuators = self.proto.joints, self.proto.actuators
        return np.array([-1 if a.HasField("tendon") or a.HasField("site") else joints[a.joint].position_start + a.axis for a in actuators],
                        dtype=np.int64)

    def tendon_lengths(self, joint_position: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Lengths of the tendons, the weighted sums of their joints' coordinates: of [..., nq] float64 [..., tendons].

        Tendons through space have zero there: a "tendon_position" sensor reads their length.
        """
        positions = np.asarray(joint_position, dtype=np.float64)
        weights = np.zeros((positions.shape[-1], len(self.proto.tendons)))
        for t, tendon in enumerate(self.proto.tendons):
            for term in tendon.terms:
                weights[self.proto.joints[term.joint].position_start + term.axis, t] += term.coefficient
        return positions @ weights

    def effort_limits(self) -> npt.NDArray[np.float64]:
        """Lower and upper bound of each actuator's effort before gear, infinite where it has none: float64 [nu, 2]."""
        return np.array([(a.effort_lower, a.effort_upper) if a.effort_limited else (-np.inf, np.inf)
                         for a in self.proto.actuators]).reshape(-1, 2)

    def hold_control(self, keyframe: str) -> npt.NDArray[np.float64]:
        """Controls with which position actuators hold a keyframe: float64 [nu].

        Motors, velocity actuators and those on tendons through space get zero. Raises KeyError if the model has no such keyframe.
        """
        keyframes = self.keyframes
        if keyframe not in keyframes:
            raise KeyError(f"keyframe: {keyframe!r} is none of {', '.join(keyframes) or 'none: the model has no keyframes'}")
        lengths = self.tendon_lengths(keyframes[keyframe])
        targets = np.array([lengths[a.tendon] if a.HasField("tendon") else keyframes[keyframe][index]
                            for a, index in zip(self.proto.actuators, self.joint_positions_of_actuators())])
        gears = np.array([a.gear for a in self.proto.actuators])
        positions = np.array([a.kind == scene_pb2.ACTUATOR_KIND_POSITION for a in self.proto.actuators])
        return np.where(positions, gears * targets, 0.0)
