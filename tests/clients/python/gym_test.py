"""axion.gym against axiond: Gymnasium's checkers, its infos and ways of beginning episodes, and tasks that the client adds to; see
axiond_case.py."""

import tempfile
import unittest
import warnings

import numpy as np

import axion
from axiond_case import AXIOND, AxiondCase, AxiondProcess

try:
    import gymnasium
    import mujoco  # noqa: F401  # which Gymnasium's own environments want
    from gymnasium.utils.env_checker import check_env
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    import axion.gym
    from axion.gym import AxionVectorEnv, ServerTask, server_task
except ImportError:
    gymnasium = None
    ServerTask = object

PENDULUM = "InvertedPendulum-v5"


@unittest.skipIf(gymnasium is None, "gymnasium or mujoco is not installed")
class Worlds(AxiondCase):
    def envs(self, task, count, **choices):
        envs = AxionVectorEnv(task, count, client=self.client, **choices)
        self.addCleanup(envs.close)
        return envs


class Environments(Worlds):
    def test_gymnasiums_checkers_pass(self):
        for name in axion.gym.SERVER_TASKS:
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
        self.assertEqual(envs.unwrapped.info.spec.max_episode_steps, envs.spec.max_episode_steps)
        self.assertTrue(envs.observation_space.contains(envs.reset(seed=1)[0]))

    def test_gymnasium_makes_one_world_with_any_limit_of_steps(self):
        for limit in (None, 60):  # Reacher-v5's own limit is 50 steps
            env = gymnasium.make("axion/Reacher-v5", client=self.client, **({} if limit is None else {"max_episode_steps": limit}))
            self.addCleanup(env.close)
            env.reset(seed=1)
            truncated = [env.step(env.action_space.sample())[3] for _ in range(limit or 50)]
            self.assertEqual(truncated, [False] * (len(truncated) - 1) + [True])

    def test_gymnasiums_statistics_are_those_of_the_server(self):
        for mode in ("NextStep", "SameStep"):
            envs = RecordEpisodeStatistics(self.envs("Hopper-v5", 3, autoreset_mode=mode))
            envs.reset(seed=1)
            rng, ends = np.random.default_rng(1), 0
            for _ in range(80):
                *_, terminated, truncated, infos = envs.step(rng.uniform(-1, 1, (3, 3)).astype(np.float32))
                over = terminated | truncated
                self.assertEqual("episode" in infos, over.any())
                if over.any():
                    np.testing.assert_array_equal(infos["_episode"], over)
                    np.testing.assert_array_equal(infos["_episode_return"], over)
                    np.testing.assert_array_equal(infos["episode"]["l"], infos["episode_length"])
                    np.testing.assert_allclose(infos["episode"]["r"], infos["episode_return"], atol=1e-9)
                ends += over.sum()
            self.assertEqual(envs.episode_count, ends)
            self.assertGreater(ends, 3)

    def test_infos_are_those_of_gymnasiums_own_vector_environments(self):
        """Of two worlds whose episodes are cut after four steps, each at times of its own."""
        for mode in gymnasium.vector.AutoresetMode:
            with self.subTest(mode):
                theirs = gymnasium.make_vec(PENDULUM, 2, vectorization_mode="sync", max_episode_steps=4,
                                            vector_kwargs={"autoreset_mode": mode})
                ours = self.envs(PENDULUM, 2, max_episode_steps=4, autoreset_mode=mode)
                self.addCleanup(theirs.close)
                self.assertIs(ours.metadata["autoreset_mode"], theirs.metadata["autoreset_mode"])
                seen = []
                for envs in (theirs, ours):
                    envs.reset(seed=1)
                    answers = [envs.step(np.full((2, 1), 0.01, np.float32)) for _ in range(2)]
                    envs.reset(options={"reset_mask": np.array([False, True])})
                    answers += [envs.step(np.full((2, 1), 0.01, np.float32)) for _ in range(2 if mode.value == "Disabled" else 5)]
                    seen.append(answers)
                for (*_, their_cut, their_infos), (*_, our_cut, our_infos) in zip(*seen):
                    np.testing.assert_array_equal(our_cut, their_cut)
                    self.assert_told(our_infos, their_infos)
                self.assertTrue(any(answer[3].any() for answer in seen[1]))

    def assert_told(self, ours, theirs):
        """What Gymnasium tells, of the worlds of which it does, ours tell too; besides, episodes' ends."""
        own = {"episode_return", "episode_length", "ended_by"}
        self.assertLessEqual({name for name in ours if "final" in name}, set(theirs))
        for name, mask in theirs.items():
            if not name.startswith("_"):
                continue
            name = name[1:]
            np.testing.assert_array_equal(ours[f"_{name}"], mask, err_msg=name)
            mine, other = ours[name], theirs[name]
            if isinstance(other, dict):
                self.assert_told(mine, other)
                continue
            self.assertEqual(mine.shape, other.shape)
            if name == "final_obs":
                self.assertEqual(mine.dtype, other.dtype)
                self.assertEqual(*([None if row is None else row.shape for row in rows] for rows in (mine, other)))
            elif name.startswith("reward"):
                np.testing.assert_array_equal(mine[mask], other[mask])
        for name in {name for name in ours if not name.startswith("_") and f"_{name}" not in theirs} - own:
            self.assertFalse(ours[f"_{name}"].any(), name)

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

    def test_same_step_answers_the_last_observation_beside_the_first(self):
        next_step, same_step = (self.envs(PENDULUM, 3, max_episode_steps=4, autoreset_mode=mode) for mode in ("NextStep", "SameStep"))
        for envs in (next_step, same_step):
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

    def test_environments_whose_batch_is_gone_are_closed_all_the_same(self):
        made = self.envs("Hopper-v5", 2)
        made.batch.delete()
        made.close()
        self.assertTrue(made.closed)

    def test_worlds_that_went_back_with_their_server_are_reset(self):
        with tempfile.TemporaryDirectory() as folder:
            server = self.enterContext(AxiondProcess(AXIOND, f"--state_dir={folder}"))
            envs, other = AxionVectorEnv(PENDULUM, 2, target=server.address), self.envs(PENDULUM, 2)
            action = np.full((2, 1), 0.1, np.float32)
            envs.reset(seed=1)
            for end in (AxiondProcess.stop, AxiondProcess.kill):  # after the first nothing is lost
                envs.step(action)
                end(server)
                server = self.enterContext(AxiondProcess(AXIOND, f"--state_dir={folder}", port=server.port))
            with self.assertRaisesRegex(axion.AbortedError, "gone back to a checkpoint"):
                envs.step(action)
            with self.assertRaises(gymnasium.error.ResetNeeded):
                envs.step(action)
            np.testing.assert_array_equal(envs.reset(seed=5)[0], other.reset(seed=5)[0])
            for mine, theirs in zip(envs.step(action)[:4], other.step(action)[:4]):
                np.testing.assert_array_equal(mine, theirs)
            envs.close()

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

    def test_worlds_that_were_not_reset_are_not_stepped(self):
        envs, action = self.envs(PENDULUM, 2), np.zeros((2, 1), np.float32)
        with self.assertRaisesRegex(gymnasium.error.ResetNeeded, "world 0 has not been reset; call reset before the first step"):
            envs.step(action)
        envs.reset(options={"reset_mask": np.array([True, False])})
        with self.assertRaisesRegex(gymnasium.error.ResetNeeded, "world 1 has not been reset"):
            envs.step(action)
        envs.reset(options={"reset_mask": np.array([False, True])})
        envs.step(action)

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
        with self.assertRaisesRegex(TypeError, "foo: is no choice of Hopper-v5, which has ctrl_cost_weight, .*, terminate_when_unhealthy"):
            self.envs("Hopper-v5", 2, foo=1)
        with self.assertRaisesRegex(TypeError, "ctrl_cost_weight: are given to the ServerTask itself"):
            self.envs(server_task("Hopper-v5"), 2, ctrl_cost_weight=1)
        with self.assertRaisesRegex(ValueError, "terminate_when_unhealthy: .*`rewards` has it"):
            self.envs("Ant-v5", 2, terminate_when_unhealthy=False)
        with self.assertRaisesRegex(FileNotFoundError, "no_ant.xml: is no file, and this version of gymnasium has no such model"):
            self.envs("Ant-v5", 2, model="no_ant.xml")

    def test_a_task_that_cannot_observe_leaves_no_worlds(self):
        class Wrong(ServerTask):
            def observe(self, seen):
                return seen[:, 99]
        plain, before = server_task(PENDULUM), len(self.client.list_batches())
        with self.assertRaises(IndexError):
            self.envs(Wrong(plain.model, plain.spec), 2)
        self.assertEqual(len(self.client.list_batches()), before)


