"""The examples that learn and play: their gradients, and that they learn, against axiond; see axiond_case.py."""

import contextlib
import importlib.util
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from axiond_case import AXIOND, ROOT, AxiondCase

try:
    import axion.gym
    from axion import tool
    from axion.learning import play, ppo
    from axion.learning.policy import Network, Normaliser, Policy
    from axion.learning.task import TaskChoice
except ImportError:
    ppo = None


@unittest.skipIf(ppo is None, "gymnasium is not installed")
class Gradients(unittest.TestCase):
    def policy_of(self, random, inputs=5, outputs=3):
        network = Network((inputs, 7, 6, outputs), random, dtype=np.float64)
        policy = Policy(network, Normaliser.of_size(inputs), -np.ones(outputs), np.ones(outputs), {"task": "none"})
        policy.log_deviation[:] = random.uniform(-1, 0, outputs)
        return policy

    def test_a_networks_gradient_is_that_of_differences(self):
        random = np.random.default_rng(1)
        network = Network((4, 6, 5, 2), random, dtype=np.float64)
        network.parameters += 0.3 * random.standard_normal(network.parameters.shape)
        inputs, weights = random.standard_normal((9, 4)), random.standard_normal((9, 2))
        network(inputs)
        network.backward(weights)
        found = self.differences(lambda: float((weights * network(inputs)).sum()), network.parameters)
        np.testing.assert_allclose(network.gradient, found, rtol=1e-6, atol=1e-8)

    @staticmethod
    def differences(function, parameters, width=1e-6):
        found = np.zeros_like(parameters)
        for index in range(len(parameters)):
            before = parameters[index]
            parameters[index] = before + width
            above = function()
            parameters[index] = before - width
            below = function()
            parameters[index] = before
            found[index] = (above - below) / (2 * width)
        return found

    def test_the_losss_gradient_is_that_of_differences(self):
        random = np.random.default_rng(2)
        policy, critic = self.policy_of(random), Network((5, 6, 1), random, dtype=np.float64)
        critic.parameters += 0.1 * random.standard_normal(critic.parameters.shape)
        seen = random.standard_normal((40, 5))
        mean = policy.network(seen) + 0.3 * random.standard_normal((40, 3))  # of the policy that acted, which was another
        action = mean + np.exp(policy.log_deviation) * random.standard_normal(mean.shape)
        samples = ppo.Samples(seen, action, ppo.log_probability(action, mean, policy.log_deviation), mean, random.standard_normal(40),
                              random.standard_normal(40), random.standard_normal(40))
        choices = ppo.Choices(entropy_weight=0.1)
        now = ppo.log_probability(action, policy.network(seen), policy.log_deviation)
        ratio = np.exp(now - samples.log_probability)
        self.assertGreater(np.count_nonzero(np.abs(ratio - 1) > choices.clip), 5)
        self.assertGreater(np.count_nonzero(np.abs(ratio - 1) < choices.clip), 5)
        _, moved, gradients = ppo.loss_and_gradients(policy, critic, samples, choices)
        self.assertGreater(moved, 0)
        kept = [gradient.copy() for gradient in gradients]
        for gradient, parameters in zip(kept, (policy.network.parameters, policy.log_deviation, critic.parameters)):
            found = self.differences(lambda: ppo.loss_and_gradients(policy, critic, samples, choices)[0], parameters)
            self.assertGreater(np.abs(found).max(), 1e-3)
            np.testing.assert_allclose(gradient, found, rtol=1e-5, atol=1e-8)

    def test_advantages_are_discounted_sums_of_what_came_better_than_expected(self):
        random = np.random.default_rng(3)
        rewards, values, last = random.standard_normal((6, 2)), random.standard_normal((6, 2)), random.standard_normal(2)
        ended = np.zeros((6, 2), bool)
        ended[3, 1] = True
        found = ppo.advantages(rewards, values, last, ended, 0.9, 0.8)
        following = np.vstack([values[1:], last[None]]) * ~ended
        better = rewards + 0.9 * following - values
        for world in range(2):
            for step in range(6):
                expected, weight = 0.0, 1.0
                for later in range(step, 6):
                    expected += weight * better[later, world]
                    if ended[later, world]:
                        break
                    weight *= 0.9 * 0.8
                self.assertAlmostEqual(found[step, world], expected)

    def test_a_normaliser_has_seen_what_it_was_shown_piece_by_piece(self):
        values = np.random.default_rng(4).normal(3, 2, (1000, 2))
        normaliser = Normaliser.of_size(2)
        for part in np.array_split(values, 7):
            normaliser.see(part)
        np.testing.assert_allclose(normaliser.mean, values.mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(normaliser.variance, values.var(axis=0), rtol=1e-5)

    def test_a_policy_comes_back_from_its_file(self):
        policy = self.policy_of(np.random.default_rng(5))
        policy.normaliser.see(np.random.default_rng(6).normal(1, 3, (50, 5)))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "policy.npz"
            policy.save(path)
            again = Policy.load(path)
            np.savez(path, parameters=np.zeros(3))
            with self.assertRaisesRegex(ValueError, "no policy; it lacks .*sizes"):
                Policy.load(path)
        seen = np.random.default_rng(7).normal(1, 3, (8, 5))
        np.testing.assert_array_equal(again.act(seen), policy.act(seen))
        self.assertEqual(again.about, policy.about)


@unittest.skipIf(ppo is None, "gymnasium is not installed")
class Learning(AxiondCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_main(self, verb, *arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(tool.main([verb, *map(str, arguments), "--server", self.target]), 0)
        return printed.getvalue()

    def learn(self, *arguments):
        return self.run_main("train", "--out", self.folder, *arguments)

    def test_it_learns_to_hold_a_pendulum(self):
        told = self.learn("--task", "InvertedPendulum-v5", "--worlds", 32, "--steps", 25000, "--rollout_steps", 32)
        self.assertIn("Policies: ", told)
        self.assertTrue((self.folder / "InvertedPendulum-v5.png").read_bytes().startswith(b"\x89PNG"))
        untrained = Policy.load(self.folder / "InvertedPendulum-v5-1.npz")
        untrained.network.parameters[:] = 0
        untrained.save(self.folder / "untrained.npz")
        before, after = (self.run_main("play", self.folder / name, "--worlds", 16)
                         for name in ("untrained.npz", "InvertedPendulum-v5-1.npz"))
        held = [float(re.search(r"return ([\d.]+)", each).group(1)) for each in (before, after)]
        self.assertGreater(held[1], 4 * held[0])

    def test_a_seed_gives_the_same_policy_again(self):
        policies = []
        for _ in range(2):
            self.learn("--worlds", 8, "--steps", 512, "--seeds", 3, "--no-pictures")
            policies.append(Policy.load(self.folder / "quadruped-3.npz"))
        np.testing.assert_array_equal(policies[0].network.parameters, policies[1].network.parameters)
        self.learn("--worlds", 8, "--steps", 512, "--seeds", 4, "--no-pictures")
        self.assertTrue((Policy.load(self.folder / "quadruped-4.npz").network.parameters != policies[0].network.parameters).any())

    def test_what_is_measured_and_drawn_of_a_quadruped(self):
        self.learn("--worlds", 4, "--steps", 64, "--rollout_steps", 8)
        policy = self.folder / "quadruped-1.npz"
        told = self.run_main("play", policy, "--worlds", 2, "--seconds", 1.2, "--command", 0.5, 0, 0)
        self.assertIn("| +0.5, +0.0, +0.0 |", told)
        self.run_main("play", policy, "--seconds", 0.2, "--movie", self.folder / "walk.gif")
        self.assertTrue((self.folder / "walk.gif").read_bytes().startswith(b"GIF8"))
        self.run_main("play", policy, "--commands", self.folder / "commands.png")
        self.assertTrue((self.folder / "commands.png").read_bytes().startswith(b"\x89PNG"))
        self.assertTrue((self.folder / "quadruped-1.png").exists())  # as the training drew it

    def test_speeds_are_those_of_the_bodys_own_axes(self):
        turned = np.array([[0, 0, 0.3, np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])  # a quarter to the left: its x is the world's y
        np.testing.assert_allclose(play.body_twist(turned, np.array([[0.0, 2, 0, 0, 0, 0.5]])), [[2, 0, 0.5]], atol=1e-12)
        np.testing.assert_allclose(play.body_twist(turned, np.array([[2.0, 0, 0, 0, 0, 0.5]])), [[0, -2, 0.5]], atol=1e-12)

    def test_a_command_is_the_one_that_is_observed(self):
        task = TaskChoice().server_task((0.3, -0.2, 0.7), noise=False)
        envs = axion.gym.make_vec(task, 2, client=self.client)
        self.addCleanup(envs.close)
        observation, _ = envs.reset(seed=1)
        np.testing.assert_allclose(observation[:, 9:12], [[0.3, -0.2, 0.7]] * 2, rtol=1e-6)
        self.assertEqual(set(envs.info.reward_terms) - {"misses_velocity", "misses_turn", "hurries", "strays"},
                         {"tracks_velocity", "tracks_turn", "bounces", "rolls", "leans", "jerks", "reward_survive"})
        observation, *_, infos = envs.step(np.zeros((2, 12), np.float32))
        speeds, turns = observation[:, :2].astype(float), observation[:, 5] / 0.25
        np.testing.assert_allclose(infos["misses_velocity"], -0.5 * np.abs(speeds - [0.3, -0.2]).sum(axis=1), rtol=1e-4)
        np.testing.assert_allclose(infos["misses_turn"], -0.5 * np.abs(turns - 0.7), rtol=1e-4)

@unittest.skipIf(ppo is None or importlib.util.find_spec("mujoco") is None, "gymnasium or mujoco is not installed")
class EnvironmentSteps(unittest.TestCase):
    @unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
    def test_engines_step_in_turns_and_at_the_time_step_that_each_holds(self):
        done = subprocess.run([sys.executable, "-B", str(ROOT / "tests" / "bench" / "env_steps.py"), AXIOND, "--tasks", "Hopper-v5",
                               "--engines", "batch", "--worlds", "4", "--turns", "2", "--seconds", "0.05", "--episodes", "4"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| Hopper")]
        self.assertEqual([row[2] for row in rows], ["axion", "batch"] * 3)
        self.assertEqual([row[3:6] for row in rows[:2]], [["implicit, Axion's own", "2", "8"], ["RK4", "2", "8"]])
        for row in rows:
            self.assertGreater(float(row[6].replace(",", "")), 0)
        for row in rows[2:4]:
            self.assertIn(float(row[4]), [8 / steps for steps in (1, 2, 3, 4)])
            self.assertRegex(row[8], r"^random: \d+, \d+$")
        for row in rows[4:]:
            self.assertGreaterEqual(float(row[8]), 0)


if __name__ == "__main__":
    unittest.main()
