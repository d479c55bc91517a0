#!/usr/bin/env python3
"""Scenes that people build whose right answer is known, Axion beside MuJoCo's newest package: a figure a scene, the worst of its cases.

Seams: what slides or rolls at 1 m/s over a table of ten tiles, level or each lower than the last by 10 um, at 2, 10 and 20 ms, keeps its
speed; the greatest part of its way that a mover lost, and that one gained. Flush: equal hulls, one exactly on the other, lie still; how far
the upper one moves in a second, at forty heights. Out of reach: a hand that is welded to a mocap body beyond its arm's reach leans towards
it and rests; the greatest speed of the hand, its speed in the end, and by how much a joint opens. Deep: bodies that start in each other or
in the floor; the greatest speed that one gets in a second. Where Axion's steps do not all converge, their share stands below.

Usage: exactness.py --bin BUILD/bin
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file

CUBE = ('<asset><mesh name="cube" scale=".05 .05 .05" '
        'vertex="-1 -1 -1 1 -1 -1 1 1 -1 -1 1 -1 -1 -1 1 1 -1 1 1 1 1 -1 1 1"/></asset>')
PRISM = '<asset><mesh name="prism" vertex="{}"/></asset>'.format(' '.join(
    f'{x} {y} {z}' for z in (-.05, .05) for x, y in ((.06, 0), (.03, .052), (-.03, .052), (-.06, 0), (-.03, -.052), (.03, -.052))))
# Mover: shape that is 50 mm above its lowest point, friction, rad/s about y as it rolls at 1 m/s.
MOVERS = {'box': ('type="box" size=".05 .05 .05"', 0, 0), 'mesh': ('type="mesh" mesh="cube"', 0, 0),
          'upright cylinder': ('type="cylinder" size=".05 .05"', 0, 0), 'ball': ('type="sphere" size=".05"', .5, 20),
          'wheel': ('type="cylinder" size=".05 .02" euler="90 0 0"', .5, 20),
          'capsule': ('type="capsule" size=".05 .05" euler="90 0 0"', .5, 20)}
STEPS, HEIGHTS = [0.002, 0.01, 0.02], 40  # s; heights of flush stacks
SPEED = 1.0   # m/s
ARM = '''<mujoco><default><joint damping="2" armature=".02"/><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="target" mocap="true" pos="{x} {y} .5"><geom size=".02"/></body>
<body pos="0 0 .5"><joint axis="0 0 1" range="-2 2"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0" mass="2"/>
<body pos=".3 0 0"><joint axis="0 1 0" range="-2 2"/><geom type="capsule" size=".03" fromto="0 0 0 .25 0 0" mass="1"/>
<body name="watched" pos=".25 0 0"><joint name="wrist" axis="0 0 1" range="-1 1"/><geom type="box" size=".04 .04 .04" mass=".5"/></body>
</body></body></worldbody><equality><weld body1="target" body2="watched" relpose="0 0 0 1 0 0 0"/></equality>
<actuator><position joint="wrist" kp="400" ctrlrange="-1 1"/></actuator></mujoco>'''
TARGETS = [(.75, .2), (.9, 0), (0, -.8), (-.7, .3), (.3, .9)]  # m; the arm reaches 0.55 m
FLOOR = '<geom type="plane" size="3 3 .1"/>'
DEEP = {  # bodies of 0.1 m that start 60 mm in something
    'box in a floor': f'{FLOOR}<body name="watched" pos="0 0 -.01"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>',
    'ball in a ball': f'{FLOOR}<body pos="0 0 .05"><freejoint/><geom size=".05" mass="1"/></body>'
                      '<body name="watched" pos="0.01 0 .09"><freejoint/><geom size=".05" mass="1"/></body>',
    'box in a wall': f'{FLOOR}<geom type="box" size=".1 1 1" pos="-.14 0 0"/>'
                     '<body name="watched" pos="0 0 .05"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>',
    'folded arm': FLOOR + '<body pos="0 0 .3"><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0" mass="1"/>'
                  '<body pos=".3 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .1 0 0" mass=".5"/>'
                  '<body name="watched" pos=".1 0 0"><joint axis="0 1 0"/>'
                  '<geom type="capsule" size=".05" fromto="0 0 0 -.3 0 .04" mass="1"/></body></body></body>'}


class Cases:
    """Runs scenes on every side and keeps the worst of each figure, by row."""

    def __init__(self, sides, folder):
        self._sides, self._path, self._converged, self.rows = sides, folder / 'scene.xml', {}, {}

    def run(self, rows, scene, dt, seconds):
        """rows: {name of a row: figure of a report, or None where there is nothing to say}."""
        self._path.write_text(scene, encoding='utf-8')
        for side, command in self._sides.items():
            report = peer.look(side, command, '--model', self._path, '--watch', 'watched', '--worlds', 1, '--threads', 1, '--dt', dt,
                               '--steps', round(seconds / dt), '--warmup_steps', 0, *(['--keyframe', 0] if '<keyframe>' in scene else []))
            finite = report is not None and report.get('watched_x_end_min_m') is not None
            for row, figure in rows.items():
                worst = self.rows.setdefault(row, {}).setdefault(side, 0.0)
                self.rows[row][side] = max(worst, figure(report) if finite else float('inf'))
                if side == 'axion':
                    self._converged[row] = min(self._converged.get(row, 1.0), report['converged_fraction'] if report else 0.0)

    def table(self):
        lines = ['| scene | ' + ' | '.join(self._sides) + ' |', '|' + ' --- |' * (1 + len(self._sides))]
        lines += [f'| {row} | ' + ' | '.join(f'{value:.2g}' for value in figures.values()) + ' |'
                  for row, figures in self.rows.items()]
        less = [f'{row}: {100 * share:.1f} %' for row, share in self._converged.items() if share < 1]
        told = f'\n\nLeast share of steps of a run that converged, where it is not all: {"; ".join(less)}.' if less else ''
        return '\n'.join(lines) + told


def seams(cases, steps):
    for mover, (shape, friction, turns) in MOVERS.items():
        for drop in (0, 1e-5):
            tiles = ''.join(f'<geom type="box" size=".1 .5 .05" pos="{.2 * i} 0 {-.05 - drop * i}" friction="{friction}"/>'
                            for i in range(10))
            scene = (f'<mujoco>{CUBE}<worldbody>{tiles}<body name="watched" pos="0 0 .05"><freejoint/><geom {shape} mass="1" '
                     f'friction="{friction}"/></body></worldbody><keyframe><key qpos="0 0 .05 1 0 0 0" qvel="{SPEED} 0 0 0 {turns} 0"/>'
                     '</keyframe></mujoco>')
            seconds = 1.7
            cases_of = {f'{mover} over nine seams, way lost, %': lambda r: 100 * (1 - r['watched_x_end_min_m'] / (SPEED * seconds)),
                        'any over nine seams, way gained, %': lambda r: 100 * (r['watched_x_end_min_m'] / (SPEED * seconds) - 1)}
            for dt in steps:
                cases.run(cases_of, scene, dt, seconds)


def flush(cases, heights):
    for name, mesh, turn in (('cube', CUBE, 45), ('prism', PRISM, 15)):
        for i in range(heights):
            low = .05 + .013 * i
            hull = f'<geom type="mesh" mesh="{name}" euler="0 0 {turn}" mass="1"/>'
            scene = (f'<mujoco>{mesh}<worldbody><body pos="0 0 {low}">{hull}</body>'
                     f'<body name="watched" pos="0 0 {low + .1}"><freejoint/>{hull}</body></worldbody></mujoco>')
            cases.run({f'{name} flush on another, moved aside, mm': lambda r: 1000 * abs(r['watched_x_end_min_m'])}, scene, 0.005, 1)


def out_of_reach(cases, targets, steps):
    for x, y in targets:
        for dt in steps:
            cases.run({'hand out of reach, greatest speed, m/s': lambda r: r['watched_speed_max_m_s'],
                       'hand out of reach, speed after 5 s, m/s': lambda r: r['watched_speed_end_m_s']}, ARM.format(x=x, y=y), dt, 5)


def deep(cases, steps):
    for name, bodies in DEEP.items():
        for dt in steps:
            cases.run({f'{name}, greatest speed, m/s': lambda r: r['watched_speed_max_m_s']},
                      f'<mujoco><worldbody>{bodies}</worldbody></mujoco>', dt, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--steps', nargs='+', type=float, default=STEPS, help='s')
    parser.add_argument('--heights', type=int, default=HEIGHTS, help='of flush stacks')
    peer.add_flag(parser)
    options = parser.parse_args()
    python, version = peer.find(options)
    sides = peer.sides(options, python)
    print(f'MuJoCo {version}.\n' if python else f'MuJoCo was not measured: {version}\n')
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(sides, pathlib.Path(folder))
        seams(cases, options.steps)
        flush(cases, options.heights)
        out_of_reach(cases, TARGETS, options.steps)
        deep(cases, options.steps)
        print(cases.table())
    return 0


if __name__ == '__main__':
    sys.exit(main())
