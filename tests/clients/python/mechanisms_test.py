"""Loops, rebounds, effort limits, dry friction and the choices of the method as a person in Python meets them."""

import unittest

import numpy as np

import axion
from axiond_case import AxiondCase

PRESETS = ("default", "axion_seed", "velocity")
Y = (0, 1, 0)
THIN = (0.02, 0.02, 0.002)
ROUND = (0.004, 0.004, 0.004)


def four_bar(restitution=0.0):
    """A crank of 0.5 m, a coupler of 1 m and a rocker of 0.75 m above the ground, and a ball beside them."""
    scene = axion.Scene("four-bar")
    crank = scene.body("crank", mass=1, inertia=THIN, position=(0, 0, 2), center_of_mass=(0, 0, 0.25))
    coupler = scene.body("coupler", mass=1, inertia=THIN, position=(0, 0, 2.5), center_of_mass=(0.5, 0, 0))
    rocker = scene.body("rocker", mass=1, inertia=THIN, position=(1, 0, 1.75), center_of_mass=(0, 0, 0.4))
    driven = scene.hinge("crank", crank, axis=Y)
    scene.hinge("elbow", coupler, crank, axis=Y)
    scene.hinge("rocker", rocker, axis=Y, friction_loss=0.1)
    scene.hinge("closure", rocker, coupler, axis=Y, anchor=(0, 0, 0.75))
    scene.actuator("position", "crank", driven, kp=100, kd=5, effort_range=(-8, 8))
    ball = scene.body("ball", mass=1, inertia=ROUND, position=(0, 5, 1.1))
    scene.shape("sphere", "ball", ball, size=0.1, restitution=restitution)
    scene.shape("plane", "ground")
    return scene


def rotor(**hinge):
    """A wheel of 0.5 kg m^2 on a hinge, without gravity."""
    scene = axion.Scene("rotor", gravity=(0, 0, 0))
    wheel = scene.body("wheel", mass=1, inertia=(0.3, 0.5, 0.3))
    return scene, scene.hinge("axle", wheel, axis=Y, **hinge)


def points(poses, at):
    """Points given in the body frame, in the world: poses [..., 7]."""
    w, vector = poses[..., 3:4], poses[..., 4:]
    at = np.broadcast_to(np.asarray(at, float), vector.shape)
    return poses[..., :3] + at + 2 * w * np.cross(vector, at) + 2 * np.cross(vector, np.cross(vector, at))


