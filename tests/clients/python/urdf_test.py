"""URDF files: what is collected of one and sent along, and the whole way to worlds of it, by axiond; see axiond_case.py."""

import json
import os
import pathlib
import struct
import tempfile
import unittest
from unittest import mock

import numpy as np

import axion
from axiond_case import AxiondCase

INERTIAL = "<inertial><origin xyz='0 0 {1}'/><mass value='{0}'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' ixz='0' iyz='0'/></inertial>"

# A cart on a rail along y, and a pendulum below it that swings across the rail, so that neither moves the other.
ROBOT = f"""<?xml version="1.0"?>
<robot name="cart">
  <link name="rail"><collision><geometry><box size=".1 4 .1"/></geometry></collision></link>
  <link name="cart">{INERTIAL.format(2, 0)}<collision><geometry><box size=".2 .2 .2"/></geometry></collision></link>
  <link name="bob">{INERTIAL.format(1, -.4)}
    <collision><geometry><mesh filename="package://cart_description/meshes/bob.STL" scale="2 2 2"/></geometry></collision>
    <visual><geometry><mesh filename="package://cart_description/meshes/pretty.stl"/></geometry></visual></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="50" velocity="10"/></joint>
  <joint name="swing" type="continuous"><parent link="cart"/><child link="bob"/><origin xyz="0 0 -.5"/><axis xyz="0 1 0"/></joint>
</robot>
"""


def cube_stl(half):
    """A binary STL file of a cube."""
    corners = [(x, y, z) for x in (-half, half) for y in (-half, half) for z in (-half, half)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *(x for i in face for x in corners[i]), 0) for face in faces)
    return bytes(80) + struct.pack("<I", len(faces)) + body


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def write(self, name, content):
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)


class ReadUrdf(Folder):
    def mesh(self, name):
        return f"<link name='a'><collision><geometry><mesh filename='{name}'/></geometry></collision></link>"

    def found(self, name, path="cart_description/urdf/robot.urdf", **arguments):
        main = self.write(path, f"<robot>{self.mesh(name)}</robot>")
        return axion.read_urdf(main, **arguments)[1]

    def test_meshes_that_collide_are_found_by_every_form_of_their_name(self):
        self.write("cart_description/meshes/bob.stl", "bob")
        self.write("cart_description/urdf/near.dae", "near")
        for name in ("package://cart_description/meshes/bob.stl", "../meshes/bob.stl", "model://cart_description/meshes/bob.stl",
                     f"file://{self.folder}/cart_description/meshes/bob.stl"):
            self.assertEqual(self.found(name), {name: b"bob"})
        self.assertEqual(self.found("near.dae"), {"near.dae": b"near"})
        for name in ("package://elsewhere/meshes/absent.stl", "../meshes/bob.png", "absent.obj", ""):
            self.assertEqual(self.found(name), {})

    def test_names_relative_to_a_root_of_assets_and_packages_that_are_none(self):
        self.write("cart_description/meshes/bob.stl", "bob")
        self.write("cart_description/urdf/plate.stl", "plate")
        for name, data in (("cart_description/meshes/bob.stl", b"bob"), ("meshes/bob.stl", b"bob"), ("package://plate.stl", b"plate")):
            self.assertEqual(self.found(name), {name: data})

    def test_packages_are_looked_for_where_the_caller_and_the_environment_say(self):
        name = "package://far/mesh.stl"
        self.write("packages/far/mesh.stl", "far")
        packages = os.path.join(self.folder, "packages")
        robot = "robots/urdf/robot.urdf"
        self.assertEqual(self.found(name, robot), {})
        self.assertEqual(self.found(name, robot, packages=[packages]), {name: b"far"})
        self.assertEqual(self.found(name, robot, packages=[os.path.join(packages, "far")]), {name: b"far"})
        with mock.patch.dict(os.environ, ROS_PACKAGE_PATH=f"/nowhere{os.pathsep}{packages}"):
            self.assertEqual(self.found(name, robot), {name: b"far"})

    def test_the_mesh_directory_of_the_extension(self):
        self.write("shapes/bob.stl", "bob")
        main = self.write("robot.urdf", "<robot><mujoco><compiler meshdir='shapes'/></mujoco>" + self.mesh("x/bob.stl") + "</robot>")
        self.assertEqual(axion.read_urdf(main)[1], {"x/bob.stl": b"bob"})

    def test_a_file_that_is_no_document_is_sent_for_the_server_to_refuse(self):
        self.assertEqual(axion.read_urdf(self.write("a.urdf", "<robot>")), ("<robot>", {}))


