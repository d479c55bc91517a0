"""Joints of a stage of Universal Scene Description: which carry a body and which close a loop, and where they put bodies.

A part of usd.py."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from axion.scene import Scene
from axion.usd_mass import HERE, Floats, Mass, Place, quaternion_of, rotation_of

_AXES = {"X": np.array([1.0, 0, 0]), "Y": np.array([0, 1.0, 0]), "Z": np.array([0, 0, 1.0])}
_CLOSED = 1e-3   # m by which a loop may be open in the stage before that is told


@dataclasses.dataclass
class Body:
    """prim: of pxr. scale: of its own axes, [3]. parts: masses of what collides, in its frame."""

    prim: Any
    name: str
    place: Place
    scale: Floats
    shapes: list[tuple[str, dict[str, Any], Place]] = dataclasses.field(default_factory=list)
    parts: list[Mass] = dataclasses.field(default_factory=list)
    index: int = -1


@dataclasses.dataclass(frozen=True)
class Joint:
    """Frames of a joint in its two bodies, of which None is the world; as authored."""

    prim: Any
    kind: str
    ends: tuple[Body | None, Body | None]
    frames: tuple[Place, Place]
    axis: Floats
    is_loop: bool


def quaternion_matrix(value: Any) -> Floats:
    """The rotation of a quaternion of pxr."""
    return rotation_of((value.GetReal(), *value.GetImaginary()))


def names_of(prims: list[Any]) -> dict[str, str]:
    """By path: the prim's own name where no other has it, else its path."""
    own = [prim.GetName() for prim in prims]
    return {str(prim.GetPath()): prim.GetName() if own.count(prim.GetName()) == 1 else str(prim.GetPath()).strip("/").replace("/", "_")
            for prim in prims}


