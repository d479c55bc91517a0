#!/usr/bin/env python3
"""The peer is measured as Axion is: the same flags, controls and seconds, and what it reports is what happens. Never how long it takes.

Usage: peer_test.py BIN_DIRECTORY
"""

import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402  beside this file
import peer  # noqa: E402

OPTIONS = types.SimpleNamespace(bin=pathlib.Path(sys.argv[1]).resolve(), mujoco_python=pathlib.Path(sys.executable))
SCENE = '<mujoco><option timestep=".01"/><worldbody><geom type="plane" size="5 5 1"/>{}</worldbody>{}</mujoco>'
BALL = '<body name="ball" pos="0 0 {}"><freejoint/><geom name="ball" size=".1" mass="1"/></body>'
AXLE = ('<body name="base" pos="0 0 3"><freejoint/><geom size=".1" mass="1"/>'
        '<body><joint name="j" axis="0 1 0" damping=".1"/><geom size=".05" pos=".3 0 0" mass=".2"/></body></body>')
MOTOR = '<actuator><motor joint="j" ctrllimited="true" ctrlrange="-.3 .3"/></actuator>'


class Find(unittest.TestCase):
    def test_an_interpreter_without_it_is_no_peer_and_is_left_as_it_is(self):
        python, why = peer.find(types.SimpleNamespace(bin=OPTIONS.bin, mujoco_python=pathlib.Path('/nowhere/python')))
        self.assertIsNone(python)
        self.assertIn('/nowhere/python', why)
        self.assertEqual(list(peer.sides(OPTIONS, python)), ['axion'])


@unittest.skipUnless(peer.find(OPTIONS)[0], 'needs mujoco 4.0 or later')
class Peer(unittest.TestCase):
    def reports(self, text, *extra, look=True):
        """{side: report} of two worlds of a model."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'model.xml'
            path.write_text(text, encoding='utf-8')
            flags = ['--model', path, '--worlds', 2, '--threads', 1, '--warmup_steps', 0, *extra]
            return {name: peer.look(name, command, *flags) if look else peer.run(command, *flags)
                    for name, command in peer.sides(OPTIONS, OPTIONS.mujoco_python).items()}

    def test_there_is_a_rate_for_every_side(self):
        reports = self.reports(SCENE.format(BALL.format(1), ''), '--steps', 25, look=False)
        self.assertEqual(list(reports), ['axion', *peer.VARIANTS])
        for name, report in reports.items():
            self.assertGreater(report['steps_per_second'], 0, name)
            self.assertEqual((report['worlds'], report['steps'], report['dt']), (2, 25, 0.01), name)

    def test_what_falls_falls_as_far_on_every_side(self):
        # A quarter of a second; a first order step is off by h t g / 2 = 12 mm.
        for name, report in self.reports(SCENE.format(BALL.format(1), ''), '--steps', 25, '--watch', 'ball').items():
            self.assertAlmostEqual(report['watched_height_end_min_m'], 1 - 9.81 * 0.25 ** 2 / 2, delta=0.0125, msg=name)
            self.assertEqual((report['max_penetration_m'], report['non_finite_fraction']), (0, 0), name)

    def test_overlap_is_the_deepest_of_any_step(self):
        for name, report in self.reports(SCENE.format(BALL.format(0.07), ''), '--steps', 25).items():
            if name != 'axion':  # which counts where steps end
                self.assertAlmostEqual(report['max_penetration_m'], 0.03, delta=1e-6, msg=name)  # as it starts
                self.assertGreater(report['contacts_mean'], 0)

    def test_a_loop_that_starts_open_is_said_to_be(self):
        two = BALL.format(1) + '<body name="other" pos="0 .5 1"><freejoint/><geom size=".1" mass="1"/></body>'
        apart = ('<equality><connect body1="ball" body2="other" anchor="0 0 0"/></equality>'
                 '<keyframe><key qpos="0 0 1 1 0 0 0 0 .8 1 1 0 0 0"/></keyframe>')
        for name, report in self.reports(SCENE.format(two, apart), '--steps', 5, '--keyframe', 0).items():
            if name != 'axion':
                self.assertAlmostEqual(report['max_joint_error_m'], 0.3, delta=1e-6, msg=name)  # beyond the file's 0.5

    def test_controls_are_those_of_axion_bench(self):
        # What a motor throws about ends where Axion has it, to a twentieth of the way it turns: other draws would end elsewhere.
        flags = ('--steps', 40, '--control_hold', 4, '--control_fraction', 1, '--watch', 'base')
        reports = self.reports(SCENE.format(AXLE, MOTOR), *flags)
        others = self.reports(SCENE.format(AXLE, MOTOR), *flags, '--seed', 2)
        for name in peer.VARIANTS:
            tilt = reports['axion']['watched_tilt_max_rad']
            self.assertAlmostEqual(reports[name]['watched_tilt_max_rad'], tilt, delta=0.05 * tilt, msg=name)
            self.assertGreater(abs(others[name]['watched_tilt_max_rad'] - tilt), 0.05 * tilt, name)

    def test_a_world_that_is_given_up_has_no_rate_and_is_told(self):
        # A spring of 1e6 N/m that is stepped explicitly by 10 ms grows in a few steps beyond what MuJoCo lets a world be.
        wild = ('<body name="ball" pos="0 0 3"><freejoint/><geom size=".1" mass="1"/></body><body pos="0 1 3"><joint name="j" type="slide" '
                'ref="1"/><geom size=".01" mass=".001"/></body>')
        drive = '<actuator><general joint="j" gainprm="1e9" biastype="none" ctrllimited="true" ctrlrange="-1e9 1e9"/></actuator>'
        flags = ('--steps', 50, '--control_fraction', 1)
        for name, report in self.reports(SCENE.format(wild, drive), *flags, look=False).items():
            if name != 'axion':
                self.assertIsNone(report['steps_per_second'], name)
                self.assertEqual(report['warned_worlds'], 2, name)

    def test_models_stand_beside_every_variant(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'two.xml'
            path.write_text(SCENE.format(BALL.format(0.07), ''), encoding='utf-8')
            worker = models.Mujoco(sys.executable)
            run = {'steps': 20, 'controls': []}
            answer = worker.ask({'path': str(path), 'dt': 0.01, 'actuators': [], 'rest': run, 'random': run})
            with worker.worker:
                worker.worker.stdin.close()
            self.assertEqual(worker.worker.returncode, 0)
        self.assertTrue(answer['reads'], answer)
        for name in models.RUNS:
            variants = answer[name]['variants']
            self.assertEqual(list(variants), list(peer.VARIANTS))
            for figures in variants.values():
                self.assertAlmostEqual(figures['overlap'], 0.03, delta=1e-6)
                self.assertGreater(figures['seconds'], 0)
                self.assertFalse(figures['gave_up'])
            (body,) = answer[name]['bodies']
            self.assertAlmostEqual(body['first'][2], 0.07, delta=1e-9)
            self.assertGreater(body['last'][2], 0.075)  # pushed out

if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