class Mechanisms(AxiondCase):
    def batch(self, scene, dt, **arguments):
        model = self.client.create_model(scene=scene)
        return model, self.enterContext(self.client.create_batch(model, 1, dt, precision="float64", **arguments))

    def refused(self, call):
        with self.assertRaises(axion.InvalidArgumentError) as caught:
            call()
        return [violation.field for violation in caught.exception.field_violations], str(caught.exception)

    def test_a_loop_stays_closed_and_a_ball_beside_it_rebounds(self):
        for preset in PRESETS:
            with self.subTest(preset):
                model, batch = self.batch(four_bar(0.5), 1e-3, preset=preset)
                poses = batch.step(control=[0.5], steps=900, record_every=1, outputs=["body_pose"])["body_pose"][0]
                gaps = points(poses[:, 1], (1, 0, 0)) - points(poses[:, 2], (0, 0, 0.75))
                self.assertLess(np.linalg.norm(gaps, axis=-1).max(), 1e-4 if preset == "velocity" else 1e-6)
                self.assertGreater(np.abs(poses[:, 0, 5]).max(), 0.1, "the crank has not turned")
                heights = poses[:, 3, 2] - 0.1
                self.assertLess(abs(heights).min(), 1e-3)
                self.assertAlmostEqual(heights[np.argmin(heights):].max(), 0.25, delta=0.0025)  # e^2 of 1 m

    def test_a_model_tells_its_loops_and_limits(self):
        model = self.client.create_model(scene=four_bar())
        self.assertEqual(model.loop_joint_names, ["closure"])
        self.assertEqual((model.joint_position_count, model.joint_velocity_count), (3, 3))
        closure = model.proto.joints[3]
        self.assertTrue(closure.closes_loop)
        self.assertEqual((closure.position_count, closure.velocity_count), (0, 0))
        np.testing.assert_array_equal(model.effort_limits(), [[-8, 8]])
        self.assertEqual(model.proto.joints[2].axes[0].friction_loss, 0.1)
        text = self.tool("models", model.name)
        for part in ("closes a loop", "dry friction 0.1", "effort -8 .. 8"):
            self.assertIn(part, text)

    def test_a_drive_gives_no_more_than_its_limit_times_gear(self):
        for kind in ("position", "velocity", "motor"):
            with self.subTest(kind):
                scene, axle = rotor()
                gains = {"kd": 50} if kind != "motor" else {}
                scene.actuator(kind, "drive", axle, gear=3, effort_range=(-1, 2),
                               **({"kp": 1000} if kind == "position" else {}), **gains)
                _, batch = self.batch(scene, 1e-3)
                speed = batch.step(control=[1000.0], steps=100, outputs=["joint_velocity"])["joint_velocity"][0, 0]
                self.assertAlmostEqual(speed, 2 * 3 / 0.5 * 0.1, delta=1e-2)
                batch.reset()
                speed = batch.step(control=[-1000.0], steps=100, outputs=["joint_velocity"])["joint_velocity"][0, 0]
                self.assertAlmostEqual(speed, -1 * 3 / 0.5 * 0.1, delta=1e-2)

    def test_dry_friction_slows_a_wheel_evenly_and_holds_it(self):
        for preset in PRESETS:
            with self.subTest(preset):
                scene, _ = rotor(friction_loss=1.0)
                _, batch = self.batch(scene, 1e-3, preset=preset)
                batch.set_state(joint_position=[[0.0]], joint_velocity=[[2.0]])
                result = batch.step(steps=1200, record_every=100, outputs=["joint_velocity"])["joint_velocity"][0, :, 0]
                expected = np.maximum(2 - 1 / 0.5 * 0.1 * np.arange(1, 13), 0)
                np.testing.assert_allclose(result, expected, atol=5e-3)

    def test_options_come_back_as_they_were_chosen(self):
        _, batch = self.batch(four_bar(), 1e-3, preset="velocity",
                              options={"baumgarte": 0.3, "linear_solver": "dense_direct", "half_step_start": False})
        options = batch.proto.options
        self.assertEqual((options.preset, options.constraint_level, options.joint_mode), (3, 2, 1))
        self.assertEqual((options.baumgarte, options.linear_solver, options.half_step_start), (0.3, 7, False))

    def test_choices_without_meaning_are_refused_by_field(self):
        model = self.client.create_model(scene=four_bar())

        def refused(preset=None, **options):
            return self.refused(lambda: self.client.create_batch(model, 1, preset=preset, options=options))

        fields, text = refused("velocity", joint_mode="blended")
        self.assertEqual(fields, ["options.joint_mode"])
        self.assertIn("must be PREVIOUS", text)
        for solver in ("pcr_jacobi", "pcr_tree"):
            fields, text = refused(linear_solver=solver, joint_mode="current")
            self.assertEqual(fields, ["options.linear_solver"])
            self.assertIn("NATURAL_MAP", text)
        self.assertEqual(refused(linear_solver="pcr_tree", friction_model="scalar_fixed_point")[0],
                         ["options.linear_solver"])
        self.assertEqual(refused(baumgarte=2)[0], ["options.baumgarte"])

    def test_scenes_without_meaning_are_refused_by_field(self):
        def refused(change):
            scene = four_bar()
            change(scene.proto)
            return self.refused(lambda: self.client.create_model(scene=scene))

        def set_to(path, value):
            def change(proto):
                *way, last = path
                for step in way:
                    proto = getattr(proto, step) if isinstance(step, str) else proto[step]
                setattr(proto, last, value)
            return change

        fields, text = refused(set_to(("shapes", 0, "restitution"), 2))
        self.assertEqual(fields, ["scene.shapes[0].restitution"])
        self.assertIn("it is 2", text)
        for path, value, field in (
                (("joints", 3, "axes", 0, "damping"), 1, "scene.joints[3].axes[0].damping"),
                (("joints", 0, "lock_stiffness"), -1, "scene.joints[0].lock_stiffness"),
                (("actuators", 0, "joint"), 3, "scene.actuators[0].joint"),
                (("actuators", 0, "effort_lower"), 9, "scene.actuators[0].effort_lower"),
                (("shapes", 0, "contact_damping"), 9, "scene.shapes[0].contact_damping")):
            self.assertEqual(refused(set_to(path, value))[0], [field])


if __name__ == "__main__":
    unittest.main()
