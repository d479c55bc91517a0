"""Recordings as MCAP against axiond, read with the format's own library; see axiond_case.py. Wants the extra `view`."""

import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import axion
from axiond_case import AXIOND, ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS

HAS_VIEW = importlib.util.find_spec("mcap") is not None and importlib.util.find_spec("trimesh") is not None
if HAS_VIEW:
    from axion.viewing import geometry
    from axion.viewing.mcap_file import McapRecorder
    from axion.viewing.movie import Recorder
    from axion.viewing.source import moment_at
    from mcap.reader import make_reader
    from pictures import read_movie

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"


def messages(stream):
    """All of a file by topic, in their order: [(log time ns, message)]; checks sums, sizes and that the schemas are JSON."""
    found = {}
    for schema, channel, message in make_reader(stream, validate_crcs=True).iter_messages():
        assert json.loads(schema.data)["title"] == schema.name and schema.encoding == "jsonschema" and channel.message_encoding == "json"
        found.setdefault(channel.topic, []).append((message.log_time, json.loads(message.data)))
    return found


def vector(of):
    return np.array([of["x"], of["y"], of["z"]])


def rotation(of):
    return geometry.rotation_matrices([of["w"], of["x"], of["y"], of["z"]])


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class Recordings(AxiondCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.client.create_model(path=QUADRUPED)
        self.batch = self.enterContext(self.client.create_batch(self.model, 4))
        self.batch.reset(keyframe="stand")

    def recorded(self, take):
        written = io.BytesIO()
        with McapRecorder(written, self.model, [3, 1], self.batch.dt) as recorder:
            take(recorder)
        return messages(io.BytesIO(written.getvalue()))

    def standing(self, recorder):
        self.batch.step(control=self.model.hold_control("stand"), steps=200)
        recorder.take(moment_at(self.batch, [3, 1], ["joint_position", "control"], True))

    def test_bodies_numbers_and_forces_are_those_of_the_worlds(self):
        found = self.recorded(self.standing)
        state, contacts = self.batch.get_state(["body_pose", "joint_position"], [3, 1]), self.batch.contacts([3, 1])
        self.assertEqual(set(found), {"/scene", "/tf", "/contacts", *(f"/world/{w}/{t}" for w in (1, 3) for t in ("state", "solver"))})
        frames = {each["child_frame_id"]: each for each in found["/tf"][0][1]["transforms"]}
        self.assertEqual(len(frames), 2 * (self.model.body_count + 1))
        for row, world in enumerate((3, 1)):
            stands = vector(frames[f"{world}/world"]["translation"])
            for body, name in enumerate(self.model.body_names):
                pose = state["body_pose"][row, body].astype(float)
                np.testing.assert_allclose(vector(frames[f"{world}/{name}"]["translation"]), pose[:3] + stands, atol=1e-12)
                turned = rotation(frames[f"{world}/{name}"]["rotation"])
                np.testing.assert_allclose(turned, geometry.rotation_matrices(pose[3:]), atol=1e-12)
            told = found[f"/world/{world}/state"][0][1]
            self.assertEqual(told["step"], 200)
            self.assertEqual(list(told["joint_position"].values()), state["joint_position"][row].astype(float).tolist())
            self.assertEqual(told["joint_position"]["fl_knee"], float(state["joint_position"][row, 9]))
            self.assertGreater(found[f"/world/{world}/solver"][0][1]["contact_count"], 3)
        arrows = [arrow for entity in found["/contacts"][0][1]["entities"] for arrow in entity["arrows"]]
        self.assertEqual(len(arrows), len(contacts))
        lengths = np.array([arrow["shaft_length"] + arrow["head_length"] for arrow in arrows])
        ways = np.array([rotation(arrow["pose"]["orientation"])[:, 0] for arrow in arrows])  # along x
        forces = geometry.forces_on_a(contacts, self.batch.dt)
        np.testing.assert_allclose(ways, forces / np.linalg.norm(forces, axis=1, keepdims=True), atol=1e-6)
        np.testing.assert_allclose(lengths / lengths[0], np.linalg.norm(forces, axis=1) / np.linalg.norm(forces[0]), rtol=1e-6)

    def test_shapes_stand_once_in_the_frames_of_their_bodies_with_their_colours(self):
        entities = self.recorded(self.standing)["/scene"][0][1]["entities"]
        shapes = geometry.shapes_of(self.model, 10)
        meshes = [shape for shape in shapes if shape.mesh is not None]
        self.assertEqual(len(entities), 2 * len(meshes) + 1)  # the plane is there once
        trunk = next(entity for entity in entities if entity["frame_id"] == "3/trunk")["triangles"][0]
        shape = next(shape for shape in meshes if shape.frame == 0)
        self.assertEqual([trunk["color"][c] for c in "rgba"], [*shape.color, shape.opacity])
        np.testing.assert_allclose([vector(point) for point in trunk["points"]], shape.mesh.vertices)
        self.assertEqual(trunk["indices"], shape.mesh.faces.reshape(-1).tolist())

    def test_what_clients_place_has_a_frame_of_its_own(self):
        model = self.client.create_model(mjcf="""<mujoco><worldbody><body mocap="true" name="hand" pos="0 0 1">
          <geom size=".1" pos=".2 0 0"/></body><body name="ball"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
        written = io.BytesIO()
        with self.client.create_batch(model, 1) as batch, McapRecorder(written, model, [0], batch.dt) as recorder:
            batch.set_state(mocap_pose=[[[1, 2, 3, 0, 0, 0, 1]]])
            recorder.take(moment_at(batch, [0], [], False))
        found = messages(io.BytesIO(written.getvalue()))
        hand, = (t for t in found["/tf"][0][1]["transforms"] if t["child_frame_id"] == "0/hand")
        np.testing.assert_allclose(vector(hand["translation"]), [1, 2, 3])
        shape = found["/scene"][0][1]["entities"][0]
        self.assertEqual(shape["frame_id"], "0/hand")
        np.testing.assert_allclose(vector(shape["triangles"][0]["pose"]["position"]), [0.2, 0, 0], atol=1e-12)

    def test_what_happens_after_a_reset_happens_later(self):
        def take(recorder):
            for steps in (4, 4, 0, 4):
                if steps:
                    self.batch.step(steps=steps)
                else:
                    self.batch.reset()
                recorder.take(moment_at(self.batch, [3, 1], [], False))
        found = self.recorded(take)
        at = [time for time, _ in found["/tf"]]
        dt = round(self.batch.dt * 1e9)
        self.assertEqual(np.diff(at).tolist(), [4 * dt, 0, 4 * dt])
        self.assertNotIn("/contacts", found)

    def test_a_batch_that_somebody_else_steps_is_recorded_without_being_stepped(self):
        ended = threading.Event()

        def train():
            while not ended.wait(0.004):  # leaves the processors to those who look on
                self.batch.step(steps=2)
        thread = threading.Thread(target=train)
        thread.start()
        try:
            movie = json.loads(self.tool_of_views("render", self.batch.name, "--look_on", "--seconds=0.2", "--fps=25", "--width=32",
                                                  "--height=24", f"--out={self.folder / 'tool.mp4'}"))
            frames = axion.record(self.batch, self.folder / "seen.mcap", [2], fields="joint_velocity", rate=100, seconds=0.2)
            told = self.tool_of_views("render", self.batch.name, "--look_on", "--seconds=0.1", f"--out={self.folder / 'tool.mcap'}")
        finally:
            ended.set()
            thread.join()
        # A movie goes by the worlds' time, however quickly they are stepped and pictures are drawn.
        self.assertEqual(movie["frames"], 5)
        self.assertEqual(len(read_movie(self.folder / "tool.mp4", 32, 24)), 5)
        with open(self.folder / "seen.mcap", "rb") as stream:
            found = messages(stream)["/world/2/state"]
        self.assertEqual(len(found), frames)
        self.assertGreaterEqual(found[-1][1]["time"] - found[0][1]["time"], 0.2)
        self.assertEqual(len(found[0][1]["joint_velocity"]), 18)
        self.assertGreater(json.loads(told)["frames"], 1)

    def tool_of_views(self, verb, target, *flags, code=0):
        """As `tool`, with the verb first: it is run by this interpreter."""
        done = subprocess.run([pathlib.Path(AXIOND).with_name("axion"), verb, target, f"--server={self.target}", "--json", *flags],
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS, env={**os.environ, "AXION_PYTHON": sys.executable})
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_the_tool_steps_and_records(self):
        path = self.folder / "walk.mcap"
        told = self.tool_of_views("render", str(QUADRUPED), "--worlds=2", "--keyframe=stand", "--hold=stand", "--seconds=0.4", "--fps=25",
                                  "--contacts", "--fields=control,joint_position", f"--out={path}")
        self.assertEqual(json.loads(told)["frames"], 10)
        with open(path, "rb") as stream:
            found = messages(stream)
        self.assertEqual([time for time, _ in found["/tf"]], [40_000_000 * frame for frame in range(10)])
        self.assertEqual(list(found["/world/1/state"][4][1]), ["time", "step", "control", "joint_position"])
        for flags, text in ((["--out=a.mcap"], "wants --seconds"), (["--out=a.mcap", "--seconds=1", "--look_on"], "--look_on")):
            self.assertIn(text, self.tool_of_views("render", str(QUADRUPED), *flags, code=2))
        wrong = self.tool_of_views("render", str(QUADRUPED), f"--out={path}", "--seconds=1", "--fields=soul", code=1)
        self.assertIn("soul", wrong)

    def test_a_urdf_files_base_and_ground_are_of_flags(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "ball.urdf").write_text("""<robot name="ball"><link name="ball"><inertial><mass value="1"/>
                <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
                <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>""")
            self.tool_of_views("render", str(path / "ball.urdf"), "--base=free", "--base_height=0.3", "--ground", "--seconds=1",
                               f"--out={path}/a.mcap")
            with open(path / "a.mcap", "rb") as stream:
                heights = [told["transforms"][1]["translation"]["z"] for _, told in messages(stream)["/tf"]]
        self.assertAlmostEqual(heights[0], 0.3, places=5)
        self.assertAlmostEqual(heights[-1], 0.1, places=2)

    def test_the_viewers_recording_has_all_that_it_has_seen(self):
        recorder = Recorder(self.model, [0, 2], self.batch.dt, geometry.grid_offsets(2, 1.5), 30)
        for _ in range(3):
            self.batch.step(steps=4)
            recorder.take(moment_at(self.batch, [0, 2], ["control"], True))
        name, content = recorder.movie("mcap")
        self.assertEqual(name, "axion.mcap")
        found = messages(io.BytesIO(content))
        self.assertEqual([len(found[topic]) for topic in ("/tf", "/contacts", "/world/2/state")], [3, 3, 3])
        stands = [vector(each["translation"]) for each in found["/tf"][0][1]["transforms"] if each["child_frame_id"].endswith("/world")]
        np.testing.assert_allclose(stands[1] - stands[0], [1.5, 0, 0])


if __name__ == "__main__":
    unittest.main()
