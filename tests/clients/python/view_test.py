"""The viewer against axiond, without a browser: what the page is told to show, and what its buttons do. Wants the extra `view`."""

import contextlib
import importlib.util
import io
import pathlib
import re
import tempfile
import threading
import time
import unittest
import urllib.request

import numpy as np

import axion
from axiond_case import ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS, eventually

HAS_VIEW = importlib.util.find_spec("viser") is not None
if HAS_VIEW:
    from PIL import Image
    from pictures import read_movie
    from axion.viewing import geometry
    from axion.viewing.movie import Recorder

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"


class WatchedBatches(AxiondCase):
    """axion.Watch itself."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(path=QUADRUPED)

    def test_a_watch_gives_what_get_state_gives_and_ends_when_it_is_closed(self):
        batch = self.enterContext(self.client.create_batch(self.model, 3))
        with batch.watch(["body_pose", "joint_velocity"], [2, 0], rate=500, contacts=True, solver_stats=True) as watch:
            self.assertEqual(next(watch).state.step_index.tolist(), [0, 0])
            batch.step(steps=300)
            frame = next(frame for frame in watch if frame.state.step_index.min() == 300)  # others may be of launches before
            state = batch.get_state(["body_pose", "joint_velocity"], [2, 0])
            for field in ("body_pose", "joint_velocity"):
                np.testing.assert_array_equal(frame.state[field], state[field])
            self.assertEqual(frame.contacts.contact_count.tolist(), batch.contacts([2, 0]).contact_count.tolist())
            self.assertEqual(frame.worlds.world.tolist(), [2, 0])
            self.assertIn("2 worlds", repr(frame))
            closer = threading.Timer(0.2, watch.close)
            closer.start()
            self.assertEqual(list(watch), [])  # nobody steps: it would wait for ever

    def test_what_is_wrong_is_named(self):
        batch = self.enterContext(self.client.create_batch(self.model, 1))
        for arguments, field in (({"fields": ["soul"]}, r"fields\[0\]"), ({"rate": -1}, "rate"), ({"worlds": [1]}, r"world_indices\[0\]")):
            with self.assertRaisesRegex(axion.InvalidArgumentError, field), batch.watch(**arguments) as watch:
                next(watch)


@unittest.skipUnless(HAS_VIEW, "the extra `view` is not installed")
class Viewers(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(path=QUADRUPED)

    def viewer(self, batch, **arguments):
        viewer = axion.view(batch, port=18400, **arguments)
        self.addCleanup(viewer.close)
        self.assertTrue(eventually(lambda: viewer._moment is not None))
        return viewer

    def shown_step(self, viewer):
        """At which all its worlds are: a frame may come between launches of some worlds and of others."""
        return int(viewer._moment.step_index.min())

    def test_shapes_are_where_the_bodies_are(self):
        batch = self.enterContext(self.client.create_batch(self.model, 4, seed=3, joint_position_noise=0.2))
        viewer = self.viewer(batch)
        batch.step(steps=40)
        self.assertTrue(eventually(lambda: self.shown_step(viewer) == 40))
        pose = batch.get_state("body_pose")["body_pose"].astype(float)
        self.assertEqual(len(viewer._stage.meshes) + 1, len(self.model.proto.shapes))  # the ground is no mesh
        with viewer._lock:
            for shape, handle, _ in viewer._stage.meshes:
                rotation = geometry.rotation_matrices(pose[:, shape.frame, 3:])
                np.testing.assert_allclose(handle.batched_positions,
                                           rotation @ shape.position + pose[:, shape.frame, :3] + viewer._stage.offsets, atol=1e-5)
                np.testing.assert_allclose(geometry.rotation_matrices(handle.batched_wxyzs), rotation @ shape.rotation, atol=1e-5)

    def test_forces_names_joints_and_masses_are_shown_when_asked_for(self):
        batch = self.enterContext(self.client.create_batch(self.model, 2))
        batch.reset(keyframe="stand")
        batch.step(control=self.model.hold_control("stand"), steps=200)
        viewer = self.viewer(batch)
        stage = viewer._stage
        self.assertFalse(any(mark.visible for mark in (stage.forces, stage.axes, stage.masses, stage.labels[0])))
        for box in (viewer._shows_contacts, viewer._shows_joints, viewer._shows_masses, viewer._shows_names):
            box.value = True
        viewer._look_anew()
        self.assertTrue(eventually(lambda: viewer._stage.forces.visible))
        with viewer._lock:
            contacts = viewer._moment.contacts
            self.assertEqual(len(viewer._stage.points.points), len(contacts))
            shown = viewer._stage.forces.points[:, 1] - viewer._stage.forces.points[:, 0]
            forces = geometry.forces_on_a(contacts, batch.dt)
            self.assertAlmostEqual(abs(forces.sum(0)[2]) / (2 * 13.7 * 9.81), 1, delta=0.05)  # they carry both robots
            np.testing.assert_allclose(shown / np.linalg.norm(shown, axis=1, keepdims=True),
                                       forces / np.linalg.norm(forces, axis=1, keepdims=True), atol=1e-3)
            self.assertEqual(len(viewer._stage.axes.points), 12 + 3)  # a hinge has one axis, the free joint a frame
            self.assertEqual(len(viewer._stage.masses.points), self.model.body_count)
            self.assertEqual([label.text for label in viewer._stage.labels], self.model.body_names)

    def test_one_world_is_shown_alone_with_its_forces(self):
        batch = self.enterContext(self.client.create_batch(self.model, 3))
        batch.reset(keyframe="stand")
        batch.step(control=self.model.hold_control("stand"), steps=200)
        viewer = self.viewer(batch)
        viewer._shows_contacts.value = True
        viewer._look_anew()
        self.assertTrue(eventually(lambda: viewer._stage.points.visible))
        self.assertEqual([len(viewer._stage.points.points), viewer._stage.meshes[0][1].batched_scales.tolist()],
                         [len(viewer._moment.contacts), [1, 1, 1]])
        viewer._world.value = "1"
        viewer._shows_one.value = True
        viewer._redraw()
        with viewer._lock:
            self.assertEqual({tuple(handle.batched_scales) for _, handle, _ in viewer._stage.meshes}, {(0, 1, 0)})
            self.assertEqual(len(viewer._stage.points.points), int(np.count_nonzero(viewer._moment.contacts.world == 1)))

    def test_a_batch_that_is_only_watched_keeps_its_lease_and_its_end_ends_the_viewer(self):
        def watched():
            """None where its lease has ended before it is watched."""
            batch = self.client.create_batch(self.model, 2, idle_ttl=1.0)
            with contextlib.suppress(axion.NotFoundError), batch.kept_alive():
                viewer = axion.view(batch, port=18400, rate=200)
                self.addCleanup(viewer.close)
                eventually(lambda: viewer._moment is not None or viewer.wait(0))
                return viewer if viewer._moment is not None else None

        viewer = eventually(watched)
        self.assertTrue(viewer.wait(PATIENCE_SECONDS))  # the batch has no user any more, so it is deleted

    def test_buttons_step_and_reset_with_the_controls_of_the_sliders(self):
        batch = self.enterContext(self.client.create_batch(self.model, 2))
        viewer = self.viewer(batch)
        viewer._step(1)
        self.assertTrue(eventually(lambda: self.shown_step(viewer) == 1))
        viewer._uses_sliders.value = True
        viewer._sliders[1].value = 0.7
        viewer._runs.value = True
        self.assertTrue(eventually(lambda: self.shown_step(viewer) > 10))
        viewer._runs.value = False
        control = batch.get_state("control")["control"]
        np.testing.assert_allclose(control[:, 1], 0.7, atol=1e-6)
        viewer._keyframe.value = "stand"

        def starts_again():
            """False where a step that was under way came after the reset."""
            viewer._reset()
            return self.shown_step(viewer) == 0

        self.assertTrue(eventually(starts_again))
        np.testing.assert_allclose(batch.get_state("joint_position")["joint_position"][0], self.model.keyframes["stand"], atol=1e-6)

    def test_what_is_followed_stays_in_the_middle_and_all_else_moves_past_it(self):
        model = self.client.create_model(mjcf="""<mujoco><worldbody>
            <geom name="floor" type="plane" size="9 9 .1"/> <geom name="post" type="box" size=".1 .1 .5" pos="1 0 .5"/>
            <body pos="0 0 .3"><freejoint/><geom name="ball" type="sphere" size=".3"/></body></worldbody></mujoco>""")
        batch = self.enterContext(self.client.create_batch(model, 4))
        viewer = self.viewer(batch)
        meshes = {shape.name: handle for shape, handle, _ in viewer._stage.meshes}
        (_, ground), = viewer._stage.grounds
        places = viewer._stage.offsets.copy()
        viewer._world.value = "1"
        viewer.follow(True)
        pose = batch.get_state("body_pose")["body_pose"].copy()
        pose[:, 0, 0] += [0, 7, 2, 0]
        batch.set_state(body_pose=pose)
        middle = viewer._server.initial_camera.look_at
        self.assertTrue(eventually(lambda: abs(meshes["ball"].batched_positions[1][0] - middle[0]) < 1e-5 and ground.position[0] < -5))
        shift = [middle[0] - 7 - places[1, 0], middle[1] - places[1, 1], 0]
        with viewer._lock:
            np.testing.assert_allclose(meshes["ball"].batched_positions, pose[:, 0, :3] + places + shift, atol=1e-5)
            np.testing.assert_allclose(meshes["post"].batched_positions, [1, 0, 0.5] + places + shift, atol=1e-5)
            np.testing.assert_allclose(ground.position, shift, atol=1e-5)
        recorder = Recorder(model, viewer.worlds, batch.dt, viewer._stage.offsets, 30.0)
        recorder.look(np.add(middle, [0, -4, 1]), middle, 0.8, False)
        recorder.take(viewer._moment, viewer._stage.shift)
        _, content = recorder.movie("gif")
        picture = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), int)
        from_ground = np.abs(picture - picture[-5, 5]).sum(-1)
        self.assertGreater(from_ground[230:250, 310:330].mean(), 60, "the ball is in the middle of the picture")
        viewer.follow(False)
        self.assertTrue(eventually(lambda: np.array_equal(ground.position, [0, 0, 0])))
        np.testing.assert_allclose(meshes["post"].batched_positions, [1, 0, 0.5] + places, atol=1e-5)

    def test_slow_motion_steps_as_much_less(self):
        batch = self.enterContext(self.client.create_batch(self.model, 1))
        viewer = self.viewer(batch)
        viewer._speed.value = 0.1
        start, first = time.monotonic(), self.shown_step(viewer)
        viewer._runs.value = True
        self.assertTrue(eventually(lambda: self.shown_step(viewer) >= first + 10))
        self.assertGreater(time.monotonic() - start, 0.3)  # ten steps of 5 ms at a tenth of the speed are half a second

    def test_plots_have_the_chosen_field_of_the_chosen_world(self):
        batch = self.enterContext(self.client.create_batch(self.model, 3, seed=1, joint_position_noise=0.3))
        viewer = self.viewer(batch)
        self.assertEqual(self.shown_step(viewer), 0)
        before = viewer._moment
        viewer._field.value, viewer._first.value, viewer._world.value = "joint_position", 7, "2"
        viewer._take(before)  # a frame that was under way when another field was chosen
        viewer._look_anew()
        viewer._chosen()

        def plotted():
            batch.step()
            return [series["label"] for series in viewer._field_plot.series[1:3]] == ["fl_abduction", "fl_hip"]

        self.assertTrue(eventually(plotted))
        with viewer._lock:
            self.assertEqual(len(viewer._field_plot.data), 1 + 8)
            last = viewer._history[-1]
            self.assertEqual(last[2], viewer._moment.statistics.newton_iterations[2])
            np.testing.assert_array_equal(last[1], viewer._moment.fields["joint_position"][2])

    def test_the_page_needs_nothing_from_elsewhere(self):
        batch = self.enterContext(self.client.create_batch(self.model, 1))
        viewer = self.viewer(batch)
        self.assertIn(viewer.url, repr(viewer))
        page = urllib.request.urlopen(viewer.url, timeout=PATIENCE_SECONDS).read().decode(errors="replace")
        self.assertGreater(len(page), 10_000)
        self.assertEqual(re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"?https?://[^\" >]+", page), [])

    def test_wrong_choices_are_named(self):
        batch = self.enterContext(self.client.create_batch(self.model, 2))
        for arguments, name in (({"worlds": [2]}, "worlds"), ({"worlds": []}, "worlds"), ({"worlds": [0, 0]}, "worlds"),
                                ({"rate": 0}, "rate")):
            with self.assertRaisesRegex(ValueError, name):
                axion.view(batch, **arguments)

    def test_a_recording_has_a_picture_for_each_frame(self):
        batch = self.enterContext(self.client.create_batch(self.model, 2))
        viewer = self.viewer(batch)
        recorder = Recorder(self.model, viewer.worlds, batch.dt, viewer._stage.offsets, 30.0)
        with self.assertRaisesRegex(ValueError, "no frame"):
            recorder.movie("gif")
        recorder.look([3.0, -3.0, 2.0], [0.0, 0.0, 0.3], 0.8, True)
        for i in range(3):
            batch.step(steps=10)
            self.assertTrue(eventually(lambda: self.shown_step(viewer) == 10 * (i + 1)))
            recorder.take(viewer._moment)
        name, content = recorder.movie("mp4")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_bytes(content)
            self.assertEqual(read_movie(path, 640, 480).shape, (3, 480, 640, 3))


if __name__ == "__main__":
    unittest.main()
