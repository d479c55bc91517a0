"""axion.Fleet over three servers, of which some are killed: bits of one server's run; see axiond_case.py."""

import unittest

import numpy as np

import axion
from axiond_case import AXIOND, ROOT
from axiond_process import AxiondProcess

SCENE = (ROOT / "clients" / "examples" / "models" / "quadruped.xml").read_text()
FIELDS = ("body_pose", "joint_velocity")
WORLDS = 10


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class FleetOfThree(unittest.TestCase):
    def setUp(self):
        self.servers = [self.enterContext(AxiondProcess(AXIOND)) for _ in range(3)]
        self.fleet = self.enterContext(axion.Fleet([server.address for server in self.servers], patience=0.5))
        self.model = self.fleet.create_model(mjcf=SCENE)

    def kill(self, which):
        self.servers[which].process.kill()
        self.servers[which].process.wait()

    def asked(self, batch, events=None):
        """Steps all worlds, steps some, starts some again; what is answered after each, and the contacts at the end. events: {round: what
        happens before it}."""
        rng, found = np.random.default_rng(1), []
        for number in range(24):
            (events or {}).get(number, lambda: None)()
            control = rng.uniform(-0.3, 0.3, (WORLDS, self.model.control_count))
            worlds = None if number % 3 else np.array([7, 2, 9, 0])
            answer = batch.step(control if worlds is None else control[:4], steps=3, outputs=FIELDS, worlds=worlds)
            found.append([answer["body_pose"], answer["joint_velocity"], answer.time, answer.step_index, answer.outcome])
            if number % 5 == 0:
                batch.reset(worlds=[1, 8], joint_position=np.tile(self.model.keyframes["stand"], (2, 1)) + rng.uniform(0, 0.01, (2, 19)))
        state, contacts = batch.get_state(FIELDS), batch.contacts()
        found.append([state["body_pose"], state["joint_velocity"], state.time, state.step_index])
        found.append([contacts.world, contacts.shape_a, contacts.point, contacts.normal_impulse, contacts.contact_count])
        return found

    def alone(self):
        with self.fleet._members[0].client.create_batch(self.model, WORLDS, 0.005) as batch:
            return self.asked(batch)

    def expect_same(self, one, other):
        self.assertEqual(len(one), len(other))
        for mine, theirs in zip(one, other):
            for a, b in zip(mine, theirs):
                np.testing.assert_array_equal(a, b)

    def test_what_one_server_refuses_no_server_has_done(self):
        with self.fleet.create_batch(self.model, WORLDS, 0.005, shares=[1, 1, 1]) as batch:
            batch.step(steps=2)
            before = batch.get_state()
            for wrong in (0, WORLDS - 1):
                pose = np.array(before["body_pose"])
                pose[:, 0, 2] += 0.1
                pose[wrong, 0, 0] = np.nan
                control = np.full((WORLDS, self.model.control_count), 0.1)
                control[wrong, 0] = np.nan
                for name, call in (("body_pose", lambda pose=pose: batch.set_state(body_pose=pose)),
                                   ("body_pose", lambda pose=pose: batch.reset(body_pose=pose)),
                                   ("control", lambda control=control: batch.step(control))):
                    with self.assertRaisesRegex(axion.AxionError, name):
                        call()
                    after = batch.get_state()
                    for field in before:
                        np.testing.assert_array_equal(after[field], before[field], field)
            clients = [member.client for member in self.fleet._members]
            self.assertEqual([len(client.list_batches()) for client in clients], [1, 1, 1])

    def test_a_batch_that_one_server_refuses_is_left_on_none(self):
        with self.assertRaisesRegex(axion.AxionError, "max_worlds"):
            self.fleet.create_batch(self.model, 70_000, 0.005, shares=[0, 0.01, 0.99])
        self.assertEqual([len(member.client.list_batches()) for member in self.fleet._members], [0, 0, 0])

    def test_a_fleet_that_has_lost_all_servers_says_so(self):
        for which in range(3):
            self.kill(which)
        with self.assertRaises(axion.errors.UnavailableError):
            self.fleet.create_model(mjcf=SCENE)
        for call in (lambda: self.fleet.create_model(mjcf=SCENE), lambda: self.fleet.get_scene(self.model),
                     lambda: self.fleet.measure(self.model), lambda: self.fleet.create_batch(self.model, 3),
                     lambda: self.fleet.create_batch(self.model, 3, shares=[1, 1, 1])):
            with self.assertRaisesRegex(axion.errors.UnavailableError, "every server of this fleet is lost"):
                call()

    def test_where_worlds_are_changes_no_bit(self):
        expected = self.alone()
        for shares in ([1, 1, 1], [0.2, 0, 0.8]):
            with self.fleet.create_batch(self.model, WORLDS, 0.005, shares=shares) as batch:
                self.assertEqual(sum(batch.placement.values()), WORLDS)
                self.expect_same(self.asked(batch), expected)

    def test_what_is_asked_of_worlds_in_any_order_is_what_one_server_says(self):
        def asked(batch):
            batch.reset(keyframe="stand", worlds=[8, 1, 5])
            batch.set_state(worlds=[2, 7], parameters={"gravity": [[0, 0, -1.0], [0, 0, -2.0]]})
            batch.step(np.linspace(-0.2, 0.2, self.model.control_count), steps=40)
            some = np.array([7, 2, 9, 0, 5])
            contacts, stats = batch.contacts(some), batch.world_stats(some)
            hits = batch.cast_rays([[0, 0, 3.0], [0.1, 0, 3.0]], np.tile([0, 0, -1.0], (2, 1)), some, body="trunk", heading_only=True)
            own = batch.cast_rays(np.arange(30.0).reshape(5, 2, 3) * 0.01 + 2, np.tile([0, 0, -1.0], (5, 2, 1)), some)
            near = batch.distances([(0, 1), (self.model.shape_names[3], 0)], some)
            motion = batch.dynamics([("trunk", [0, 0, 0.1])], some)
            told = [contacts.world, contacts.contact_count, contacts.point, contacts.gap, contacts.shape_b, stats.world,
                    stats.newton_iterations, stats.residual, np.array(stats.joint_mode), hits.distance, hits.shape, own.distance,
                    near.distance, near.point_a, motion.jacobian, motion.mass_matrix, batch.get_parameters("gravity", some)["gravity"],
                    batch.get_state("snapshot", some)["snapshot"]]
            self.assertEqual(hits.shape.dtype, np.int32)
            self.assertGreater(len(contacts), 5)
            batch.set_state(worlds=some[::-1], snapshot=batch.get_state("snapshot", some)["snapshot"])
            return [told, [batch.get_state("body_pose")["body_pose"], batch.get_state("time", [3, 1]).time]]
        with self.fleet._members[0].client.create_batch(self.model, WORLDS, 0.005) as batch:
            expected = asked(batch)
        with self.fleet.create_batch(self.model, WORLDS, 0.005, shares=[3, 1, 6]) as batch:
            self.expect_same(asked(batch), expected)

    def test_lost_servers_worlds_go_on_elsewhere_with_the_same_bits(self):
        expected = self.alone()
        for every in (1, 4, 100):
            with self.subTest(checkpoint_every=every):
                self.setUp()
                with self.fleet.create_batch(self.model, WORLDS, 0.005, shares=[1, 1, 1], checkpoint_every=every) as batch:
                    self.expect_same(self.asked(batch, {6: lambda: self.kill(1), 15: lambda: self.kill(0)}), expected)
                    self.assertEqual(batch.placement, {self.servers[2].address: WORLDS})

    def test_a_batch_that_is_gone_is_made_anew_on_its_server(self):
        expected = self.alone()
        with self.fleet.create_batch(self.model, WORLDS, 0.005, shares=[1, 1, 1], checkpoint_every=5) as batch:
            self.expect_same(self.asked(batch, {9: lambda: batch._parts[1].batch.delete()}), expected)
            self.assertEqual(len(batch.placement), 3)

    def test_without_a_server_the_loss_is_told(self):
        with self.fleet.create_batch(self.model, WORLDS, 0.005, shares=[1, 1, 1]) as batch:
            for which in range(3):
                self.kill(which)
            with self.assertRaises(axion.UnavailableError):
                batch.step()

    def test_shares_follow_measured_rates(self):
        rates = self.fleet.measure(self.model, 0.005)
        self.assertEqual(rates.shape, (3,))
        self.assertTrue((rates > 0).all())
        with self.fleet.create_batch(self.model, 30, 0.005) as batch:
            self.assertEqual(sum(batch.placement.values()), 30)

    def test_mistakes_are_named(self):
        for arguments, text in (({"shares": [1, 1]}, "shares: must be 3 numbers"), ({"shares": [0, 0, 0]}, "shares"),
                                ({"joint_position_noise": 0.1}, "joint_position_noise: is drawn")):
            with self.assertRaisesRegex(ValueError, text):
                self.fleet.create_batch(self.model, 4, **arguments)
        with self.assertRaisesRegex(ValueError, "targets"):
            axion.Fleet([])
        with self.assertRaises(axion.InvalidArgumentError):
            self.fleet.create_batch(self.model, 4, -1.0, shares=[1, 1, 1])
        with self.fleet.create_batch(self.model, 4, 0.005, shares=[1, 1, 1]) as batch:
            with self.assertRaisesRegex(ValueError, "worlds: must be from 0 to 3"):
                batch.step(worlds=[4])
            with self.assertRaises(axion.InvalidArgumentError):
                batch.step(np.zeros((4, 3)))
            with self.assertRaisesRegex(ValueError, r"control: has shape \[3, 12\]; it must have a row for each of 4 worlds"):
                batch.step(np.zeros((3, 12)))
            with self.assertRaisesRegex(ValueError, "snapshot: has 2 values for 4 worlds"):
                batch.set_state(snapshot=list(batch.get_state("snapshot", [0, 1])["snapshot"]))
            for choices in ({"request_id": "mine"}, {"expected_step": 0}, {"timeout": 9.0}):
                with self.assertRaisesRegex(ValueError, f"{next(iter(choices))}: what changes the worlds of a fleet takes none"):
                    batch.step(**choices)
            np.testing.assert_array_equal(batch.get_state("time", timeout=60).step_index, 0)

    def test_episodes_go_on_when_a_server_is_lost(self):
        try:
            from axion.gym import AxionVectorEnv
        except ImportError:
            self.skipTest("gymnasium is not installed")
        runs = []
        for client in (self.fleet._members[2].client, self.fleet):
            envs = AxionVectorEnv("Hopper-v5", 12, client=client)
            rng = np.random.default_rng(2)
            found = [envs.reset(seed=4)[0]]
            for number in range(60):
                if number == 30 and client is self.fleet:
                    self.kill(1)
                observations, rewards, terminated, truncated, _ = envs.step(rng.uniform(-1, 1, (12, 3)).astype(np.float32))
                found += [observations, rewards, terminated, truncated]
            runs.append(found)
            envs.close()
        self.assertTrue(any(array.any() for array in runs[0][3::4]))
        self.expect_same([runs[0]], [runs[1]])


if __name__ == "__main__":
    unittest.main()
