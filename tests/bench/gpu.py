#!/usr/bin/env python3
"""Everything that a machine with a GPU is needed for, in one command: build, agreement with the CPU, sanitizers, figures.

Needs a C++20 compiler, CMake, Ninja, nvcc, TinyXML-2 and Python's standard library; no gRPC, no GoogleTest, no network.
Parts, in this order (--parts chooses):
  build       the engine, axion-bench and axion-agreement with CUDA for the GPU that is there
  agreement   CPU and GPU step the same worlds; every field's bits are compared. Where they differ, worlds are stepped again a
              step a launch, and the first step, world and field are named. Part of the exit code.
  sanitizer   compute-sanitizer's memcheck, racecheck and synccheck over a few steps of a few worlds. Part of the exit code.
  shapes      steps per second over threads of a world and its bytes in shared memory, for one world, some and many: whether
              engine/backend/cuda/launch_plan.cpp chooses well; and that all shapes end in the same bits. Part of the exit code.
  table       steps per second and memory over the number of worlds; time of a step of one world
  warp        mujoco_warp on the same file in the same table, where that package is installed
TinyXML-2 that is not installed may be unpacked anywhere: --prefix DIRECTORY. Without a GPU, --device cpu --bin BUILD/bin tries
the parts that can be tried (agreement between numbers of threads, table).

Usage: gpu.py --models DIRECTORY_OF_humanoid.xml [--build build/gpu] [--parts build agreement ...] [--out report.md]
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ['build', 'agreement', 'sanitizer', 'shapes', 'table', 'warp']
BLOCK_THREADS = [32, 64, 128, 256]
NEAR_KIB = [0, 4, 8, 12, 16, 24, 32, 48, 72, 100, 216]
OWN_MODELS = sorted((ROOT / 'clients/examples/models').glob('*.xml')) + [ROOT / 'tests/bench/wheeled_robot.xml']
SANITIZERS = ['memcheck', 'racecheck', 'synccheck']


class Report:
    """Lines for the screen and for --out."""

    def __init__(self):
        self.lines = []

    def say(self, line=''):
        print(line, flush=True)
        self.lines.append(line)


def run(command, timeout=None):
    """Completed process, its output as text; return code 124 where it ran out of time."""
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, '', f'no end within {timeout} s')


def gpu():
    """(name, compute capability without its point) of the first GPU; (None, None) where there is none."""
    if not shutil.which('nvidia-smi'):
        return None, None
    done = run(['nvidia-smi', '--query-gpu=name,compute_cap', '--format=csv,noheader'])
    if done.returncode != 0 or not done.stdout.strip():
        return None, None
    name, capability = done.stdout.splitlines()[0].split(', ')
    return name, capability.replace('.', '')


def build(options, report):
    _, architecture = gpu()
    if architecture is None and options.architecture is None:
        report.say('build: no GPU is seen; name one with --architecture 90')
        return False
    configure = ['cmake', '-G', 'Ninja', '-S', ROOT, '-B', options.build, '-DCMAKE_BUILD_TYPE=Release', '-DAXION_CUDA=ON',
                 f'-DCMAKE_CUDA_ARCHITECTURES={options.architecture or architecture}', '-DAXION_BUILD_SERVER=OFF',
                 '-DAXION_BUILD_CLIENTS=OFF', '-DAXION_BUILD_TESTS=OFF']
    if options.registers:
        configure.append(f'-DAXION_CUDA_REGISTERS={options.registers}')
    if options.prefix:
        configure.append(f'-DCMAKE_PREFIX_PATH={options.prefix}')
    jobs = [f'-j{options.jobs}'] if options.jobs else []
    for command in (configure, ['ninja', '-C', options.build, *jobs, 'axion-bench', 'axion-agreement']):
        done = run(command)
        if done.returncode != 0:
            report.say(f'build failed: {" ".join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}')
            return False
    report.say(f'built in {options.build}')
    return True


def models_of(options):
    published = sorted(options.models.glob('*.xml')) if options.models else []
    wanted = options.agreement_models or [path.name for path in OWN_MODELS + published]
    return [path for path in OWN_MODELS + published if path.name in wanted]


def agreement(options, report):
    """CPU against GPU for every model, precision and preset. True if all bits agree."""
    report.say('| model | precision | preset | agreement |\n| --- | --- | --- | --- |')
    agree = True
    for model in models_of(options):
        for precision in ('float32', 'float64'):
            for preset in options.presets:
                command = [options.bin / 'axion-agreement', '--model', model, '--device', 'cpu', '--threads', 1, '--right',
                           options.device, '--right_threads', 2, '--worlds', options.agreement_worlds, '--steps',
                           options.agreement_steps, '--precision', precision, '--preset', preset]
                done = run(command + ['--steps_per_launch', 10], timeout=300)
                if done.returncode == 1 and 'differ first' in done.stdout:
                    done = run(command + ['--steps_per_launch', 1], timeout=300)
                agree &= done.returncode == 0
                said = '; '.join(line.strip() for line in (done.stdout or done.stderr).strip().splitlines())
                report.say(f'| {model.name} | {precision} | {preset} | {"same bits" if done.returncode == 0 else said} |')
    return agree


def sanitize(options, report):
    if options.device == 'cpu' or not shutil.which('compute-sanitizer'):
        report.say('sanitizer: left out, as there is no GPU or no compute-sanitizer')
        return True
    clean = True
    for tool in SANITIZERS:
        for model in options.sanitizer_models:
            done = run(['compute-sanitizer', '--tool', tool, '--error-exitcode', 9, options.bin / 'axion-bench', '--model', model,
                        '--device', options.device, '--worlds', 2, '--steps', 3, '--warmup_steps', 0, '--json'],
                       timeout=options.sanitizer_seconds)
            summary = [line for line in (done.stdout + done.stderr).splitlines() if 'SUMMARY' in line]
            clean &= done.returncode == 0
            report.say(f'{tool}, {pathlib.Path(model).name}: exit code {done.returncode}; '
                       f'{summary[-1].strip("= ") if summary else done.stderr.strip()[-300:]}')
    return clean


def bench(options, model, worlds, steps, steps_per_launch, *more):
    done = run([options.bin / 'axion-bench', '--json', '--model', model, '--device', options.device, '--worlds', worlds, '--steps',
                steps, '--steps_per_launch', steps_per_launch, '--warmup_steps', options.warmup_steps, *more], timeout=300)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1:]


def same_bits(options, model, threads, near_bytes):
    """Whether a shape ends in the bits of the shape that the engine chooses; what is said where it does not."""
    done = run([options.bin / 'axion-agreement', '--model', model, '--device', options.device, '--right', options.device,
                '--right_block_threads', threads, '--right_near_bytes', near_bytes, '--worlds', 8, '--steps', 50,
                '--steps_per_launch', 10], timeout=300)
    return done.returncode == 0, ' '.join((done.stdout or done.stderr).split())[-200:]


def shapes(options, report):
    """Steps per second of every shape. What does not fit is refused by the engine and left empty here."""
    good = measured = True
    for model in options.shape_models:
        for worlds in options.shape_worlds:
            steps = max(options.steps_per_launch, min(1000, options.shape_world_steps // worlds))
            chosen = bench(options, model, worlds, steps, options.steps_per_launch)
            if not isinstance(chosen, dict):
                report.say(f'{model.name}, {worlds} worlds: {" ".join(chosen)}')
                measured = False
                continue
            report.say(f'\n{model.name}, {worlds} worlds: the engine chooses {chosen["block_threads"]} threads and '
                       f'{chosen["near_bytes"] / 1024:.1f} KiB near, {chosen["steps_per_second"]:,.0f} steps/s\n')
            report.say('| threads | ' + ' | '.join(f'{near} KiB' for near in NEAR_KIB) + ' |')
            report.say('| ---: ' * (len(NEAR_KIB) + 1) + '|')
            for threads in BLOCK_THREADS:
                row = [bench(options, model, worlds, steps, options.steps_per_launch, '--block_threads', threads, '--near_bytes',
                             1024 * near) for near in NEAR_KIB]
                report.say(f'| {threads} | ' + ' | '.join(f'{r["steps_per_second"]:,.0f}' if isinstance(r, dict) else ''
                                                         for r in row) + ' |')
        for threads in BLOCK_THREADS:
            for near in (0, 8, 32):
                same, said = same_bits(options, model, threads, 1024 * near)
                good &= same
                if not same:
                    report.say(f'{model.name}, {threads} threads, {near} KiB near: {said}')
    report.say('\nall shapes end in the same bits' if good else '\nSHAPES DIFFER')
    return good and measured


def table(options, report):
    model = options.table_model
    report.say(f'{model.name}, dt of the file, controls new at every step, {options.steps_per_launch} steps a launch:\n')
    report.say('| worlds | steps/s | us a world-step | converged | contacts | Newton | memory a world, KiB |')
    report.say('| ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    measured = False
    for worlds in options.worlds:
        steps = max(options.steps_per_launch, min(2000, options.world_steps // worlds))
        r = bench(options, model, worlds, steps, options.steps_per_launch)
        if not isinstance(r, dict):
            report.say(f'| {worlds} | {" ".join(r)} | | | | | |')
            continue
        measured = True
        report.say(f'| {worlds} | {r["steps_per_second"]:,.0f} | {1e6 / r["steps_per_second"]:.4g} | {r["converged_fraction"]:.5f} | '
                   f'{r["contacts_mean"]:.1f} | {r["newton_iterations_mean"]:.2f} | '
                   f'{r["memory_bytes"] / worlds / 1024:.1f} |')
    for launch in (1, options.steps_per_launch):
        r = bench(options, model, 1, min(1000, options.world_steps), launch)
        if isinstance(r, dict):
            report.say(f'\none world, {launch} steps a launch: {1e3 / r["steps_per_second"]:.4g} ms a step')
    return measured


def warp(options, report):
    """mujoco_warp in this interpreter's installation, in a process of its own."""
    done = run([sys.executable, pathlib.Path(__file__).with_name('warp_bench.py'), '--model', options.table_model, '--worlds',
                *options.worlds, '--world_steps', options.world_steps, '--warmup_steps', options.warmup_steps], timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith(('|', 'mujoco')) or not line]  # not warp's own log
    report.say('\n'.join(lines).strip() or done.stderr.strip()[-500:])
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=PARTS)
    parser.add_argument('--device', default='cuda:0')
    parser.add_argument('--models', type=pathlib.Path, help='directory of published robots, humanoid.xml among them')
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/gpu')
    parser.add_argument('--bin', type=pathlib.Path, help='directory of the programs; default: of --build')
    parser.add_argument('--prefix', help='directory of libraries that are not installed (CMAKE_PREFIX_PATH)')
    parser.add_argument('--architecture', help='of the GPU, e.g. 90; default: of the one that is there')
    parser.add_argument('--registers', type=int, help='of a thread, e.g. 96, 128, 168; default: as the build has it')
    parser.add_argument('--jobs', type=int, help='compilers at once; default: as Ninja chooses')
    parser.add_argument('--agreement_models', nargs='+', help='file names; default: all there are')
    parser.add_argument('--agreement_worlds', type=int, default=16)
    parser.add_argument('--agreement_steps', type=int, default=200)
    parser.add_argument('--presets', nargs='+', default=['default', 'velocity', 'axion_seed'])
    parser.add_argument('--sanitizer_models', nargs='+', default=[str(ROOT / 'clients/examples/models/quadruped.xml')])
    parser.add_argument('--sanitizer_seconds', type=int, default=300, help='for each tool and model')
    parser.add_argument('--table_model', type=pathlib.Path, help='default: humanoid.xml of --models')
    parser.add_argument('--worlds', nargs='+', type=int, default=[1, 64, 512, 2048, 4096, 8192, 16384, 32768, 65536])
    parser.add_argument('--world_steps', type=int, default=4_000_000, help='of a row of the table')
    parser.add_argument('--shape_models', nargs='+', type=pathlib.Path, help='default: humanoid.xml and the quadruped')
    parser.add_argument('--shape_worlds', nargs='+', type=int, default=[1, 1024, 8192])
    parser.add_argument('--shape_world_steps', type=int, default=1_000_000, help='of each figure of the shapes')
    parser.add_argument('--warmup_steps', type=int, default=200, help='until robots lie')
    parser.add_argument('--steps_per_launch', type=int, default=50)
    parser.add_argument('--out', type=pathlib.Path)
    options = parser.parse_args()
    options.bin = (options.bin or options.build / 'bin').resolve()
    options.table_model = options.table_model or (options.models or pathlib.Path('.')) / 'humanoid.xml'
    options.shape_models = options.shape_models or [options.table_model, OWN_MODELS[0].with_name('quadruped.xml')]

    report = Report()
    commit = run(['git', '-C', ROOT, 'describe', '--always', '--dirty']).stdout.strip()
    report.say(f'commit {commit or "unknown"}, {gpu()[0] or "no GPU"}')
    good = True
    work = {'build': build, 'agreement': agreement, 'sanitizer': sanitize, 'shapes': shapes, 'table': table, 'warp': warp}
    for part in PARTS:
        if part not in options.parts:
            continue
        report.say(f'\n## {part}\n')
        done = work[part](options, report)
        good &= done
        if part == 'build' and not done:
            break
    if options.out:
        options.out.write_text('\n'.join(report.lines) + '\n', encoding='utf-8')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
