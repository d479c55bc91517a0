#!/usr/bin/env python3
"""How fast each engine steps a scene and how well it solves it, from the least to the largest time step at which it holds it.

Two scenes, each the same MJCF file for Axion and for MuJoCo's newest package in the variants of peer.py:
  standing  humanoid.xml with position drives in place of its motors, stiff enough to stand on; it has to stand.
  step      a wheeled robot of 120 kg (wheeled_robot.xml) at 2 m/s; it has to get over a step of 0.16 m.
Every two simulated seconds each world draws new targets of its drives: 2 % of their range about the pose, or the speed.
A scene is held at a time step if, in every world and over all of its ten seconds:
  nothing becomes non-finite, no overlap exceeds 20 mm, no joint of ours opens by more than 1 mm (MuJoCo's cannot), 99 % of our
  steps converge (MuJoCo does not say), and
  standing: the torso tilts by at most 0.2 rad, stays within 0.1 m of its height and moves at most 0.2 m/s in the last second;
  step: the chassis tilts by at most 0.5 rad, and ends behind the step's edge at the height of its top, to within 30 mm.
Time steps are tried upwards along a grid; the largest is the last before the first that fails. Then all that are held are timed, all
engines in turns, the best of several. Error at equal speed: the fastest of the steps at which no world ever overlaps by more than 1 mm,
and the least overlap of those that are as fast as a given speed.

Usage: largest_step.py --bin BUILD/bin --models DIRECTORY_OF_humanoid.xml
"""

import argparse
import math
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file

HERE = pathlib.Path(__file__).resolve().parent
GRID_MS = [2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 150, 200, 300, 400, 500]
SPEEDS = [250, 500, 1000, 2000, 4000, 8000]  # simulated s a wall s
CLOSE = 1e-3  # m of overlap
WHEEL_RADIUS, SPEED, STEP_EDGE, STEP_HEIGHT, CHASSIS_HEIGHT = 0.36, 2.0, 1.5, 0.16, 0.41


def standing_humanoid(models, stiffness):
    """humanoid.xml whose actuators are position drives of `stiffness` N m/rad, damped with a twentieth of it a second."""
    root = ElementTree.parse(models / 'humanoid.xml').getroot()
    actuators = root.find('actuator')
    driven = [motor.get('joint') for motor in actuators]
    for motor in list(actuators):
        actuators.remove(motor)
    for joint in driven:
        ElementTree.SubElement(actuators, 'position', name=joint, joint=joint, kp=f'{stiffness:g}', ctrllimited='true',
                               ctrlrange='-1 1')
    for joint in root.iter('joint'):
        if joint.get('name') in driven:
            joint.set('damping', f'{stiffness / 20:g}')
    return root


def wheeled_robot():
    return ElementTree.parse(HERE / 'wheeled_robot.xml').getroot()


def stands(report):
    return (report['watched_tilt_max_rad'] <= 0.2 and report['watched_height_max_m'] - report['watched_height_min_m'] <= 0.1
            and report['watched_speed_end_m_s'] <= 0.2)


def is_over_the_step(report):
    return (report['watched_tilt_max_rad'] <= 0.5 and report['watched_x_end_min_m'] > STEP_EDGE + 1 and
            abs(report['watched_height_end_min_m'] - STEP_HEIGHT - CHASSIS_HEIGHT) <= 0.03)


SCENES = {
    'standing': {'watch': 'torso', 'seconds': 10, 'control': [], 'held': stands},
    'step': {'watch': 'chassis', 'seconds': 10, 'control': ['--control_centre', f'{SPEED / WHEEL_RADIUS:.4f}'],
             'held': is_over_the_step},
}


def is_held(scene, report):
    if report is None or report['watched_height_min_m'] is None or report['non_finite_fraction'] > 0:
        return False
    if report['max_penetration_m'] > 0.02 or (report['max_joint_error_m'] or 0) > 1e-3:
        return False
    return (report['converged_fraction'] or 1) >= 0.99 and scene['held'](report)


