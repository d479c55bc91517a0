"""Pictures without a browser: what is drawn is where a camera sees it. Wants the extra `view`."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import numpy as np

import axion
from axiond_case import AXIOND, ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS
from axion.v1 import scene_pb2, simulation_pb2

HAS_VIEW = importlib.util.find_spec("embreex") is not None
if HAS_VIEW:
    from axion.viewing import geometry
    from axion.viewing.raycast import Camera, Ground, Picture, Surface
    from axion.viewing import render
    from axion.viewing.render import Marks, Renderer, save_movie
    from pictures import read_movie, read_picture

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"


def model_of(*shapes, bodies=("a",)):
    """A Model of free bodies with shapes, without a server."""
    proto = simulation_pb2.Model(name="models/m", body_count=len(bodies), bodies=[
        simulation_pb2.BodyInfo(name=name, mass=1) for name in bodies], shapes=shapes)
    proto.gravity.z = -9.81
    return axion.Model(proto)


def sphere(radius, body=0):
    return scene_pb2.ShapeSpec(name="ball", kind=scene_pb2.SHAPE_KIND_SPHERE, body=body, size=scene_pb2.Vec3(x=radius))


def pose(x=0.0, y=0.0, z=0.0):
    return [x, y, z, 1, 0, 0, 0]


def differs(picture, empty):
    return np.abs(picture.astype(int) - empty.astype(int)).sum(2) > 40


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class Triangles(unittest.TestCase):
    def volume(self, mesh):
        a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)

    def shape(self, kind, x, y=0.0, z=0.0):
        spec = scene_pb2.ShapeSpec(kind=kind, body=0, size=scene_pb2.Vec3(x=x, y=y, z=z))
        return geometry.shapes_of(model_of(spec), detail=48)[0].mesh

    def test_shapes_have_the_volume_of_their_formula_and_face_outwards(self):
        r, h = 0.3, 0.7
        for kind, sizes, volume in (
                (scene_pb2.SHAPE_KIND_SPHERE, (r,), 4 / 3 * np.pi * r**3),
                (scene_pb2.SHAPE_KIND_CAPSULE, (r, h), 4 / 3 * np.pi * r**3 + 2 * h * np.pi * r**2),
                (scene_pb2.SHAPE_KIND_BOX, (0.1, 0.2, 0.3), 8 * 0.006),
                (scene_pb2.SHAPE_KIND_CYLINDER, (r, h), 2 * h * np.pi * r**2),
                (scene_pb2.SHAPE_KIND_ELLIPSOID, (0.1, 0.2, 0.3), 4 / 3 * np.pi * 0.006)):
            mesh = self.shape(kind, *sizes)
            with self.subTest(kind=kind):
                self.assertAlmostEqual(self.volume(mesh) / volume, 1, delta=0.01)
                a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
                facing = np.einsum("ij,ij->i", np.cross(b - a, c - a), mesh.normals[mesh.faces].sum(1))
                self.assertGreaterEqual(facing.min(), -1e-12)

    def test_a_hull_has_the_volume_of_its_points_whatever_faces_have_in_common(self):
        rng = np.random.default_rng(1)
        cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        self.assertAlmostEqual(self.volume(geometry.hull(cube * [1, 2, 3] + 5)), 48, places=9)
        angles = np.arange(24) * (2 * np.pi / 24)
        prism = np.array([[np.cos(t), np.sin(t), z] for t in angles for z in (0, 2)])
        self.assertAlmostEqual(self.volume(geometry.hull(prism)), 2 * 12 * np.sin(2 * np.pi / 24), places=9)
        points = rng.normal(size=(60, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        mesh = geometry.hull(points)
        self.assertEqual(len(mesh.faces), 2 * len(points) - 4)  # Euler: all are vertices, all faces triangles
        heights = np.einsum("fi,fji->fj", mesh.normals[mesh.faces[:, 0]], points[None] - mesh.vertices[mesh.faces[:, :1]])
        self.assertLess(heights.max(), 1e-9)

    def test_an_arrow_ends_where_it_points(self):
        along = np.array([0.3, -0.4, 1.2])
        mesh = geometry.arrow([1, 2, 3], along, 0.01)
        reached = (mesh.vertices - [1, 2, 3]) @ (along / 1.3)
        self.assertAlmostEqual(reached.max(), 1.3, places=9)
        self.assertAlmostEqual(reached.min(), 0, places=9)


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class Pictures(unittest.TestCase):
    def test_a_notebook_shows_a_picture_and_writes_the_numbers_of_what_is_none(self):
        picture = Renderer(model_of(sphere(0.5)), 40, 30).render([pose()])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "seen.png")
            path.write_bytes(picture._repr_png_())
            np.testing.assert_array_equal(read_picture(path), picture)
        for part in (picture[0], picture[..., 0], picture.astype(float), picture[:0]):
            self.assertIsNone(part._repr_png_())

    def test_a_ball_is_as_large_as_a_camera_sees_it(self):
        radius, distance, field = 0.5, 4.0, 40.0
        camera = Camera(azimuth=30, elevation=-20, distance=distance, look_at=(1, 2, 3), field_of_view=field)
        made = [Renderer(model_of(sphere(r)), 200, 160, camera).render([pose(1, 2, 3)]) for r in (radius, 1e-9)]
        area = differs(*made).sum()
        scale = 80 / np.tan(np.radians(field / 2))
        expected = np.pi * (radius / np.sqrt(distance**2 - radius**2) * scale) ** 2
        self.assertAlmostEqual(area / expected, 1, delta=0.03)
        rows, columns = np.nonzero(differs(*made))
        self.assertAlmostEqual(rows.mean(), 79.5, delta=1)
        self.assertAlmostEqual(columns.mean(), 99.5, delta=1)

    def test_what_moves_away_leaves_the_ground_and_the_other_worlds_as_they_are(self):
        floor = scene_pb2.ShapeSpec(name="floor", kind=scene_pb2.SHAPE_KIND_PLANE, body=-1)
        renderer = Renderer(model_of(sphere(0.1), floor), 64, 48, Camera(azimuth=0, elevation=-30, distance=4, look_at=(0, 0, 0)))
        places = [[pose(0, 0, 0.1)], [pose(0, 0, 0.1)]]
        first, then = renderer.render(places), renderer.render([places[0], [pose(0, 0.4, 3.0)]])
        self.assertLess(differs(first, then).mean(), 0.1)  # a ball that is gone and its shadow; not every tile of the ground
        self.assertTrue(differs(first, then).any())

    def test_azimuth_0_looks_along_x_with_y_on_the_left_and_z_above(self):
        camera = Camera(azimuth=0, elevation=0, distance=5, look_at=(0, 0, 0))
        renderer = Renderer(model_of(sphere(0.2)), 100, 100, camera, samples=1)
        empty = renderer.render([pose(-20)])  # behind the camera
        where = {}
        for name, at in (("left", pose(0, 1, 0)), ("above", pose(0, 0, 1)), ("near", pose(-2)), ("far", pose(2))):
            found = np.argwhere(differs(renderer.render([at]), empty))
            where[name] = (*found.mean(0), len(found))
        self.assertLess(where["left"][1], 40)
        self.assertLess(where["above"][0], 40)
        self.assertGreater(where["near"][2], 3 * where["far"][2])

    def test_what_is_in_front_hides_what_is_behind_whatever_their_order(self):
        camera = Camera(azimuth=0, elevation=0, distance=5, look_at=(0, 0, 0))
        renderer = Renderer(model_of(sphere(0.5, 0), sphere(0.5, 1), bodies=("a", "b")), 40, 40, camera)
        first = renderer.render([pose(-1), pose(1)])[20, 20].astype(int)
        second = renderer.render([pose(1), pose(-1)])[20, 20].astype(int)
        self.assertGreater(np.abs(first - second).sum(), 60)  # the two have colours of their own

    def test_the_ground_is_darker_under_a_body(self):
        plane = scene_pb2.ShapeSpec(kind=scene_pb2.SHAPE_KIND_PLANE)
        camera = Camera(azimuth=90, elevation=-89, distance=8, look_at=(0, 0, 0))
        renderer = Renderer(model_of(plane, sphere(0.5)), 120, 120, camera)
        with_ball, without = renderer.render([pose(0, 0, 1)]), renderer.render([pose(0, 0, -3)])
        darker = without.sum(2).astype(int) - with_ball.sum(2) > 100
        self.assertGreater(darker.sum(), 50)

    def test_a_camera_that_tracks_a_body_keeps_it_in_the_middle(self):
        camera = Camera(distance=4, track="b")
        renderer = Renderer(model_of(sphere(0.3, 1), bodies=("a", "b")), 80, 60, camera)
        pictures = [renderer.render([pose(), pose(x, 2 * x, 0.5 * x)]) for x in (0.0, 3.0, -7.0)]
        for picture in pictures[1:]:
            np.testing.assert_array_equal(picture, pictures[0])

    def test_wide_surroundings_do_not_make_what_moves_a_speck(self):
        shapes = geometry.shapes_of(model_of(sphere(0.2), scene_pb2.ShapeSpec(
            kind=scene_pb2.SHAPE_KIND_BOX, size=scene_pb2.Vec3(x=30, y=30, z=0.01))))
        low, high = geometry.scene_bounds(shapes, np.array([pose(z=0.3)]))
        np.testing.assert_allclose([low, high], [[-0.2, -0.2, 0.1], [0.2, 0.2, 0.5]], atol=0.01)
        self.assertGreater(geometry.world_bounds(shapes, np.array([pose(z=0.3)]))[1][0], 29)  # worlds stand that far apart
        fixed = [shape for shape in shapes if shape.frame < 0]
        self.assertGreater(geometry.scene_bounds(fixed, np.zeros((0, 7)))[1][0], 29)  # where nothing moves all is looked at

    def test_worlds_stand_beside_each_other(self):
        renderer = Renderer(model_of(sphere(0.3)), 120, 120, Camera(azimuth=90, elevation=-89.9), spacing=2.0)
        nine = renderer.render(np.array([[pose()]] * 9))
        alone = Renderer(model_of(sphere(1e-9)), 120, 120, renderer.camera, spacing=2.0)
        alone._frame = renderer._frame
        hit = differs(nine, alone.render(np.array([[pose()]] * 9)))
        for row in range(3):
            for column in range(3):
                self.assertTrue(hit[40 * row:40 * row + 40, 40 * column:40 * column + 40].any())
        self.assertFalse(hit[:, [0, -1]].any())

    def test_marks_are_seen_through_shapes(self):
        camera = Camera(distance=3, look_at=(0, 0, 0))
        model = model_of(sphere(0.5))
        plain = Renderer(model, 60, 60, camera).render([pose()])
        marked = Renderer(model, 60, 60, camera, Marks(centers_of_mass=True)).render([pose()])
        self.assertTrue(differs(marked, plain)[29:31, 29:31].all())
        self.assertFalse(differs(marked, plain)[:20].any())
        self.assertTrue(differs(Renderer(model, 60, 60, camera, Marks(names=True)).render([pose()]), plain).any())

    def test_the_same_picture_has_the_same_bytes(self):
        renderer = Renderer(model_of(scene_pb2.ShapeSpec(kind=scene_pb2.SHAPE_KIND_PLANE), sphere(0.5)), 90, 70)
        np.testing.assert_array_equal(renderer.render([pose(0, 0, 1)]), renderer.render([pose(0, 0, 1)]))

    def test_an_encoder_that_fails_says_why(self):
        pictures = [np.zeros((48, 64, 3), np.uint8)] * 3
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "film.mp4").mkdir()
            with self.assertRaisesRegex(OSError, "Is a directory.*film.mp4"):
                save_movie(pathlib.Path(folder) / "film.mp4", pictures, 10)
            with self.assertRaisesRegex(OSError, "nowhere"):
                save_movie(pathlib.Path(folder) / "nowhere" / "film.mp4", pictures, 10)
            # A child that ends before it is the encoder, or that the system kills, has taken what fits its pipe.
            for command, reason in (("/bin/false", "ended with 1"), ("/nonexistent/ffmpeg", "No such file")):
                with unittest.mock.patch.object(render.imageio_ffmpeg, "get_ffmpeg_exe", return_value=command), \
                        self.assertRaisesRegex(OSError, reason):
                    save_movie(pathlib.Path(folder) / "other.mp4", pictures, 10)

            def failing():
                yield pictures[0][:4, :4]  # few enough bytes to be kept until more come
                time.sleep(0.5)  # by now nobody would read them
                raise ValueError("what went wrong")

            with unittest.mock.patch.object(render.imageio_ffmpeg, "get_ffmpeg_exe", return_value="/bin/false"), \
                    self.assertRaisesRegex(ValueError, "what went wrong"):
                save_movie(pathlib.Path(folder) / "other.mp4", failing(), 10)

    def test_a_movie_that_is_not_made_whole_leaves_what_was_there(self):
        def interrupted(error):
            yield from [np.zeros((48, 64, 3), np.uint8)] * 3
            raise error

        for ending in ("gif", "mp4"):
            for error in (KeyboardInterrupt(), ValueError("of the pictures")):
                with tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder) / f"film.{ending}"
                    for before in ([], [path]):
                        for file in before:
                            file.write_bytes(b"the last movie")
                        with self.assertRaises(type(error)):
                            save_movie(path, interrupted(error), 10)
                        self.assertEqual(list(pathlib.Path(folder).iterdir()), before)
                    self.assertEqual(path.read_bytes(), b"the last movie")

    def test_wrong_arguments_are_named(self):
        model = model_of(sphere(0.5))
        for arguments, name in (({"width": 0}, "width"), ({"height": 10**6}, "height"), ({"samples": 0}, "samples"),
                                ({"camera": Camera(track="soul")}, "track: 'soul'"), ({"camera": Camera(distance=-1)}, "distance"),
                                ({"camera": Camera(elevation=91)}, "elevation"),
                                ({"camera": Camera(field_of_view=180)}, "field_of_view")):
            with self.assertRaisesRegex(ValueError, name):
                Renderer(model, **arguments)
        with self.assertRaisesRegex(ValueError, r"body_pose: has shape \[3, 7\]"):
            Renderer(model).render(np.zeros((3, 7)))
        with self.assertRaisesRegex(ValueError, "must end in .gif or .mp4"):
            save_movie("film.avi", [])
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("gif", "mp4"):
                path = pathlib.Path(folder) / f"film.{ending}"
                with self.assertRaisesRegex(ValueError, "pictures: has no picture"):
                    save_movie(path, [])
                with self.assertRaisesRegex(ValueError, r"pictures\[1\]: has shape \[4, 6, 3\]"):
                    save_movie(path, [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 6, 3), np.uint8)])

    def test_movies_have_their_pictures(self):
        renderer = Renderer(model_of(sphere(0.3)), 64, 48, Camera(distance=4, look_at=(0, 0, 0)), samples=1)
        pictures = [renderer.render([pose(0, 0.1 * i, 0)]) for i in range(6)]
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("gif", "mp4"):
                path = pathlib.Path(folder) / f"film.{ending}"
                save_movie(path, pictures, 20)
                read = read_movie(path, 64, 48)
                self.assertEqual(read.shape, (6, 48, 64, 3), ending)
                self.assertLess(np.abs(read[3].astype(int) - pictures[3]).mean(), 12, ending)

    def test_grounds_of_any_direction_are_met_where_they_are(self):
        wall = Ground(np.array([3.0, 0, 0]), np.array([-1.0, 0, 0]))
        ball = Surface(geometry.ball([4.0, 0, 0], 0.5), (1, 0, 0))  # behind the wall
        axes = Camera(azimuth=0, elevation=0).axes()
        picture = Picture([ball], [wall]).seen(np.zeros(3), *axes, 40.0, 20, 20, 1)
        self.assertLess(np.ptp(picture[10, 10].astype(int)), 40)  # grey, not red


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class RenderedBatches(AxiondCase):
    def test_a_robot_stands_in_the_picture_and_its_lease_is_not_renewed(self):
        model = self.client.create_model(path=QUADRUPED)
        with self.client.create_batch(model, 3) as batch:
            batch.reset(keyframe="stand")
            batch.step(control=model.hold_control("stand"), steps=100)
            expires = self.client.get_batch(batch.name).proto.expire_time.ToNanoseconds()
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "robot.png"
                plain = axion.render(batch, width=160, height=120, path=path)
                np.testing.assert_array_equal(read_picture(path), plain)
            with_forces = axion.render(batch, width=160, height=120, contacts=True)
            red = differs(with_forces, plain)
            self.assertGreater(red.sum(), 10)
            self.assertEqual(axion.render(batch, [0, 2], width=64, height=48).shape, (48, 64, 3))
            renewed = {b.name: b.proto.expire_time.ToNanoseconds() for b in self.client.list_batches()}[batch.name]
            self.assertLessEqual(renewed, expires)

    def test_what_clients_place_is_seen_where_they_have_placed_it(self):
        scene = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body mocap="true" name="hand" pos="{}" euler="{}">
          <geom type="box" size=".1 .2 .05" pos=".2 0 0" euler="0 30 0"/></body><body name="ball" pos="1 0 .1"><freejoint/>
          <geom size=".1"/></body></worldbody></mujoco>"""
        start, moved = (self.client.create_model(mjcf=scene.format(*place)) for place in (("0 0 .5", "0 0 45"), (".3 .4 1", "20 0 -60")))
        self.assertEqual([list(mocap.shapes) for mocap in start.proto.mocaps], [[1]])
        place = moved.proto.mocaps[0].pose
        there = [[place.position.x, place.position.y, place.position.z,
                  *(getattr(place.rotation, name) for name in "wxyz")]]
        view = {"width": 120, "height": 90, "camera": Camera(look_at=(0.3, 0.2, 0.6), distance=3.0)}
        with self.client.create_batch(start, 2) as batch, self.client.create_batch(moved, 1) as wanted:
            batch.set_state(worlds=[1], mocap_pose=[there])
            here, gone, target = axion.render(batch, 0, **view), axion.render(batch, 1, **view), axion.render(wanted, 0, **view)
        self.assertGreater(differs(here, target).sum(), 100)
        self.assertLess(differs(gone, target).sum(), 10)  # poses are float32
        with self.assertRaisesRegex(ValueError, r"mocap_pose: has shape \[1, 2, 7\]; it must be \[n, 1, 7\]"):
            Renderer(start).render([pose()], mocap_pose=[[pose(), pose()]])


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class TheTool(AxiondCase):
    def axion(self, *arguments, python=sys.executable):
        done = subprocess.run([pathlib.Path(AXIOND).with_name("axion"), *arguments, f"--server={self.target}"], capture_output=True,
                              text=True, timeout=PATIENCE_SECONDS, env={**os.environ, "AXION_PYTHON": str(python)})
        return done.returncode, done.stdout, done.stderr

    def test_pictures_and_movies_from_a_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            code, told, error = self.axion("render", str(QUADRUPED), "--worlds=2", "--keyframe=stand", "--width=80", "--height=60",
                                           f"--out={path}/a.png", "--json")
            self.assertEqual(code, 0, error)
            self.assertEqual(json.loads(told)["worlds"], [0, 1])
            self.assertEqual(read_picture(path / "a.png").shape, (60, 80, 3))
            code, told, error = self.axion("render", str(QUADRUPED), "--keyframe=stand", "--hold=stand", "--seconds=0.3", "--fps=10",
                                           "--width=64", "--height=48", "--samples=1", f"--out={path}/a.mp4")
            self.assertEqual(code, 0, error)
            self.assertEqual(read_movie(path / "a.mp4", 64, 48).shape, (3, 48, 64, 3))

    def test_what_is_wrong_is_told_with_its_exit_code(self):
        for arguments, code, text in ((["nothing.xml", "--out=a.png"], 1, "nothing.xml"), (["batches/none", "--out=a.png"], 1, "NOT_FOUND"),
                                      ([str(QUADRUPED), "--out=a.gif"], 2, "--seconds"),
                                      ([str(QUADRUPED), "--out=a.png", "--track=soul"], 2, "soul")):
            found, _, error = self.axion("render", *arguments)
            self.assertEqual((found, text in error, "Traceback" in error), (code, True, False), error)

    def test_an_interpreter_without_the_package_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = pathlib.Path(folder) / "python"
            bare.write_text(f"#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} -I -S \"$@\"\n")
            bare.chmod(0o755)
            code, _, error = self.axion("view", "batches/none", python=bare)
            self.assertEqual((code, "pip install './clients/python[view]'" in error, "Traceback" in error), (1, True, False), error)
            code, _, error = self.axion("view", "batches/none", python="/nonexistent/python")
            self.assertEqual((code, "cannot run /nonexistent/python" in error), (1, True), error)


if __name__ == "__main__":
    unittest.main()
