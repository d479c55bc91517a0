"""Tendons, equalities and actuators of a scene that is made in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from axion.scene_words import ACTUATORS, kind_of, with_range
from axion.texts import documented, documented_part
from axion.v1 import scene_pb2


class SceneTendons:
    """The part of Scene that adds what pulls."""

    proto: scene_pb2.SceneSpec

    @documented_part
    def tendon(self, name: str, terms: Iterable[tuple[int, int, float]] = (), *,
               path: Iterable[scene_pb2.TendonPoint] = (), limits: Sequence[float] | None = None, **choices: Any) -> int:
        """Adds a weighted sum of joint coordinates, or a string along a path through space.

        Parameters
        ----------
        terms : Iterable[tuple[int, int, float]], optional
            Joint, axis and coefficient of each coordinate.
        path : Iterable[TendonPoint], optional
            Of path_site(), path_sphere(), path_cylinder() and path_pulley().
        limits : sequence of float, optional
            Lower and upper length: [2], m, or in the unit of the sum; None is none.
        **choices
            Further fields of the message: {TendonSpec} -limited -lower -upper.
        """
        if limits is not None:
            choices["limited"] = True
            choices["lower"], choices["upper"] = limits
        tendon = self.proto.tendons.add(name=name, path=path, **choices)
        for joint, axis, coefficient in terms:
            tendon.terms.add(joint=joint, axis=axis, coefficient=coefficient)
        return len(self.proto.tendons) - 1

    @staticmethod
    def path_site(frame: scene_pb2.FrameSpec) -> scene_pb2.TendonPoint:
        """Makes a point of a tendon's path.

        Parameters
        ----------
        frame : FrameSpec
            A frame(), whose origin it is.

        Returns
        -------
        TendonPoint
            The point.
        """
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_SITE, frame=frame)

    @staticmethod
    @documented
    def path_sphere(frame: scene_pb2.FrameSpec, radius: float,
                    side: scene_pb2.FrameSpec | None = None) -> scene_pb2.TendonPoint:
        """Makes a sphere that a tendon wraps about between two sites.

        Parameters
        ----------
        frame : FrameSpec
            A frame(), whose origin is the centre.

        Returns
        -------
        TendonPoint
            The part of the path.
        """
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_SPHERE, frame=frame, radius=radius, side=side)

    @staticmethod
    @documented
    def path_cylinder(frame: scene_pb2.FrameSpec, radius: float,
                      side: scene_pb2.FrameSpec | None = None) -> scene_pb2.TendonPoint:
        """Makes a cylinder without ends that a tendon wraps about between two sites.

        Parameters
        ----------
        frame : FrameSpec
            A frame(), whose z axis is the axis.

        Returns
        -------
        TendonPoint
            The part of the path.
        """
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_CYLINDER, frame=frame, radius=radius, side=side)

    @staticmethod
    def path_pulley(divisor: float) -> scene_pb2.TendonPoint:
        """Makes a pulley: the branch of a tendon's path that follows counts a share.

        Parameters
        ----------
        divisor : float
            It counts 1 / divisor.

        Returns
        -------
        TendonPoint
            The part of the path.
        """
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_PULLEY, divisor=divisor)

    @documented_part
    def equality(self, name: str, first: tuple[int, int] | int, polynomial: Sequence[float],
                 second: tuple[int, int] | int | None = None, **choices: Any) -> int:
        """Holds a coordinate at a polynomial of another.

        Parameters
        ----------
        first : tuple[int, int] or int
            Joint and axis, or index of a tendon: polynomial[0] + polynomial[1] second + ... is where it is held.
        polynomial : sequence of float
            Up to five coefficients: [k].
        second : tuple[int, int] or int, optional
            Likewise; without it first is held at polynomial[0].
        **choices
            Further fields of the message: {EqualitySpec}.
        """
        def coordinate(of: tuple[int, int] | int) -> scene_pb2.Coordinate:
            return scene_pb2.Coordinate(tendon=of) if isinstance(of, int) else scene_pb2.Coordinate(joint=of[0], axis=of[1])

        other = None if second is None else coordinate(second)
        self.proto.equalities.add(name=name, first=coordinate(first), second=other, polynomial=polynomial, **choices)
        return len(self.proto.equalities) - 1

    def distance(self, name: str, first: scene_pb2.FrameSpec, second: scene_pb2.FrameSpec, length: float,
                 **choices: Any) -> int:
        """Keeps the origins of two frames a length apart: a rod without mass.

        It is an equality of the length of a tendon, both of this name.

        Parameters
        ----------
        name : str
            Its name, and that of its tendon.
        first, second : FrameSpec
            Of frame().
        length : float
            m, above 0.
        **choices
            Further fields of the message of the equality: stiffness (N/m), damping (N s/m).

        Returns
        -------
        int
            The index of the equality.

        Raises
        ------
        ValueError
            The length is not above 0, or a field does not exist.
        """
        if not length > 0:
            raise ValueError(f"length: is {length}; it must be above 0")
        tendon = self.tendon(name, path=[self.path_site(first), self.path_site(second)])
        return self.equality(name, tendon, (length,), **choices)

    @documented_part
    def actuator(self, kind: str, name: str, joint: int = 0, axis: int = 0, *, tendon: int | None = None,
                 control_range: Sequence[float] | None = None, effort_range: Sequence[float] | None = None,
                 **choices: Any) -> int:
        """Adds an actuator, on an axis of a joint of the tree or on a tendon.

        Parameters
        ----------
        kind : str
            "motor", "position", "velocity", "affine" or "muscle".
        joint : int, default 0
            Index of the joint.
        axis : int, default 0
            Which of its axes.
        tendon : int, optional
            Index of a tendon, in the place of both.
        control_range : sequence of float, optional
            Lower and upper that clamp the control: [2]; None is none.
        effort_range : sequence of float, optional
            Lower and upper that clamp the effort before gear, N or N m: [2].
        **choices
            Further fields of the message; a site is a frame(): {ActuatorSpec} -control_limited -control_lower
            -control_upper -effort_limited -effort_lower -effort_upper.
        """
        with_range(choices, "control", control_range)
        with_range(choices, "effort", effort_range)
        if tendon is not None:
            choices["tendon"] = tendon
        self.proto.actuators.add(name=name, kind=kind_of(ACTUATORS, kind), joint=joint, axis=axis, **choices)
        return len(self.proto.actuators) - 1
