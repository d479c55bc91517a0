"""Numbers of worlds' own through the server: beside MuJoCo with these numbers, errors, snapshots, tasks, a fleet; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

import axion
from axiond_case import ROOT, AxiondCase

PENDULUM = """
<mujoco><option timestep="1e-3" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body name="upper" pos="0 0 2"><joint name="a" axis="0 1 0" damping=".05" armature=".01" stiffness=".2"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" mass="1"/>
      <body name="lower" pos=".4 0 0"><joint name="b" axis="0 1 .2" damping=".02"/>
        <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".02" mass=".5"/>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="a" kp="2" kv=".1"/><motor joint="b" gear="2"/></actuator>
</mujoco>"""

BOX = """
<mujoco><worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body></worldbody></mujoco>"""


class ParametersTest(AxiondCase):

    def batch(self, mjcf, worlds, **choices):
        batch = self.client.create_batch(self.client.create_model(mjcf=mjcf), worlds, **choices)
        self.addCleanup(batch.delete)
        return batch

    @unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
    def test_worlds_move_as_mujoco_with_their_numbers(self):
        import mujoco
        rng = np.random.default_rng(3)
        worlds, steps = 6, 3000
        batch = self.batch(PENDULUM, worlds, dt=1e-4, precision="float64")
        own = batch.get_parameters()
        self.assertEqual({name: array.shape[1:] for name, array in own.items()}, batch.parameter_shapes)
        for name in ("body_mass", "body_inertia", "axis_damping", "axis_armature", "axis_stiffness",
                     "actuator_gear", "actuator_kp", "actuator_kd"):
            scale = rng.uniform(0.7, 1.4, (worlds,) + (1,) * (own[name].ndim - 1))
            own[name] = own[name] * scale
        own["gravity"] += rng.uniform(-1, 1, own["gravity"].shape)
        own["axis_spring_reference"] += rng.uniform(-.2, .2, own["axis_spring_reference"].shape)
        own["body_center_of_mass"] += rng.uniform(-.03, .03, own["body_center_of_mass"].shape)
        batch.set_state(parameters=own)
        start = rng.uniform(-.5, .5, (worlds, 2))
        batch.set_state(joint_position=start)
        control = rng.uniform(-.5, .5, (worlds, 2))
        got = batch.step(control, steps, outputs=["joint_position"])["joint_position"]

        model = mujoco.MjModel.from_xml_string(PENDULUM)
        for world in range(worlds):
            model.opt.gravity[:] = own["gravity"][world]
            model.dof_damping[:], model.dof_armature[:] = own["axis_damping"][world], own["axis_armature"][world]
            model.jnt_stiffness[:] = own["axis_stiffness"][world]
            model.qpos_spring[:] = own["axis_spring_reference"][world]
            for body in range(2):
                xx, yy, zz, xy, xz, yz = own["body_inertia"][world, body]
                values, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
                axes[:, 2] *= np.sign(np.linalg.det(axes))
                model.body_mass[body + 1] = own["body_mass"][world, body]
                model.body_ipos[body + 1] = own["body_center_of_mass"][world, body]
                model.body_inertia[body + 1] = values
                mujoco.mju_mat2Quat(model.body_iquat[body + 1], axes.reshape(-1))
            kp, kd, gear = (own["actuator_" + name][world] for name in ("kp", "kd", "gear"))
            model.actuator_gainprm[0, 0], model.actuator_biasprm[0, 1:3] = kp[0], (-kp[0], -kd[0])
            model.actuator_gear[:, 0] = gear
            data = mujoco.MjData(model)
            mujoco.mj_setConst(model, data)
            model.qpos_spring[:] = own["axis_spring_reference"][world]
            data.qpos[:], data.ctrl[:] = start[world], control[world]
            mujoco.mj_step(model, data, steps // 10)
            np.testing.assert_allclose(got[world], data.qpos, atol=2e-5)

    def test_a_slope_holds_those_boxes_whose_friction_suffices(self):
        friction = np.array([0.1, 0.25, 0.35, 0.6])
        batch = self.batch(BOX, len(friction))
        floor_and_box = np.repeat(friction[:, None], 2, axis=1)
        tilt = 0.3  # of gravity: the box slides where its coefficient is less
        gravity = np.tile([9.81 * np.sin(np.arctan(tilt)), 0, -9.81 * np.cos(np.arctan(tilt))], (len(friction), 1))
        batch.reset(parameters={"shape_friction": floor_and_box, "gravity": gravity})
        moved = batch.step(steps=200, outputs=["body_pose"])["body_pose"][:, 0, 0]
        np.testing.assert_array_equal(moved > 0.01, friction < tilt)

    def test_numbers_are_given_at_creation_and_travel_with_snapshots(self):
        mass = np.array([[1.0], [3.0]])
        batch = self.batch(BOX, 2, parameters={"body_mass": mass}, seed=1)
        np.testing.assert_array_equal(batch.get_parameters("body_mass")["body_mass"], mass)
        batch.step(steps=20)
        snapshot = batch.get_state("snapshot", worlds=[1])["snapshot"][0]
        other = self.batch(BOX, 1)
        other.set_state(snapshot=snapshot)
        np.testing.assert_array_equal(other.get_parameters(["body_mass"])["body_mass"], [[3.0]])
        np.testing.assert_array_equal(other.step(steps=5, outputs=["body_pose"])["body_pose"][0],
                                      batch.step(steps=5, outputs=["body_pose"])["body_pose"][1])

    def test_what_no_world_can_have_is_refused_with_its_name(self):
        batch = self.batch(PENDULUM, 2)
        before = batch.get_state("snapshot")["snapshot"]
        good = batch.get_parameters()
        for name, value, words in (
                ("body_weight", np.ones((2, 2)), r'state.parameters\["body_weight"\].*body_mass'),
                ("body_mass", np.ones((2, 3)), r'state.parameters\["body_mass"\].shape'),
                ("body_mass", -good["body_mass"], r"world 0: bodies\[0\].mass"),
                ("gravity", np.full((2, 3), np.nan), r'parameters\["gravity"\]'),
                ("axis_lower", good["axis_lower"] - 1, "has no use"),
                ("axis_friction_loss", good["axis_friction_loss"] + 1, r"axes\[0\].friction_loss has no use")):
            with self.subTest(name), self.assertRaisesRegex(axion.InvalidArgumentError, words):
                batch.set_state(parameters={name: value})
        with self.assertRaisesRegex(axion.InvalidArgumentError, "alone"):
            batch.set_state(snapshot=before, parameters={"gravity": good["gravity"]})
        with self.assertRaisesRegex(axion.InvalidArgumentError, r'overrides.parameters\["gravity"\].shape'):
            self.batch(PENDULUM, 3, parameters={"gravity": good["gravity"]})
        with self.assertRaisesRegex(axion.InvalidArgumentError, r"parameters\[0\].*is no parameter"):
            batch.get_parameters("colour")
        self.assertEqual(batch.get_state("snapshot")["snapshot"].tolist(), before.tolist())

    def test_all_numbers_of_many_worlds_in_one_request(self):
        mjcf = (ROOT / "clients/examples/models/quadruped.xml").read_text()
        batch, plain = self.batch(mjcf, 64), self.batch(mjcf, 64)
        own = batch.get_parameters()
        batch.set_state(parameters=own)  # the model's own: nothing changes
        self.assertEqual(batch.get_state("snapshot")["snapshot"].tolist(), plain.get_state("snapshot")["snapshot"].tolist())
        own["body_mass"] = own["body_mass"] * np.linspace(.9, 1.1, 64)[:, None]
        batch.set_state(parameters=own)
        again = batch.get_parameters()
        for name, numbers in own.items():
            np.testing.assert_array_equal(again[name], numbers)
        self.assertTrue((batch.step(steps=10).outcome == 1).all())

    def test_a_fleet_gives_each_server_its_rows(self):
        with axion.Fleet([self.target]) as fleet:
            batch = fleet.create_batch(fleet.create_model(mjcf=BOX), 4)
            gravity = np.zeros((4, 3))
            gravity[:, 0] = np.arange(4)
            batch.set_state(parameters={"gravity": gravity, }, joint_position=np.tile([0, 0, 5, 1, 0, 0, 0], (4, 1)))
            velocity = batch.step(steps=10, outputs=["body_velocity"])["body_velocity"][:, 0, 0]
            dt = self.client.get_batch(self.client.list_batches()[-1].name).dt
            np.testing.assert_allclose(velocity, np.arange(4) * 10 * dt, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
