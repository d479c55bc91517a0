#!/usr/bin/env python3
"""Sixty-four humanoids with random controls, stepped by a real axiond: convergence, penetration and joint errors as the
server reports them, and as recomputed here from the states and contacts that it returns.

Usage: humanoid_test.py BIN_DIRECTORY MODELS_DIRECTORY, with an interpreter that has the package axion installed.
"""

import pathlib
import sys
import unittest

import numpy as np

import axion
from axion.v1 import scene_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess  # noqa: E402

BIN = pathlib.Path(sys.argv[1])
HUMANOID = pathlib.Path(sys.argv[2]) / 'humanoid.xml'
WORLDS, STEPS, CHUNK, DT = 64, 2000, 100, 0.005
RECORD_EVERY = 20


def quaternion_product(a, b):
    """Hamilton product over the last axis (w, x, y, z)."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack([aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
                     aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw], axis=-1)


def rotate(q, v):
    """Turns v by q, broadcasting."""
    u = q[..., 1:]
    t = 2 * np.cross(u, np.broadcast_to(v, u.shape))
    return v + q[..., :1] * t + np.cross(u, t)


def conjugate(q):
    return q * np.array([1, -1, -1, -1])


def turn(axis, angle):
    """Quaternion of a turn by angle [...] about a unit axis [3]."""
    return np.concatenate([np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None] * axis], axis=-1)


def as_array(v):
    return np.array([v.x, v.y, v.z])


def as_quaternion(q):
    return np.array([q.w, q.x, q.y, q.z])


def anchor_errors(model, pose, joint_position):
    """Largest distance between the two images of each joint's last anchor, m: one through the parent and the coordinates,
    one through the child. pose [m, nb, 7], joint_position [m, nq]."""
    worst = 0.0
    for joint in model.proto.joints:
        if joint.kind != scene_pb2.JOINT_KIND_AXES:
            continue
        child, parent = (model.proto.bodies[i].pose for i in (joint.child, joint.parent))
        q_PC = quaternion_product(conjugate(as_quaternion(parent.rotation)), as_quaternion(child.rotation))
        p_PC = rotate(conjugate(as_quaternion(parent.rotation)), as_array(child.position) - as_array(parent.position))
        q_WP, p_WP = pose[:, joint.parent, 3:], pose[:, joint.parent, :3]
        q = quaternion_product(q_WP, np.broadcast_to(q_PC, q_WP.shape))
        origin = p_WP + rotate(q_WP, p_PC)   # of the child's frame, carried through the chain
        for k, axis in enumerate(joint.axes):
            anchor, direction = as_array(axis.anchor), as_array(axis.axis)
            point = origin + rotate(q, anchor)
            angle = joint_position[:, joint.position_start + k] - axis.reference
            q = quaternion_product(q, turn(direction / np.linalg.norm(direction), angle))
            origin = point - rotate(q, anchor)
        image = pose[:, joint.child, :3] + rotate(pose[:, joint.child, 3:], anchor)
        worst = max(worst, np.linalg.norm(image - point, axis=-1).max())
    return worst


def floor_penetration(model, pose):
    """Greatest depth of a sphere or capsule below z = 0, m. pose [m, nb, 7]."""
    deepest = 0.0
    for shape in model.proto.shapes:
        if shape.body < 0:
            continue
        q, p = pose[:, shape.body, 3:], pose[:, shape.body, :3]
        centre = p + rotate(q, as_array(shape.pose.position))
        axis = rotate(quaternion_product(q, np.broadcast_to(as_quaternion(shape.pose.rotation), q.shape)),
                      np.array([0.0, 0.0, 1.0]))
        half = shape.size.y if shape.kind == scene_pb2.SHAPE_KIND_CAPSULE else 0.0
        lowest = centre[:, 2] - half * np.abs(axis[:, 2]) - shape.size.x
        deepest = max(deepest, -lowest.min())
    return deepest


@unittest.skipUnless(HUMANOID.exists(), f'{HUMANOID} is not there')
class Humanoids(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = cls.enterClassContext(AxiondProcess(BIN / 'axiond'))
        client = axion.Client(server.address)
        cls.addClassCleanup(client.close)
        client.wait_until_ready(60)
        cls.model = client.create_model(mjcf=HUMANOID.read_text())
        batch = client.create_batch(cls.model, world_count=WORLDS, dt=DT)
        random = np.random.default_rng(1)
        cls.floor, cls.anchors, cls.outcome = 0.0, 0.0, np.zeros(WORLDS, dtype=np.uint32)
        for _ in range(STEPS // CHUNK):
            control = random.uniform(-0.1, 0.1, (WORLDS, CHUNK, cls.model.control_count)).astype(np.float32)
            result = batch.step(control=control, steps=CHUNK, record_every=RECORD_EVERY,
                                outputs=['body_pose', 'joint_position'])
            pose = result['body_pose'].reshape(-1, cls.model.body_count, 7).astype(np.float64)
            position = result['joint_position'].reshape(len(pose), -1).astype(np.float64)
            cls.floor = max(cls.floor, floor_penetration(cls.model, pose))
            cls.anchors = max(cls.anchors, anchor_errors(cls.model, pose, position))
            cls.outcome |= result.outcome
        cls.stats = batch.solver_stats()
        cls.contacts = batch.contacts()
        cls.world_stats = batch.world_stats()
        print(f'{cls.stats.world_steps} world-steps, {100 * cls.stats.converged / cls.stats.world_steps:.3f} % converged, '
              f'fallbacks {cls.stats.fallback}, Newton {cls.stats.newton_iterations.mean:.2f} a step, '
              f'contacts {cls.stats.contacts.mean:.1f}; penetration {cls.stats.max_penetration:.2e} m reported, '
              f'{cls.floor:.2e} m of the floor recomputed; joint error {cls.stats.max_joint_error:.2e} m reported, '
              f'{cls.anchors:.2e} m recomputed')

    def test_no_world_leaves_the_finite_numbers(self):
        self.assertEqual(self.stats.world_steps, WORLDS * STEPS)
        self.assertEqual(self.stats.non_finite, 0)
        self.assertFalse(np.any(self.outcome & axion.Outcome.NON_FINITE))

    def test_nearly_all_world_steps_converge(self):
        self.assertGreaterEqual(self.stats.converged, 0.99 * self.stats.world_steps)

    def test_nothing_sinks(self):
        self.assertLess(self.stats.max_penetration, 2e-3)
        self.assertLess(self.floor, 2e-3)
        self.assertLess(-self.contacts.gap.min(), 2e-3)

    def test_joints_hold(self):
        self.assertLess(self.stats.max_joint_error, 1e-4)
        # Recomputed from float32 poses at about a metre: 1e-7 each, through two bodies and up to three turns.
        self.assertLess(self.anchors, 1e-4)

    def test_reported_contacts_are_those_of_the_last_step(self):
        np.testing.assert_array_equal(self.contacts.contact_count, self.world_stats.contact_count)
        self.assertGreater(len(self.contacts), WORLDS)   # after ten seconds they lie on the floor
        # The normal impulses that FB leaves below zero are of the size of its tolerance.
        self.assertGreater(self.contacts.normal_impulse.min(), -1e-3)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
