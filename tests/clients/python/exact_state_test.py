"""Snapshots with the Python package against axiond: branches, other batches, a server that is started anew."""

import pickle
import unittest

import numpy as np

import axion
from axiond_case import ROOT, AxiondCase

SCENE = ROOT / "clients" / "examples" / "models" / "quadruped.xml"
FIELDS = ["body_pose", "body_velocity", "joint_impulse", "control", "outcome", "time", "step_index"]


class ExactState(AxiondCase):
    def setUp(self):
        self.model = self.client.create_model(mjcf=SCENE.read_text())

    def batch(self, world_count=4, client=None, **arguments):
        return self.enterContext((client or self.client).create_batch(self.model, world_count, dt=0.005, **arguments))

    def walked(self, **arguments):
        batch = self.batch(joint_position_noise=0.1, seed=3, **arguments)
        batch.step(control=self.model.hold_control("stand"), steps=150)
        return batch

    def everything(self, batch, world):
        state = batch.get_state([*FIELDS, "snapshot"], worlds=[world])
        return [state[name].tobytes() if name != "snapshot" else state[name][0] for name in FIELDS + ["snapshot"]]

    def go_on(self, batch):
        batch.step(control=0.9 * self.model.hold_control("stand"), steps=200)

    def test_worlds_branch_from_one_snapshot(self):
        for precision in ("float32", "float64"):
            batch, plans = self.walked(precision=precision), self.batch(6, precision=precision)
            state = batch.get_state("snapshot")
            self.assertEqual(list(state), ["snapshot"])
            self.assertEqual((state["snapshot"].shape, len({*state["snapshot"]})), ((4,), 4))
            plans.set_state(snapshot=state["snapshot"][2])
            plans.set_state(worlds=[5, 0], snapshot=state["snapshot"][[1, 3]])
            self.go_on(batch)
            self.go_on(plans)
            for here, there in ((2, 1), (2, 4), (1, 5), (3, 0)):
                self.assertEqual(self.everything(batch, here), self.everything(plans, there))
            mask = np.arange(6) == 4
            plans.reset(worlds=mask, snapshot=state["snapshot"][0])
            self.go_on(plans)
            self.assertEqual(self.everything(batch, 0), self.everything(plans, 4))

    def test_a_server_that_is_started_anew_goes_on_with_the_same_bits(self):
        batch = self.client.create_batch(self.model, 4, dt=0.005, joint_position_noise=0.1, seed=3)  # ends with its server
        batch.step(control=self.model.hold_control("stand"), steps=150)
        kept = pickle.dumps(batch.get_state(["snapshot"])["snapshot"])
        self.go_on(batch)
        expected = [self.everything(batch, world) for world in range(4)]
        contacts = batch.contacts()
        type(self).tearDownClass()
        type(self).setUpClass()
        self.model = self.client.create_model(mjcf=SCENE.read_text())
        again = self.batch()
        again.set_state(snapshot=pickle.loads(kept))
        self.go_on(again)
        self.assertEqual([self.everything(again, world) for world in range(4)], expected)
        for name in ("gap", "normal_impulse", "point", "world"):
            np.testing.assert_array_equal(getattr(again.contacts(), name), getattr(contacts, name))

    def test_a_damaged_snapshot_is_refused_by_its_row_and_changes_nothing(self):
        batch = self.walked()
        before = [self.everything(batch, world) for world in range(4)]
        snapshots = batch.get_state("snapshot")["snapshot"]
        generator = np.random.default_rng(4)
        for _ in range(200):
            damaged = bytearray(snapshots[1])
            damaged[generator.integers(len(damaged))] ^= 1 << int(generator.integers(8))
            with self.assertRaises(axion.InvalidArgumentError) as raised:
                batch.set_state(snapshot=[snapshots[2], damaged, snapshots[0], snapshots[3]])
            self.assertEqual(raised.exception.field_violations[0].field, "state.snapshot[1]")
        with self.assertRaisesRegex(axion.InvalidArgumentError, "alone"):
            batch.set_state(snapshot=snapshots, time=np.zeros(4))
        self.assertEqual([self.everything(batch, world) for world in range(4)], before)

    def test_the_scene_of_a_model_makes_the_model_again(self):
        scene = self.client.get_scene(self.model)
        again = self.client.create_model(scene=scene)
        self.assertEqual(again.fingerprint, self.model.fingerprint)
        scene.proto.shapes[0].friction += 0.5
        self.assertNotEqual(self.client.create_model(scene=scene).fingerprint, self.model.fingerprint)
        soft = self.client.create_model(mjcf=SCENE.read_text(), shape_overrides={"": {"restitution": 0.3}})
        self.assertEqual({shape.restitution for shape in soft.proto.shapes}, {0.3})

    def test_tool_prints_snapshots(self):
        batch = self.batch(2)
        self.assertIn("snapshot of world 1: ", self.tool("state", batch.name, "--show=1", "--fields=snapshot"))


if __name__ == "__main__":
    unittest.main()
