"""Scenes from Universal Scene Description against axiond: the same robot as MJCF has it; see axiond_case.py. Wants the extra `usd`."""

import importlib.util
import math
import pathlib
import re
import tempfile
import unittest

import numpy as np

import axion
from axion.usd_mass import quaternion_of, rotation_of, solid, solid_of_mesh, sum_of
from axiond_case import AxiondCase

HEAD = """#usda 1.0
(
    defaultPrim = "arm"
    metersPerUnit = {metre}
    kilogramsPerUnit = {kilogram}
    upAxis = "{up}"
)
"""
# An arm in centimetres and grams, y up: a base that is fixed to the world, two links on hinges about z of the stage, one driven, a block
# on a slide with a limit, and a ball on a spherical joint.
ARM = HEAD.format(metre=0.01, kilogram=0.001, up="Y") + """
def PhysicsScene "scene" { vector3f physics:gravityDirection = (0, -1, 0)  float physics:gravityMagnitude = 981 }
def Material "rubber" ( prepend apiSchemas = ["PhysicsMaterialAPI"] )
{ float physics:dynamicFriction = 0.7  float physics:restitution = 0.2  float physics:density = 2 }
def Xform "arm" ( prepend apiSchemas = ["PhysicsArticulationRootAPI"] )
{
    def Cube "base" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"] )
    {
        double size = 10
        float physics:mass = 3000
        double3 xformOp:translate = (0, 50, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Xform "upper" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )
    {
        float physics:mass = 1200
        double3 xformOp:translate = (20, 50, 0)
        float xformOp:rotateZ = 0
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
        def Capsule "shape" ( prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"] )
        { double radius = 2  double height = 20  uniform token axis = "X"  rel material:binding:physics = </rubber> }
    }
    def Xform "lower" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        double3 xformOp:translate = (50, 50, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Cylinder "shape" ( prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"] )
        { double radius = 1.5  double height = 16  uniform token axis = "X"  rel material:binding:physics = </rubber> }
    }
    def Cube "block" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"] )
    {
        double size = 2
        float3 xformOp:scale = (1, 2, 3)
        double3 xformOp:translate = (0, 60, 0)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
        float physics:mass = 400
        float3 physics:diagonalInertia = (5000, 6000, 7000)
        point3f physics:centerOfMass = (0, 0.5, 0)
    }
    def Sphere "ball" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"] )
    { double radius = 3  double3 xformOp:translate = (60, 45, 0)  uniform token[] xformOpOrder = ["xformOp:translate"] }
    def PhysicsFixedJoint "mount" { rel physics:body1 = </arm/base>  point3f physics:localPos0 = (0, 50, 0) }
    def PhysicsRevoluteJoint "shoulder" ( prepend apiSchemas = ["PhysicsDriveAPI:angular"] )
    {
        uniform token physics:axis = "Z"
        rel physics:body0 = </arm/base>
        rel physics:body1 = </arm/upper>
        point3f physics:localPos0 = (8, 0, 0)
        point3f physics:localPos1 = (-12, 0, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 45
        float drive:angular:physics:stiffness = 100000
        float drive:angular:physics:damping = 2000
        float drive:angular:physics:maxForce = 2e8
    }
    def PhysicsRevoluteJoint "elbow"
    {
        uniform token physics:axis = "Z"
        rel physics:body0 = </arm/lower>
        rel physics:body1 = </arm/upper>
        point3f physics:localPos0 = (-13, 0, 0)
        point3f physics:localPos1 = (17, 0, 0)
    }
    def PhysicsPrismaticJoint "lift"
    {
        uniform token physics:axis = "Y"
        rel physics:body0 = </arm/base>
        rel physics:body1 = </arm/block>
        point3f physics:localPos0 = (0, 4, 0)
        float physics:lowerLimit = 0
        float physics:upperLimit = 10
    }
    def PhysicsSphericalJoint "wrist"
    {
        rel physics:body0 = </arm/lower>
        rel physics:body1 = </arm/ball>
        point3f physics:localPos0 = (10, 0, 0)
        point3f physics:localPos1 = (0, 5, 0)
    }
}
"""
# The same in m and kg, z up: (x, y, z) of the stage is (x, -z, y) here, and its z is -y.
ARM_MJCF = f"""
<mujoco><compiler angle="radian" boundmass="0"/><option gravity="0 0 -9.81"/><worldbody>
  <body name="base" pos="0 0 .5"><geom type="box" size=".05 .05 .05" mass="3"/>
    <body name="upper" pos=".2 0 0">
      <joint name="shoulder" axis="0 -1 0" pos="-.12 0 0" range="{-math.pi / 2} {math.pi / 4}" limited="true"/>
      <geom type="capsule" size=".02 .1" zaxis="1 0 0" mass="1.2" friction=".7"/>
      <body name="lower" pos=".3 0 0"><joint name="elbow" axis="0 1 0" pos="-.13 0 0"/>
        <geom type="cylinder" size=".015 .08" zaxis="1 0 0" density="2000" friction=".7"/>
        <body name="ball" pos=".1 0 -.05"><joint name="wrist" type="ball" pos="0 0 .05"/><geom size=".03" density="1000"/></body>
      </body></body>
    <body name="block" pos="0 0 .1"><joint name="lift" type="slide" axis="0 0 1" range="0 .1" limited="true" ref=".06"/>
      <inertial pos="0 0 .01" mass=".4" diaginertia="5e-4 7e-4 6e-4"/><geom type="box" size=".01 .03 .02"/></body>
  </body></worldbody>
  <contact><exclude body1="base" body2="upper"/><exclude body1="upper" body2="lower"/><exclude body1="base" body2="block"/>
    <exclude body1="lower" body2="ball"/></contact>
  <actuator><position name="shoulder" joint="shoulder" kp="{100000 * 1e-7 * 180 / math.pi}" kv="{2000 * 1e-7 * 180 / math.pi}"
    forcerange="-20 20"/></actuator></mujoco>"""


