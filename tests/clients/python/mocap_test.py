"""Mocap bodies through the server: placed by steps and by states, and what they pull beside MuJoCo; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

from axiond_case import AxiondCase

HAND = """
<mujoco><option timestep="1e-4"/><worldbody><body mocap="true" name="hand" pos="0 0 1"/>
  <body name="box" pos=".3 0 1"><freejoint/><geom type="box" size=".1 .05 .2" pos=".05 0 .02" density="300"/></body></worldbody>
  <equality><weld body1="hand" body2="box" solref=".05 .4" solimp=".5 .8 .1" torquescale=".3"/></equality>
  <keyframe><key name="aside" qpos=".3 1 1 1 0 0 0" mpos="0 1 1"/></keyframe></mujoco>"""
THERE = np.array([.05, .03, 1.02, np.cos(.2), 0, np.sin(.2), 0])


class MocapTest(AxiondCase):

    def batch(self, worlds, **choices):
        model = self.client.create_model(mjcf=HAND)
        self.assertEqual([body.name for body in model.proto.mocaps], ["hand"])
        batch = self.client.create_batch(model, worlds, 1e-4, precision="float64", **choices)
        self.addCleanup(batch.delete)
        return batch

    def test_each_world_has_its_own_and_keyframes_and_snapshots_place_them(self):
        batch = self.batch(2)
        poses = np.array([[[0, 0, 1, 1, 0, 0, 0]], [THERE]])
        batch.step(steps=2, mocap_pose=poses)
        np.testing.assert_allclose(batch.get_state("mocap_pose")["mocap_pose"], poses, atol=1e-12)
        kept = batch.get_state("snapshot")["snapshot"]
        batch.reset(keyframe="aside")
        np.testing.assert_allclose(batch.get_state("mocap_pose")["mocap_pose"][:, 0, :3], [[0, 1, 1]] * 2)
        batch.set_state(snapshot=kept)
        np.testing.assert_allclose(batch.get_state("mocap_pose")["mocap_pose"], poses, atol=1e-12)
        batch.set_state(worlds=[0], mocap_pose=poses[1:])
        np.testing.assert_allclose(batch.get_state("mocap_pose")["mocap_pose"][0], poses[1], atol=1e-12)

    @unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
    def test_it_pulls_as_mujocos(self):
        import mujoco
        batch = self.batch(1, options={"contact_softness": "mjcf"})
        ours = batch.step(steps=2000, outputs=["joint_position"], mocap_pose=THERE[None, None])["joint_position"][0]
        model = mujoco.MjModel.from_xml_string(HAND)
        model.opt.timestep = 1e-5
        data = mujoco.MjData(model)
        data.mocap_pos[0], data.mocap_quat[0] = THERE[:3], THERE[3:]
        mujoco.mj_step(model, data, 20000)
        np.testing.assert_allclose(ours, data.qpos, atol=2e-4)


if __name__ == "__main__":
    unittest.main()
