#!/usr/bin/env python3
"""Runs the physics tests of a build and writes docs/validation.md: every case with a known answer, what was measured in
each precision, and what it may be.

Usage: validation_table.py [--build DIRECTORY] [--out FILE]
Exit code 1 when a test fails, a figure is beyond its bound, a case was not measured, or a test has no program.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

# Every case, in the order of the page, and what is done in it. h is the time step, g = 9.81 m/s² unless said.
CASES = {
    'sliding, isotropy':
        'A cube of half side 0.1 m and 1 kg is thrown over a plane at 3 m/s; μ ∈ {.1, .3, .5, .8}, headings from 0° by 15° at '
        'h = 1/60 s and by 35° at 2 ms. The worst of all 140 throws, in every step. BE-x(a, N) = h² a N(N+1)/2.',
    'stick and slip':
        'The same cube on an incline of μ = .5: θ ∈ {20, 25, 26, 26.5}° sticks, {26.6, 27, 30}° slides; and on a plane, '
        'pushed. 8 azimuths, h ∈ {1 ms, 1/60 s}.',
    'slide to roll':
        'A sphere of radius .1 m and 1 kg, μ .5, thrown at 2 m/s without spin; 8 azimuths, h ∈ {1 ms, 1/60 s}.',
    'pushed sphere':
        'The same sphere pushed with 2 N at its centre: it rolls (a sphere does not stick), friction is 4/7 N.',
    'torsional friction':
        'The same sphere spins about the vertical at 9 rad/s, μ 4 mm, h ∈ {1, 10 ms, 1/60 s}; and a box of .2 kg between two '
        'balls that press with 20 N, its centre 2 cm beside their axis, μ 5 mm, h 5 ms, also with preset DEFAULT.',
    'rolling friction':
        'The same sphere rolls at .6 m/s in three directions, μ 1 cm, h ∈ {1, 10 ms}; and lies on slopes of half and .98 of '
        'tan θ = μ/r, and rolls down one of 1.5, μ 2 cm, h 5 ms.',
    'point pendulum':
        'IFToMM A01: 1 kg at 1 m, released level; at 1 s. A step of backward Euler is x⁺ = normalize(x + hv + h²g), '
        'v⁺ = (x⁺ − x)/h.',
    'double pendulum, mass ratio':
        'Two rods of 1 m, released level, the second of a thousandfold mass; centre of the second at .25 and .5 s.',
    'equal double pendulum':
        'Two rods with m = I = 1, g = 10, released level; centre of the second at .5 s, and the energy of 10⁴ steps of '
        '10 ms. A step of DEFAULT moves with velocities of its middle, so that the energy at a pose is taken with the mean '
        'of the velocities of the two steps that meet there.',
    'four-bar windows':
        'IFToMM A02, two windows of rods of 1 m and 1 kg with three-dimensional hinges (redundant rows), the tops at '
        '1 m/s; singular whenever it lies flat, which it does twice in 2 s.',
    'four-bar windows in a row':
        'Two to forty such windows, at the tolerance of the preset, 10 s of 1 ms unless said; 2ⁿ branches meet whenever they '
        'lie flat.',
    'crank-rocker four-bar':
        'Crank .2, coupler .5, rocker .4, ground .5 m; the crank is driven at 2π rad/s for 3 s.',
    'torque-free top':
        'Kane: I = (.04, .04, .02) kg m², ω = (2, 4, 6) rad/s in the body, gravity off and on; orientation and rate '
        'after 1 s.',
    'free box': 'Halves .1, .2, .3 m, ω = (1, 2, 3) rad/s, 500 steps of 10 ms.',
    'joint limit': 'A slider of 1 kg between 0 and .1 m, pushed with ±10 N, h 1 ms.',
    'velocity motor': 'A vertical slider of 1 kg driven at 1 m/s, h 1 ms.',
    'two boxes': '100 kg on 1 kg on a plane, sides .2 m, h ∈ {1 ms, 1/60 s}, every step of 5 s.',
    'restitution': 'Preset VELOCITY: a sphere dropped by 1 m, h .1 ms.',
    'momentum': 'No gravity: a ball of 2 kg hits a tree of five hinged links; and four free links.',
    'against C MuJoCo':
        'The same files in MuJoCo, which moves with a fourth order integrator at .1 ms; no contacts, no limits, steady '
        'motors.',
    'contact with a spring': 'A ball of 1 kg rests on a plane, springs and dampers of both in series; both levels.',
    'rest after rebounds': 'A ball dropped by .2 m with e = .5, preset VELOCITY, h ∈ {1 ms, 1/60 s}.',
    'dry friction of an axis': 'A cart of 1 kg with a loss of 5 N, driven with 4.999 and with 7 N.',
    'coasting against dry friction': 'The same cart, thrown at 1 m/s.',
    'effort limit of a drive': 'A velocity drive with gear 2 and limits −8 and 10 lifts 1 kg.',
    'effort limit of a motor': 'A motor with gear 2 and limits −3 and 4, driven with ±10.',
    'soft weld': '1 kg on a weld of 10⁴ N/m and 100 N s/m, all modes and levels, h ∈ {1 ms, 1/60 s}.',
    'bullet against a thin wall':
        'Spheres, capsules and boxes at 5, 50 and 400 m/s against a wall of 20 mm, fixed and free; h ∈ {1, 10, 100 ms}.',
    'pushed bullet against a thin wall':
        'The same bullets at rest, and a force that takes them 3 m within one step; h ∈ {10, 100, 300 ms}.',
    'ball turned into another':
        'A ball that its velocity carries past another, and a force within the step into it; h ∈ {10, 100 ms}.',
    'ball dropped in large steps': 'A cube dropped by 1 mm to .5 m, h ∈ {100, 200, 300, 500 ms}.',
    'drop without rebound': 'Preset DEFAULT: a cube dropped by 1 m, h 5 ms, 2 s.',
    'free flight': 'A box of 2 kg thrown at (3, −1, 4) m/s, every step of 1 s, h ∈ {1, 10, 50, 200 ms}.',
    'forces that begin':
        'A cart of 2 kg and a free box at rest, a motor or a wrench of 5 N and then −3 N after .1 s; h ∈ {1, 10, 50 ms}.',
    'order of an axis':
        'A cart of 2 kg with a damper of 4 N s/m, a spring of 50 N/m, armature of 3 kg, a position drive (kp 100, kd 10) and '
        'a velocity drive (kd 6), each against its closed formula after .8 s, h from 20 to 2.5 ms.',
    'stiff axis':
        'The cart .1 m out of rest, springs of 0 to 10⁹ N/m and dampers of 0 to 10⁷ N s/m, h ∈ {1, 20, 300 ms}: the trapezoidal '
        'rule blends into backward Euler where an axis is stiff against the step.',
    'velocities that are read':
        'Velocities belong to the instant of the poses: of three boxes at rest, and of a box that falls by .5 m; h ∈ {1, 10, 50 ms}.',
    'velocities by trees':
        'A robot with every kind of joint, contacts and drives: velocities at the poses by joint trees beside those by the whole system, '
        'every step.',
    'reading and setting a state at every step':
        'A double pendulum with dampers, armature and a motor whose control changes at every step; a client reads the state and '
        'sets it again after each.',
    'armature': 'A rotor of .0067 kg m² with an armature of .5 kg m², driven with .5 N m.',
    'position drive': 'A vertical slider of 1 kg held by kp 1000 and kd 60, h ∈ {1, 50 ms}.',
    'joint limits':
        'Preset DEFAULT: a link that starts .9 rad beyond its limit, of 1 kg and 1 g, with armature of 0 and 1 kg m², on the '
        'world and on a trunk, h from 1 to 100 ms.',
    'seed friction, ball between plates on guides':
        'Preset AXION_SEED at tolerance 1e-9: a ball pulled from between plates that guides hold, normals along x, y and z, plates of 10 g '
        'to 1 kg, forces of .5 to 1.5 of the friction, every 15 or 30°, h ∈ {1, 5, 16.7 ms}.',
    'seed friction, plates free along one axis':
        'Preset AXION_SEED at tolerance 1e-9: the same with plates that run along one axis; closed formulas along and across it, the '
        'natural map between.',
    'seed friction, box between plates on guides': 'The same with a box, whose eight corners are redundant.',
    'seed friction, thrown cube': 'Preset AXION_SEED at tolerance 1e-9: a cube thrown over a plane, μ .1 to .8, 24 headings.',
    'redundant loops':
        'A four-bar, a ring with a weld, two windows and a door on two hinges, tolerances of 1e-3 to 1e-12, h ∈ {1, 20 ms}, '
        'presets DEFAULT and VELOCITY.',
    'loops of free bodies': 'A double pendulum whose bodies have free joints, so that its hinges close loops.',
    'chain with a heavy end': 'Preset DEFAULT: ten links, the last of a thousandfold mass, h 10 ms, 3 s.',
    'heavy on light':
        'Preset DEFAULT (contact compliance): 1, 11 and 20 t on 1 kg, boxes, spheres and capsules, and the same with a slow push-out.',
    'no push-out': 'Preset DEFAULT with depenetration_velocity 0: 1 kg on a plane.',
    'push-out': 'Preset DEFAULT, depenetration_velocity 1 m/s: what was pressed is let go, and a box starts deep in the ground.',
    'rigid stacks':
        'Preset DEFAULT without compliance: boxes, each heavier than the one below, aligned and a little askew; time steps of 1 to '
        '33 ms, 5 to 20 boxes of several sizes and frictions; a pyramid and a wall of bricks. 120 steps each.',
    'falling pile':
        'Preset DEFAULT: 150 balls and boxes fall on each other at 50 and 100 ms; overlaps are measured over all pairs in the '
        'poses that a step made.',
    'heaps of convex shapes':
        'Preset DEFAULT: 30 cylinders, ellipsoids and convex hulls fall for 3 s, h 5 ms; overlaps are measured over all pairs.',
    'published robots': 'Preset DEFAULT: 500 steps with random controls of a tenth of the range.',
    'driven arms':
        'Preset DEFAULT, controls over the whole range: an arm with stiff limited drives and a gripper of two four-bars with dry '
        'friction, and an arm of links of 2e-9 to 1e-6 kg behind armature; 1,000 steps.',
    'box on a belt':
        'A box that is let go on a surface that moves at V: it slides V²/(2 μ g) behind, then rides. μ ∈ {.4, 2}, h from 1 to 20 ms; '
        'every formulation; soft contacts.',
    'box on a sloping belt': 'Carried up 0.4 rad with μ .6, where friction holds it; V²/(2 g (μ cos θ − sin θ)) behind.',
    'box on a belt before a wall': 'It stays, and the wall takes μ m g.',
    'box on two opposite belts': 'It turns about its centre, first by the torque μ m g a.',
    'belt of a free body': 'The body takes the reaction: momentum stays, and slip ends at V.',
    'ball on a belt': 'It slips until it rolls at 2 V/7, after 2 V/(7 μ g); down a slope by 5/7 g sin θ whatever the belt does.',
    'box on a turntable': 'It goes round where ω² r < μ g, else it is left behind.',
    'ball on a turntable': 'It rolls in a circle of its own at 2/7 of the rate of the table.',
    'ball at the centre of a turntable': 'Torsional friction turns it: I dω/dt = μ m g, until it turns as the table does.',
}

HEADER = """# Cases with known answers