class Masses(unittest.TestCase):
    def test_rotations_and_quaternions_are_each_others(self):
        rng = np.random.default_rng(1)
        for quaternion in [*rng.normal(size=(50, 4)), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0)]:
            made = rotation_of(quaternion)
            np.testing.assert_allclose(rotation_of(quaternion_of(made)), made, atol=1e-12)
            np.testing.assert_allclose(made @ made.T, np.eye(3), atol=1e-12)

    def test_a_mesh_weighs_what_its_solid_does(self):
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)], dtype=float)
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        triangles = np.array([each for a, b, c, d in quads for each in ((a, b, c), (a, c, d))])
        box = solid("box", (1, 2, 3))
        for turned in (triangles, triangles[:, ::-1]):
            found = solid_of_mesh(corners + [5, 6, 7], turned)
            np.testing.assert_allclose(found.mass, box.mass)
            np.testing.assert_allclose(found.center, [5, 6, 7])
            np.testing.assert_allclose(found.inertia, box.inertia, atol=1e-9)
        self.assertIsNone(solid_of_mesh(corners, triangles[1:]))  # which has a hole

    def test_a_long_capsule_is_a_cylinder_with_two_half_balls(self):
        cylinder, ball, capsule = solid("cylinder", (0.5, 2)), solid("sphere", (0.5,)), solid("capsule", (0.5, 2))
        self.assertAlmostEqual(capsule.mass, cylinder.mass + ball.mass)
        self.assertAlmostEqual(capsule.inertia[2, 2], cylinder.inertia[2, 2] + ball.inertia[2, 2])
        # Across: two half balls, each with 83/320 m r^2 about its own centre, which is 3/8 r beyond the cylinder's end.
        half = ball.mass / 2
        ends = 2 * half * (83 / 320 * 0.25 + (2 + 0.375 * 0.5)**2)
        self.assertAlmostEqual(capsule.inertia[0, 0], cylinder.inertia[0, 0] + ends)
        self.assertAlmostEqual(sum_of([cylinder, ball]).mass, capsule.mass)


