"""Belts and turntables, through the server, and beside the package mujoco; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

import axion
from axiond_case import AxiondCase

GRAVITY, DT = 9.81, 0.005


class SurfaceVelocityTest(AxiondCase):
    def scene(self, **motion):
        scene = axion.Scene()
        body = scene.body("box", mass=1.0, inertia=(0.0035, 0.0035, 0.0067), position=(0, 0, 0.02))
        scene.shape("plane", "belt", friction=0.4, **motion)
        scene.shape("box", "box", body, size=(0.1, 0.1, 0.02), friction=0.4)
        return scene

    def test_a_belt_takes_a_box_along_and_is_told_of_with_its_model(self):
        model = self.client.create_model(scene=self.scene(surface_velocity=(0.6, -0.8, 0)))
        still = self.client.create_model(scene=self.scene())
        self.assertNotEqual(model.fingerprint, still.fingerprint)
        belt = self.client.get_scene(model).proto.shapes[0]
        self.assertEqual((belt.surface_velocity.x, belt.surface_velocity.y), (0.6, -0.8))
        with self.client.create_batch(model, world_count=2, dt=DT, precision="float64") as batch:
            velocity = batch.step(steps=60, record_every=20, outputs=["body_velocity"])["body_velocity"][:, :, 0, :3]
        speed = np.minimum(1, 0.4 * GRAVITY * DT * np.array([20, 40, 60]))
        np.testing.assert_allclose(velocity, np.tile(speed[:, None] * [0.6, -0.8, 0], (2, 1, 1)), atol=1e-3)

    def test_a_velocity_that_is_no_number_is_refused_by_name(self):
        for name in ("surface_velocity", "surface_angular_velocity"):
            for value in (float("nan"), float("inf"), 1e10):
                with self.assertRaisesRegex(axion.AxionError, rf"shapes\[0\]\.{name}\[1\]"):
                    self.client.create_model(scene=self.scene(**{name: (0, value, 0)}))

    @unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
    def test_what_moving_surfaces_carry_ends_as_with_mujoco(self):
        import mujoco
        text = """<mujoco><option timestep="0.001"/>
          <asset><mesh name="ramp" vertex="-1 -1 -.1 1 -1 -.1 -1 1 -.1 1 1 -.1 -1 -1 0 1 -1 0 -1 1 0 1 1 .1"/></asset>
          <worldbody>
            <geom type="plane" size="9 9 1" pos="0 0 -1"/>
            <geom type="box" size="1 1 .1" pos="0 0 -.1" surfacevel=".3 -.1 .2"/>
            <geom type="mesh" mesh="ramp" pos="5 0 0" euler="0 0 25" surfacevel="0 .2 0 0 0 .1" condim="4"/>
            <geom type="cylinder" size=".5 .1" pos="0 5 -.1" surfacevel="0 0 0 0 0 1.5" condim="4" friction="1 .02"/>
            <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
            <body pos="5.1 0 .15"><freejoint/><geom type="box" size=".1 .1 .05"/></body>
            <body pos="0 5 .1"><freejoint/><geom size=".1"/></body>
          </worldbody></mujoco>"""
        theirs = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(theirs)
        mujoco.mj_step(theirs, data, 700)
        model = self.client.create_model(mjcf=text)
        with self.client.create_batch(model, 1, 0.001, precision="float64", options={"contact_softness": "mjcf"}) as batch:
            answer = batch.step(steps=700, outputs=["joint_velocity", "joint_position"])
        turned = data.qvel.reshape(3, 6).copy()
        for body, velocity in enumerate(turned):  # theirs turn in the body's axes
            velocity[3:] = data.xmat[body + 1].reshape(3, 3) @ velocity[3:]
        np.testing.assert_allclose(answer["joint_velocity"][0].reshape(3, 6), turned, atol=0.02)
        np.testing.assert_allclose(answer["joint_position"][0].reshape(3, 7)[:, :3], data.qpos.reshape(3, 7)[:, :3], atol=5e-3)
        self.assertGreater(data.qvel[0], 0.25)
        self.assertGreater(data.qvel[17], 1.2)


if __name__ == "__main__":
    unittest.main()
