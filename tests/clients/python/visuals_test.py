"""What is for the eye alone: where its maker has put it, in the place of what collides, and sent only to be kept. Wants `view`."""

import importlib.util
import pathlib
import struct
import tempfile
import unittest

import numpy as np

import axion
from axiond_case import AXIOND, AxiondCase

HAS_VIEW = importlib.util.find_spec("embreex") is not None
HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None
if HAS_VIEW:
    from axion.viewing import geometry
    from axion.viewing.raycast import Camera
if HAS_MUJOCO:
    import mujoco


def wedge(x, y, z, triangles=4):
    """An STL file of a tetrahedron with its corner at the origin and edges along the axes, whose faces are cut into so many triangles."""
    corners = np.array([[0, 0, 0], [x, 0, 0], [0, y, 0], [0, 0, z]], np.float64)
    faces = [corners[[0, 2, 1]], corners[[0, 1, 3]], corners[[0, 3, 2]], corners[[1, 2, 3]]]
    while len(faces) < triangles:
        a, b, c = faces.pop(0)
        faces += [np.array([a, b, (a + c) / 2]), np.array([(a + c) / 2, b, c])]
    return bytes(80) + struct.pack("<I", len(faces)) + b"".join(
        struct.pack("<12fH", 0, 0, 0, *face.astype(np.float32).ravel(), 0) for face in faces)