@unittest.skipUnless(importlib.util.find_spec("pxr"), "the extra `usd` is not installed")
class Stages(AxiondCase):
    def read(self, text, name="a.usda", **choices):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / name
        # A statement a line, as the language wants it.
        path.write_text(re.sub(r"(?<=\S)  +(?=\S)", "\n", text).replace(" }", "\n}"))
        return axion.read_usd(path, **choices)

    def test_an_arm_moves_as_the_same_arm_of_mjcf(self):
        scene, warnings = self.read(ARM)
        self.assertEqual(warnings, [])
        mine, theirs = self.client.create_model(scene=scene), self.client.create_model(mjcf=ARM_MJCF)
        index = {name: mine.body_names.index(name) for name in theirs.body_names}
        bodies = {body.name: body for body in mine.proto.bodies}
        for body in theirs.proto.bodies:
            found = bodies[body.name]
            self.assertAlmostEqual(found.mass, body.mass, places=6, msg=body.name)
            for part in ("xx", "yy", "zz", "xy", "xz", "yz"):
                axes = rotation_of([getattr(found.pose.rotation, key) for key in "wxyz"])
                inertia = axes @ np.array([[getattr(found.inertia, "".join(sorted(a + b))) for b in "xyz"] for a in "xyz"]) @ axes.T
                expected = getattr(body.inertia, part)
                self.assertAlmostEqual(inertia["xyz".index(part[0]), "xyz".index(part[1])], expected, delta=1e-6 + 1e-5 * abs(expected),
                                       msg=(body.name, part))
        names = {joint.axes[0].name: joint for joint in mine.proto.joints if joint.axes}
        self.assertAlmostEqual(names["shoulder"].axes[0].lower, -math.pi / 2, places=5)
        options = {"precision": "float64"}
        with self.client.create_batch(mine, 1, 0.002, options=options) as a, \
                self.client.create_batch(theirs, 1, 0.002, options=options) as b:
            for control in (0.0, -0.6, 0.5):
                one, other = (batch.step([control], steps=100, outputs="body_pose")["body_pose"][0] for batch in (a, b))
                for name, place in index.items():
                    np.testing.assert_allclose(one[place, :3], other[theirs.body_names.index(name), :3], atol=2e-5, err_msg=name)

    def test_coordinates_are_those_of_the_stages_joints(self):
        text = ARM.replace("float xformOp:rotateZ = 0", "float xformOp:rotateZ = 30")
        scene, _ = self.read(text)
        with self.client.create_batch(self.client.create_model(scene=scene), 1) as batch:
            state = batch.get_state(["joint_position", "body_pose"])
        named = dict(zip([axis.name for joint in scene.proto.joints for axis in joint.axes], range(99)))
        self.assertEqual(set(named), {"shoulder", "elbow", "lift"})
        model = self.client.create_model(scene=scene)
        where = {joint.axes[0].name: joint.position_start for joint in model.proto.joints if joint.axes}
        self.assertAlmostEqual(state["joint_position"][0, where["shoulder"]], math.pi / 6, places=5)
        self.assertAlmostEqual(state["joint_position"][0, where["lift"]], 0.06, places=5)
        # The upper link turns about its hinge, which stays where the base has it.
        upper = state["body_pose"][0, model.body_names.index("upper")]
        np.testing.assert_allclose(upper[:3], [0.08 + 0.12 * math.cos(math.pi / 6), 0, 0.5 + 0.12 * 0.5], atol=1e-5)

    def test_loops_are_closed_and_stay_closed(self):
        bar = 'def Capsule "{0}" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"] ) {{ double radius = 0.02  double ' \
              'height = {1}  uniform token axis = "{2}"  double3 xformOp:translate = {3}  uniform token[] xformOpOrder = ' \
              '["xformOp:translate"] }}\n'
        joint = 'def PhysicsRevoluteJoint "{0}" {{ uniform token physics:axis = "Y"  {1}   rel physics:body1 = </arm/{2}>  point3f ' \
                'physics:localPos0 = {3}  point3f physics:localPos1 = {4} }}\n'
        text = HEAD.format(metre=1, kilogram=1, up="Z") + 'def Xform "arm" {\n' + "".join([
            bar.format("crank", 0.5, "Z", (0, 0, 2)), bar.format("coupler", 1, "X", (0.5, 0, 2.25)),
            bar.format("rocker", 0.5, "Z", (1, 0, 2)),
            joint.format("a", "", "crank", (0, 0, 1.75), (0, 0, -0.25)),
            joint.format("b", "rel physics:body0 = </arm/crank>", "coupler", (0, 0, 0.25), (-0.5, 0, 0)),
            joint.format("c", "", "rocker", (1, 0, 1.75), (0, 0, -0.25)),
            joint.format("d", "rel physics:body0 = </arm/coupler>", "rocker", (0.5, 0, 0), (0, 0, 0.25))]) + "}\n"
        scene, warnings = self.read(text)
        self.assertEqual(warnings, [])
        model = self.client.create_model(scene=scene)
        self.assertEqual(sum(each.closes_loop for each in model.proto.joints), 1)
        with self.client.create_batch(model, 1, 0.005) as batch:
            batch.set_state(parameters={"gravity": [1.0, 0, -9.81]})
            pose = batch.step(steps=200, outputs="body_pose")["body_pose"][0].astype(float)
        ends = []
        for name, point in (("coupler", [0.5, 0, 0]), ("rocker", [0, 0, 0.25])):
            own = pose[model.body_names.index(name)]
            ends.append(own[:3] + rotation_of(own[3:]) @ point)
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-3)
        self.assertGreater(np.abs(pose[:, 0] - [0, 0.5, 1]).max(), 0.05)  # it has moved

    def test_meshes_and_what_lies_about_touch(self):
        text = HEAD.format(metre=1, kilogram=1, up="Z") + """
def Plane "ground" ( prepend apiSchemas = ["PhysicsCollisionAPI"] ) { uniform token axis = "Z" }
def Mesh "die" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMeshCollisionAPI", "PhysicsMassAPI"] )
{
    float physics:density = 500
    uniform token physics:approximation = "convexHull"
    point3f[] points = [(-0.1, -0.1, -0.1), (0.1, -0.1, -0.1), (0.1, 0.1, -0.1), (-0.1, 0.1, -0.1), (-0.1, -0.1, 0.1), (0.1, -0.1, 0.1),
        (0.1, 0.1, 0.1), (-0.1, 0.1, 0.1)]
    int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
    int[] faceVertexIndices = [0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 2, 3, 7, 6, 1, 2, 6, 5, 0, 4, 7, 3]
    double3 xformOp:translate = (0, 0, 0.5)
    uniform token[] xformOpOrder = ["xformOp:translate"]
}
"""
        scene, warnings = self.read(text)
        self.assertEqual(warnings, [])
        model = self.client.create_model(scene=scene)
        self.assertAlmostEqual(model.proto.bodies[0].mass, 4, places=6)
        with self.client.create_batch(model, 1, 0.005) as batch:
            height = batch.step(steps=300, outputs="body_pose")["body_pose"][0, 0, 2]
        self.assertAlmostEqual(height, 0.1, places=3)

    def test_what_is_not_supported_is_named_or_told(self):
        body = 'def Cube "{}" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"] ) {{ {} }}\n'
        head = HEAD.format(metre=1, kilogram=1, up="Z")
        for inner, message in (
                (body.format("a", "bool physics:kinematicEnabled = true") + body.format("b", ""), "/a: physics:kinematicEnabled"),
                (body.format("a", "").replace("Cube", "Cone"), "/a: a collider of the type Cone is not supported"),
                (body.format("a", "") + body.format("b", "") + 'def PhysicsDistanceJoint "j" { rel physics:body0 = </a> '
                 '  rel physics:body1 = </b> }', "/j: a joint of the type PhysicsDistanceJoint is not supported"),
                (body.format("a", "") + 'def PhysicsCollisionGroup "g" {}', "/g: groups of colliders are not supported")):
            with self.subTest(message=message):
                with self.assertRaisesRegex(ValueError, f"^{message}"):
                    self.read(head + inner)
                if "Cone" not in message:  # which leaves a body without a mass
                    _, warnings = self.read(head + inner, allow_unsupported=True)
                    self.assertRegex(warnings[0], f"^{message}")
        for inner, message in (
                ('def Xform "a" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] ) {}', "/a: has neither physics:mass nor a collider"),
                ('def Xform "a" {}', "has no rigid body"),
                (body.format("a", "") + 'def PhysicsFixedJoint "j" { rel physics:body1 = </b> }', "/j: physics:body1: there is no /b"),
                (body.format("a", "float3 xformOp:scale = (-1, 1, 1)  uniform token[] xformOpOrder = [\"xformOp:scale\"]"),
                 "/a: its transform shears or mirrors"),
                (body.format("a", "") + 'def PhysicsRevoluteJoint "j" { rel physics:body1 = </a>  float physics:lowerLimit = 3  '
                 'float physics:upperLimit = 2 }', "/j: physics:lowerLimit: is 0.05")):
            with self.subTest(message=message), self.assertRaisesRegex(ValueError, message):
                self.read(head + inner)
        _, warnings = self.read(head + body.format("a", "").replace('"PhysicsCollisionAPI"', '"PhysicsCollisionAPI", "PhysxRigidBodyAPI"'))
        self.assertEqual(warnings, ["/a: PhysxRigidBodyAPI is not read"])
        with self.assertRaises(FileNotFoundError):
            axion.read_usd("/nowhere/a.usda")
        with self.assertRaisesRegex(ValueError, "a.usda: is no stage of USD"):
            self.read("no stage")


@unittest.skipIf(importlib.util.find_spec("pxr"), "the extra `usd` is installed")
class WithoutUsd(unittest.TestCase):
    def test_the_extra_is_named(self):
        with self.assertRaisesRegex(ImportError, r"axion.read_usd wants the extra `usd` \(pip install 'axion-server-client\[usd\]'\)"):
            axion.read_usd("a.usda")


if __name__ == "__main__":
    unittest.main()
