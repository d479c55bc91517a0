"""Terms of tasks: action groups and delays, a second group of observations, products of rewards, touching, clocks, levels of
commands, names by pattern; see axiond_case.py."""

import pathlib
import unittest

import numpy as np

import axion
from axiond_case import AxiondCase

QUADRUPED = pathlib.Path(__file__).resolve().parents[3] / "clients" / "examples" / "models" / "quadruped.xml"
ARM = """<mujoco><option gravity="0 0 0"/><worldbody><body name="upper"><joint name="shoulder" axis="0 1 0" damping="1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/>
  <body name="fore" pos="0 0 -0.4"><joint name="elbow" axis="0 1 0" damping="1"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03"
   mass="1"/><body name="hand" pos="0 0 -0.3"><joint name="grip" type="slide" axis="0 0 1" damping="1"/><geom type="sphere" size="0.05"
   mass="0.5"/></body></body></body></worldbody>
  <actuator><position name="lift" joint="shoulder" kp="40" gear="2" ctrllimited="true" ctrlrange="-1 1"/>
  <velocity name="bend" joint="elbow" kv="3" gear="0.5"/><motor name="pinch" joint="grip" gear="4"/></actuator></mujoco>"""
HOPPER = """<mujoco><option gravity="0 0 -10"/><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="left_foot" pos="0 0 0.4"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>
  <body name="right_foot" pos="1 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""
CONTROL = {"quantity": {"field": "control"}}


def body(name, kind="POSITION", **more):
    return {"body": name, "body_quantity": f"BODY_QUANTITY_{kind}", **more}


class TermsCase(AxiondCase):
    def batch(self, worlds, spec, scene=ARM, **choices):
        model = self.client.create_model(path=scene) if isinstance(scene, pathlib.Path) else self.client.create_model(mjcf=scene)
        return self.enterContext(self.client.create_batch(model, worlds, 0.005, task=spec, **{"precision": "float64", **choices}))

    def assert_refused(self, base, cases, scene=ARM):
        for parts, text in cases:
            with self.subTest(str(parts)[:200]), self.assertRaisesRegex(axion.InvalidArgumentError, text):
                self.batch(1, {**base, **parts}, scene)
        self.assertEqual(self.client.list_batches(), [])


class Actions(TermsCase):
    def test_groups_are_in_the_units_of_joints(self):
        groups = [{"of": "ACTION_OF_EFFORT", "joints": ["gr*"], "scale": [8]}, {"of": "ACTION_OF_POSITION", "actuators": ["lift"],
                  "scale": [0.5], "offset": [0.1], "lower": [-1], "upper": [1]}, {"of": "ACTION_OF_VELOCITY", "joints": ["elbow"]}]
        batch = self.batch(1, {"observation": [CONTROL], "action": {"group": groups}})
        self.assertEqual(list(batch.proto.task.actuators), ["pinch", "lift", "bend"])
        control = batch.step_task([[0.5, 0.6, 0.8]]).observation[0]
        np.testing.assert_allclose(control, [2 * (0.1 + 0.5 * 0.6), 0.5 * 0.8, 8 * 0.5 / 4], rtol=1e-15)
        np.testing.assert_allclose(batch.proto.task.action_upper[1], (0.5 - 0.1) / 0.5)  # half of the range, for its gear

    def test_changes_add_up_within_the_range_and_are_in_snapshots(self):
        spec = {"observation": [CONTROL], "action": {"group": [{"of": "ACTION_OF_DELTA", "joints": ["shoulder"], "scale": [0.1]}],
                                                     "most_delay": 1}}
        batch, other = self.batch(16, spec), self.batch(16, spec)
        batch.begin_episodes(seeds=range(16))
        seen = np.array([batch.step_task(np.ones((16, 1))).observation[:, 0] for _ in range(4)])
        late = np.isclose(seen[0], 0)
        self.assertTrue(0 < late.sum() < 16)
        np.testing.assert_allclose(seen[:, ~late], np.outer([0.2, 0.4, 0.6, 0.8], np.ones((~late).sum())))
        np.testing.assert_allclose(seen[:, late], np.outer([0, 0.2, 0.4, 0.6], np.ones(late.sum())))
        other.set_state(snapshot=batch.get_state("snapshot")["snapshot"])
        for _ in range(3):
            seen = batch.step_task(np.ones((16, 1))).observation
            np.testing.assert_array_equal(other.step_task(np.ones((16, 1))).observation, seen)
        np.testing.assert_array_equal(seen[:, 0], 1)  # the end of its range

    def test_mistakes_are_named(self):
        good = {"actuators": ["lift"]}

        def group(**changes):
            return {"action": {"group": [{"actuators": ["bend"]}, {**good, **changes}]}}
        self.assert_refused({"observation": [CONTROL]}, [
            (group(of=9), r"task.action.group\[1\].of: is 9"), (group(actuators=[]), r"task.action.group\[1\].actuators: and joints"),
            (group(joints=["grip"]), r"task.action.group\[1\].actuators: and joints"),
            (group(actuators=["lift", "pull"]), r'task.action.group\[1\].actuators\[1\]: unknown actuator "pull"'),
            (group(actuators=["*"]), r'task.action.group\[1\].actuators: takes "bend", which another group has'),
            (group(of="ACTION_OF_EFFORT"), r'task.action.group\[1\].of: is for "lift", which is no motor'),
            (group(of="ACTION_OF_VELOCITY"), r'task.action.group\[1\].of: is for "lift", which is no velocity drive'),
            (group(actuators=["pinch"], of="ACTION_OF_POSITION"), r'task.action.group\[1\].of: .*"pinch", which is no position drive'),
            (group(scale=[1, 2]), r"task.action.group\[1\].scale: has 2"), (group(scale=["NaN"]), r"task.action.group\[1\].scale\[0\]"),
            (group(lower=[1], upper=[1]), r"task.action.group\[1\].lower\[0\]"),
            (group(offset_keyframe="home"), r"task.action.group\[1\].offset_keyframe: unknown keyframe"),
            ({"action": {"group": [good], "scale": [1]}}, "task.action.scale: is given beside groups"),
            ({"action": {"delay": 3, "most_delay": 2}}, "task.action.most_delay: is 2"),
            ({"action": {"most_delay": 2000}}, "task.action.most_delay: is 2000"),
            ({"action": {"actuators": ["lift", "l*", "lift"]}}, r'task.action.actuators\[2\]: names "lift" again')])


class Observations(TermsCase):
    SPEC = {"observation": [{"quantity": {"field": "joint_position"}, "noise": 0.1}],
            "privileged_observation": [{"quantity": {"field": "joint_position"}}, {"quantity": {"field": "joint_position", "count": 1},
                                       "delay": 2, "history": 2}, {"quantity": {"field": "joint_velocity"}, "most_delay": 3}],
            "start": [{"of": "START_OF_VELOCITY", "lower": -1, "upper": 1}], "max_episode_steps": "7"}

    def test_the_second_group_has_its_own_noise_delay_and_history(self):
        batch = self.batch(20, self.SPEC)
        groups = batch.begin_groups(seeds=range(20))
        self.assertEqual(groups["critic"].shape, (20, 3 + 2 + 3))
        places, rates = [groups["critic"][:, :3]], [groups["critic"][:, 5:]]
        delays = np.full(20, -1)
        for step in range(6):
            answer = batch.step_task(np.zeros((20, 3)), outputs=["joint_position", "joint_velocity"])
            seen = answer.privileged_observation
            np.testing.assert_array_equal(seen[:, :3], answer["joint_position"])
            self.assertTrue(0 < np.abs(answer.observation - seen[:, :3]).max() <= 0.1)
            places.append(seen[:, :3]), rates.append(answer["joint_velocity"])
            for k, age in ((3, 3), (4, 2)):
                np.testing.assert_array_equal(seen[:, k], places[max(0, len(places) - 1 - age)][:, 0])
            for world in range(20):
                late = [age for age in range(4) if (seen[world, 5:] == rates[max(0, len(rates) - 1 - age)][world]).all()]
                self.assertTrue(late)
                if step > 2:
                    self.assertIn(delays[world], [-1, late[0]])
                    delays[world] = late[0]
        self.assertEqual(set(delays), {0, 1, 2, 3})
        other = self.batch(2, self.SPEC, seed=9)
        other.set_state(snapshot=batch.get_state("snapshot")["snapshot"][[4, 7]])
        for _ in range(9):  # over the end of the episodes
            want, mine = batch.step_task(np.zeros((20, 3))), other.step_task(np.zeros((2, 3)))
            np.testing.assert_array_equal(mine.privileged_observation, want.privileged_observation[[4, 7]])
            np.testing.assert_array_equal(mine.observation, want.observation[[4, 7]])

    def test_the_last_of_an_episode_is_answered_where_the_next_begins_in_the_same_step(self):
        batch = self.batch(3, {**self.SPEC, "autoreset": "AUTORESET_SAME_STEP"})
        for _ in range(7):
            answer = batch.step_task(np.zeros((3, 3)), outputs=["joint_position"])
        self.assertEqual(answer.final_rows.tolist(), [0, 1, 2])
        np.testing.assert_array_equal(answer.privileged_observation[:, :3], answer["joint_position"])
        self.assertTrue((answer.final_privileged_observation[:, :3] != answer.privileged_observation[:, :3]).any(axis=1).all())

    def test_joints_and_bodies_come_by_name_and_pattern(self):
        legs = ["fl", "fr", "rl", "rr"]
        spec = {"observation": [{"quantity": body("*_shank")}, {"quantity": {"field": "joint_position", "joints": ["rr_*", "fl_knee"]}},
                                {"quantity": {"robot": "ROBOT_QUANTITY_GENERALIZED_VELOCITY", "joints": ["*knee"], "start": 1, "count": 2}},
                                *({"quantity": body(f"{leg}_shank")} for leg in legs)], "keyframe": "stand",
                "start": [{"of": "START_OF_VELOCITY", "lower": -1, "upper": 1},
                          {"joint": "*_knee", "replaces": True, "lower": 7, "upper": 7, "scale": [0.1, -0.1, 0.1, -0.1]}]}
        batch = self.batch(2, spec, QUADRUPED)
        names = [joint.name for joint in self.client.create_model(path=QUADRUPED).proto.joints]
        seen = batch.begin_episodes(seeds=[1, 2])
        state = batch.get_state(["joint_position", "joint_velocity"])
        q, v = state["joint_position"], state["joint_velocity"]
        np.testing.assert_array_equal(seen[:, :12], seen[:, 18:])
        knees = [i for i, name in enumerate(names) if name.endswith("_knee")]
        self.assertEqual(len(knees), 4)
        np.testing.assert_allclose(q[:, [6 + i for i in knees]], np.tile([0.7, -0.7, 0.7, -0.7], (2, 1)))
        wanted = [i for i, name in enumerate(names) if name.startswith("rr_")] + [names.index("fl_knee")]
        np.testing.assert_array_equal(seen[:, 12:16], q[:, [6 + i for i in wanted]])
        np.testing.assert_array_equal(seen[:, 16:18], v[:, [5 + i for i in knees[1:3]]])

    def test_mistakes_are_named(self):
        def of(**quantity):
            return {"privileged_observation": [CONTROL, {"quantity": quantity}]}
        self.assert_refused({"observation": [CONTROL]}, [
            (of(field="pose"), r"task.privileged_observation\[1\].quantity.field"),
            ({"privileged_observation": [{**CONTROL, "delay": -1}]}, r"task.privileged_observation\[0\].delay: is -1"),
            ({"privileged_observation": [{**CONTROL, "delay": 3, "most_delay": 1}]}, r"task.privileged_observation\[0\].most_delay: is 1"),
            ({"observation": [{**CONTROL, "history": 1000, "most_delay": 1000}] * 20}, r"task.observation\[10\].delay: is beyond 65536"),
            (of(field="control", joints=["grip"]), r"quantity.joints: are given, but"),
            (of(field="joint_position", joints=["grip", "grap"]), r'quantity.joints\[1\]: unknown joint "grap"'),
            (of(body="f*z"), r'quantity.body: unknown body "f\*z", the model has upper, fore, hand'),
            (of(draw="mass"), r'quantity.draw: unknown draw "mass", the task has none'),
            (of(phase="gait"), r'quantity.phase: unknown phase "gait", the task has none'),
            (of(curriculum="speed"), r'quantity.curriculum: unknown curriculum "speed", the task has none'),
            (of(body="hand", force_above=1), r"quantity.force_above: is given"),
            (of(**body("hand", "IN_CONTACT", force_above=-1)), r"quantity.force_above: is -1"),
            (of(body="hand", body_quantity=12), r"quantity.body_quantity: is 12")])


class Rewards(TermsCase):
    def test_terms_are_products_powers_and_exponentials_with_thresholds(self):
        angles = {"field": "joint_position"}
        reward = [{"name": "exponential", "weight": 2, "measure": "MEASURE_EXPONENTIAL", "quantity": {**angles, "scale": [-1, 0.5, 2]}},
                  {"name": "dot", "weight": 1, "measure": "MEASURE_DOT", "quantity": angles, "target": {"field": "joint_velocity"}},
                  {"name": "power", "weight": 3, "quantity": {**angles, "count": 1}, "power": 1.5, "upper": 0.4},
                  {"name": "square", "weight": 1, "quantity": {**angles, "count": 1}, "power": 2},
                  {"name": "product", "weight": -4, "measure": "MEASURE_LENGTH", "quantity": angles,
                   "factor": [{"quantity": {**angles, "start": 1, "count": 1}, "threshold": 0.1},
                              {"measure": "MEASURE_TRACKING", "tracking_width": 0.5, "quantity": {**angles, "count": 1}},
                              {"quantity": {**angles, "start": 2}, "lower": -0.05, "upper": 0.05, "power": 0.5},
                              {"measure": "MEASURE_RATE", "quantity": {**angles, "count": 1}}]}]
        batch = self.batch(50, {"observation": [CONTROL], "reward": reward, "start": [{"lower": -1, "upper": 1}]})
        batch.begin_episodes(seeds=range(50))
        before = batch.get_state("joint_position")["joint_position"]
        answer = batch.step_task(np.tile([0.5, 2.0, 1.0], (50, 1)), outputs=["joint_position", "joint_velocity"])
        q, v = answer["joint_position"], answer["joint_velocity"]
        clipped = np.clip(np.sign(q[:, 2]) * np.abs(q[:, 2]) ** 0.5, -0.05, 0.05)
        product = (np.linalg.norm(q, axis=1) * (q[:, 1] > 0.1) * np.exp(-q[:, 0] ** 2 / 0.25) * clipped *
                   (q[:, 0] - before[:, 0]) / 0.005)
        want = [2 * np.exp(q @ [-1, 0.5, 2]), (q * v).sum(axis=1), np.minimum(3 * np.sign(q[:, 0]) * np.abs(q[:, 0]) ** 1.5, 0.4),
                q[:, 0] * np.abs(q[:, 0]), -4 * product]
        np.testing.assert_allclose(answer.terms, np.transpose(want), rtol=1e-9, atol=1e-13)
        self.assertTrue(0 < (product != 0).sum() < 50)

    def test_time_in_the_air_is_counted_for_each_foot(self):
        spec = {"observation": [{"quantity": body("*_foot", kind)} for kind in
                                ("IN_CONTACT", "AIR_TIME", "CONTACT_TIME", "LAST_AIR_TIME", "FIRST_CONTACT")] +
                [{"quantity": body("*_foot", "IN_CONTACT", force_above=1e6)}, {"quantity": {"field": "contact_count"}}],
                "reward": [{"name": "feet_air_time", "weight": 1, "measure": "MEASURE_DOT",
                            "quantity": body("*_foot", "LAST_AIR_TIME", offset=[-0.1]), "target": body("*_foot", "FIRST_CONTACT")},
                           {"name": "contacts", "weight": 1, "quantity": body("*_foot", "IN_CONTACT")}], "action": {"frame_skip": 2}}
        batch, other = self.batch(1, spec, HOPPER), self.batch(1, spec, HOPPER)
        batch.begin_episodes(seeds=[1])
        action, seen, terms = np.zeros((1, 0)), [], []
        for step in range(40):
            answer = batch.step_task(action)
            seen.append(answer.observation[0]), terms.append(answer.terms[0])
            if step == 15:
                other.set_state(snapshot=batch.get_state("snapshot")["snapshot"])
            elif step > 15:
                np.testing.assert_array_equal(other.step_task(action).observation, answer.observation)
        seen, terms = np.array(seen), np.array(terms)
        down = int(np.argmax(seen[:, 0]))  # the left foot falls 0.3 m: 0.245 s
        self.assertTrue(22 <= down <= 26, down)
        np.testing.assert_allclose(seen[:down, 2], 0.01 * np.arange(1, down + 1))
        self.assertTrue((seen[down:, 2] == 0).all() and (seen[:down, 0] == 0).all() and (seen[down:, 0] == 1).all())
        np.testing.assert_allclose(seen[down:, 4], 0.01 * np.arange(1, 41 - down))
        np.testing.assert_allclose(seen[:, 6], np.where(np.arange(40) < down, 0, 0.01 * down))
        np.testing.assert_array_equal(np.flatnonzero(seen[:, 8]), [down])
        self.assertTrue((seen[1:, 1] == 1).all() and (seen[1:, 9] == 0).all() and (seen[:, 10:12] == 0).all())  # the right foot stands
        np.testing.assert_allclose(terms[:, 0], np.where(np.arange(40) == down, 0.01 * down - 0.1, 0), atol=1e-12)
        np.testing.assert_array_equal(terms[:, 1], seen[:, 0] + seen[:, 1])

    def test_a_world_whose_rewards_are_beyond_all_numbers_has_a_snapshot(self):
        reward = [{"name": "beyond", "weight": 1, "measure": "MEASURE_EXPONENTIAL", "quantity": {"field": "time", "offset": [1000]}}]
        batch, other = (self.batch(1, {"observation": [CONTROL], "reward": reward}) for _ in range(2))
        self.assertEqual(batch.step_task(np.zeros((1, 3))).episode_return[0], np.inf)
        other.set_state(snapshot=batch.get_state("snapshot")["snapshot"])
        self.assertEqual(other.step_task(np.zeros((1, 3))).episode_length[0], 2)

    def test_clocks_run_with_the_episode(self):
        spec = {"observation": [{"quantity": {"phase": "gait"}}, {"quantity": {"phase": "gait", "function": "FUNCTION_SINE"}}],
                "phase": [{"name": "other", "least_period": 1}, {"name": "gait", "least_period": 0.2, "most_period": 0.4,
                                                                 "offset": [0, 0.5], "random_start": True}]}
        batch = self.batch(30, spec)
        angles = np.array([batch.begin_episodes(seeds=range(30)), *(batch.step_task(np.zeros((30, 3))).observation for _ in range(60))])
        np.testing.assert_allclose(angles[..., 2:], np.sin(angles[..., :2]), atol=1e-12)
        steps = np.diff(np.unwrap(angles[..., :2], axis=0), axis=0)
        periods = 2 * np.pi * 0.005 / steps
        self.assertTrue((periods > 0.2 - 1e-9).all() and (periods < 0.4 + 1e-9).all() and np.ptp(periods, axis=0).max() < 1e-9)
        self.assertGreater(np.ptp(periods), 0.15)
        self.assertGreater(np.ptp(angles[0, :, 0]), 4)
        np.testing.assert_allclose(np.cos(angles[..., 0]), -np.cos(angles[..., 1]), atol=1e-9)

    def test_mistakes_are_named(self):
        good = {"name": "a", "quantity": {"field": "joint_position"}}

        def term(**changes):
            return {"reward": [{**good, **changes}]}
        self.assert_refused({"observation": [CONTROL]}, [
            (term(measure="MEASURE_DOT"), r"task.reward\[0\].target: is absent"), (term(power=-2), r"task.reward\[0\].power: is -2"),
            (term(power="NaN"), r"task.reward\[0\].power: is nan"), (term(threshold="NaN"), r"task.reward\[0\].threshold: is nan"),
            (term(factor=[{"measure": "MEASURE_TRACKING", "quantity": good["quantity"]}]),
             r"task.reward\[0\].factor\[0\].tracking_width: is 0"),
            (term(factor=[{"quantity": {"field": "time"}}, {"measure": 12}]), r"task.reward\[0\].factor\[1\].measure: is 12"),
            (term(factor=[{"measure": "MEASURE_ALIVE"}] * 20), r"task.reward\[0\].factor: has more entries than 16"),
            (term(factor=[{"quantity": {"field": "time"}, "lower": 1, "upper": 0}]), r"task.reward\[0\].factor\[0\].lower"),
            ({"phase": [{"least_period": 1}]}, r"task.phase\[0\].name: is empty"),
            ({"phase": [{"name": "a"}]}, r"task.phase\[0\].least_period: is 0"),
            ({"phase": [{"name": "a", "least_period": 1, "most_period": 0.5}]}, r"task.phase\[0\].most_period: is 0.5"),
            ({"phase": [{"name": "a", "least_period": 1, "offset": [0, "NaN"]}]}, r"task.phase\[0\].offset\[1\]: is nan")])


class Curricula(TermsCase):
    SPEC = {"observation": [{"quantity": {"command": "goal"}}, {"quantity": {"curriculum": "distance"}}],
            "reward": [{"name": "pressed", "weight": 1, "quantity": {"robot": "ROBOT_QUANTITY_ACTION", "start": 2}}],
            "command": [{"name": "goal", "lower": [4], "upper": [5]}], "max_episode_steps": "5",
            "curriculum": [{"name": "distance", "command": "goal", "first_lower": [0], "first_upper": [1], "levels": 5,
                            "reward_term": "pressed", "promote_above": 0.6, "demote_below": 0.2}]}

    def episode(self, batch, press):
        for _ in range(6):  # the sixth step begins the next
            answer = batch.step_task(np.outer(press, [0, 0, 1]))
        return answer

    def test_levels_rise_and_fall_with_results_and_are_in_snapshots(self):
        batch = self.batch(3, self.SPEC)
        seen = batch.begin_episodes(seeds=[1, 2, 3])
        self.assertTrue((seen[:, 1] == 0).all() and (seen[:, 0] <= 1).all())
        levels = np.zeros(3)
        for episode, press in enumerate([[1, 0.4, 0], [1, 1, 1], [1, 0.4, 0], [1, 0, 1], [1, 1, 0.4]]):
            answer = self.episode(batch, press)
            levels = np.clip(levels + (np.array(press) > 0.6) - (np.array(press) < 0.2), 0, 4)
            np.testing.assert_array_equal(answer.level, levels[:, None])
            np.testing.assert_array_equal(answer.observation[:, 1], levels / 4)
            self.assertTrue(((answer.observation[:, 0] >= levels) & (answer.observation[:, 0] <= levels + 1)).all())
            if episode == 2:
                other = self.batch(2, self.SPEC, seed=8)
                other.set_state(snapshot=batch.get_state("snapshot")["snapshot"][[2, 0]])
            elif episode > 2:
                mine = self.episode(other, np.array(press)[[2, 0]])
                np.testing.assert_array_equal(mine.observation, answer.observation[[2, 0]])
        batch.step_task(np.tile([0, 0, 1.0], (3, 1)))
        np.testing.assert_array_equal(batch.begin_episodes()[:, 1], levels / 4)  # cut off: no result
        self.assertTrue((batch.begin_episodes(seeds=[1, 2, 3]) == seen).all())  # anew

    def test_an_early_end_is_a_low_result_and_first_levels_are_drawn(self):
        spec = {**self.SPEC, "curriculum": [{**self.SPEC["curriculum"][0], "most_first_level": 4}],
                "termination": [{"name": "let_go", "quantity": {"robot": "ROBOT_QUANTITY_ACTION", "start": 2}, "lower": 0}]}
        batch = self.batch(400, spec)
        first = 4 * batch.begin_episodes(seeds=range(400))[:, 1]
        counts = np.bincount(first.astype(int), minlength=5)
        self.assertLess(np.abs(counts - 80).max(), 5 * np.sqrt(80))
        press = np.outer(np.ones(400), [0, 0, 0.9])
        batch.step_task(press)  # two steps of 0.9 are less than 0.2 of five
        batch.step_task(-press)
        np.testing.assert_array_equal(4 * batch.step_task(press).observation[:, 1], np.maximum(first - 1, 0))

    def test_mistakes_are_named(self):
        def term(**changes):
            return {"curriculum": [{**self.SPEC["curriculum"][0], **changes}]}
        self.assert_refused({**self.SPEC, "observation": [CONTROL]}, [
            (term(name=""), r"task.curriculum\[0\].name: is empty"),
            (term(command="aim"), r'task.curriculum\[0\].command: unknown command "aim", the task has goal'),
            (term(reward_term="aim"), r'task.curriculum\[0\].reward_term: unknown term of the reward "aim", the task has pressed'),
            (term(levels=1), r"task.curriculum\[0\].levels: is 1"),
            (term(most_first_level=5), r"task.curriculum\[0\].most_first_level: is 5"),
            (term(first_lower=[]), r"task.curriculum\[0\].first_lower: has 0 numbers"),
            (term(first_upper=[-1]), r"task.curriculum\[0\].first_upper\[0\]: is -1"),
            (term(demote_below=0.7), r"task.curriculum\[0\].demote_below: is 0.7"),
            (term(promote_above="NaN"), r"task.curriculum\[0\].promote_above: is nan"),
            ({"curriculum": 2 * self.SPEC["curriculum"]}, r'task.curriculum\[1\].name: is "distance" again'),
            ({"max_episode_steps": "0"}, r"task.curriculum\[0\].reward_term: is for a result")])


if __name__ == "__main__":
    unittest.main()
