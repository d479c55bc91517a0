"""Gymnasium's tasks as axiond computes them: term by term as Gymnasium's, and as an oracle's in NumPy, for the same states; see
axiond_case.py."""

import types
import unittest

import numpy as np

from axiond_case import AxiondCase

try:
    import gymnasium
    import mujoco

    import axion.gym
    from axion.gym import ServerTask, server_task
    from oracle_mechanics import Mechanics
    from oracle_tasks import oracle_task
except ImportError:
    gymnasium = None
    ServerTask = object

STATES = 1000
# Coordinates in which states lie wider, so that about a third of them end the episode.
WIDE = {"Walker2d-v5": (2, 1.2), "Humanoid-v5": (2, 0.7), "InvertedDoublePendulum-v5": (1, 1.5)}
# The server's bodies stand where the joints hold them, to the solver's tolerance; MuJoCo's where the tree puts them, to rounding.
PLACED_BY_JOINTS = {"Humanoid-v5": 1e-5, "InvertedDoublePendulum-v5": 1e-4, "Pusher-v5": 1e-5, "Reacher-v5": 1e-5}


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


class Persistent(ServerTask):
    """Hopper-v5 that goes on where it has fallen, and is paid for standing; as docs/tasks.md has it."""

    def rewards(self, before, after, action):
        height, angle = after[:, 0], after[:, 1]
        return {"reward_survive": ((height > 0.7) & (abs(angle) < 0.2)).astype(float)}


