#!/usr/bin/env python3
"""axion-bench runs, prints the JSON that is documented, and its figures make sense. Never how long it took.

Usage: bench_smoke_test.py BIN_DIRECTORY MODEL.xml
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv[1]).resolve()
MODEL = sys.argv[2]
FIELDS = {'model', 'device', 'worlds', 'steps', 'dt', 'precision', 'steps_per_second', 'wall_seconds',
          'newton_iterations_mean', 'newton_iterations_p99', 'linear_iterations_mean', 'sweep_rounds_mean',
          'contact_sweeps_mean', 'contacts_mean',
          'converged_fraction', 'max_penetration_m', 'max_joint_error_m'}


def run(program, *arguments):
    return subprocess.run([str(BIN / program), *arguments], capture_output=True, text=True, timeout=800)


def report(*extra):
    done = run('axion-bench', '--model', MODEL, '--worlds', '3', '--steps', '20', '--warmup_steps', '0', '--dt', '0.005',
               '--device', 'cpu', '--threads', '2', '--json', *extra)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout
    return json.loads(lines[0])


class AxionBench(unittest.TestCase):
    def test_report_has_every_documented_field(self):
        self.assertLessEqual(FIELDS, set(report()))

    def test_report_repeats_what_was_asked(self):
        r = report('--precision', 'float64')
        asked = {'model': pathlib.Path(MODEL).name, 'worlds': 3, 'steps': 20, 'dt': 0.005, 'device': 'cpu', 'threads': 2,
                 'precision': 'float64'}
        self.assertEqual({key: r[key] for key in asked}, asked)

    def test_both_precisions_converge(self):
        for precision in ('float32', 'float64'):
            with self.subTest(precision=precision):
                r = report('--precision', precision, '--keyframe', '0')
                self.assertGreaterEqual(r['converged_fraction'], 0.9)
                self.assertLessEqual(r['converged_fraction'], 1.0)
                self.assertEqual(r['non_finite_fraction'], 0.0)
                self.assertGreaterEqual(r['newton_iterations_mean'] + r['sweep_rounds_mean'], 1)
                self.assertGreaterEqual(r['contact_sweeps_mean'], r['sweep_rounds_mean'])

    def test_memory_table_adds_up_to_the_blocks_of_a_world(self):
        table = report('--memory')
        sums = dict.fromkeys(('state', 'parameters', 'step', 'sweeps', 'linear_solve', 'end_of_step'), 0)
        for array in table['arrays']:
            sums[array['needed']] += array['bytes']
        scratch = sums['step'] + max(sums['sweeps'], sums['linear_solve'], sums['end_of_step'])
        for total, block in ((sums['state'] + sums['parameters'], table['world_bytes']), (scratch, table['scratch_bytes'])):
            self.assertLessEqual(total, block)
            self.assertGreater(total + 128, block)
        self.assertEqual({a['owner'] for a in table['arrays']},
                         {'state', 'motion', 'rows', 'system', 'constraints', 'collide', 'tree', 'sweeps', 'reference', 'newton',
                          'step', 'velocity_sync', 'readout', 'world'})
        for text in ('sweeps', 'delassus', 'bytes of scratch'):
            self.assertIn(text, run('axion-bench', '--model', MODEL, '--memory').stdout)

    def test_memory_of_a_batch_is_its_worlds(self):
        one, many = (report('--worlds', str(n))['memory_bytes'] for n in (1, 3))
        self.assertLessEqual(report('--memory')['world_bytes'], (many - one) / 2)

    def test_preset_changes_the_solver(self):
        one, other = report(), report('--preset', 'axion_seed')
        self.assertEqual(other['non_finite_fraction'], 0.0)
        # The direct solve counts one a Newton iteration, conjugate residuals many.
        self.assertEqual(one['linear_iterations_mean'], one['newton_iterations_mean'])
        self.assertGreater(other['linear_iterations_mean'], other['newton_iterations_mean'])

    def test_solver_figures_do_not_depend_on_launches_and_threads(self):
        keys = ('newton_iterations_mean', 'contact_sweeps_mean', 'linear_iterations_mean', 'contacts_mean', 'max_penetration_m')
        one, other = report('--steps_per_launch', '20'), report('--steps_per_launch', '3', '--threads=1')
        self.assertEqual([one[k] for k in keys], [other[k] for k in keys])

    def test_a_model_takes_files_from_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(MODEL, pathlib.Path(folder) / 'part.xml')
            whole = pathlib.Path(folder) / 'whole.xml'
            whole.write_text('<mujoco><include file="part.xml"/></mujoco>', encoding='utf-8')
            self.assertEqual(report('--model', str(whole))['bodies'], report()['bodies'])

    def test_wrong_command_lines_name_what_is_wrong(self):
        for arguments, name in ((['--worlds', '0'], '--worlds'), (['--frobnicate', '1'], '--frobnicate'),
                                (['--dt', 'nan'], '--dt'), (['--device', 'abacus'], 'abacus'),
                                (['--model', '/nowhere.xml'], '/nowhere.xml'), (['--steps'], '--steps')):
            with self.subTest(arguments=arguments):
                done = run('axion-bench', '--model', MODEL, *arguments)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(name, done.stderr)


@unittest.skipUnless((BIN / 'rpc_bench').exists(), 'rpc_bench needs the server and the client')
class RpcBench(unittest.TestCase):
    def test_server_and_engine_agree_and_every_way_is_reported(self):
        # The program itself compares the bits of both sides after every step, and fails where they differ.
        done = run('rpc_bench', '--axiond', str(BIN / 'axiond'), '--model', MODEL, '--worlds', '1', '--worlds', '3',
                   '--repeat', '2')
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split(' | ') for line in done.stdout.splitlines()[2:]]
        self.assertEqual([row[0].strip('| ') for row in rows], ['1'] * 4 + ['3'] * 4)
        self.assertEqual([row[1].split()[0].strip(',') for row in rows],
                         ['engine', 'Step', 'StepStream', 'KeepAlive'] * 2)

    def test_wrong_command_line_is_named(self):
        for arguments in (['--model', MODEL], ['--worlds', 'x'], ['--colour', 'red']):
            with self.subTest(arguments=arguments):
                done = run('rpc_bench', *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn('--', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
