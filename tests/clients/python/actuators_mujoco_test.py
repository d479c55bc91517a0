"""Accelerations by motors at sites, states of actuators and contact sensors, beside those of the package mujoco; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

from axiond_case import AxiondCase

FLYER = """
<mujoco><option timestep="1e-5"/>
  <worldbody>
    <body name="trunk" pos="0 0 1"><freejoint/>
      <geom type="box" size=".2 .1 .1" mass="3"/><site name="trunk" pos=".1 .05 .02" euler="20 30 40"/>
      <body name="arm" pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass=".5"/>
        <body name="hand" pos=".3 0 0"><joint axis="0 0 1"/>
          <geom type="box" size=".05 .06 .07" pos=".05 0 0" mass=".4"/><site name="hand" pos=".05 .02 .01" euler="10 50 -20"/>
        </body>
      </body>
      <body name="tail" pos="-.2 0 0"><joint axis="0 1 1"/>
        <geom type="capsule" fromto="0 0 0 -.3 0 0" size=".03" mass=".3"/><site name="tail" pos="-.2 .01 0" euler="-30 0 15"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor site="hand" refsite="trunk" gear="1 2 -1 .3 -.2 .5"/>
    <motor site="hand" refsite="tail" gear="-1 .5 2 .1 .4 -.3"/>
    <motor site="tail" gear="1 1 0 0 .2 .1"/>
  </actuator>
</mujoco>"""

WHEELS = """
<mujoco><option timestep="1e-4" gravity="0 0 0"/>
  <default><geom type="box" size=".1 .1 .1" mass="1" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="a" axis="1 0 0"/><geom/></body>
    <body pos="1 0 0"><joint name="b" axis="1 0 0" damping=".1"/><geom/></body>
    <body pos="2 0 0"><joint name="c" axis="1 0 0"/><geom/></body>
  </worldbody>
  <actuator>
    <general joint="a" dyntype="integrator" gainprm="2" actlimited="true" actrange="-.005 .012"/>
    <general joint="b" dyntype="filterexact" dynprm=".02" gainprm="3"/>
    <general joint="c" dyntype="filter" dynprm=".05" gainprm="1.5"/>
  </actuator>
</mujoco>"""

# Bodies that rest and lean on each other and slide, with a sensor between each two sides.
SIDES = {"box": 'geom1="box"', "load": 'geom1="load"', "body": 'body1="box"', "tree": 'subtree1="box"', "second": 'geom2="box"',
         "world": 'body1="world"', "both": 'subtree1="box" geom2="floor"', "turned": 'geom1="floor" subtree2="box"',
         "tower": 'geom1="brick" geom2="load"', "apart": 'body1="ball" body2="box"', "zone": 'site="corner"', "all": ""}
READINGS = "".join(f'<contact name="{name}" {sides} reduce="netforce" data="found force normal"/>'
                   f'<contact name="{name} slots" {sides} num="10" data="found normal"/>' for name, sides in SIDES.items())
RESTING = f"""
<mujoco><option timestep=".002" cone="elliptic"/>
  <default><geom solref=".004 1" solimp=".99 .999 .0001" friction=".4"/></default>
  <worldbody><geom name="floor" type="plane" size="5 5 1"/>
    <body name="box" pos="0 0 .2"><freejoint/><geom name="box" type="box" size=".3 .2 .2" mass="3"/>
      <site name="corner" pos=".3 .2 -.2" size=".05"/>
      <body pos=".1 0 .3"><geom name="load" type="box" size=".15 .15 .1" mass="2"/></body></body>
    <body pos=".1 0 .65"><freejoint/><geom name="brick" type="box" size=".1 .1 .05" mass="1"/></body>
    <body name="ball" pos="2 0 .1"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
  </worldbody>
  <sensor>{READINGS}</sensor>
</mujoco>"""


@unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
class BesideMujoco(AxiondCase):
    def made(self, text):
        import mujoco
        model = mujoco.MjModel.from_xml_string(text)
        self.made_of = self.client.create_model(mjcf=text)
        return mujoco, model, mujoco.MjData(model), self.client.create_batch(self.made_of, 1, precision="float64")

    def test_motors_at_sites_accelerate_bodies_alike_whatever_moves_their_reference(self):
        mujoco, model, data, batch = self.made(FLYER)
        draw = np.random.default_rng(0)
        for control in (*(3 * np.eye(3)), *draw.normal(size=(3, 3))):
            pose = draw.normal(size=model.nq)
            pose[3:7] /= np.linalg.norm(pose[3:7])
            data.qpos[:], data.qvel[:], data.ctrl[:] = pose, 0, control
            mujoco.mj_forward(model, data)
            theirs = data.qacc.copy()
            theirs[3:6] = data.xmat[1].reshape(3, 3) @ theirs[3:6]  # a free joint's turn: theirs in the body's axes, ours in the world's
            batch.reset(joint_position=pose[None], joint_velocity=np.zeros((1, model.nv)))
            ours = batch.step(control[None], outputs=["joint_velocity"])["joint_velocity"][0] / model.opt.timestep
            self.assertLess(np.abs(ours - theirs).max() / np.abs(theirs).max(), 1e-6)

    def test_activations_follow_the_control_alike(self):
        mujoco, model, data, batch = self.made(WHEELS)
        batch.set_state(activation=np.array([[0.001, 0.2, -0.1]]))
        data.act[:] = [0.001, 0.2, -0.1]
        for control in ([1, 1, 1], [-1, 0.3, 2]):
            data.ctrl[:] = control
            answer = batch.step(np.array([control], float), steps=200, outputs=["activation", "joint_velocity"])
            mujoco.mj_step(model, data, 200)
            # Their `filter` is Euler's, h / 2T off; ours is exact.
            off = np.abs(answer["activation"][0] - data.act)
            self.assertTrue((off <= [1e-12, 1e-12, 2e-3]).all(), off)
            np.testing.assert_allclose(answer["joint_velocity"][0], data.qvel, rtol=5e-3)

    def test_contact_sensors_read_the_sides_alike(self):
        mujoco, model, data, batch = self.made(RESTING)
        for _ in range(1000):
            mujoco.mj_step(model, data)
        ours = batch.step(steps=1000, outputs=["sensor_data"])["sensor_data"][0]
        for name in SIDES:
            theirs, net = data.sensor(name).data, ours[self.made_of.sensors[name]]
            self.assertEqual(net[0], theirs[0], name)
            # One corner of a box that rests may hold friction against the others.
            forces = slice(3, None) if name == "zone" else slice(1, None)
            np.testing.assert_allclose(net[forces], theirs[forces], atol=0.05, err_msg=name)
            # Slots come in the order of the contacts, which is each engine's own.
            slots = ours[self.made_of.sensors[name + " slots"]].reshape(10, 4)
            their_slots = data.sensor(name + " slots").data.reshape(10, 4)
            np.testing.assert_allclose(slots[np.lexsort(slots.round(2).T)], their_slots[np.lexsort(their_slots.round(2).T)], atol=1e-2,
                                       err_msg=name)



if __name__ == "__main__":
    unittest.main()
