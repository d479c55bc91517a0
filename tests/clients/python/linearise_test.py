"""Linearisations through the server: closed formulas, and differences of states that are set and stepped; see axiond_case.py."""

import asyncio
import importlib.util
import pathlib
import threading
import unittest

import grpc
import numpy as np

import axion
import axion.aio
from axiond_case import AXIOND, ROOT, AxiondCase
from axion.v1 import linearize_pb2, simulation_pb2_grpc
from axiond_process import AxiondProcess, eventually

QUADRUPED = ROOT / "clients/examples/models/quadruped.xml"
MASS, LENGTH, INERTIA, GRAVITY, CART, GEAR, DT = 0.7, 0.5, 0.02, 9.81, 1.3, 3.0, 0.01

POLE = f"""<inertial pos="0 0 -{LENGTH}" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>"""
PENDULUM = f"""<mujoco><option timestep="{DT}"/><worldbody><body name="pole" pos="0 0 2">
  <joint name="hinge" axis="0 -1 0"/>{POLE}</body></worldbody>
  <actuator><motor joint="hinge" gear="{GEAR}"/></actuator></mujoco>"""
CART_POLE = f"""<mujoco><option timestep="{DT}"/><worldbody><body name="cart" pos="0 0 2">
  <joint name="slider" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="{CART}" diaginertia="1 1 1"/>
  <body name="pole"><joint name="hinge" axis="0 -1 0"/>{POLE}</body></body></worldbody>
  <actuator><motor joint="slider" gear="{GEAR}"/></actuator></mujoco>"""
DOUBLE_PENDULUM = """<mujoco><option timestep="0.01"/><worldbody><body pos="0 0 2"><joint axis="0 1 0" damping=".05"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.5" mass="1"/><body pos=".1 0 -.5"><joint axis="0 1 .3" stiffness="2"/>
  <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass=".6"/></body></body></worldbody></mujoco>"""
SLAB = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="9 9 .1" friction="0.5"/>
  <body name="slab" pos="0 0 0.02"><freejoint name="slab"/><geom type="box" size="0.4 0.4 0.02" mass="2" friction="0.5"/></body>
  </worldbody></mujoco>"""


def complex_derivatives(residual, z, parameters):
    """dz/dparameters of residual(z, parameters) = 0, by steps along the imaginary axis."""
    def columns(f, at):
        step = 1e-30
        return np.stack([np.imag(f(at + 1j * step * unit)) / step for unit in np.eye(len(at))], axis=1)
    return -np.linalg.solve(columns(lambda p: residual(p, parameters), np.asarray(z, complex)),
                            columns(lambda p: residual(z, p), np.asarray(parameters, complex)))


def pendulum_step(z, p):
    """Backward Euler in Cartesian coordinates: z is the turn of the step, p angle, rate and control."""
    turn, (angle, rate, control) = z[0], p
    arm = MASS * LENGTH ** 2 * (np.sin(turn) / DT - rate * np.cos(turn)) + INERTIA * (turn / DT - rate)
    return np.array([arm + DT * MASS * GRAVITY * LENGTH * np.sin(angle + turn) - DT * GEAR * control])


def cart_pole_step(z, p):
    """Likewise: z is how far the cart goes in the step, and the turn; p place, angle, their rates and control."""
    (way, turn), (_, angle, speed, rate, control) = z, p
    def bob(s, a):
        return np.array([s + LENGTH * np.sin(a), -LENGTH * np.cos(a)])
    before = np.array([speed + LENGTH * rate * np.cos(angle), LENGTH * rate * np.sin(angle)])
    change = (bob(way, angle + turn) - bob(0, angle)) / DT - before
    along = np.array([np.cos(angle + turn), np.sin(angle + turn)])
    return np.array([CART * (way / DT - speed) + MASS * change[0] - DT * GEAR * control,
                     MASS * LENGTH * (along @ change) + INERTIA * (turn / DT - rate)
                     + DT * MASS * GRAVITY * LENGTH * np.sin(angle + turn)])


def quaternion_product(a, b):
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def rotated(q, v):
    return quaternion_product(quaternion_product(q, np.array([0, *v])), q * [1, -1, -1, -1])[1:]


def await_idle(server):
    """Waits until nothing is in a server's queue: a call is answered a moment before it leaves it."""
    if not eventually(lambda: server.metric("axion_queue_depth") == 0):
        raise AssertionError("what is asked of the device does not end")