What the engine makes of scenes whose answers are known without it: closed formulas, published references, laws of
nature, and C MuJoCo. Each line is a figure of a test in `tests/physics`; the tests fail when it is beyond its bound, and
say there why the bound in float32 is what it is. Written by

    cmake --build build/release && tests/physics/validation_table.py --build build/release

DEFAULT, CURRENT and so on are joint modes and presets of `SolverOptions` (engine/METHOD.md). CURRENT is backward Euler:
first order, so it is held against the discrete answer of backward Euler where that is known, and otherwise by its order
and by Richardson's R = 2x(h/2) − x(h). DEFAULT is held against the continuum.

Solved to rounding and without contact compliance unless a line says preset DEFAULT. Of a figure that a test takes
several times, for several steps or modes, the line has the one nearest to its bound.

## Order and energy

The error of the equal double pendulum at .5 s against the step, from a state that was set, and its energy over 10⁴ steps
of 10 ms (`tests/physics/plot_order.py` draws both). A step of DEFAULT moves with velocities of its middle: the energy at
a pose is taken with the mean of the velocities of the two steps that meet there, in all modes.

![Error of the equal double pendulum against the step](plots/order.svg)

![Energy of the equal double pendulum over ten thousand steps](plots/energy.svg)

"""

Figure = collections.namedtuple('Figure', 'case precision quantity measured relation allowed')


def test_names():
    """Names of the programs that the folder's CMakeLists.txt makes of its tests."""
    return re.findall(r'axion_add_test\(NAME (\w+)', (HERE / 'CMakeLists.txt').read_text())


