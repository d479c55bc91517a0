"""The Python package and the axion tool against axiond itself; see axiond_case.py."""

import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import axion
from axiond_case import AXIOND, ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS, eventually

SCENE = ROOT / "clients" / "examples" / "models" / "quadruped.xml"


class EndToEnd(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(mjcf=SCENE.read_text())

    def batch(self, world_count=4, **arguments):
        return self.enterContext(self.client.create_batch(self.model, world_count, dt=0.005, **arguments))

    def test_model_names_what_the_scene_holds(self):
        self.assertEqual(self.model.control_count, 12)
        self.assertEqual(self.model.body_names[0], "trunk")
        self.assertEqual(self.model.actuator_names[:3], ["fl_abduction", "fl_hip", "fl_knee"])
        self.assertAlmostEqual(sum(body.mass for body in self.model.proto.bodies), 13.7, places=6)
        self.assertEqual(self.model.warnings, [])

    def test_an_answer_is_read_by_names_of_its_model(self):
        model = self.client.create_model(mjcf="""<mujoco><worldbody><geom type="plane" size="5 5 1"/>
            <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom type="box" size=".2 .1 .1"/>
              <body name="arm" pos=".2 0 0"><joint name="shoulder" type="ball"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/>
                <body name="hand" pos=".2 0 0"><joint name="wrist" axis="0 1 0"/><geom size=".05"/></body></body></body></worldbody>
            <actuator><motor name="twist" joint="wrist"/></actuator>
            <sensor><clock name="clock"/><gyro name="gyro" site="s"/></sensor></mujoco>""".replace(
                '<geom size=".05"/>', '<geom size=".05"/><site name="s"/>'))
        batch = self.enterContext(self.client.create_batch(model, 3, dt=0.002))
        fields = ["body_pose", "body_velocity", "joint_position", "joint_velocity", "joint_impulse", "control", "actuator_force",
                  "sensor_data", "contact_impulse"]
        answer = batch.step(control=[0.01], steps=6, outputs=fields, record_every=2)
        for given in (answer, batch.get_state(fields)):
            named = model.named(given)
            hand, wrist = named.body("hand"), named.joint("wrist")
            np.testing.assert_array_equal(hand.pose, given["body_pose"][..., 2, :])
            np.testing.assert_array_equal(hand.position, given["body_pose"][..., 2, :3])
            np.testing.assert_array_equal(hand.quaternion, given["body_pose"][..., 2, 3:])
            np.testing.assert_array_equal(hand.velocity, given["body_velocity"][..., 2, :])
            np.testing.assert_array_equal(hand.contact_impulse, given["contact_impulse"][..., 2, :])
            np.testing.assert_array_equal(wrist.position, given["joint_position"][..., 11:12])
            np.testing.assert_array_equal(wrist.velocity, given["joint_velocity"][..., 9:10])
            np.testing.assert_array_equal(wrist.impulse, given["joint_impulse"][..., 2, :])
            np.testing.assert_array_equal(named.joint("shoulder").position, given["joint_position"][..., 7:11])
            np.testing.assert_array_equal(named.joint("root").velocity, given["joint_velocity"][..., :6])
            np.testing.assert_array_equal(named.actuator("twist").control, given["control"][..., 0])
            np.testing.assert_array_equal(named.actuator("twist").force, given["actuator_force"][..., 0])
            np.testing.assert_array_equal(named.sensor("gyro"), given["sensor_data"][..., 1:4])
            np.testing.assert_allclose(named.sensor("clock")[..., 0].reshape(3, -1)[:, -1], 0.012)
        self.assertEqual(model.named(answer).body("hand").position.shape, (3, 3, 3))
        for kind in ("body", "joint", "actuator", "sensor"):
            with self.assertRaisesRegex(KeyError, f"{kind}: 'nobody' is none of "):
                getattr(model.named(answer), kind)("nobody")
        with self.assertRaisesRegex(KeyError, "'body_pose' was not asked for"):
            _ = model.named(batch.step()).body("trunk").pose

    def test_robots_stand_for_a_second(self):
        batch = self.batch()
        batch.reset(keyframe="stand")
        result = batch.step(control=self.model.hold_control("stand"), steps=200, record_every=50, outputs=["body_pose"])
        self.assertEqual(result["body_pose"].shape, (4, 4, self.model.body_count, 7))
        np.testing.assert_allclose(result["body_pose"][:, :, 0, 2], 0.29, atol=0.02)
        np.testing.assert_allclose(result.time, 1.0)
        np.testing.assert_array_equal(result.step_index, 200)
        self.assertTrue(result.converged.all())
        stats = batch.solver_stats()
        self.assertEqual(stats.world_steps, 800)
        self.assertLess(stats.max_penetration, 2e-3)
        self.assertEqual(stats.joint_modes, {"previous": 0, "current": 0, "linearised": 0, "blended": 800})
        contacts = batch.contacts()
        self.assertEqual(contacts.contact_count.tolist(), [4] * 4)
        load = contacts.normal_impulse[contacts.world == 0].sum() / 0.005
        self.assertAlmostEqual(load, 13.7 * 9.81, delta=2.0)
        self.assertEqual(batch.world_stats().residual.shape, (4, 5))
        self.assertEqual(batch.world_stats().joint_mode, ["blended"] * 4)

    def test_the_tool_starts_worlds_again_and_says_what_they_touch(self):
        batch = self.batch()
        batch.step(control=self.model.hold_control("stand"), steps=400)
        told = json.loads(self.tool("contacts", batch.name, "--show=0,2", "--json"))
        contacts = batch.contacts([0, 2])
        self.assertEqual(told["contact_count"], contacts.contact_count.tolist())
        np.testing.assert_allclose(told["point"], contacts.point)
        self.assertEqual(told["shape_a_name"], [self.model.shape_names[shape] for shape in contacts.shape_a])
        text = self.tool("contacts", batch.name, "--show=2")
        self.assertEqual(len(text.splitlines()), 1 + contacts.contact_count[1])
        self.assertIn("world/floor", text)
        self.tool("reset", batch.name, "--keyframe=stand", "--only=1,3")
        self.assertEqual(batch.get_state("step_index").step_index.tolist(), [400, 0, 400, 0])
        self.assertEqual(json.loads(self.tool("reset", batch.name, "--json"))["worlds_reset"], 4)
        self.assertIn("--only", self.tool("reset", batch.name, "--only=x", code=2))
        self.assertIn("keyframe", self.tool("reset", batch.name, "--keyframe=fly", code=1))

    def test_a_shell_completes_what_the_tool_takes(self):
        program = pathlib.Path(AXIOND).with_name("axion")
        script = (self.tool("completion", "bash") + """
            complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _axion; echo "${COMPREPLY[@]}"; }
            complete_line axion res
            complete_line axion reset --key
            complete_line axion completion z""")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                              env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"})
        self.assertEqual(done.stdout.splitlines(), ["reset", "--keyframe=", "zsh"], done.stderr)

    def test_sequence_of_controls_equals_single_steps(self):
        control = np.random.default_rng(1).uniform(-0.2, 0.2, (4, 10, 12)).astype(np.float32)
        together, apart = self.batch(), self.batch()
        state = together.step(control=control, steps=10, outputs=["body_pose"])["body_pose"]
        for step in range(10):
            single = apart.step(control=control[:, step], outputs=["body_pose"])["body_pose"]
        np.testing.assert_array_equal(state, single)

    def test_stream_equals_calls(self):
        hold = self.model.hold_control("stand")
        streamed, called = self.batch(), self.batch()
        with streamed.stream() as stream:
            answers = list(stream.map(({"control": hold, "steps": 5, "outputs": ["body_pose"]} for _ in range(8)),
                                      in_flight=3))
        for answer in answers:
            direct = called.step(control=hold, steps=5, outputs=["body_pose"])
            np.testing.assert_array_equal(answer["body_pose"], direct["body_pose"])

    def test_state_comes_back_as_it_was_set(self):
        batch = self.batch(precision="float64")
        positions = np.tile(self.model.keyframes["stand"], (2, 1))
        positions[:, 2] += [0.1, 0.2]
        batch.set_state(worlds=[1, 3], joint_position=positions, time=[1.5, 2.5])
        state = batch.get_state(["joint_position", "time"], worlds=[1, 3])
        np.testing.assert_allclose(state["joint_position"], positions, atol=1e-12)
        np.testing.assert_array_equal(state.time, [1.5, 2.5])

    def test_errors_name_what_is_wrong(self):
        batch = self.batch()
        with self.assertRaises(axion.InvalidArgumentError) as caught:
            batch.step(control=np.zeros((4, 11)))
        self.assertEqual([violation.field for violation in caught.exception.field_violations], ["control.shape"])
        self.assertIn("11", str(caught.exception))
        with self.assertRaises(axion.InvalidArgumentError):
            batch.step(control=np.full((4, 12), np.nan))
        with self.assertRaises(axion.AbortedError):
            batch.step(expected_step=5)
        with self.assertRaises(axion.NotFoundError):
            self.client.get_batch("batches/nothing")
        with self.assertRaises(axion.InvalidArgumentError):
            self.client.create_model(mjcf="<mujoco><worldbody><body></mujoco>")
        with self.assertRaises(axion.FailedPreconditionError):
            self.client.delete_model(self.model)
        np.testing.assert_array_equal(batch.get_state("time").step_index, 0)

    def test_tool_runs_and_records(self):
        with tempfile.TemporaryDirectory() as folder:
            csv = pathlib.Path(folder, "run.csv")
            report = json.loads(self.tool("run", str(SCENE), "--worlds=3", "--seconds=0.5", "--every=0.05",
                                          "--keyframe=stand", "--hold=stand", f"--csv={csv}", "--json"))
            self.assertEqual(report["world_steps"], 300)
            rows = csv.read_text().splitlines()
            self.assertEqual(rows[0], "time,world,body_pose:0,body_pose:2")
            self.assertEqual(len(rows), 1 + 10 * 3)
            self.assertAlmostEqual(float(rows[-1].split(",")[-1]), 0.29, delta=0.02)

    def test_tool_creates_steps_looks_and_deletes(self):
        made = json.loads(self.tool("create", str(SCENE), "--worlds=2", "--json"))
        stepped = json.loads(self.tool("step", made["batch"], "--steps=3", "--outputs=body_pose", "--json"))
        self.assertEqual(stepped["step_index"], [3, 3])
        self.assertEqual(np.shape(stepped["outputs"]["body_pose"]), (2, self.model.body_count, 7))
        state = json.loads(self.tool("state", made["batch"], "--show=1", "--fields=joint_position", "--json"))
        self.assertEqual(np.shape(state["fields"]["joint_position"]), (1, 19))
        stats = json.loads(self.tool("stats", made["batch"], "--per_world", "--json"))
        self.assertEqual(stats["batch"]["world_steps"], "6")
        for command in (["info"], ["models"], ["models", made["model"]], ["batches"], ["batches", made["batch"]],
                        ["stats", made["batch"], "--per_world"], ["state", made["batch"]],
                        ["watch", made["batch"], "--count=1", "--interval=10ms"],
                        ["bench", made["batch"], "--calls=5", "--steps=2"]):
            self.assertTrue(self.tool(*command).strip(), command)
        self.tool("delete", made["batch"])
        self.assertIn("NOT_FOUND", self.tool("step", made["batch"], code=1))

    def test_tool_says_its_version_without_a_server(self):
        self.assertRegex(self.tool("--version"), r"^axion \d+\.\d+\.\d+")

    def test_tool_ends_with_2_where_the_command_line_is_wrong(self):
        for command in (["run"], ["run", str(SCENE), "--no_such_flag"], ["run", str(SCENE), "--steps=many"],
                        ["create", str(SCENE), "--options=tolerances=1"], ["create", str(SCENE), "--preset=newest"],
                        ["step", "models/1"], ["run", str(SCENE), "--trace=body_pose:x"], ["run", str(SCENE), "--seconds=-1"],
                        ["step", "--worlds"], ["nothing"], ["delete", "all"],
                        ["create", str(SCENE), "--shape_overrides=trunk.bounce=1"]):
            said = self.tool(*command, code=2)
            self.assertTrue(said.startswith("axion"), (command, said))
            self.assertNotIn("INVALID_ARGUMENT", said, command)
        self.assertIn("there are body_pose, body_velocity", self.tool("run", str(SCENE), "--trace=body_poses:2", code=2))
        self.assertIn("there are stand", self.tool("run", str(SCENE), "--hold=sit", code=1))
        self.assertIn("INVALID_ARGUMENT", self.tool("create", str(SCENE), "--tolerance=5", code=1))

    def test_tool_finds_a_file_that_it_cannot_write_before_it_steps(self):
        before = self.client.server_info().batch_count
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder, "no", "such", "run.csv")
            said = self.tool("run", str(SCENE), "--seconds=1000000", f"--csv={bad}", code=1)
            self.assertEqual(said, f"axion run: cannot write the file '{bad}': No such file or directory\n")
            self.assertIn("cannot read the file", self.tool("create", str(pathlib.Path(folder, "none.xml")), code=1))
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
        self.assertEqual(self.client.server_info().batch_count, before)

    def test_tool_takes_what_the_file_has_no_words_for(self):
        made = json.loads(self.tool("create", str(SCENE), "--worlds=0", "--json",
                                    "--shape_overrides=.restitution=0.4,.contact_stiffness=1e5,.contact_damping=10"))
        shapes = self.client.get_model(made["model"]).proto.shapes
        self.assertEqual({(s.restitution, s.contact_stiffness, s.contact_damping) for s in shapes}, {(0.4, 1e5, 10)})

    def test_example_walks_and_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            plot = pathlib.Path(folder, "walk.png")
            done = subprocess.run([sys.executable, "-B", str(ROOT / "clients/examples/python/quadruped_walk.py"),
                                   "--server", self.target, "--metrics", self.metrics, "--worlds", "4", "--seconds", "5",
                                   "--plot", str(plot)], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("axion_world_steps_total", done.stdout)
            self.assertEqual(plot.read_bytes()[:4], b"\x89PNG")

    def test_lease_ends_a_batch_that_nobody_names(self):
        batch = self.client.create_batch(self.model, 1, idle_ttl=0.2)
        self.assertTrue(eventually(lambda: all(other.name != batch.name for other in self.client.list_batches())), "it outlived its lease")
        with self.assertRaises(axion.NotFoundError):
            batch.step()


def _ask(target, inherited, queue):
    """What a child that was forked is answered, by a client of its own, then by its parent's."""
    try:
        with axion.Client(target) as client:
            queue.put([client.server_info().version, inherited.server_info().version])
    except Exception as error:
        queue.put([str(error)])


class Forks(AxiondCase):
    def test_children_that_are_forked_are_answered_at_their_first_call(self):
        version = self.client.server_info().version
        context = multiprocessing.get_context("fork")
        for _ in range(3):
            queue = context.Queue()
            children = [context.Process(target=_ask, args=(self.target, self.client, queue)) for _ in range(6)]
            for child in children:
                child.start()
            self.assertEqual([queue.get(timeout=PATIENCE_SECONDS) for _ in children], [[version, version]] * len(children))
            for child in children:
                child.join(PATIENCE_SECONDS)
            self.assertEqual(self.client.server_info().version, version)


if __name__ == "__main__":
    unittest.main()
