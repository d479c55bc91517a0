#!/usr/bin/env python3
"""gpu.py on a machine without a GPU: what it does in which order, and what is left of a call that is ended early.

Usage: gpu_smoke_test.py BIN_DIRECTORY MODEL.xml [TEST...]
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from benchmarks import rows_of  # noqa: E402  beside this file
import gpu  # noqa: E402
import gpu_device  # noqa: E402

BIN = pathlib.Path(sys.argv[1]).resolve()
MODEL = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
PARTS = ['build', 'first', 'table', 'profiler', 'agreement', 'sanitizer', 'shapes', 'warp']
IN_SMALL = ['--dry_run', '--table_model', MODEL, '--shape_models', MODEL, '--presets', 'default', '--near_kib', 0, 8]

# Stands for axion-bench and axion-agreement: it answers at once where `quick` is in its arguments, and never else.
NEVER_ENDS = '''#!/bin/sh
case "$*" in
  --help) exit 0;;
  *"{quick}"*) echo '{report}'; exit 0;;
esac
echo $$ > "{pid}"
exec sleep 1000
'''
REPORT = {'steps_per_second': 4321.0, 'block_threads': 32, 'near_bytes': 64, 'converged_fraction': 1, 'contacts_mean': 1,
          'newton_iterations_mean': 1, 'sweep_rounds_mean': 1, 'contact_sweeps_mean': 3, 'memory_bytes': 1}


def command(*arguments):
    return [sys.executable, '-B', str(HERE / 'gpu.py'), *map(str, arguments)]


def run(*arguments, **more):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=280, check=False, **more)


def headings(text):
    return [line[3:] for line in text.splitlines() if line.startswith('## ')]


def never_ending(folder, quick):
    """A folder of programs that answer only what has `quick` in it, and where they write the number of the process that does not end."""
    folder, pid = pathlib.Path(folder), pathlib.Path(folder) / 'pid'
    for name in ('axion-bench', 'axion-agreement'):
        (folder / name).write_text(NEVER_ENDS.format(quick=quick, report=json.dumps(REPORT), pid=pid), encoding='utf-8')
        (folder / name).chmod(0o755)
    return pid


def lives(pid):
    """Whether a process runs; one that has ended and is not yet collected does not."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()[0] not in 'ZX'
    except FileNotFoundError:
        return False


