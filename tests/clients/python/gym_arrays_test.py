"""axion.gym for other libraries: Stable-Baselines3, PyTorch and JAX, each where it is installed; see axiond_case.py.

Where AXION_LIBRARIES is `all`, none of them may be missing.
"""

import contextlib
import importlib.util
import io
import os
import pathlib
import tempfile
import unittest

import numpy as np

from axiond_case import AxiondCase

try:
    import gymnasium

    import axion.gym
    from axion.gym import AxionEnv, AxionVectorEnv, NumericInfos
except ImportError:
    gymnasium = None

HAS = {name: importlib.util.find_spec(name) is not None for name in ("stable_baselines3", "torch", "jax", "array_api_compat")}
if os.environ.get("AXION_LIBRARIES") == "all" and not all(HAS.values()):
    raise ImportError(f"AXION_LIBRARIES is all, but there is no {', '.join(name for name, has in HAS.items() if not has)}")
TASK = "InvertedPendulum-v5"  # which ends soon where nobody holds it, by its angle or here after six steps


@unittest.skipIf(gymnasium is None, "gymnasium is not installed")
class Worlds(AxiondCase):
    def envs(self, worlds=3, **choices):
        choices = {"autoreset_mode": "SameStep", "max_episode_steps": 6, **choices}
        envs = AxionVectorEnv(TASK, worlds, client=self.client, **choices)
        self.addCleanup(envs.close)
        return envs

    def kept(self, envs):
        """NumericInfos of environments, and a list of the observations that they answer."""
        answered, step = [], envs.step

        def kept_step(actions):
            answer = step(actions)
            answered.append(answer[0])
            return answer
        envs.step = kept_step
        return NumericInfos(envs), answered

    def pushes(self, steps=12):
        return np.random.default_rng(3).uniform(-3, 3, (steps, 3, 1)).astype(np.float32)


class Numbers(Worlds):
    def test_infos_say_the_same_in_numbers(self):
        plain, numeric = self.envs(), NumericInfos(self.envs())
        plain.reset(seed=1)
        numeric.reset(seed=1)
        seen = set()
        for push in self.pushes():
            (*_, ended, cut, infos), (*_, numbers) = plain.step(push), numeric.step(push)
            self.assertEqual(set(infos), set(numbers))
            over = ended | cut
            for world in np.flatnonzero(over):
                np.testing.assert_array_equal(numbers["final_obs"][world], infos["final_obs"][world])
                name = infos["ended_by"][world]
                index = int(numbers["ended_by"][world])
                self.assertEqual(numeric.end_names[index] if index >= 0 else "", name)
                seen.add(name)
            if over.any():
                np.testing.assert_array_equal(numbers["final_obs"][~over], 0)
                np.testing.assert_array_equal(numbers["ended_by"][~over], -1)

            def no_objects(value):
                for part in value.values():
                    if isinstance(part, dict):
                        no_objects(part)
                    else:
                        self.assertIn(part.dtype.kind, "biuf")
            no_objects(numbers)
        self.assertGreaterEqual(len(seen), 2)


@unittest.skipUnless(HAS["torch"] and HAS["array_api_compat"], "torch or array-api-compat is not installed")
class Torch(Worlds):
    def test_tensors_lie_where_the_answer_was_put(self):
        import torch
        from gymnasium.wrappers.vector import NumpyToTorch

        numeric, answered = self.kept(self.envs())
        envs, plain = NumpyToTorch(numeric), self.envs()
        observation, _ = envs.reset(seed=1)
        plain.reset(seed=1)
        self.assertEqual(observation.dtype, torch.float32)
        ends = 0
        for push in self.pushes():
            observation, reward, ended, cut, infos = envs.step(torch.from_numpy(push))
            theirs = plain.step(push)
            self.assertEqual(observation.data_ptr(), answered[-1].ctypes.data)
            for ours, expected in zip((observation, reward, ended, cut), theirs):
                self.assertIsInstance(ours, torch.Tensor)
                np.testing.assert_array_equal(ours.numpy(), expected)
            ends += int((ended | cut).sum())
            self.assertIsInstance(infos["reward_survive"], torch.Tensor)
        self.assertGreater(ends, 3)


@unittest.skipUnless(HAS["jax"] and HAS["array_api_compat"], "jax or array-api-compat is not installed")
class Jax(Worlds):
    def test_arrays_of_jax_lie_where_the_answer_was_put(self):
        import jax
        import jax.numpy as jnp
        from gymnasium.wrappers.vector import ArrayConversion

        numeric, answered = self.kept(self.envs())
        envs, plain = ArrayConversion(numeric, env_xp=np, target_xp=jnp), self.envs()
        envs.reset(seed=1)
        plain.reset(seed=1)
        ends = 0
        for push in self.pushes():
            answer, theirs = envs.step(jnp.asarray(push)), plain.step(push)
            for ours, expected in zip(answer[:4], theirs):
                self.assertIsInstance(ours, jax.Array)
                np.testing.assert_array_equal(np.asarray(ours), expected.astype(ours.dtype))
            self.assertEqual(answer[0].unsafe_buffer_pointer(), answered[-1].ctypes.data)
            ends += int((answer[2] | answer[3]).sum())
        self.assertGreater(ends, 3)


