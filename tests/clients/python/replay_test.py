"""Instants of recorded runs again, with the bits that they had, against axiond; see axiond_case.py. Wants the extra `replay`."""

import contextlib
import importlib.util
import io
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import axion
from axion import tool
from axiond_case import AXIOND, ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS, AxiondProcess

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"
HOPPER_TASK = {
    "observation": [{"quantity": {"field": "joint_position", "start": 7}, "noise": 0.01}],
    "reward": [{"name": "alive", "weight": 1, "measure": "MEASURE_ALIVE"}],
    "action": {"scale": [0.3], "offset_keyframe": "stand", "frame_skip": 3}, "keyframe": "stand", "max_episode_steps": "7",
    "start": [{"of": "START_OF_POSITION", "start": 7, "lower": -0.05, "upper": 0.05}]}


@unittest.skipUnless(importlib.util.find_spec("mcap"), "the extra `replay` is not installed")
class Replay(AxiondCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "run.mcap"
        self.model = self.client.create_model(path=QUADRUPED)

    def bits(self, batch, world):
        return batch.get_state("snapshot", [world])["snapshot"][0]

    def expect(self, seen):
        """seen: {(step, world): bits}. Every instant again, by a client of its own."""
        run = axion.RecordedRun(self.path)
        with axion.Client(self.target) as client:
            for (step, world), expected in seen.items():
                with self.subTest(step=step, world=world), run.instant(client, step, world) as batch:
                    self.assertEqual(self.bits(batch, world), expected)
        return run

    def play(self, batch, log, worlds):
        """Steps of every kind; the bits of worlds after each, by how many steps they have made."""
        rng, seen, steps = np.random.default_rng(5), {}, dict.fromkeys(range(batch.world_count), 0)
        nu = self.model.control_count

        def stepped(count, of=None, **choices):
            batch.step(steps=count, worlds=of, **choices)
            for world in range(batch.world_count) if of is None else of:
                steps[world] += count
                if world in worlds:
                    seen[steps[world], world] = self.bits(batch, world)
        stepped(3)
        batch.reset(keyframe="stand")
        stepped(2, control=rng.uniform(-0.3, 0.3, (4, nu)), request_id="mine", outputs=["body_pose"])
        stepped(4, of=[3, 1], control=rng.uniform(-0.3, 0.3, (2, 4, nu)), record_every=2, outputs=["body_pose"])
        batch.set_state(worlds=[1, 2], joint_velocity=rng.uniform(-1, 1, (2, batch.get_state("joint_velocity")["joint_velocity"].shape[1])))
        stepped(1, body_wrench=rng.uniform(-5, 5, (4, self.model.body_count, 6)))
        batch.reset(worlds=[0, 3], seeds=[7, 8])
        stepped(5, of=[0, 1, 3])
        batch.reset(worlds=[3])
        with batch.stream() as stream:
            for _ in range(6):
                stream.send(control=rng.uniform(-0.3, 0.3, (4, nu)), steps=2)
            for _ in range(6):
                stream.receive()
        for world in steps:
            steps[world] += 12
        batch.set_state(parameters={"gravity": [0, 0, -3.0]})
        stepped(3)
        return seen, steps

    def test_instants_have_their_bits_whatever_is_kept(self):
        for keep_every in (0, 1, 3, 1000):
            with self.subTest(keep_every=keep_every), self.client.create_batch(self.model, 4, seed=3, joint_position_noise=0.05) as batch:
                batch.step(steps=2)  # before the log begins
                with axion.RunLog(batch, self.path, keep_every=keep_every) as log:
                    seen, steps = self.play(batch, log, range(4))
                run = self.expect(seen)
                self.assertEqual(run.steps, steps)
                self.assertTrue(run.is_whole)
                for world in range(4):
                    self.assertEqual(run.verify(self.client, world)[-1], steps[world])

    def test_a_log_of_some_worlds_has_these_alone(self):
        with self.client.create_batch(self.model, 4, seed=3, joint_position_noise=0.05) as batch:
            with axion.RunLog(batch, self.path, [3, 1], keep_every=4) as log:
                seen, steps = self.play(batch, log, [1, 3])
            whole = self.folder / "whole.mcap"
            with axion.RunLog(batch, whole, keep_every=4) as log:
                self.play(batch, log, [])
        run = self.expect(seen)
        self.assertEqual(run.steps, {1: steps[1], 3: steps[3]})
        with self.assertRaisesRegex(ValueError, "world: 0 is none of the worlds in the log: 1, 3"):
            run.instant(self.client, 1, 0)

    def test_instants_within_a_call_and_its_beginning(self):
        controls = np.random.default_rng(1).uniform(-0.3, 0.3, (2, 10, self.model.control_count))
        with self.client.create_batch(self.model, 2) as batch, self.client.create_batch(self.model, 2) as single:
            with axion.RunLog(batch, self.path):
                batch.reset(keyframe="stand")
                batch.step(controls, steps=10)
                batch.reset(keyframe="stand")
            single.reset(keyframe="stand")
            seen = {(0, world): self.bits(single, world) for world in range(2)}
            for step in range(10):
                single.step(controls[:, step])
                seen.update({(step + 1, world): self.bits(single, world) for world in range(2)})
        self.expect(seen)

    def test_a_steps_of_a_task_counts_as_one_and_episodes_begin_as_they_did(self):
        with self.client.create_batch(self.model, 3, task=HOPPER_TASK, seed=9) as batch:
            seen, rng = {}, np.random.default_rng(2)
            with axion.RunLog(batch, self.path, keep_every=5):
                batch.begin_episodes(seeds=[4, 5, 6])
                for step in range(1, 21):
                    batch.step_task(rng.uniform(-1, 1, (3, batch.task.action_size)).astype(np.float32))
                    seen.update({(step, world): self.bits(batch, world) for world in range(3)})
        run = self.expect(seen)
        self.assertEqual(run.steps, {0: 20, 1: 20, 2: 20})

    def test_another_server_has_the_same_bits(self):
        with self.client.create_batch(self.model, 2) as batch, axion.RunLog(batch, self.path, keep_every=2):
            batch.reset(keyframe="stand")
            for _ in range(7):
                batch.step(steps=3)
            expected = self.bits(batch, 1)
        with AxiondProcess(AXIOND, "--threads=1") as other, axion.Client(other.address) as client:
            with axion.RecordedRun(self.path).instant(client, 21, 1) as again:
                self.assertEqual(self.bits(again, 1), expected)

    def test_a_call_whose_end_is_not_known_is_made_up_for(self):
        with self.client.create_batch(self.model, 2) as batch:
            with axion.RunLog(batch, self.path, keep_every=0):
                batch.step(steps=2)
                with self.assertRaises(axion.DeadlineExceededError):
                    batch.step(steps=10**6, timeout=0.05)
                with self.assertRaises(axion.InvalidArgumentError):
                    batch.step(np.full(self.model.control_count, np.nan))
                batch.step(steps=3)
                expected = self.bits(batch, 1)
        run = self.expect({(5, 1): expected})
        self.assertEqual(run.verify(self.client, 1)[-1], 5)

    def test_what_a_killed_program_has_logged_is_there(self):
        program = f"""
import numpy, os, signal, axion
client = axion.Client({self.target!r})
batch = client.create_batch(client.create_model(path={str(QUADRUPED)!r}), 8, 0.005)
axion.RunLog(batch, {str(self.path)!r}, keep_every=50)
rng = numpy.random.default_rng(0)
for step in range(400):
    batch.step(rng.uniform(-0.3, 0.3, (8, 12)))
os.kill(os.getpid(), signal.SIGKILL)
"""
        done = subprocess.run([sys.executable, "-c", program], timeout=PATIENCE_SECONDS, capture_output=True, text=True)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        run = axion.RecordedRun(self.path)
        self.assertFalse(run.is_whole)
        self.assertGreater(run.steps[7], 100)
        rng = np.random.default_rng(0)
        with self.client.create_batch(self.model, 8, 0.005) as batch, run.instant(self.client, 100, 7) as again:
            for _ in range(100):
                batch.step(rng.uniform(-0.3, 0.3, (8, 12)))
            self.assertEqual(self.bits(batch, 7), self.bits(again, 7))

    def test_an_instant_of_a_long_run_is_there_without_all_before_it(self):
        with self.client.create_batch(self.model, 1) as batch, axion.RunLog(batch, self.path, keep_every=100):
            for _ in range(1000):
                batch.step(steps=1)
            expected = self.bits(batch, 0)
        run, made = axion.RecordedRun(self.path), []
        with run.instant(self.client, 1000, 0, lambda done, whole: made.append(whole)) as again:
            self.assertEqual(self.bits(again, 0), expected)
        self.assertEqual(set(made), {100})

    def test_bits_that_differ_are_told(self):
        with self.client.create_batch(self.model, 1) as batch:
            with axion.RunLog(batch, self.path, keep_every=2):
                for number in range(6):
                    batch.step(steps=2)
                    if number == 3:
                        with axion.Client(self.target) as other:  # whose calls are in no log
                            other.get_batch(batch.name).set_state(joint_velocity=np.full(18, 0.5))
        run = axion.RecordedRun(self.path)
        with self.assertRaisesRegex(ValueError, r"world 0: its bits at step 12 are others than in the run, which version \S+ made on cpu"):
            run.verify(self.client, 0)
        self.assertEqual(len(self.client.list_batches()), 0)

    def test_what_something_else_has_changed_is_made_up_for(self):
        with self.client.create_batch(self.model, 1) as batch:
            with axion.RunLog(batch, self.path, keep_every=0) as log:
                batch.step(steps=3)
                snapshot = batch.save_snapshot(return_content=True, skip_store=True)
                batch.step(steps=40)
                self.client.restore_snapshot(snapshot.content, batch)
                log.keep_worlds()
                batch.step(steps=2)
                expected = self.bits(batch, 0)
        self.assertEqual(self.expect({(45, 0): expected}).verify(self.client, 0), [43, 45])

    def test_mistakes_are_named(self):
        with self.client.create_batch(self.model, 2) as batch:
            for choices, text in (({"worlds": [2]}, r"worlds: \[2\] are not distinct worlds from 0 to 1"), ({"worlds": [0, 0]}, "worlds"),
                                  ({"worlds": []}, "worlds"), ({"keep_every": -1}, "keep_every: is -1")):
                with self.assertRaisesRegex(ValueError, text):
                    axion.RunLog(batch, self.path, **choices)
            with self.assertRaises(OSError):
                axion.RunLog(batch, self.folder / "none" / "run.mcap")
            with axion.RunLog(batch, self.path):
                with self.assertRaisesRegex(ValueError, "has a log already"):
                    axion.RunLog(batch, self.path)
                batch.step(steps=5)
        run = axion.RecordedRun(self.path)
        for step in (-1, 6):
            with self.assertRaisesRegex(ValueError, f"at: {step}; the run has steps 0 to 5 of world 1"):
                run.instant(self.client, step, 1)
        (self.folder / "text.mcap").write_text("no file of this kind")
        with self.assertRaisesRegex(ValueError, "text.mcap: is no MCAP file"):
            axion.RecordedRun(self.folder / "text.mcap")
        from mcap.writer import Writer
        with open(self.folder / "other.mcap", "wb") as stream:
            writer = Writer(stream)
            writer.start()
            writer.add_message(writer.register_channel("/tf", "json", 0), 0, b"{}", 0)
            writer.finish()
        with self.assertRaisesRegex(ValueError, "other.mcap: has no /run/about, /run/batch, /run/beginning: it is no log of a run"):
            axion.RecordedRun(self.folder / "other.mcap")

    # ---- The verb -------------------------------------------------------------------------------------------------------

    def verb(self, *words, code=0):
        told, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(error):
            found = tool.main(["replay", *map(str, words), f"--server={self.target}"])
        self.assertEqual(found, code, error.getvalue())
        return error.getvalue() if code else told.getvalue()

    def test_the_verb_says_and_writes_an_instant(self):
        with self.client.create_batch(self.model, 2) as batch:
            with axion.RunLog(batch, self.path):
                batch.reset(keyframe="stand")
                batch.step(steps=20)
                pose = batch.get_state("joint_position", [1])["joint_position"][0]
                batch.step(steps=5)
        self.assertRegex(self.verb(self.path), r"run.mcap: batches/\w+, worlds in the log: 2, steps: 25 to 25, dt 0.00\d+ s, made by")
        self.assertEqual(json.loads(self.verb(self.path, "--json"))["steps"], [25, 25])
        found = json.loads(self.verb(self.path, "--at=20", "--world=1", "--json", f"--out={self.folder / 'a.npz'}"))
        self.assertEqual(found["state"]["joint_position"], pose.tolist())
        np.testing.assert_array_equal(np.load(self.folder / "a.npz")["joint_position"][0], pose)
        self.assertIn("world 1 after 20 steps of 25: time", self.verb(self.path, "--at=20", "--world=1"))
        self.assertIn("bits are the same at 1 instants", self.verb(self.path, "--verify"))
        if importlib.util.find_spec("trimesh"):
            self.verb(self.path, "--at=20", f"--out={self.folder / 'a.png'}")
            self.assertEqual((self.folder / "a.png").read_bytes()[:4], b"\x89PNG")
        self.assertEqual(len(self.client.list_batches()), 0)

    @unittest.skipUnless(importlib.util.find_spec("gymnasium"), "gymnasium is not installed")
    def test_a_training_run_is_made_again(self):
        error = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
            code = tool.main(["train", "Hopper-v5", "--worlds=4", "--steps=640", "--rollout_steps=16", "--no-pictures",
                              f"--out={self.folder}", f"--server={self.target}", f"--run_log={self.path}", "--run_log_worlds=1,3"])
        self.assertEqual(code, 0, error.getvalue())
        run = axion.RecordedRun(self.path)
        self.assertEqual(set(run.steps), {1, 3})
        self.assertGreaterEqual(run.steps[3], 160)
        for world in (1, 3):
            self.assertEqual(run.verify(self.client, world), [run.steps[world]])
        with contextlib.redirect_stderr(error):
            code = tool.main(["train", "Hopper-v5", "--servers=127.0.0.1:1,127.0.0.1:2", f"--run_log={self.path}"])
        self.assertEqual(code, 2)
        self.assertIn("axion train: run_log: is of one server's worlds", error.getvalue())

    def test_a_log_goes_on_with_another_object_of_its_batch(self):
        with self.client.create_batch(self.model, 1) as batch:
            with axion.RunLog(batch, self.path) as log:
                batch.step(steps=3)
                again = self.client.get_batch(batch.name)
                log.follow(again)
                batch.step(steps=50)  # which is not in the log
                again.step(steps=4)
                expected = self.bits(batch, 0)
        self.expect({(7, 0): expected})

    def test_the_verb_names_what_is_wrong(self):
        with self.client.create_batch(self.model, 2) as batch, axion.RunLog(batch, self.path):
            batch.step(steps=5)
        for words, code, text in (((self.path, "--at=6"), 2, "axion replay: at: 6; the run has steps 0 to 5 of world 0"),
                                  ((self.path, "--at=1", "--world=2"), 2, "world: 2 is none of the worlds in the log: 0, 1"),
                                  ((self.path, "--view"), 2, "--at: is missing; --view wants the instant"),
                                  ((self.path, "--at=1", "--out=a"), 2, "--out=a: wants an ending"),
                                  ((self.path, "--at=1", "--fields=joint_positio"), 1, "joint_positio"),
                                  ((self.folder / "none.mcap",), 1, "cannot use the file .*none.mcap")):
            self.assertRegex(self.verb(*words, code=code), text)


if __name__ == "__main__":
    unittest.main()
