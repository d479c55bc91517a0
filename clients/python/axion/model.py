"""A compiled scene on the server, as the client knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from axion.assets import VisualFiles
from axion.names import Choices, Named
from axion.v1 import scene_pb2, simulation_pb2


class Model:
    """Names, sizes and shapes of an immutable compiled scene.

    Parameters
    ----------
    proto : Model
        What the server said of it.
    visual_files : VisualFiles, optional
        Where viewers get meshes for the eye from.

    Attributes
    ----------
    name : str
        Resource name "models/{id}", the same for the same content.
    display_name : str
        The scene's own.
    body_names, joint_names, actuator_names, shape_names : list of str
        In the order of the tensors' columns; joints that close loops have none.
    loop_joint_names : list of str
        Joints that close loops.
    body_count, joint_position_count, joint_velocity_count, control_count : int
        nb, nq, nv and nu.
    sensors : dict of str to slice
        The columns of the field sensor_data that each sensor's readings are in.
    sensor_size : int
        Columns of sensor_data.
    timestep : float
        What the scene suggests, s.
    contact_capacity : int
        Contacts that a world can hold.
    gravity : numpy.ndarray
        Float64 [3], m/s^2.
    warnings : list of str
        Each element of the source that was understood only in part.
    fingerprint : str
        Stands for all of the scene that decides how its worlds move; the same on every server.
    proto : axion.v1.Model
        The whole message: masses, inertias, joint axes, shapes and so on.
    """

    def __init__(self, proto: simulation_pb2.Model, visual_files: VisualFiles | None = None) -> None:
        self.proto = proto
        self.visual_files = VisualFiles() if visual_files is None else visual_files
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
        self.sensors = Choices("sensor", {sensor.name: slice(sensor.start, sensor.start + sensor.size) for sensor in proto.sensors})
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
        """Shows an answer of a batch of this model by names.

        Parameters
        ----------
        answer : Mapping[str, numpy.ndarray
            A State, StepResult, TaskResult, or any mapping from names of fields to their arrays [n, ...].

        Returns
        -------
        Named
            It has body, joint, actuator and sensor.

        Examples
        --------
        >>> model.named(state).body("torso").pose
        """
        return Named(self, answer)

    @property
    def sensor_noise(self) -> npt.NDArray[np.float64]:
        """Standard deviation that the scene gives each number of sensor_data: float64 [sensor_size].

        Readings have no noise: it is for programs that want some.
        """
        return np.repeat([sensor.noise for sensor in self.proto.sensors], [sensor.size for sensor in self.proto.sensors]).astype(float)

    @property
    def keyframes(self) -> dict[str, npt.NDArray[np.float64]]:
        """Joint positions of the keyframes: dict of name to float64 [nq]."""
        return Choices("keyframe", {key.name: np.array(key.joint_position) for key in self.proto.keyframes})

    @property
    def keyframe_controls(self) -> dict[str, npt.NDArray[np.float64]]:
        """Controls of the keyframes, zero where a keyframe gives none: dict of name to float64 [nu]."""
        return Choices("keyframe", {key.name: np.array(key.control) if key.control else np.zeros(self.control_count)
                                    for key in self.proto.keyframes})

    def joint_positions_of_actuators(self) -> npt.NDArray[np.int64]:
        """Finds the coordinate that each actuator drives.

        Returns
        -------
        numpy.ndarray
            Index into joint_position, -1 on a tendon or at a site: int64 [nu].
        """
        joints, actuators = self.proto.joints, self.proto.actuators
        return np.array([-1 if a.HasField("tendon") or a.HasField("site") else joints[a.joint].position_start + a.axis for a in actuators],
                        dtype=np.int64)

    def tendon_lengths(self, joint_position: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Computes lengths of tendons, the weighted sums of their joints' coordinates.

        Parameters
        ----------
        joint_position : array_like
            Coordinates (rad, m): [..., nq].

        Returns
        -------
        numpy.ndarray
            Float64 [..., tendons]; of tendons through space zero, whose length a "tendon_position" sensor reads.
        """
        positions = np.asarray(joint_position, dtype=np.float64)
        weights = np.zeros((positions.shape[-1], len(self.proto.tendons)))
        for t, tendon in enumerate(self.proto.tendons):
            for term in tendon.terms:
                weights[self.proto.joints[term.joint].position_start + term.axis, t] += term.coefficient
        return positions @ weights

    def effort_limits(self) -> npt.NDArray[np.float64]:
        """Lists the bounds of each actuator's effort before gear.

        Returns
        -------
        numpy.ndarray
            Lower and upper bound (N, N m), infinite where it has none: float64 [nu, 2].
        """
        return np.array([(a.effort_lower, a.effort_upper) if a.effort_limited else (-np.inf, np.inf)
                         for a in self.proto.actuators]).reshape(-1, 2)

    def hold_control(self, keyframe: str) -> npt.NDArray[np.float64]:
        """Computes controls with which position actuators hold a keyframe.

        Parameters
        ----------
        keyframe : str
            Its name.

        Returns
        -------
        numpy.ndarray
            Float64 [nu], rad or m; motors, velocity actuators and those on tendons through space get zero.

        Raises
        ------
        KeyError
            The model has no such keyframe.
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