class JointReader:
    """The part of usd.py's reader that reads joints."""

    _stage: Any
    _physics: Any
    _metre: float
    _kilogram: float
    _up: Floats
    _bodies: dict[str, Body]
    warnings: list[str]

    def _refuse(self, prim: Any, what: str) -> None:
        raise NotImplementedError

    def _place(self, prim: Any) -> tuple[Place, Floats]:
        raise NotImplementedError

    def _body_of(self, prim: Any) -> Body | None:
        raise NotImplementedError

    def _joint(self, prim: Any) -> Joint | None:
        physics = self._physics
        if not prim.IsA(physics.Joint):
            return None
        said = physics.Joint(prim)
        if said.GetJointEnabledAttr().Get() is False:
            return None
        for kind, schema in (("fixed", physics.FixedJoint), ("revolute", physics.RevoluteJoint), ("prismatic", physics.PrismaticJoint),
                             ("spherical", physics.SphericalJoint)):
            if prim.IsA(schema):
                break
        else:
            self._refuse(prim, f"a joint of the type {prim.GetTypeName()} is not supported; revolute, prismatic, spherical and fixed are")
            return None
        ends, frames = list[Body | None](), list[Place]()
        for relation, position, rotation in ((said.GetBody0Rel(), said.GetLocalPos0Attr(), said.GetLocalRot0Attr()),
                                             (said.GetBody1Rel(), said.GetLocalPos1Attr(), said.GetLocalRot1Attr())):
            targets = relation.GetTargets()
            target = self._stage.GetPrimAtPath(targets[0]) if targets else None
            if targets and not target:
                raise ValueError(f"{prim.GetPath()}: {relation.GetName()}: there is no {targets[0]}")
            body = self._body_of(target) if target else None
            place, scale = self._place(target) if target else (Place(self._up, np.zeros(3)), np.ones(3))
            local = Place(quaternion_matrix(rotation.Get()), np.array(position.Get(), dtype=float) * scale * self._metre)
            frames.append(local if body is not None and body.prim == target else
                          (body.place.inverse() if body is not None else HERE) @ place @ local)
            ends.append(body)
        if ends[0] is ends[1]:
            raise ValueError(f"{prim.GetPath()}: physics:body0 and physics:body1 are parts of one body")
        axis = np.zeros(3) if kind in ("fixed", "spherical") else _AXES[schema(prim).GetAxisAttr().Get()]
        if kind == "spherical" and max(schema(prim).GetConeAngle0LimitAttr().Get(), schema(prim).GetConeAngle1LimitAttr().Get()) > 0:
            self._refuse(prim, "physics:coneAngle0Limit and coneAngle1Limit of a spherical joint are not supported")
        return Joint(prim, kind, (ends[0], ends[1]), (frames[0], frames[1]), axis, bool(said.GetExcludeFromArticulationAttr().Get()))

    def _tree(self, joints: list[Joint]) -> tuple[list[tuple[Joint, bool, float]], list[Joint]]:
        """Joints that carry a body, from the roots on, whether their second end is the parent, and their coordinate in the stage; and
        the joints that are left to close loops. Bodies are put where their joints hold them."""
        waiting = [joint for joint in joints if not joint.is_loop]
        reached, carried = set[int](), list[tuple[Joint, bool, float]]()
        roots: list[Body | None] = [None, *sorted(self._bodies.values(), key=lambda body: not body.prim.HasAPI(
            self._physics.ArticulationRootAPI))]
        for root in roots:
            if root is not None and id(root) in reached:
                continue
            queue: list[Body | None] = [root]
            reached.add(id(root))
            while queue:
                parent = queue.pop(0)
                for joint in list(waiting):
                    if not any(end is parent for end in joint.ends):
                        continue
                    is_turned = joint.ends[1] is parent
                    child = joint.ends[0 if is_turned else 1]
                    if id(child) in reached:
                        continue
                    assert child is not None  # the world is reached first
                    waiting.remove(joint)
                    carried.append((joint, is_turned, self._put(joint, parent, child, is_turned)))
                    reached.add(id(child))
                    queue.append(child)
        left = [joint for joint in joints if not any(joint is each for each, _, _ in carried)]
        return carried, left

    @staticmethod
    def _put(joint: Joint, parent: Body | None, child: Body, is_turned: bool) -> float:
        """Puts a child where its joint lets it be, as near as can be to where it is; the joint's coordinate there, rad or m."""
        outer, inner = joint.frames[::-1] if is_turned else joint.frames
        axis = -joint.axis if is_turned else joint.axis
        frame = (HERE if parent is None else parent.place) @ outer
        between = frame.inverse() @ child.place @ inner
        at = 0.0
        if joint.kind == "revolute":
            w, *vector = quaternion_of(between.rotation)
            at = 2 * math.atan2(float(np.dot(vector, axis)), w)
            between = Place(rotation_of([math.cos(at / 2), *(math.sin(at / 2) * axis)]), np.zeros(3))
        elif joint.kind == "prismatic":
            at = float(between.position @ axis)
            between = Place(np.eye(3), at * axis)
        else:
            between = Place(between.rotation if joint.kind == "spherical" else np.eye(3), np.zeros(3))
        child.place = frame @ between @ inner.inverse()
        return at

    def _add_joints(self, scene: Scene, carried: list[tuple[Joint, bool, float]], loops: list[Joint]) -> None:
        moved = {id(joint.ends[0 if is_turned else 1]) for joint, is_turned, _ in carried}
        names = names_of([joint.prim for joint in [each for each, _, _ in carried] + loops])
        for body in self._bodies.values():
            if id(body) not in moved:
                scene.free(f"{body.name}_free", body.index)
        for joint, is_turned, at in carried:
            self._add_joint(scene, joint, names[str(joint.prim.GetPath())], is_turned, at)
        for joint in loops:
            self._check_loop(joint)
            child, parent = (joint.ends[1], joint.ends[0]) if joint.ends[1] is not None else (joint.ends[0], None)
            assert child is not None
            frame = joint.frames[1 if child is joint.ends[1] else 0]
            _joint_of(scene, joint, names[str(joint.prim.GetPath())], child, parent, frame, frame.rotation @ joint.axis, {})

    def _add_joint(self, scene: Scene, joint: Joint, name: str, is_turned: bool, at: float) -> None:
        child, parent = joint.ends[::-1] if not is_turned else joint.ends
        assert child is not None
        frame = joint.frames[0 if is_turned else 1]
        axis = frame.rotation @ (-joint.axis if is_turned else joint.axis)
        choices: dict[str, Any] = {}
        unit = self._metre if joint.kind == "prismatic" else math.pi / 180
        if joint.kind in ("revolute", "prismatic"):
            said = getattr(self._physics, f"{joint.kind.capitalize()}Joint")(joint.prim)
            lower, upper = (float(value.Get()) * unit for value in (said.GetLowerLimitAttr(), said.GetUpperLimitAttr()))
            if math.isfinite(lower) and math.isfinite(upper):
                if lower >= upper:
                    raise ValueError(f"{joint.prim.GetPath()}: physics:lowerLimit: is {lower:g}, and the upper one {upper:g}")
                choices["limits"] = (lower, upper)
            elif math.isfinite(lower) or math.isfinite(upper):
                self._refuse(joint.prim, "physics:lowerLimit, physics:upperLimit: a limit on one side alone is not supported")
            choices.update(reference=at, initial_position=at)
        index = _joint_of(scene, joint, name, child, parent, frame, axis, choices)
        if joint.kind in ("revolute", "prismatic"):
            self._add_drive(scene, joint, name, index, unit)

    def _add_drive(self, scene: Scene, joint: Joint, name: str, index: int, unit: float) -> None:
        token = "linear" if joint.kind == "prismatic" else "angular"
        if not joint.prim.HasAPI(self._physics.DriveAPI, token):
            return
        said = self._physics.DriveAPI(joint.prim, token)
        if said.GetTypeAttr().Get() == "acceleration":
            self._refuse(joint.prim, f"drive:{token}:physics:type: acceleration is not supported; force is")
            return
        # N/m, N s/m or N m/rad, N m s/rad: a force's unit is kg of the stage times its length a s^2, a torque's that times its length.
        force = self._kilogram * self._metre * (1 if joint.kind == "prismatic" else self._metre)
        kp, kd = (float(value.Get() or 0) * force / unit for value in (said.GetStiffnessAttr(), said.GetDampingAttr()))
        most = float(said.GetMaxForceAttr().Get()) * force
        bounds = (-most, most) if math.isfinite(most) else None
        if kp > 0:
            scene.actuator("position", name, index, kp=kp, kd=kd, effort_range=bounds)
        elif kd > 0:
            scene.actuator("velocity", name, index, kd=kd, effort_range=bounds)

    def _check_loop(self, joint: Joint) -> None:
        for token in ("angular", "linear"):
            if joint.prim.HasAPI(self._physics.DriveAPI, token):
                self._refuse(joint.prim, f"drive:{token}: nothing drives a joint that closes a loop")
        if joint.kind in ("revolute", "prismatic"):
            said = getattr(self._physics, f"{joint.kind.capitalize()}Joint")(joint.prim)
            if any(math.isfinite(float(value.Get())) for value in (said.GetLowerLimitAttr(), said.GetUpperLimitAttr())):
                self._refuse(joint.prim, "physics:lowerLimit, physics:upperLimit: a joint that closes a loop has no limits")
        ends = [frame if body is None else body.place @ frame for body, frame in zip(joint.ends, joint.frames)]
        between = ends[0].inverse() @ ends[1]
        if joint.kind != "prismatic" and np.linalg.norm(between.position) > _CLOSED:
            self.warnings.append(f"{joint.prim.GetPath()}: the loop is open by {np.linalg.norm(between.position):.3g} m in the stage")

    def _add_excludes(self, scene: Scene, prims: list[Any], joints: list[Joint]) -> None:
        pairs = set[tuple[int, int]]()
        for joint in joints:
            first, second = joint.ends
            if first is not None and second is not None and not self._physics.Joint(joint.prim).GetCollisionEnabledAttr().Get():
                pairs.add((min(first.index, second.index), max(first.index, second.index)))
        for prim in prims:
            if prim.HasAPI(self._physics.FilteredPairsAPI):
                first = self._body_of(prim)
                for path in self._physics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                    second = self._body_of(self._stage.GetPrimAtPath(path))
                    if first is None or second is None or first is second:
                        self._refuse(prim, f"physics:filteredPairs: {path} and this are not two bodies")
                        continue
                    pairs.add((min(first.index, second.index), max(first.index, second.index)))
            if prim.IsA(self._physics.CollisionGroup):
                self._refuse(prim, "groups of colliders are not supported")
        for pair in sorted(pairs):
            scene.exclude(*pair)


def _joint_of(scene: Scene, joint: Joint, name: str, child: Body, parent: Body | None, frame: Place, axis: Floats,
              choices: dict[str, Any]) -> int:
    above, anchor = None if parent is None else parent.index, frame.position.tolist()
    if joint.kind == "fixed":
        return scene.fixed(name, child.index, above, anchor=anchor)
    if joint.kind == "spherical":
        return scene.ball(name, child.index, above, anchor=anchor)
    if joint.kind == "revolute":
        return scene.hinge(name, child.index, above, axis=axis.tolist(), anchor=anchor, **choices)
    return scene.slide(name, child.index, above, axis=axis.tolist(), **choices)
