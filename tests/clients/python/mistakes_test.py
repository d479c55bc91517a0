"""Mistakes that people make at first, and what they are told; and what they may leave out. See axiond_case.py."""

import copy
import math
import pathlib
import pickle
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
from grpc import _channel as grpc_channel

import axion
from axiond_case import AxiondCase
from axiond_process import PATIENCE_SECONDS

SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <body name="arm" pos="0 0 1"><joint name="shoulder" axis="0 1 0"/><geom name="rod" type="capsule" fromto="0 0 0 .4 0 0" size=".05"/>
    <body name="hand" pos=".5 0 0"><joint name="wrist" axis="0 1 0"/><geom name="palm" size=".08"/></body></body>
  </worldbody><actuator><motor name="turn" joint="shoulder"/></actuator>
  <keyframe><key name="bent" qpos=".3 .4"/></keyframe></mujoco>"""
ROBOT = "<?xml version='1.0'?><!-- <mujoco> --><robot name='r'><link name='base'/></robot>"


class Mistakes(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(mjcf=SCENE)
        cls.batch = cls.client.create_batch(cls.model, 3)

    def test_a_path_or_a_document_of_the_other_kind_is_recognised(self):
        for arguments, told in (({"mjcf": "robot.xml"}, "give path='robot.xml'"), ({"urdf": "a/robot.urdf"}, "give path='a/robot.urdf'"),
                                ({"mjcf": pathlib.Path("robot.xml")}, "give path='robot.xml'"),
                                ({"mjcf": ROBOT}, "mjcf: the root element is <robot>: give the document as urdf="),
                                ({"urdf": SCENE}, "urdf: the root element is <mujoco>: give the document as mjcf=")):
            with self.assertRaises(ValueError) as caught:
                self.client.create_model(**arguments)
            self.assertIn(told, str(caught.exception))

    def test_what_is_no_task_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "task.json")
            path.write_text("{'observation'}")
            for task, told in ((3, "task: wants TaskSpec, mapping or path, not 3"), ([{}], "task: wants"), (path, f"task: {path}: ")):
                with self.assertRaises((TypeError, ValueError)) as caught:
                    self.client.create_batch(self.model, 1, task=task)
                self.assertTrue(str(caught.exception).startswith(told), caught.exception)

    def test_a_key_that_is_none_is_told_with_those_that_are(self):
        state = self.batch.get_state("body_pose")
        for mapping, told in ((self.model.keyframes, "keyframe: 'x' is none of bent"), (self.model.keyframe_controls, "bent"),
                              (self.model.sensors, "sensor: 'x' is none of none: there are no sensors"), (state, "body_pose"),
                              (self.batch.parameter_shapes, "body_mass"), (self.batch.get_parameters("body_mass"), "body_mass")):
            with self.assertRaises(KeyError) as caught:
                mapping["x"]
            self.assertIn(told, str(caught.exception))
            self.assertNotIn("x", mapping)
        self.assertEqual(pickle.loads(pickle.dumps(self.model)).keyframes.keys(), self.model.keyframes.keys())
        self.assertEqual(copy.deepcopy(self.batch.parameter_shapes), self.batch.parameter_shapes)

    def test_names_stand_for_indices_wherever_a_query_takes_one(self):
        down = ([[0.5, 0, 2.0]], [[0, 0, -1.0]])
        by_name = self.batch.cast_rays(*down, ignored_bodies=["arm", "hand"])
        np.testing.assert_array_equal(by_name.distance, self.batch.cast_rays(*down, ignored_bodies=[0, 1]).distance)
        self.assertTrue((by_name.shape == self.model.shape_names.index("floor")).all())
        self.assertTrue((self.batch.cast_rays(*down, ignored_bodies=["arm", "hand", "world"]).shape == -1).all())
        np.testing.assert_array_equal(self.batch.cast_rays(*down, body="hand").distance, self.batch.cast_rays(*down, body=1).distance)
        shapes = self.model.shape_names
        pair = (shapes.index("floor"), shapes.index("palm"))
        np.testing.assert_array_equal(self.batch.distances([("floor", "palm")]).distance, self.batch.distances([pair]).distance)
        named = self.batch.dynamics([("hand", (0.1, 0, 0)), ("world", (0, 0, 0))])
        np.testing.assert_array_equal(named.jacobian, self.batch.dynamics([(1, (0.1, 0, 0)), (-1, (0, 0, 0))]).jacobian)
        for ask in (lambda: self.batch.cast_rays(*down, body="leg"), lambda: self.batch.distances([("leg", "palm")]),
                    lambda: self.batch.dynamics([("leg", (0, 0, 0))])):
            with self.assertRaisesRegex(KeyError, "'leg' is none of the names .*(hand|palm)"):
                ask()

    def test_two_hinges_of_one_body_answer_to_their_own_names(self):
        model = self.client.create_model(mjcf="""<mujoco><worldbody><body name="ball"><joint name="yaw" axis="0 0 1"/>
            <joint name="pitch" axis="0 1 0"/><geom size=".1"/></body></worldbody></mujoco>""")
        with self.client.create_batch(model, 2) as batch:
            batch.set_state(joint_position=[[0.1, 0.2], [0.3, 0.4]], joint_velocity=[[1, 2], [3, 4]])
            named = model.named(batch.get_state())
            np.testing.assert_allclose(named.joint("yaw").position, [[0.1], [0.3]], rtol=1e-6)  # float32
            np.testing.assert_allclose(named.joint("pitch").position, [[0.2], [0.4]], rtol=1e-6)
            np.testing.assert_allclose(named.joint("pitch").velocity, [[2], [4]], rtol=1e-6)
            np.testing.assert_allclose(named.joint("yaw+pitch").position, [[0.1, 0.2], [0.3, 0.4]], rtol=1e-6)
            with self.assertRaisesRegex(KeyError, "yaw.pitch, yaw, pitch"):
                named.joint("roll")

    def test_one_robots_numbers_stand_for_all_worlds(self):
        pose = np.array(self.batch.get_state("body_pose", worlds=0)["body_pose"][0])
        for arguments in ({"joint_position": [0.1, 0.2]}, {"joint_velocity": [0.5, -0.5]}, {"body_pose": pose}, {"time": 2.0},
                          {"parameters": {"body_mass": [1.0, 2.0]}}, {"parameters": {"gravity": [0, 0, -1.0]}}):
            for change in (self.batch.set_state, self.batch.reset):
                for worlds, count in ((None, 3), ([0, 2], 2)):
                    change(worlds=worlds, **arguments)
                    for name, given in arguments.get("parameters", arguments).items():
                        if "parameters" in arguments:
                            found = self.batch.get_parameters(name, worlds)[name]
                        else:
                            state = self.batch.get_state(name, worlds)
                            found = state.time if name == "time" else state[name]
                        np.testing.assert_allclose(found, np.broadcast_to(given, found.shape), atol=1e-6)
                        self.assertEqual(len(found), count)
        wrench = np.zeros((2, 6))
        wrench[1, 2] = 3.0
        self.batch.reset()
        one = self.batch.step(body_wrench=wrench, outputs=["body_pose"])["body_pose"].tobytes()
        self.batch.reset()
        self.assertEqual(self.batch.step(body_wrench=np.stack([wrench] * 3), outputs=["body_pose"])["body_pose"].tobytes(), one)
        with self.client.create_batch(self.model, 4, mass_scale=[2.0, 3.0], friction_scale=0.5, gain_scale=[2.0]) as scaled:
            with self.client.create_batch(self.model, 4, mass_scale=[[2.0, 3.0]] * 4, friction_scale=[0.5] * 4,
                                          gain_scale=[[2.0]] * 4) as same:
                self.assertEqual(scaled.step([1.0], 20, "body_pose")["body_pose"].tobytes(),
                                 same.step([1.0], 20, "body_pose")["body_pose"].tobytes())
        with self.assertRaisesRegex(axion.AxionError, "joint_position"):
            self.batch.set_state(joint_position=[0.1, 0.2, 0.3])

    def test_a_timeout_that_is_infinite_waits_and_one_that_is_no_time_is_refused(self):
        for client in (self.client, axion.Client(self.target, retry=0)):
            self.assertTrue(client.server_info(timeout=math.inf).version)
            client.wait_until_ready(math.inf)
            for timeout in (math.nan, -1.0):
                with self.assertRaisesRegex(ValueError, "timeout"):
                    client.server_info(timeout=timeout)

    @unittest.skipUnless(hasattr(grpc_channel, "_run_channel_spin_thread"), "this gRPC begins streams otherwise")
    def test_a_client_closes_after_ctrl_c_while_a_stream_was_being_made(self):
        client = axion.Client(self.target)
        batch = client.get_batch(self.batch.name)
        with (mock.patch.object(grpc_channel, "_run_channel_spin_thread", side_effect=KeyboardInterrupt),
              self.assertRaises(KeyboardInterrupt), batch.watch(["joint_position"]) as watch):
            next(watch)
        closing = threading.Thread(target=client.close, daemon=True)
        closing.start()
        closing.join(PATIENCE_SECONDS)
        self.assertFalse(closing.is_alive())

    def test_a_client_that_is_closed_says_so(self):
        for retry in (0.0, 30.0):
            client = axion.Client(self.target, retry=retry)
            batch = client.get_batch(self.batch.name)
            client.close()
            for call in (client.server_info, batch.step, client.wait_until_ready):
                with self.assertRaisesRegex(ValueError, f"the client of {self.target} is closed"):
                    call()

    def test_what_is_not_pickled_says_what_to_do_instead(self):
        for what, told in ((self.client, f"axion.Client('{self.target}')"), (self.batch, f"get_batch('{self.batch.name}')"),
                           (axion.Fleet([self.target]), f"axion.Fleet(['{self.target}'])")):
            with self.assertRaises(TypeError) as caught:
                pickle.dumps(what)
            self.assertIn(told, str(caught.exception))

    def test_an_asset_that_is_missing_is_told_with_where_it_was_looked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "robot.xml")
            path.write_text(SCENE.replace("<worldbody>", "<compiler meshdir='meshes'/><asset><mesh name='m' file='leg.stl'/></asset>"
                                          "<worldbody><geom type='mesh' mesh='m'/>"))
            with self.assertRaises(axion.InvalidArgumentError) as caught:
                self.client.create_model(path=path)
            self.assertIn(f"{folder}/meshes/leg.stl", str(caught.exception))


try:
    import gymnasium

    import axion.gym
    from axion.gym import AxionVectorEnv, ServerTask, server_task
except ImportError:
    gymnasium = None

PENDULUM = "InvertedPendulum-v5"


@unittest.skipIf(gymnasium is None, "gymnasium is not installed")
class Environments(AxiondCase):
    def envs(self, task, count):
        envs = AxionVectorEnv(task, count, client=self.client)
        self.addCleanup(envs.close)
        return envs

    def test_a_step_before_a_reset_or_after_the_end_says_so(self):
        envs = axion.gym.make_vec(PENDULUM, 2, client=self.client)
        action = np.zeros((2, 1), dtype=np.float32)
        with self.assertRaisesRegex(gymnasium.error.ResetNeeded, "call reset before the first step"):
            envs.step(action)
        envs.reset(seed=1)
        envs.step(action)
        envs.close()
        for call in (lambda: envs.step(action), envs.reset):
            with self.assertRaisesRegex(gymnasium.error.ClosedEnvironmentError, "are closed"):
                call()

    def test_arguments_of_another_kind_are_named_and_leave_environments_as_they_were(self):
        for argument, wrong in {"num_envs": (2.5, "3", None), "client": (self.target,), "autoreset_mode": ("NEXT_STEP", None),
                                "max_episode_steps": (1.5, "10"), "seed": (1.5, -1), "batch_choices": ([1],), "render_mode": ("depth", 3),
                                "width": (1.5,), "task": (None, {}, ServerTask), "target": (3,)}.items():
            for each in wrong:
                with self.subTest(argument, wrong=each), self.assertRaisesRegex((TypeError, ValueError, axion.AxionError), argument):
                    AxionVectorEnv(**{"task": PENDULUM, "num_envs": 2, "client": self.client, argument: each})
        for choice, each in (("healthy_z_range", 0.7), ("healthy_z_range", "ab"), ("healthy_reward", "1"), ("frame_skip", (1, 2)),
                             ("terminate_when_unhealthy", "no"), ("model", 3)):
            with self.subTest(choice, wrong=each), self.assertRaisesRegex(TypeError, f"{choice}: wants .*, not"):
                server_task("Hopper-v5", **{choice: each})
        with self.assertRaisesRegex(FileNotFoundError, "is no file"):
            ServerTask("", {}).model_path()
        self.assertEqual(self.client.list_batches(), [])
        envs, plain = self.envs(PENDULUM, 2), self.envs(PENDULUM, 2)
        envs.reset(seed=1)
        plain.reset(seed=1)
        for seed in (-1, 1.5, [], [1.5, 2.5], "ab", b"ab", [True, False], [[1], [2]], [1, 2, 3], 2 ** 64 - 1, [0, 2 ** 64], np.nan):
            with self.subTest(seed=seed), self.assertRaisesRegex((TypeError, ValueError), "^seed: "):
                envs.reset(seed=seed)
        for options in (3, [1], {"reset_mask": [[True], [True, False]]}, {"reset_mask": [1, 0]}):
            with self.subTest(options=options), self.assertRaisesRegex((TypeError, ValueError), "^options"):
                envs.reset(options=options)
        for actions in (None, [["a"], ["b"]], [[1], [2, 3]], np.zeros((2, 1), object), np.zeros((2, 1), complex)):
            with self.subTest(actions=actions), self.assertRaisesRegex((TypeError, ValueError), "^actions: "):
                envs.step(actions)
        for mine, theirs in zip(envs.step(np.full((2, 1), 0.1))[:4], plain.step([[0.1], [0.1]])[:4]):
            np.testing.assert_array_equal(mine, theirs)

    def test_a_task_none_of_whose_actions_has_an_effect_is_refused_and_leaves_no_worlds(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "robot.xml")
            path.write_text(SCENE.replace('joint="shoulder"', 'joint="shoulder" ctrlrange="-1 1"'))
            task = {"observation": [{"quantity": {"field": "joint_position"}}], "action": {"offset": [10], "lower": [-1], "upper": [1]}}
            before = len(self.client.list_batches())
            with self.assertRaisesRegex(ValueError, "task.action: no action has an effect on 'turn'"):
                self.envs(ServerTask(str(path), task), 2)
            self.assertEqual(len(self.client.list_batches()), before)

    def test_environments_of_others_are_not_said_in_numbers(self):
        def others():
            return axion.gym.AxionEnv(PENDULUM, client=self.client)
        envs = gymnasium.vector.SyncVectorEnv([others])
        self.addCleanup(envs.close)
        with self.assertRaisesRegex(TypeError, "env: wants an AxionVectorEnv, .*not SyncVectorEnv"):
            axion.gym.NumericInfos(envs)

    def test_seeds_are_whole_numbers_of_any_type(self):
        envs = self.envs(PENDULUM, 3)
        first, _ = envs.reset(seed=[7, 8, 9])
        for seed in (7, np.int64(7), np.uint64(7), np.arange(7, 10), range(7, 10), (7, np.int32(8), 9)):
            np.testing.assert_array_equal(envs.reset(seed=seed)[0], first)

    def test_environments_that_cannot_delete_their_worlds_are_closed_all_the_same(self):
        client = axion.Client(self.target)
        envs = AxionVectorEnv(PENDULUM, 2, client=client)
        self.addCleanup(self.client.get_batch(envs.batch.name).delete)
        client.close()
        with self.assertRaisesRegex(ValueError, "client of .* is closed"):
            envs.close()
        envs.close()
        for call in (envs.reset, envs.render):
            with self.assertRaises(gymnasium.error.ClosedEnvironmentError):
                call()

    def test_own_methods_that_give_something_else_are_named(self):
        plain = server_task(PENDULUM)
        for method, given, told in (
                ("observe", lambda seen: None, "array of floats"),
                ("observe", lambda seen: seen[:1], r"\[1, 4\]; it must begin with \[2\]"),
                ("observe", lambda seen: seen[:, :1 + int(abs(seen[0, 1]) > 0.1)], r"\[2, 2\]; it must be \[2, 1\]"),
                ("rewards", lambda before, after, action: None, "a dict"),
                ("rewards", lambda before, after, action: {"far": after[:, :1]}, r'"far"\]: has shape \[2, 1\]; it must be \[2\]'),
                ("rewards", lambda before, after, action: {"far": after[:1, 0]}, r'"far"\]: has shape \[1\]'),
                ("rewards", lambda before, after, action: {"far": ["a", "b"]}, '"far"'),
                ("rewards", lambda before, after, action: {"reward_survive": after[:, 0]}, "has a term of this name"),
                ("terminated", lambda after: after[:, :1] > 1, r"bool \[2, 1\]"), ("terminated", lambda after: None, "object"),
                ("terminated", lambda after: after[:, 0], "float32")):
            with self.subTest(method, told=told), self.assertRaisesRegex((TypeError, ValueError), f"^{method}.*{told}"):
                envs = self.envs(type("Wrong", (ServerTask,), {method: staticmethod(given)})(plain.model, plain.spec), 2)
                envs.reset(seed=1)
                for _ in range(20):
                    envs.step(np.full((2, 1), 3, np.float32))


if __name__ == "__main__":
    unittest.main()
