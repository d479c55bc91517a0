"""Torsional and rolling friction of a native scene, through the server; see axiond_case.py."""

import unittest

import numpy as np

import axion
from axiond_case import AxiondCase

GRAVITY, RADIUS, DT = 9.81, 0.1, 0.005


class MomentFrictionTest(AxiondCase):
    def model(self, **choices):
        scene = axion.Scene()
        body = scene.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004), position=(0, 0, RADIUS))
        scene.shape("plane", "floor")
        scene.shape("sphere", "ball", body, size=RADIUS, **choices)
        return self.client.create_model(scene=scene)

    def test_a_spin_is_slowed_by_the_moment_that_its_contact_reports(self):
        model = self.model(cone_dimension=4, torsional_friction=0.004)
        with self.client.create_batch(model, world_count=2, dt=DT, precision="float64") as batch:
            batch.set_state(body_velocity=np.tile([0, 0, 0, 0, 0, 9.0], (2, 1, 1)))
            velocity = batch.step(steps=20, outputs=["body_velocity"])["body_velocity"]
            contacts = batch.contacts()
        np.testing.assert_allclose(velocity[:, 0, 5], 9 - 0.004 * GRAVITY / 0.004 * 20 * DT, atol=1e-3)
        sign = np.where(contacts.body_a >= 0, 1, -1)[:, None]
        np.testing.assert_allclose(sign * contacts.moment_impulse, np.tile([0, 0, -0.004 * GRAVITY * DT], (2, 1)), atol=1e-6)

    def test_a_coefficient_below_zero_is_refused_by_name(self):
        for name in ("torsional_friction", "rolling_friction"):
            with self.assertRaisesRegex(axion.AxionError, rf"shapes\[1\]\.{name}: must be at least 0"):
                self.model(cone_dimension=6, **{name: -1.0})


if __name__ == "__main__":
    unittest.main()
