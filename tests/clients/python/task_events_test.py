"""What a task does to worlds of itself: pushes, and parameters that episodes draw; see axiond_case.py."""

import pathlib
import tempfile
import unittest

import numpy as np

import axion
from axiond_case import AXIOND, AxiondCase, AxiondProcess

QUADRUPED = pathlib.Path(__file__).resolve().parents[3] / "clients" / "examples" / "models" / "quadruped.xml"
# A free ball with a pendulum on it, far above the floor, a slide, and a floor.
SCENE = """<mujoco><option gravity="0 0 0"/><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="ball" pos="0 0 50"><freejoint name="free"/><geom name="ball" type="sphere" size="0.1" mass="2"/>
  <body name="arm" pos="0 0 -0.2"><joint name="hinge" axis="0 1 0"/><geom name="arm" type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"
   mass="1"/></body></body>
  <body name="cart" pos="0 3 1"><joint name="rail" type="slide" axis="1 0 0" damping="1"/><geom name="cart" type="sphere" size="0.1"
   mass="4"/></body></worldbody>
  <actuator><motor name="drive" joint="rail"/><position name="hold" joint="hinge" kp="3"/></actuator></mujoco>"""
VELOCITY = {"quantity": {"body": "ball", "body_quantity": "BODY_QUANTITY_VELOCITY"}}
CART = {"quantity": {"body": "cart", "body_quantity": "BODY_QUANTITY_VELOCITY"}}


def task(**parts):
    return {"observation": [VELOCITY, CART], "action": {"frame_skip": 2}, **parts}


class EventsCase(AxiondCase):
    def batch(self, worlds, spec, **choices):
        model = self.client.create_model(mjcf=SCENE)
        return self.enterContext(self.client.create_batch(model, worlds, 0.005, task=spec, **{"precision": "float64", **choices}))

    def run_steps(self, batch, steps, **more):
        """Observations of the start and of each step: [steps + 1, n, k]."""
        first = batch.get_state("body_velocity")["body_velocity"]
        action = np.zeros((len(first), batch.proto.task.action_size))
        return np.array([batch.step_task(action, **more).observation for _ in range(steps)])

    def assert_refused(self, cases, **more):
        for parts, text in cases:
            with self.subTest(str(parts)[:200]), self.assertRaisesRegex(axion.InvalidArgumentError, text):
                self.batch(1, task(**parts, **more))
        self.assertEqual(self.client.list_batches(), [])


