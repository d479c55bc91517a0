"""Gymnasium's tasks as axiond computes them: term by term as Gymnasium's for the same states; see axiond_case.py."""

import unittest

import numpy as np

from gym_test import EXACT, random_states
from task_test import TaskCase

try:
    import gymnasium
    import mujoco

    import axion.gym
    from axion.gym import AxionVectorEnv, Mechanics, TaskVectorEnv
except ImportError:
    gymnasium = None

STATES = 1000
# Coordinates in which states lie wider, so that about a third of them end the episode.
WIDE = {"Walker2d-v5": (2, 1.2), "Humanoid-v5": (2, 0.7), "InvertedDoublePendulum-v5": (1, 1.5)}
# The server's bodies stand where the joints hold them, to the solver's tolerance; MuJoCo's where the tree puts them, to rounding.
PLACED_BY_JOINTS = {"Humanoid-v5": 1e-5, "InvertedDoublePendulum-v5": 1e-4, "Pusher-v5": 1e-5, "Reacher-v5": 1e-5}


@unittest.skipIf(gymnasium is None, "gymnasium or mujoco is not installed")
class GymnasiumTasks(TaskCase):
    def compare(self, name):
        """Steps of the server from random states, and what Gymnasium makes of the same states and contact forces."""
        theirs = gymnasium.make(name).unwrapped
        self.addCleanup(theirs.close)
        ours = TaskVectorEnv(name, STATES, client=self.client, autoreset_mode="Disabled", batch_choices=EXACT)
        self.addCleanup(ours.close)
        self.assertAlmostEqual(ours.dt, theirs.dt)
        self.assertEqual(ours.single_observation_space, theirs.observation_space)
        self.assertEqual(ours.single_action_space, theirs.action_space)
        robot, rng = Mechanics(self.client, ours.model), np.random.default_rng(7)
        qpos, qvel = random_states(theirs, rng, STATES)
        coordinate, width = WIDE.get(name, (0, 0.0))
        qpos[:, coordinate] += rng.uniform(-width, width, STATES)
        first = ours.batch.begin_episodes(joint_position=qpos, joint_velocity=robot.joint_velocity(qpos, qvel))
        # What a step begins at is the server's own state: its mechanisms are closed by the tree.
        before = ours.batch.get_state(Mechanics.FIELDS)
        actions = rng.uniform(theirs.action_space.low, theirs.action_space.high, (STATES, theirs.model.nu))
        answer = ours.batch.step_task(actions, outputs=Mechanics.FIELDS)
        state = robot.state(answer, actions, ours.batch.contacts(), ours.batch.dt)
        start = robot.state(before, actions)
        greatest = {}
        for world in range(STATES):
            mujoco.mj_resetData(theirs.model, theirs.data)
            theirs.set_state(start.qpos[world], start.qvel[world])
            errors = {"first observation": theirs._get_obs() - first[world]}
            if name == "InvertedDoublePendulum-v5":
                errors["first observation"][-1] = 0  # the force of the cart's ends, which the server does not tell
            if name == "Humanoid-v5":
                errors.pop("first observation")  # forces of actuators: MuJoCo's are those of a step that was not made

            def arrive(action, frames, world=world):
                theirs.data.ctrl[:] = action
                theirs.set_state(state.qpos[world], state.qvel[world])
                theirs.data.cfrc_ext[1:] = state.cfrc_ext[world]
            theirs.do_simulation = arrive
            observation, reward, terminated, _, info = theirs.step(actions[world])
            if name == "InvertedDoublePendulum-v5":
                observation[-1] = 0
            errors.update(observation=(observation - answer.observation[world]) / max(1, np.abs(observation).max()),
                          reward=reward - answer.reward[world])
            errors.update({term: info[term] - answer.terms[world, i] for i, term in enumerate(ours.info.reward_terms)})
            self.assertEqual(bool(terminated), bool(answer.terminated[world]))
            for what, error in errors.items():
                greatest[what] = max(greatest.get(what, 0), np.abs(error).max())
        task = axion.gym.GYMNASIUM_TASKS[name]()  # which has the very same bodies
        terms = task.rewards(robot, start, state, actions, ours.dt)
        observation = task.observe(robot, state)
        exact = {"of the same bodies: observation": (observation - answer.observation) / np.maximum(1, np.abs(observation)),
                 **{f"of the same bodies: {term}": (terms[term] - answer.terms[:, i]) / np.maximum(1, np.abs(terms[term]))
                    for i, term in enumerate(ours.info.reward_terms)}}
        for what, error in exact.items():
            self.assertLess(np.abs(error).max(), 1e-11, what)
        np.testing.assert_array_equal(task.terminated(robot, state), answer.terminated)
        print(name, f"{answer.terminated.mean():.0%} end,", ", ".join(f"{what} {error:.1e}" for what, error in greatest.items()))
        for what, error in greatest.items():
            self.assertLess(error, PLACED_BY_JOINTS.get(name, 1e-9), what)

    def test_starts_have_gymnasiums_distribution(self):
        for name in ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Pusher-v5", "Reacher-v5", "Swimmer-v5"):
            theirs = gymnasium.make(name).unwrapped
            drawn = []
            for seed in range(300):
                theirs.reset(seed=seed)
                drawn.append(np.concatenate([theirs.data.qpos, theirs.data.qvel]))
            ours = TaskVectorEnv(name, 300, client=self.client, batch_choices=EXACT)
            robot = Mechanics(self.client, ours.model)
            state = robot.state(ours.batch.get_state(Mechanics.FIELDS), np.zeros((300, theirs.model.nu)))
            made, drawn = np.concatenate([state.qpos, state.qvel], axis=1), np.array(drawn)
            for joint in np.flatnonzero(theirs.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):  # Gymnasium's are not normalised
                turn = slice(theirs.model.jnt_qposadr[joint] + 3, theirs.model.jnt_qposadr[joint] + 7)
                drawn[:, turn] /= np.linalg.norm(drawn[:, turn], axis=1, keepdims=True)
            spread = drawn.std(axis=0)
            np.testing.assert_allclose(made.std(axis=0), spread, atol=0.15 * spread.max(), err_msg=name)
            np.testing.assert_allclose(made.mean(axis=0), drawn.mean(axis=0), atol=0.3 * spread.max(), err_msg=name)
            ours.close()
            theirs.close()

    def test_make_vec_and_gymnasiums_statistics(self):
        envs = gymnasium.make_vec("axion-server/Hopper-v5", num_envs=3, target=self.target)
        self.addCleanup(envs.close)
        self.assertIsInstance(envs.unwrapped, TaskVectorEnv)
        self.assertTrue(envs.observation_space.contains(envs.reset(seed=1)[0]))
        counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs, stats_key="counted")
        counted.reset(seed=1)
        ends = 0
        for _ in range(80):
            *_, terminated, truncated, infos = counted.step(envs.action_space.sample())
            for world in np.flatnonzero(terminated | truncated):
                ends += 1
                self.assertEqual(infos["episode"]["l"][world], infos["counted"]["l"][world])
                self.assertAlmostEqual(infos["episode"]["r"][world], infos["counted"]["r"][world], places=9)
        self.assertGreater(ends, 3)

    def test_infos_of_ended_episodes_have_the_keys_of_gymnasiums_own_vector_environments(self):
        def infos_of(envs):
            self.addCleanup(envs.close)
            envs.reset(seed=1)
            for _ in range(2):
                answer = envs.step(np.full((3, 1), 0.1, dtype=np.float32))
            self.assertTrue(answer[3].all())
            self.assertIs(envs.metadata["autoreset_mode"], gymnasium.vector.AutoresetMode.SAME_STEP)
            return answer[4]
        choices = {"max_episode_steps": 2}
        theirs = infos_of(gymnasium.make_vec("InvertedPendulum-v5", 3, vectorization_mode="sync", **choices,
                                             vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}))
        finals = {name for name in theirs if "final" in name}
        self.assertEqual(finals, {"final_obs", "_final_obs", "final_info", "_final_info"})
        for kind in (TaskVectorEnv, AxionVectorEnv):
            infos = infos_of(kind("InvertedPendulum-v5", 3, client=self.client, autoreset_mode="SameStep", **choices))
            self.assertEqual({name for name in infos if "final" in name}, finals)
            self.assertLessEqual(set(theirs["final_info"]), set(infos["final_info"]))
            for name in ("final_obs", "_final_obs", "_final_info"):
                self.assertEqual((infos[name].dtype, infos[name].shape), (theirs[name].dtype, theirs[name].shape))
            for name, value in theirs["final_info"].items():  # a term of 1 is an integer there
                self.assertEqual(infos["final_info"][name].shape, value.shape)
            self.assertEqual(infos["final_obs"][0].shape, theirs["final_obs"][0].shape)

    def test_same_step_answers_the_last_observation_beside_the_first(self):
        next_step = TaskVectorEnv("InvertedPendulum-v5", 3, client=self.client, max_episode_steps=4)
        same_step = TaskVectorEnv("InvertedPendulum-v5", 3, client=self.client, max_episode_steps=4, autoreset_mode="SameStep")
        for envs in (next_step, same_step):
            self.addCleanup(envs.close)
            envs.reset(seed=5)
        push = np.full((3, 1), 0.1, dtype=np.float32)
        for _ in range(3):
            np.testing.assert_array_equal(next_step.step(push)[0], same_step.step(push)[0])
        last, one = next_step.step(push), same_step.step(push)
        self.assertTrue(last[3].all() and one[3].all())
        np.testing.assert_array_equal(np.stack(one[4]["final_obs"]), last[0])
        first, reward, *_ = next_step.step(push)  # in place of a step
        np.testing.assert_array_equal(one[0], first)
        np.testing.assert_array_equal(reward, 0)
        np.testing.assert_array_equal(next_step.step(push)[0], same_step.step(push)[0])

    def test_choices_of_a_task_are_those_of_the_one_in_numpy(self):
        choices = {"Hopper-v5": {"ctrl_cost_weight": 0.5, "forward_reward_weight": 2.0, "healthy_reward": 3.0, "frame_skip": 2,
                                 "healthy_angle_range": (-0.02, 0.02)},
                   "Ant-v5": {"contact_cost_weight": 0.1, "contact_force_range": (-2.0, 3.0), "healthy_z_range": (0.7, 1.0)},
                   "HalfCheetah-v5": {"reset_noise_scale": 0.0, "ctrl_cost_weight": 2.0},
                   "Reacher-v5": {"reward_dist_weight": 3.0, "max_episode_steps": 2},
                   "Humanoid-v5": {"terminate_when_unhealthy": False, "healthy_reward": 0.0}}
        for name, changes in choices.items():
            with self.subTest(name):
                envs = TaskVectorEnv(name, 16, client=self.client, autoreset_mode="Disabled", batch_choices=EXACT, **changes)
                self.addCleanup(envs.close)
                task, robot = axion.gym.GYMNASIUM_TASKS[name](**changes), Mechanics(self.client, envs.model)
                self.assertAlmostEqual(envs.dt, envs.batch.dt * task.frame_skip)
                envs.reset(seed=1)
                actions = envs.action_space.sample()
                before = robot.state(envs.batch.get_state(Mechanics.FIELDS), actions)
                if name == "HalfCheetah-v5":
                    self.assertEqual(before.qpos.std(axis=0).max(), 0)
                answer = envs.batch.step_task(actions, outputs=Mechanics.FIELDS)
                state = robot.state(answer, actions, envs.batch.contacts(), envs.batch.dt)
                terms = task.rewards(robot, before, state, actions, envs.dt)
                self.assertEqual(set(terms) - {"reward_survive"}, set(envs.info.reward_terms) - {"reward_survive"})
                for i, term in enumerate(envs.info.reward_terms):
                    np.testing.assert_allclose(answer.terms[:, i], terms[term], atol=1e-9, rtol=1e-6, err_msg=term)
                np.testing.assert_array_equal(answer.terminated, task.terminated(robot, state))
                self.assertEqual(envs.info.spec.max_episode_steps, task.max_episode_steps)

    def test_choices_that_make_no_sense_are_named(self):
        with self.assertRaisesRegex(TypeError, "foo"):
            TaskVectorEnv("Hopper-v5", 2, client=self.client, foo=1)
        with self.assertRaisesRegex(TypeError, "ctrl_cost_weight: are given to the ServerTask itself"):
            TaskVectorEnv(axion.gym.server_task("Hopper-v5"), 2, client=self.client, ctrl_cost_weight=1)
        with self.assertRaisesRegex(ValueError, "terminate_when_unhealthy: .*AxionVectorEnv has it"):
            TaskVectorEnv("Ant-v5", 2, client=self.client, terminate_when_unhealthy=False)

    def test_environments_whose_batch_is_gone_are_closed_all_the_same(self):
        for made in (TaskVectorEnv("Hopper-v5", 2, client=self.client), axion.gym.AxionVectorEnv("Hopper-v5", 2, client=self.client)):
            made.batch.delete()
            made.close()
            self.assertTrue(made.closed)

    def test_a_mask_begins_some_episodes(self):
        envs = TaskVectorEnv("HalfCheetah-v5", 3, client=self.client, autoreset_mode="Disabled", max_episode_steps=2)
        self.addCleanup(envs.close)
        envs.reset(seed=1)
        actions = np.zeros((3, 6), dtype=np.float32)
        envs.step(actions)
        moved, _, _, truncated, _ = envs.step(actions)
        self.assertTrue(truncated.all())
        with self.assertRaises(gymnasium.error.ResetNeeded):
            envs.step(actions)
        observations, _ = envs.reset(options={"reset_mask": np.array([True, False, True])})
        np.testing.assert_array_equal(observations[1], moved[1])
        self.assertTrue((observations[0] != moved[0]).any())


def add_comparisons():
    for name in (axion.gym.SERVER_TASKS if gymnasium else ()):
        def test(self, name=name):
            self.compare(name)
        setattr(GymnasiumTasks, f"test_{name.removesuffix('-v5')}_is_gymnasiums_term_by_term", test)


add_comparisons()


if __name__ == "__main__":
    unittest.main()
