"""Scenes from Universal Scene Description: what UsdPhysics says of a stage, as a Scene. Wants the extra `usd`."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from axion.scene import Scene
from axion.usd_joints import Body, JointReader, names_of, quaternion_matrix
from axion.usd_mass import Floats, Mass, Place, quaternion_of, rotation_of, solid, solid_of_mesh, sum_of, triangles_of

# What turns z to an axis.
_TURNED = {"X": rotation_of((math.sqrt(0.5), 0, math.sqrt(0.5), 0)), "Y": rotation_of((math.sqrt(0.5), -math.sqrt(0.5), 0, 0)),
           "Z": np.eye(3)}
_WATER = 1000.0  # kg/m^3, where nothing says a density


def read_usd(path: str | os.PathLike[str], allow_unsupported: bool = False) -> tuple[Scene, list[str]]:
    """Reads a stage of Universal Scene Description whose physics is UsdPhysics.

    Rigid bodies, colliders (cubes, spheres, capsules, cylinders, planes, meshes as their convex hulls), masses and densities, materials,
    joints (fixed, revolute, prismatic, spherical) with limits and drives, filtered pairs and gravity become a scene in m, kg, rad and with
    z up. Bodies whose frames a joint does not bring together are brought together from the root on. Joints that the tree
    has no place for close loops.

    Parameters
    ----------
    path : str or path
        Of a .usd, .usda, .usdc or .usdz file; what it refers to is read as USD finds it.
    allow_unsupported : bool, default False
        What would change the physics and is not supported becomes a warning; else it is refused by the path of its prim.

    Returns
    -------
    tuple of Scene and list of str
        The scene, for Client.create_model(scene=...), and warnings.

    Raises
    ------
    ImportError
        The extra `usd` is not installed.
    OSError
        The file cannot be read.
    ValueError
        It is no stage, has no physics, or something in it is not supported; the message begins with its prim's path.
    """
    try:
        from pxr import Tf, Usd  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise ImportError(f"axion.read_usd wants the extra `usd` (pip install 'axion-server-client[usd]'): {error}") from error
    with open(path, "rb"):
        pass  # OSError where it cannot be read
    try:
        stage = Usd.Stage.Open(os.fspath(path))
    except Tf.ErrorException as error:
        words = str(error).strip().splitlines()
        raise ValueError(f"{os.fspath(path)}: is no stage of USD: {words[0].rpartition(' : ')[2] if words else error}") from None
    return _Reader(stage, allow_unsupported).read()


class _Reader(JointReader):
    """One stage."""

    def __init__(self, stage: Any, allow_unsupported: bool) -> None:
        from pxr import UsdGeom, UsdPhysics  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self._stage, self._allows = stage, allow_unsupported
        self._geom, self._physics = UsdGeom, UsdPhysics
        self._metre = UsdGeom.GetStageMetersPerUnit(stage)
        self._kilogram = UsdPhysics.GetStageKilogramsPerUnit(stage)
        self._up = np.eye(3) if UsdGeom.GetStageUpAxis(stage) == "Z" else np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
        self._cache = UsdGeom.XformCache()
        self.warnings: list[str] = []
        self._bodies: dict[str, Body] = {}

    def read(self) -> tuple[Scene, list[str]]:
        root = self._stage.GetDefaultPrim()
        scene = Scene(root.GetName() if root else "", gravity=self._gravity())
        prims = list(self._prims())
        names = names_of([prim for prim in prims if self._is_body(prim)])
        for prim in prims:
            if self._is_body(prim):
                place, scale = self._place(prim)
                self._bodies[str(prim.GetPath())] = Body(prim, names[str(prim.GetPath())], place, scale)
        statics: list[tuple[str, dict[str, Any], Place]] = []
        for prim in prims:
            if prim.HasAPI(self._physics.CollisionAPI) and self._physics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False:
                self._collider(prim, scene, statics)
        if not self._bodies:
            raise ValueError(f"{self._stage.GetRootLayer().identifier}: has no rigid body (PhysicsRigidBodyAPI)")
        self._tell_of_others(prims)
        joints = [joint for prim in prims if (joint := self._joint(prim)) is not None]
        carried, loops = self._tree(joints)
        self._add_bodies(scene)
        for name, fields, place in statics:
            _add_shape(scene, name, fields, place, None)
        self._add_joints(scene, carried, loops)
        self._add_excludes(scene, prims, joints)
        return scene, self.warnings

    def _prims(self) -> Iterator[Any]:
        from pxr import Usd  # type: ignore[import-not-found, import-untyped, unused-ignore]

        return iter(Usd.PrimRange(self._stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))

    def _tell_of_others(self, prims: list[Any]) -> None:
        """Schemas of physics that are other programs' own."""
        first: dict[str, Any] = {}
        for prim in prims:
            for name in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                if name.lower().startswith(("physx", "newton", "mjc")):
                    first.setdefault(name, prim.GetPath())
        self.warnings += [f"{path}: {name} is not read" for name, path in first.items()]

    def _refuse(self, prim: Any, what: str) -> None:
        """ValueError, or a warning where that is allowed."""
        if not self._allows:
            raise ValueError(f"{prim.GetPath()}: {what}")
        self.warnings.append(f"{prim.GetPath()}: {what}")

    # ---- Places -----------------------------------------------------------------------------------------------------------

    def _place(self, prim: Any) -> tuple[Place, Floats]:
        """Of a prim in the world, m and z up, and the scale along its own axes."""
        matrix = np.array(self._cache.GetLocalToWorldTransform(prim), dtype=float).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        rotation = matrix[:3, :3] / scale
        if not np.allclose(rotation.T @ rotation, np.eye(3), atol=1e-5) or np.linalg.det(rotation) < 0:
            raise ValueError(f"{prim.GetPath()}: its transform shears or mirrors, which no frame does")
        return Place(self._up @ rotation, self._up @ matrix[:3, 3] * self._metre), scale

    def _gravity(self) -> list[float]:
        for prim in self._prims():
            if prim.IsA(self._physics.Scene):
                said = self._physics.Scene(prim)
                direction = np.array(said.GetGravityDirectionAttr().Get() or (0, 0, 0), dtype=float)
                size = said.GetGravityMagnitudeAttr().Get()
                down = self._up @ direction / np.linalg.norm(direction) if direction.any() else np.array([0, 0, -1.0])
                return [float(value) for value in down * (9.81 if size is None or size < 0 else size * self._metre)]
        return [0.0, 0.0, -9.81]

    def _is_body(self, prim: Any) -> bool:
        if not prim.HasAPI(self._physics.RigidBodyAPI):
            return False
        said = self._physics.RigidBodyAPI(prim)
        if said.GetKinematicEnabledAttr().Get():
            self._refuse(prim, "physics:kinematicEnabled: bodies that something else moves are not supported; it stays in place")
            return False
        return said.GetRigidBodyEnabledAttr().Get() is not False

    def _body_of(self, prim: Any) -> Body | None:
        """The body that a prim is a part of; None: of the world."""
        while prim and not prim.IsPseudoRoot():
            if (found := self._bodies.get(str(prim.GetPath()))) is not None:
                return found
            prim = prim.GetParent()
        return None

    # ---- Shapes -------------------------------------------------------------------------------------------------------------

    def _collider(self, prim: Any, scene: Scene, statics: list[tuple[str, dict[str, Any], Place]]) -> None:
        place, scale = self._place(prim)
        found = self._form(prim, np.abs(scale) * self._metre, scene)
        if found is None:
            return
        fields, mass, turned = found
        body = self._body_of(prim)
        own = place @ Place(turned, np.zeros(3))
        material = self._material(prim)
        fields.update({key: material[key] for key in ("friction", "restitution") if key in material})
        name = str(prim.GetPath()).strip("/").replace("/", "_")
        if body is None:
            statics.append((name, fields, own))
            return
        if mass is None:
            self._refuse(prim, "a plane of a body is not supported: it is of the world alone")
            return
        inner = body.place.inverse() @ own
        body.shapes.append((name, fields, inner))
        body.parts.append(self._weighed(prim, body, mass, material).seen_from(inner))

    def _form(self, prim: Any, scale: Floats, scene: Scene) -> tuple[dict[str, Any], Mass | None, Floats] | None:
        """Fields of the shape, its solid of density 1 and how it is turned in its prim; None for what is no shape. scale: m of a unit."""
        geom = self._geom
        if prim.IsA(geom.Cube):
            half = geom.Cube(prim).GetSizeAttr().Get() / 2 * scale
            return {"kind": "box", "size": half.tolist()}, solid("box", half), np.eye(3)
        if prim.IsA(geom.Sphere):
            axes = geom.Sphere(prim).GetRadiusAttr().Get() * scale
            if np.ptp(axes) < 1e-6 * axes[0]:
                return {"kind": "sphere", "size": float(axes[0])}, solid("sphere", axes[:1]), np.eye(3)
            return {"kind": "ellipsoid", "size": axes.tolist()}, solid("ellipsoid", axes), np.eye(3)
        if prim.IsA(geom.Plane):
            return {"kind": "plane"}, None, _TURNED[geom.Plane(prim).GetAxisAttr().Get()]
        for kind, schema in (("capsule", geom.Capsule), ("cylinder", geom.Cylinder)):
            if prim.IsA(schema):
                said = schema(prim)
                along = "XYZ".index(said.GetAxisAttr().Get())
                across = np.delete(scale, along)
                if np.ptp(across) > 1e-6 * across[0] or (kind == "capsule" and np.ptp(scale) > 1e-6 * scale[0]):
                    self._refuse(prim, f"a {kind} that is scaled by {(scale / self._metre).tolist()} is none any more")
                size = [float(said.GetRadiusAttr().Get() * across[0]), float(said.GetHeightAttr().Get() / 2 * scale[along])]
                return {"kind": kind, "size": size}, solid(kind, size), _TURNED["XYZ"[along]]
        if prim.IsA(geom.Mesh):
            return self._mesh(prim, scale, scene)
        if prim.IsA(geom.Gprim):
            self._refuse(prim, f"a collider of the type {prim.GetTypeName()} is not supported")
        elif not prim.IsA(geom.Imageable) or not any(True for _ in prim.GetChildren()):
            self._refuse(prim, "a collider without a shape is not supported")
        return None

    def _mesh(self, prim: Any, scale: Floats, scene: Scene) -> tuple[dict[str, Any], Mass, Floats]:
        said = self._geom.Mesh(prim)
        points = np.array(said.GetPointsAttr().Get(), dtype=float).reshape(-1, 3) * scale
        if len(points) < 4:
            raise ValueError(f"{prim.GetPath()}: points: has {len(points)}; a hull wants at least 4")
        how = "none"
        if prim.HasAPI(self._physics.MeshCollisionAPI):
            how = self._physics.MeshCollisionAPI(prim).GetApproximationAttr().Get() or how
        if how != "convexHull":
            self.warnings.append(f"{prim.GetPath()}: physics:approximation: {how} becomes the convex hull")
        name = scene.mesh(str(prim.GetPath()).strip("/").replace("/", "_"), points.tolist())
        triangles = triangles_of(said.GetFaceVertexCountsAttr().Get() or (), said.GetFaceVertexIndicesAttr().Get() or ())
        if triangles.size and triangles.max() >= len(points):
            raise ValueError(f"{prim.GetPath()}: faceVertexIndices: has {triangles.max()}, and there are {len(points)} points")
        middle = points.mean(axis=0)
        mass = solid_of_mesh(points - middle, triangles) if triangles.size else None
        unknown = Mass(math.nan, np.zeros(3), np.eye(3))  # which is told where it is needed
        return {"kind": "mesh", "mesh": name}, (mass or unknown).seen_from(Place(np.eye(3), middle)), np.eye(3)

    def _material(self, prim: Any) -> dict[str, float]:
        from pxr import UsdShade  # type: ignore[import-not-found, import-untyped, unused-ignore]

        bound = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
        if not bound or not bound.GetPrim().HasAPI(self._physics.MaterialAPI):
            return {}
        said, found = self._physics.MaterialAPI(bound.GetPrim()), dict[str, float]()
        for key, attribute in (("friction", said.GetDynamicFrictionAttr()), ("restitution", said.GetRestitutionAttr()),
                               ("density", said.GetDensityAttr())):
            if attribute.HasAuthoredValue():
                found[key] = float(attribute.Get())
        return found

    # ---- Masses -------------------------------------------------------------------------------------------------------------

    def _weighed(self, prim: Any, body: Body, form: Mass, material: dict[str, float]) -> Mass:
        """A collider's solid with its mass: its own, or of the nearest density."""
        if prim.HasAPI(self._physics.MassAPI) and prim != body.prim:
            said = self._physics.MassAPI(prim)
            if (mass := said.GetMassAttr().Get() or 0) > 0:
                return form.scaled_to(mass * self._kilogram)
            if (density := said.GetDensityAttr().Get() or 0) > 0:
                return form.scaled_to(form.mass * density * self._kilogram / self._metre**3)
        of_body = self._physics.MassAPI(body.prim).GetDensityAttr().Get() if body.prim.HasAPI(self._physics.MassAPI) else 0
        density = of_body or material.get("density", 0)
        return form.scaled_to(form.mass * (density * self._kilogram / self._metre**3 if density else _WATER))

    def _mass(self, body: Body) -> Mass:
        """Of a body: as it says, and what it does not say as its colliders are."""
        found = sum_of(body.parts) if body.parts else None
        said = self._physics.MassAPI(body.prim)
        mass = (said.GetMassAttr().Get() or 0) * self._kilogram
        inertia = np.array(said.GetDiagonalInertiaAttr().Get() or (0, 0, 0), dtype=float) * self._kilogram * self._metre**2
        center = np.array(said.GetCenterOfMassAttr().Get() or (-math.inf,) * 3, dtype=float)
        if found is not None and math.isnan(found.mass):
            if mass <= 0 or not inertia.any():
                raise ValueError(f"{body.prim.GetPath()}: has not both physics:mass and physics:diagonalInertia, and a mesh of it "
                                 "encloses no volume")
            found = None
        if found is None:
            if mass <= 0:
                raise ValueError(f"{body.prim.GetPath()}: has neither physics:mass nor a collider")
            if not inertia.any():
                raise ValueError(f"{body.prim.GetPath()}: has neither physics:diagonalInertia nor a collider")
            found = Mass(mass, np.zeros(3), np.eye(3))
        elif mass > 0:
            found = found.scaled_to(mass)
        if np.isfinite(center).all():
            found = dataclasses.replace(found, center=center * body.scale * self._metre)
        if inertia.any():
            quaternion = said.GetPrincipalAxesAttr().Get()
            axes = quaternion_matrix(quaternion) if quaternion is not None and quaternion.GetLength() > 0 else np.eye(3)
            found = dataclasses.replace(found, inertia=axes @ np.diag(inertia) @ axes.T)
        return found

    def _add_bodies(self, scene: Scene) -> None:
        for body in self._bodies.values():
            mass = self._mass(body)
            body.index = scene.body(body.name, mass=mass.mass, inertia=[float(mass.inertia[i, j]) for i, j in (
                (0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], position=body.place.position.tolist(),
                rotation=quaternion_of(body.place.rotation), center_of_mass=mass.center.tolist())
            for name, fields, place in body.shapes:
                _add_shape(scene, name, fields, place, body.index)


def _add_shape(scene: Scene, name: str, fields: dict[str, Any], place: Place, body: int | None) -> None:
    others = {key: value for key, value in fields.items() if key != "kind"}
    scene.shape(fields["kind"], name, body, position=place.position.tolist(), rotation=quaternion_of(place.rotation), **others)