class Pushes(EventsCase):
    def test_a_change_of_velocity_moves_all_of_a_robot_by_what_was_drawn(self):
        spec = task(push=[{"of": "PUSH_OF_VELOCITY", "bodies": ["arm"], "least_steps": 4, "most_steps": 9, "lower": 0.5, "upper": 1.5}])
        batch = self.batch(60, spec, seed=5)
        seen = np.concatenate([np.zeros((1, 60, 6)), self.run_steps(batch, 40)])
        changes = np.diff(seen[:, :, :3], axis=0)  # [steps, worlds, 3]
        sizes = np.linalg.norm(changes, axis=2)
        self.assertLess(np.abs(changes[:, :, 2]).max(), 1e-6)
        self.assertLess(np.abs(seen[:, :, 3:]).max(), 1e-12)  # the cart
        pushed = sizes > 1e-6
        self.assertTrue(((sizes[pushed] > 0.5 - 1e-4) & (sizes[pushed] < 1.5 + 1e-4)).all())
        self.assertTrue((sizes[pushed].min() < 0.55) and sizes[pushed].max() > 1.45)
        for world in range(60):
            steps = np.flatnonzero(pushed[:, world])  # of which each ends one step after it began
            self.assertTrue(4 <= steps[0] <= 9)
            self.assertTrue(((np.diff(steps) >= 5) & (np.diff(steps) <= 10)).all(), steps)
        angles = np.arctan2(changes[pushed][:, 1], changes[pushed][:, 0])
        self.assertLess(np.abs(np.exp(1j * angles).mean()), 5 / np.sqrt(2 * len(angles)))  # no direction is preferred
        self.assertLess(np.abs(batch.get_state("joint_velocity")["joint_velocity"][:, 6]).max(), 1e-6)  # nor does it swing

    def test_a_force_pushes_one_body_for_its_steps_and_adds_to_the_clients(self):
        push = {"bodies": ["cart", "arm"], "least_steps": 3, "most_steps": 3, "steps": 2, "lower": -6, "upper": -6,
                "direction": "PUSH_DIRECTION_AXIS", "axis": {"x": 2}}
        undamped = SCENE.replace('damping="1"', "")
        batch = self.enterContext(self.client.create_batch(self.client.create_model(mjcf=undamped), 30, 0.005, precision="float64",
                                                           task=task(push=[push])))
        wrench = np.zeros((30, 3, 6))
        wrench[:, 2, 0] = 8
        seen = np.concatenate([np.zeros((1, 30, 6)), self.run_steps(batch, 5, body_wrench=wrench)])
        forces = 4 * np.diff(seen[:, :, 3], axis=0) / 0.01  # on the cart
        carts = forces[3] < 5
        self.assertTrue(5 < carts.sum() < 25)
        np.testing.assert_allclose(forces[:, carts], np.outer([8, 8, 8, 2, 2], np.ones(carts.sum())), rtol=1e-6)
        np.testing.assert_allclose(forces[:, ~carts], 8, rtol=1e-6)
        self.assertTrue((np.abs(seen[5][~carts, 0]) > 1e-4).all() and np.abs(seen[5][carts, 0]).max() < 1e-9)

    def test_pushes_are_the_worlds_own_and_go_on_from_snapshots_and_restarts(self):
        spec = task(max_episode_steps="17", push=[
            {"bodies": ["*"], "least_steps": 2, "most_steps": 6, "steps": 3, "lower": 1, "upper": 9, "direction": "PUSH_DIRECTION_ANY"},
            {"of": 2, "bodies": ["ball"], "least_steps": 3, "most_steps": 5, "lower": 0.1, "upper": 1}])
        batch, other = self.batch(4, spec), self.batch(2, spec)
        batch.begin_episodes(seeds=[1, 2, 3, 4])
        other.begin_episodes(seeds=[9, 3])
        whole = self.run_steps(batch, 43)
        np.testing.assert_array_equal(self.run_steps(other, 43)[:, 1], whole[:, 2])
        self.assertGreater(np.abs(np.diff(whole[:, :, 0], axis=0)).max(), 0.01)
        with tempfile.TemporaryDirectory() as state:
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                begun = client.create_batch(client.create_model(mjcf=SCENE), 4, 0.005, task=spec, precision="float64")
                begun.begin_episodes(seeds=[1, 2, 3, 4])
                np.testing.assert_array_equal(self.run_steps(begun, 20), whole[:20])
                name, snapshot = begun.name, begun.get_state("snapshot")["snapshot"]
            self.assertEqual(server.stop(), 0)
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                np.testing.assert_array_equal(self.run_steps(client.get_batch(name), 23), whole[20:])
            self.assertEqual(server.stop(), 0)
        other.set_state(snapshot=snapshot[[3, 0]])
        np.testing.assert_array_equal(self.run_steps(other, 23), whole[20:][:, [3, 0]])
        plain = self.batch(1, task())
        with self.assertRaisesRegex(axion.InvalidArgumentError, "another task"):
            plain.set_state(snapshot=snapshot[[0]])

    def test_wrenches_and_pushes_reach_their_worlds_where_others_begin_an_episode(self):
        spec = task(max_episode_steps="3", push=[{"bodies": ["arm"], "least_steps": 1, "most_steps": 1, "lower": 1, "upper": 1}])
        batch = self.batch(3, spec)
        batch.step_task(np.zeros((1, 2)), worlds=[0])
        wrench = np.zeros((3, 3, 6))
        wrench[2, 2, 0] = 40
        for _ in range(3):  # in the third call, the first world begins an episode and is not stepped
            seen = batch.step_task(np.zeros((3, 2)), body_wrench=wrench).observation
        np.testing.assert_array_equal(seen[[0, 1], 3], [0, 0])
        self.assertGreater(seen[2, 3], 0.2)

    def test_mistakes_are_named(self):
        good = {"bodies": ["ball"], "least_steps": 1, "most_steps": 2, "upper": 1}

        def push(**changes):
            return {"push": [good, {**good, **changes}]}
        self.assert_refused([
            (push(bodies=[]), r"task.push\[1\].bodies: is empty"),
            (push(bodies=["ball", "bal"]), r'task.push\[1\].bodies\[1\]: unknown body "bal", the model has ball, arm, cart'),
            (push(bodies=["b?"]), r'task.push\[1\].bodies\[0\]: unknown body "b\?"'),
            (push(bodies=["*" * 300]), r"task.push\[1\].bodies\[0\]: is a pattern of 300"),
            (push(of="PUSH_OF_VELOCITY", bodies=["cart"]), r'task.push\[1\].bodies: "cart" hangs on no free joint'),
            (push(of=7), r"task.push\[1\].of: is 7"),
            (push(direction=9), r"task.push\[1\].direction: is 9"),
            (push(least_steps=0), r"task.push\[1\].least_steps: is 0"),
            (push(most_steps=0), r"task.push\[1\].most_steps: is 0 and least_steps is 1"),
            (push(steps=-1), r"task.push\[1\].steps: is -1"),
            (push(lower=-1), r"task.push\[1\].lower: is -1"),
            (push(upper="NaN"), r"task.push\[1\].upper: is nan"),
            (push(upper="Infinity"), r"task.push\[1\].upper: is inf"),
            (push(axis={"x": 1}), r"task.push\[1\].axis: is given"),
            (push(direction="PUSH_DIRECTION_AXIS"), r"task.push\[1\].axis: has no length"),
            ({"push": [good] * 300}, "task.push: may have at most 256 entries")])


