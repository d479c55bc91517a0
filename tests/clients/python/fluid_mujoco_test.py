"""Bodies with ellipsoids in a fluid beside those of the package mujoco; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

from axiond_case import AxiondCase


def falling(geom: str, wind: str = "0 0 0") -> str:
    return f"""
<mujoco><option timestep="1e-4" integrator="RK4" density="1.2" viscosity="1.8e-5" wind="{wind}"/>
  <worldbody><body name="b"><freejoint/>{geom}</body></worldbody>
</mujoco>"""


CARD = '<geom type="ellipsoid" size=".06 .04 .002" mass=".004" fluidshape="ellipsoid"/>'
BALL = '<geom size=".05" mass=".05" fluidshape="ellipsoid" fluidcoef=".4 .2 1.2 1 .8"/>'
# Two shapes off the centre, turned, of other coefficients; a geom without one is not acted on.
GLIDER = ('<geom type="box" size=".02 .02 .02" mass=".01"/>'
          '<geom type="ellipsoid" size=".1 .03 .004" pos=".01 .05 0" euler="0 20 10" mass=".004" fluidshape="ellipsoid"/>'
          '<geom type="capsule" size=".01 .05" pos="-.02 -.05 .01" euler="70 0 0" mass=".003" fluidshape="ellipsoid" '
          'fluidcoef="1 .1 2 .5 0"/>')


@unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
class BesideMujoco(AxiondCase):
    def compare(self, text, velocity, seconds, dt):
        """The greatest distance of the places and angle of the turns, of the way and the turn that are made."""
        import mujoco
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        data.qvel[:] = velocity
        records, every = 20, round(seconds / 20 / dt)
        batch = self.client.create_batch(self.client.create_model(mjcf=text), 1, dt, precision="float64", options={"tolerance": 1e-8})
        mujoco.mj_forward(model, data)
        # Ours are of the centre of mass, and turns in the world's axes.
        centre = data.subtree_com[1] - data.xpos[1]
        turn = data.xmat[1].reshape(3, 3) @ data.qvel[3:]
        ours = np.concatenate([data.qvel[:3] + np.cross(turn, centre), turn])
        batch.set_state(joint_velocity=ours[None])
        place = batch.step(steps=records * every, record_every=every, outputs=["body_pose"])["body_pose"][0, :, 0]
        worst, worst_turn, way = 0.0, 0.0, 0.0
        for k in range(records):
            while data.time < (k + 1) * every * dt - 1e-9:
                mujoco.mj_step(model, data)
            worst = max(worst, np.linalg.norm(place[k, :3] - data.qpos[:3]))
            worst_turn = max(worst_turn, 2 * np.arccos(min(1.0, abs(place[k, 3:] @ data.qpos[3:]))))
            way = max(way, np.linalg.norm(data.qpos[:3]))
        return worst / way, worst_turn

    def test_bodies_that_fall_and_spin_go_alike(self):
        cases = {"ball": (BALL, (6, 2, 4, 10, -30, 60), 1.0), "card": (CARD, (2, .5, 1, 3, 12, 2), 0.5),
                 "glider": (GLIDER, (3, 1, -1, 4, -3, 2), 0.5)}
        for name, (geom, velocity, seconds) in cases.items():
            for wind in ("0 0 0", "1 -2 .5"):
                with self.subTest(name, wind=wind):
                    place, turn = self.compare(falling(geom, wind), velocity, seconds, 5e-4)
                    finer, _ = self.compare(falling(geom, wind), velocity, seconds, 1.25e-4)
                    self.assertLess(place, 0.01)
                    self.assertLess(turn, 0.05)  # rad, of several turns
                    self.assertLess(finer, 0.6 * place + 1e-6)


if __name__ == "__main__":
    unittest.main()
