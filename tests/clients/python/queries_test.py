"""Rays, distances, Jacobians and mass matrices through the server, beside those of the package mujoco; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

import axion
from axiond_case import ROOT, AxiondCase

HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None

SHAPES = """
<mujoco>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .4 0 0  0 .3 0  .4 .3 0  0 0 .3  0 .3 .3"/>
    <hfield name="hills" nrow="5" ncol="6" size="1 .8 .4 .1"
            elevation="0 1 2 1 0 3  1 2 5 2 1 0  0 1 2 8 3 1  2 1 0 1 2 3  4 1 0 2 1 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom name="hills" type="hfield" hfield="hills" pos="4 0 .2"/>
    <body pos="0 0 1" euler="20 30 0"><freejoint/>
      <geom name="box" type="box" size=".3 .2 .1" mass="1"/>
      <body pos=".6 0 0"><joint type="ball"/><geom name="capsule" type="capsule" size=".1 .3" euler="0 70 0" mass=".5"/>
        <body pos=".2 .1 .4"><joint type="slide" axis="0 0 1"/><joint axis="1 .3 0" armature=".02"/>
          <geom name="cylinder" type="cylinder" size=".15 .2" pos="0 0 .2" mass=".7"/></body></body>
    </body>
    <body pos="1.5 .5 1"><freejoint/><geom name="ellipsoid" type="ellipsoid" size=".3 .2 .1" mass="1"/></body>
    <body pos="-1 .5 1" euler="0 10 40"><freejoint/><geom name="wedge" type="mesh" mesh="wedge" mass="1"/></body>
    <body pos="-1 -1 1"><freejoint/><geom name="sphere" type="sphere" size=".25" mass="1"/></body>
  </worldbody>
