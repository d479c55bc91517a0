"""Scenes made in Python: a thin builder over axion.v1.SceneSpec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from axion.v1 import actuator_pb2, scene_pb2, sensor_pb2, shape_pb2

_Kind = TypeVar("_Kind")

_SHAPES: dict[str, scene_pb2.ShapeKind] = {"plane": scene_pb2.SHAPE_KIND_PLANE, "sphere": scene_pb2.SHAPE_KIND_SPHERE,
           "capsule": scene_pb2.SHAPE_KIND_CAPSULE, "box": scene_pb2.SHAPE_KIND_BOX,
           "cylinder": scene_pb2.SHAPE_KIND_CYLINDER, "ellipsoid": scene_pb2.SHAPE_KIND_ELLIPSOID,
           "mesh": scene_pb2.SHAPE_KIND_MESH, "height_field": shape_pb2.SHAPE_KIND_HEIGHT_FIELD}
_ACTUATORS: dict[str, scene_pb2.ActuatorKind] = {"motor": scene_pb2.ACTUATOR_KIND_MOTOR, "position": scene_pb2.ACTUATOR_KIND_POSITION,
              "velocity": scene_pb2.ACTUATOR_KIND_VELOCITY, "affine": actuator_pb2.ACTUATOR_KIND_AFFINE,
              "muscle": actuator_pb2.ACTUATOR_KIND_MUSCLE}
_WORLD = -1


def _vec3(values: Sequence[float]) -> scene_pb2.Vec3:
    x, y, z = values
    return scene_pb2.Vec3(x=x, y=y, z=z)


def _pose(position: Sequence[float], rotation: Sequence[float]) -> scene_pb2.Pose:
    w, x, y, z = rotation
    return scene_pb2.Pose(position=_vec3(position), rotation=scene_pb2.Quaternion(w=w, x=x, y=y, z=z))


def _kind(kinds: Mapping[str, _Kind], word: str) -> _Kind:
    if word not in kinds:
        raise ValueError(f"kind: {word!r} is none of {', '.join(kinds)}")
    return kinds[word]


def _with_range(choices: dict[str, Any], name: str, limits: Sequence[float] | None) -> dict[str, Any]:
    if limits is not None:
        choices[f"{name}_limited"] = True
        choices[f"{name}_lower"], choices[f"{name}_upper"] = limits
    return choices


class Scene:
    """Bodies, joints, shapes, actuators and keyframes in the order in which they are added.

    Methods return the index of what they add, which later ones take; a body of None is the world. Vectors are sequences
    of three numbers, rotations (w, x, y, z); SI units and radians. Poses are those of the reference configuration, in
    the world; axes and anchors of joints are in the child's frame. Keyword arguments beside those named are fields of
    the message of that kind in proto/axion/v1/scene.proto, and ValueError is raised for one that does not exist; values
    are checked by the server. proto: the axion.v1.SceneSpec.

    The first joint of a body carries it; a later one with the same child, or one whose parent hangs on its child,
    closes a loop. A loop joint has no coordinates, and nothing acts along it.
    """

    def __init__(self, name: str = "", *, gravity: Sequence[float] | None = None, **choices: Any) -> None:
        self.proto = scene_pb2.SceneSpec(name=name, **choices)
        if gravity is not None:
            self.proto.gravity.CopyFrom(_vec3(gravity))

    @classmethod
    def of(cls, proto: scene_pb2.SceneSpec) -> Scene:
        """A Scene of a message, for example of Client.get_scene; it is copied."""
        scene = cls()
        scene.proto.CopyFrom(proto)
        return scene

    def body(self, name: str, *, mass: float, inertia: Sequence[float], position: Sequence[float] = (0, 0, 0),
             rotation: Sequence[float] = (1, 0, 0, 0), center_of_mass: Sequence[float] = (0, 0, 0)) -> int:
        """A rigid body. inertia: about the centre of mass, body axes, (xx, yy, zz) or (xx, yy, zz, xy, xz, yz)."""
        if len(inertia) not in (3, 6):
            raise ValueError(f"inertia: has {len(inertia)} numbers; it must have 3 or 6")
        self.proto.bodies.add(name=name, mass=mass, pose=_pose(position, rotation),
                              center_of_mass=_vec3(center_of_mass),
                              inertia=scene_pb2.Inertia(**dict(zip(("xx", "yy", "zz", "xy", "xz", "yz"), inertia))))
        return len(self.proto.bodies) - 1

    def shape(self, kind: str, name: str, body: int | None = None, *, size: float | Sequence[float] = (),
              position: Sequence[float] = (0, 0, 0), rotation: Sequence[float] = (1, 0, 0, 0), **choices: Any) -> int:
        """A "plane", "sphere" (size r), "capsule" or "cylinder" (r, half length), "box" (half extents), "ellipsoid"
        (semi-axes), "mesh" (mesh="name of a mesh", no size) or "height_field" (height_field="name of one", no size, no
        body) in the frame of its body.

        Further: friction, restitution, contact_stiffness, contact_damping, contact_dimension, contact_priority,
        contact_type, contact_affinity; softness (axion.v1.Softness), softness_mix and cone_dimension;
        torsional_friction and rolling_friction (m).
        """
        extents = (size,) if isinstance(size, (int, float)) else tuple(size)
        self.proto.shapes.add(name=name, kind=_kind(_SHAPES, kind), body=_WORLD if body is None else body,
                              pose=_pose(position, rotation), size=_vec3((*extents, 0, 0, 0)[:3]), **choices)
        return len(self.proto.shapes) - 1

    def mesh(self, name: str, vertices: Iterable[Sequence[float]]) -> str:
        """Points, each of three numbers, whose convex hull shapes of kind "mesh" have. Returns the name."""
        self.proto.meshes.add(name=name, vertices=[_vec3(vertex) for vertex in vertices])
        return name

    def height_field(self, name: str, heights: Sequence[Sequence[float]], *, half_lengths: Sequence[float],
                     base: float = 0.1) -> str:
        """Terrain for shapes of kind "height_field". heights: rows of equal length, from the least y on, each from the
        least x on; half_lengths: half of the grid's lengths along x and y; base: how deep it is solid below z = 0. Returns
        the name.
        """
        columns = len(heights[0]) if len(heights) else 0
        if any(len(row) != columns for row in heights):
            raise ValueError("heights: rows must be of equal length")
        half_x, half_y = half_lengths
        self.proto.height_fields.add(name=name, rows=len(heights), columns=columns, half_x=half_x, half_y=half_y, base=base,
                                     heights=[float(height) for row in heights for height in row])
        return name

    def _joint(self, kind: scene_pb2.JointKind, name: str, child: int, parent: int | None,
               anchor: Sequence[float] = (0, 0, 0), **choices: Any) -> int:
        self.proto.joints.add(name=name, kind=kind, child=child, parent=_WORLD if parent is None else parent,
                              anchor=_vec3(anchor), **choices)
        return len(self.proto.joints) - 1

    def free(self, name: str, child: int) -> int:
        """Six degrees of freedom; a body with this joint has no other."""
        return self._joint(scene_pb2.JOINT_KIND_FREE, name, child, None)

    def fixed(self, name: str, child: int, parent: int | None = None, *, anchor: Sequence[float] = (0, 0, 0),
              **choices: Any) -> int:
        """Welds two bodies; with lock_stiffness (and lock_damping) or in a loop they stay two, held at the anchor."""
        return self._joint(scene_pb2.JOINT_KIND_FIXED, name, child, parent, anchor, **choices)

    def ball(self, name: str, child: int, parent: int | None = None, *, anchor: Sequence[float] = (0, 0, 0),
             **choices: Any) -> int:
        """Three rotations about the anchor. Further: ball_damping, ball_armature, ball_stiffness, ball_upper, lock_stiffness,
        lock_damping."""
        return self._joint(scene_pb2.JOINT_KIND_BALL, name, child, parent, anchor, **choices)

    def axes(self, name: str, child: int, parent: int | None = None, *, axes: Iterable[scene_pb2.AxisSpec],
             **choices: Any) -> int:
        """Up to three axes in a chain, slides before hinges: each what hinge_axis or slide_axis returns."""
        return self._joint(scene_pb2.JOINT_KIND_AXES, name, child, parent, axes=axes, **choices)

    def hinge(self, name: str, child: int, parent: int | None = None, *, axis: Sequence[float] = (0, 0, 1),
              anchor: Sequence[float] = (0, 0, 0), lock_stiffness: float = 0.0, lock_damping: float = 0.0,
              **choices: Any) -> int:
        """One hinge. Further, as of hinge_axis: limits, damping, stiffness, armature, friction_loss, ..."""
        return self.axes(name, child, parent, axes=[self.hinge_axis(name, axis, anchor, **choices)],
                         lock_stiffness=lock_stiffness, lock_damping=lock_damping)

    def slide(self, name: str, child: int, parent: int | None = None, *, axis: Sequence[float] = (0, 0, 1),
              lock_stiffness: float = 0.0, lock_damping: float = 0.0, **choices: Any) -> int:
        """One slide. Further, as of slide_axis: limits, damping, stiffness, armature, friction_loss, ..."""
        return self.axes(name, child, parent, axes=[self.slide_axis(name, axis, **choices)],
                         lock_stiffness=lock_stiffness, lock_damping=lock_damping)

    @staticmethod
    def hinge_axis(name: str, axis: Sequence[float] = (0, 0, 1), anchor: Sequence[float] = (0, 0, 0), *,
                   limits: Sequence[float] | None = None, **choices: Any) -> scene_pb2.AxisSpec:
        """An axion.v1.AxisSpec. limits: (lower, upper), rad. Further: reference, initial_position, armature, damping,
        stiffness, spring_reference, friction_loss."""
        return Scene._axis(scene_pb2.AXIS_KIND_HINGE, name, axis, limits, anchor=_vec3(anchor), **choices)

    @staticmethod
    def slide_axis(name: str, axis: Sequence[float] = (0, 0, 1), *, limits: Sequence[float] | None = None,
                   **choices: Any) -> scene_pb2.AxisSpec:
        """As hinge_axis, along a line; m and N."""
        return Scene._axis(scene_pb2.AXIS_KIND_SLIDE, name, axis, limits, **choices)

    @staticmethod
    def _axis(kind: scene_pb2.AxisKind, name: str, axis: Sequence[float], limits: Sequence[float] | None,
              **choices: Any) -> scene_pb2.AxisSpec:
        if limits is not None:
            choices["limited"] = True
            choices["lower"], choices["upper"] = limits
        return scene_pb2.AxisSpec(name=name, kind=kind, axis=_vec3(axis), **choices)

    def tendon(self, name: str, terms: Iterable[tuple[int, int, float]] = (), *,
               path: Iterable[scene_pb2.TendonPoint] = (), limits: Sequence[float] | None = None, **choices: Any) -> int:
        """A weighted sum of joint coordinates, of (joint, axis, coefficient) each, or a string along a path through space.

        path: of path_site(), path_sphere(), path_cylinder() and path_pulley(). limits: (lower, upper) of the length.
        Further: armature, damping, stiffness, spring_reference, spring_slack, friction_loss.
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
        """A point of a tendon's path: the origin of a frame()."""
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_SITE, frame=frame)

    @staticmethod
    def path_sphere(frame: scene_pb2.FrameSpec, radius: float,
                    side: scene_pb2.FrameSpec | None = None) -> scene_pb2.TendonPoint:
        """What a tendon wraps about between two sites; side: on which side, or through it where that is within it."""
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_SPHERE, frame=frame, radius=radius, side=side)

    @staticmethod
    def path_cylinder(frame: scene_pb2.FrameSpec, radius: float,
                      side: scene_pb2.FrameSpec | None = None) -> scene_pb2.TendonPoint:
        """As path_sphere, about the z axis of the frame, without ends."""
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_CYLINDER, frame=frame, radius=radius, side=side)

    @staticmethod
    def path_pulley(divisor: float) -> scene_pb2.TendonPoint:
        """The branch of a tendon's path that follows counts 1/divisor."""
        return scene_pb2.TendonPoint(kind=scene_pb2.TENDON_POINT_KIND_PULLEY, divisor=divisor)

    def equality(self, name: str, first: tuple[int, int] | int, polynomial: Sequence[float],
                 second: tuple[int, int] | int | None = None, **choices: Any) -> int:
        """Holds a coordinate at a polynomial of another: first = polynomial[0] + polynomial[1] second + ...

        first, second: (joint, axis), or the index of a tendon; without second, first is held at polynomial[0].
        Further: stiffness, damping.
        """
        def coordinate(of: tuple[int, int] | int) -> scene_pb2.Coordinate:
            return scene_pb2.Coordinate(tendon=of) if isinstance(of, int) else scene_pb2.Coordinate(joint=of[0], axis=of[1])

        other = None if second is None else coordinate(second)
        self.proto.equalities.add(name=name, first=coordinate(first), second=other, polynomial=polynomial, **choices)
        return len(self.proto.equalities) - 1

    def actuator(self, kind: str, name: str, joint: int = 0, axis: int = 0, *, tendon: int | None = None,
                 control_range: Sequence[float] | None = None, effort_range: Sequence[float] | None = None,
                 **choices: Any) -> int:
        """A "motor", a "position" or "velocity" drive, an "affine" law or a "muscle", on an axis of a joint of the tree, or on a tendon.

        control_range, effort_range: (lower, upper) that clamp the control, and the effort before gear. Further: gear,
        kp, kd; gain and bias (three numbers each, "affine"); muscle (an actuator_pb2.Muscle); of a motor
        that acts at a frame(): site, site_gear and perhaps site_reference.
        """
        _with_range(choices, "control", control_range)
        _with_range(choices, "effort", effort_range)
        if tendon is not None:
            choices["tendon"] = tendon
        self.proto.actuators.add(name=name, kind=_kind(_ACTUATORS, kind), joint=joint, axis=axis, **choices)
        return len(self.proto.actuators) - 1

    def frame(self, body: int | None = None, position: Sequence[float] = (0, 0, 0),
              rotation: Sequence[float] = (1, 0, 0, 0)) -> scene_pb2.FrameSpec:
        """A frame that is fixed in a body, for sensors; of None in the world."""
        return scene_pb2.FrameSpec(body=_WORLD if body is None else body, pose=_pose(position, rotation))

    def sensor(self, kind: str, name: str, *, zone: str | None = None, zone_size: Sequence[float] = (0, 0, 0),
               **choices: Any) -> int:
        """A sensor by the name of its kind in scene.proto, in small letters: "gyro", "joint_position", "frame_position".

        zone, zone_size: of a "touch", the kind and size of its shape. Further: frame, reference (see frame()), joint,
        axis, actuator, contact (a ContactSensorSpec of sensor.proto), dimension, scale, cutoff, noise.
        """
        word = f"SENSOR_KIND_{kind.upper()}"
        if word not in sensor_pb2.SensorKind.keys() or kind == "unspecified":
            known = (key[len("SENSOR_KIND_"):].lower() for key in sensor_pb2.SensorKind.keys()[1:])
            raise ValueError(f"kind: {kind!r} is none of {', '.join(known)}")
        if zone is not None:
            choices.update(zone=_kind(_SHAPES, zone), zone_size=_vec3(zone_size))
        self.proto.sensors.add(name=name, kind=sensor_pb2.SensorKind.Value(word), **choices)
        return len(self.proto.sensors) - 1

    def exclude(self, body_a: int, body_b: int) -> None:
        """Shapes of these two bodies never touch."""
        self.proto.excludes.add(body_a=body_a, body_b=body_b)

    def keyframe(self, name: str, joint_position: Sequence[float], joint_velocity: Sequence[float] = (), *,
                 time: float = 0.0, control: Sequence[float] = ()) -> None:
        """Coordinates of all joints but those that close loops: free 7, ball 4, one for each axis.

        control: of all actuators; without it zero.
        """
        self.proto.keyframes.add(name=name, time=time, joint_position=joint_position, joint_velocity=joint_velocity,
                                 control=control)
