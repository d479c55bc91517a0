"""Gradients of steps through the server: beside products of linearisations and differences; see axiond_case.py."""

import asyncio
import threading

import numpy as np

import axion
import axion.aio
from axiond_case import AXIOND, ROOT, AxiondCase
from axiond_process import AxiondProcess

QUADRUPED = ROOT / "clients/examples/models/quadruped.xml"
ARM = """<mujoco><option timestep="0.01"/><worldbody><body pos="0 0 2"><joint name="a" axis="0 1 0" damping=".1"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.5" mass="1"/><body pos=".1 0 -.5"><joint name="b" axis="0 1 .3" stiffness="2"/>
  <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass=".6"/></body></body></worldbody>
  <actuator><motor joint="a" gear="3"/><motor joint="b"/></actuator></mujoco>"""
BALL = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="9 9 .1"/><body pos="0 0 .099">
  <freejoint/><geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>"""


class StepGradientTest(AxiondCase):
    def batch(self, worlds=1, **choices):
        model = self.client.create_model(**({"mjcf": ARM} if "path" not in choices else {"path": choices.pop("path")}))
        batch = self.client.create_batch(model, worlds, **{"precision": "float64", **choices})
        self.addCleanup(batch.delete)
        return model, batch

    def test_it_is_the_product_of_the_matrices_of_a_linearisation(self):
        model, batch = self.batch(2, path=QUADRUPED)
        batch.step(steps=40)
        rng, k = np.random.default_rng(2), 4
        control = rng.uniform(-0.2, 0.2, (2, k, model.proto.control_count))
        lin = batch.linearise(control=control)
        x, nv = lin.A.shape[2], model.proto.joint_velocity_count
        last, by_rate = rng.normal(size=(2, x)), rng.normal(size=(2, k, nv))
        found = batch.step_gradient({"joint_velocity": by_rate}, control=control, steps=k, record_every=1, state_gradient=last,
                                    outputs=["joint_velocity"])
        carry, by_control = last.copy(), np.empty_like(control)
        for t in reversed(range(k)):
            carry[:, nv:2 * nv] += by_rate[:, t]
            by_control[:, t] = np.einsum("nxu,nx->nu", lin.B[:, t], carry)
            carry = np.einsum("nxy,nx->ny", lin.A[:, t], carry)
        self.assertEqual(found.outcome.tolist(), ["exact", "exact"])
        np.testing.assert_allclose(found.state, carry, atol=1e-10 * np.abs(carry).max())
        np.testing.assert_allclose(found.control, by_control, atol=1e-10 * np.abs(by_control).max())
        np.testing.assert_array_equal(found.outputs["joint_velocity"], lin.joint_velocity[:, 1:])
        np.testing.assert_array_equal(found.joint_velocity, found.state[:, nv:2 * nv])
        self.assertEqual([one.name for one in found.coordinates], [one.name for one in lin.coordinates])

    def test_two_calls_are_one_with_what_the_later_hands_on(self):
        _, batch = self.batch()
        control = np.random.default_rng(1).normal(size=(1, 6, 2))
        of_end = {"body_pose": np.random.default_rng(4).normal(size=(1, 2, 7))}
        whole = batch.step_gradient(of_end, control=control, steps=6, outputs=["joint_position", "joint_velocity"], inputs="gravity")
        first = batch.step_gradient(control=control[:, :2], steps=2, outputs=["joint_position", "joint_velocity"])
        second = batch.step_gradient(of_end, control=control[:, 2:], steps=4, inputs="gravity", **first.outputs)
        start = batch.step_gradient(control=control[:, :2], steps=2, state_gradient=second.state, inputs="gravity")
        # joint_position that is set again is that of the bodies but for rounding
        np.testing.assert_allclose(start.state, whole.state, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(np.concatenate([start.control, second.control], axis=1), whole.control, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(start.inputs["gravity"] + second.inputs["gravity"], whole.inputs["gravity"], rtol=1e-7, atol=1e-9)

    def test_parameters_of_worlds_have_theirs(self):
        _, batch = self.batch(2)
        mass = np.array([[1.0, 0.6], [1.3, 0.4]])
        batch.set_state(parameters={"body_mass": mass})
        start = {"joint_position": [[0.3, 0.2]] * 2, "joint_velocity": [[1.0, -0.5]] * 2}

        def end(masses):
            batch.set_state(parameters={"body_mass": masses})
            return batch.step_gradient(control=[0.1, 0.2], steps=5, outputs="joint_velocity", **start).outputs["joint_velocity"].sum(axis=1)
        found = batch.step_gradient({"joint_velocity": np.ones((2, 2))}, control=[0.1, 0.2], steps=5, inputs=["body_mass"], **start)
        self.assertEqual(found.inputs["body_mass"].shape, (2, 2))
        for body in range(2):
            by = 1e-5 * np.eye(2)[body]
            np.testing.assert_allclose(found.inputs["body_mass"][:, body], (end(mass + by) - end(mass - by)) / 2e-5, rtol=1e-5)

    def test_a_law_without_an_exact_derivative_is_named(self):
        model = self.client.create_model(mjcf=BALL)
        batch = self.client.create_batch(model, 2, precision="float64", options={"contact_softness": "mjcf"})
        self.addCleanup(batch.delete)
        found = batch.step_gradient({"joint_velocity": np.ones((2, 6))}, steps=3, inputs=["friction_scale"],
                                    joint_velocity=[[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
        self.assertEqual(found.outcome.tolist(), ["inexact"] * 2)
        self.assertEqual(found.law.tolist(), [["soft contact"] * 3] * 2)
        lin = batch.linearise(control=np.zeros((2, 3, 0)), joint_velocity=[[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
        of = np.concatenate([np.zeros(6), np.ones(6)])
        for world in range(2):
            expected = of @ lin.A[world, 2] @ lin.A[world, 1] @ lin.A[world, 0]
            np.testing.assert_allclose(found.state[world], expected, atol=1e-7 * np.abs(expected).max())

    def test_a_world_that_goes_beyond_all_bounds_is_alone_in_that(self):
        model, batch = self.batch(2, path=QUADRUPED)
        nv = model.proto.joint_velocity_count
        found = batch.step_gradient({"joint_velocity": np.ones((2, nv))}, steps=3, inputs="gravity", outputs="joint_velocity",
                                    joint_velocity=[[0.0] * nv, [1e29] * nv])
        self.assertEqual(found.outcome.tolist(), ["exact", "non finite"])
        for numbers in (found.state, found.joint_position, found.control, found.inputs["gravity"], found.outputs["joint_velocity"]):
            self.assertTrue(np.isfinite(numbers[0]).all())
            self.assertTrue(np.isnan(numbers[1]).all())

    def test_nothing_of_the_batch_changes_and_clients_at_once_have_the_answers_of_one(self):
        model, batch = self.batch(3, path=QUADRUPED)
        before = list(batch.get_state("snapshot")["snapshot"])
        of = {"joint_position": np.arange(1.0, 4.0)[:, None] * np.ones((3, model.proto.joint_position_count))}

        def ask(one):
            return one.step_gradient(of, steps=3, inputs=["mass_scale"])
        alone, answers = ask(batch), []
        self.assertEqual(list(batch.get_state("snapshot")["snapshot"]), before)
        with axion.Client(self.target) as other:
            threads = [threading.Thread(target=lambda one=one: answers.append(ask(one))) for one in (batch, other.get_batch(batch.name))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(answers), 2)

        async def later():
            async with axion.aio.Client(self.target) as client:
                return await (await client.get_batch(batch.name)).step_gradient(of, steps=3, inputs=["mass_scale"])
        for answer in [*answers, asyncio.run(later())]:
            np.testing.assert_array_equal(answer.state, alone.state)
            np.testing.assert_array_equal(answer.inputs["mass_scale"], alone.inputs["mass_scale"])
        some = batch.step_gradient({"joint_position": of["joint_position"][2:]}, worlds=[2], steps=3)
        np.testing.assert_array_equal(some.state, alone.state[[2]])
        with AxiondProcess(AXIOND) as second, axion.Fleet([self.target, second.address]) as fleet:
            worlds = fleet.create_batch(fleet.create_model(path=QUADRUPED), 3, precision="float64")
            joined = ask(worlds)
            np.testing.assert_array_equal(joined.state, alone.state)
            self.assertEqual(joined.outcome.tolist(), alone.outcome.tolist())

    def test_bad_input_is_refused_by_its_field(self):
        _, batch = self.batch(2)
        for field, arguments in (
                ("step_count", {"steps": 0}),
                ("record_every", {"steps": 4, "record_every": 3}),
                ("control", {"control": np.zeros((2, 3, 2)), "steps": 4}),
                ("body_wrench", {"body_wrench": np.full((2, 2, 6), np.inf)}),
                ("state_gradient", {"state_gradient": np.zeros((2, 5))}),
                ('output_gradients["joint_position"]', {"output_gradients": {"joint_position": np.zeros((2, 3))}}),
                ('output_gradients["joint_position"]', {"output_gradients": {"joint_position": np.full((2, 2), np.nan)}}),
                ('output_gradients["contact_count"]', {"output_gradients": {"contact_count": np.zeros(2)}}),
                ("outputs[0]", {"outputs": "control"}),
                ("inputs[1]", {"inputs": ["gravity", "body_inertia"]}),
                ("inputs[0]", {"inputs": "weight"}),
                ("inputs[1]", {"inputs": ["gravity", "gravity"]}),
                ("difference", {"difference": 1.0}),
                ("start.joint_position", {"joint_position": [[np.nan, 0.0]] * 2})):
            with self.subTest(field=field, arguments=arguments), self.assertRaises(axion.InvalidArgumentError) as refused:
                batch.step_gradient(**arguments)
            self.assertTrue(refused.exception.field_violations[0].field.startswith(field), refused.exception)
