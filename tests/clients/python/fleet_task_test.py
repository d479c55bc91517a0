"""Tasks over axion.Fleet, whose servers are killed: episodes of one server's run, bit for bit; see axiond_case.py."""

import unittest

import numpy as np

import axion
from axion.fleet_results import world_seeds
from axiond_case import AXIOND, AxiondProcess
from task_test import CARRIED, CART, DRAWN, cart_task

WORLDS = 11
PARTS = ("observation", "reward", "terms", "terminated", "truncated", "ended_by", "episode_return", "episode_length", "episode",
         "final_rows", "final_observation", "time", "step_index", "outcome", "privileged_observation", "final_privileged_observation",
         "level")


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class TasksOfAFleet(unittest.TestCase):
    def setUp(self):
        self.servers = [self.enterContext(AxiondProcess(AXIOND)) for _ in range(3)]
        self.fleet = self.enterContext(axion.Fleet([server.address for server in self.servers], patience=0.5))
        self.model = self.fleet.create_model(mjcf=CART)

    def kill(self, which):
        self.servers[which].process.kill()
        self.servers[which].process.wait()

    def batch(self, of, autoreset="AUTORESET_SAME_STEP", **choices):
        draws = {} if "parameters" in choices else DRAWN
        model, task = of.create_model(mjcf=CART), cart_task(autoreset=autoreset, **CARRIED, **draws)
        return self.enterContext(of.create_batch(model, WORLDS, 0.005, task=task, seed=7, **choices))

    def asked(self, batch, events=None):
        """Steps, of all worlds and of some in any order, and episodes that are begun; what was answered."""
        rng, found = np.random.default_rng(3), []
        for number in range(70):
            (events or {}).get(number, lambda: None)()
            actions = rng.uniform(-2, 2, (WORLDS, 1))
            worlds = np.array([9, 2, 7, 0]) if number % 5 == 4 else None
            answer = batch.step_task(actions if worlds is None else actions[:4], outputs=["body_pose"], worlds=worlds)
            found += [np.array(getattr(answer, name)) for name in PARTS] + [answer["body_pose"]]
            if number == 20:
                found.append(batch.begin_episodes())
            if number == 40:
                found.append(batch.begin_episodes(worlds=[10, 1], seeds=[5, 6]))
        return found

    def expect_same(self, one, other):
        self.assertEqual(len(one), len(other))
        for mine, theirs in zip(one, other):
            np.testing.assert_array_equal(mine, theirs)

    def test_worlds_seeds_are_those_of_their_places_in_the_whole(self):
        alone, spread = self.batch(self.fleet._members[0].client), self.batch(self.fleet, shares=[2, 1, 1])
        self.assertEqual(spread.task, alone.task)
        self.expect_same(self.asked(spread), self.asked(alone))
        seeds = world_seeds(7, 0, WORLDS)
        np.testing.assert_array_equal(world_seeds(7, 4, WORLDS), seeds[4:])
        np.testing.assert_array_equal(spread.begin_episodes(seeds=seeds[::-1]), alone.begin_episodes(seeds=seeds[::-1]))

    def test_episodes_go_on_with_the_same_bits_when_servers_are_lost(self):
        for mode in ("AUTORESET_NEXT_STEP", "AUTORESET_SAME_STEP"):
            self.setUp()
            expected = self.asked(self.batch(self.fleet._members[2].client, mode))
            self.assertTrue(any(array.any() for array in expected[3::18]))
            for every in (3, 1000):
                with self.subTest(mode=mode, checkpoint_every=every):
                    self.setUp()
                    spread = self.batch(self.fleet, mode, shares=[1, 1, 1], checkpoint_every=every)
                    self.expect_same(self.asked(spread, {25: lambda: self.kill(1), 55: lambda: self.kill(0)}), expected)
                    self.assertEqual(spread.placement, {self.servers[2].address: WORLDS})

    def test_mistakes_are_named(self):
        batch = self.batch(self.fleet, shares=[1, 1, 1])
        for action in (np.zeros((3, 1)), np.zeros(WORLDS), np.zeros((WORLDS, 2))):
            with self.assertRaisesRegex(ValueError, r"action: has shape .* must be \[11, 1\]"):
                batch.step_task(action)
        with self.assertRaisesRegex(ValueError, "seeds: has 2 values for 11 worlds"):
            batch.begin_episodes(seeds=[1, 2])
        with self.assertRaisesRegex(axion.InvalidArgumentError, "field"):
            self.fleet.create_batch(self.model, 4, task={"observation": [{"quantity": {"field": "no"}}]}, shares=[1, 1, 1])
        self.assertRegex(repr(batch), r"11 worlds, 4 on 127.*dt 0.005 s")
        self.assertEqual(len(batch), WORLDS)

    def test_parameters_of_worlds_go_where_the_worlds_are(self):
        masses = 1 + np.arange(WORLDS * 2.0).reshape(WORLDS, 2)
        given = {"parameters": {"body_mass": masses}}
        alone, spread = self.batch(self.fleet._members[0].client, **given), self.batch(self.fleet, shares=[1, 0, 2], **given)
        self.expect_same(self.asked(spread), self.asked(alone))


if __name__ == "__main__":
    unittest.main()
