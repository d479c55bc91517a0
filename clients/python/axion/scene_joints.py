"""Joints of a scene that is made in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from axion.scene_words import WORLD, vec3
from axion.texts import documented, documented_part
from axion.v1 import scene_pb2


def _across(normal: Sequence[float]) -> tuple[list[float], list[float]]:
    """Two unit vectors across a normal, x and y turned by the least turn from z to it."""
    a, b, c = (value / math.hypot(*normal) for value in normal)
    if c < -1 + 1e-12:
        return [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]
    return [1 - a * a / (1 + c), -a * b / (1 + c), -a], [-a * b / (1 + c), 1 - b * b / (1 + c), -b]


class SceneJoints:
    """The part of Scene that adds joints."""

    proto: scene_pb2.SceneSpec

    def _joint(self, kind: scene_pb2.JointKind, name: str, child: int, parent: int | None,
               anchor: Sequence[float] = (0, 0, 0), **choices: Any) -> int:
        self.proto.joints.add(name=name, kind=kind, child=child, parent=WORLD if parent is None else parent,
                              anchor=vec3(anchor), **choices)
        return len(self.proto.joints) - 1

    @documented
    def free(self, name: str, child: int) -> int:
        """Adds six degrees of freedom; a body with this joint has no other.

        Parameters
        ----------
        child : int
            Index of the body.

        Returns
        -------
        int
            Its index, which later methods take.
        """
        return self._joint(scene_pb2.JOINT_KIND_FREE, name, child, None)

    @documented_part
    def fixed(self, name: str, child: int, parent: int | None = None, *, anchor: Sequence[float] = (0, 0, 0),
              **choices: Any) -> int:
        """Welds two bodies; with lock_stiffness (and lock_damping), a break limit or in a loop they stay two, held at the anchor.

        Parameters
        ----------
        **choices
            Further fields of the message, as of `axes`.
        """
        return self._joint(scene_pb2.JOINT_KIND_FIXED, name, child, parent, anchor, **choices)

    @documented_part
    def ball(self, name: str, child: int, parent: int | None = None, *, anchor: Sequence[float] = (0, 0, 0),
             **choices: Any) -> int:
        """Adds three rotations about the anchor.

        Parameters
        ----------
        **choices
            Further fields of the message, as of `axes`.
        """
        return self._joint(scene_pb2.JOINT_KIND_BALL, name, child, parent, anchor, **choices)

    @documented_part
    def axes(self, name: str, child: int, parent: int | None = None, *, axes: Iterable[scene_pb2.AxisSpec],
             **choices: Any) -> int:
        """Adds up to three axes in a chain, slides before hinges.

        Parameters
        ----------
        axes : Iterable[AxisSpec]
            Each what hinge_axis or slide_axis returns.
        **choices
            Further fields of the message: {JointSpec} -kind.
        """
        return self._joint(scene_pb2.JOINT_KIND_AXES, name, child, parent, axes=axes, **choices)

    @documented_part
    def hinge(self, name: str, child: int, parent: int | None = None, *, axis: Sequence[float] = (0, 0, 1),
              anchor: Sequence[float] = (0, 0, 0), lock_stiffness: float = 0.0, lock_damping: float = 0.0,
              **choices: Any) -> int:
        """Adds one hinge.

        Parameters
        ----------
        **choices
            As of hinge_axis: limits, damping, stiffness and others.
        """
        return self.axes(name, child, parent, axes=[self.hinge_axis(name, axis, anchor, **choices)],
                         lock_stiffness=lock_stiffness, lock_damping=lock_damping)

    @documented_part
    def slide(self, name: str, child: int, parent: int | None = None, *, axis: Sequence[float] = (0, 0, 1),
              lock_stiffness: float = 0.0, lock_damping: float = 0.0, **choices: Any) -> int:
        """Adds one slide.

        Parameters
        ----------
        **choices
            As of slide_axis: limits, damping, stiffness and others.
        """
        return self.axes(name, child, parent, axes=[self.slide_axis(name, axis, **choices)],
                         lock_stiffness=lock_stiffness, lock_damping=lock_damping)

    @documented_part
    def planar(self, name: str, child: int, parent: int | None = None, *, normal: Sequence[float] = (0, 0, 1),
               anchor: Sequence[float] = (0, 0, 0), limits: Sequence[Sequence[float] | None] = (None, None, None),
               lock_stiffness: float = 0.0, lock_damping: float = 0.0, **choices: Any) -> int:
        """Adds two slides across a normal and a hinge about it, as a planar joint of URDF is.

        Its axes 0 to 2 are called name_TX, name_TY and name_RZ. Of normal z the slides are along x and y.

        Parameters
        ----------
        normal : sequence of float, default (0, 0, 1)
            Direction in the frame of the child, of any length above zero: [3].
        anchor : sequence of float, default (0, 0, 0)
            Where the hinge holds, in the frame of the child, m: [3].
        limits : sequence, default (None, None, None)
            Lower and upper of each axis, m and rad: [3][2]; None is none.
        **choices
            Of all three axes, as of hinge_axis: damping, stiffness and others.
        """
        x, y = _across(normal)
        return self.axes(name, child, parent, lock_stiffness=lock_stiffness, lock_damping=lock_damping, axes=[
            self.slide_axis(f"{name}_TX", x, limits=limits[0], **choices),
            self.slide_axis(f"{name}_TY", y, limits=limits[1], **choices),
            self.hinge_axis(f"{name}_RZ", normal, anchor, limits=limits[2], **choices)])

    @staticmethod
    @documented_part
    def hinge_axis(name: str, axis: Sequence[float] = (0, 0, 1), anchor: Sequence[float] = (0, 0, 0), *,
                   limits: Sequence[float] | None = None, **choices: Any) -> scene_pb2.AxisSpec:
        """Makes an axis to turn about, for `axes`.

        Parameters
        ----------
        limits : sequence of float, optional
            Lower and upper, rad: [2]; None is none.
        **choices
            Further fields of the message: {AxisSpec} -kind -limited -lower -upper.

        Returns
        -------
        AxisSpec
            The axis.
        """
        return SceneJoints._axis(scene_pb2.AXIS_KIND_HINGE, name, axis, limits, anchor=vec3(anchor), **choices)

    @staticmethod
    @documented_part
    def slide_axis(name: str, axis: Sequence[float] = (0, 0, 1), *, limits: Sequence[float] | None = None,
                   **choices: Any) -> scene_pb2.AxisSpec:
        """Makes a line to slide along, for `axes`.

        Parameters
        ----------
        limits : sequence of float, optional
            Lower and upper, m: [2]; None is none.
        **choices
            As of hinge_axis.

        Returns
        -------
        AxisSpec
            The axis.
        """
        return SceneJoints._axis(scene_pb2.AXIS_KIND_SLIDE, name, axis, limits, **choices)

    @staticmethod
    def _axis(kind: scene_pb2.AxisKind, name: str, axis: Sequence[float], limits: Sequence[float] | None,
              **choices: Any) -> scene_pb2.AxisSpec:
        if limits is not None:
            choices["limited"] = True
            choices["lower"], choices["upper"] = limits
        return scene_pb2.AxisSpec(name=name, kind=kind, axis=vec3(axis), **choices)
