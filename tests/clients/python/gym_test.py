"""axion.gym against axiond: Gymnasium's checkers, and its own environments term by term for the same states; see axiond_case.py."""

import types
import unittest
import warnings

import numpy as np

from axiond_case import AxiondCase

try:
    import gymnasium
    import mujoco
    from gymnasium.utils.env_checker import check_env

    import axion.gym
    from axion.gym import AxionVectorEnv
except ImportError:
    gymnasium = None

STATES = 1000
EXACT = {"precision": "float64"}


def random_states(env, rng, count):
    """Coordinates and velocities about the start, with unit quaternions."""
    qpos = env.init_qpos + rng.uniform(-0.3, 0.3, (count, env.model.nq))
    for joint in range(env.model.njnt):
        if env.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            start = env.model.jnt_qposadr[joint]
            qpos[:, start + 3:start + 7] /= np.linalg.norm(qpos[:, start + 3:start + 7], axis=1, keepdims=True)
    return qpos, rng.standard_normal((count, env.model.nv))


def contacts_of(env):
    """MuJoCo's contacts as the server would list them, impulses of 1 s; the file's geoms are the scene's shapes."""
    rows = []
    for index in range(env.data.ncon):
        contact, force = env.data.contact[index], np.zeros(6)
        mujoco.mj_contactForce(env.model, env.data, index, force)
        frame = contact.frame.reshape(3, 3)
        rows.append((contact.geom1, contact.geom2, contact.pos, -frame[0], force[0], -frame.T[:, 1:] @ force[1:3], -frame.T @ force[3:6]))
    a, b, point, normal, impulse, friction, moment = (np.array(column) for column in zip(*rows))
    return Listed(contact_count=np.array([len(rows)]), shape_a=a, shape_b=b, point=point, normal=normal, normal_impulse=impulse,
                  friction_impulse=friction, moment_impulse=moment)


class Listed(types.SimpleNamespace):
    def __len__(self):
        return len(self.shape_a)