class Urdf(AxiondCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "cart_description", "urdf", "cart.urdf")
        os.makedirs(os.path.join(folder, "cart_description", "meshes"))
        os.makedirs(os.path.dirname(self.path))
        pathlib.Path(self.path).write_text(ROBOT)
        pathlib.Path(folder, "cart_description", "meshes", "bob.STL").write_bytes(cube_stl(0.05))

    def test_a_file_with_its_meshes_swings_as_a_pendulum_does(self):
        model = self.client.create_model(path=self.path, urdf_options={"base_position": (0, 0, 5)})
        self.assertEqual(model.body_names, ["cart", "bob"])
        self.assertEqual(model.joint_names, ["slide", "swing"])
        self.assertEqual(model.control_count, 0)
        with self.client.create_batch(model, 2, dt=0.001) as batch:
            batch.set_state(joint_position=np.array([[0.1, 0.05], [0.0, -0.05]]))
            result = batch.step(steps=1000, record_every=10, outputs=["joint_position", "body_pose"])
        times = 0.01 * np.arange(1, 101)
        swing = np.cos(np.sqrt(9.81 * 0.4 / (0.01 + 0.4**2)) * times)
        np.testing.assert_allclose(result["joint_position"][0], np.stack([np.full(100, 0.1), 0.05 * swing], 1), atol=5e-4)
        np.testing.assert_allclose(result["joint_position"][1], np.stack([np.zeros(100), -0.05 * swing], 1), atol=5e-4)
        np.testing.assert_allclose(result["body_pose"][0, -1, 1, :3], [0, 0.1, 4.5], atol=1e-4)

    def test_a_free_base_lands_on_the_ground_with_its_mesh(self):
        robot = f"""<robot name="cube"><link name="cube">{INERTIAL.format(1, 0)}
            <collision><geometry><mesh filename="meshes/cube.stl"/></geometry></collision></link></robot>"""
        model = self.client.create_model(urdf=robot, assets={"cube.stl": cube_stl(0.1)},
                                         urdf_options={"base": "free", "base_position": (0, 0, 0.3), "ground": True})
        with self.client.create_batch(model, 1, dt=0.005) as batch:
            result = batch.step(steps=400, outputs=["body_pose"])
        np.testing.assert_allclose(result["body_pose"][0, 0, :3], [0, 0, 0.1], atol=2e-3)

    def test_motors_push_with_the_effort_of_their_joint_at_most(self):
        model = self.client.create_model(path=self.path, urdf_options={"actuators": "motor", "base_position": (0, 0, 5)})
        self.assertEqual(model.actuator_names, ["slide", "swing"])
        with self.client.create_batch(model, 2, dt=0.001) as batch:
            result = batch.step(control=np.array([[30.0, 0.0], [1000.0, 0.0]]), steps=100, outputs=["joint_velocity"])
        np.testing.assert_allclose(result["joint_velocity"][:, 0], [30 / 3 * 0.1, 50 / 3 * 0.1], rtol=1e-3)

    def test_bad_input_names_the_field_and_makes_nothing(self):
        before = len(self.client.list_models())
        for arguments, part in (({"urdf": "<robot>\n<link/></robot>"}, "<link> (line 2): name is required"),
                                ({"urdf": ROBOT}, "was not sent along"),
                                ({"mjcf": "<mujoco/>", "urdf_options": {"base": "free"}}, "urdf_options"),
                                ({"urdf": ROBOT, "urdf_options": {"base_rotation": (0, 0, 0, 0)}}, "base_pose")):
            with self.assertRaises(axion.InvalidArgumentError) as caught:
                self.client.create_model(**arguments)
            self.assertIn(part, str(caught.exception))
        self.assertEqual(len(self.client.list_models()), before)
        for choices, error in (({"base": "loose"}, ValueError), ({"height": 1}, TypeError)):
            with self.assertRaises(error):
                self.client.create_model(urdf=ROBOT, urdf_options=choices)
        with self.assertRaises(TypeError):
            self.client.create_model(urdf=ROBOT, path=self.path)

    def test_the_server_says_that_it_reads_urdf(self):
        self.assertIn("urdf", self.client.server_info().features)

    def test_the_tool_takes_the_file_as_it_is(self):
        out = self.tool("create", self.path, "--worlds=0", "--json", "--motors", "--base_height=5")
        model = self.client.get_model(json.loads(out)["model"])
        self.assertEqual(model.actuator_names, ["slide", "swing"])
        same = self.client.create_model(path=self.path, urdf_options={"actuators": "motor", "base_position": (0, 0, 5)})
        self.assertEqual(same.name, model.name)
        self.tool("run", self.path, "--seconds=0.1", "--trace=joint_position:0")
        self.assertIn("neither fixed nor free", self.tool("create", self.path, "--base=loose", code=2))


if __name__ == "__main__":
    unittest.main()
