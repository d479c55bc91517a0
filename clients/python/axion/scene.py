"""Scenes made in Python: a thin builder over axion.v1.SceneSpec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from axion.scene_joints import SceneJoints
from axion.scene_tendons import SceneTendons
from axion.scene_words import SHAPES, WORLD, color_of, kind_of, pose, vec3
from axion.texts import documented, documented_part
from axion.v1 import scene_pb2, sensor_pb2


class Scene(SceneJoints, SceneTendons):
    """Bodies, joints, shapes, actuators and keyframes in the order in which they are added.

    Methods return the index of what they add, which later ones take; a body of None is the world. SI units and
    radians. Poses are in the reference configuration, in the world; axes and anchors of joints are in the
    child's frame. Keyword arguments beside those named are fields of the message of that kind in
    proto/axion/v1/scene.proto, and ValueError is raised for one that does not exist; values are checked by the
    server.

    The first joint of a body carries it; a later one with the same child, or one whose parent hangs on its child,
    closes a loop. A loop joint has no coordinates, and nothing acts along it.

    Parameters
    ----------
    name : str, default ''
        The scene's own.
    gravity : sequence of float, optional
        m/s^2: [3]; None is 0, 0, -9.81.
    **choices
        Further fields of axion.v1.SceneSpec.

    Attributes
    ----------
    proto : axion.v1.SceneSpec
        The message that is made.

    Raises
    ------
    ValueError
        A field does not exist, or has not so many numbers.
    """

    def __init__(self, name: str = "", *, gravity: Sequence[float] | None = None, **choices: Any) -> None:
        self.proto = scene_pb2.SceneSpec(name=name, **choices)
        if gravity is not None:
            self.proto.gravity.CopyFrom(vec3(gravity))

    def __repr__(self) -> str:
        proto = self.proto
        return (f"<axion.Scene {proto.name!r}: {len(proto.bodies)} bodies, {len(proto.joints)} joints, {len(proto.shapes)} shapes, "
                f"{len(proto.actuators)} actuators>")

    @classmethod
    def of(cls, proto: scene_pb2.SceneSpec) -> Scene:
        """Makes a scene of a message, for example of Client.get_scene; it is copied.

        Parameters
        ----------
        proto : SceneSpec
            The message.

        Returns
        -------
        Scene
            The scene.
        """
        scene = cls()
        scene.proto.CopyFrom(proto)
        return scene

    @documented_part
    def body(self, name: str, *, mass: float, inertia: Sequence[float], position: Sequence[float] = (0, 0, 0),
             rotation: Sequence[float] = (1, 0, 0, 0), center_of_mass: Sequence[float] = (0, 0, 0)) -> int:
        """Adds a rigid body.

        Parameters
        ----------
        mass : float
            kg.
        inertia : sequence of float
            About the centre of mass, body axes, kg m^2: [3] xx yy zz, or [6] xx yy zz xy xz yz.
        center_of_mass : sequence of float, default (0, 0, 0)
            In the frame of the body, m: [3].

        Raises
        ------
        ValueError
            The inertia has neither 3 nor 6 numbers.
        """
        if len(inertia) not in (3, 6):
            raise ValueError(f"inertia: has {len(inertia)} numbers; it must have 3 or 6")
        self.proto.bodies.add(name=name, mass=mass, pose=pose(position, rotation),
                              center_of_mass=vec3(center_of_mass),
                              inertia=scene_pb2.Inertia(**dict(zip(("xx", "yy", "zz", "xy", "xz", "yz"), inertia))))
        return len(self.proto.bodies) - 1

    @documented_part
    def shape(self, kind: str, name: str, body: int | None = None, *, size: float | Sequence[float] = (),
              position: Sequence[float] = (0, 0, 0), rotation: Sequence[float] = (1, 0, 0, 0),
              color: Sequence[float] | None = None, surface_velocity: Sequence[float] = (0, 0, 0),
              surface_angular_velocity: Sequence[float] = (0, 0, 0), **choices: Any) -> int:
        """Adds a shape, in the frame of its body.

        Parameters
        ----------
        kind : str
            "plane", "sphere" (size r), "capsule" or "cylinder" (r, half length), "box" (half extents), "ellipsoid"
            (semi-axes), "mesh" (mesh="name of a mesh", no size) or "height_field" (height_field="name of one", no
            size, no body).
        body : int, optional
            Index of the body that it is fixed to; None is the world.
        size : float or Sequence[float], optional
            Its sizes by kind, m: up to [3].
        color : sequence of float, optional
            Red, green, blue and, where it is not 1, opacity, each from 0 to 1, that it is drawn in: [3] or [4].
        surface_velocity, surface_angular_velocity : sequence of float, default (0, 0, 0)
            How its surface moves along it, as that of a belt or a turntable, in its own frame, m/s and rad/s: [3].
        **choices
            Further fields of the message: {ShapeSpec} -pose.
        """
        extents = (size,) if isinstance(size, (int, float)) else tuple(size)
        self.proto.shapes.add(name=name, kind=kind_of(SHAPES, kind), body=WORLD if body is None else body,
                              pose=pose(position, rotation), size=vec3((*extents, 0, 0, 0)[:3]), color=color_of(color),
                              surface_velocity=vec3(surface_velocity),
                              surface_angular_velocity=vec3(surface_angular_velocity), **choices)
        return len(self.proto.shapes) - 1

    @documented
    def mesh(self, name: str, vertices: Iterable[Sequence[float]]) -> str:
        """Adds points whose convex hull shapes of kind "mesh" have.

        Parameters
        ----------
        vertices : Iterable[Sequence[float]]
            Points, m: [vertices, 3].

        Returns
        -------
        str
            The name.
        """
        self.proto.meshes.add(name=name, vertices=[vec3(vertex) for vertex in vertices])
        return name

    @documented
    def height_field(self, name: str, heights: Sequence[Sequence[float]], *, half_lengths: Sequence[float],
                     base: float = 0.1) -> str:
        """Adds terrain for shapes of kind "height_field".

        Parameters
        ----------
        heights : sequence of Sequence[float]
            m: [rows, columns], from the least y on, each from the least x on.
        half_lengths : sequence of float
            Half of the grid's lengths along x and y, m: [2].
        base : float, default 0.1
            How deep it is solid below z = 0, m.

        Returns
        -------
        str
            The name.

        Raises
        ------
        ValueError
            Rows are not of equal length.
        """
        columns = len(heights[0]) if len(heights) else 0
        if any(len(row) != columns for row in heights):
            raise ValueError("heights: rows must be of equal length")
        half_x, half_y = half_lengths
        self.proto.height_fields.add(name=name, rows=len(heights), columns=columns, half_x=half_x, half_y=half_y, base=base,
                                     heights=[float(height) for row in heights for height in row])
        return name

    @documented_part
    def screw(self, name: str, child: int, parent: int | None = None, *, pitch: float, axis: Sequence[float] = (0, 0, 1),
              anchor: Sequence[float] = (0, 0, 0), lock_stiffness: float = 0.0, lock_damping: float = 0.0,
              **choices: Any) -> int:
        """Adds a turn that carries its body along its axis.

        Axis 1 of the joint is the turn, axis 0 the way along; an equality, name_pitch, holds the two together.

        Parameters
        ----------
        pitch : float
            Way along the axis, m/rad: the lead of a turn is 2 pi of it.
        anchor : sequence of float, default (0, 0, 0)
            A point of the axis, in the frame of the child, m: [3].
        **choices
            Of the turn, as of hinge_axis: limits, damping, stiffness and others.
        """
        joint = self.axes(name, child, parent, lock_stiffness=lock_stiffness, lock_damping=lock_damping, axes=[
            self.slide_axis(f"{name}_travel", axis), self.hinge_axis(name, axis, anchor, **choices)])
        self.equality(f"{name}_pitch", (joint, 0), (0.0, pitch), (joint, 1))
        return joint

    @documented
    def frame(self, body: int | None = None, position: Sequence[float] = (0, 0, 0),
              rotation: Sequence[float] = (1, 0, 0, 0)) -> scene_pb2.FrameSpec:
        """Makes a frame that is fixed in a body, for sensors and tendons.

        Parameters
        ----------
        body : int, optional
            Index of the body; None is the world.

        Returns
        -------
        FrameSpec
            The frame.
        """
        return scene_pb2.FrameSpec(body=WORLD if body is None else body, pose=pose(position, rotation))

    @documented_part
    def sensor(self, kind: str, name: str, *, zone: str | None = None, zone_size: Sequence[float] = (0, 0, 0),
               **choices: Any) -> int:
        """Adds a sensor.

        Parameters
        ----------
        kind : str
            Its kind in scene.proto, in small letters: "gyro", "joint_position", "frame_position" and others.
        zone : str, optional
            Of a "touch" or an "inside_site", the kind of its shape.
        zone_size : sequence of float, default (0, 0, 0)
            Of a "touch" or an "inside_site", the size of its shape, m: [3].
        **choices
            Further fields of the message; a frame is of frame(): {SensorSpec}.

        Raises
        ------
        ValueError
            There is no such kind, or no such field.
        """
        word = f"SENSOR_KIND_{kind.upper()}"
        if word not in sensor_pb2.SensorKind.keys() or kind == "unspecified":
            known = (key[len("SENSOR_KIND_"):].lower() for key in sensor_pb2.SensorKind.keys()[1:])
            raise ValueError(f"kind: {kind!r} is none of {', '.join(known)}")
        if zone is not None:
            choices.update(zone=kind_of(SHAPES, zone), zone_size=vec3(zone_size))
        self.proto.sensors.add(name=name, kind=sensor_pb2.SensorKind.Value(word), **choices)
        return len(self.proto.sensors) - 1

    def exclude(self, body_a: int, body_b: int) -> None:
        """Keeps shapes of two bodies from ever touching.

        Parameters
        ----------
        body_a : int
            Index of one.
        body_b : int
            Index of the other.
        """
        self.proto.excludes.add(body_a=body_a, body_b=body_b)

    @documented
    def keyframe(self, name: str, joint_position: Sequence[float], joint_velocity: Sequence[float] = (), *,
                 time: float = 0.0, control: Sequence[float] = ()) -> None:
        """Adds a configuration to start at.

        Parameters
        ----------
        joint_position : sequence of float
            Coordinates of all joints but loop joints, rad and m: [nq], free 7, ball 4, one for each axis.
        joint_velocity : sequence of float, optional
            Their rates: [nv]; none is zero.
        time : float, default 0.0
            s.
        control : sequence of float, optional
            Of all actuators: [nu]; none is zero.
        """
        self.proto.keyframes.add(name=name, time=time, joint_position=joint_position, joint_velocity=joint_velocity,
                                 control=control)
