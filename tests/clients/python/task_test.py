"""Tasks that axiond computes: what a learner relies on; see axiond_case.py."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np

import axion
from axiond_case import AXIOND, AxiondCase, AxiondProcess

try:
    import gymnasium

    import axion.gym
    from oracle_mechanics import Mechanics, rotation_matrices
except ImportError:
    gymnasium = None

QUADRUPED = pathlib.Path(__file__).resolve().parents[3] / "clients" / "examples" / "models" / "quadruped.xml"
EXAMPLE = pathlib.Path(AXIOND).with_name("axion-example-task")
CART = """<mujoco><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom type="sphere" size="0.1" mass="1"/>
  <body name="pole" pos="0 0 0.1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.05" mass="1"/></body>
  </body></worldbody><actuator><motor name="push" joint="rail" ctrllimited="true" ctrlrange="-2 2"/></actuator></mujoco>"""

# What worlds carry besides: pushes that are to come, numbers that were drawn, what is observed late, levels.
CARRIED = {"push": [{"bodies": ["*"], "least_steps": 2, "most_steps": 6, "steps": 2, "upper": 3}],
           "privileged_observation": [{"quantity": {"field": "joint_velocity"}, "most_delay": 3}, {"quantity": {"curriculum": "reach"}}],
           "curriculum": [{"name": "reach", "command": "goal", "first_lower": [-0.2], "first_upper": [0.2], "levels": 4,
                           "reward_term": "near", "promote_above": 0.3, "demote_below": 0.1, "most_first_level": 1}]}
DRAWN = {"draw": [{"name": "mass", "parameter": "body_mass", "operation": "DRAW_OPERATION_SCALE", "lower": 0.5, "upper": 2}]}


def cart_task(**changes):
    """Observes all, with history and noise; ends where the pole leans."""
    return {"observation": [{"quantity": {"field": "joint_position"}, "history": 3},
                            {"quantity": {"field": "joint_velocity"}, "noise": 0.1, "noise_distribution": "DISTRIBUTION_NORMAL"},
                            {"quantity": {"command": "goal"}}, {"quantity": {"field": "control"}}],
            "reward": [{"name": "near", "weight": 2, "measure": "MEASURE_TRACKING", "tracking_width": 0.5,
                        "quantity": {"field": "joint_position", "count": 1}, "target": {"command": "goal"}},
                       {"name": "speed", "weight": 1, "measure": "MEASURE_RATE", "quantity": {"field": "joint_position", "count": 1}},
                       {"name": "alive", "weight": 1, "measure": "MEASURE_ALIVE"}],
            "termination": [{"name": "leans", "quantity": {"field": "joint_position", "start": 1}, "lower": -0.4, "upper": 0.4}],
            "max_episode_steps": "25", "action": {"frame_skip": 4, "delay": 2},
            "start": [{"of": "START_OF_POSITION", "lower": -0.1, "upper": 0.1},
                      {"of": "START_OF_VELOCITY", "distribution": "DISTRIBUTION_NORMAL", "deviation": 0.3}],
            "command": [{"name": "goal", "lower": [-1], "upper": [1], "least_steps": 3, "most_steps": 9}], **changes}


class TaskCase(AxiondCase):
    def batch(self, worlds, task=None, **choices):
        model = self.client.create_model(mjcf=CART)
        return self.enterContext(self.client.create_batch(model, worlds, 0.005, task=cart_task() if task is None else task, **choices))

    def quadrupeds(self, worlds, **choices):
        task = axion.gym.ServerTask(str(QUADRUPED), axion.gym.command_task("trunk", keyframe="stand", least_height=0.15,
                                                                         max_episode_steps=40))
        envs = axion.gym.make_vec(task, worlds, client=self.client, **choices)
        self.addCleanup(envs.close)
        return envs

    def assertSame(self, one, other, rows=slice(None), others=slice(None)):
        for name in ("observation", "reward", "terms", "terminated", "truncated", "ended_by", "episode_return", "episode_length",
                     "episode"):
            np.testing.assert_array_equal(getattr(one, name)[rows], getattr(other, name)[others], err_msg=name)


@unittest.skipUnless(EXAMPLE.exists(), "axion-example-task was not built")
class FromCpp(TaskCase):
    def test_the_cpp_client_makes_the_same_episodes(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "cart.xml").write_text(CART)
            (folder / "task.json").write_text(json.dumps(cart_task(**CARRIED, **DRAWN)))
            (folder / "wrong.json").write_text(json.dumps(cart_task(rewards=[])))
            told = subprocess.run([EXAMPLE, folder / "cart.xml", folder / "task.json", self.target, "60"], capture_output=True, text=True)
            wrong = subprocess.run([EXAMPLE, folder / "cart.xml", folder / "wrong.json", self.target], capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("rewards", wrong.stderr)
        batch = self.enterContext(self.client.create_batch(self.client.create_model(mjcf=CART), 8, task=cart_task(**CARRIED, **DRAWN)))
        batch.begin_episodes(seeds=np.arange(1, 9))
        total, ended = 0.0, 0
        for step in range(60):
            answer = batch.step_task((0.5 * ((step + np.arange(8)) % 3) - 0.5)[:, None])
            for reward in answer.reward:
                total += reward
            ended += np.count_nonzero(answer.terminated | answer.truncated)
        self.assertGreater(ended, 8)
        self.assertEqual(told.stdout, f"observation 10, action 1, steps 60, reward {total:.17g}, episodes ended {ended}\n")


class Episodes(TaskCase):
    def test_an_episode_depends_on_its_seed_alone(self):
        seeds = np.arange(40, 45)
        alone, among = self.batch(1), self.batch(5, seed=9)
        one, all_of = alone.begin_episodes(seeds=seeds[3:4]), among.begin_episodes(seeds=seeds)
        np.testing.assert_array_equal(one[0], all_of[3])
        self.assertFalse((all_of[0] == all_of[3]).all())
        rng, episodes = np.random.default_rng(1), set()
        for step in range(90):  # over ends of episodes, which the others have at other times
            actions = rng.uniform(-2, 2, (5, 1))
            if step % 7 == 3:  # and now and then the world is stepped before the others
                rest = among.step_task(actions[[3]], worlds=[3])
                among.step_task(actions[[0, 1, 2, 4]], worlds=[0, 1, 2, 4])
                mine = alone.step_task(actions[[3]])
                self.assertSame(mine, rest)
            else:
                mine = alone.step_task(actions[[3]])
                self.assertSame(mine, among.step_task(actions), [0], [3])
            episodes.add(int(mine.episode[0]))
        self.assertGreater(len(episodes), 3)

    def test_a_world_goes_on_from_its_snapshot_with_the_same_bits(self):
        rng = np.random.default_rng(2)
        one, other = self.batch(3, seed=4), self.batch(2, seed=77)
        for _ in range(33):
            one.step_task(rng.uniform(-2, 2, (3, 1)))
        other.set_state(snapshot=one.get_state("snapshot")["snapshot"][[2, 0]])
        content = one.save_snapshot(return_content=True, skip_store=True).content
        restored = self.enterContext(self.client.restore_snapshot(content))
        self.assertEqual(restored.proto.task, one.proto.task)
        for _ in range(60):
            actions = rng.uniform(-2, 2, (3, 1))
            want = one.step_task(actions)
            self.assertSame(want, restored.step_task(actions))
            self.assertSame(want, other.step_task(actions[[2, 0]]), [2, 0])

    def test_episodes_go_on_after_a_restart_of_the_server(self):
        with tempfile.TemporaryDirectory() as state:
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            actions, answers = np.random.default_rng(5).uniform(-2, 2, (70, 3, 1)), []
            with axion.Client(server.address) as client:
                batch = client.create_batch(client.create_model(mjcf=CART), 3, 0.005, task=cart_task(), seed=11)
                name, info = batch.name, batch.proto.task
                for action in actions[:30]:
                    batch.step_task(action)
            self.assertEqual(server.stop(), 0)
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                batch = client.get_batch(name)
                self.assertEqual(batch.proto.task, info)
                answers = [batch.step_task(action) for action in actions[30:]]
            self.assertEqual(server.stop(), 0)
        whole = self.batch(3, seed=11)
        for action in actions[:30]:
            whole.step_task(action)
        for action, answer in zip(actions[30:], answers):
            self.assertSame(whole.step_task(action), answer)

    def test_a_snapshot_of_another_task_is_refused_and_changes_nothing(self):
        one, other = self.batch(1), self.batch(1, cart_task(action={"frame_skip": 4}))
        before = other.get_state("snapshot")["snapshot"][0]
        with self.assertRaisesRegex(axion.InvalidArgumentError, r"state.snapshot\[0\]: .*another task"):
            other.set_state(snapshot=one.get_state("snapshot")["snapshot"][0])
        damaged = bytearray(before)
        damaged[-30] ^= 1
        with self.assertRaisesRegex(axion.InvalidArgumentError, r"state.snapshot\[0\]: .*damaged"):
            other.set_state(snapshot=bytes(damaged))
        self.assertEqual(other.get_state("snapshot")["snapshot"][0], before)

    def test_snapshots_of_tasks_without_newer_parts_have_the_form_that_they_always_had(self):
        batch = self.batch(1)
        batch.begin_episodes(seeds=[5])
        answer = batch.step_task([[0.5]])
        snapshot = bytes(batch.get_state("snapshot")["snapshot"][0])
        self.assertEqual(snapshot[-8:], b"AXIONTSK")
        length = int.from_bytes(snapshot[-12:-8], "little")
        episode, mark = snapshot[-20 - length:-20], 1469598103934665603
        for part in (10, 1, 2, 1, 1, 1):  # observation, actions, delay, numbers of commands, numbers before a step, commands
            mark = (mark ^ part) * 1099511628211 % 2 ** 64
        version, found, seed, number, steps, total, ended, *rest = struct.unpack(f"<IQQqqdB2q{10 + 4 + 1 + 1}d", episode)
        self.assertEqual((version, found, seed, number, steps, ended), (1, mark, 5, 0, 1, 0))
        self.assertEqual(total, answer.reward[0])
        np.testing.assert_array_equal(np.array(rest[2:12], answer.observation.dtype), answer.observation[0])

    def test_a_refused_start_leaves_the_episodes(self):
        model = self.client.create_model(path=QUADRUPED)
        task = {"observation": [{"quantity": {"field": "joint_position"}}], "keyframe": "stand"}
        batch = self.enterContext(self.client.create_batch(model, 2, task=task))
        control = model.hold_control("stand")
        batch.step_task(np.tile(control, (2, 1)))
        before = list(batch.get_state("snapshot")["snapshot"])
        position = np.array(batch.get_state("joint_position")["joint_position"])
        position[1, 3:7] = 0
        with self.assertRaises(axion.InvalidArgumentError):
            batch.begin_episodes(joint_position=position)
        self.assertEqual(list(batch.get_state("snapshot")["snapshot"]), before)

    def test_a_repeated_request_steps_nothing(self):
        batch = self.batch(2)
        first = batch.step_task([[1.0], [0.5]], request_id="once")
        again = batch.step_task([[1.0], [0.5]], request_id="once")
        self.assertSame(first, again)
        self.assertEqual(batch.get_state("step_index").step_index.tolist(), [4, 4])

    def test_delay_history_and_rates_are_what_they_say(self):
        spec = cart_task(observation=[{"quantity": {"field": "joint_position"}, "history": 3}, {"quantity": {"field": "control"}}])
        batch = self.batch(1, spec, precision="float64")
        observed = [batch.begin_episodes(seeds=[3])[0]]
        np.testing.assert_array_equal(observed[0][:6], np.tile(observed[0][4:6], 3))
        given = [0.5, -1.0, 1.5, 1.0, 2.0]
        for action in given:
            answer = batch.step_task([[action]], outputs=["joint_position"])
            observed.append(answer.observation[0])
            places = [row[4:6] for row in ([observed[0]] * 2 + observed)[-3:]]
            np.testing.assert_array_equal(observed[-1][:6], np.concatenate(places))
            np.testing.assert_array_equal(observed[-1][4:6], answer["joint_position"][0])
            self.assertAlmostEqual(answer.terms[0, 1], (observed[-1][4] - observed[-2][4]) / (4 * 0.005), places=9)
        np.testing.assert_array_equal([row[-1] for row in observed[1:]], [0, 0, *given[:3]])

    def test_a_state_that_was_set_counts_for_the_next_rate(self):
        batch = self.batch(1, precision="float64")
        batch.begin_episodes(seeds=[1])
        batch.step_task([[0.0]])
        batch.set_state(joint_position=[[5.0, 0.0]], joint_velocity=[[0.0, 0.0]])
        self.assertLess(abs(batch.step_task([[0.0]]).terms[0, 1]), 1.0)

    def test_starts_are_drawn_again_until_they_lie_within_and_without_circles(self):
        ring = {"replaces": True, "lower": -1, "upper": 1, "scale": [0.3, 0.4], "offset": [-0.3, 0.0]}
        for bounds, least, most in (({"longer_than": 0.2, "shorter_than": 0.45}, 0.2, 0.45), ({"longer_than": 0.5}, 0.5, 0.7212),
                                    ({"shorter_than": 0.3}, 0, 0.3), ({}, 0, 0.7212)):
            with self.subTest(bounds):
                batch = self.batch(500, cart_task(start=[{**ring, **bounds}], termination=[]), precision="float64")
                batch.begin_episodes(seeds=range(500))
                place = batch.get_state("joint_position")["joint_position"]
                length = np.hypot(place[:, 0], place[:, 1])
                self.assertTrue(((length > least) & (length < most)).all())
                self.assertTrue((place[:, 0] <= 0).all() and (place[:, 1] > 0).any() and (place[:, 1] < 0).any())
                self.assertGreater(length.std(), 0.01)
                again = self.batch(1, cart_task(start=[{**ring, **bounds}], termination=[]), precision="float64")
                again.begin_episodes(seeds=[123])
                np.testing.assert_array_equal(again.get_state("joint_position")["joint_position"][0], place[123])

    def test_commands_change_within_an_episode(self):
        batch = self.batch(8, cart_task(termination=[], max_episode_steps="60"))
        batch.begin_episodes(seeds=range(8))
        goals = np.array([batch.step_task(np.zeros((8, 1))).observation[:, 8] for _ in range(60)])
        self.assertTrue((np.abs(goals) <= 1).all())
        for world in range(8):
            changes = np.flatnonzero(np.diff(goals[:, world])) + 1
            self.assertGreater(len(changes), 4)
            self.assertTrue(((np.diff(changes) >= 3) & (np.diff(changes) <= 9)).all())

    def test_a_world_that_fails_ends_alone(self):
        batch, other = self.batch(3, seed=6), self.batch(3, seed=6)
        wrench = np.zeros((3, 2, 6))
        wrench[1, 0, 0] = 1e38
        answer, want = batch.step_task(np.zeros((3, 1)), body_wrench=wrench), other.step_task(np.zeros((3, 1)))
        self.assertSame(answer, want, [0, 2], [0, 2])
        self.assertTrue(answer.terminated[1])
        self.assertIn(batch.proto.task.end_names[answer.ended_by[1]], ("non_finite", "leans"))
        for _ in range(4):
            self.assertSame(batch.step_task(np.zeros((3, 1))), other.step_task(np.zeros((3, 1))), [0, 2], [0, 2])
        self.assertTrue(np.isfinite(batch.step_task(np.zeros((3, 1))).observation).all())

    def test_mistakes_are_named(self):
        quantity = {"field": "joint_position"}
        cases = [
            ({"observation": []}, "task.observation: is empty"),
            ({"observation": [{"quantity": {"robot": "ROBOT_QUANTITY_BODY_INERTIAS"}, "history": 1000}] * 5}, r"task.observation\[3\]"),
            ({"observation": [{"quantity": {"field": "pose"}}]}, r"task.observation\[0\].quantity.field: .*pose"),
            ({"observation": [{"quantity": {"body": "torsso"}}]},
             r'task.observation\[0\].quantity.body: unknown body "torsso", the model has cart, pole'),
            ({"observation": [{"quantity": {"sensor": "imu"}}]}, r'task.observation\[0\].quantity.sensor: unknown sensor "imu"'),
            ({"observation": [{}]}, r"task.observation\[0\].quantity: has none of"),
            ({"observation": [{"quantity": {**quantity, "start": 3}}]}, r"task.observation\[0\].quantity.start: is 3"),
            ({"observation": [{"quantity": {**quantity, "count": 9}}]}, r"task.observation\[0\].quantity.count: is 9"),
            ({"observation": [{"quantity": {**quantity, "scale": [1, 2, 3]}}]}, r"task.observation\[0\].quantity.scale: has 3"),
            ({"observation": [{"quantity": quantity, "noise": -1}]}, r"task.observation\[0\].noise: is -1"),
            ({"observation": [{"quantity": quantity, "history": 100000}]}, r"task.observation\[0\].history"),
            ({"reward": [{"weight": 1, "quantity": quantity}]}, r"task.reward\[0\].name: is empty"),
            ({"reward": [{"name": "a", "measure": 10, "quantity": quantity}]}, r"task.reward\[0\].measure: is 10"),
            ({"reward": [{"name": "a", "measure": "MEASURE_TRACKING", "quantity": quantity}]}, r"task.reward\[0\].tracking_width: is 0"),
            ({"reward": [{"name": "a", "quantity": quantity, "target": {**quantity, "count": 1}}]}, r"task.reward\[0\].target: has 1"),
            ({"reward": [{"name": "a", "quantity": {"command": "aim"}}]}, r'unknown command "aim", the task has goal'),
            ({"termination": [{"name": "a", "quantity": quantity}]}, r"task.termination\[0\].lower: and upper are absent"),
            ({"termination": [{"name": "a", "condition": "CONDITION_CONTACT", "bodies": ["cart", "wheel"]}]},
             r'task.termination\[0\].bodies\[1\]: unknown body "wheel"'),
            ({"truncation": [{"name": "leans", "quantity": quantity, "lower": 0}]}, None),
            ({"action": {"actuators": ["pull"]}}, r'task.action.actuators\[0\]: unknown actuator "pull", the model has push'),
            ({"action": {"frame_skip": -1}}, "task.action.frame_skip: is -1"),
            ({"action": {"lower": [1], "upper": [1]}}, r"task.action.lower\[0\]"),
            ({"keyframe": "stand"}, 'task.keyframe: unknown keyframe "stand", the model has none'),
            ({"start": [{"joint": "knee"}]}, r'task.start\[0\].joint: unknown joint "knee", the model has rail, hinge'),
            ({"start": [{"of": "START_OF_ROTATION"}]}, r"task.start\[0\].joint: .*no free joint"),
            ({"start": [{"lower": 1, "upper": 0}]}, r"task.start\[0\].upper: is 0"),
            ({"start": [{"scale": [1, 2, 3]}]}, r"task.start\[0\].scale: has 3 numbers; there must be none, one, or 2"),
            ({"start": [{"offset": ["NaN"]}]}, r"task.start\[0\].offset\[0\]: is nan"),
            ({"start": [{"lower": -1, "upper": 1, "longer_than": -0.1}]}, r"task.start\[0\].longer_than: is -0.1"),
            ({"start": [{"lower": -1, "upper": 1, "longer_than": 0.5, "shorter_than": 0.5}]},
             r"task.start\[0\].shorter_than: is 0.5; it must be above 0.5"),
            ({"start": [{"lower": -3, "upper": 4, "longer_than": 6}]},
             r"task.start\[0\].longer_than: is 6, but what is drawn are numbers from 0 to 5.65685425 long"),
            ({"start": [{"lower": 3, "upper": 4, "shorter_than": 4}]}, r"task.start\[0\].shorter_than: is 4, but .* from 4.24264069"),
            ({"command": [{"name": "goal", "lower": [0], "upper": [1, 2]}]}, r"task.command\[0\].upper"),
            ({"command": [{"name": "goal", "lower": [0], "upper": [1], "most_steps": 5}]}, r"task.command\[0\].most_steps"),
            ({"max_episode_steps": "-1"}, "task.max_episode_steps: is -1")]
        for changes, text in cases:
            with self.subTest(str(changes)):
                if text is None:
                    with self.assertRaisesRegex(axion.InvalidArgumentError, r"task.truncation\[0\].name: .*again"):
                        self.batch(1, cart_task(**changes))
                    continue
                with self.assertRaisesRegex(axion.InvalidArgumentError, text):
                    self.batch(1, cart_task(**changes))
        self.assertEqual(self.client.list_batches(), [])
        with self.assertRaisesRegex(ValueError, "task: .*observations"):
            self.batch(1, {"observations": []})
        batch = self.batch(2)
        for call, text in ((lambda: batch.step_task([[0.0]]), r"action.shape: is \[1, 1\]; it must be \[2, 1\]"),
                           (lambda: batch.step_task([[0.0], [np.nan]]), r"action: the value at \[1, 0\] is nan"),
                           (lambda: batch.reset(keyframe="stand"), "keyframe"),
                           (lambda: batch.begin_episodes(seeds=[1]), "seeds: has 1")):
            with self.assertRaisesRegex(axion.InvalidArgumentError, text):
                call()
        plain = self.enterContext(self.client.create_batch(batch.model, 2))
        with self.assertRaisesRegex(axion.InvalidArgumentError, "action: is given, but the batch has no task"):
            plain.step_task([[0.0], [0.0]])


@unittest.skipIf(gymnasium is None, "gymnasium is not installed")
class Quadruped(TaskCase):
    def test_quantities_of_a_body_are_those_of_the_fields(self):
        def of(kind, **more):
            return {"quantity": {"body": "fl_thigh", "body_quantity": f"BODY_QUANTITY_{kind}", **more}}
        point, force = {"point": {"x": 0.1, "z": -0.2}}, {"body": "fl_shank", "body_quantity": "BODY_QUANTITY_CONTACT_FORCE"}
        task = {"observation": [of("POSITION"), of("POSITION", **point), of("ORIENTATION"), of("GRAVITY"), of("VELOCITY", **point),
                                of("VELOCITY", in_body_axes=True), of("ANGULAR_VELOCITY"), of("POSITION", relative_to="trunk"),
                                {"quantity": {"robot": "ROBOT_QUANTITY_CENTER_OF_MASS"}}, {"quantity": force}],
                "keyframe": "stand", "action": {"offset_keyframe": "stand", "frame_skip": 3},
                "start": [{"of": "START_OF_ROTATION", "axis": {"x": 1, "y": 1}, "lower": -0.5, "upper": 0.5},
                          {"of": "START_OF_VELOCITY", "lower": -2, "upper": 2}]}
        model = self.client.create_model(path=QUADRUPED)
        batch = self.enterContext(self.client.create_batch(model, 50, task=task, precision="float64"))
        for _ in range(40):
            answer = batch.step_task(np.zeros((50, 12)), outputs=Mechanics.FIELDS)
        contacts = batch.contacts()
        robot = Mechanics(self.client, model)
        state, body, trunk = robot.state(answer, np.zeros((50, 12)), contacts, batch.dt), robot.body("fl_thigh"), robot.body("trunk")
        R, p = state.xmat[:, body], state.xpos[:, body]
        there = p + R @ np.array([0.1, 0.0, -0.2])
        omega = state.cvel[:, body, :3]

        def velocity(at):
            return state.cvel[:, body, 3:] + np.cross(omega, at - state.center_of_mass)
        got = np.split(answer.observation, np.cumsum([3, 3, 4, 3, 3, 3, 3, 3, 3]), axis=1)
        want = [p, there, None, -R[:, 2], velocity(there), np.einsum("nji,nj->ni", R, velocity(p)), omega, p - state.xpos[:, trunk],
                state.center_of_mass, state.cfrc_ext[:, robot.body("fl_shank"), 3:]]
        for mine, theirs in zip(got, want):
            if theirs is not None:
                np.testing.assert_allclose(mine, theirs, atol=1e-9 * max(1, np.abs(theirs).max()))
        np.testing.assert_allclose(rotation_matrices(got[2]), R, atol=1e-12)
        self.assertTrue((got[2][:, 0] >= 0).all())
        self.assertGreater((np.abs(got[9]) > 1).any(axis=1).sum(), 5)  # some stand on it

    def test_touching_with_a_named_body_ends_the_episode(self):
        spec = {"observation": [{"quantity": {"field": "joint_position"}}], "keyframe": "stand",
                "action": {"frame_skip": 10, "offset": [0.0]},
                "termination": [{"name": "fell", "condition": "CONDITION_CONTACT", "bodies": ["trunk"]}],
                "start": [{"of": "START_OF_ROTATION", "axis": {"x": 1}, "lower": 3.1, "upper": 3.1}]}
        model = self.client.create_model(path=QUADRUPED)
        batch = self.enterContext(self.client.create_batch(model, 2, task=spec))
        for _ in range(40):
            answer = batch.step_task(np.zeros((2, 12)))
            if answer.terminated.any():
                break
        self.assertEqual([batch.proto.task.end_names[by] for by in answer.ended_by], ["fell"] * 2)
        self.assertGreater(batch.contacts().contact_count.min(), 0)

    def test_standing_is_rewarded_where_the_command_is_to_stand(self):
        envs = self.quadrupeds(64)
        observations, _ = envs.reset(seed=1)
        self.assertTrue(envs.observation_space.contains(observations))
        total, commands = np.zeros(64), observations[:, 9:12]
        for _ in range(39):
            _, rewards, terminated, truncated, infos = envs.step(np.zeros(envs.action_space.shape, dtype=np.float32))
            self.assertFalse((terminated | truncated).any())
            np.testing.assert_allclose(sum(infos[name] for name in envs.info.reward_terms), rewards, atol=1e-12)
            total += rewards
        speed = np.linalg.norm(commands, axis=1)
        self.assertGreater((speed == 0).sum(), 1)  # one in ten is to stand
        self.assertGreater(total[speed == 0].min(), total[speed > 1].max())

    def test_falling_ends_the_episode_and_is_named(self):
        envs = self.quadrupeds(4)
        envs.reset(seed=1)
        rng, names = np.random.default_rng(1), set()
        for _ in range(39):
            kicks = rng.choice([-1.0, 1.0], envs.action_space.shape).astype(np.float32)
            *_, infos = envs.step(kicks)
            names |= set(infos.get("ended_by", [])) - {""}
        self.assertTrue(names <= {"height", "upside_down", "max_episode_steps"}, names)


if __name__ == "__main__":
    unittest.main()