def run_test(program, problems):
    """The figures that one program reports."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / 'figures.tsv'
        process = subprocess.run([str(program), '--gtest_brief=1'], capture_output=True, text=True,
                                 env={**os.environ, 'AXION_VALIDATION_OUT': str(out)})
        if process.returncode != 0:
            problems.append(f'{program.name}: exit code {process.returncode}')
            print(process.stdout, process.stderr, sep='\n', file=sys.stderr)
        lines = out.read_text().splitlines() if out.exists() else []
    return [Figure(*line.split('\t')) for line in lines]


def holds(figure):
    measured, allowed = float(figure.measured), float(figure.allowed)
    return measured <= allowed if figure.relation == '<=' else measured >= allowed


def nearer_to_its_bound(a, b):
    """Of two figures of one quantity, the one that has less room left."""
    if a is None or not holds(b):
        return b
    room = [float(f.allowed) - float(f.measured) for f in (a, b)]
    scale = [abs(float(f.allowed)) or 1.0 for f in (a, b)]
    sign = 1 if a.relation == '<=' else -1
    return b if sign * room[1] / scale[1] < sign * room[0] / scale[0] else a


def cells(figure):
    if figure is None:
        return '', ''
    relation = '≤' if figure.relation == '<=' else '≥'
    mark = '' if holds(figure) else ' **fails**'
    return f'{float(figure.measured):.3g}{mark}', f'{relation} {float(figure.allowed):.3g}'


def case_section(case, figures):
    lines = [f'## {case[0].upper()}{case[1:]}', '', *([CASES[case], ''] if case in CASES else []),
             '| figure | float64 | may be | float32 | may be |', '| --- | --- | --- | --- | --- |']
    by_quantity = {}
    for figure in figures:
        pair = by_quantity.setdefault(figure.quantity, {})
        pair[figure.precision] = nearer_to_its_bound(pair.get(figure.precision), figure)
    for quantity, pair in by_quantity.items():
        name = quantity.replace('|', '\\|')
        lines.append('| ' + ' | '.join([name, *cells(pair.get('float64')), *cells(pair.get('float32'))]) + ' |')
    return '\n'.join(lines) + '\n'


def write_page(path, figures, problems):
    by_case = collections.defaultdict(list)
    for figure in figures:
        by_case[figure.case].append(figure)
    problems += [f'{case}: not measured' for case in CASES if case not in by_case]
    problems += [f'{f.case}, {f.precision}: {f.quantity}: {f.measured}, allowed {f.relation} {f.allowed}'
                 for f in figures if not holds(f)]
    order = [case for case in CASES if case in by_case] + sorted(set(by_case) - set(CASES))
    sections = [case_section(case, by_case[case]) for case in order]
    path.write_text(HEADER + '\n'.join(sections))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\nUsage')[0])
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build' / 'release', help='build directory')
    parser.add_argument('--out', type=pathlib.Path, default=ROOT / 'docs' / 'validation.md', help='page to write')
    arguments = parser.parse_args()
    problems, figures = [], []
    for name in test_names():
        program = arguments.build / 'bin' / 'tests' / name
        if program.exists():
            figures += run_test(program, problems)
        else:
            problems.append(f'{name}: {program} is not there; build it')
    write_page(arguments.out, figures, problems)
    print(f'{arguments.out}: {len(figures)} figures of {len({f.case for f in figures})} cases')
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
