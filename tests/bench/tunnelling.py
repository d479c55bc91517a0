#!/usr/bin/env python3
"""Thin bodies that fly at a thin wall: of 36 cases, how many come out behind it, Axion beside MuJoCo's newest package in turns.

A wall of 1 mm; a ball, a plate of 2 mm that flies face first, the same plate and a thin rod that spin on their way; 10, 50 and 200 m/s,
steps of 2, 10 and 50 ms, in which they move from 20 mm to 10 m; no gravity. What is behind the wall at the end has passed through it.
Where one passes, the share of steps that Axion says have converged stands beside: it may not be all of them.

Usage: tunnelling.py --bin BUILD/bin
"""

import argparse
import math
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file

PLATE = '<geom type="box" size=".02 .05 .001" mass=".8"/>'
BODIES = {'ball': ('<geom type="sphere" size=".02" mass=".8"/>', 0), 'plate': (PLATE, 0), 'spinning plate': (PLATE, 30),
          'spinning rod': ('<geom type="capsule" size=".004 .06" mass=".8"/>', 30)}  # shape, rad/s about y and about z
SPEEDS, STEPS = [10, 50, 200], [0.002, 0.01, 0.05]  # m/s, s
WALL, REACH = 1.0, 0.2  # m: where the wall is; farther behind it than this nothing sticks out of it
SCENE = '''<mujoco><option gravity="0 0 0"/><worldbody>
<geom name="wall" type="box" size=".0005 1.5 1.5" pos="{wall} 0 0"/>
<body name="bullet" pos="0 .017 .011"><freejoint/>{shape}</body></worldbody>
<keyframe><key name="flies" qpos="0 .017 .011 1 0 0 0" qvel="{speed} 0 0 0 {spin} {spin}"/></keyframe></mujoco>'''


def passes(side, command, path, speed, step):
    """Whether it is behind the wall in the end, and the share of steps that are called converged (None: not told)."""
    steps = max(4, math.ceil(2.5 * WALL / (speed * step)))
    report = peer.look(side, command, '--model', path, '--keyframe', 0, '--watch', 'bullet', '--worlds', 1, '--threads', 1, '--dt', step,
                       '--steps', steps, '--warmup_steps', 0)
    if report is None or report.get('watched_x_end_min_m') is None:
        return True, 0.0  # what is nowhere has not been stopped
    return report['watched_x_end_min_m'] > WALL + REACH, report['converged_fraction']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--speeds', nargs='+', type=float, default=SPEEDS, help='m/s')
    parser.add_argument('--steps', nargs='+', type=float, default=STEPS, help='s')
    peer.add_flag(parser)
    options = parser.parse_args()
    python, version = peer.find(options)
    sides = peer.sides(options, python)
    print(f'MuJoCo {version}.\n' if python else f'MuJoCo was not measured: {version}\n')
    print('| body | ' + ' | '.join(sides) + ' |\n|' + ' --- |' * (1 + len(sides)))
    sums, cases, unseen = dict.fromkeys(sides, 0), 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'wall.xml'
        for body, (shape, spin) in BODIES.items():
            passed = dict.fromkeys(sides, 0)
            for speed in options.speeds:
                path.write_text(SCENE.format(wall=WALL, shape=shape, speed=speed, spin=spin), encoding='utf-8')
                for step in options.steps:
                    cases += 1
                    for side, command in sides.items():
                        through, converged = passes(side, command, path, speed, step)
                        passed[side] += through
                        if through and side == 'axion':
                            unseen.append(f'{body} at {speed:g} m/s and {1000 * step:g} ms: {converged:.2f}')
            print(f'| {body} | ' + ' | '.join(str(count) for count in passed.values()) + ' |', flush=True)
            sums = {side: sums[side] + count for side, count in passed.items()}
    print(f'\nOf {cases} cases pass: ' + ', '.join(f'{side} {count}' for side, count in sums.items()) + '.')
    if unseen:
        print('\nBodies that pass in axion, and the share of their steps that converged: ' + '; '.join(unseen) + '.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