FILES = {"skin.stl": wedge(0.3, 0.2, 0.4), "horn.stl": wedge(0.1, 0.1, 0.5), "hull.stl": wedge(0.2, 0.2, 0.2)}
# Meshes that are turned, scaled, mirrored and moved, on bodies in frames and on one that is welded; a hull in MuJoCo's hidden group.
ROBOT = """<mujoco><compiler angle="degree"/><default><default class="visual">
<geom group="2" contype="0" conaffinity="0" mass="0"/></default>
<default class="collision"><geom group="3"/></default></default>
<asset><material name="red" rgba="0.9 0.1 0.1 1"/><mesh file="skin.stl" scale="1 1 -1"/><mesh file="hull.stl"/>
<mesh file="horn.stl" refpos="0.05 0 0.1" refquat="1 0 0.5 0" scale="0.8 0.8 0.8"/></asset>
<worldbody><geom type="mesh" mesh="horn" class="visual" pos="2 0 0" euler="0 90 0"/>
<body name="trunk" pos="0 0 1" euler="0 0 30"><freejoint/><geom name="box" type="box" size=".2 .1 .1" class="collision"/>
  <frame pos="0 .3 0" euler="40 0 0"><geom type="mesh" mesh="skin" class="visual" material="red" pos=".1 0 0" euler="0 0 20"/></frame>
  <geom type="cylinder" size=".05 .1" pos="0 -.3 0" euler="90 0 0" class="visual" rgba="0 1 0 1"/>
  <body name="plate" pos="0 0 .3" euler="0 20 0"><geom type="mesh" mesh="horn" class="visual"/></body>
  <body name="arm" pos=".3 0 0"><joint axis="0 1 0"/><geom name="hull" type="mesh" mesh="hull" pos="0 0 .1" euler="0 0 45"/></body>
</body></worldbody></mujoco>"""


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class Visuals(AxiondCase):
    def placed(self, model):
        """Corners in the world of what is drawn, at the reference configuration: (least, greatest) by name, in order."""
        with self.client.create_batch(model, 1) as batch:
            state = batch.get_state(["body_pose", "mocap_pose"])
        frames = geometry.frame_poses(model, state["body_pose"], state["mocap_pose"])[0]
        found = []
        for shape in geometry.shapes_of(model, 48):
            points = shape.mesh.vertices @ shape.rotation.T + shape.position
            if shape.frame >= 0:
                points = points @ geometry.rotation_matrices(frames[shape.frame, 3:]).T + frames[shape.frame, :3]
            found.append((shape.name, points.min(0), points.max(0)))
        return found

    @unittest.skipUnless(HAS_MUJOCO, "MuJoCo is not installed")
    def test_what_geoms_look_like_is_where_mujoco_has_it(self):
        model = self.client.create_model(mjcf=ROBOT, assets=FILES)
        found = self.placed(model)
        self.assertEqual(sorted(name for name, *_ in found), ["horn.stl", "horn.stl", "hull.stl", "skin.stl", "trunk"])
        reference = mujoco.MjModel.from_xml_string(ROBOT, FILES)
        data = mujoco.MjData(reference)
        mujoco.mj_forward(reference, data)
        expected = []
        for geom in range(reference.ngeom):
            if reference.geom_group[geom] > 2 or reference.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
                continue
            mesh = reference.geom_dataid[geom]
            start = reference.mesh_vertadr[mesh]
            vertices = reference.mesh_vert[start:start + reference.mesh_vertnum[mesh]].astype(float)
            points = vertices @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
            expected.append((points.min(0), points.max(0)))
        meshes = [(low, high) for name, low, high in found if name.endswith(".stl")]
        self.assertEqual(len(meshes), len(expected))
        for low, high in expected:   # MuJoCo keeps vertices as floats
            self.assertTrue(any(np.allclose(low, l, atol=2e-6) and np.allclose(high, h, atol=2e-6) for l, h in meshes), (low, high, meshes))
        colors = {shape.name: shape.color for shape in geometry.shapes_of(model)}
        np.testing.assert_allclose(colors["skin.stl"], (0.9, 0.1, 0.1), atol=1e-6)
        np.testing.assert_allclose(colors["trunk"], (0, 1, 0), atol=1e-6)
        self.assertEqual([shape.name for shape in model.proto.shapes], ["box", "hull"])   # which collide as before

    def test_links_look_like_their_visuals_and_collide_as_they_did(self):
        urdf = """<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material><link name="base">
        <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
        <visual><origin xyz="0 0 .5" rpy="0 0 1.5707963267948966"/>
        <geometry><mesh filename="package://p/skin.stl" scale="2 2 2"/></geometry>
        <material name="blue"/></visual><collision><geometry><box size="1 1 1"/></geometry></collision></link>
        <link name="tip"><visual><geometry><sphere radius=".1"/></geometry></visual></link>
        <joint name="j" type="fixed"><parent link="base"/><child link="tip"/><origin xyz="1 0 0"/></joint>
        <link name="bare"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
        <visual><geometry><mesh filename="package://p/nowhere.stl"/></geometry></visual>
        <collision name="own"><geometry><sphere radius=".2"/></geometry></collision></link>
        <joint name="k" type="continuous"><parent link="base"/><child link="bare"/><origin xyz="0 2 0"/></joint></robot>"""
        model = self.client.create_model(urdf=urdf, assets={"package://p/skin.stl": FILES["skin.stl"]}, urdf_options={"base": "free"})
        found = {name: (low, high) for name, low, high in self.placed(model)}
        self.assertEqual(set(found), {"skin.stl", "tip", "own"})
        np.testing.assert_allclose(found["skin.stl"], [[-0.4, 0, 0.5], [0, 0.6, 1.3]], atol=1e-6)
        np.testing.assert_allclose(found["tip"], [[0.9, -0.1, -0.1], [1.1, 0.1, 0.1]], atol=1e-3)
        self.assertEqual({shape.name: shape.color for shape in geometry.shapes_of(model)}["skin.stl"], (0, 0, 1))
        self.assertEqual(len(model.proto.shapes), 2)

    def test_a_visual_of_no_size_leaves_what_collides_to_be_seen(self):
        urdf = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
        <visual><geometry>{}</geometry></visual><collision name="own"><geometry><sphere radius=".1"/></geometry></collision>
        </link></robot>"""
        flat = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
        skin = '<mesh filename="skin.stl" scale="{}"/>'
        for geometry_of, drawn in (('<box size="0 0 0"/>', "own"), ('<box size="-1 1 1"/>', "own"), ('<sphere radius="0"/>', "own"),
                                   (skin.format("0 0 0"), "own"), (skin.format("1e300 1 1"), "own"),
                                   (skin.format("1e-12 1e-12 1e-12"), "own"), (skin.format("-1 1 1"), "skin.stl"),
                                   ('<mesh filename="flat.obj"/>', "flat.obj")):
            model = self.client.create_model(urdf=urdf.format(geometry_of), assets={**FILES, "flat.obj": flat})
            with self.subTest(geometry_of):
                self.assertEqual([shape.name for shape in geometry.shapes_of(model)], [drawn])

    def test_what_is_for_the_eye_changes_no_bit_of_what_moves(self):
        bare = ROBOT
        for line in ('<geom type="mesh" mesh="horn" class="visual" pos="2 0 0" euler="0 90 0"/>',
                     '<geom type="mesh" mesh="skin" class="visual" material="red" pos=".1 0 0" euler="0 0 20"/>',
                     '<geom type="cylinder" size=".05 .1" pos="0 -.3 0" euler="90 0 0" class="visual" rgba="0 1 0 1"/>'):
            self.assertIn(line, bare)
            bare = bare.replace(line, "")
        found = []
        for mjcf in (ROBOT, bare):
            for keep in (False, True):
                on_ground = mjcf.replace("<worldbody>", '<worldbody><geom type="plane" size="9 9 1"/>')
                model = self.client.create_model(mjcf=on_ground, assets=FILES, keep_visuals=keep)
                with self.client.create_batch(model, 2) as batch:
                    last = batch.step(steps=500, outputs=["body_pose", "body_velocity"])
                found.append([[body.mass for body in model.proto.bodies], last["body_pose"].tolist(), last["body_velocity"].tolist()])
        for other in found[1:]:
            self.assertEqual(other, found[0])

    def test_a_scene_that_is_given_back_moves_alike_and_is_drawn_as_it_collides(self):
        model = self.client.create_model(mjcf=ROBOT, assets=FILES)
        meshes = [visual.asset for visual in self.client.get_model(model.name).proto.visuals.visuals if visual.file]
        self.assertEqual(len(meshes), 4)  # every answer names them by their digests
        self.assertTrue(all(digest.startswith("sha256:") for digest in meshes), meshes)
        again = self.client.create_model(scene=self.client.get_scene(model))
        self.assertEqual(again.proto.fingerprint, model.proto.fingerprint)
        self.assertFalse(again.proto.HasField("visuals"))
        self.assertEqual([shape.name for shape in geometry.shapes_of(again)], ["box", "hull"])

    def test_a_picture_has_the_colour_of_what_is_for_the_eye(self):
        model = self.client.create_model(mjcf=ROBOT, assets=FILES)
        with self.client.create_batch(model, 1) as batch:
            picture = axion.render(batch, width=200, height=150, camera=Camera(track="trunk", distance=2, azimuth=200))
        red = (picture[..., 0] > 2.0 * picture[..., 1]) & (picture[..., 0] > 80)
        self.assertGreater(red.sum(), 100)

    def robot_of(self, folder):
        """Whose mesh for the eye is too large to go along with a request."""
        skin = wedge(0.3, 0.2, 0.4, 30_000)
        pathlib.Path(folder, "skin.stl").write_bytes(skin)
        path = pathlib.Path(folder, "robot.xml")
        path.write_text("""<mujoco><asset><mesh file="skin.stl"/></asset><worldbody><body name="a"><freejoint/><geom name="box" type="box"
        size=".1 .1 .1" group="3"/><geom type="mesh" mesh="skin" group="2" contype="0" conaffinity="0" mass="0"/></body></worldbody>
        </mujoco>""")
        return path, len(skin)

    def test_it_is_drawn_by_who_has_it_and_sent_when_it_is_to_be_kept(self):
        with tempfile.TemporaryDirectory() as folder, axion.Client(self.target) as other:
            path, size = self.robot_of(folder)
            before = self.used()
            model = self.client.create_model(path=path)
            self.assertLess(self.used() - before, size / 2)   # it was not sent
            self.assertEqual([shape.name for shape in geometry.shapes_of(model)], ["skin.stl"])
            self.assertEqual([shape.name for shape in geometry.shapes_of(self.client.get_model(model.name))], ["skin.stl"])
            seen = other.get_model(model.name)
            self.assertEqual([shape.name for shape in geometry.shapes_of(seen)], ["box"])   # in its place, what collides
            self.client.create_model(path=path, keep_visuals=True)
            self.assertEqual([shape.name for shape in geometry.shapes_of(seen)], ["skin.stl"])
            with self.assertRaises(axion.errors.NotFoundError):
                other._download("sha256:" + 64 * "0")

    def used(self):
        return self.server.metric('axion_memory_bytes{kind="used"}')

    def test_a_large_mesh_is_drawn_with_few_triangles_in_its_place(self):
        mesh = geometry.file_mesh(wedge(0.3, 0.2, 0.4, 60_000), "a.stl", (1.0, 1.0, 1.0))
        self.assertLess(len(mesh.faces), 25_000)
        np.testing.assert_allclose([mesh.vertices.min(0), mesh.vertices.max(0)], [[0, 0, 0], [0.3, 0.2, 0.4]], atol=0.01)

    def test_what_is_no_mesh_is_drawn_as_it_collides(self):
        for content, name in ((b"", "a.stl"), (b"solid", "a.obj"), (bytes(100), "a.dae"), (b"\xff" * 40, "a.msh"), (b"x", "a.svg")):
            self.assertIsNone(geometry.file_mesh(content, name, (1.0, 1.0, 1.0)), name)


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class Asked(unittest.TestCase):
    """Kept apart for those without the extra `view`."""

    def test_a_mesh_for_the_eye_that_is_outside_of_the_package_is_not_read(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "robot").mkdir()
            (root / "secret.stl").write_bytes(b"secret")
            (root / "robot" / "own.stl").write_bytes(b"own")
            (root / "robot" / "r.urdf").write_text("""<robot name="r"><link name="a"><visual><geometry>
            <mesh filename="../secret.stl"/></geometry></visual><visual><geometry><mesh filename="own.stl"/></geometry></visual>
            </link></robot>""")
            self.assertEqual(axion.read_urdf(root / "robot" / "r.urdf")[1], {"own.stl": b"own"})


if __name__ == "__main__":
    unittest.main()
