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
integrators: its best counts. Then both are timed at their own time step, in turns, the best of several.

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
                 '--steps', str(steps), '--warmup_steps', '0', '--control_fraction', '0.02', '--control_hold', str(round(2 / dt)), '--threads', str(options.threads),
                 '--device', 'cpu', *scene['control']]
    if watch:
        arguments += ['--watch', scene['watch']]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.replace('inf', 'null')) if done.returncode == 0 else None


def largest(options, side, scene):
    """The largest time step held, s, with its report; (None, None) where not even the least is."""
    found = None, None
    for dt in [milliseconds / 1000 for milliseconds in options.grid_ms]:
        report = run(options, side, scene, dt, options.worlds_held, True)
        if not is_held(scene, report):
            break
        found = dt, report
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


def speed(options, scene, side, dt):
    """Simulated seconds per wall second of one run of many worlds."""
    report = run(options, side, scene, dt, options.worlds, False)
    return report['steps_per_second'] * dt


def measure(options, scene_name, folder):
    """Prints the rows of one scene and its ratio; returns whether both engines hold it."""
    scene = SCENES[scene_name]
    ours, theirs = sides_of(scene_name, options, folder)
    contenders = {'axion': (ours, *largest(options, ours, scene))}
    for integrator, side in theirs.items():
        contenders[f'mujoco {integrator}'] = (side, *largest(options, side, scene))
    held = {name: c for name, c in contenders.items() if c[1] is not None}
    best = {name: 0.0 for name in contenders}
    for _ in range(options.repeat):
        for name, (side, dt, _) in held.items():
            best[name] = max(best[name], speed(options, scene, side, dt))
    for name, (_, dt, report) in contenders.items():
        if dt is None:
            print(f'| {scene_name} | {name} | not held at {options.grid_ms[0]:g} ms | | | | |', flush=True)
            continue
        share = report['converged_fraction']
        print(f'| {scene_name} | {name} | {1000 * dt:g} | {best[name]:,.1f} | {report["max_penetration_m"]:.1e} | '
              f'{"-" if report["max_joint_error_m"] is None else format(report["max_joint_error_m"], ".1e")} | '
              f'{"-" if share is None else format(share, ".4f")} |', flush=True)
    rival = max((value for name, value in best.items() if name != 'axion'), default=0.0)
    if not rival or not best['axion']:
        return None
    return best['axion'] / rival


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

    print('| scene | engine | largest time step held, ms | simulated s a wall s | penetration m | joint error m | converged |')
    print('| --- | --- | ---: | ---: | ---: | ---: | ---: |')
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in scenes:
            ratios[name] = measure(options, name, pathlib.Path(folder))
    print()
    for name, ratio in ratios.items():
        print(f'{name}: ' + ('no ratio, as one engine does not hold it' if ratio is None else f'{ratio:.1f} times C MuJoCo'))
    return 1 if None in ratios.values() else 0


if __name__ == '__main__':
    sys.exit(main())
