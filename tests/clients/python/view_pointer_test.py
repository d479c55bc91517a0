"""Names of what is under the pointer of a browser. Wants the extra `view`; one case wants a Chromium as well."""

import asyncio
import importlib.util
import json
import pathlib
import shutil
import subprocess
import tempfile
import types
import unittest
import urllib.request

import numpy as np

import axion
from axiond_case import ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS, eventually

HAS_VIEW = importlib.util.find_spec("viser") is not None
if HAS_VIEW:
    import websockets
    from axion.viewing import geometry
    from axion.viewing.pointer import first_hit, ray_through

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def towards(camera, point, aspect):
    """Where a camera sees a point: from -1 to 1 to the right and upwards."""
    x, y, z = (np.asarray(point) - camera.position) @ geometry.rotation_matrices(camera.wxyz)
    return x / z / np.tan(camera.fov / 2) / aspect, -y / z / np.tan(camera.fov / 2)


def camera_at(position, look_at):
    """A camera as viser's: it looks along z, y is down."""
    ahead = (np.asarray(look_at) - position) / np.linalg.norm(np.asarray(look_at) - position)
    right = np.cross(ahead, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(ahead, right), ahead], axis=1)
    return types.SimpleNamespace(position=np.asarray(position, float), wxyz=geometry.quaternion_of(axes), fov=0.9)


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class Pointed(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(path=QUADRUPED)

    def viewer(self, worlds):
        batch = self.enterContext(self.client.create_batch(self.model, worlds))
        batch.reset(keyframe="stand")
        viewer = axion.view(batch, port=18450)
        self.addCleanup(viewer.close)
        self.assertTrue(eventually(lambda: viewer._moment is not None))
        return viewer

    def hit(self, viewer, camera, point, aspect=1.5):
        planes = [shape for shape in viewer._stage.shapes if shape.mesh is None]
        with viewer._lock:
            return first_hit(planes, viewer._stage.meshes, *ray_through(camera, *towards(camera, point, aspect), aspect))

    def test_the_first_shape_on_the_ray_is_named_with_its_body_and_world(self):
        viewer = self.viewer(4)
        names = [shape.name for shape in viewer._stage.shapes]
        trunk = viewer._stage.meshes[names.index("trunk") - 1][1].batched_positions
        for row in range(4):
            above = camera_at(trunk[row] + [0.01, 0.02, 3.0], trunk[row])
            hit = self.hit(viewer, above, trunk[row])
            self.assertEqual((hit.shape.name, hit.row), ("trunk", row))
            half_height = viewer.model.proto.shapes[names.index("trunk")].size.z
            self.assertAlmostEqual(hit.point[2], trunk[row][2] + half_height, delta=1e-3)  # its upper side
            self.assertEqual(viewer._name_of(hit.shape, hit.row), f"world {row}, body trunk, shape trunk")

    def test_what_is_behind_the_ground_beside_a_shape_or_not_shown_is_not_named(self):
        viewer = self.viewer(2)
        trunk = viewer._stage.meshes[0][1].batched_positions[0].astype(float)
        self.assertIsNone(self.hit(viewer, camera_at([trunk[0], trunk[1] - 2, 1.0], trunk), trunk + [0, 0, 2.0]))  # the sky
        above = camera_at(trunk + [0.01, 0, 3.0], trunk)
        ground = types.SimpleNamespace(mesh=None, rotation=np.eye(3), position=np.array([0, 0, 1.5]))
        ray = ray_through(above, *towards(above, trunk, 1.5), 1.5)
        self.assertIsNotNone(first_hit([], viewer._stage.meshes, *ray))
        self.assertIsNone(first_hit([ground], viewer._stage.meshes, *ray))  # a floor between them
        viewer._world.value, viewer._shows_one.value = "1", True
        viewer._redraw()
        self.assertIsNone(self.hit(viewer, above, trunk))

    def test_a_body_that_is_dragged_goes_where_the_pointer_is_and_is_let_go_there(self):
        ball = self.client.create_model(mjcf="""<mujoco><option gravity="0 0 0"/><worldbody><body name="ball" pos="0 0 1">
            <freejoint/><geom name="ball" size=".1" mass="2"/></body></worldbody></mujoco>""")
        batch = self.enterContext(self.client.create_batch(ball, 2))
        viewer = axion.view(batch, port=18451)
        self.addCleanup(viewer.close)
        self.assertTrue(eventually(lambda: viewer._moment is not None))
        camera = camera_at(viewer._stage.offsets[1] + [0.0, -3.0, 1.0], viewer._stage.offsets[1] + [0.0, 0.0, 1.0])
        field, label = types.SimpleNamespace(value="pointer away"), types.SimpleNamespace()
        viewer._pointers._fields[7] = types.SimpleNamespace(camera=camera), field, label

        def hold(point):
            field.value = "pointer {} {} 1.5 held".format(*towards(camera, viewer._stage.offsets[1] + point, 1.5))
            viewer._pointers.look(7)

        def step():
            viewer._step(10)
            at = batch.get_state(()).time[1]
            self.assertTrue(eventually(lambda: viewer._moment.time[1] >= at))

        hold([0.0, -0.1, 1.0])  # the ball's nearest point
        self.assertEqual(viewer._pointers.held[7].row, 1)
        hold([0.4, -0.1, 1.2])
        for _ in range(60):
            step()
        pose = batch.get_state("body_pose")["body_pose"]
        np.testing.assert_allclose(pose[0, 0, :3], [0, 0, 1], atol=1e-6)  # the other world
        np.testing.assert_allclose(pose[1, 0, :3], [0.4, 0, 1.2], atol=0.15)  # it may hang on its held point beside its middle
        field.value = "pointer away"
        viewer._pointers.look(7)
        self.assertEqual(viewer._pointers.held, {})
        step()
        before = batch.get_state("body_velocity")["body_velocity"][1]
        step()
        np.testing.assert_allclose(batch.get_state("body_velocity")["body_velocity"][1], before, atol=1e-5)  # no force is left

    @unittest.skipUnless(CHROMIUM, "there is no Chromium")
    def test_a_browser_shows_the_name_of_the_shape_under_its_pointer(self):
        viewer = self.viewer(1)
        with Browser(viewer.url) as browser:
            self.assertTrue(eventually(lambda: browser.run("!!document.querySelector('canvas[data-engine]')")))
            self.assertTrue(eventually(lambda: viewer._pointers._fields))
            client, field, label = next(iter(viewer._pointers._fields.values()))
            self.assertFalse(label.visible)
            trunk = viewer._stage.meshes[0][1].batched_positions[0].astype(float)

            def pointed_at(point):
                width, height = browser.run("[innerWidth, innerHeight]")
                x, y = towards(client.camera, point, width / height)
                browser.move(width * (1 + x) / 2, height * (1 - y) / 2)
                return label.visible

            self.assertTrue(eventually(lambda: pointed_at(trunk)))
            self.assertEqual(label.text, "world 0, body trunk, shape trunk")
            fields = "[...document.querySelectorAll('input')].filter(each => each.value.startsWith('pointer'))"
            self.assertEqual(browser.run(f"{fields}.map(each => each.offsetParent !== null)"), [False])  # it is not seen
            self.assertTrue(eventually(lambda: not pointed_at(trunk + [0, 0, 3.0])))


class Browser:
    """A Chromium without a window that shows a page, told what to do by its protocol for developers' tools."""

    def __init__(self, url):
        self._url, self._loop, self._sent = url, asyncio.new_event_loop(), 0

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
             "--window-size=900,600", "--remote-debugging-port=0", f"--user-data-dir={self._folder.name}", self._url],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = pathlib.Path(self._folder.name) / "DevToolsActivePort"
        assert eventually(lambda: port_file.exists() and port_file.read_text().count("\n")), "Chromium does not start"
        pages = f"http://127.0.0.1:{port_file.read_text().split()[0]}/json"
        page = next(each for each in json.load(urllib.request.urlopen(pages, timeout=PATIENCE_SECONDS)) if each["type"] == "page")
        self._socket = self._loop.run_until_complete(websockets.connect(page["webSocketDebuggerUrl"], max_size=None))
        return self

    def __exit__(self, *error):
        self._loop.run_until_complete(self._socket.close())
        self._loop.close()
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        self._folder.cleanup()

    def _call(self, method, **parameters):
        async def answer():
            await self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
            while True:
                message = json.loads(await asyncio.wait_for(self._socket.recv(), 60))
                if message.get("id") == number:
                    return message["result"]
        self._sent += 1
        number = self._sent
        return self._loop.run_until_complete(answer())

    def run(self, expression):
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def move(self, x, y):
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


if __name__ == "__main__":
    unittest.main()
