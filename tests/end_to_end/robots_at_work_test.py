#!/usr/bin/env python3
"""Published robots at their work on a real axiond: a hand that holds a box whichever way it is turned, a biped of closed loops that keeps
its balance, a quadruped that trots over a height field.

Usage: robots_at_work_test.py BIN_DIRECTORY MENAGERIE, with an interpreter that has the package axion. MENAGERIE is a folder of robots as
MuJoCo's collection of that name has them; what is not in it is skipped.
"""

import pathlib
import sys
import unittest

import axion
import numpy as np
from axion import files

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess  # noqa: E402

BIN, MENAGERIE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
GRAVITY = 9.81


class RobotsAtWork(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = AxiondProcess(BIN / 'axiond', '--threads=1')
        cls.client = axion.Client(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.close()

    def model(self, file, *, assets='', bodies='', other=('', '')):
        """The model of a file of the collection, with MJCF of further assets and bodies of the world, and one text replaced by another."""
        path = MENAGERIE / file
        if not path.exists():
            self.skipTest(f'{file} is not in {MENAGERIE}')
        text, content = files.read_mjcf(path)
        self.assertIn(other[0], text)
        text = text.replace(*other)
        for tag, more in (('asset', assets), ('worldbody', bodies)):
            self.assertIn(f'</{tag}>', text)
            text = text.replace(f'</{tag}>', f'{more}</{tag}>', 1)
        return self.client.create_model(mjcf=text, assets=content)

    def test_hand_holds_a_box_whichever_way_it_is_turned(self):
        """The Allegro hand closes on a box of 50 g; then gravity comes from six sides, two seconds each way, a world each. Dry friction
        holds it: once it has settled to the new load it may creep by what poses round, and by no more."""
        model = self.model('wonik_allegro/right_hand.xml', bodies='<body name="box" pos=".05 0 .045"><freejoint/>'
                           '<geom type="box" size=".03 .04 .03" mass=".05" friction="1"/></body>')
        sides = GRAVITY * np.concatenate([np.eye(3), -np.eye(3)])
        opened = np.array([0.0] * 12 + [1.2, 0, 0, 0])
        closed = np.array([0, 1, 1.2, .9] * 3 + [1.396, .3, .8, 1.2])
        with self.client.create_batch(model, len(sides), dt=0.002) as batch:
            def hold(control, steps):
                result = batch.step(np.tile(control, (len(sides), 1)).astype(np.float32), steps=steps, outputs=['body_pose'])
                return result['body_pose'][:, -1, :3], result
            hold(opened, 100)
            for share in np.linspace(0, 1, 50):
                hold(opened + share * (closed - opened), 6)
            start, _ = hold(closed, 200)
            batch.set_state(parameters={'gravity': sides})
            settled, _ = hold(closed, 500)
            end, result = hold(closed, 500)
        # The fingers' drives are springs of 1 N m/rad: half a newton moves a fingertip by some millimetres.
        self.assertLess(np.linalg.norm(settled - start, axis=1).max(), 5e-3)
        self.assertLess(np.linalg.norm(end - settled, axis=1).max(), 1e-5)
        self.assertTrue(result.converged.all())

    def test_biped_of_closed_loops_keeps_its_balance(self):
        """Cassie, whose shins are held by rods in loops, stands for five seconds at its file's collection's usual step and at twice that:
        it gives way by its springs as it comes down, and then stands still."""
        model = self.model('agility_cassie/scene.xml')
        for dt in (0.002, 0.004):
            with self.subTest(dt=dt), self.client.create_batch(model, 1, dt=dt) as batch:
                steps = round(5 / dt)
                state, converged = balance(batch, model.proto, steps, 1000)
                self.assertGreater(state['body_pose'][0, 2], 0.93)
                self.assertLess(np.abs(state['body_velocity']).max(), 1e-3)
                self.assertLess(float(batch.world_stats().max_joint_error[0]), 1e-4)  # m, of its loops as well
                self.assertGreaterEqual(len(batch.contacts()), 3)
                self.assertEqual(converged, steps)

    def test_biped_that_falls_reads_finite_velocities(self):
        """Three times that gain of the hip rolls throws it about. Its loops pass their dead points while it slides, where the system that
        leads velocities to the instant of the poses has had no solution."""
        model = self.model('agility_cassie/scene.xml')
        with self.client.create_batch(model, 1, dt=0.002) as batch:
            state, _ = balance(batch, model.proto, 2500, 3000)  # it asserts that each state is finite
            self.assertLess(state['body_pose'][0, 2], 0.9)      # it did not stand

    def trot_over_ground(self, condim):
        """A1 trots by joint angles that know nothing of the ground, over random ground whose highest point is 5 cm above its lowest.
        Returns how far each of four robots came, m."""
        count = 41
        ground = np.random.default_rng(3).uniform(0, 1, (count, count))
        elevation = ' '.join(f'{height:.3f}' for height in ground.ravel())
        model = self.model('unitree_a1/a1.xml', assets=f'<hfield name="ground" nrow="{count}" ncol="{count}" size="4 4 .05 .1" '
                           f'elevation="{elevation}"/>', bodies='<geom type="hfield" hfield="ground" friction=".8"/>',
                           other=('condim="6"', f'condim="{condim}"'))
        dt, stand, worlds = 0.005, 0.5, 4
        with self.client.create_batch(model, worlds, dt=dt) as batch:
            batch.reset(keyframe='home')
            batch.set_state(body_pose=self.spread(batch, worlds))
            start = batch.get_state('body_pose')['body_pose'][:, 0, :3]
            lowest, upright, converged, steps = 9.0, 1.0, 0, round(6 / dt)
            for k in range(steps):
                control = np.tile(trot(max(0, k * dt - stand)), (worlds, 1)).astype(np.float32)
                result = batch.step(control, steps=1, outputs=['body_pose'])
                converged += int(result.converged.sum())
                trunk = result['body_pose'][:, 0]
                lowest = min(lowest, trunk[:, 2].min())
                upright = min(upright, (1 - 2 * (trunk[:, 4] ** 2 + trunk[:, 5] ** 2)).min())
            travel = trunk[:, 0] - start[:, 0]
            penetration = float(batch.world_stats().max_penetration.max())
        self.assertGreater(lowest, 0.2)      # m; its legs hold the trunk at 0.27
        self.assertGreater(upright, 0.9)     # the cosine of its lean
        self.assertLess(penetration, 1e-3)
        self.assertGreaterEqual(converged, 0.999 * worlds * steps)
        return travel

    def test_quadruped_trots_over_a_height_field(self):
        self.assertGreater(self.trot_over_ground(3).min(), 0.2)  # m; on flat ground about 0.8, and feet that know of nothing stumble
        # The file's own feet do not turn where they stand: of four robots one may be held by its hollow.
        self.assertGreater(np.median(self.trot_over_ground(6)), 0.25)

    @staticmethod
    def spread(batch, worlds):
        """Poses of the bodies with the worlds' robots on different ground, 4 cm above the keyframe's height."""
        pose = batch.get_state('body_pose')['body_pose'].copy()
        pose[:, :, :2] += np.random.default_rng(5).uniform(-1, 1, (worlds, 1, 2))
        pose[:, :, 2] += 0.04
        return pose


def balance(batch, model, steps, gain):
    """Cassie from its keyframe under torques that hold its joints there and by a law of the pelvis's place and speed move ankles and, by
    `gain` N m/m, hip rolls: no foot of its size stands without. Returns the last state and the number of steps that converged."""
    names = [actuator.name for actuator in model.actuators]
    joints = [model.joints[actuator.joint] for actuator in model.actuators]
    place, rate = ([getattr(joint, field) for joint in joints] for field in ('position_start', 'velocity_start'))
    gear, most = (np.array([getattr(actuator, field) for actuator in model.actuators]) for field in ('gear', 'control_upper'))
    stiffness, damping = np.array([400, 200, 400, 500, 100] * 2), np.array([10, 10, 10, 10, 4] * 2)
    soles = [i for i, body in enumerate(model.bodies) if body.name.endswith('-foot')]
    feet, rolls = ([names.index(f'{side}-{joint}') for side in ('left', 'right')] for joint in ('foot', 'hip-roll'))
    fields, converged = ['joint_position', 'joint_velocity', 'body_pose', 'body_velocity'], 0
    batch.reset(keyframe='home')

    def read():
        state = {name: values[0] for name, values in batch.get_state(fields).items()}
        assert all(np.isfinite(values).all() for values in state.values()), 'a state is not finite'
        return state

    state = read()

    def ahead():
        """How far the pelvis is before its feet, m."""
        return state['body_pose'][0, 0] - state['body_pose'][soles, 0].mean()

    home, over = state['joint_position'][place], ahead()
    for _ in range(steps):
        x, (_, y, _, w, qx, qy, qz) = ahead() - over, state['body_pose'][0]
        speed, turning = state['body_velocity'][0, :3], state['body_velocity'][0, 3:]
        pitch, roll = 2 * (w * qy - qx * qz), 2 * (w * qx + qy * qz)
        torque = stiffness * (home - state['joint_position'][place]) - damping * state['joint_velocity'][rate]
        torque[feet] -= 150 * (pitch + 2 * x) + 30 * (turning[1] + 2 * speed[0])
        torque[rolls] += gain * (y + 0.3 * speed[1] - 0.3 * roll)
        control = np.clip(torque / gear, -most, most)[None].astype(np.float32)
        converged += int(batch.step(control, steps=1).converged[0])
        state = read()
    return state, converged


def trot(time, stride=0.08, frequency=2.0, height=0.27, lift=0.06, duty=0.6, link=0.2):
    """Angles of abduction, hip and knee of the four legs after `time` s of a trot, rad; diagonal legs swing together."""
    phase = (time * frequency + np.array([0, .5, .5, 0])) % 1
    down, swing = phase < duty, np.clip((phase - duty) / (1 - duty), 0, 1)
    grown = min(1.0, time)
    forward = grown * stride * np.where(down, .5 - phase / duty, swing - np.sin(2 * np.pi * swing) / (2 * np.pi) - .5)
    below = height - grown * lift * np.where(down, 0, .5 - .5 * np.cos(2 * np.pi * swing))
    bend = np.arccos(np.minimum(np.hypot(forward, below) / (2 * link), 1))
    return np.stack([np.zeros(4), bend - np.arctan2(forward, below), -2 * bend], axis=1).ravel()


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
