#!/usr/bin/env python3
"""Everything that a machine with a GPU is needed for, in one command of less than ten minutes: figures, bits beside the CPU's, sanitizers.

Needs Python's standard library, and either programs that were built before (--bin) or nvcc, CMake, Ninja and a C++20 compiler.
No git, no TinyXML-2, no gRPC, no GoogleTest, no network. The most wanted comes first, each row is on the screen and in --out as soon
as it is known, and --deadline ends the call in order: what was not reached is named. Parts, in this order (--parts chooses):
  build       the engine, axion-bench and axion-agreement with CUDA for the GPU that is there; with --bin that its programs start
  first       steps per second of 8,192 worlds, in the first minute: of falling robots, then of those that lie
  table       steps per second and memory over the number of worlds; time of a step of one world
  profiler    where ncu is installed: what a multiprocessor does in a launch, and what its warps wait for
  agreement   CPU and GPU step the same worlds; every field's bits are compared. Where they differ, worlds are stepped again a
              step a launch, and the first step, world and field are named. Part of the exit code.
  sanitizer   compute-sanitizer's memcheck, racecheck and synccheck over a few steps of a few worlds. Part of the exit code.
  shapes      steps per second over threads of a world and its bytes in shared memory, for one world, some and many: whether
              engine/backend/cuda/launch_plan.cpp chooses well; and that all shapes end in the same bits. Part of the exit code.
  warp        mujoco_warp on the same file in the same table, where that package is installed
A model that the engine does not import is skipped with a word. Programs for another machine: --parts build --architecture '80;90;100'
here, then carry build/gpu/bin and give it as --bin there. --dry_run tries all of it without a GPU, in small: it builds, runs every part on
the emulated GPU (tools/ptx; on the CPU where --bin has no such programs), and prints the commands that need a GPU. Its figures mean
nothing.

Usage: gpu.py [--models DIRECTORY_OF_humanoid.xml] [--bin build/gpu/bin] [--deadline 570] [--out report.md]
Exit code: 0; 1 where bits differ, a sanitizer complains, or a part did not work; 143 when it was told to end.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_device import gpu, revision  # noqa: E402  beside this file

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ['build', 'first', 'table', 'profiler', 'agreement', 'sanitizer', 'shapes', 'warp']
BLOCK_THREADS = [32, 64, 128, 256]
NEAR_KIB = [0, 4, 8, 12, 16, 24, 32, 48, 72, 100, 216]
QUADRUPED = ROOT / 'clients/examples/models/quadruped.xml'
OWN_MODELS = sorted((ROOT / 'clients/examples/models').glob('*.xml')) + [ROOT / 'tests/bench/wheeled_robot.xml']
CUDA_PROGRAMS = '/usr/local/cuda/bin'  # where its tools are, though not on every PATH
SANITIZERS = ['memcheck', 'racecheck', 'synccheck']
NCU_SECTIONS = ['SpeedOfLight', 'SchedulerStats', 'WarpStateStats', 'Occupancy', 'MemoryWorkloadAnalysis', 'InstructionStats']
PROGRAMS = ['axion-bench', 'axion-agreement']
NOT_IMPORTED = ('import:', 'compile:')  # how programs of this folder say that a model is not theirs


class DeadlineError(Exception):
    """No time is left for the rest of a part."""


class Report:
    """Lines for the screen and, each as soon as it is known, for the file."""

    def __init__(self, path):
        self.file = path.open('w', encoding='utf-8') if path else None

    def say(self, line=''):
        if self.file:
            self.file.write(line + '\n')
            self.file.flush()
        print(line, flush=True)


class Runner:
    """Runs programs, each in a process group of its own, none beyond the deadline."""

    def __init__(self, deadline):
        self.end = time.monotonic() + deadline if deadline else float('inf')
        self.process = None
        self.starting = self.told_to_end = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        """Ends the call through run(), which takes its program with it: once it knows which that is."""
        self.told_to_end = True
        if not self.starting:
            sys.exit(143)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def run(self, command, timeout=None):
        """Completed process, its output as text; return code 124 where it ran out of time, 127 where there is no such program.
        DeadlineError where it was the deadline that it ran into."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise DeadlineError
        limit = min(left, timeout or left)
        self.starting = True
        try:
            self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                            start_new_session=True)
        except OSError as error:
            return subprocess.CompletedProcess(command, 127, '', f'{command[0]}: {error.strerror}')
        finally:
            self.starting = False
        try:
            if self.told_to_end:
                sys.exit(143)
            out, err = self.process.communicate(timeout=None if limit == float('inf') else limit)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.process.communicate()
            if limit == left:
                raise DeadlineError from None
            return subprocess.CompletedProcess(command, 124, out, f'{err}\nno end within {limit:g} s')
        except BaseException:
            self.kill()
            raise
        return subprocess.CompletedProcess(command, self.process.returncode, out, err)


