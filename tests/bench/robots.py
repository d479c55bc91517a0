#!/usr/bin/env python3
"""Rates of published robots beside two versions of MuJoCo on the same files: C MuJoCo as mujoco_bench was built with it, and the newest
from PyPI by mujoco.rollout with its own threads. Every engine steps in turns with the others under the same controls; the best of several.

A control stays for 20 ms. All start together, warm up for --warmup_seconds of their own time and are then measured, at 5 ms a step;
Axion at 20 ms besides, through the same seconds. MuJoCo has its own integrator, the file's. The newest MuJoCo is installed into a virtual
environment (--venv), or is that of --mujoco_python; where neither can be had its columns stay empty, with a word.

Usage: robots.py --bin BUILD/bin --models DIRECTORY [--robots ant.xml ...] [--worlds 1 256] [--threads 1]
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare import best, run  # noqa: E402  beside this file

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROLLOUT = pathlib.Path(__file__).resolve().with_name('mujoco_rollout.py')
ROBOTS = ['humanoid.xml', 'ant.xml', 'quadruped.xml@0', 'hopper.xml', 'half_cheetah.xml', 'walker2d.xml']
STEP, LONG_STEP = 0.005, 0.020  # s
COLUMNS = ['model', 'worlds', 'threads', 'axion steps/s', 'mujoco {old}', 'ratio', 'mujoco {new}, rollout', 'ratio', 'converged',
           'axion s/s at 20 ms', 'converged at 20 ms', '/ mujoco {old} at 5 ms', '/ mujoco {new} at 5 ms']


def newest_mujoco(options):
    """(interpreter that has MuJoCo, its version), or (None, why there is none)."""
    python = options.mujoco_python
    if python is None:
        python = options.venv / 'bin/python'
        commands = [[sys.executable, '-m', 'venv', options.venv], [python, '-m', 'pip', 'install', '-q', 'mujoco>=3.3', 'numpy']]
        if python.exists() and said([python, '-c', 'import mujoco.rollout'])[0]:
            commands = []
        for command in commands:
            good, text = said(command)
            if not good:
                return None, text
    good, text = said([python, '-c', 'import mujoco, mujoco.rollout; print(mujoco.__version__)'])
    return (python, text) if good else (None, text)


def said(command):
    """(whether it went well, its last line)."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    except OSError as error:
        return False, str(error)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else ''


def model_path(options, robot):
    own = ROOT / 'clients/examples/models' / robot
    return own if own.exists() else options.models / robot


def arguments(options, robot, worlds, threads, step):
    """Of every program: as many seconds of simulated time whatever the step, and the same controls at the same times."""
    name, _, keyframe = robot.partition('@')
    seconds = max(options.least_seconds, options.world_steps * STEP / worlds)
    return ['--model', str(model_path(options, name)), '--worlds', str(worlds), '--threads', str(threads), '--dt', str(step),
            '--steps', str(max(1, round(seconds / step))), '--warmup_steps', str(round(options.warmup_seconds / step)),
            '--control_hold', str(round(LONG_STEP / step)), *(['--keyframe', keyframe] if keyframe else [])]


def measure(options, robot, worlds, threads, python):
    """Best reports: Axion, C MuJoCo and the newest at 5 ms, Axion at 20 ms."""
    short, long = (arguments(options, robot, worlds, threads, step) for step in (STEP, LONG_STEP))
    reports = {'axion': [], 'old': [], 'new': [], 'long': []}
    ours = ['--device', 'cpu', '--steps_per_launch', '50']
    for _ in range(options.repeat):
        reports['axion'].append(run(options.bin / 'axion-bench', short + ours))
        if (options.bin / 'mujoco_bench').exists():
            reports['old'].append(run(options.bin / 'mujoco_bench', short))
        if python:
            reports['new'].append(run(python, short, ROLLOUT))
        reports['long'].append(run(options.bin / 'axion-bench', long + ours))
    return {name: best(list_of) for name, list_of in reports.items()}


def rate(report):
    return report['steps_per_second'] if report else None


def ratio(a, b):
    return f'{a / b:.2f}' if a and b else '-'


def row(robot, worlds, threads, reports):
    axion, old, new, long = (reports[name] for name in ('axion', 'old', 'new', 'long'))
    simulated = rate(long) * LONG_STEP if long else None
    return [robot.partition('@')[0], str(worlds), str(threads), f'{rate(axion):,.0f}' if axion else '-',
            f'{rate(old):,.0f}' if old else '-', ratio(rate(axion), rate(old)), f'{rate(new):,.0f}' if new else '-',
            ratio(rate(axion), rate(new)), f'{axion["converged_fraction"]:.4f}' if axion else '-',
            f'{simulated:,.0f}' if simulated else '-', f'{long["converged_fraction"]:.4f}' if long else '-',
            ratio(simulated, rate(old) * STEP if old else None), ratio(simulated, rate(new) * STEP if new else None)]


def old_version(options):
    """Of the MuJoCo that mujoco_bench was built with, by a step of a robot; None where there is none."""
    program = options.bin / 'mujoco_bench'
    report = run(program, ['--model', str(model_path(options, 'quadruped.xml')), '--steps', '1']) if program.exists() else None
    return report['engine'].split()[-1] if report else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--models', type=pathlib.Path, required=True, help='directory of published robots')
    parser.add_argument('--robots', nargs='+', default=ROBOTS,
                        help='files of --models or of this repository; FILE@0 starts from keyframe 0')
    parser.add_argument('--worlds', nargs='+', type=int, default=[1, 256])
    parser.add_argument('--threads', nargs='+', type=int, default=[1])
    parser.add_argument('--world_steps', type=int, default=51200, help='of 5 ms a run, shared by its worlds')
    parser.add_argument('--least_seconds', type=float, default=1, help='of simulated time a run')
    parser.add_argument('--warmup_seconds', type=float, default=1, help='of simulated time, until robots lie')
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--venv', type=pathlib.Path, help='where the newest MuJoCo is installed; default: beside --bin')
    parser.add_argument('--mujoco_python', type=pathlib.Path, help='an interpreter that has it')
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.venv = (options.venv or options.bin.parent / 'mujoco-venv').resolve()
    python, version = newest_mujoco(options)
    old = old_version(options)

    print('| ' + ' | '.join(COLUMNS).format(old=old or 'C', new=version if python else 'newest') + ' |')
    print('|' + ' --- |' * len(COLUMNS), flush=True)
    failed, missing = False, []
    for robot in options.robots:
        if not model_path(options, robot.partition('@')[0]).exists():
            missing.append(robot)
            continue
        for worlds in options.worlds:
            for threads in (count for count in options.threads if count <= worlds):
                reports = measure(options, robot, worlds, threads, python)
                failed |= reports['axion'] is None
                print('| ' + ' | '.join(row(robot, worlds, threads, reports)) + ' |', flush=True)
    for robot in missing:
        print(f'\n{robot}: not measured, as there is no such file')
    if python is None:
        print(f'\nThe newest MuJoCo was not measured: {version}')
    if old is None:
        print('\nC MuJoCo was not measured: built without its library')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
