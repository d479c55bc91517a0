#!/usr/bin/env python3
"""The robustness table: every scene at every time step with every preset, and a soak that counts worlds that end non-finite.

  tests/bench/robustness.py --bin build/release/bin --models MODELS --out docs/robustness.md
  tests/bench/robustness.py --bin build/release/bin --models MODELS --soak 1e7

Each cell is one run of axion-robustness, one process of one thread; cells run side by side. A run repeats bit for bit on one
machine, times apart. Exit code 1 when a cell fails to run, or a soak met a world that ended non-finite.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import stamp  # noqa: E402  beside this file

TIME_STEPS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1]
PRESETS = ['default', 'axion_seed', 'velocity']
# A pile's steps cost many times a robot's, and conjugate residuals cost many times a direct solve.
SHARE = {'sphere_pile': 0.5, 'axion_seed': 0.25}
EXPLANATION = """\
A world-step is one step of one world. *converged*: share of world-steps that end CONVERGED (outcomes.md). *iterations*: mean
and 99 % quantile of Newton steps and rounds of sweeps over contacts together; a round begins with a linearisation of the joints, or
keeps the last round's. *Newton* and *sweeps*: means of the Newton steps alone, and of the sweeps of all rounds. *linear*: mean and
99 % quantile of the linear solver's iterations, one a Newton step for direct solves. *fallback*: share of world-steps redone with a
more robust joint mode. *penetration* and *joint error*: the greatest of any step, overlap that of all shapes in the poses that the
step made, also where they turned into each other within it. *energy*: the most that the bodies' energy
rose above where an episode began and what motors and drives gave, as a share of Σ m g · 1 m; armature and joint springs hold energy
that it does not count (ant.xml), and the leapfrog of DEFAULT lets the energy of a swinging mechanism oscillate by O(h²) (four-bar).
ant.xml starts with its ankles beyond their limits and comes back within 50 ms, at 10 rad/s with 1 kg m² of armature each: its energy
rises there (0.4 where limits push at 1 rad/s alone). What contacts and friction alone may add is seen in the boxes and the spheres:
nothing; the trapezoidal drives of the wheeled robot add at most 6e-4 up to 10 ms (6e-6 with backward Euler).

Scenes that pass singular poses or meet in impacts repeat only as far as rounding lets them: one cell is one draw. The four-bar at 50 ms
gains 0 to 0.08 of energy as its start varies by 1e-6 (300 starts, median 0.01 to 0.02, the same in float64); overlaps of the sphere pile
and its few steps that do not converge are as accidental ([cells that changed](experiments/0015-cells-of-robustness.md)).

