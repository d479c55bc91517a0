"""What an answer says of one body, joint, actuator or sensor, by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import numpy.typing as npt

if TYPE_CHECKING:
    from axion.model import Model

_Value = TypeVar("_Value")
_Array: TypeAlias = "npt.NDArray[Any]"
_Answer: TypeAlias = "Mapping[str, npt.NDArray[Any]]"


class Choices(dict[str, _Value]):
    """A dict whose KeyError says what there is.

    Parameters
    ----------
    kind : str
        What the keys name.
    values : Mapping
        Its items.
    """

    def __init__(self, kind: str, values: Mapping[str, _Value]) -> None:
        super().__init__(values)
        self.kind = kind

    def __missing__(self, key: object) -> NoReturn:
        raise KeyError(f"{self.kind}: {key!r} is none of {', '.join(self) or 'none: there are no ' + self.kind + 's'}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self))


def _index(kind: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise KeyError(f"{kind}: {name!r} is none of {', '.join(names) or 'none: the model has no ' + kind}")
    return names.index(name)


class NamedPart:
    """One body, joint or actuator of an answer.

    Arrays are [n, ...], or [n, records, ...] where the answer has records; each is a view.

    Parameters
    ----------
    answer : _Answer
        The answer.
    index : int
        Its index in the model.
    name : str, default ""
        Its name there.
    """

    def __init__(self, answer: _Answer, index: int, name: str = "") -> None:
        self._answer, self.index, self.name = answer, index, name

    def __repr__(self) -> str:
        return f"<axion.{type(self).__name__} {self.name!r} of {self._answer!r}>"


class NamedBody(NamedPart):
    """One body of an answer."""

    @property
    def pose(self) -> _Array:
        """[n, 7]: x y z (m), then the quaternion w x y z, of the body's frame in the world. Of the field body_pose."""
        return self._answer["body_pose"][..., self.index, :]

    @property
    def position(self) -> _Array:
        """[n, 3] m: where the body's frame is in the world."""
        return self.pose[..., :3]

    @property
    def quaternion(self) -> _Array:
        """[n, 4] w x y z: how the body's frame is turned in the world."""
        return self.pose[..., 3:]

    @property
    def velocity(self) -> _Array:
        """[n, 6]: linear of the centre of mass (m/s), then angular (rad/s), world axes. Of the field body_velocity."""
        return self._answer["body_velocity"][..., self.index, :]

    @property
    def contact_impulse(self) -> _Array:
        """[n, 6] N s, N m s: of all contacts in the last step. Of the field contact_impulse."""
        return self._answer["contact_impulse"][..., self.index, :]


class NamedJoint(NamedPart):
    """One joint of an answer.

    Parameters
    ----------
    answer : _Answer
        The answer.
    index : int
        Index of the joint in the model.
    position : slice
        Its columns of joint_position.
    velocity : slice
        Its columns of joint_velocity.
    name : str, default ""
        Its name in the model.
    """

    def __init__(self, answer: _Answer, index: int, position: slice, velocity: slice, name: str = "") -> None:
        super().__init__(answer, index, name)
        self._position, self._velocity = position, velocity

    @property
    def position(self) -> _Array:
        """[n, 7] of a free joint, 4 of a ball, one (rad or m) an axis; of a joint that closes a loop none. Of joint_position."""
        return self._answer["joint_position"][..., self._position]

    @property
    def velocity(self) -> _Array:
        """[n, 6] of a free joint, 3 of a ball, one (rad/s or m/s) an axis. Of the field joint_velocity."""
        return self._answer["joint_velocity"][..., self._velocity]

    @property
    def impulse(self) -> _Array:
        """[n, 6] N s, N m s: of the last step on the child. Of the field joint_impulse."""
        return self._answer["joint_impulse"][..., self.index, :]

    @property
    def break_ratio(self) -> _Array:
        """[n]: greatest share of its break limits since the last reset or new state, above 1 beyond one. Of the field break_ratio."""
        return self._answer["break_ratio"][..., self.index]


class NamedActuator(NamedPart):
    """One actuator of an answer."""

    @property
    def control(self) -> _Array:
        """[n]: the last that was applied. Of the field control."""
        return self._answer["control"][..., self.index]

    @property
    def force(self) -> _Array:
        """[n] N or N m, before gear. Of the field actuator_force."""
        return self._answer["actuator_force"][..., self.index]


class Named:
    """An answer (a State, StepResult or TaskResult) by the names of its model; Model.named makes it.

    The arrays of fields that the answer lacks raise KeyError.

    Parameters
    ----------
    model : Model
        The model.
    answer : _Answer
        The answer.

    Examples
    --------
    >>> height = model.named(state).body("torso").position[:, 2]
    """

    def __init__(self, model: Model, answer: _Answer) -> None:
        self._model, self._answer = model, answer

    def body(self, name: str) -> NamedBody:
        """Finds the body of a name.

        Parameters
        ----------
        name : str
            Its name in the model.

        Returns
        -------
        NamedBody
            What the answer says of it.

        Raises
        ------
        KeyError
            The model has no such body.
        """
        return NamedBody(self._answer, _index("body", name, self._model.body_names), name)

    def joint(self, name: str) -> NamedJoint:
        """Finds the joint of a name.

        Parameters
        ----------
        name : str
            Its name in the model, or that of one of its axes, such as one of two hinges of a body.

        Returns
        -------
        NamedJoint
            What the answer says of it; of an axis position and velocity are its own, and the rest the joint's.

        Raises
        ------
        KeyError
            The model has no such joint.
        """
        joints, names = self._model.proto.joints, self._model.joint_names
        axes = {axis.name: (index, place) for index, joint in enumerate(joints) for place, axis in enumerate(joint.axes)}
        if name in axes and name not in names:
            index, place = axes[name]
            position, velocity = joints[index].position_start + place, joints[index].velocity_start + place
            return NamedJoint(self._answer, index, slice(position, position + 1), slice(velocity, velocity + 1), name)
        index = _index("joint", name, [*names, *(axis for axis in axes if axis not in names)])
        joint = joints[index]
        return NamedJoint(self._answer, index, slice(joint.position_start, joint.position_start + joint.position_count),
                          slice(joint.velocity_start, joint.velocity_start + joint.velocity_count), name)

    def actuator(self, name: str) -> NamedActuator:
        """Finds the actuator of a name.

        Parameters
        ----------
        name : str
            Its name in the model.

        Returns
        -------
        NamedActuator
            What the answer says of it.

        Raises
        ------
        KeyError
            The model has no such actuator.
        """
        return NamedActuator(self._answer, _index("actuator", name, self._model.actuator_names), name)

    def sensor(self, name: str) -> _Array:
        """Reads the sensor of a name.

        Parameters
        ----------
        name : str
            Its name in the model.

        Returns
        -------
        numpy.ndarray
            Its readings: [n, numbers of the sensor]. Of the field sensor_data.

        Raises
        ------
        KeyError
            The model has no such sensor, or the answer no sensor_data.
        """
        _index("sensor", name, list(self._model.sensors))
        return self._answer["sensor_data"][..., self._model.sensors[name]]

    def __repr__(self) -> str:
        return f"<axion.Named {self._answer!r} of {self._model.name}>"