@unittest.skipIf(gymnasium is None, "gymnasium or mujoco is not installed")
class GymnasiumTasks(AxiondCase):
    def envs(self, name, count, **choices):
        envs = AxionVectorEnv(name, count, client=self.client, **choices)
        self.addCleanup(envs.close)
        return envs

    def compare(self, name):
        """Observations, rewards and ends of `STATES` pairs of states, ours and Gymnasium's."""
        theirs = gymnasium.make(name).unwrapped
        self.addCleanup(theirs.close)
        ours = self.envs(name, STATES, batch_choices=EXACT)
        self.assertAlmostEqual(ours.dt, theirs.dt)
        self.assertEqual(ours.single_observation_space.shape, theirs.observation_space.shape)
        np.testing.assert_array_equal(ours.single_action_space.low, theirs.action_space.low)
        np.testing.assert_array_equal(ours.single_action_space.high, theirs.action_space.high)
        rng = np.random.default_rng(7)
        before, after = random_states(theirs, rng, STATES), random_states(theirs, rng, STATES)
        actions = rng.uniform(ours.single_action_space.low, ours.single_action_space.high, (STATES, theirs.model.nu))
        states = []
        for qpos, qvel in (before, after):
            ours.batch.reset(joint_position=qpos, joint_velocity=ours.robot.joint_velocity(qpos, qvel))
            ours._control = actions
            states.append(ours._read(None))
        observations = ours.task.observe(ours.robot, states[1])
        terms = ours.task.rewards(ours.robot, *states, actions, ours.dt)
        ended = ours.task.terminated(ours.robot, states[1])
        greatest = {}
        for world in range(STATES):
            mujoco.mj_resetData(theirs.model, theirs.data)
            theirs.set_state(before[0][world], before[1][world])

            def arrive(action, frames, world=world):
                theirs.data.ctrl[:] = action
                theirs.set_state(after[0][world], after[1][world])
            theirs.do_simulation = arrive
            observation, reward, terminated, _, info = theirs.step(actions[world])
            if name == "InvertedDoublePendulum-v5":
                observation[-1] = 0  # the force of the cart's ends, which the server's fields do not have
            errors = {"observation": np.abs(observation - observations[world]).max(),
                      "reward": abs(reward - sum(values[world] for values in terms.values()))}
            errors.update({term: abs(info[term] - values[world]) for term, values in terms.items()})
            self.assertEqual(bool(terminated), bool(ended[world]))
            for what, error in errors.items():
                greatest[what] = max(greatest.get(what, 0), error)
        print(name, ", ".join(f"{what} {error:.1e}" for what, error in greatest.items()))
        for what, error in greatest.items():
            self.assertLess(error, 1e-6, what)
        self.assertTrue(set(terms) <= set(info))

    def test_contact_forces_are_those_of_mujoco(self):
        theirs = gymnasium.make("Ant-v5").unwrapped
        self.addCleanup(theirs.close)
        theirs.reset(seed=1)
        for _ in range(40):
            theirs.step(np.zeros(8))
        self.assertGreater(theirs.data.ncon, 0)
        mujoco.mj_forward(theirs.model, theirs.data)
        mujoco.mj_rnePostConstraint(theirs.model, theirs.data)
        ours = self.envs("Ant-v5", 1, batch_choices=EXACT)
        qpos, qvel = theirs.data.qpos[None].copy(), theirs.data.qvel[None].copy()
        ours.batch.reset(joint_position=qpos, joint_velocity=ours.robot.joint_velocity(qpos, qvel))
        fields = ours.batch.get_state(axion.gym.Mechanics.FIELDS)
        state = ours.robot.state(fields, np.zeros((1, 8)), contacts_of(theirs))
        np.testing.assert_allclose(state.cfrc_ext[0], theirs.data.cfrc_ext[1:], atol=1e-6 * np.abs(theirs.data.cfrc_ext).max())

    def test_starts_have_gymnasiums_distribution(self):
        for name in axion.gym.GYMNASIUM_TASKS:
            theirs = gymnasium.make(name).unwrapped
            drawn = []
            for seed in range(300):
                theirs.reset(seed=seed)
                drawn.append(np.concatenate([theirs.data.qpos, theirs.data.qvel]))
            task, ours = axion.gym.GYMNASIUM_TASKS[name](), []
            for seed in range(300):
                ours.append(np.concatenate(task.start(np.random.default_rng(seed), theirs.init_qpos.copy(), theirs.init_qvel.copy())))
            spread = np.std(drawn, axis=0)
            np.testing.assert_allclose(np.std(ours, axis=0), spread, atol=0.15 * spread.max() + 1e-12, err_msg=name)
            np.testing.assert_allclose(np.mean(ours, axis=0), np.mean(drawn, axis=0), atol=0.3 * spread.max() + 1e-12, err_msg=name)
            theirs.close()

    def test_gymnasiums_checkers_pass(self):
        for name in axion.gym.GYMNASIUM_TASKS:
            env = gymnasium.make(f"axion/{name}", target=self.target)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", message=".*(infinity|-inf|symmetric and normalized).*")
                check_env(env.unwrapped, skip_render_check=True)
            env.close()

    def test_make_vec_makes_worlds_of_one_batch(self):
        envs = gymnasium.make_vec("axion/Hopper-v5", num_envs=3, target=self.target)
        self.addCleanup(envs.close)
        self.assertIsInstance(envs.unwrapped, AxionVectorEnv)
        self.assertEqual(envs.unwrapped.batch.world_count, 3)
        wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
        wrapped.reset(seed=1)
        for _ in range(60):
            *_, infos = wrapped.step(envs.action_space.sample())
        self.assertGreater(wrapped.episode_count, 0)

    def test_an_episode_depends_on_its_seed_alone(self):
        alone, among = self.envs("Walker2d-v5", 1), self.envs("Walker2d-v5", 5)
        rng = np.random.default_rng(3)
        first, _ = alone.reset(seed=13)
        all_first, _ = among.reset(seed=10)
        np.testing.assert_array_equal(first[0], all_first[3])
        for _ in range(80):  # over the ends of episodes, which the others have at other times
            actions = rng.uniform(-1, 1, (5, 6)).astype(np.float32)
            one, many = alone.step(actions[3:4]), among.step(actions)
            for mine, theirs in zip(one[:4], many[:4]):
                np.testing.assert_array_equal(mine[0], theirs[3])

    def test_next_step_starts_again_in_place_of_a_step(self):
        envs = self.envs("InvertedPendulum-v5", 2, max_episode_steps=3)
        envs.reset(seed=1)
        actions = np.zeros((2, 1), dtype=np.float32)
        truncations = [envs.step(actions) for _ in range(5)]
        self.assertEqual([list(answer[3]) for answer in truncations], [[False] * 2, [False] * 2, [True] * 2, [False] * 2, [False] * 2])
        self.assertEqual(truncations[3][1].tolist(), [0, 0])
        self.assertTrue((np.abs(truncations[3][0]) <= 0.01).all())

    def test_same_step_returns_the_last_observation_beside_the_first(self):
        envs = self.envs("InvertedPendulum-v5", 2, max_episode_steps=2, autoreset_mode="SameStep")
        envs.reset(seed=1)
        actions = np.full((2, 1), 3, dtype=np.float32)
        envs.step(actions)
        observations, rewards, _, truncated, infos = envs.step(actions)
        self.assertTrue(truncated.all() and infos["_final_obs"].all())
        self.assertTrue((rewards == 1).all())
        self.assertTrue((np.abs(observations) <= 0.01).all())
        self.assertGreater(abs(infos["final_obs"][0][2]), 0.1)

    def test_a_mask_starts_some_worlds(self):
        envs = self.envs("HalfCheetah-v5", 3, autoreset_mode="Disabled", max_episode_steps=2)
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

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, "task: 'Ant' is none of Ant-v5"):
            AxionVectorEnv("Ant", 2, client=self.client)
        with self.assertRaisesRegex(ValueError, "num_envs"):
            AxionVectorEnv("Ant-v5", 0, client=self.client)
        envs = self.envs("Hopper-v5", 2)
        envs.reset(seed=1)
        with self.assertRaisesRegex(ValueError, r"actions: have shape \[2, 2\]"):
            envs.step(np.zeros((2, 2), dtype=np.float32))
        with self.assertRaisesRegex(ValueError, "world 1"):
            envs.step(np.array([[0, 0, 0], [0, np.nan, 0]], dtype=np.float32))
        with self.assertRaisesRegex(ValueError, "seed: has 1 numbers"):
            envs.reset(seed=[1])


def add_comparisons():
    for name in (axion.gym.GYMNASIUM_TASKS if gymnasium else ()):
        def test(self, name=name):
            self.compare(name)
        setattr(GymnasiumTasks, f"test_{name.removesuffix('-v5')}_is_gymnasiums_term_by_term", test)


add_comparisons()

if __name__ == "__main__":
    unittest.main()
