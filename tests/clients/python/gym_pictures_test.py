"""Environments that are drawn, and made by Gymnasium from their names; see axiond_case.py."""

import pathlib
import tempfile
import unittest
import warnings

import numpy as np

from axiond_case import AxiondCase

try:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    import axion.gym
    from axion.gym.pictures import followed_body
    from axion.viewing.raycast import Camera
except ImportError:
    gymnasium = None

SMALL = {"width": 64, "height": 48}


@unittest.skipIf(gymnasium is None, "gymnasium or the extra view is not installed")
class Pictures(AxiondCase):
    def envs(self, name, count, **choices):
        envs = gymnasium.make_vec(name, num_envs=count, target=self.target, **{**SMALL, **choices})
        self.addCleanup(envs.close)
        return envs

    def test_gymnasiums_checkers_look_at_pictures_too(self):
        for name in ("Hopper-v5", "Reacher-v5"):
            env = gymnasium.make(f"axion/{name}", target=self.target)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", message=".*(infinity|-inf|symmetric and normalized).*")
                check_env(env.unwrapped)  # makes one with each render_mode that metadata name, from the spec
            env.close()

    def test_every_world_has_a_picture_of_its_own(self):
        envs = self.envs("axion/HalfCheetah-v5", 3, render_mode="rgb_array")
        self.assertEqual(envs.metadata["render_modes"], ["rgb_array"])
        self.assertEqual(envs.metadata["render_fps"], 20)
        envs.reset(seed=1)
        before = envs.render()
        self.assertEqual([(picture.shape, picture.dtype) for picture in before], [((48, 64, 3), np.uint8)] * 3)
        actions = np.zeros((3, 6), np.float32)
        actions[1] = 1
        for _ in range(5):
            envs.step(actions)
        after = envs.render()
        self.assertTrue((after[1] != after[0]).any() and (after[1] != before[1]).any())

    def test_a_robot_that_goes_stays_in_the_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sled.xml"
            path.write_text("""<mujoco><option gravity="0 0 0"/><worldbody><body name="sled"><freejoint name="root"/>
              <geom type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>""")
            spec = {"observation": [{"quantity": {"field": "joint_position"}}], "action": {"frame_skip": 100},
                    "start": [{"of": "START_OF_VELOCITY", "count": 1, "lower": 50, "upper": 50}]}
            task = axion.gym.ServerTask(str(path), spec)
            seen = axion.gym.make_vec(task, 1, client=self.client, render_mode="rgb_array", **SMALL)
            left = axion.gym.make_vec(task, 1, client=self.client, render_mode="rgb_array", camera=Camera(), **SMALL)
        for envs in (seen, left):
            self.addCleanup(envs.close)
            envs.reset(seed=1)
            envs.render()
            for _ in range(10):
                observation, *_ = envs.step(np.zeros((1, 0), np.float32))
            self.assertGreater(observation[0, 0], 50)
        middle = (slice(16, 32), slice(22, 42))
        # The box is blue and grey beside the sky, whose red, green and blue are close to each other.
        colors = [envs.render()[0][middle].astype(int) for envs in (seen, left)]
        spread = [(color.max(-1) - color.min(-1)).max() for color in colors]
        self.assertGreater(spread[0], 2 * spread[1])

    def test_a_driven_or_held_robot_is_seen_from_one_place(self):
        followed = {}
        for name in axion.gym.SERVER_TASKS:
            model = self.client.create_model(path=axion.gym.server_task(name).model_path())
            followed[name.removesuffix("-v5")] = followed_body(model)
        self.assertEqual(followed, {"Ant": "torso", "HalfCheetah": "torso", "Hopper": "torso", "Humanoid": "torso", "Walker2d": "torso",
                                    "Swimmer": "torso", "InvertedDoublePendulum": None, "InvertedPendulum": None, "Pusher": None,
                                    "Reacher": None})

    def test_without_a_render_mode_there_is_a_warning_and_a_wrong_one_is_named(self):
        envs = self.envs("axion/Hopper-v5", 2)
        envs.reset(seed=1)
        with self.assertWarnsRegex(UserWarning, "render_mode='rgb_array'"):
            self.assertIsNone(envs.render())
        with self.assertRaisesRegex(ValueError, "render_mode: 'depth_array' is none of rgb_array"):
            self.envs("axion/Hopper-v5", 2, render_mode="depth_array")
        with self.assertRaisesRegex(ValueError, "width: 0 is not from 1"):
            self.envs("axion/Hopper-v5", 2, render_mode="rgb_array", width=0)
        with self.assertRaisesRegex(TypeError, "camera: wants Camera or None, not 3"):
            self.envs("axion/Hopper-v5", 2, render_mode="rgb_array", camera=3)
        self.assertEqual(len(self.client.list_batches()), 1)  # what was refused has left no worlds

    def test_specs_are_data(self):
        env = gymnasium.make("axion/Hopper-v5", target=self.target)
        self.addCleanup(env.close)
        spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
        again = gymnasium.make(spec)
        self.addCleanup(again.close)
        np.testing.assert_array_equal(env.reset(seed=3)[0], again.reset(seed=3)[0])


@unittest.skipIf(gymnasium is None, "gymnasium is not installed")
class OneWorld(AxiondCase):
    def env(self, **choices):
        env = axion.gym.AxionEnv("InvertedPendulum-v5", client=self.client, **choices)
        self.addCleanup(env.close)
        return env

    def test_first_episodes_are_of_the_seed_that_the_world_was_made_with_or_of_any(self):
        many = axion.gym.make_vec("InvertedPendulum-v5", 1, client=self.client, seed=5)
        self.addCleanup(many.close)
        one = self.env(seed=5)
        for _ in range(2):
            np.testing.assert_array_equal(one.reset()[0], many.reset()[0][0])
        first = []
        for _ in range(2):
            env = self.env()
            env.np_random.random()  # as a wrapper may
            first.append(env.reset()[0])
        self.assertTrue((first[0] != first[1]).any())

    def test_one_world_makes_the_episodes_of_many(self):
        many = axion.gym.make_vec("InvertedPendulum-v5", 3, client=self.client, autoreset_mode="Disabled")
        env = gymnasium.make("axion/InvertedPendulum-v5", client=self.client, max_episode_steps=200)
        self.addCleanup(many.close)
        self.addCleanup(env.close)
        first, _ = many.reset(seed=[4, 5, 6])
        np.testing.assert_array_equal(env.reset(seed=5)[0], first[1])
        push, ended = np.full((3, 1), 0.5, np.float32), False
        while not ended:
            observations, rewards, terminated, _, infos = many.step(push)
            observation, reward, ended, truncated, info = env.step(push[1])
            np.testing.assert_array_equal(observation, observations[1])
            self.assertEqual((reward, ended, truncated), (rewards[1], terminated[1], False))
            self.assertEqual(info["reward_survive"], infos["reward_survive"][1])
            many._ended[:] = False  # the others may fall earlier
        self.assertEqual(info["ended_by"], "angle")
        counted = gymnasium.wrappers.RecordEpisodeStatistics(env)
        counted.reset(seed=5)
        while not ended or "episode" not in info:
            *_, ended, _, info = counted.step(push[1])
        self.assertGreater(info["episode"]["l"], 2)


if __name__ == "__main__":
    unittest.main()
