#!/usr/bin/env python3
"""Error against speed of Axion and MuJoCo on smooth motion: docs/accuracy.md and docs/plots/accuracy.svg.

  tests/bench/accuracy.py --bin build/release/bin --models MODELS --out docs/accuracy.md

Published robots fall for half a second in the air, limits and contacts left out, under random controls that are held for 100 ms. The
error is the greatest coordinate by which the frame of any body is away from where MuJoCo's RK4 has it at 0.1 ms, m. Both engines
compute one world in float64 on one thread; the time is that of their steps alone, the best of several runs, in turns. Error at equal
speed is read off between the time steps, on straight lines of logarithms. Speculative contacts have no part in it: nothing touches.
Needs numpy, matplotlib and mujoco of 4.0 or later (for discrete and mujoco.batch) from PyPI.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import matplotlib
import mujoco
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mujoco_bench  # noqa: E402  beside this file
import stamp  # noqa: E402

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402

ROBOTS = {'walker2d': 0.02, 'hopper': 0.02, 'half_cheetah': 0.05, 'ant': 0.05, 'humanoid': 0.05}  # share of the controls' range
TIME_STEPS = [0.02, 0.01, 0.005, 0.0025, 0.00125]
HOLD, DURATION, REFERENCE_STEP = 0.1, 0.5, 1e-4
INTEGRATORS = ['implicitfast', 'discrete', 'RK4']
SPEEDS = [250, 500, 1000, 2000]  # simulated s a wall s
COLOURS = {'Axion': '#0b5394', 'discrete': '#cc4125', 'implicitfast': '#e69138', 'RK4': '#38761d'}


def load(path):
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    return model


def draw_controls(model, share):
    """[hold, actuator]"""
    half = numpy.where(model.actuator_ctrllimited, (model.actuator_ctrlrange[:, 1] - model.actuator_ctrlrange[:, 0]) / 2, 1)
    draws = numpy.random.default_rng(1).uniform(-1, 1, (round(DURATION / HOLD), model.nu))
    return draws * share * half


def mujoco_run(model, integrator, controls, dt):
    """Frames of all named bodies, and the seconds that the steps took."""
    model.opt.timestep = dt
    batch = mujoco_bench.Batch(mujoco_bench.choose(model, integrator), 1, nthread=1)
    control, places = batch.bind('ctrl'), batch.bind('xpos')
    started = time.perf_counter()
    for held in controls:
        control[0] = held
        batch.step(nstep=round(HOLD / dt))
    seconds = time.perf_counter() - started
    batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS)
    return {model.body(b).name: places[0, b].copy() for b in range(1, model.nbody)}, seconds


def axion_runs(program, path, controls, repeat):
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
        numpy.savetxt(file, controls.reshape(-1))
        file.flush()
        command = [str(program), str(path), file.name, str(DURATION), str(HOLD), *map(str, TIME_STEPS), '--repeat', str(repeat)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)}: {done.stderr.strip()}')
    for line in done.stdout.splitlines():
        run = json.loads(line)
        places = {name: numpy.array(pose[:3]) for name, pose in zip(run['names'], run['pose'])}
        yield run['dt'], places, run['wall_seconds']


def error_of(places, exact):
    shared = [name for name in places if name in exact]
    if not shared:
        sys.exit('no body has the same name in both engines')
    return max(float(numpy.abs(places[name] - exact[name]).max()) for name in shared)


def measure(program, path, share, repeat):
    """{engine: [(time step, error, simulated seconds a wall second)]}"""
    model = load(path)
    controls = draw_controls(model, share)
    exact, _ = mujoco_run(model, 'RK4', controls, REFERENCE_STEP)
    best = {}  # (error, seconds) by engine and time step
    for _ in range(repeat):
        runs = [(('Axion', dt), places, seconds) for dt, places, seconds in axion_runs(program, path, controls, 1)]
        runs += [((name, dt), *mujoco_run(model, name, controls, dt)) for name in INTEGRATORS for dt in TIME_STEPS]
        for key, places, seconds in runs:
            best[key] = error_of(places, exact), min(seconds, best.get(key, (0, math.inf))[1])
    return {engine: [(dt, best[engine, dt][0], DURATION / best[engine, dt][1]) for dt in TIME_STEPS] for engine in ('Axion', *INTEGRATORS)}


def error_at(rows, speed):
    """Where a line through the points (speed, error) has this speed, m; None beyond the fastest. Slower steps are not tried below the
    slowest, whose error then stands."""
    points = sorted((rate, error) for _, error, rate in rows)
    if not points[0][0] <= speed <= points[-1][0]:
        return points[0][1] if speed < points[0][0] else None
    logarithms = [[math.log(value) for value in column] for column in zip(*points)]
    return math.exp(numpy.interp(math.log(speed), *logarithms))


def order_of(rows):
    """Slope of log(error) over log(dt) from 20 to 2.5 ms."""
    points = [(math.log(dt), math.log(error)) for dt, error, _ in rows if dt >= 0.0025 and 0 < error < 1]  # not where it left the motion
    return float(numpy.polyfit(*zip(*points), 1)[0]) if len(points) > 1 else math.nan


def name_of(engine):
    return engine if engine == 'Axion' else f'MuJoCo, {engine}'


def write_page(figures, arguments, picture):
    lines = ['# Accuracy', '', 'Written by one command, which says what is measured:', '', '```sh',
             'tests/bench/accuracy.py --bin build/release/bin --models MODELS --out docs/accuracy.md', '```', '',
             f'{stamp.stamp(arguments.bin)}, MuJoCo {mujoco.__version__} by `mujoco.batch`.', '',
             'Errors in metres; in brackets simulated seconds a wall second, of one world on one thread in float64. *Order* is the slope '
             'from 20 to 2.5 ms. Axion is preset DEFAULT with its tolerance of a thousandth of g h.', '',
             f'![error against speed](plots/{picture.name})', '',
             '| robot | engine | ' + ' | '.join(f'{1e3 * dt:g} ms' for dt in TIME_STEPS) + ' | order |',
             '| --- | --- |' + ' --- |' * (len(TIME_STEPS) + 1)]
    for robot, engines in figures.items():
        for engine, rows in engines.items():
            cells = ' | '.join(f'{error:.1e} ({speed:.0f})' for _, error, speed in rows)
            lines.append(f'| {robot} | {name_of(engine)} | {cells} | {order_of(rows):.2f} |')
    lines += ['', '## Error at equal speed', '', 'The error of each engine where it simulates so many seconds in a second, m; - where even '
              'its step of 20 ms is slower.', '', '| robot | engine | ' + ' | '.join(f'{speed:,} s/s' for speed in SPEEDS) + ' |',
              '| --- | --- |' + ' --- |' * len(SPEEDS)]
    for robot, engines in figures.items():
        for engine, rows in engines.items():
            found = [error_at(rows, speed) for speed in SPEEDS]
            lines.append(f'| {robot} | {name_of(engine)} | ' + ' | '.join('-' if e is None else f'{e:.1e}' for e in found) + ' |')
    arguments.out.write_text('\n'.join(lines) + '\n')


def draw(figures, picture):
    plt.rcParams['svg.hashsalt'] = 'axion'
    figure, axes = plt.subplots(1, len(figures), figsize=(4 * len(figures), 4), sharey=True, constrained_layout=True)
    for axis, (robot, engines) in zip(numpy.atleast_1d(axes), figures.items()):
        for engine, rows in engines.items():
            axis.loglog([speed for _, _, speed in rows], [error for _, error, _ in rows], 'o-', color=COLOURS[engine],
                        label=name_of(engine))
        axis.set_title(robot)
        axis.set_xlabel('simulated seconds a wall second')
        axis.grid(True, which='both', alpha=0.3)
    numpy.atleast_1d(axes)[0].set_ylabel('greatest error, m')
    numpy.atleast_1d(axes)[0].legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={'Date': None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True, help='directory of axion-accuracy')
    parser.add_argument('--models', type=pathlib.Path, required=True, help='directory of the robots\' MJCF files')
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('docs/accuracy.md'))
    parser.add_argument('--repeat', type=int, default=5)
    arguments = parser.parse_args()
    figures = {}
    for robot, share in ROBOTS.items():
        path = arguments.models / f'{robot}.xml'
        if not path.exists():
            print(f'{path} is not there: left out', file=sys.stderr)
            continue
        figures[robot] = measure(arguments.bin / 'axion-accuracy', path, share, arguments.repeat)
        print(robot, {engine: f'{order_of(rows):.2f}' for engine, rows in figures[robot].items()}, flush=True)
    if not figures:
        sys.exit('no model was found')
    picture = arguments.out.parent / 'plots' / 'accuracy.svg'
    draw(figures, picture)
    write_page(figures, arguments, picture)


if __name__ == '__main__':
    main()