class Contender:
    """An engine in one scene: the time steps that it holds, what it is worth there, and how fast it is."""

    def __init__(self, options, name, command, scene, path):
        self.options, self.name, self.command, self.scene, self.path = options, name, command, scene, path
        self.held = {}  # report by time step, s
        self.rate = {}  # simulated s a wall s by time step
        for dt in (milliseconds / 1000 for milliseconds in options.grid_ms):
            report = peer.look(name, command, *self.flags(dt, options.worlds_held), '--watch', scene['watch'])
            if not is_held(scene, report):
                break
            self.held[dt] = report

    def flags(self, dt, worlds):
        return ['--model', self.path, '--dt', f'{dt:g}', '--worlds', worlds, '--steps', math.ceil(self.scene['seconds'] / dt),
                '--warmup_steps', 0, '--control_fraction', 0.02, '--control_hold', max(1, round(2 / dt)),
                '--threads', self.options.threads, *self.scene['control']]

    def time_once(self, dt):
        if dt in self.held:
            steps = math.ceil(self.scene['seconds'] / dt)
            worlds = min(self.options.worlds, max(2, self.options.world_steps // steps))
            report = peer.run(self.command, *self.flags(dt, worlds))
            if report and report['steps_per_second']:
                self.rate[dt] = max(self.rate.get(dt, 0.0), report['steps_per_second'] * dt)

    def overlap(self, dt):
        return self.held[dt]['max_penetration_m']

    def at_largest(self):
        return self.rate.get(max(self.held), 0.0) if self.held else 0.0

    def fastest(self, overlap=math.inf):
        """(simulated s a wall s, time step) of the fastest step with no more overlap; (0, None) without one."""
        return max(((self.rate[dt], dt) for dt in self.rate if self.overlap(dt) <= overlap), default=(0.0, None))

    def least_overlap(self, speed):
        """(overlap, time step) of the steps that are as fast as `speed`; None without one."""
        return min(((self.overlap(dt), dt) for dt in self.rate if self.rate[dt] >= speed), default=None)

    def row(self, scene_name):
        if not self.held:
            return f'| {scene_name} | {self.name} | not held at {self.options.grid_ms[0]:g} ms | | | | | | |'
        report = self.held[max(self.held)]
        share = report['converged_fraction']
        fast = [f'{rate:,.0f} at {1000 * dt:g} ms' if dt else '-' for rate, dt in (self.fastest(), self.fastest(CLOSE))]
        return (f'| {scene_name} | {self.name} | {1000 * max(self.held):g} | {self.at_largest():,.0f} | {fast[0]} | {fast[1]} | '
                f'{peer.millimetres(report, "max_penetration_m")} | {peer.millimetres(report, "max_joint_error_m")} | '
                f'{"-" if share is None else format(share, ".4f")} |')

    def row_of_speeds(self, scene_name):
        cells = [f'{1000 * found[0]:.2f} at {1000 * found[1]:g} ms' if found else '-' for found in map(self.least_overlap, SPEEDS)]
        return f'| {scene_name} | {self.name} | {" | ".join(cells)} |'

    def row_of_steps(self, scene_name):
        cells = [f'{self.rate.get(dt, 0):,.0f}; {1000 * self.overlap(dt):.2f}' if dt in self.held else '-'
                 for dt in (milliseconds / 1000 for milliseconds in self.options.grid_ms)]
        return f'| {scene_name} | {self.name} | {" | ".join(cells)} |'


def measure(options, scene_name, folder, sides):
    """The contenders of one scene, timed."""
    root = standing_humanoid(options.models, options.stiffness) if scene_name == 'standing' else wheeled_robot()
    path = folder / f'{scene_name}.xml'
    ElementTree.ElementTree(root).write(path)
    contenders = [Contender(options, name, command, SCENES[scene_name], path) for name, command in sides.items()]
    for _ in range(options.repeat):
        for milliseconds in options.grid_ms:
            for contender in contenders:
                contender.time_once(milliseconds / 1000)
    return contenders


def verdict(contenders):
    """The ratios of Axion's speed to the fastest of the others, as a sentence; None where there is nothing to compare."""
    axion, rivals = contenders[0], [c for c in contenders[1:] if c.held]
    if not axion.held or not rivals:
        return None

    def ratio(ours, theirs):
        return f'{ours / theirs:.1f}' if ours and theirs else '-'
    ours, theirs = (max(c.fastest(CLOSE)[0] for c in side) for side in ([axion], rivals))
    largest = max(rivals, key=lambda c: (max(c.held), c.at_largest()))
    return (f'{ratio(ours, theirs)} times MuJoCo with at most 1 mm of overlap{"" if theirs else ", of which it holds no step"}, '
            f'{ratio(axion.fastest()[0], max(c.fastest()[0] for c in rivals))} times at the fastest step that each holds, '
            f'{ratio(axion.at_largest(), largest.at_largest())} times at the largest')


def print_table(head, rows):
    print('\n| ' + ' | '.join(head) + ' |\n|' + ' --- |' * len(head))
    print('\n'.join(rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--models', type=pathlib.Path, help='directory of humanoid.xml; without it that scene is left out')
    parser.add_argument('--scenes', nargs='+', default=list(SCENES), choices=list(SCENES))
    parser.add_argument('--stiffness', type=float, default=1000, help='of the position drives, N m/rad')
    parser.add_argument('--grid_ms', nargs='+', type=float, default=GRID_MS)
    parser.add_argument('--worlds_held', type=int, default=4, help='worlds that must all hold')
    parser.add_argument('--worlds', type=int, default=64, help='worlds that are timed, at most')
    parser.add_argument('--world_steps', type=int, default=8000, help='that are timed, of as many worlds as that takes')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--repeat', type=int, default=3)
    peer.add_flag(parser)
    options = parser.parse_args()
    python, version = peer.find(options)
    print(f'MuJoCo {version}.' if python else f'MuJoCo was not measured: {version}')
    with tempfile.TemporaryDirectory() as folder:
        scenes = {name: measure(options, name, pathlib.Path(folder), peer.sides(options, python))
                  for name in options.scenes if name != 'standing' or options.models}

    print_table(['scene', 'engine', 'largest time step held, ms', 'simulated s a wall s there', 'fastest of those held',
                 'fastest with at most 1 mm of overlap', 'overlap at the largest, mm', 'joint error there, mm', 'converged there'],
                [c.row(name) for name, all_of in scenes.items() for c in all_of])
    print('\nLeast overlap, mm, at which an engine simulates so many seconds a wall second or more:')
    print_table(['scene', 'engine', *(f'{speed:,}' for speed in SPEEDS)],
                [c.row_of_speeds(name) for name, all_of in scenes.items() for c in all_of])
    print('\nSimulated s a wall s and greatest overlap, mm, by the time step, ms:')
    print_table(['scene', 'engine', *(f'{milliseconds:g}' for milliseconds in options.grid_ms)],
                [c.row_of_steps(name) for name, all_of in scenes.items() for c in all_of])
    verdicts = {name: verdict(all_of) for name, all_of in scenes.items()}
    print()
    for name, said in verdicts.items():
        print(f'{name}: {said or "no ratio, as one engine does not hold it"}')
    return 1 if None in verdicts.values() else 0


if __name__ == '__main__':
    sys.exit(main())
