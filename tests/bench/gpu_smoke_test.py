#!/usr/bin/env python3
"""gpu.py and gpu_prepare.py on a machine without a GPU: what is done in which order, what is refused, what a tool is called with, and
what is left of a call that is ended early.

Usage: gpu_smoke_test.py BIN_DIRECTORY MODEL.xml [TEST...]
"""

import gzip
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from benchmarks import rows_of  # noqa: E402  beside this file
import gpu_build  # noqa: E402
import gpu_device  # noqa: E402
import gpu_prepare  # noqa: E402

BIN = pathlib.Path(sys.argv[1]).resolve()
MODEL = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ['build', 'first', 'table', 'profiler', 'agreement', 'sanitizer', 'shapes', 'warp']
IN_SMALL = ['--dry_run', '--table_model', MODEL, '--shape_models', MODEL, '--presets', 'default', '--near_kib', 0, 8,
            '--shape_worlds', 8192]

# Stands for axion-bench and axion-agreement: it answers at once where `quick` is in its arguments, and never else.
NEVER_ENDS = '''#!/bin/sh
case "$*" in
  --help) exit 0;;
  *"{quick}"*) echo '{report}'; exit 0;;
esac
echo $$ > "{pid}"
exec sleep 1000
'''
REPORT = {'model': MODEL.name, 'worlds': 2, 'steps_per_second': 4321.0, 'block_threads': 32, 'near_bytes': 64, 'converged_fraction': 1,
          'contacts_mean': 1, 'newton_iterations_mean': 1, 'sweep_rounds_mean': 1, 'contact_sweeps_mean': 3, 'memory_bytes': 1}


def command(*arguments):
    return [sys.executable, '-B', str(HERE / 'gpu.py'), *map(str, arguments)]


def run(*arguments, **more):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=800, check=False, **more)


# Stands for Nsight Compute on a card whose clocks must stay: it notes what it is asked, and refuses what would lock them.
NCU = '''#!/bin/sh
echo "$*" >> "{folder}/asked"
case "$*" in
  *"--import {folder}/report.ncu-rep --page source --csv --print-source cuda,sass"*) cat "{folder}/lines.csv";;
  *"--import {folder}/report.ncu-rep --page source --csv --print-source sass"*) echo 'by instruction';;
  *"--clock-control none "*"--export {folder}/report.ncu-rep "*) echo '    Registers Per Thread  128';;
  *) echo "==ERROR== the clocks would be locked"; exit 1;;
esac
'''
# Two lines of the source in two functions: what ncu prints, with fewer columns. A row without a number is an instruction's.
LINES = '''"File Path","/elsewhere/engine/solver/sweep.hpp"
"Function Name","void first()"
"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed","stall_long_sb","stall_no_inst"
"12","x = a[i] | b;","-","-","60","1000","40","5"
"","","0x10","LDG R2, desc[UR4][R2]","60","1000","40","5"
"40","++k;","-","-","10","3000","0","10"
"File Path","/elsewhere/engine/solver/sweep.hpp"
"Function Name","void second()"
"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed","stall_long_sb","stall_no_inst"
"12","x = a[i] | b;","-","-","30","1000","20","0"
'''


def script(path, text):
    path.write_text(text, encoding='utf-8')
    path.chmod(0o755)


def answering(folder, **more):
    """A folder of programs that answer everything at once, with a report that may say something else."""
    for name in ('axion-bench', 'axion-agreement'):
        script(folder / name, f"#!/bin/sh\necho '{json.dumps({**REPORT, **more})}'\n")
    return folder


def headings(text):
    return [line[3:] for line in text.splitlines() if line.startswith('## ')]


