#!/usr/bin/env python3
"""Draws docs/plots/order.svg and docs/plots/energy.svg from what the program pendulum_curves prints.

Usage: plot_order.py [--build DIRECTORY] [--out DIRECTORY] [--png]
Needs matplotlib. The pictures are vectors and come out alike from alike figures (no dates, fixed identifiers).
"""

import argparse
import collections
import math
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
STYLE = {'DEFAULT': ('#0b5394', 'o', '-'), 'CURRENT': ('#cc4125', 's', '-'), 'LINEARISED': ('#e69138', '^', '--'),
         'VELOCITY': ('#38761d', 'D', '-')}
FITTED_UP_TO = 0.0125  # s; above it the fits of first order methods bend


def read_curves(program):
    """{mode: [(h, error)]} and {mode: [(time, mean, least, greatest)]} of the program's lines."""
    text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    errors, energies = collections.defaultdict(list), collections.defaultdict(list)
    for line in text.splitlines():
        kind, mode, *figures = line.split(',')
        (errors if kind == 'error' else energies)[mode].append(tuple(float(f) for f in figures))
    return errors, energies


def fitted_slope(points):
    logs = [(math.log(h), math.log(error)) for h, error in points if h <= FITTED_UP_TO]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return (sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x)**2 for x, _ in logs))


def draw_order(errors, path):
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    for mode, points in errors.items():
        colour, marker, line = STYLE[mode]
        axes.loglog([1e3 * h for h, _ in points], [error for _, error in points], color=colour, marker=marker,
                    linestyle=line, markersize=4.5, label=f'{mode}: slope {fitted_slope(points):.2f}')
    axes.set_xlabel('step h, ms')
    axes.set_ylabel('distance from the reference at 0.5 s, m')
    axes.set_title('Equal double pendulum: error of the second centre', fontsize=10)
    ticks = [0.625, 1.25, 2.5, 5, 10, 25, 50]
    axes.set_xticks(ticks, [f'{t:g}' for t in ticks])
    axes.minorticks_off()
    axes.grid(True, which='major', color='#dddddd', linewidth=0.6)
    axes.legend(frameon=False, fontsize=9)
    save(figure, path)


def draw_energy(energies, path):
    figure, (whole, near) = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True, height_ratios=[3, 2])
    for axes, modes in ((whole, list(energies)), (near, ['DEFAULT'])):
        for mode in modes:
            colour, _, line = STYLE[mode]
            time = [row[0] for row in energies[mode]]
            axes.fill_between(time, [100 * row[2] for row in energies[mode]], [100 * row[3] for row in energies[mode]],
                              color=colour, alpha=0.25, linewidth=0)
            axes.plot(time, [100 * row[1] for row in energies[mode]], color=colour, linestyle=line, linewidth=1.4,
                      label=mode)
        axes.grid(True, color='#dddddd', linewidth=0.6)
        axes.legend(frameon=False, fontsize=9, loc='center right' if axes is whole else 'upper right')
    for bound in (-0.1, 0.1):
        near.axhline(bound, color='#666666', linewidth=0.8, linestyle=':')
    near.set_ylim(-0.13, 0.13)
    near.set_xlabel('time, s (10⁴ steps of 10 ms)')
    whole.set_ylabel('energy, % of the depth')
    near.set_ylabel('the same, near zero')
    whole.set_title('Equal double pendulum: energy against the start\n(line: mean of 100 steps, band: their extremes)',
                    fontsize=10)
    save(figure, path)


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={'Date': None} if path.suffix == '.svg' else None)
    print(f'{path}: {path.stat().st_size} bytes')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build' / 'release', help='build directory')
    parser.add_argument('--out', type=pathlib.Path, default=ROOT / 'docs' / 'plots', help='folder of the pictures')
    parser.add_argument('--png', action='store_true', help='pictures to look at, in place of vectors')
    arguments = parser.parse_args()
    program = arguments.build / 'bin' / 'tests' / 'pendulum_curves'
    if not program.exists():
        sys.exit(f'--build: {program} is not there; build the target pendulum_curves')
    plt.rcParams.update({'svg.hashsalt': 'axion', 'svg.fonttype': 'none', 'font.family': 'sans-serif', 'font.size': 9})
    arguments.out.mkdir(parents=True, exist_ok=True)
    errors, energies = read_curves(program)
    suffix = '.png' if arguments.png else '.svg'
    draw_order(errors, arguments.out / ('order' + suffix))
    draw_energy(energies, arguments.out / ('energy' + suffix))


if __name__ == '__main__':
    main()