@unittest.skipIf(gymnasium is None, "gymnasium or mujoco is not installed")
class GymnasiumTasks(AxiondCase):
    def envs(self, name, count, **choices):
        """Worlds, which go on where an episode ends, and the oracle's view of them."""
        envs = axion.gym.make_vec(name, count, client=self.client, autoreset_mode="Disabled", batch_choices={"precision": "float64"},
                                  **choices)
        self.addCleanup(envs.close)
        return envs, Mechanics(self.client, envs.model)

    def compare(self, name):
        """Steps of the server from random states, and what Gymnasium makes of the same states and contact forces."""
        theirs = gymnasium.make(name).unwrapped
        self.addCleanup(theirs.close)
        ours, robot = self.envs(name, STATES)
        self.assertAlmostEqual(ours.dt, theirs.dt)
        self.assertEqual(ours.single_observation_space, theirs.observation_space)
        self.assertEqual(ours.single_action_space, theirs.action_space)
        rng = np.random.default_rng(7)
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
        task = oracle_task(name)  # which has the very same bodies
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
            ours, robot = self.envs(name, 300)
            state = robot.state(ours.batch.get_state(Mechanics.FIELDS), np.zeros((300, theirs.model.nu)))
            made, drawn = np.concatenate([state.qpos, state.qvel], axis=1), np.array(drawn)
            for joint in np.flatnonzero(theirs.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):  # Gymnasium's are not normalised
                turn = slice(theirs.model.jnt_qposadr[joint] + 3, theirs.model.jnt_qposadr[joint] + 7)
                drawn[:, turn] /= np.linalg.norm(drawn[:, turn], axis=1, keepdims=True)
            spread = drawn.std(axis=0)
            np.testing.assert_allclose(made.std(axis=0), spread, atol=0.15 * spread.max(), err_msg=name)
            np.testing.assert_allclose(made.mean(axis=0), drawn.mean(axis=0), atol=0.3 * spread.max(), err_msg=name)
            theirs.close()

    def test_contact_forces_are_those_of_mujoco(self):
        theirs = gymnasium.make("Ant-v5").unwrapped
        self.addCleanup(theirs.close)
        theirs.reset(seed=1)
        for _ in range(40):
            theirs.step(np.zeros(8))
        self.assertGreater(theirs.data.ncon, 0)
        mujoco.mj_forward(theirs.model, theirs.data)
        mujoco.mj_rnePostConstraint(theirs.model, theirs.data)
        ours, robot = self.envs("Ant-v5", 1)
        qpos, qvel = theirs.data.qpos[None].copy(), theirs.data.qvel[None].copy()
        ours.batch.begin_episodes(joint_position=qpos, joint_velocity=robot.joint_velocity(qpos, qvel))
        state = robot.state(ours.batch.get_state(Mechanics.FIELDS), np.zeros((1, 8)), contacts_of(theirs))
        np.testing.assert_allclose(state.cfrc_ext[0], theirs.data.cfrc_ext[1:], atol=1e-6 * np.abs(theirs.data.cfrc_ext).max())

    def test_a_second_group_of_observations_is_in_infos(self):
        hopper = server_task("Hopper-v5")
        spec = type(hopper.spec)()
        spec.CopyFrom(hopper.spec)
        spec.privileged_observation.add().quantity.field = "joint_position"
        for mode in ("NextStep", "SameStep"):
            envs = axion.gym.make_vec(ServerTask(hopper.model, spec), 8, client=self.client, autoreset_mode=mode, max_episode_steps=20,
                                      batch_choices={"precision": "float64"})
            self.addCleanup(envs.close)
            observation, infos = envs.reset(seed=1)
            for step in range(50):
                seen = infos["privileged_observation"]
                np.testing.assert_array_equal(seen[:, 1:], observation[:, :5])
                np.testing.assert_array_equal(seen, envs.batch.get_state("joint_position")["joint_position"])
                observation, *_, infos = envs.step(np.zeros((8, 3), np.float32))
                for world in np.flatnonzero(infos.get("_final_obs", [])):
                    np.testing.assert_array_equal(infos["final_info"]["privileged_observation"][world, 1:], infos["final_obs"][world][:5])
        one = axion.gym.AxionEnv(ServerTask(hopper.model, spec), client=self.client)
        self.addCleanup(one.close)
        self.assertEqual(one.reset(seed=1)[1]["privileged_observation"].shape, (6,))
        self.assertEqual(one.step(np.zeros(3, np.float32))[4]["privileged_observation"].shape, (6,))

    def test_choices_of_a_task_are_those_of_the_oracle(self):
        choices = {"Hopper-v5": {"ctrl_cost_weight": 0.5, "forward_reward_weight": 2.0, "healthy_reward": 3.0, "frame_skip": 2,
                                 "healthy_angle_range": (-0.02, 0.02)},
                   "Ant-v5": {"contact_cost_weight": 0.1, "contact_force_range": (-2.0, 3.0), "healthy_z_range": (0.7, 1.0)},
                   "HalfCheetah-v5": {"reset_noise_scale": 0.0, "ctrl_cost_weight": 2.0},
                   "Reacher-v5": {"reward_dist_weight": 3.0, "max_episode_steps": 2},
                   "Humanoid-v5": {"terminate_when_unhealthy": False, "healthy_reward": 0.0}}
        for name, changes in choices.items():
            with self.subTest(name):
                (envs, robot), task = self.envs(name, 16, **changes), oracle_task(name, **changes)
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

    def test_what_a_task_of_gymnasiums_weighs_beyond_its_ends_a_subclass_adds(self):
        plain = server_task("Hopper-v5", terminate_when_unhealthy=False, healthy_reward=0.0)
        (envs, robot), task = self.envs(Persistent(plain.model, plain.spec), 32), oracle_task("Hopper-v5", terminate_when_unhealthy=False)
        envs.reset(seed=1)
        after, rng, paid = robot.state(envs.batch.get_state(Mechanics.FIELDS), np.zeros((32, 3))), np.random.default_rng(2), []
        for _ in range(40):
            before, actions = after, rng.uniform(-1, 1, (32, 3))
            _, reward, terminated, _, infos = envs.step(actions)
            after = robot.state(envs.batch.get_state(Mechanics.FIELDS), actions)
            terms = task.rewards(robot, before, after, actions, envs.dt)
            for name, values in terms.items():
                np.testing.assert_allclose(infos[name], values, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(reward, sum(terms.values()), atol=1e-9)
            self.assertFalse(terminated.any())
            paid.append(infos["reward_survive"])
        self.assertTrue(0.1 < np.mean(paid) < 0.9, np.mean(paid))


def add_comparisons():
    for name in (axion.gym.SERVER_TASKS if gymnasium else ()):
        def test(self, name=name):
            self.compare(name)
        setattr(GymnasiumTasks, f"test_{name.removesuffix('-v5')}_is_gymnasiums_term_by_term", test)


add_comparisons()


if __name__ == "__main__":
    unittest.main()