def never_ending(folder, quick):
    """A folder of programs that answer only what has `quick` in it, and where they write the number of the process that does not end."""
    folder, pid = pathlib.Path(folder), pathlib.Path(folder) / 'pid'
    for name in ('axion-bench', 'axion-agreement'):
        script(folder / name, NEVER_ENDS.format(quick=quick, report=json.dumps(REPORT), pid=pid))
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
            done = subprocess.run(['cmake', '-G', 'Ninja', '-S', str(HERE.parents[1]), '-B', folder, '-DAXION_CUDA=OFF', *gpu_build.BARE,
                                   *nowhere], capture_output=True, text=True, timeout=800, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class DryRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / 'bin'  # programs of the CPU alone, which are quicker than the emulated GPU
        self.bin.mkdir()
        for name in ('axion-bench', 'axion-agreement'):
            (self.bin / name).symlink_to(BIN / name)

    def test_the_most_wanted_comes_first_and_every_part_says_something(self):
        done = run(*IN_SMALL, '--bin', self.bin, '--agreement_models', 'wheeled_robot.xml', '--worlds', 1, 65536)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(headings(done.stdout), PARTS)
        said = dict(zip(PARTS, done.stdout.split('\n## ')[1:]))
        self.assertRegex(said['first'], r'2 worlds, as they fall: [\d,]+ steps/s')
        self.assertRegex(said['first'], r'2 worlds, after 200 steps: [\d,]+ steps/s')
        self.assertEqual([row[0] for row in rows_of(said['table'])], ['worlds', '1', '2'])
        self.assertIn('ncu --clock-control none', said['profiler'])
        self.assertEqual([row[3] for row in rows_of(said['agreement'])[1:]], ['same bits'] * 2)
        self.assertEqual(said['sanitizer'].count('compute-sanitizer --tool'), 3)
        self.assertEqual([row[0] for row in rows_of(said['shapes'])[1:]], ['32', '64', '128', '256'])
        self.assertIn('all shapes end in the same bits', said['shapes'])

    def test_neither_git_nor_any_other_program_is_needed(self):
        done = run(*IN_SMALL, '--bin', self.bin, '--parts', 'build', 'first', 'table', 'profiler', 'sanitizer',
                   env={'PATH': str(self.folder)})
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
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'no_robot.xml').write_text('<sdf/>', encoding='utf-8')
            done = run(*IN_SMALL, '--bin', BIN, '--parts', 'agreement', '--models', folder, '--agreement_models', 'no_robot.xml')
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('| no_robot.xml | | | skipped', done.stdout)

    def test_it_says_what_a_gpu_would_get_and_measures_two_worlds(self):
        done = run(*IN_SMALL, '--bin', self.bin, '--parts', 'build', 'table', '--worlds', 65536, '--warmup_steps', 200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r'\$ .*axion-bench .* --device cuda:0 --worlds 65536 --steps 61 --steps_per_launch 50 '
                                      '--warmup_steps 200')
        self.assertEqual([row[0] for row in rows_of(done.stdout)], ['worlds', '2'])

    @unittest.skipUnless((BIN / 'axion-bench-emulated').exists(), 'no emulated GPU was built')
    def test_the_emulated_gpu_takes_the_place_of_one(self):
        done = run(*IN_SMALL, '--bin', BIN, '--parts', 'build', 'first', 'agreement', '--agreement_models', 'wheeled_robot.xml')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('device: cuda:0, emulated', done.stdout)
        self.assertRegex(done.stdout, r'after 200 steps: [\d,]+ steps/s; (32|64|128|256) threads')  # of a block: the CPU has none
        self.assertEqual([row[3] for row in rows_of(done.stdout)[1:]], ['same bits'] * 2)

    def test_it_looks_for_programs_libraries_tools_and_models(self):
        models = self.folder / 'models'
        models.mkdir()
        shutil.copy(MODEL, models / 'good.xml')
        arguments = ['--dry_run', '--bin', self.bin, '--parts', 'build', '--models', models]
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r'axion-bench starts; it loads .*libc\.so\.6')
        self.assertRegex(done.stdout, r'libcuda\.so\.1 (yes|no), ncu (yes|no), compute-sanitizer (yes|no)')
        self.assertIn('good.xml steps', done.stdout)
        (models / 'sdf.xml').write_text('<sdf/>', encoding='utf-8')
        self.assertIn('sdf.xml is not imported', run(*arguments).stdout)

    def test_each_call_of_the_recipe_goes_through(self):
        calls = [shlex.split(line)[2:] for line in (HERE / 'gpu_recipe.md').read_text(encoding='utf-8').splitlines()
                 if line.startswith('python3 tests/bench/gpu.py ')]
        self.assertEqual(len(calls), 2)
        (self.folder / 'models').mkdir()
        for name in ('humanoid.xml', 'quadruped.xml'):  # a quadruped twice, as published models need not be here
            shutil.copy(MODEL, self.folder / 'models' / name)
        for call in calls:
            done = run(*(word.replace('.gpu', str(self.folder)).replace('OUT', str(self.folder)) for word in call), '--dry_run')
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(headings(done.stdout), call[call.index('--parts') + 1:][:4])
            self.assertNotIn('cut short', done.stdout)
            self.assertNotRegex(done.stdout, r'nvidia-smi|clock-control (base|reset)')
            self.assertEqual(done.stdout.count('ncu --clock-control none '), call.count('profiler'))

    def test_programs_that_do_not_start_are_named(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run(*IN_SMALL, '--bin', empty, '--parts', 'build', '--build', pathlib.Path(empty) / 'build', env={'PATH': empty})
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('axion-bench does not start', done.stdout)
        self.assertIn('build failed: cmake', done.stdout)


class Profiler(unittest.TestCase):
    def profile(self, folder, lines):
        """(report, what ncu was asked) of the profiler alone, with Nsight Compute that prints these lines."""
        script(folder / 'ncu', NCU.format(folder=folder))
        (folder / 'lines.csv').write_text(lines, encoding='utf-8')
        done = run('--bin', answering(folder), '--table_model', MODEL, '--parts', 'profiler', '--out', folder / 'report.md',
                   env={'PATH': f'{folder}:{os.environ["PATH"]}'})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, (folder / 'asked').read_text(encoding='utf-8').splitlines()

    def test_the_clocks_of_the_card_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            said, asked = self.profile(pathlib.Path(folder), LINES)
        self.assertIn('Registers Per Thread', said)
        for command in asked:
            self.assertTrue('--clock-control none ' in command or command.startswith('--import '), command)

    def test_samples_are_reported_by_source_line(self):
        with tempfile.TemporaryDirectory() as folder:
            said, asked = self.profile(pathlib.Path(folder), LINES)
            with gzip.open(pathlib.Path(folder) / 'report.lines.csv.gz', 'rt', encoding='utf-8') as file:
                self.assertEqual(file.read(), LINES)
        self.assertRegex(asked[0], f'--import-source yes --source-folders {ROOT}/engine .*--section SourceCounters')
        self.assertIn('100 samples of warps, 5,000 instructions; waiting for: long_sb 60 %, no_inst 15 %', said)
        self.assertEqual(rows_of(said)[1:], [
            ['engine/solver/sweep.hpp:12', '90.0', '40.0', 'long_sb 67 %, no_inst 6 %', '`x = a[i] ¦ b;`'],
            ['engine/solver/sweep.hpp:40', '10.0', '60.0', 'no_inst 100 %, long_sb 0 %', '`++k;`']])

    def test_without_source_lines_counts_by_instruction_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            said, _ = self.profile(pathlib.Path(folder), '')
            with gzip.open(pathlib.Path(folder) / 'report.lines.csv.gz', 'rt', encoding='utf-8') as file:
                self.assertEqual(file.read(), 'by instruction\n')
        self.assertIn('no sample has a source line', said)

    def test_the_build_puts_source_lines_into_the_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ('cmake', 'ninja'):
                script(pathlib.Path(folder) / name, f'#!/bin/sh\necho {name} "$@" >> {folder}/asked\n')
            run('--parts', 'build', '--architecture', '90', '--build', folder, env={'PATH': f'{folder}:{os.environ["PATH"]}'})
            asked = (pathlib.Path(folder) / 'asked').read_text(encoding='utf-8')
        self.assertRegex(asked, 'cmake .*-DCMAKE_CUDA_ARCHITECTURES=90 .*-DCMAKE_CUDA_FLAGS=-lineinfo ')
        self.assertRegex(asked, 'ninja .*axion-bench axion-agreement')


class OtherModels(unittest.TestCase):
    def refused(self, name, *arguments):
        """That a call ends before anything is measured, and names what is not there."""
        done = run('--bin', BIN, '--device', 'cpu', *arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stdout, '')
        self.assertIn(name, done.stderr.splitlines()[-1])

    def test_a_model_that_is_not_there_is_refused_and_none_is_measured_in_its_place(self):
        with tempfile.TemporaryDirectory() as empty:
            for part in ('first', 'table', 'profiler', 'shapes', 'warp'):
                self.refused('humanoid.xml', '--parts', part, '--models', empty)
                self.refused('--table_model', '--parts', part)
            self.refused('nowhere', '--parts', 'agreement', '--models', f'{empty}/nowhere')
            self.refused('gone.xml', '--parts', 'table', '--table_model', f'{empty}/gone.xml')
            self.refused('gone.xml', '--parts', 'shapes', '--table_model', MODEL, '--shape_models', MODEL, f'{empty}/gone.xml')
            self.refused('gone.xml', '--parts', 'sanitizer', '--sanitizer_models', f'{empty}/gone.xml')
            self.refused('gone.xml', '--parts', 'agreement', '--models', MODEL.parent, '--agreement_models', MODEL.name, 'gone.xml')

    def test_a_figure_of_another_model_is_not_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run('--bin', answering(pathlib.Path(folder), model='other.xml'), '--parts', 'first', '--table_model', MODEL)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f'refused: other.xml was measured in place of {MODEL.name}', done.stdout)
        self.assertNotIn('4,321', done.stdout)

    def test_a_model_that_is_found_twice_is_compared_once(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / 'clients/examples/models/quadruped.xml', folder)
            done = run(*IN_SMALL, '--bin', BIN, '--parts', 'agreement', '--models', folder, '--agreement_models', 'quadruped.xml')
        self.assertEqual([row[1] for row in rows_of(done.stdout)], ['precision', 'float32', 'float64'], done.stdout)


