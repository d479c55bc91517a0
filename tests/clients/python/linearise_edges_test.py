"""Where linearisations end: kinks, coordinates that cannot be moved, worlds that freeze, and what no joint coordinate says."""

import unittest

import numpy as np

import axion
import linearise_test as scenes
from axiond_case import AxiondCase


class EdgesTest(AxiondCase):
    def batch(self, mjcf, worlds=1, **choices):
        batch = self.client.create_batch(self.client.create_model(mjcf=mjcf), worlds, precision="float64", **choices)
        self.addCleanup(batch.delete)
        return batch

    def test_a_soft_contact_that_is_met_before_the_step_on_one_side_alone_is_flagged(self):
        mjcf = scenes.SLAB.replace('type="box" size="0.4 0.4 0.02"', 'type="sphere" size="0.1"')
        batch = self.batch(mjcf, options={"contact_softness": "mjcf"})
        for gap, kink in ((0, True), (1e-4, False), (-1e-4, False)):
            lin = batch.linearise(joint_position=[[0, 0, 0.1 + gap, 1, 0, 0, 0]], joint_velocity=[[0.1, 0, -0.7, 0, 0, 0]])
            self.assertEqual(lin.kink[0, 0, 2], kink, gap)

    def test_after_a_step_that_ends_non_finite_the_world_stands(self):
        mjcf = scenes.CART_POLE.replace("</mujoco>", '<sensor><jointpos joint="slider"/></sensor></mujoco>')
        batch = self.batch(mjcf, 2)
        control = np.zeros((2, 4, 1))
        control[0, 1] = 1.7e308
        lin = batch.linearise(control=control, joint_velocity=[[1.0, 0.0]] * 2)
        frozen = np.array([[False, True, True, True], [False] * 4])
        np.testing.assert_array_equal((lin.outcome & axion.Outcome.NON_FINITE) != 0, frozen)
        for matrices in (lin.A, lin.B, lin.C, lin.D):
            np.testing.assert_array_equal(np.isnan(matrices).all(axis=(2, 3)), frozen)
            np.testing.assert_array_equal(np.isnan(matrices).any(axis=(2, 3)), frozen)
        batch.set_state(joint_velocity=[[1.0, 0.0]] * 2)
        own = batch.step(control=control, steps=4, record_every=1, outputs=["joint_position", "joint_velocity", "outcome"])
        np.testing.assert_array_equal((own["outcome"] & axion.Outcome.NON_FINITE) != 0, frozen)
        np.testing.assert_allclose(lin.joint_position[0, 1:], own["joint_position"][0], atol=1e-9)
        np.testing.assert_array_equal(lin.joint_position[0, 2:], lin.joint_position[0, [1, 1, 1]])
        np.testing.assert_array_equal(np.isnan(lin.sensor_data[0, :, 0]), [False, False, True, True])

    def test_a_coordinate_that_is_too_great_to_be_moved_by_the_difference_has_none_by_differences(self):
        batch = self.batch(scenes.SLAB)
        lin = batch.linearise(joint_position=[[1e12, 0, 5, 1, 0, 0, 0]], method="differences")
        A = lin.A[0, 0]
        exact = batch.linearise(joint_position=[[1e12, 0, 5, 1, 0, 0, 0]])
        self.assertEqual(exact.method[0, 0], "exact")
        np.testing.assert_allclose(exact.A[0, 0, :3, :3], np.eye(3), atol=1e-12)
        np.testing.assert_array_equal(np.isnan(A).all(axis=0), np.arange(12) == 0)
        self.assertFalse(np.isnan(A[:, 1:]).any())
        for bounds, B in (("", np.nan), ('ctrllimited="true" ctrlrange="-1 1"', 0)):  # of what is held beyond them nothing comes
            batch = self.batch(scenes.PENDULUM.replace('gear="3.0"', 'gear="3.0" ' + bounds))
            np.testing.assert_array_equal(batch.linearise(control=[1e12], method="differences").B[0, 0], [[B], [B]])

    def test_with_steps_that_begin_by_half_a_step_the_trajectory_is_that_of_the_batch(self):
        off = {}
        for half, steps in ((True, 20), (True, 40), (False, 20), (False, 40)):
            batch = self.batch(scenes.DOUBLE_PENDULUM, dt=0.2 / steps, options={"half_step_start": half, "tolerance": 1e-11})
            batch.set_state(joint_position=[[0.3, 0.4]], joint_velocity=[[2.0, -3.0]])
            lin = batch.linearise(control=np.zeros((1, steps, 0)))
            own = batch.step(steps=steps, outputs=["joint_velocity"])["joint_velocity"][0]
            off[half, steps] = np.abs(lin.joint_velocity[0, -1] - own).max()
        self.assertLess(off[True, 40], 1e-3)
        self.assertGreater(off[True, 20], 3 * off[True, 40])     # of second order, as the method
        self.assertGreater(off[False, 40], 0.7 * off[False, 20])  # the velocities that the joints do not let are lost


if __name__ == "__main__":
    unittest.main()
