#!/usr/bin/env python3
"""How the time of a world-step grows with the number of worlds, and with the number of bodies in a pile of spheres.

Worlds: the same robot in 64 to 65,536 worlds, as far as memory allows, all through the same few steps from the start. Piles:
100 to 3,000 spheres in a box of their own proportions, one world, half a second after they were let go, when the last have
landed. Each row also says how much memory the batch takes, and how many contacts and Newton iterations its steps had: what grows
with those is not the engine's bookkeeping.

Usage: growth.py --bin BUILD/bin --model FILE [--worlds 64 1024] [--spheres 100 300] [--device cpu] [--threads 1]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

RADIUS, SPACING = 0.1, 0.24  # m


def pile(count):
    """MJCF of `count` spheres of 1 kg above the floor of a box that is as wide as the pile will be high."""
    side = max(2, round(5 * (count / 100) ** (1 / 3)))  # spheres along each side of a layer
    wall = SPACING * side / 2
    parts = ['<mujoco model="pile"><option timestep="0.005"/><worldbody>',
             '<geom name="floor" type="plane" size="9 9 1" friction=".5"/>']
    for name, x, y, quat in (('west', -wall, 0, '.70710678 0 .70710678 0'), ('east', wall, 0, '.70710678 0 -.70710678 0'),
                             ('south', 0, -wall, '.70710678 -.70710678 0 0'),
                             ('north', 0, wall, '.70710678 .70710678 0 0')):
        parts.append(f'<geom name="{name}" type="plane" size="9 9 1" pos="{x:g} {y:g} 0" quat="{quat}" friction=".5"/>')
    for i in range(count):
        # A shift of its own for each sphere, a function of its index: none lies straight above another.
        shift = [0.015 * ((i * factor % 997) / 498.5 - 1) for factor in (389, 617)]
        x = SPACING * (i % side - (side - 1) / 2) + shift[0]
        y = SPACING * (i // side % side - (side - 1) / 2) + shift[1]
        z = 0.12 + 0.22 * (i // side ** 2)
        parts.append(f'<body name="sphere{i}" pos="{x:.6f} {y:.6f} {z:.6f}"><freejoint/>'
                     f'<geom type="sphere" size="{RADIUS}" mass="1" friction=".5"/></body>')
    return '\n'.join(parts + ['</worldbody></mujoco>'])


class Row:
    """The best report of several runs, or the reason why the program refuses."""

    def __init__(self, size, repeat, *run):
        self.size, self.repeat, self.run = size, repeat, run
        self.report, self.reason = None, ''

    def measure(self, options):
        model, worlds, steps, warmup = self.run
        done = subprocess.run(
            [str(options.bin / 'axion-bench'), '--json', '--model', str(model), '--worlds', str(worlds), '--steps', str(steps),
             '--warmup_steps', str(warmup), '--device', options.device, '--threads', str(options.threads),
             '--steps_per_launch', str(max(1, min(steps, 4096 // worlds)))], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.report, self.reason, self.repeat = None, done.stderr.strip().splitlines()[-1], 0
            return
        report = json.loads(done.stdout)
        if self.report is None or report['steps_per_second'] > self.report['steps_per_second']:
            self.report = report


def measure_in_turns(rows, options, first=0):
    """Run `first` and later ones of each row, a run of each in turn: a machine that slows down for a while slows all of them."""
    for turn in range(first, max((row.repeat for row in rows), default=0)):
        for row in rows:
            if turn < row.repeat:
                row.measure(options)


def free_memory():
    """Bytes; enough for anything where the system does not say."""
    try:
        lines = pathlib.Path('/proc/meminfo').read_text(encoding='ascii').splitlines()
    except OSError:
        return float('inf')
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith('MemAvailable')), float('inf'))


def print_table(first, rows, base_of):
    """base_of(size) is what the time of a step is divided by."""
    print(f'| {first} | us a world-step | to the first row, over its size | contacts | Newton | sweep rounds | sweeps | converged | '
          'memory a world, MiB |')
    print('| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    base = None
    for row in rows:
        size, report = row.size, row.report
        if report is None:
            print(f'| {size} | {row.reason} | | | | | | | |', flush=True)
            continue
        micros = 1e6 / report['steps_per_second']
        base = base or micros / base_of(size)
        print(f'| {size} | {micros:,.1f} | {micros / base_of(size) / base:.2f} | {report["contacts_mean"]:.1f} | '
              f'{report["newton_iterations_mean"]:.2f} | {report["sweep_rounds_mean"]:.2f} | {report["contact_sweeps_mean"]:.1f} | '
              f'{report["converged_fraction"]:.4f} | '
              f'{report["memory_bytes"] / report["worlds"] / 2 ** 20:.3f} |', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--model', type=pathlib.Path, required=True, help='MJCF of the robot')
    parser.add_argument('--worlds', nargs='*', type=int, default=[64, 256, 1024, 4096, 16384, 65536])
    parser.add_argument('--spheres', nargs='*', type=int, default=[100, 300, 1000, 3000])
    parser.add_argument('--steps', type=int, default=8, help='timed, of each world')
    parser.add_argument('--warmup_steps', type=int, default=4, help='of each world before')
    parser.add_argument('--available_gib', type=float, help='memory for a batch; default: four fifths of what is free')
    parser.add_argument('--seconds_lying', type=float, default=0.5, help='simulated time before a pile is measured')
    parser.add_argument('--pile_steps', type=int, default=30, help='timed; fewer from 300 spheres on, at least five')
    parser.add_argument('--repeat', type=int, default=5,
                        help='runs of a row, in turns, of which the best counts; two at most where worlds are many')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--threads', type=int, default=1)
    options = parser.parse_args()

    failed = False
    if options.worlds:
        rows = []
        available = options.available_gib * 2 ** 30 if options.available_gib else 0.8 * free_memory()
        for worlds in options.worlds:
            known = [row.report for row in rows if row.report]
            needed = worlds * max((report['memory_bytes'] / report['worlds'] for report in known), default=0)
            if needed > available:
                print(f'{worlds} worlds left out: they need {needed / 2 ** 30:.1f} GiB', file=sys.stderr)
                continue
            repeat = min(options.repeat, 2 if worlds > 4096 else options.repeat)
            rows.append(Row(worlds, repeat, options.model, worlds, options.steps, options.warmup_steps))
            rows[-1].measure(options)  # memory that the next will take follows from it
        measure_in_turns(rows, options, first=1)
        print_table('worlds', rows, lambda size: 1)
        failed |= any(row.report is None for row in rows)
    if options.spheres:
        print()
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for count in options.spheres:
                model = pathlib.Path(folder) / f'pile{count}.xml'
                model.write_text(pile(count), encoding='utf-8')
                warmup = round(options.seconds_lying / 0.005)
                steps = max(5, options.pile_steps * 300 // max(300, count))  # as long as a few seconds a step allow
                rows.append(Row(count, options.repeat, model, 1, steps, warmup))
            measure_in_turns(rows, options)
        print_table('spheres', rows, lambda size: size)
        failed |= any(row.report is None for row in rows)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