def await_begun(server):
    """Waits until a server that was idle has a call in its queue, which then is under way."""
    if not eventually(lambda: server.metric("axion_queue_depth") > 0):
        raise AssertionError("nothing is asked of the device")


class LineariseTest(AxiondCase):
    def batch(self, mjcf, worlds=1, **choices):
        model = self.client.create_model(mjcf=mjcf)
        batch = self.client.create_batch(model, worlds, **{"precision": "float64", **choices})
        self.addCleanup(batch.delete)
        return model, batch

    def check_closed_form(self, mjcf, step, q, v, u):
        """Matrices of a backward Euler step, whose equations are step(z, p) = 0 of the changes of q."""
        _, batch = self.batch(mjcf, options={"joint_mode": "current"})
        lin = batch.linearise(joint_position=[q], joint_velocity=[v], control=[u])
        n = len(q)
        z, p = (lin.joint_position[0, 1] - lin.joint_position[0, 0]), np.concatenate([q, v, u])
        np.testing.assert_allclose(step(z, p), 0, atol=1e-11)
        np.testing.assert_allclose(lin.joint_velocity[0, 1], z / DT, atol=1e-10)
        dz = complex_derivatives(step, z, p)
        place = np.eye(n, 2 * n + len(u)) + dz
        expected = np.concatenate([place, dz / DT])
        self.assertFalse(lin.kink.any())
        self.assertTrue(lin.converged.all())
        # 1e-12 of curvature, and rounding of some 1e-14 over 1e-6.
        np.testing.assert_allclose(lin.A[0, 0], expected[:, :2 * n], atol=3e-8 * np.abs(expected).max())
        np.testing.assert_allclose(lin.B[0, 0], expected[:, 2 * n:], atol=3e-8 * np.abs(expected).max())
        return lin

    def test_a_pendulum_has_the_matrices_of_its_backward_euler_step(self):
        for q, v, u in (([0.0], [0.0], [0.0]), ([1.1], [-2.0], [0.4]), ([3.0], [5.0], [-1.0])):
            lin = self.check_closed_form(PENDULUM, pendulum_step, q, v, u)
        self.assertEqual(lin.names, ["hinge", "d(hinge)/dt"])
        self.assertEqual([one.unit for one in lin.coordinates], ["rad", "rad/s"])

    def test_a_cart_pole_has_the_matrices_of_its_backward_euler_step(self):
        for q, v, u in (([0.0, np.pi], [0.0, 0.0], [0.0]), ([0.3, 0.8], [1.0, -2.0], [0.5])):
            self.check_closed_form(CART_POLE, cart_pole_step, q, v, u)

    def displaced(self, model, position, k, by):
        """Joint coordinates moved along coordinate k of joint_velocity."""
        position = np.array(position)
        for joint in model.proto.joints:
            i = k - joint.velocity_start
            if not 0 <= i < joint.velocity_count:
                continue
            p = joint.position_start
            if joint.position_count != 7 or i < 3:
                position[p + i] += by
                continue
            q = position[p + 3:p + 7].copy()
            turn = np.array([np.cos(by / 2), 0, 0, 0])
            turn[1 + i - 3] = np.sin(by / 2)
            center = model.proto.bodies[joint.child].center_of_mass
            center = np.array([center.x, center.y, center.z])
            position[p + 3:p + 7] = quaternion_product(turn, q)
            position[p:p + 3] += rotated(q, center) - rotated(position[p + 3:p + 7], center)
        return position

    def check_dense(self, model, position, velocity, control, atol, worlds=None, **choices):
        """A and B beside differences of a batch whose worlds are the sides of each, set and stepped."""
        nv, nu, d = model.proto.joint_velocity_count, model.proto.control_count, 1e-5
        columns = 2 * nv + nu
        with self.client.create_batch(model, 1, **choices) as batch:
            lin = batch.linearise(joint_position=[position], joint_velocity=[velocity], control=[control])
        rows = [np.concatenate([position, velocity, control]) for _ in range(2 * columns)]
        nq = len(position)
        for c in range(columns):
            for side in (0, 1):
                by = d if side == 0 else -d
                if c < nv:
                    rows[2 * c + side][:nq] = self.displaced(model, position, c, by)
                else:
                    rows[2 * c + side][nq + c - nv] += by
        rows = np.array(rows)
        for c in range(2 * nv):  # what is moved is told as the change that it is
            change = lin.deviation(model, rows[2 * c, :nq], rows[2 * c, nq:nq + nv])
            np.testing.assert_allclose(change[0], d * np.eye(2 * nv)[c], atol=1e-13)
        with self.client.create_batch(model, 2 * columns, precision="float64",
                                      options={"tolerance": 1e-11, "max_newton_iterations": 100}, **choices) as sides:
            sides.set_state(joint_position=rows[:, :nq], joint_velocity=rows[:, nq:nq + nv])
            end = sides.step(control=rows[:, nq + nv:] if nu else None, outputs=["joint_position", "joint_velocity"])
        for c in range(columns):
            found = lin.A[0, 0, :, c] if c < 2 * nv else lin.B[0, 0, :, c - 2 * nv]
            rates = (end["joint_velocity"][2 * c] - end["joint_velocity"][2 * c + 1]) / (2 * d)
            if not lin.kink[0, 0, c]:
                np.testing.assert_allclose(found[nv:], rates, atol=atol * (1 + np.abs(rates).max()), err_msg=lin.names[c % (2 * nv)])
            for joint in model.proto.joints:
                if joint.position_count in (0, 4, 7) or lin.kink[0, 0, c]:
                    continue
                p, v, count = joint.position_start, joint.velocity_start, joint.position_count
                places = (end["joint_position"][2 * c] - end["joint_position"][2 * c + 1])[p:p + count] / (2 * d)
                np.testing.assert_allclose(found[v:v + count], places, atol=atol * (1 + np.abs(places).max()))
        return lin

    def test_a_double_pendulum_has_the_matrices_of_set_state_and_step(self):
        model = self.client.create_model(mjcf=DOUBLE_PENDULUM)
        lin = self.check_dense(model, np.array([0.8, -0.5]), np.array([1.0, 2.0]), np.zeros(0), 1e-7)
        self.assertFalse(lin.kink.any())

    def test_a_quadruped_that_stands_has_the_matrices_of_set_state_and_step(self):
        model = self.client.create_model(path=QUADRUPED)
        control = np.asarray(model.hold_control("stand"), float)
        with self.client.create_batch(model, 1, precision="float64") as batch:
            batch.reset(keyframe="stand")
            batch.step(control=control, steps=400)
            state = batch.get_state(["joint_position", "joint_velocity"])
            position, velocity = state["joint_position"][0], state["joint_velocity"][0]
        lin = self.check_dense(model, position, velocity, control, 2e-5)
        self.assertLess(lin.kink.mean(), 0.2)

    @unittest.skipUnless(importlib.util.find_spec("gymnasium"), "gymnasium is not installed")
    def test_a_humanoid_in_the_air_has_the_matrices_of_set_state_and_step(self):
        path = pathlib.Path(importlib.util.find_spec("gymnasium").origin).parent / "envs/mujoco/assets/humanoid.xml"
        model = self.client.create_model(path=path)
        rng = np.random.default_rng(4)
        with self.client.create_batch(model, 1, precision="float64") as batch:
            position = np.array(batch.get_state("joint_position")["joint_position"][0])
        position[2] = 3
        velocity = rng.normal(scale=0.5, size=model.proto.joint_velocity_count)
        control = rng.uniform(-0.3, 0.3, model.proto.control_count)
        lin = self.check_dense(model, position, velocity, control, 1e-6)
        self.assertTrue(lin.converged.all())
        self.assertEqual(lin.A.shape[2], 46)

    def test_a_slab_at_rest_stays_whatever_its_speed_and_place(self):
        _, batch = self.batch(SLAB, options={"half_step_start": False})
        batch.step(steps=200)
        lin = batch.linearise()
        self.assertFalse(lin.kink.any(), lin.kink)
        A, h = lin.A[0, 0], 0.005
        x, y, z, yaw = 0, 1, 2, 5
        for k in (x, y, yaw):  # sticks: where it is it stays, and its speed is gone
            np.testing.assert_allclose(A[k, k], 1, atol=1e-4)
            np.testing.assert_allclose(A[[6 + k, k], [6 + k, 6 + k]], 0, atol=1e-4)
        # A lift comes down in one step, and a push ends at the floor. The contact's compliance leaves a little.
        np.testing.assert_allclose([A[z, z], A[z, 6 + z] / h], 0, atol=2e-2)
        np.testing.assert_allclose(A[6 + z, z] * h, -1, atol=2e-2)

    def test_a_slab_that_slides_loses_speed_across_as_its_friction_turns(self):
        _, batch = self.batch(SLAB, options={"half_step_start": False})
        batch.step(steps=200)
        speed, h, slow = 0.8, 0.005, 0.5 * GRAVITY * 0.005
        lin = batch.linearise(joint_velocity=[[speed, 0, 0, 0, 0, 0]])
        self.assertFalse(lin.kink[0, 0, :9].any(), lin.kink)
        A = lin.A[0, 0]
        np.testing.assert_allclose(lin.joint_velocity[0, 1, 0], speed - slow, rtol=1e-4)
        np.testing.assert_allclose(A[6, 6], 1, atol=1e-4)                       # along: friction does not depend on it
        np.testing.assert_allclose(A[7, 7], (speed - slow) / speed, atol=1e-4)  # across: it points along the slip
        np.testing.assert_allclose([A[0, 6] / h, A[1, 7] / h], [1, (speed - slow) / speed], atol=1e-4)

    def test_a_step_to_the_edge_of_a_contact_is_flagged(self):
        _, batch = self.batch(SLAB, options={"half_step_start": False})
        h = 0.005
        gap = GRAVITY * h * h  # what it falls in a step: it touches at the end of it, without a load
        lin = batch.linearise(joint_position=[[0, 0, 0.02 + gap, 1, 0, 0, 0]], joint_velocity=[[0] * 6])
        self.assertTrue(lin.kink[0, 0, 2] and lin.kink[0, 0, 8])
        far = batch.linearise(joint_position=[[0, 0, 1, 1, 0, 0, 0]], joint_velocity=[[0] * 6])
        self.assertFalse(far.kink.any())
        np.testing.assert_allclose(far.A[0, 0, 2, 8], h, rtol=1e-6)

    def test_sensors_have_their_matrices(self):
        mjcf = PENDULUM.replace("</mujoco>", """<sensor><jointpos joint="hinge"/><jointvel joint="hinge"/>
            <framepos objtype="body" objname="pole"/></sensor></mujoco>""")
        _, batch = self.batch(mjcf)
        lin = batch.linearise(joint_position=[[0.4]], joint_velocity=[[1.0]], control=[0.2])
        np.testing.assert_allclose(lin.C[0, 0, :2], lin.A[0, 0], atol=1e-7)
        np.testing.assert_allclose(lin.D[0, 0, :2], lin.B[0, 0], atol=1e-7)
        angle = lin.joint_position[0, 1, 0]  # of the pole's centre, that moves as it turns
        np.testing.assert_allclose(lin.sensor_data[0, 0, 2:], [LENGTH * np.sin(angle), 0, 2 - LENGTH * np.cos(angle)], atol=1e-9)
        moves = LENGTH * np.array([np.cos(angle), 0, np.sin(angle)])
        np.testing.assert_allclose(lin.C[0, 0, 2:], np.outer(moves, lin.A[0, 0, 0]), atol=1e-7)
        without = batch.linearise(sensors=False)
        self.assertIsNone(without.C), self.assertIsNone(without.sensor_data)

    def test_activations_are_of_the_state(self):
        mjcf = PENDULUM.replace('<motor joint="hinge" gear="3.0"/>',
                                '<general joint="hinge" gear="3" dyntype="filterexact" dynprm="0.1" actlimited="true" actrange="-1 1"/>')
        _, batch = self.batch(mjcf)
        lin = batch.linearise(control=[0.2], activation=[[0.3]])
        self.assertEqual(lin.A.shape, (1, 1, 3, 3))
        self.assertEqual(lin.names[2], "actuator0")
        kept = np.exp(-DT / 0.1)
        np.testing.assert_allclose(lin.A[0, 0, 2], [0, 0, kept], atol=1e-8)
        np.testing.assert_allclose(lin.B[0, 0, 2], [1 - kept], atol=1e-8)
        self.assertGreater(lin.A[0, 0, 1, 2], 1e-3)
        at_bound = batch.linearise(control=[0.2], activation=[[1.0]])
        np.testing.assert_allclose(at_bound.A[0, 0, 2], [0, 0, kept], atol=1e-8)

    def test_nothing_of_the_batch_changes_and_worlds_are_those_asked_for(self):
        model, batch = self.batch(QUADRUPED.read_text(), 4, precision="float32", seed=3, joint_position_noise=0.05,
                                  joint_velocity_noise=0.1)
        batch.step(steps=20)
        before = list(batch.get_state("snapshot")["snapshot"])
        control = np.random.default_rng(1).uniform(-1, 1, (4, 2, model.proto.control_count))
        whole = batch.linearise(control=control)
        self.assertEqual(list(batch.get_state("snapshot")["snapshot"]), before)
        self.assertEqual(whole.A.shape[:2], (4, 2))
        some = batch.linearise(worlds=[2, 0], control=control[[2, 0]])
        np.testing.assert_array_equal(some.A, whole.A[[2, 0]])
        np.testing.assert_array_equal(some.joint_position, whole.joint_position[[2, 0]])
        np.testing.assert_array_equal(some.kink, whole.kink[[2, 0]])

    def test_two_clients_at_once_have_the_answers_of_one(self):
        model, batch = self.batch(QUADRUPED.read_text(), 2)
        alone, answers = batch.linearise(), []
        with axion.Client(self.target) as other:
            theirs = other.get_batch(batch.name)
            steps = self.client.create_batch(model, 1)
            self.addCleanup(steps.delete)
            threads = [threading.Thread(target=lambda of=of: answers.append(of.linearise())) for of in (batch, theirs)]
            for thread in threads:
                thread.start()
            steps.step(steps=50)  # of another batch, between pieces
            for thread in threads:
                thread.join()
        self.assertEqual(len(answers), 2)
        for answer in answers:
            np.testing.assert_array_equal(answer.A, alone.A)

    def test_asyncio_and_a_fleet_have_the_same_answers(self):
        model, batch = self.batch(QUADRUPED.read_text(), 3, precision="float32")
        expected = batch.linearise()

        async def ask():
            async with axion.aio.Client(self.target) as client:
                return await (await client.get_batch(batch.name)).linearise()
        np.testing.assert_array_equal(asyncio.run(ask()).A, expected.A)
        with AxiondProcess(AXIOND) as second, axion.Fleet([self.target, second.address]) as fleet:
            worlds = fleet.create_batch(fleet.create_model(path=QUADRUPED), 3)
            joined = worlds.linearise(worlds=[2, 0, 1])
            np.testing.assert_array_equal(joined.A, expected.A)
            self.assertEqual(joined.names, expected.names)

    def test_a_deadline_ends_it_between_pieces(self):
        model, batch = self.batch(QUADRUPED.read_text(), 64)
        nu = model.proto.control_count
        with self.assertRaises(axion.DeadlineExceededError):
            batch.linearise(control=np.zeros((64, 60, nu)), timeout=0.3)
        batch.step(timeout=10)  # all of it would take a minute, and the batch would wait
        self.assertEqual(batch.get_state("step_index")["step_index"].tolist(), [1] * 64)

    def test_a_cancelled_call_ends_between_pieces(self):
        model, batch = self.batch(QUADRUPED.read_text(), 64)
        request = linearize_pb2.LinearizeRequest(
            batch=batch.name, control=axion.to_tensor(np.zeros((64, 60, model.proto.control_count))))
        with grpc.insecure_channel(self.target) as channel:
            await_idle(self.server)
            call = simulation_pb2_grpc.SimulationStub(channel).Linearize.future(request)
            await_begun(self.server)
            self.assertTrue(call.cancel())
            self.assertIs(call.code(), grpc.StatusCode.CANCELLED)
            batch.step(timeout=10)  # it would wait for a minute

    def test_deleting_its_batch_ends_it_between_pieces(self):
        model = self.client.create_model(path=QUADRUPED)
        batch, errors = self.client.create_batch(model, 64), []

        def ask():
            try:
                batch.linearise(control=np.zeros((64, 60, model.proto.control_count)))
            except axion.AxionError as error:
                errors.append(error)
        thread = threading.Thread(target=ask)
        await_idle(self.server)
        thread.start()
        await_begun(self.server)
        batch.delete(timeout=10)  # all of it would take a minute
        thread.join()
        self.assertIsInstance(errors[0], axion.AbortedError)

    def test_it_says_how_the_matrices_were_made_and_why(self):
        model, batch = self.batch(SLAB, 2)
        batch.step(steps=200)
        exact = batch.linearise(control=np.zeros((2, 3, 0)))
        np.testing.assert_array_equal(exact.method, [["exact"] * 3] * 2)
        np.testing.assert_array_equal(exact.law, [[""] * 3] * 2)
        differences = batch.linearise(control=np.zeros((2, 3, 0)), method="differences", difference=1e-5)
        np.testing.assert_array_equal(differences.method, [["differences"] * 3] * 2)
        np.testing.assert_array_equal(differences.law, [[""] * 3] * 2)
        for one, other in ((exact.A, differences.A), (exact.B, differences.B)):
            np.testing.assert_allclose(one, other, atol=2e-5 * np.abs(exact.A).max())
        np.testing.assert_array_equal(exact.joint_position, differences.joint_position)
        soft = self.client.create_batch(model, 1, options={"contact_softness": "mjcf"})
        self.addCleanup(soft.delete)
        lin = soft.linearise()
        self.assertEqual((lin.method[0, 0], lin.law[0, 0]), ("differences", "soft contact"))
        with self.assertRaisesRegex(ValueError, "^method: 'both' is none of exact, differences"):
            batch.linearise(method="both")

    def test_bad_input_is_refused_with_its_field(self):
        model, batch = self.batch(PENDULUM, 2)
        nan = np.array([[np.nan], [0]])
        for words, choices in (
                (r"world_indices\[0\]: is 5", {"worlds": [5]}),
                (r"world_indices\[1\]: names world 1 again", {"worlds": [1, 1]}),
                (r"control.shape: is \[2, 2\]; it must be \[2, 1\]", {"control": np.zeros((2, 2))}),
                (r"control.shape: has 0 steps", {"control": np.zeros((2, 0, 1))}),
                (r"control.shape: is \[1, 3, 1\]", {"control": np.zeros((1, 3, 1))}),
                (r"control: the value at \[0, 0\] is nan", {"control": nan}),
                (r"start.joint_position.shape: is \[2, 3\]", {"joint_position": np.zeros((2, 3))}),
                (r"start.joint_velocity: the value at \[0, 0\] is nan", {"joint_velocity": nan}),
                (r"difference: is 1;", {"difference": 1.0}),
                (r"difference: is -1e-06;", {"difference": -1e-6})):
            with self.subTest(words), self.assertRaisesRegex(axion.InvalidArgumentError, words):
                batch.linearise(**choices)
        with self.assertRaisesRegex(TypeError, "difference"):
            batch.linearise(difference="small")
        loose, _ = self.batch(PENDULUM), None
        scene = self.client.get_scene(loose[0])
        scene.proto.joints[0].lock_stiffness = 1e5
        soft = self.client.create_batch(self.client.create_model(scene=scene), 1)
        self.addCleanup(soft.delete)
        with self.assertRaisesRegex(axion.InvalidArgumentError, "batch: joints.0. of its model, \"hinge\", has a lock_stiffness"):
            soft.linearise()

    def test_an_answer_that_is_too_large_is_refused(self):
        _, batch = self.batch(QUADRUPED.read_text(), 1)
        with self.assertRaisesRegex(axion.ResourceExhaustedError, "max_message_bytes"):
            batch.linearise(control=np.zeros((1, 6000, 12)))


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class ServerTest(unittest.TestCase):
    def test_a_drain_that_gives_up_ends_it(self):
        with AxiondProcess(AXIOND, "--drain_timeout_seconds=1") as server, axion.Client(server.address, retry=0) as client:
            batch = client.create_batch(client.create_model(path=QUADRUPED), 64)
            errors = []

            def ask():
                try:
                    batch.linearise(control=np.zeros((64, 60, 12)))
                except axion.AxionError as error:
                    errors.append(error)
            thread = threading.Thread(target=ask)
            await_idle(server)
            thread.start()
            await_begun(server)
            self.assertEqual(server.stop(), 0)
            thread.join()
            self.assertIsInstance(errors[0], axion.UnavailableError)

    def test_worlds_that_do_not_fit_in_memory_are_refused_and_given_back(self):
        with AxiondProcess(AXIOND, "--memory_limit=256MiB") as server, axion.Client(server.address, retry=0) as client:
            model = client.create_model(path=QUADRUPED)
            with client.create_batch(model, 1) as batch:
                batch.linearise()
                with self.assertRaisesRegex(axion.ResourceExhaustedError, "memory_limit: the answer would take"):
                    batch.linearise(control=np.zeros((1, 2500, 12)))
                # Beside worlds that leave less and less free: the answer, the worlds that are stepped, or all of it fits.
                refusals = []
                for worlds in range((64 << 20) // batch.memory_bytes, 0, -3):
                    try:
                        with client.create_batch(model, worlds):
                            batch.linearise(sensors=False)
                            break
                    except axion.ResourceExhaustedError as error:
                        refusals.append(str(error))
                self.assertTrue(any("the worlds that are stepped for the linearisation would take" in one for one in refusals), refusals)
                batch.linearise()  # nothing is held any more


if __name__ == "__main__":
    unittest.main()