class Prepared(unittest.TestCase):
    def prepare(self, folder, *arguments, **more):
        """gpu_prepare.py on programs that were built before, with models of the names that it asks for."""
        models = folder / 'published'
        models.mkdir(exist_ok=True)
        for name in gpu_prepare.PUBLISHED:
            shutil.copy(MODEL, models / name)
        return subprocess.run([sys.executable, '-B', str(HERE / 'gpu_prepare.py'), '--models', str(models), '--to', str(folder / 'to'),
                               '--build', str(folder / 'build'), *map(str, arguments)],
                              capture_output=True, text=True, timeout=800, check=False, **more)

    def plain_programs(self, folder, text):
        """Programs in C, which need the C library alone."""
        folder.mkdir()
        (folder / 'main.c').write_text(text, encoding='utf-8')
        for name in ('axion-bench', 'axion-agreement'):
            subprocess.run(['cc', '-o', str(folder / name), str(folder / 'main.c')], check=True, timeout=60)
        return folder

    def test_git_ignores_what_is_carried(self):
        self.assertIn('/.gpu/', (ROOT / '.gitignore').read_text(encoding='utf-8').splitlines())

    def test_one_command_fills_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            done = self.prepare(folder, '--bin', self.plain_programs(folder / 'bin', 'int main(void) { return 0; }'))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r'MiB  with the tree, of 62')
            names = sorted(str(path.relative_to(folder / 'to')) for path in (folder / 'to').rglob('*') if path.is_file())
            self.assertEqual(names, ['bin/axion-agreement', 'bin/axion-bench', 'commit', 'models/ant.xml', 'models/humanoid.xml',
                                     'models/quadruped.xml', 'models/three_humanoids.xml'])

    def test_it_builds_what_it_carries(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            made = self.plain_programs(folder / 'made', 'int main(void) { return 0; }')
            script(folder / 'cmake', '#!/bin/sh\n')
            script(folder / 'ninja', f'#!/bin/sh\nmkdir -p {folder}/build/bin && cp {made}/axion-* {folder}/build/bin\n')
            done = self.prepare(folder, env={**os.environ, 'PATH': f'{folder}:{os.environ["PATH"]}'})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertTrue((folder / 'to/bin/axion-agreement').is_file())

    def test_what_would_not_do_elsewhere_is_refused_and_leaves_the_folder_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / 'to').mkdir()
            (folder / 'to/kept').touch()
            good = self.plain_programs(folder / 'bin', 'int main(void) { return 0; }')
            refuses = self.plain_programs(folder / 'no', 'int main(int n, char** a) { (void)a; return n > 2; }')
            for named, *arguments in (('libstdc++.so.6', '--bin', BIN), ('there is no', '--bin', folder),
                                      ('MiB', '--bin', good, '--limit_mib', 1),
                                      ('there is no', '--bin', good, '--models', folder), ('ant.xml', '--bin', refuses)):
                done = self.prepare(folder, *arguments)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(named, done.stderr)
                self.assertEqual([path.name for path in (folder / 'to').iterdir()], ['kept'])

    def test_a_newer_c_library_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            good = self.plain_programs(folder / 'bin', 'int main(void) { return 0; }')
            libraries, version = gpu_prepare.needs_of(good / 'axion-bench')
            self.assertEqual(libraries, {'libc.so.6'})
            self.assertGreaterEqual(version, (2, 2))
            limit, gpu_prepare.GLIBC = gpu_prepare.GLIBC, (2, 1)
            try:
                with self.assertRaisesRegex(gpu_prepare.UnfitError, 'glibc'):
                    gpu_prepare.add_programs(good, folder / 'new')
            finally:
                gpu_prepare.GLIBC = limit


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
        self.assertIn('after 200 steps: 4,321 steps/s', said)
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
