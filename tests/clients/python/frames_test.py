"""Answers as tables of pandas and datasets of xarray, each where it is installed; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

import axion
from axiond_case import ROOT, AxiondCase

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"
SENSED = """<mujoco><worldbody><body name="ball" pos="0 0 1"><freejoint name="flies"/><geom name="skin" type="sphere" size="0.1"/>
  <site name="s"/></body><geom name="floor" type="plane" size="1 1 1"/></worldbody>
  <sensor><accelerometer name="felt" site="s"/><clock name="clock"/></sensor></mujoco>"""
HAS_PANDAS, HAS_XARRAY = (importlib.util.find_spec(name) is not None for name in ("pandas", "xarray"))


class Frames(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(path=QUADRUPED)

    def setUp(self):
        self.batch = self.enterContext(self.client.create_batch(self.model, 3, seed=1, joint_position_noise=0.1))

    @unittest.skipUnless(HAS_XARRAY, "xarray is not installed")
    def test_datasets_have_every_field_by_the_models_names(self):
        state = self.batch.get_state()
        data = axion.to_xarray(state, self.model)
        for name in state:
            np.testing.assert_array_equal(data[name].values, state[name])
        trunk = self.model.body_names.index("trunk")
        np.testing.assert_array_equal(data["body_pose"].sel(body="trunk", pose="z"), state["body_pose"][:, trunk, 2])
        knee = self.model.proto.joints[self.model.joint_names.index("fl_knee")].position_start
        np.testing.assert_array_equal(data["joint_position"].sel(coordinate="fl_knee"), state["joint_position"][:, knee])
        self.assertEqual(data["body_pose"].attrs["units"], "m, 1")

    @unittest.skipUnless(HAS_XARRAY, "xarray is not installed")
    def test_records_are_a_dimension_and_worlds_have_their_indices(self):
        result = self.batch.step(steps=6, record_every=2, outputs=["body_pose", "time"], worlds=[2, 0])
        data = axion.to_xarray(result, self.model, [2, 0])
        self.assertEqual(data["body_pose"].dims, ("world", "record", "body", "pose"))
        np.testing.assert_array_equal(data["body_pose"].sel(world=0), result["body_pose"][1])
        np.testing.assert_array_equal(data["time"].sel(world=2), result["time"][0])
        self.assertEqual(data["outcome"].dims, ("world",))

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_tables_have_a_column_for_each_number(self):
        result = self.batch.step(steps=6, record_every=3, outputs=["body_pose", "joint_velocity"])
        table = axion.to_pandas(result, self.model)
        self.assertEqual((table.index.names, len(table)), (["world", "record"], 6))
        trunk = self.model.body_names.index("trunk")
        np.testing.assert_array_equal(table.loc[(1, 0), "body_pose.trunk.z"], result["body_pose"][1, 0, trunk, 2])
        np.testing.assert_array_equal(table.loc[(2, 1), "joint_velocity.fl_knee"], result["joint_velocity"][
            2, 1, self.model.proto.joints[self.model.joint_names.index("fl_knee")].velocity_start])
        np.testing.assert_array_equal(table["step_index"], [6] * 6)
        state = axion.to_pandas(self.batch.get_state(["joint_position"], [2]), self.model, [2])
        self.assertEqual((list(state.index), state.index.name), ([2], "world"))

    @unittest.skipUnless(HAS_PANDAS and HAS_XARRAY, "pandas or xarray is not installed")
    def test_sensors_are_named_and_models_are_told_apart(self):
        model = self.client.create_model(mjcf=SENSED)
        with self.client.create_batch(model, 2) as batch:
            result = batch.step(steps=300, outputs=["sensor_data"])
            np.testing.assert_array_equal(axion.to_pandas(result, model)["sensor_data.felt.2"], result["sensor_data"][:, 2])
            self.assertEqual(axion.to_xarray(result, model)["sensor_data"].dims, ("world", "reading"))
            contacts = batch.contacts()
            table = axion.to_pandas(contacts, model)
        self.assertGreater(len(table), 0)
        self.assertEqual(set(table["shape_a_name"]) | set(table["shape_b_name"]), {"skin", "floor"})
        self.assertEqual(set(table["body_a_name"]) | set(table["body_b_name"]), {"ball", "world"})
        np.testing.assert_array_equal(table["normal.z"], contacts.normal[:, 2])
        for to in (axion.to_pandas, axion.to_xarray):
            with self.assertRaisesRegex(ValueError, "model: has 13 labels of body"):
                to({"body_pose": np.zeros((2, 1, 7))}, self.model)

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_the_solvers_table_has_its_residuals(self):
        self.batch.step(steps=3)
        stats = self.batch.world_stats()
        table = axion.to_pandas(stats)
        np.testing.assert_array_equal(table["newton_iterations"], stats.newton_iterations)
        np.testing.assert_array_equal(table[f"residual.{stats.residual_blocks[1]}"], stats.residual[:, 1])

    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_mistakes_are_named(self):
        state = self.batch.get_state(["body_pose"])
        for arguments, text in (((state,), "model: names"), ((state, self.model, [0]), "worlds: has 1"), (({}, self.model), "no fields"),
                                (({"body_pose": np.zeros(3)}, self.model), "body_pose has shape")):
            with self.assertRaisesRegex(ValueError, text):
                axion.to_pandas(*arguments)

    @unittest.skipIf(HAS_PANDAS and HAS_XARRAY, "both are installed")
    def test_what_is_absent_is_told(self):
        for to, name, there in ((axion.to_pandas, "pandas", HAS_PANDAS), (axion.to_xarray, "xarray", HAS_XARRAY)):
            if not there:
                with self.assertRaisesRegex(ImportError, f"{name} is not installed.*axion-server-client.tables"):
                    to(self.batch.get_state(), self.model)


if __name__ == "__main__":
    unittest.main()