class Pushed(ServerTask):
    """An InvertedPendulum-v5 that observes its angle alone, is paid for going right besides, and ends beyond 0.03 m."""

    def observe(self, seen):
        return seen[:, 1:2]

    def rewards(self, before, after, action):
        return {"right": (after[:, 0] - before[:, 0]).astype(np.float64), "effort": -0.25 * np.square(action[:, 0])}

    def terminated(self, after):
        return np.abs(after[:, 0]) > 0.03


class OwnTasks(Worlds):
    """The more the first worlds are pushed the sooner their own ends come, and another's; the last stands until it is cut."""

    ACTION = np.array([[3.0], [0.3], [0.1], [0.0]], np.float32)

    def pushed(self, mode):
        plain = server_task(PENDULUM, max_episode_steps=12)
        return self.envs(Pushed(plain.model, plain.spec), 4, autoreset_mode=mode, batch_choices={"precision": "float64"})

    def test_steps_are_those_of_the_task_and_what_it_adds(self):
        plain, pushed = self.envs(PENDULUM, 4, batch_choices={"precision": "float64"}), self.pushed("NextStep")
        self.assertEqual(pushed.single_observation_space.shape, (1,))
        seen, _ = plain.reset(seed=3)
        np.testing.assert_array_equal(pushed.reset(seed=3)[0], seen[:, 1:2])
        for _ in range(2):
            before = seen
            seen, reward, ended, _, _ = plain.step(self.ACTION)
            observed, pushed_reward, pushed_ended, _, infos = pushed.step(self.ACTION)
            right, effort = seen[:, 0] - before[:, 0], -0.25 * np.square(self.ACTION[:, 0])
            went = infos["_right"]
            np.testing.assert_array_equal(observed[went], seen[went, 1:2])
            np.testing.assert_allclose(pushed_reward[went], (reward + right + effort)[went], atol=1e-15)
            np.testing.assert_array_equal(infos["right"][went], right[went])
            np.testing.assert_array_equal(pushed_ended[went], (ended | (np.abs(seen[:, 0]) > 0.03))[went])
        self.assertEqual(went.tolist(), [True] * 4)

    def episodes(self, mode, by_hand=False):
        """Of each world its episodes that ended, a row each step: what was observed, the reward and how it ended; and names of the ends.
        By hand worlds are reset where they end."""
        envs, ended_by = self.pushed(mode), set()
        running, found, starting = [[] for _ in range(4)], [[] for _ in range(4)], np.zeros(4, bool)

        def begin(world):
            running[world] = [(observed[world, 0], 0.0, False, False)]
        observed, _ = envs.reset(seed=3)
        for world in range(4):
            begin(world)
        for _ in range(80):
            observed, reward, terminated, truncated, infos = envs.step(self.ACTION)
            over = terminated | truncated
            for world in np.flatnonzero(starting):
                self.assertEqual((reward[world], over[world]), (0, False))
                begin(world)
            for world in np.flatnonzero(~starting):
                last = infos["final_obs"][world] if mode == "SameStep" and over[world] else observed[world]
                running[world].append((last[0], reward[world], terminated[world], truncated[world]))
            if over.any():
                self.assertEqual(set(infos["ended_by"][~over]), {""} if not over.all() else set())
            if by_hand and over.any():
                observed, _ = envs.reset(options={"reset_mask": over})
            for world in np.flatnonzero(over):
                self.assertEqual(infos["episode_length"][world], len(running[world]) - 1)
                self.assertAlmostEqual(infos["episode_return"][world], sum(row[1] for row in running[world]), places=12)
                ended_by.add(infos["ended_by"][world])
                found[world].append(np.array(running[world], float))
                begin(world)
            starting = over & (mode == "NextStep") & (not by_hand)
        return found, ended_by

    def test_an_end_of_the_task_begins_an_episode_as_the_mode_says(self):
        first, ended_by = self.episodes("NextStep")
        self.assertLessEqual({"", "max_episode_steps"}, ended_by)
        lengths = [len(each[0]) for each in first]
        self.assertTrue(lengths[0] < lengths[1] < lengths[2] < lengths[3], lengths)
        for mode, by_hand in (("SameStep", False), ("Disabled", True), ("NextStep", True)):
            other, by = self.episodes(mode, by_hand)
            self.assertEqual(by, ended_by)
            for one, another in zip(first, other):
                self.assertGreater(min(len(one), len(another)), 3)
                for mine, theirs in zip(one, another):
                    np.testing.assert_array_equal(mine, theirs)

    def test_a_step_that_begins_an_episode_does_not_end_it(self):
        class Short(ServerTask):
            def terminated(self, after):
                return np.ones(len(after), bool)
        plain = server_task(PENDULUM)
        envs = self.envs(Short(plain.model, plain.spec), 2)
        envs.reset(seed=1)
        self.assertEqual([envs.step(np.zeros((2, 1), np.float32))[2].tolist() for _ in range(4)], [[True] * 2, [False] * 2] * 2)

    def test_an_end_of_the_task_at_the_limit_of_steps_terminates_too(self):
        class Late(ServerTask):
            def terminated(self, after):
                return np.array([True, False]) & (self.steps == 3)
        plain = server_task(PENDULUM, max_episode_steps=3)
        for mode in gymnasium.vector.AutoresetMode:
            task = Late(plain.model, plain.spec)
            envs = self.envs(task, 2, autoreset_mode=mode)
            envs.reset(seed=1)
            for task.steps in (1, 2, 3):
                *_, terminated, truncated, infos = envs.step(np.zeros((2, 1), np.float32))
            self.assertEqual((terminated.tolist(), truncated.tolist()), ([True, False], [True, True]))
            self.assertEqual(infos["ended_by"].tolist(), ["", "max_episode_steps"])

    def test_what_is_written_to_observations_changes_nothing(self):
        """By their callers, and by the task's own `observe`, of what rewards are of and of what masks leave."""
        class Going(ServerTask):
            def observe(self, seen):
                seen *= self.factor
                return seen

            def rewards(self, before, after, action):
                return {"gone": (after[:, 1] - before[:, 1]).astype(np.float64)}
        plain = server_task(PENDULUM, max_episode_steps=4)
        for mode in gymnasium.vector.AutoresetMode:
            found = []
            for factor in (1, 8):
                task = Going(plain.model, plain.spec)
                task.factor = factor
                envs = self.envs(task, 3, autoreset_mode=mode)
                observed, _ = envs.reset(seed=1)
                rows = []
                for step in range(4):
                    rows.append(observed / factor)
                    if factor > 1:
                        observed[:] = 99
                    observed, reward, *_ = envs.step(np.full((3, 1), 0.5, np.float32))
                    rows.append(reward)
                if factor > 1:
                    observed[:] = 99
                rows.append(envs.reset(options={"reset_mask": np.array([True, False, False])})[0] / factor)
                found.append(rows)
            for mine, theirs in zip(*found):
                np.testing.assert_array_equal(mine, theirs)

    def test_gymnasiums_statistics_count_what_the_task_adds(self):
        envs = RecordEpisodeStatistics(self.pushed("SameStep"))
        envs.reset(seed=3)
        for _ in range(60):
            *_, infos = envs.step(self.ACTION)
            if "episode" in infos:
                np.testing.assert_allclose(infos["episode"]["r"], infos["episode_return"], atol=1e-12)
        self.assertGreater(envs.episode_count, 6)

    def test_one_world_is_paid_and_ends_likewise(self):
        plain = server_task(PENDULUM)
        env = axion.gym.AxionEnv(Pushed(plain.model, plain.spec), client=self.client)
        self.addCleanup(env.close)
        env.reset(seed=3)
        ended = False
        while not ended:
            observed, reward, ended, _, info = env.step(self.ACTION[1])
            self.assertAlmostEqual(reward, info["reward_survive"] + info["right"] + info["effort"])
        self.assertEqual((observed.shape, info["ended_by"]), ((1,), ""))


if __name__ == "__main__":
    unittest.main()