def last_line(done):
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1].strip()[:200] if lines else f'exit code {done.returncode}'


def not_imported(done):
    return done.returncode != 0 and last_line(done).startswith(NOT_IMPORTED)


def choose_device(options):
    """The GPU; of a dry run the emulated one, where its programs are at hand, or the CPU."""
    options.emulated = options.dry_run and all((options.bin / f'{name}-emulated').exists() for name in PROGRAMS)
    options.device = options.asked_device or ('cpu' if options.dry_run and not options.emulated else 'cuda:0')


def program(options, name):
    return options.bin / (f'{name}-emulated' if options.emulated else name)


def starts(options, runner):
    """Whether the programs of --bin run on this machine; else what is said."""
    choose_device(options)
    for name in PROGRAMS:
        done = runner.run([program(options, name), '--help'], timeout=60)
        if done.returncode != 0:
            return False, f'{program(options, name)} does not start: {last_line(done)}'
    return True, ''


# No library is looked for; programs that are carried elsewhere find the C++ library and TinyXML-2 within themselves.
BARE = ['-DAXION_WERROR=OFF', '-DAXION_BUNDLED_TINYXML2=ON', '-DAXION_PNG=OFF', '-DAXION_QHULL=OFF',
        '-DAXION_BUILD_SERVER=OFF', '-DAXION_BUILD_CLIENTS=OFF', '-DAXION_BUILD_TESTS=OFF',
        '-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc']


def build(options, report, runner):
    if options.built:
        good, why = starts(options, runner)
        if good:
            report.say(f'programs of {options.bin}; device: {options.device}{", emulated" if options.emulated else ""}')
            return True
        report.say(f'{why}; built anew')
        options.bin = options.build / 'bin'
    architecture = options.architecture or gpu()[1] or ('90' if options.dry_run else None)
    if architecture is None:
        report.say('build: no GPU is seen; name one with --architecture 90')
        return False
    configure = ['cmake', '-G', 'Ninja', '-S', ROOT, '-B', options.build, '-DCMAKE_BUILD_TYPE=Release', '-DAXION_CUDA=ON',
                 f'-DCMAKE_CUDA_ARCHITECTURES={architecture}', *BARE]
    if options.registers:
        configure.append(f'-DAXION_CUDA_REGISTERS={options.registers}')
    if options.dry_run:
        configure.append('-DAXION_EMULATED_GPU=ON')
    if options.prefix:
        configure.append(f'-DCMAKE_PREFIX_PATH={options.prefix}')
    jobs = [f'-j{options.jobs}'] if options.jobs else []
    start = time.monotonic()
    targets = PROGRAMS + [f'{name}-emulated' for name in PROGRAMS if options.dry_run]
    for command in (configure, ['ninja', '-C', options.build, *jobs, *targets]):
        done = runner.run(command)
        if done.returncode != 0:
            report.say(f'build failed: {" ".join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}')
            return False
    report.say(f'built in {options.build} for {architecture}, {time.monotonic() - start:.0f} s')
    good, why = starts(options, runner)
    report.say(why or f'device: {options.device}{", emulated" if options.emulated else ""}')
    return good


def bench_command(options, model, worlds, steps, steps_per_launch, *more):
    return [program(options, 'axion-bench'), '--json', '--model', model, '--device', options.device, '--worlds', worlds, '--steps', steps,
            '--steps_per_launch', steps_per_launch, '--warmup_steps', options.warmup_steps, *more]


def bench(options, runner, *arguments, timeout=300):
    """The report of axion-bench, or its last word."""
    done = runner.run(bench_command(options, *arguments), timeout=timeout)
    return json.loads(done.stdout) if done.returncode == 0 else last_line(done)


def first(options, report, runner):
    """Of falling robots at once; of those that lie as soon as they do, however slow the engine."""
    steps, measured = options.steps_per_launch, False
    for what, warmup in (('as they fall', 0), (f'after {options.warmup_steps} steps', options.warmup_steps)):
        r = bench(options, runner, options.table_model, options.first_worlds, steps, steps, '--warmup_steps', warmup, timeout=120)
        if isinstance(r, dict):
            measured = True
            report.say(f'{options.table_model.name}, {options.first_worlds} worlds, {what}: {r["steps_per_second"]:,.0f} steps/s; '
                       f'{r["block_threads"]} threads and {r["near_bytes"]} bytes near a world')
        else:
            report.say(f'{options.table_model.name}, {options.first_worlds} worlds, {what}: {r}')
    return measured


