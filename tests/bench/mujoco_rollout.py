#!/usr/bin/env python3
"""The newest MuJoCo from PyPI on the same file with the same controls, by mujoco.rollout and its own threads, for robots.py.

Prints the fields of mujoco_bench that a rollout tells, as one JSON object: no iterations and no contacts. Controls are drawn as
bench_options.cpp draws them, before the clock starts. Needs the packages mujoco and numpy.

Usage: mujoco_rollout.py --model FILE [--worlds 1] [--steps 100] [--warmup_steps 0] [--dt H] [--threads 1] [--control_hold 1]
                         [--keyframe -1]
"""

import argparse
import json
import pathlib
import time

import mujoco
import mujoco.rollout
import numpy as np


def noise(seed, world, step, actuator):
    """splitmix64 chained over the arguments, in [-1, 1): bench_options.cpp has it in C++."""
    with np.errstate(over='ignore'):
        x = np.uint64(seed)
        for part in (world, step, actuator):
            x = x + part.astype(np.uint64) + np.uint64(0x9e3779b97f4a7c15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
            x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(float) * 2.0 ** -52 - 1.0


def control_ranges(model, start):
    """(centre, lower, upper) of each control: motors move around zero, drives around where their joint starts."""
    lower = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 0], -1.0)
    upper = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 1], 1.0)
    centre = np.zeros(model.nu)
    for a in range(model.nu):
        position = model.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE and model.actuator_biasprm[a, 1] != 0
        if position and model.actuator_trntype[a] == mujoco.mjtTrn.mjTRN_JOINT:
            centre[a] = model.actuator_gear[a, 0] * start.qpos[model.jnt_qposadr[model.actuator_trnid[a, 0]]]
    return np.clip(centre, lower, upper), lower, upper


def draw(options, ranges, first, count):
    """Controls [worlds, count, nu] of the steps from `first` on."""
    centre, lower, upper = ranges
    world, step, actuator = np.meshgrid(np.arange(options.worlds), np.arange(first, first + count) // options.control_hold,
                                        np.arange(len(centre)), indexing='ij')
    half = 0.5 * (upper - lower) * options.control_fraction
    return np.clip(centre + half * noise(options.seed, world, step, actuator), lower, upper)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', required=True)
    for name, default in (('worlds', 1), ('steps', 100), ('warmup_steps', 0), ('threads', 1), ('control_hold', 1), ('keyframe', -1),
                          ('seed', 1)):
        parser.add_argument(f'--{name}', type=int, default=default)
    parser.add_argument('--dt', type=float, default=0)
    parser.add_argument('--control_fraction', type=float, default=0.1)
    parser.add_argument('--json', action='store_true', help='as the programs beside it; there is no other form')
    options = parser.parse_args()

    model = mujoco.MjModel.from_xml_path(options.model)
    if options.dt > 0:
        model.opt.timestep = options.dt
    start = mujoco.MjData(model)
    if options.keyframe >= 0:
        mujoco.mj_resetDataKeyframe(model, start, options.keyframe)
    ranges = control_ranges(model, start)
    state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, start, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states = np.tile(state, (options.worlds, 1))
    threads = max(1, min(options.threads, options.worlds))
    workers = [mujoco.MjData(model) for _ in range(threads)]
    with mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0) as rollout:
        if options.warmup_steps > 0:
            states = rollout.rollout(model, workers, states, draw(options, ranges, 0, options.warmup_steps))[0][:, -1, :].copy()
        control = draw(options, ranges, options.warmup_steps, options.steps)
        out = np.zeros((options.worlds, options.steps, len(state)))  # touched before the clock starts
        begin = time.perf_counter()
        rollout.rollout(model, workers, states, control, state=out)
        seconds = time.perf_counter() - begin
    print(json.dumps({'engine': f'mujoco {mujoco.__version__}', 'model': pathlib.Path(options.model).name, 'worlds': options.worlds,
                      'steps': options.steps, 'threads': threads, 'dt': model.opt.timestep, 'precision': 'float64',
                      'steps_per_second': options.worlds * options.steps / seconds, 'wall_seconds': seconds,
                      'finite': bool(np.isfinite(out[:, -1]).all()), 'end_qpos': out[0, -1, 1:1 + min(3, model.nq)].tolist()}))


if __name__ == '__main__':
    main()
