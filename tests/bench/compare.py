#!/usr/bin/env python3
"""Runs axion-bench and C MuJoCo on the same file, in turns on the same machine, and prints a table with their ratio.

Turns, and the best of several: a machine that is shared or that throttles slows both, and the best is what is left. `pairs`
is the least and the greatest ratio of two runs beside each other, by which the ratio of the bests may be judged. Warm-up lasts
until robots lie, so that steps with contacts are measured whatever the number of worlds.

Usage: compare.py --bin BUILD/bin --model FILE[@KEYFRAME]... [--worlds 1 256] [--threads 1 2] [--steps N] [--dt H]
"""

import argparse
import json
import pathlib
import subprocess
import sys


def run(program, arguments, *script):
    """The report of one run, as a dictionary; None when the program refuses. `script`: what an interpreter is to run."""
    done = subprocess.run([str(program), *map(str, script), '--json', *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f'{program.name}: {done.stderr.strip()}', file=sys.stderr)
        return None
    return json.loads(done.stdout)


def best(reports):
    reports = [report for report in reports if report]
    return max(reports, key=lambda report: report['steps_per_second']) if reports else None


def compare(options, model, worlds, threads):
    """Best reports of both programs for one row of the table, and the ratios of their runs in pairs."""
    path, _, keyframe = model.partition('@')
    arguments = ['--model', path, '--worlds', str(worlds), '--threads', str(threads),
                 '--steps', str(max(1, options.steps // worlds)), '--warmup_steps', str(options.warmup_steps)]
    if keyframe:
        arguments += ['--keyframe', keyframe]
    if options.dt:
        arguments += ['--dt', str(options.dt)]
    ours, theirs = [], []
    for _ in range(options.repeat):
        ours.append(run(options.bin / 'axion-bench', arguments + [
            '--device', options.device, '--precision', options.precision, '--preset', options.preset]))
        if (options.bin / 'mujoco_bench').exists():
            theirs.append(run(options.bin / 'mujoco_bench', arguments))
    pairs = [a['steps_per_second'] / b['steps_per_second'] for a, b in zip(ours, theirs) if a and b]
    return best(ours), best(theirs), pairs


def row(model, worlds, threads, ours, theirs, pairs):
    def figure(report, key, pattern):
        value = report.get(key) if report else None
        return '-' if value is None else format(value, pattern)

    ratio = ours['steps_per_second'] / theirs['steps_per_second'] if ours and theirs else None
    return [pathlib.Path(model.partition('@')[0]).name, str(worlds), str(threads),
            figure(ours, 'steps_per_second', ',.0f'), figure(theirs, 'steps_per_second', ',.0f'),
            '-' if ratio is None else f'{ratio:.2f}', f'{min(pairs):.2f} to {max(pairs):.2f}' if pairs else '-',
            figure(ours, 'newton_iterations_mean', '.2f'), figure(ours, 'sweep_rounds_mean', '.2f'),
            figure(ours, 'contact_sweeps_mean', '.1f'), figure(theirs, 'newton_iterations_mean', '.2f'),
            figure(ours, 'contacts_mean', '.1f'), figure(theirs, 'contacts_mean', '.1f'),
            figure(ours, 'converged_fraction', '.4f'),
            figure(ours, 'max_penetration_m', '.1e'), figure(theirs, 'max_penetration_m', '.1e')]


COLUMNS = ['model', 'worlds', 'threads', 'axion steps/s', 'mujoco steps/s', 'ratio', 'pairs', 'newton', 'sweep rounds', 'sweeps',
           'newton (mj)', 'contacts', 'contacts (mj)', 'converged', 'penetration m', 'penetration m (mj)']


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--model', nargs='+', required=True, help='MJCF files; FILE@0 starts from keyframe 0')
    parser.add_argument('--worlds', nargs='+', type=int, default=[1, 256])
    parser.add_argument('--threads', nargs='+', type=int, default=[1, 2])
    parser.add_argument('--steps', type=int, default=51200, help='world-steps a run, shared by its worlds')
    parser.add_argument('--warmup_steps', type=int, default=200)
    parser.add_argument('--dt', type=float, default=0, help="seconds; 0 takes the model's")
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--precision', default='float32')
    parser.add_argument('--preset', default='default')
    options = parser.parse_args()
    options.bin = options.bin.resolve()

    print('| ' + ' | '.join(COLUMNS) + ' |')
    print('|' + ' --- |' * len(COLUMNS))
    failed = False
    for model in options.model:
        for worlds in options.worlds:
            for threads in options.threads:
                if threads > worlds:
                    continue
                ours, theirs, pairs = compare(options, model, worlds, threads)
                failed |= ours is None
                print('| ' + ' | '.join(row(model, worlds, threads, ours, theirs, pairs)) + ' |', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