def table(options, report, runner):
    model = options.table_model
    report.say(f'{model.name}, dt of the file, controls new at every step, {options.steps_per_launch} steps a launch:\n')
    report.say('| worlds | steps/s | us a world-step | converged | contacts | Newton, rounds of sweeps, sweeps | memory a world, KiB |')
    report.say('| ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    measured = False
    for worlds in options.worlds:
        steps = max(options.steps_per_launch, min(2000, options.world_steps // worlds))
        r = bench(options, runner, model, worlds, steps, options.steps_per_launch)
        if not isinstance(r, dict):
            report.say(f'| {worlds} | {r} | | | | | |')
            continue
        measured = True
        report.say(f'| {worlds} | {r["steps_per_second"]:,.0f} | {1e6 / r["steps_per_second"]:.4g} | {r["converged_fraction"]:.5f} | '
                   f'{r["contacts_mean"]:.1f} | {r["newton_iterations_mean"]:.2f}, {r["sweep_rounds_mean"]:.2f}, '
                   f'{r["contact_sweeps_mean"]:.1f} | '
                   f'{r["memory_bytes"] / worlds / 1024:.1f} |')
    for launch in (1, options.steps_per_launch):
        r = bench(options, runner, model, 1, min(1000, options.world_steps), launch)
        if isinstance(r, dict):
            report.say(f'\none world, {launch} steps a launch: {1e3 / r["steps_per_second"]:.4g} ms a step')
    return measured


def no_tool(options, tool):
    """What is missing for a tool that looks at kernels, or nothing."""
    return 'GPU' if options.dry_run or options.device == 'cpu' else '' if shutil.which(tool) else tool


def profiler(options, report, runner):
    """One launch after the warm-up under Nsight Compute. Not part of the exit code: a driver may not let users count."""
    launches = options.warmup_steps // options.steps_per_launch
    command = ['ncu', '--launch-skip', launches, '--launch-count', 1, '--replay-mode', 'application']
    for section in NCU_SECTIONS:
        command += ['--section', section]
    command += bench_command(options, options.table_model, options.first_worlds, options.steps_per_launch, options.steps_per_launch)
    if no_tool(options, 'ncu'):
        report.say(f'left out, as there is no {no_tool(options, "ncu")}: {" ".join(map(str, command))}')
        return True
    done = runner.run(command, timeout=options.profiler_seconds)
    rows = [line.rstrip() for line in done.stdout.splitlines() if line.startswith('    ') and not line.strip().startswith(('OPT', 'INF'))]
    report.say('\n'.join(rows) if done.returncode == 0 and rows else f'ncu: {last_line(done)}')
    return True


def models_of(options):
    """Own models and published ones, that of the table first."""
    published = sorted(options.models.glob('*.xml')) if options.models else []
    found = sorted(OWN_MODELS + published, key=lambda path: path.name != options.table_model.name)
    return [path for path in found if not options.agreement_models or path.name in options.agreement_models]


def agreement(options, report, runner):
    """CPU against GPU for every model, precision and preset. True if all bits agree."""
    report.say('| model | precision | preset | agreement |\n| --- | --- | --- | --- |')
    agree, skipped, compared = True, set(), 0
    for preset in options.presets:
        for model in models_of(options):
            for precision in ('float32', 'float64'):
                if model in skipped:
                    continue
                command = [program(options, 'axion-agreement'), '--model', model, '--device', 'cpu', '--threads', 1, '--right',
                           options.device, '--right_threads', 2, '--worlds', options.agreement_worlds, '--steps',
                           options.agreement_steps, '--precision', precision, '--preset', preset]
                done = runner.run(command + ['--steps_per_launch', 10], timeout=300)
                if not_imported(done):
                    skipped.add(model)
                    report.say(f'| {model.name} | | | skipped: {last_line(done)} |')
                    continue
                if done.returncode == 1 and 'differ first' in done.stdout:
                    done = runner.run(command + ['--steps_per_launch', 1], timeout=300)
                agree &= done.returncode == 0
                compared += 1
                said = '; '.join(line.strip() for line in (done.stdout or done.stderr).strip().splitlines())
                report.say(f'| {model.name} | {precision} | {preset} | {"same bits" if done.returncode == 0 else said} |')
    return agree and compared > 0


def sanitize(options, report, runner):
    clean = True
    for tool in SANITIZERS:
        for model in options.sanitizer_models:
            command = ['compute-sanitizer', '--tool', tool, '--error-exitcode', 9, options.bin / 'axion-bench', '--model', model,
                       '--device', options.device, '--worlds', 2, '--steps', 3, '--warmup_steps', 0, '--json']
            missing = no_tool(options, 'compute-sanitizer')
            if missing:
                report.say(f'{tool}, {pathlib.Path(model).name}: left out, as there is no {missing}: {" ".join(map(str, command))}')
                continue
            done = runner.run(command, timeout=options.sanitizer_seconds)
            summary = [line for line in (done.stdout + done.stderr).splitlines() if 'SUMMARY' in line]
            clean &= done.returncode == 0
            report.say(f'{tool}, {pathlib.Path(model).name}: exit code {done.returncode}; '
                       f'{summary[-1].strip("= ") if summary else done.stderr.strip()[-300:]}')
    return clean


def same_bits(options, runner, model, threads, near_bytes):
    """Whether a shape ends in the bits of the shape that the engine chooses; what is said where it does not."""
    worlds, steps = (2, 10) if options.dry_run else (8, 50)
    done = runner.run([program(options, 'axion-agreement'), '--model', model, '--device', options.device, '--right', options.device,
                       '--right_block_threads', threads, '--right_near_bytes', near_bytes, '--worlds', worlds, '--steps', steps,
                       '--steps_per_launch', 10], timeout=300)
    return done.returncode == 0, ' '.join((done.stdout or done.stderr).split())[-200:]


def shapes(options, report, runner):
    """Steps per second of every shape. What does not fit is refused by the engine and left empty here."""
    good = measured = True
    for model in options.shape_models:
        for worlds in options.shape_worlds:
            steps = max(options.steps_per_launch, min(1000, options.shape_world_steps // worlds))
            chosen = bench(options, runner, model, worlds, steps, options.steps_per_launch)
            if not isinstance(chosen, dict):
                report.say(f'{model.name}, {worlds} worlds: {chosen}')
                measured &= chosen.startswith(NOT_IMPORTED)
                continue
            report.say(f'\n{model.name}, {worlds} worlds: the engine chooses {chosen["block_threads"]} threads and '
                       f'{chosen["near_bytes"] / 1024:.1f} KiB near, {chosen["steps_per_second"]:,.0f} steps/s\n')
            report.say('| threads | ' + ' | '.join(f'{near} KiB' for near in options.near_kib) + ' |')
            report.say('| ---: ' * (len(options.near_kib) + 1) + '|')
            for threads in BLOCK_THREADS:
                row = [bench(options, runner, model, worlds, steps, options.steps_per_launch, '--block_threads', threads, '--near_bytes',
                             1024 * near) for near in options.near_kib]
                report.say(f'| {threads} | ' + ' | '.join(f'{r["steps_per_second"]:,.0f}' if isinstance(r, dict) else ''
                                                         for r in row) + ' |')
        for threads in BLOCK_THREADS:
            for near in (0, 8, 32):
                same, said = same_bits(options, runner, model, threads, 1024 * near)
                good &= same
                if not same:
                    report.say(f'{model.name}, {threads} threads, {near} KiB near: {said}')
    report.say('\nall shapes end in the same bits' if good else '\nSHAPES DIFFER')
    return good and measured


def warp(options, report, runner):
    """mujoco_warp in this interpreter's installation, in a process of its own."""
    done = runner.run([sys.executable, pathlib.Path(__file__).with_name('warp_bench.py'), '--model', options.table_model, '--worlds',
                       *options.worlds, '--world_steps', options.world_steps, '--warmup_steps', options.warmup_steps], timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith(('|', 'mujoco')) or not line]  # not warp's own log
    report.say('\n'.join(lines).strip() or done.stderr.strip()[-500:])
    return True


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('--parts', nargs='+', choices=PARTS, default=PARTS)
    add('--deadline', type=float, help='seconds after which the call has ended; 0: none; default: 570, of a dry run 0')
    add('--dry_run', action='store_true', help='without a GPU: everything but launching kernels, in small')
    add('--device', help='default: cuda:0')
    add('--models', type=pathlib.Path, help='directory of published robots; default: shared/models here or beside, where it is')
    add('--build', type=pathlib.Path, default=ROOT / 'build/gpu')
    add('--bin', type=pathlib.Path, help='directory of programs that were built before; default: they are built')
    add('--prefix', help='directory of libraries that are not installed (CMAKE_PREFIX_PATH)')
    add('--architecture', help='of the GPU, e.g. 90, or several, e.g. "80;90"; default: of the one that is there')
    add('--registers', type=int, help='of a thread, e.g. 96, 128, 168; default: as the build has it')
    add('--jobs', type=int, help='compilers at once; default: as Ninja chooses')
    add('--first_worlds', type=int, help='default: 8192; of a dry run 2')
    add('--profiler_seconds', type=int, default=120)
    add('--agreement_models', nargs='+', help='file names; default: all there are')
    add('--agreement_worlds', type=int, help='default: 16; of a dry run 1')
    add('--agreement_steps', type=int, help='default: 200; of a dry run 5')
    add('--presets', nargs='+', default=['default', 'velocity', 'axion_seed'])
    add('--sanitizer_models', nargs='+', default=[str(QUADRUPED)])
    add('--sanitizer_seconds', type=int, default=60, help='for each tool and model')
    add('--table_model', type=pathlib.Path, help='default: humanoid.xml of --models, else the quadruped')
    add('--worlds', nargs='+', type=int, help='default: 1 to 65,536; of a dry run 1 and 2')
    add('--world_steps', type=int, help='of a row of the table')
    add('--shape_models', nargs='+', type=pathlib.Path, help="default: the table's and the quadruped")
    add('--shape_worlds', nargs='+', type=int, help='default: 1, 1024 and 8192; of a dry run 2')
    add('--shape_world_steps', type=int, help='of each figure of the shapes')
    add('--near_kib', nargs='+', type=int, help='of the shapes')
    add('--warmup_steps', type=int, help='until robots lie; default: 200; of a dry run 5')
    add('--steps_per_launch', type=int, help='default: 50; of a dry run 5')
    add('--out', type=pathlib.Path)
    return fill(parser.parse_args())


def fill(options):
    """What was not said."""
    full = {'deadline': 570, 'first_worlds': 8192, 'agreement_worlds': 16, 'agreement_steps': 200,
            'worlds': [1, 64, 512, 2048, 4096, 8192, 16384, 32768, 65536], 'world_steps': 4_000_000,
            'shape_worlds': [8192, 1024, 1], 'shape_world_steps': 1_000_000, 'near_kib': NEAR_KIB, 'warmup_steps': 200,
            'steps_per_launch': 50}
    dry = {'deadline': 0, 'first_worlds': 2, 'agreement_worlds': 1, 'agreement_steps': 5, 'worlds': [1, 2], 'world_steps': 20,
           'shape_worlds': [2], 'shape_world_steps': 2, 'near_kib': NEAR_KIB[::5], 'warmup_steps': 5, 'steps_per_launch': 5}
    for name, value in (dry if options.dry_run else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.models is None:
        places = [ROOT / 'shared/models', ROOT.parent / 'shared/models']
        options.models = next((place for place in places if (place / 'humanoid.xml').exists()), None)
    options.note = ''
    if options.table_model is None:
        options.table_model = options.models / 'humanoid.xml' if options.models else QUADRUPED
        if not options.table_model.exists():
            options.table_model = QUADRUPED
        if options.table_model == QUADRUPED:
            options.note = 'no humanoid.xml was found (--models): quadruped.xml in its place'
    options.shape_models = options.shape_models or list(dict.fromkeys([options.table_model, QUADRUPED]))
    options.asked_device, options.built = options.device, options.bin is not None
    options.build = options.build.resolve()
    options.bin = (options.bin or options.build / 'bin').resolve()
    choose_device(options)
    return options


def main():
    options = parse()
    os.environ['PATH'] = f'{os.environ.get("PATH", os.defpath)}:{CUDA_PROGRAMS}'
    runner, report = Runner(options.deadline), Report(options.out)
    report.say(f'commit {revision(ROOT)}, {gpu()[0] or "no GPU"}{", dry run: figures mean nothing" if options.dry_run else ""}')
    if options.note:
        report.say(options.note)
    good, ended, start = True, [], time.monotonic()
    work = {'build': build, 'first': first, 'table': table, 'profiler': profiler, 'agreement': agreement, 'sanitizer': sanitize,
            'shapes': shapes, 'warp': warp}
    for part in PARTS:
        if part not in options.parts:
            continue
        report.say(f'\n## {part}\n')
        try:
            done = work[part](options, report, runner)
        except DeadlineError:
            report.say(f'the deadline of {options.deadline:g} s ended this')
            ended.append(part)
            done = part != 'build'
        good &= done
        if part == 'build' and not done:
            break
    report.say(f'\n{time.monotonic() - start:.0f} s' + (f'; the deadline left out or cut short: {", ".join(ended)}' if ended else ''))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
