#!/usr/bin/env python3
"""Simulated seconds per wall second at the largest time step at which each engine still holds a scene, Axion and C MuJoCo.

Two scenes, each the same MJCF file for both engines:
  standing  humanoid.xml with position drives in place of its motors, stiff enough to stand on; it has to stand.
  step      a wheeled robot of 120 kg (wheeled_robot.xml) at 2 m/s; it has to get over a step of 0.16 m.
Every two simulated seconds each world draws new targets of its drives: 2 % of their range about the pose, or the speed.
A scene is held at a time step if, in every world and over all of its ten seconds:
  nothing becomes non-finite, no overlap exceeds 20 mm, no joint of ours opens by more than 1 mm (MuJoCo's cannot), 99 % of our
  steps converge (MuJoCo does not say), and
  standing: the torso tilts by at most 0.2 rad, stays within 0.1 m of its height and moves at most 0.2 m/s in the last second;
  step: the chassis tilts by at most 0.5 rad, and ends behind the step's edge at the height of its top, to within 30 mm.
Time steps are tried upwards along a grid; the largest is the last before the first that fails. MuJoCo may use any of its
integrators: its best counts. Then both are timed at their own largest time step, and at the fastest of those held, in turns,
the best of several.

Usage: largest_step.py --bin BUILD/bin --models DIRECTORY_OF_humanoid.xml
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
GRID_MS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 50, 60, 70, 80, 100, 120, 150, 200, 250,
           300, 400, 500]
INTEGRATORS = ['Euler', 'implicit', 'RK4']
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


def run(options, side, scene, dt, worlds, watch):
    """The report of one run of a side: (program, file); None where the program refuses or breaks."""
    program, path = side
    steps = math.ceil(scene['seconds'] / dt)
    arguments = [str(options.bin / program), '--json', '--model', str(path), '--dt', f'{dt:g}', '--worlds', str(worlds),
                 '--steps', str(steps), '--warmup_steps', '0', '--control_fraction', '0.02',
                 '--control_hold', str(max(1, round(2 / dt))), '--threads', str(options.threads),
                 '--device', 'cpu', *scene['control']]
    if watch:
        arguments += ['--watch', scene['watch']]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.replace('inf', 'null')) if done.returncode == 0 else None


def steps_held(options, side, scene):
    """[(time step in s, report)] upwards to the largest that is held; empty where not even the least is."""
    found = []
    for dt in [milliseconds / 1000 for milliseconds in options.grid_ms]:
        report = run(options, side, scene, dt, options.worlds_held, True)
        if not is_held(scene, report):
            break
        found.append((dt, report))
    return found


def sides_of(scene_name, options, folder):
    """Axion's (program, file), and MuJoCo's, one an integrator."""
    root = standing_humanoid(options.models, options.stiffness) if scene_name == 'standing' else wheeled_robot()
    path = folder / f'{scene_name}.xml'
    ElementTree.ElementTree(root).write(path)
    theirs = {}
    for integrator in INTEGRATORS:
        root.find('option').set('integrator', integrator)
        variant = folder / f'{scene_name}_{integrator}.xml'
        ElementTree.ElementTree(root).write(variant)
        theirs[integrator] = ('mujoco_bench', variant)
    return ('axion-bench', path), theirs


def speed(options, scene, side, dt, worlds):
    """Simulated seconds per wall second of one run."""
    report = run(options, side, scene, dt, worlds, False)
    return report['steps_per_second'] * dt


class Contender:
    """An engine in one scene: what it holds, and how fast it is at the largest of it and at the fastest."""

    def __init__(self, options, name, side, scene):
        self.options, self.name, self.side, self.scene = options, name, side, scene
        self.held = steps_held(options, side, scene)
        self.rate = {}  # simulated s a wall s by time step
        if self.held:
            largest = self.held[-1][0]
            # Beyond an eighth of the largest a step would have to be eight times as fast to pay.
            tried = {dt: speed(options, scene, side, dt, options.worlds_held) for dt, _ in self.held if dt >= largest / 8}
            self.rate = {largest: 0.0, max(tried, key=tried.get): 0.0}

    def time_once(self):
        for dt, best in self.rate.items():
            self.rate[dt] = max(best, speed(self.options, self.scene, self.side, dt, self.options.worlds))

    def at_largest(self):
        return self.rate[self.held[-1][0]] if self.held else 0.0

    def row(self, scene_name):
        if not self.held:
            return f'| {scene_name} | {self.name} | not held at {self.options.grid_ms[0]:g} ms | | | | | |'
        dt, report = self.held[-1]
        fastest = max(self.rate, key=self.rate.get)
        share, error = report['converged_fraction'], report['max_joint_error_m']
        return (f'| {scene_name} | {self.name} | {1000 * dt:g} | {self.at_largest():,.1f} | {self.rate[fastest]:,.1f} at '
                f'{1000 * fastest:g} ms | {report["max_penetration_m"]:.1e} | {"-" if error is None else format(error, ".1e")} | '
                f'{"-" if share is None else format(share, ".4f")} |')


def measure(options, scene_name, folder):
    """Prints the rows of one scene; returns its two ratios, at the largest time steps and at the fastest, or None."""
    ours, theirs = sides_of(scene_name, options, folder)
    contenders = [Contender(options, 'axion', ours, SCENES[scene_name])]
    contenders += [Contender(options, f'mujoco {name}', side, SCENES[scene_name]) for name, side in theirs.items()]
    for _ in range(options.repeat):
        for contender in contenders:
            contender.time_once()
    for contender in contenders:
        print(contender.row(scene_name), flush=True)
    axion, rivals = contenders[0], [c for c in contenders[1:] if c.held]
    if not axion.held or not rivals:
        return None
    return (axion.at_largest() / max(c.at_largest() for c in rivals),
            max(axion.rate.values()) / max(max(c.rate.values()) for c in rivals))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--models', type=pathlib.Path, help='directory of humanoid.xml; without it that scene is left out')
    parser.add_argument('--scenes', nargs='+', default=list(SCENES), choices=list(SCENES))
    parser.add_argument('--stiffness', type=float, default=1000, help='of the position drives, N m/rad')
    parser.add_argument('--grid_ms', nargs='+', type=float, default=GRID_MS)
    parser.add_argument('--worlds_held', type=int, default=4, help='worlds that must all hold')
    parser.add_argument('--worlds', type=int, default=64, help='worlds that are timed')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--repeat', type=int, default=3)
    options = parser.parse_args()
    scenes = [name for name in options.scenes if name != 'standing' or options.models]

    print('| scene | engine | largest time step held, ms | simulated s a wall s there | fastest of those held | penetration m | '
          'joint error m | converged |')
    print('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |')
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in scenes:
            ratios[name] = measure(options, name, pathlib.Path(folder))
    print()
    for name, ratio in ratios.items():
        print(f'{name}: ' + ('no ratio, as one engine does not hold it' if ratio is None else
                             f'{ratio[0]:.1f} times C MuJoCo at the largest time step of each, {ratio[1]:.1f} times at the fastest'))
    return 1 if None in ratios.values() else 0


if __name__ == '__main__':
    sys.exit(main())