Robots move under new uniform random controls of a tenth of their range at every step. The wheeled robot weighs 120 kg, drives
straight or skids at 2 m/s, and climbs a step of 0.16 m.
"""


def run_cell(options, scene, dt, preset, steps, first_episode=0):
    command = [str(options.bin / 'axion-robustness'), '--scene', scene, '--dt', str(dt), '--preset', preset, '--models',
               str(options.models), '--steps', str(steps), '--precision', options.precision, '--first_episode',
               str(first_episode)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(command)}: exit code {done.returncode}: {done.stderr.strip()}')
    return json.loads(done.stdout)


def run_table(options, scenes):
    cells = [(scene, dt, preset) for preset in options.presets for scene in scenes for dt in options.dt]

    def one(cell):
        scene, dt, preset = cell
        steps = options.steps * SHARE.get(scene, 1) * SHARE.get(preset, 1)
        return run_cell(options, scene, dt, preset, max(20, int(steps)))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(one, cells))


def percent(share):
    return '100 %' if share == 1 else f'{100 * share:.2f} %'


def table_of(rows):
    lines = ['| scene | h | world-steps | converged | iterations | Newton | sweeps | linear | fallback | non-finite | '
             'penetration | joint error | energy |', '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |']
    for r in rows:
        lines.append(
            f'| {r["scene"]} | {1000 * r["dt"]:g} ms | {r["world_steps"]} | {percent(r["converged"])} | '
            f'{r["iterations_mean"]:.2f}, {r["iterations_p99"]} | {r["newton_mean"]:.2f} | {r["sweeps_mean"]:.1f} | '
            f'{r["linear_mean"]:.1f}, {r["linear_p99"]} | '
            f'{percent(r["fallback"]) if r["fallback"] else "0"} | {r["non_finite"]} | {r["max_penetration_m"]:.1e} m | '
            f'{r["max_joint_error_m"]:.1e} m | {max(0, r["energy_gained"]):.1e} |')
    return '\n'.join(lines)


def misses(rows):
    """Cells of DEFAULT outside the goal: 99.9 % converged, 99 % from 50 ms on, and at most 3 iterations on average."""
    found = []
    for r in rows:
        if r['preset'] != 'default':
            continue
        if r['converged'] < (0.999 if r['dt'] < 0.05 else 0.99) or r['iterations_mean'] > 3:
            found.append(f'{r["scene"]} at {1000 * r["dt"]:g} ms ({percent(r["converged"])}, {r["iterations_mean"]:.2f})')
    return ', '.join(found) or 'none'


def write_page(options, rows):
    command = f'tests/bench/robustness.py --bin build/release/bin --models MODELS --steps {options.steps} --out docs/robustness.md'
    parts = ['# Robustness', '', EXPLANATION,
             f'{stamp.stamp(options.bin)}, {options.precision}:', '', '```sh', command, '```']
    parts += ['', 'Goal of DEFAULT: 99.9 % converged, 99 % from 50 ms on, and 3 iterations on average. Cells that miss it: ' +
              misses(rows) + '.']
    for preset in options.presets:
        parts += ['', f'## {preset.upper()}', '', table_of([r for r in rows if r['preset'] == preset])]
    pathlib.Path(options.out).write_text('\n'.join(parts) + '\n', encoding='utf-8')


def soak(options, scenes):
    cells = [(scene, dt) for scene in scenes for dt in options.dt]
    steps = [max(1, int(options.soak / len(cells) * SHARE.get(scene, 1.1))) for scene, _ in cells]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda k: run_cell(options, *cells[k], 'default', steps[k], 1000), range(len(cells))))
    for r in rows:
        print(f'{r["scene"]:15s} {1000 * r["dt"]:5g} ms {r["world_steps"]:9d} world-steps, converged {percent(r["converged"])}, '
              f'non-finite {r["non_finite"]}', flush=True)
    total, bad = sum(r['world_steps'] for r in rows), sum(r['non_finite'] for r in rows)
    print(f'{total} world-steps, {bad} non-finite, converged {percent(sum(r["converged"] * r["world_steps"] for r in rows) / total)}')
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True, help='directory of axion-robustness')
    parser.add_argument('--models', type=pathlib.Path, required=True, help='directory of the robots\' MJCF files')
    parser.add_argument('--out', help='page to write; without it the tables are printed')
    parser.add_argument('--steps', type=int, default=1000, help='world-steps a cell, fewer where they are slow')
    parser.add_argument('--scenes', nargs='+', help='default: all')
    parser.add_argument('--dt', nargs='+', type=float, default=TIME_STEPS)
    parser.add_argument('--presets', nargs='+', default=PRESETS, choices=PRESETS)
    parser.add_argument('--precision', default='float32', choices=['float32', 'float64'])
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--soak', type=float, help='steps this many world-steps over the scenes with DEFAULT instead')
    options = parser.parse_args()
    scenes = options.scenes or subprocess.run([str(options.bin / 'axion-robustness'), '--list'], capture_output=True, text=True,
                                              check=True).stdout.split()
    try:
        if options.soak:
            return soak(options, scenes)
        rows = run_table(options, scenes)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    if options.out:
        write_page(options, rows)
    else:
        for preset in options.presets:
            print(f'{preset}\n{table_of([r for r in rows if r["preset"] == preset])}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