</mujoco>"""


def quaternion_matrix(w, x, y, z):
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


@unittest.skipUnless(HAS_MUJOCO, "the package mujoco is not installed")
class QueriesTest(AxiondCase):

    def worlds(self, mjcf, count, speed, **choices):
        """A batch whose worlds have random poses and velocities, and MuJoCo's model with the data of each world."""
        import mujoco
        rng = np.random.default_rng(11)
        model = self.client.create_model(mjcf=mjcf, **choices)
        batch = self.client.create_batch(model, count, precision="float64")
        self.addCleanup(batch.delete)
        mj = mujoco.MjModel.from_xml_string(mjcf)
        state = batch.get_state(["joint_position", "joint_velocity"])
        position = state["joint_position"] + rng.normal(scale=.2, size=state["joint_position"].shape)
        batch.set_state(joint_position=position, joint_velocity=rng.normal(scale=speed, size=state["joint_velocity"].shape))
        state = batch.get_state(["joint_position", "joint_velocity", "body_pose"])
        datas = []
        for world in range(count):
            data = mujoco.MjData(mj)
            data.qpos[:] = state["joint_position"][world]
            self.to_mujoco(model, mj, data, state["joint_velocity"][world])
            mujoco.mj_forward(mj, data)
            datas.append(data)
        return batch, model, mj, datas

    @staticmethod
    def bases(model, mj, data):
        """T with mujoco's qvel = T joint_velocity: free joints turn in their body there, and move by its origin."""
        import mujoco
        mujoco.mj_kinematics(mj, data)
        mujoco.mj_comPos(mj, data)
        T = np.eye(mj.nv)
        for joint in range(mj.njnt):
            body, dof, q = mj.jnt_bodyid[joint], mj.jnt_dofadr[joint], mj.jnt_qposadr[joint]
            if mj.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                R = quaternion_matrix(*data.qpos[q + 3:q + 7] / np.linalg.norm(data.qpos[q + 3:q + 7]))
                arm = data.xpos[body] - data.xipos[body]
                # of the merged body's centre: velocity of the origin = v + omega x (origin - centre)
                T[dof:dof + 3, dof + 3:dof + 6] = -np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
                T[dof + 3:dof + 6, dof + 3:dof + 6] = R.T
            elif mj.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL:
                T[dof:dof + 3, dof:dof + 3] = quaternion_matrix(*data.qpos[q:q + 4] / np.linalg.norm(data.qpos[q:q + 4])).T
        return T

    def to_mujoco(self, model, mj, data, velocity):
        data.qvel[:] = self.bases(model, mj, data) @ velocity

    def test_rays_end_where_mujocos_do(self):
        import mujoco
        batch, model, mj, datas = self.worlds(SHAPES, 3, 0.0)
        rng = np.random.default_rng(5)
        rays = 400
        origin = rng.uniform([-2, -2, 0.05], [5, 2, 3], (3, rays, 3))
        aims = np.stack([data.geom_xpos[1:][rng.integers(0, mj.ngeom - 1, rays)] for data in datas])
        direction = aims + rng.normal(scale=.3, size=aims.shape) - origin
        hits = batch.cast_rays(origin, direction)
        names = [shape.name for shape in model.proto.shapes]
        met, compared = set(), 0
        for world, data in enumerate(datas):
            for ray in range(rays):
                geom = np.array([-1], np.int32)
                unit = direction[world, ray] / np.linalg.norm(direction[world, ray])
                expected = mujoco.mj_ray(mj, data, origin[world, ray], unit, None, 1, -1, geom)
                shape = hits.shape[world, ray]
                got = names[shape] if shape >= 0 else None
                wanted = mj.geom(geom[0]).name if geom[0] >= 0 else None
                # MuJoCo's height fields are prisms with walls and a floor, seen from below too; ours are surfaces.
                if "hills" in (got, wanted) and (got != wanted or abs(hits.distance[world, ray] - expected) > 1e-5):
                    continue
                self.assertEqual(got, wanted, (world, ray))
                self.assertAlmostEqual(hits.distance[world, ray], expected, delta=1e-5)
                met.add(wanted)
                compared += 1
        self.assertEqual(met, {None, *names})
        self.assertGreater(compared, 0.9 * 3 * rays)

    def test_rays_in_the_frame_of_a_body_and_through_bodies(self):
        batch, model, _, _ = self.worlds(SHAPES, 2, 0.0)
        frames = batch.get_state("body_pose")["body_pose"][:, 0]
        origin, direction = np.array([[.1, .2, .6], [0, 0, 2]]), np.array([[0, 0, -1.], [0, .1, -1]])
        own = batch.cast_rays(origin, direction, body=0)
        for world in range(2):
            R = quaternion_matrix(*frames[world, 3:])
            plain = batch.cast_rays(origin @ R.T + frames[world, :3], direction @ R.T, worlds=[world])
            np.testing.assert_allclose(own.distance[world], plain.distance[0], atol=1e-9)
            heading = np.arctan2(R[1, 0], R[0, 0])
            turn = quaternion_matrix(np.cos(heading / 2), 0, 0, np.sin(heading / 2))
            level = batch.cast_rays(origin @ turn.T + frames[world, :3], direction @ turn.T, worlds=[world])
            mine = batch.cast_rays(origin, direction, worlds=[world], body=0, heading_only=True)
            np.testing.assert_allclose(mine.distance, level.distance, atol=1e-9)
        everything = list(range(len(model.proto.bodies)))
        np.testing.assert_array_equal(batch.cast_rays(origin, direction, ignored_bodies=[-1, *everything]).shape, -1)
        floor = [shape.name for shape in model.proto.shapes].index("floor")
        down = batch.cast_rays([[0, 0, 3.0]], [[0, 0, -2.0]], ignored_bodies=everything)
        np.testing.assert_array_equal(down.shape, [[floor]] * 2)
        np.testing.assert_allclose(down.distance, 3.0)
        np.testing.assert_array_equal(batch.cast_rays([[0, 0, 3.0]], [[0, 0, -1.0]], max_distance=2.9,
                                                      ignored_bodies=everything).distance, -1)

    def test_distances_are_mujocos(self):
        import mujoco
        batch, model, mj, datas = self.worlds(SHAPES, 4, 0.0)
        names = [shape.name for shape in model.proto.shapes]
        solid = [i for i, name in enumerate(names) if name not in ("hills", "floor")]
        pairs = [(a, b) for a in solid for b in solid if a < b] + [(names.index("floor"), b) for b in solid]
        found = batch.distances(pairs, max_distance=6)
        for world, data in enumerate(datas):
            for i, (a, b) in enumerate(pairs):
                ends = np.zeros(6)
                expected = mujoco.mj_geomDistance(mj, data, mj.geom(names[a]).id, mj.geom(names[b]).id, 6.0, ends)
                if expected <= 0:
                    self.assertLess(found.distance[world, i], 1e-3)  # depth along another normal may be less
                    continue
                with self.subTest(world=world, pair=(names[a], names[b])):
                    self.assertAlmostEqual(found.distance[world, i], expected, delta=2e-3)
                    apart = np.linalg.norm(found.point_a[world, i] - found.point_b[world, i])
                    self.assertAlmostEqual(apart, found.distance[world, i], delta=1e-3)
        self.assertTrue((batch.distances(pairs, max_distance=.01).distance <= .01).all())

    def check_dynamics(self, batch, model, mj, datas):
        import mujoco
        rng = np.random.default_rng(2)
        bodies = list(model.proto.bodies)
        frames = [(body, rng.uniform(-.3, .3, 3)) for body in range(len(bodies))]
        found = batch.dynamics(frames)
        for world, data in enumerate(datas):
            T = self.bases(model, mj, data)
            M = np.zeros((mj.nv, mj.nv))
            for column, unit in zip(M, np.eye(mj.nv)):
                mujoco.mj_mulM(mj, data, column, unit)
            expected = T.T @ M @ T
            np.testing.assert_allclose(found.mass_matrix[world], expected, atol=1e-9 * np.abs(expected).max())
            for i, (body, point) in enumerate(frames):
                at = found.frame_pose[world, i]
                jacobian = np.zeros((6, mj.nv))
                mujoco.mj_jac(mj, data, jacobian[:3], jacobian[3:], at[:3], body + 1)  # as in the file, without welds
                np.testing.assert_allclose(found.jacobian[world, i], jacobian @ T, atol=1e-9)
        return found

    def test_jacobians_and_mass_matrices_are_mujocos(self):
        shapes = SHAPES.replace('<freejoint/>', '<joint type="free"/>')
        for mjcf in (shapes, (ROOT / "clients/examples/models/quadruped.xml").read_text()):
            self.check_dynamics(*self.worlds(mjcf, 3, 1.0))

    def test_bias_forces_are_mujocos(self):
        # Free of free joints and balls, whose rates are others' here; those are seen to by the next test.
        arm = """<mujoco><worldbody><body pos="0 0 1"><joint axis="0 0 1" armature=".1"/><geom type="box" size=".1 .05 .03" pos=".1 0 0"/>
          <body pos=".2 0 .1"><joint type="slide" axis="1 0 0"/><joint axis="0 1 .2" pos=".01 0 0"/>
            <geom type="capsule" size=".03" fromto="0 0 0 .3 .1 0"/>
            <body pos=".3 .1 0"><joint axis="1 0 0"/><geom type="box" size=".05 .1 .02" pos=".05 .05 0"/></body></body></body>
          </worldbody></mujoco>"""
        batch, _, mj, datas = self.worlds(arm, 5, 3.0)
        found = batch.dynamics().bias_force
        for world, data in enumerate(datas):
            np.testing.assert_allclose(found[world], data.qfrc_bias, atol=1e-7 * np.abs(data.qfrc_bias).max())

    def test_bias_forces_of_free_bodies_and_balls_are_what_free_motion_shows(self):
        other, model, _, _ = self.worlds(SHAPES.replace("</mujoco>", "<option><flag contact='disable'/></option></mujoco>"), 3, 2.0)
        batch = self.client.create_batch(model, 3, dt=1e-5, precision="float64")
        self.addCleanup(batch.delete)
        state = other.get_state(["joint_position", "joint_velocity"])
        batch.set_state(joint_position=state["joint_position"], joint_velocity=state["joint_velocity"])
        found = batch.dynamics()
        before = state["joint_velocity"]
        after = batch.step(steps=1, outputs=["joint_velocity"])["joint_velocity"]
        acceleration = (after - before) / 1e-5
        expected = np.linalg.solve(found.mass_matrix, -found.bias_force[..., None])[..., 0]
        np.testing.assert_allclose(acceleration, expected, atol=5e-3 * np.abs(expected).max())

    def test_bad_queries_are_refused_with_their_field(self):
        batch = self.worlds(SHAPES, 2, 0.0)[0]
        one = np.zeros((1, 3))
        down = np.array([[0, 0, -1.0]])
        for words, ask in (
                ("direction: of ray 0 is zero", lambda: batch.cast_rays(one, one)),
                ("origin.shape", lambda: batch.cast_rays(np.zeros(3), down)),
                ("origin.shape", lambda: batch.cast_rays(np.zeros((3, 1, 3)), down)),
                ("direction.shape", lambda: batch.cast_rays(one, np.zeros((2, 3)))),
                ("direction.shape", lambda: batch.cast_rays(one, np.ones((2, 1, 3)))),
                ("origin", lambda: batch.cast_rays(one * np.nan, down)),
                ("body: is 9", lambda: batch.cast_rays(one, down, body=9)),
                (r"ignored_bodies\[0\]: is -2", lambda: batch.cast_rays(one, down, ignored_bodies=[-2])),
                ("max_distance", lambda: batch.cast_rays(one, down, max_distance=-1)),
                (r"pairs\[1\].shape_b: is 99", lambda: batch.distances([(1, 2), (1, 99)])),
                (r"pairs\[0\].*itself", lambda: batch.distances([(1, 1)])),
                ("two planes", lambda: batch.distances([(0, 1)])),
                ("max_distance", lambda: batch.distances([(2, 3)], max_distance=0)),
                (r"frames\[0\].body: is 77", lambda: batch.dynamics([(77, [0, 0, 0])])),
                (r"frames\[0\].pose", lambda: batch.dynamics([(0, [0, 0, 0, 0, 0, 0, 0])])),
                (r"world_indices\[0\]", lambda: batch.dynamics(worlds=[5]))):
            with self.subTest(words), self.assertRaisesRegex(axion.InvalidArgumentError, words):
                ask()
        many = np.zeros((1500000, 3))
        with self.assertRaises(axion.ResourceExhaustedError):
            batch.cast_rays(many.astype(np.float32), (many + [0, 0, -1]).astype(np.float32))


if __name__ == "__main__":
    unittest.main()