DRAWS = [{"name": "mass", "parameter": "body_mass", "of": ["cart", "b*"], "operation": "DRAW_OPERATION_SCALE",
          "distribution": "DRAW_DISTRIBUTION_LOG_UNIFORM", "lower": 0.25, "upper": 4},
         {"name": "friction", "parameter": "shape_friction", "lower": 0.4, "upper": 1.2, "together": True},
         {"name": "damping", "parameter": "axis_damping", "of": ["rail"], "operation": "DRAW_OPERATION_ADD", "lower": 0, "upper": 2},
         {"name": "kp", "parameter": "actuator_kp", "operation": "DRAW_OPERATION_SCALE", "lower": 0.8, "upper": 1.2},
         {"name": "weight", "parameter": "gravity", "start": 2, "lower": -10, "upper": -9}]


class Draws(EventsCase):
    OBSERVED = [{"quantity": {"draw": term["name"]}} for term in DRAWS]

    def test_numbers_are_drawn_for_each_episode_and_observed(self):
        spec = task(draw=DRAWS, max_episode_steps="4")
        spec["observation"] = self.OBSERVED + [CART]
        batch = self.batch(200, spec)
        model = {name: values[0] for name, values in self.batch(1, task()).get_parameters().items()}
        seen, own = batch.begin_episodes(seeds=range(200)), batch.get_parameters()
        mass, friction, damping, kp, weight = np.split(seen[:, :6], [2, 3, 4, 5], axis=1)
        self.assertTrue((mass >= 0.25).all() and (mass <= 4).all())
        self.assertLess(abs(np.log(mass).mean()), 5 * np.log(16) / np.sqrt(12 * mass.size))  # evenly in the logarithm
        self.assertGreater(np.log(mass).std(), 0.7)
        np.testing.assert_array_equal(own["body_mass"], np.stack([2 * mass[:, 0], np.full(200, 1.0), 4 * mass[:, 1]], axis=1))
        np.testing.assert_allclose(own["body_inertia"][:, 2], model["body_inertia"][2] * mass[:, 1:], rtol=1e-12)
        np.testing.assert_array_equal(own["body_inertia"][:, 1], np.tile(model["body_inertia"][1], (200, 1)))
        np.testing.assert_array_equal(own["shape_friction"], np.tile(friction, (1, 4)))
        np.testing.assert_array_equal(own["axis_damping"], np.stack([np.zeros(200), 1 + damping[:, 0]], axis=1))
        np.testing.assert_array_equal(own["actuator_kp"][:, 1:], 3 * kp)
        np.testing.assert_array_equal(own["gravity"][:, 2:], weight)
        for values, lower, upper in ((friction, 0.4, 1.2), (damping, 0, 2), (kp, 0.8, 1.2), (weight, -10, -9)):
            self.assertTrue((values >= lower).all() and (values <= upper).all())
            self.assertLess(abs(values.mean() - (lower + upper) / 2), 5 * (upper - lower) / np.sqrt(12 * 200))
        force = np.tile([8.0, 0.0], (200, 1))
        speed = [batch.step_task(force).observation[:, 6] for _ in range(3)][-1]  # m v' = F - c v
        rate = own["axis_damping"][:, 1] / own["body_mass"][:, 2]
        np.testing.assert_allclose(speed, 8 / own["axis_damping"][:, 1] * (1 - np.exp(-rate * 0.03)), rtol=0.1)
        other = self.batch(1, spec)
        np.testing.assert_array_equal(other.begin_episodes(seeds=[123])[0], seen[123])
        for _ in range(2):
            batch.step_task(force)  # the episodes end, and others begin
        again = batch.get_parameters("body_mass")["body_mass"]
        self.assertTrue((again[:, [0, 2]] != own["body_mass"][:, [0, 2]]).all())

    def test_worlds_with_draws_go_on_from_snapshots_and_restarts(self):
        spec = task(draw=DRAWS, max_episode_steps="5", push=[{"bodies": ["cart"], "least_steps": 1, "most_steps": 2, "upper": 9}])
        batch, other = self.batch(3, spec, seed=3), self.batch(2, spec, seed=77)
        whole = self.run_steps(batch, 17)
        with tempfile.TemporaryDirectory() as state:
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                begun = client.create_batch(client.create_model(mjcf=SCENE), 3, 0.005, task=spec, precision="float64", seed=3)
                np.testing.assert_array_equal(self.run_steps(begun, 8), whole[:8])
                name, snapshot = begun.name, begun.get_state("snapshot")["snapshot"]
            self.assertEqual(server.stop(), 0)
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                np.testing.assert_array_equal(self.run_steps(client.get_batch(name), 9), whole[8:])
            self.assertEqual(server.stop(), 0)
        other.set_state(snapshot=snapshot[[2, 0]])
        np.testing.assert_array_equal(self.run_steps(other, 9), whole[8:][:, [2, 0]])

    def test_a_world_whose_numbers_make_no_model_has_the_models_own(self):
        # Each alone is fine; an upper limit below the lower one is not.
        scene = SCENE.replace('name="hinge" axis', 'name="hinge" limited="true" range="-60 60" axis')
        draws = [{"name": f"{side}", "parameter": f"axis_{side}", "of": ["hinge"], "lower": -0.9, "upper": 0.9}
                 for side in ("lower", "upper")]
        model = self.client.create_model(mjcf=scene)
        spec = {**task(draw=draws), "observation": [{"quantity": {"draw": "lower"}}, {"quantity": {"draw": "upper"}}]}
        batch = self.enterContext(self.client.create_batch(model, 100, 0.005, task=spec, precision="float64"))
        seen, own = batch.begin_episodes(seeds=range(100)), batch.get_parameters(["axis_lower", "axis_upper"])
        limits = np.stack([own["axis_lower"][:, 0], own["axis_upper"][:, 0]], axis=1)
        np.testing.assert_array_equal(seen, limits)
        refused = np.abs(limits[:, 0]) > 1
        self.assertTrue(25 < refused.sum() < 75)
        np.testing.assert_allclose(limits[refused], np.tile([-np.pi / 3, np.pi / 3], (refused.sum(), 1)))
        self.assertTrue((limits[~refused, 0] < limits[~refused, 1]).all())

    def test_mistakes_are_named(self):
        good = {"name": "mass", "parameter": "body_mass", "lower": 1, "upper": 2}

        def draw(**changes):
            return {"draw": [good, {**good, "name": "other", **changes}]}
        self.assert_refused([
            (draw(name=""), r"task.draw\[1\].name: is empty"), (draw(name="mass"), r'task.draw\[1\].name: is "mass" again'),
            (draw(parameter="weight"), r"task.draw\[1\].parameter: .*weight"),
            (draw(of=["cart", "wheel"]), r'task.draw\[1\].of\[1\]: unknown body "wheel"'),
            (draw(of=[""]), r"task.draw\[1\].of\[0\]: unknown body"),
            (draw(parameter="gravity", of=["cart"]), r"task.draw\[1\].of: is given, but gravity is of the world"),
            (draw(parameter="axis_lower"), r"task.draw\[1\].of: has nothing with a use for axis_lower"),
            (draw(parameter="actuator_kp", of=["drive"]), r"task.draw\[1\].of: has nothing with a use"),
            (draw(operation=4), r"task.draw\[1\].operation: is 4"), (draw(distribution=3), r"task.draw\[1\].distribution: is 3"),
            (draw(distribution=2, lower=0), r"task.draw\[1\].lower: is 0"), (draw(upper=0.5), r"task.draw\[1\].upper: is 0.5"),
            (draw(lower="NaN"), r"task.draw\[1\].lower: is nan"),
            (draw(start=2), r"task.draw\[1\].start: is 2"), (draw(lower=-1), r"task.draw\[1\].lower: makes no model: .*mass"),
            (draw(parameter="shape_restitution", upper=7), r"task.draw\[1\].upper: makes no model: .*restitution"),
            ({"draw": [{**good, "name": str(i)} for i in range(40)]}, "task.draw: has 40 entries; at most 32")])
        batch = self.batch(2, task(draw=[good]))
        with self.assertRaisesRegex(axion.InvalidArgumentError, "parameters: are given, but the task draws"):
            batch.reset(parameters={"gravity": np.zeros((2, 3))})
        with self.assertRaisesRegex(axion.InvalidArgumentError, "task.draw: has .* numbers of all worlds"):
            self.client.create_batch(self.client.create_model(path=QUADRUPED), 60000, task={
                "observation": [{"quantity": {"field": "time"}}], "draw": [good]})
        with self.assertRaisesRegex(axion.InvalidArgumentError, "overrides.parameters: are given, but the task draws"):
            self.batch(2, task(draw=[good]), parameters={"gravity": np.zeros((2, 3))})


if __name__ == "__main__":
    unittest.main()
