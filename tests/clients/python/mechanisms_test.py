"""Loops, rebounds, effort limits, dry friction and the choices of the method as a person in Python meets them."""

import unittest

import numpy as np

import axion
from axion.v1 import actuator_pb2
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

    def test_a_nut_turns_down_its_screw_by_its_pitch(self):
        pitch, mass, inertia, dt = 0.02, 2.0, 0.003, 2e-3
        scene = axion.Scene("screw")
        nut = scene.body("nut", mass=mass, inertia=(inertia, inertia, inertia), position=(0.3, 0, 1), rotation=(0.6, 0, 0.8, 0))
        axis = (0.96, 0.0, 0.28)  # of the nut: straight down
        down = points(np.array([[0, 0, 0, 0.6, 0, 0.8, 0]]), axis)[0]
        joint = scene.screw("screw", nut, pitch=pitch, axis=axis, limits=(-1000, 50))
        model, batch = self.batch(scene, dt)
        result = batch.step(steps=1000, record_every=1, outputs=["joint_position", "joint_velocity", "body_pose"])
        travel, turn = result["joint_position"][0].T
        self.assertTrue(batch.solver_stats().converged_fraction == 1)
        np.testing.assert_allclose(travel, pitch * turn, atol=1e-9)
        # (m p^2 + I) theta'' = m g p, and nothing else gives way.
        gain = 9.81 * mass * pitch * -down[2] / (mass * pitch ** 2 + inertia)
        time = dt * np.arange(1, 1001)
        free = 0.5 * gain * time ** 2
        moving = free < 49
        np.testing.assert_allclose(turn[moving], free[moving], rtol=2e-3, atol=1e-4)
        self.assertAlmostEqual(turn[-1], 50, delta=1e-3)  # at its stop
        place = result["body_pose"][0, :, 0]
        np.testing.assert_allclose(place[:, :3], [0.3, 0, 1] + travel[:, None] * down, atol=1e-9)
        self.assertEqual(joint, 0)

    def test_a_puck_slides_and_spins_in_its_plane_alone(self):
        scene = axion.Scene("puck", gravity=(0, 0, -9.81))
        puck = scene.body("puck", mass=1, inertia=(0.01, 0.01, 0.02), position=(0, 0, 1))
        normal = np.array([0.6, 0, 0.8])
        joint = scene.planar("puck", puck, normal=normal, limits=((-0.5, 0.5), None, None))
        spin = scene.actuator("motor", "spin", joint, axis=2)
        model, batch = self.batch(scene, 1e-3)
        self.assertEqual(model.joint_position_count, 3)
        result = batch.step(control=np.full((1, 1), 0.04), steps=2000, record_every=1, outputs=["joint_position", "body_pose"])
        x, y, turn = result["joint_position"][0].T
        time = 1e-3 * np.arange(1, 2001)
        inertia = 0.36 * 0.01 + 0.64 * 0.02
        np.testing.assert_allclose(turn, 0.5 * 0.04 / inertia * time ** 2, atol=1e-5)
        # The slope falls along x: g sin of the angle between normal and z, until the limit.
        falling = 0.5 * 9.81 * 0.6 * time ** 2
        np.testing.assert_allclose(np.abs(x[falling < 0.49]), falling[falling < 0.49], atol=1e-4)
        self.assertAlmostEqual(abs(x[-1]), 0.5, delta=1e-4)
        np.testing.assert_allclose(y, 0, atol=1e-9)
        np.testing.assert_allclose((result["body_pose"][0, :, 0, :3] - [0, 0, 1]) @ normal, 0, atol=1e-9)
        self.assertEqual(spin, 0)

    def test_a_distance_keeps_two_bodies_apart_as_a_rod_does(self):
        scene = axion.Scene("dumbbell", gravity=(0, 0, 0))
        balls = [scene.body(f"b{k}", mass=1 + k, inertia=ROUND, position=(k, 0, 0)) for k in range(2)]
        for k, ball in enumerate(balls):
            scene.free(f"f{k}", ball)
        scene.distance("rod", scene.frame(balls[0]), scene.frame(balls[1]), 1.0)
        with self.assertRaises(ValueError):
            scene.distance("none", scene.frame(balls[0]), scene.frame(balls[1]), 0)
        model, batch = self.batch(scene, 2e-3)
        speed, dt = 3.0, 2e-3
        velocity = np.zeros((1, 12))
        velocity[0, 1], velocity[0, 7] = -2 * speed / 3, speed / 3  # about their centre, at 1 m
        velocity[0, 2] = velocity[0, 8] = 0.5
        batch.set_state(joint_velocity=velocity)
        result = batch.step(steps=10000, record_every=100, outputs=["body_pose", "body_velocity"])
        self.assertEqual(batch.solver_stats().converged_fraction, 1)
        one, other = result["body_pose"][0, :, 0, :3], result["body_pose"][0, :, 1, :3]
        apart = other - one
        np.testing.assert_allclose(np.linalg.norm(apart, axis=1), 1, atol=1e-6)
        # Both levels: what is between them does not change, in velocity either, and the rod turns at speed / length.
        rates = result["body_velocity"][0, :, 1, :3] - result["body_velocity"][0, :, 0, :3]
        np.testing.assert_allclose(np.einsum("ni,ni->n", rates, apart), 0, atol=1e-4)
        angle = np.unwrap(np.arctan2(apart[:, 1], apart[:, 0]))
        np.testing.assert_allclose(angle, speed * dt * 100 * np.arange(1, 101), rtol=1e-3)
        centre = (one + 2 * other) / 3
        np.testing.assert_allclose(centre[:, 2], 0.5 * dt * 100 * np.arange(1, 101), rtol=1e-9)

    def test_what_joints_carry_is_told_beside_what_they_may(self):
        mass, length, dt = 2.0, 0.5, 1e-3
        scene = axion.Scene("bracket")
        for k, name in enumerate(("held", "swung", "plain")):
            body = scene.body(name, mass=mass, inertia=ROUND, position=(0, k, 1), center_of_mass=(length, 0, 0))
            if name == "held":
                scene.fixed(name, body, break_force=40.0, break_torque=5.0)
            elif name == "swung":
                scene.axes(name, body, axes=[scene.hinge_axis(name, Y)], break_force=50.0)
            else:
                scene.hinge(name, body, axis=Y)
        model, batch = self.batch(scene, dt)
        self.assertEqual([joint.name for joint in model.proto.joints], ["held", "swung", "plain"])  # the first is no weld
        self.assertEqual(batch.get_state(["break_ratio"])["break_ratio"].tolist(), [[0, 0, 0]])
        held, swung, plain = batch.step(steps=50, outputs=["break_ratio"])["break_ratio"][0]
        self.assertAlmostEqual(held, mass * 9.81 * length / 5.0, delta=1e-3)  # its torque, beyond the limit; m g is half of 40 N
        self.assertEqual(plain, 0)
        self.assertEqual(model.named(batch.get_state(["break_ratio"])).joint("held").break_ratio[0], held)
        # The swing's greatest force is at the lowest point: m g + m r omega^2, half of I omega^2 being m g r.
        inertia = mass * length ** 2 + ROUND[1]
        lowest = mass * 9.81 + mass * length * 2 * mass * 9.81 * length / inertia
        self.assertLess(swung, 0.6 * lowest / 50)
        swung = batch.step(steps=1000, outputs=["break_ratio"])["break_ratio"][0, 1]
        self.assertAlmostEqual(swung / (lowest / 50), 1, delta=2e-3)
        # The field of the impulses says the same of one step, and the ratio stays until the world begins anew.
        impulse = batch.step(outputs=["joint_impulse"])["joint_impulse"][0, 0]
        self.assertAlmostEqual(np.linalg.norm(impulse[:3]) / dt, mass * 9.81, delta=1e-3)
        self.assertAlmostEqual(batch.get_state(["break_ratio"])["break_ratio"][0, 1], swung, places=12)
        batch.reset()
        self.assertEqual(batch.get_state(["break_ratio"])["break_ratio"].tolist(), [[0, 0, 0]])

    def test_break_limits_are_of_what_a_joint_locks(self):
        def scene(**limits):
            scene = axion.Scene("ball")
            body = scene.body("b", mass=1, inertia=ROUND)
            scene.ball("joint", body, **limits)
            return scene

        for limits in ({"break_torque": 1.0}, {"break_force": -1.0}):
            fields, text = self.refused(lambda: self.client.create_model(scene=scene(**limits)))
            self.assertEqual(fields, [f"scene.joints[0].{list(limits)[0]}"], text)
        self.client.create_model(scene=scene(break_force=1.0))

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

    def test_an_equality_of_two_coordinates_names_its_polynomial(self):
        def two_rotors(*polynomial, second=True):
            scene, first = rotor()
            other = scene.hinge("other", scene.body("other", mass=1, inertia=(0.3, 0.5, 0.3)), axis=Y)
            equality = scene.proto.equalities.add(name="gear", polynomial=polynomial)
            equality.first.joint = first
            if second:
                equality.second.joint = other
            return scene

        fields, text = self.refused(lambda: self.client.create_model(scene=two_rotors()))
        self.assertEqual(fields, ["scene.equalities[0].polynomial"])
        self.assertIn("must have 1 to 5 numbers where there is a second; it has 0", text)
        for scene in (two_rotors(0), two_rotors(second=False)):  # both hold the first at 0, and say so
            model = self.client.create_model(scene=scene)
            described = self.client.get_scene(model).proto.equalities[0]
            self.assertEqual(list(described.polynomial), [0])
            self.client.create_model(scene=self.client.get_scene(model))

    def test_a_filter_of_no_time_follows_within_a_step(self):
        scene, axle = rotor()
        scene.actuator("motor", "motor", axle, activation=actuator_pb2.ACTIVATION_KIND_FILTER)
        _, batch = self.batch(scene, 1e-3)
        batch.step(control=[[3.0]])
        self.assertEqual(batch.get_state("activation")["activation"].tolist(), [[3.0]])

    def test_the_first_branch_of_a_path_may_count_by_a_pulley_too(self):
        def length(*pulleys):
            scene, _ = rotor()
            path = scene.proto.tendons.add(name="string").path
            for divisor in pulleys:
                path.add(kind=actuator_pb2.TENDON_POINT_KIND_PULLEY, divisor=divisor)
            for body, x in ((-1, 3), (0, 1)):
                path.add(kind=actuator_pb2.TENDON_POINT_KIND_SITE, frame=scene.frame(body, (x, 0, 0)))
            scene.sensor("tendon_position", "length", tendon=0)
            _, batch = self.batch(scene, 1e-3)
            return float(batch.step(outputs=["sensor_data"])["sensor_data"].flat[0])

        self.assertAlmostEqual(length(), 2, places=9)
        self.assertAlmostEqual(length(4), 0.5, places=9)

    def test_an_impedance_beyond_the_law_s_is_its_nearest(self):
        def motion(*solimp):
            scene = four_bar()
            for shape in scene.proto.shapes:  # mixed first
                shape.softness.solimp.extend(solimp)
            _, batch = self.batch(scene, 1e-3, options={"contact_softness": "mjcf"})
            return batch.step(steps=600, outputs=["body_pose"])["body_pose"].tobytes()

        self.assertEqual(motion(2, 7, -1, 3, 500), motion(0.9999, 0.9999, 0, 0.9999, 100))
        self.assertNotEqual(motion(2, 7, -1, 3, 500), motion(0.9, 0.95, 0.001, 0.5, 2))


if __name__ == "__main__":
    unittest.main()
