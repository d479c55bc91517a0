"""What step_gradient returns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.linearisation import words_of
from axion.names import Choices
from axion.texts import documented
from axion.v1 import linearize_pb2, step_gradient_pb2

_Floats: TypeAlias = "npt.NDArray[np.float64]"


@documented
class StepGradient:
    """Answer to step_gradient: the gradient of a loss by what k steps of n worlds begin with. Arrays are read-only.

    Attributes
    ----------
    coordinates : list of axion.v1.StateCoordinate
        Kind, name, joint or actuator, and unit of each column of `state`, [x]: those of a Linearisation.
    state : numpy.ndarray
        By the coordinates of the start: float64 [n, x], nv of position along the coordinates of joint_velocity, nv of
        joint_velocity, then activations. It is the state_gradient of a call for the steps before.
    joint_position : numpy.ndarray
        By joint_position as it is given: float64 [n, nq]; of a quaternion at right angles to it.
    joint_velocity : numpy.ndarray
        By joint_velocity as it is given: float64 [n, nv].
    activation : numpy.ndarray
        By activations as they are given: float64 [n, activations].
    control : numpy.ndarray
        By the controls: float64 [n, k, nu], or [n, nu] of controls that are held.
    inputs : dict of str to numpy.ndarray
        By what was asked for in `inputs`: float64 [n, ...].
    outputs : dict of str to numpy.ndarray
        The fields that were asked for, after the steps: float64 [n, ...], or [n, records, ...].
    outcome : numpy.ndarray
        "exact", "inexact" where differences stand for a law of a step, or "non finite": str [n].
    step_outcome : numpy.ndarray
        Bits of Outcome of each step: uint32 [n, k].
    law : numpy.ndarray
        Which law of a step has no exact derivative, such as "soft contact"; else "": str [n, k].
    kink : numpy.ndarray
        True where anything that the gradient is taken by leads over a kink within `difference`, as where a contact opens:
        bool [n, k].
    """

    def __init__(self, proto: step_gradient_pb2.StepGradientResponse) -> None:
        self.coordinates = list(proto.coordinates)
        self.state: _Floats = tensors.to_array(proto.state)
        self.joint_position: _Floats = tensors.to_array(proto.joint_position)
        self.control: _Floats = tensors.to_array(proto.control)
        self.inputs: dict[str, _Floats] = Choices(
            "input", {name: tensors.to_array(tensor) for name, tensor in proto.input_gradients.items()})
        self.outputs: dict[str, _Floats] = Choices(
            "output", {name: tensors.to_array(tensor) for name, tensor in proto.outputs.items()})
        names = {value: name.removeprefix("GRADIENT_OUTCOME_").lower().replace("_", " ")
                 for name, value in step_gradient_pb2.GradientOutcome.items() if value != 0}
        self.outcome: npt.NDArray[np.str_] = np.array([names.get(one, "") for one in proto.outcome], dtype=np.str_)
        self.step_outcome: npt.NDArray[np.uint32] = tensors.to_array(proto.step_outcome)
        self.law: npt.NDArray[np.str_] = words_of(linearize_pb2.LinearizeLaw, "LINEARIZE_LAW_", proto.law)
        self.kink: npt.NDArray[np.bool_] = tensors.to_array(proto.kink) != 0

    def _part(self, kind: linearize_pb2.StateCoordinateKind) -> _Floats:
        """Columns of a kind of coordinates."""
        part: _Floats = self.state[:, [one.kind == kind for one in self.coordinates]]
        return part

    @property
    def joint_velocity(self) -> _Floats:
        """By joint_velocity as it is given: float64 [n, nv]."""
        return self._part(linearize_pb2.STATE_COORDINATE_KIND_VELOCITY)

    @property
    def activation(self) -> _Floats:
        """By activations as they are given: float64 [n, activations]."""
        return self._part(linearize_pb2.STATE_COORDINATE_KIND_ACTIVATION)

    def __repr__(self) -> str:
        n, k = self.law.shape
        exact = int((self.outcome == "exact").sum())
        return f"<axion.StepGradient of {k} steps of {n} worlds, {exact} of them exact: {self.state.shape[1]} coordinates>"
