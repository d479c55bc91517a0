#!/usr/bin/env python3
"""Published robots beside MuJoCo's newest package, in the variants of peer.py: rates and overlaps on the same files and controls.

Every engine steps in turns with the others, each time step by itself: the rate is the best of several turns, `axion / it` the median of
the turns' ratios with the least and the greatest. A control stays for 20 ms. All start together, warm up for --warmup_seconds of their own
time and are then measured, through the same seconds whatever the step. Overlap is the greatest of all worlds and steps that were timed.
The second table has each robot at the longest step of ours, and beside it the least overlap of MuJoCo's that simulate as much in a second
or more: error at equal speed.

Usage: robots.py --bin BUILD/bin --models DIRECTORY [--robots ant.xml ...] [--worlds 1 64] [--threads 1] [--steps_ms 5 10 20]
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROBOTS = ['humanoid.xml', 'ant.xml', 'quadruped.xml@0', 'hopper.xml', 'half_cheetah.xml', 'walker2d.xml']
HOLD = 0.020  # s


def model_path(options, robot):
    own = ROOT / 'clients/examples/models' / robot
    return own if own.exists() else options.models / robot


def arguments(options, robot, worlds, threads, step):
    """Of every program: as many seconds of simulated time whatever the step, and the same controls at the same times."""
    name, _, keyframe = robot.partition('@')
    seconds = max(options.least_seconds, options.world_steps * 0.005 / worlds)
    return ['--model', str(model_path(options, name)), '--worlds', str(worlds), '--threads', str(threads), '--dt', str(step),
            '--steps', str(max(1, round(seconds / step))), '--warmup_steps', str(round(options.warmup_seconds / step)),
            '--control_hold', str(max(1, round(HOLD / step))), *(['--keyframe', keyframe] if keyframe else [])]


class Measured:
    """One robot, number of worlds and time step: what each engine made of it."""

    def __init__(self, options, sides, robot, worlds, threads, step):
        self.robot, self.worlds, self.threads, self.step = robot.partition('@')[0], worlds, threads, step
        flags = arguments(options, robot, worlds, threads, step)
        self.rates = {name: [] for name in sides}  # world-steps/s of each turn, None where there is none
        self.looks = {}
        for _ in range(options.repeat):
            for name, command in sides.items():
                report = peer.run(command, *flags)
                self.rates[name].append(report and report['steps_per_second'])
                if name == 'axion':
                    self.looks[name] = report
        for name, command in sides.items():
            if name != 'axion':
                self.looks[name] = peer.look(name, command, *flags)

    def best(self, name):
        return max((rate for rate in self.rates.get(name, []) if rate), default=None)

    def simulated(self, name):
        """s a wall s."""
        return (self.best(name) or 0) * self.step

    def overlap(self, name):
        report = self.looks.get(name)
        return report['max_penetration_m'] if report and not report['non_finite_fraction'] else None

    def ratio(self, name):
        """Axion's rate over the other's: median, least and greatest."""
        of_turns = [ours / theirs for ours, theirs in zip(self.rates['axion'], self.rates.get(name, [])) if ours and theirs]
        return f'{statistics.median(of_turns):.2f} ({min(of_turns):.2f} to {max(of_turns):.2f})' if of_turns else '-'

    def row(self):
        axion = self.looks['axion']
        cells = [self.robot, self.worlds, self.threads, f'{1000 * self.step:g}', rate_cell(self.best('axion')),
                 f'{axion["converged_fraction"]:.4f}' if axion else '-', peer.millimetres(axion, 'max_penetration_m')]
        for name in peer.VARIANTS:
            cells += [rate_cell(self.best(name)), self.ratio(name), overlap_cell(self.overlap(name))]
        return cells


def rate_cell(rate):
    return f'{rate:,.0f}' if rate else '-'


def overlap_cell(overlap):
    return '-' if overlap is None else f'{1000 * overlap:.2f}'


def equal_speed_rows(measured):
    """A row for each robot and number of worlds: ours at its longest step, and the variants' best at no less speed."""
    for key in dict.fromkeys((m.robot, m.worlds, m.threads) for m in measured):
        mine = [m for m in measured if (m.robot, m.worlds, m.threads) == key]
        ours = max(mine, key=lambda m: m.step)
        cells = [*key, f'{1000 * ours.step:g}', f'{ours.simulated("axion"):,.0f}', overlap_cell(ours.overlap('axion'))]
        for name in peer.VARIANTS:
            good = [m for m in mine if m.simulated(name) >= ours.simulated('axion') > 0 and m.overlap(name) is not None]
            best = min(good, key=lambda m: m.overlap(name), default=None)
            cells.append(f'{overlap_cell(best.overlap(name))} at {1000 * best.step:g} ms' if best else 'none as fast')
        yield cells


def print_table(head, rows):
    print('| ' + ' | '.join(head) + ' |')
    print('|' + ' --- |' * len(head), flush=True)
    for row in rows:
        print('| ' + ' | '.join(map(str, row)) + ' |', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--models', type=pathlib.Path, help='directory of published robots')
    parser.add_argument('--robots', nargs='+', default=ROBOTS,
                        help='files of --models or of this repository; FILE@0 starts from keyframe 0')
    parser.add_argument('--worlds', nargs='+', type=int, default=[16])
    parser.add_argument('--threads', nargs='+', type=int, default=[1])
    parser.add_argument('--steps_ms', nargs='+', type=float, default=[5, 10, 20])
    parser.add_argument('--world_steps', type=int, default=8000, help='of 5 ms a run, shared by its worlds')
    parser.add_argument('--least_seconds', type=float, default=1, help='of simulated time a run')
    parser.add_argument('--warmup_seconds', type=float, default=1, help='of simulated time, until robots lie')
    parser.add_argument('--repeat', type=int, default=3)
    peer.add_flag(parser)
    options = parser.parse_args()
    options.models = options.models or ROOT / 'clients/examples/models'
    options.bin = options.bin.resolve()
    python, version = peer.find(options)
    sides = peer.sides(options, python)
    measured = []

    def rows():
        for robot in options.robots:
            for worlds in options.worlds if model_path(options, robot.partition('@')[0]).exists() else []:
                for threads in (count for count in options.threads if count <= worlds):
                    for milliseconds in options.steps_ms:
                        measured.append(Measured(options, sides, robot, worlds, threads, milliseconds / 1000))
                        yield measured[-1].row()

    print(f'MuJoCo {version}.\n' if python else f'MuJoCo was not measured: {version}\n')
    print_table(['model', 'worlds', 'threads', 'step, ms', 'axion steps/s', 'converged', 'overlap, mm',
                 *(f'{name}{column}' for name in peer.VARIANTS for column in (' steps/s', ': axion / it', ', overlap, mm'))], rows())
    if len(options.steps_ms) > 1:
        print('\nOverlap, mm, at equal speed:\n')
        print_table(['model', 'worlds', 'threads', 'axion\'s step, ms', 'axion s/s', 'axion, overlap, mm', *peer.VARIANTS],
                    equal_speed_rows(measured))
    for robot in options.robots:
        if not model_path(options, robot.partition('@')[0]).exists():
            print(f'\n{robot}: not measured, as there is no such file')
    return 1 if any(m.looks['axion'] is None for m in measured) else 0


if __name__ == '__main__':
    sys.exit(main())