@unittest.skipIf(HAS["stable_baselines3"], "Stable-Baselines3 is installed")
class WithoutStableBaselines(Worlds):
    def test_the_error_names_the_extra(self):
        with self.assertRaisesRegex(ImportError, r"axion-server-client\[sb3\]"):
            import axion.gym.sb3  # noqa: F401

    def test_axion_train_says_so(self):
        from axion import tool

        said = io.StringIO()
        with contextlib.redirect_stderr(said), tempfile.TemporaryDirectory() as folder:
            self.assertEqual(tool.main(["train", TASK, "--library", "sb3", "--server", self.target, "--out", f"{folder}/new"]), 2)
            self.assertFalse(pathlib.Path(folder, "new").exists())
        self.assertRegex(said.getvalue(), r"library: .*axion-server-client\[sb3\]")


@unittest.skipUnless(HAS["stable_baselines3"], "Stable-Baselines3 is not installed")
class StableBaselines(Worlds):
    def vec(self, **choices):
        from axion.gym.sb3 import AxionVecEnv

        return AxionVecEnv(self.envs(**choices))

    def test_their_checker_finds_nothing(self):
        from stable_baselines3.common.env_checker import check_env

        for name in ("InvertedPendulum-v5", "Hopper-v5"):
            env = AxionEnv(name, client=self.client)
            self.addCleanup(env.close)
            check_env(env)

    def test_steps_are_those_of_the_environments(self):
        envs, plain = self.vec(), self.envs()
        envs.seed(1)
        np.testing.assert_array_equal(envs.reset(), plain.reset(seed=1)[0])
        lengths = []
        for push in self.pushes():
            observation, reward, done, infos = envs.step(push)
            theirs, their_reward, ended, cut, their_infos = plain.step(push)
            np.testing.assert_array_equal(observation, theirs)
            np.testing.assert_array_equal(reward, their_reward.astype(np.float32))
            np.testing.assert_array_equal(done, ended | cut)
            for world, info in enumerate(infos):
                self.assertEqual(info["reward_survive"], their_infos["reward_survive"][world])
                self.assertEqual(set(info) - {"reward_survive"}, {"terminal_observation", "TimeLimit.truncated", "episode", "ended_by"}
                                 if done[world] else set())
                if done[world]:
                    np.testing.assert_array_equal(info["terminal_observation"], their_infos["final_obs"][world])
                    self.assertEqual(info["TimeLimit.truncated"], bool(cut[world] and not ended[world]))
                    self.assertEqual(info["episode"]["r"], their_infos["episode_return"][world])
                    lengths.append(info["episode"]["l"])
        self.assertGreater(len(lengths), 3)
        self.assertLess(min(lengths), 6)
        self.assertEqual(max(lengths), 6)

    def test_their_algorithm_learns_and_evaluates(self):
        import stable_baselines3
        from stable_baselines3.common.evaluation import evaluate_policy

        envs = self.vec(worlds=8, max_episode_steps=100)
        model = stable_baselines3.PPO("MlpPolicy", envs, n_steps=64, batch_size=128, n_epochs=10, learning_rate=2e-3, seed=2, device="cpu")
        before, _ = evaluate_policy(model, envs, 16)
        model.learn(6_000)
        after, _ = evaluate_policy(model, envs, 16)
        self.assertGreater(after, before + 20)
        self.assertGreater(len(model.ep_info_buffer), 0)

    def test_axion_train_learns_by_it_and_keeps_a_policy_to_play(self):
        from axion.learning.policy import Policy
        from axion.learning.ppo import Choices
        from axion.learning.sb3 import Sb3Learner

        envs = self.envs(worlds=16, max_episode_steps=1000)
        choices = Choices(rollout_steps=64, minibatches=8, learning_rate=2e-3, hidden=(16, 16))
        learner, told = Sb3Learner(envs, 1, choices, {"task": TASK}), []
        learner.train(20_000, told.append)
        self.assertEqual([each.steps for each in told], list(range(1024, 20_481, 1024)))
        held = [each.episode_return for each in told if each.episode_return is not None]
        self.assertGreater(held[-1], 3 * held[0])
        self.assertGreater(told[-1].reward, told[0].reward)
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "policy.npz"
        learner.policy.save(path)
        kept = Policy.load(path)
        seen = np.random.default_rng(5).normal(0, 0.2, (9, 4))
        predicted, _ = learner.model.predict(learner.envs.normalize_obs(seen), deterministic=True)
        np.testing.assert_allclose(kept.act(seen), predicted, rtol=0, atol=1e-5)
        self.assertGreater(np.ptp(predicted), 0.1)
        np.testing.assert_allclose(np.exp(kept.log_deviation) * 3, learner.model.policy.log_std.detach().exp().numpy(), rtol=1e-5)
        self.assertEqual((kept.about["task"], kept.about["library"]), (TASK, "sb3"))

    def test_what_makes_no_sense_is_refused(self):
        from axion.gym.sb3 import AxionVecEnv

        with self.assertRaisesRegex(ValueError, "autoreset_mode"):
            AxionVecEnv(self.envs(autoreset_mode="NextStep"))
        envs = self.vec()
        with self.assertRaisesRegex(RuntimeError, "step_async"):
            envs.step_wait()
        with self.assertRaisesRegex(ValueError, "indices"):
            envs.set_attr("task", None, indices=[0])
        self.assertEqual(envs.get_attr("num_envs", [0, 1]), [3, 3])
        envs.set_options({"gravity": 0})
        with self.assertRaisesRegex(ValueError, "options"):
            envs.reset()


if __name__ == "__main__":
    unittest.main()