class Bare(unittest.TestCase):
    def test_the_build_looks_for_no_library_of_the_machine(self):
        nowhere = ['-DCMAKE_FIND_ROOT_PATH=/nowhere',
                   *(f'-DCMAKE_FIND_ROOT_PATH_MODE_{what}=ONLY' for what in ('PACKAGE', 'INCLUDE', 'LIBRARY'))]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(['cmake', '-G', 'Ninja', '-S', str(HERE.parents[1]), '-B', folder, '-DAXION_CUDA=OFF', *gpu.BARE,
                                   *nowhere], capture_output=True, text=True, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class DryRun(unittest.TestCase):
    def test_the_most_wanted_comes_first_and_every_part_says_something(self):
        done = run(*IN_SMALL, '--bin', BIN, '--agreement_models', 'wheeled_robot.xml')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(headings(done.stdout), PARTS)
        said = dict(zip(PARTS, done.stdout.split('\n## ')[1:]))
        self.assertRegex(said['first'], r'2 worlds, as they fall: [\d,]+ steps/s')
        self.assertRegex(said['first'], r'2 worlds, after 5 steps: [\d,]+ steps/s')
        self.assertEqual([row[0] for row in rows_of(said['table'])], ['worlds', '1', '2'])
        self.assertIn('ncu --launch-skip', said['profiler'])
        self.assertEqual([row[3] for row in rows_of(said['agreement'])[1:]], ['same bits'] * 2)
        self.assertEqual(said['sanitizer'].count('compute-sanitizer --tool'), 3)
        self.assertEqual([row[0] for row in rows_of(said['shapes'])[1:]], ['32', '64', '128', '256'])
        self.assertIn('all shapes end in the same bits', said['shapes'])

    def test_neither_git_nor_any_other_program_is_needed(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run(*IN_SMALL, '--bin', BIN, '--parts', 'build', 'first', 'table', 'profiler', 'sanitizer', env={'PATH': empty})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('left out, as there is no GPU', done.stdout)

    def test_a_model_that_does_not_import_is_skipped_with_a_word(self):
        with tempfile.TemporaryDirectory() as folder:
            models = pathlib.Path(folder)
            (models / 'a_mesh.xml').write_text('<mujoco><asset><mesh name="m" file="m.stl"/></asset><worldbody><body>'
                                               '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>', encoding='utf-8')
            shutil.copy(MODEL, models / 'good.xml')
            done = run(*IN_SMALL, '--bin', BIN, '--parts', 'agreement', '--models', models, '--agreement_models', 'a_mesh.xml', 'good.xml')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = {row[0]: row[3] for row in rows_of(done.stdout)}
        self.assertRegex(rows['a_mesh.xml'], 'skipped: import: .*mesh')
        self.assertEqual(rows['good.xml'], 'same bits')

    def test_models_that_are_all_skipped_are_no_agreement(self):
        done = run(*IN_SMALL, '--bin', BIN, '--parts', 'agreement', '--agreement_models', 'nothing_like_it.xml')
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_programs_that_do_not_start_are_named(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run(*IN_SMALL, '--bin', empty, '--parts', 'build', '--build', pathlib.Path(empty) / 'build', env={'PATH': empty})
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('axion-bench does not start', done.stdout)
        self.assertIn('build failed: cmake', done.stdout)


class EndedEarly(unittest.TestCase):
    def test_the_deadline_ends_what_does_not_end_and_names_what_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            pid = never_ending(folder, '--worlds 2 ')
            done = run(*IN_SMALL, '--bin', folder, '--deadline', 2)
            self.assertFalse(lives(pid.read_text(encoding='utf-8').strip()), 'the program outlives the deadline')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(headings(done.stdout), PARTS)
        self.assertIn('as they fall: 4,321 steps/s', done.stdout)
        self.assertIn('the deadline left out or cut short: table, agreement, shapes, warp', done.stdout)

    def test_rows_are_in_the_file_when_the_call_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            pid, out = never_ending(folder, '--worlds 2 '), pathlib.Path(folder) / 'report.md'
            with subprocess.Popen(command(*IN_SMALL, '--bin', folder, '--out', out), stdout=subprocess.PIPE, text=True) as process:
                for line in process.stdout:
                    if line.startswith('| worlds'):  # the first row of the table does not end
                        break
                process.kill()
                process.stdout.read()
            said = out.read_text(encoding='utf-8')
            if pid.exists() and lives(pid.read_text(encoding='utf-8').strip()):
                os.kill(int(pid.read_text(encoding='utf-8')), signal.SIGKILL)
        self.assertIn('as they fall: 4,321 steps/s', said)
        self.assertIn('after 5 steps: 4,321 steps/s', said)
        self.assertIn('| worlds |', said)

    def test_a_call_that_is_told_to_end_takes_its_programs_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            pid = never_ending(folder, 'no such argument')
            os.mkfifo(pid)  # opened when the program has come as far
            with subprocess.Popen(command(*IN_SMALL, '--bin', folder), stdout=subprocess.PIPE, text=True) as process:
                number = pid.read_text(encoding='utf-8').strip()
                process.terminate()
                process.stdout.read()
            self.assertEqual(process.returncode, 143)
            self.assertFalse(lives(number))


class Machine(unittest.TestCase):
    @unittest.skipIf(gpu_device.gpu()[0], 'there is a GPU')
    def test_without_a_gpu_it_asks_for_an_architecture(self):
        done = run('--parts', 'build')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('--architecture', done.stdout)

    def test_wrong_parts_and_devices_are_named(self):
        done = run('--parts', 'bild')
        self.assertEqual(done.returncode, 2)
        self.assertIn('bild', done.stderr)
        done = run('--bin', BIN, '--parts', 'table', '--device', 'abacus', '--table_model', MODEL, '--worlds', 1)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('abacus', done.stdout)

    def test_the_commit_is_read_without_git(self):
        commit = '0123456789abcdef0123456789abcdef01234567'
        with tempfile.TemporaryDirectory() as folder:
            git = pathlib.Path(folder) / '.git'
            (git / 'refs/heads').mkdir(parents=True)
            (git / 'HEAD').write_text('ref: refs/heads/main\n', encoding='utf-8')
            path, os.environ['PATH'] = os.environ['PATH'], folder
            try:
                self.assertEqual(gpu_device.revision(folder), 'unknown')
                (git / 'packed-refs').write_text(f'# pack-refs\n{commit} refs/heads/main\n', encoding='utf-8')
                self.assertEqual(gpu_device.revision(folder), commit[:7])
                (git / 'refs/heads/main').write_text('f' * 40, encoding='utf-8')
                self.assertEqual(gpu_device.revision(folder), 'fffffff')
                self.assertEqual(gpu_device.revision(pathlib.Path(folder) / 'nowhere'), 'unknown')
            finally:
                os.environ['PATH'] = path


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
