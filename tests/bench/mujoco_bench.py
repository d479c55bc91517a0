#!/usr/bin/env python3
"""MuJoCo on a file with the flags, the controls and the report of axion-bench: all worlds on mujoco.batch and its own threads.

Other benchmarks take from here how a model is opened with a named integrator and what its contacts and loops say. As a program it times
whole rollouts, the order that suits MuJoCo best, or with --look takes one step at a time and looks at every world after it: overlap, open
loops, contacts, iterations, and the body of --watch. Fields that it does not know are null. float64; needs the packages mujoco (4.0 or
later) and numpy.

Usage: mujoco_bench.py --model FILE [--integrator discrete] [--speculative] [--look] [flags of axion-bench]
"""

import argparse
import json
import math
import pathlib
import time

import mujoco
import numpy as np
from mujoco.batch import Batch

INTEGRATORS = {name: getattr(mujoco.mjtIntegrator, f'mjINT_{name.upper()}') for name in
               ('Euler', 'RK4', 'implicit', 'implicitfast', 'discrete')}
GAVE_UP = [int(w) for w in (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)]
LAUNCH = 500  # steps that a rollout takes at once, whose controls are drawn before the clock starts
PLACE_ROWS = {int(mujoco.mjtEq.mjEQ_CONNECT): 3, int(mujoco.mjtEq.mjEQ_WELD): 3}  # of an equality's first rows: lengths, m


def choose(model, integrator, speculative=False):
    """The model, which steps by the integrator of that name from now on ('file': by its own)."""
    if integrator != 'file':
        model.opt.integrator = INTEGRATORS[integrator]
    if speculative:
        model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SPECULATIVE
    return model


def overlap_of(data):
    """How deep the deepest contact is, m; 0 where nothing overlaps."""
    return max(0.0, -float(data.contact.dist.min())) if data.ncon else 0.0


def open_loops(model, data):
    """How far what a connect or a weld holds together is apart at most, m; 0 without them. Joints cannot open in MuJoCo."""
    farthest = 0.0
    if data.ne == 0 or not np.isin(model.eq_type, list(PLACE_ROWS)).any():
        return farthest
    for equality in np.unique(data.efc_id[:data.ne]):
        if int(model.eq_type[equality]) in PLACE_ROWS:
            rows = np.flatnonzero(data.efc_id[:data.ne] == equality)[:3]
            farthest = max(farthest, float(np.linalg.norm(data.efc_pos[rows])))
    return farthest


class Looker:
    """Steps a batch that keeps the data of every simulation, one step at a time, and gathers the worst of all of them."""

    def __init__(self, model, worlds):
        self.batch = Batch(model, worlds, nthread=1, persistent=True)
        self._data = mujoco.MjData(model)
        self.steps = self.contacts = self.iterations = self.given_up = 0
        self.overlap = self.loops = 0.0

    def step(self):
        """One step of every world; contacts are those of the state before it, which the step before it ended in."""
        self.batch.step()
        self.steps += self.batch.nsim
        for world in range(self.batch.nsim):
            data = self.batch.get_data(world, self._data)
            self.overlap, self.loops = max(self.overlap, overlap_of(data)), max(self.loops, open_loops(self.batch.model, data))
            self.contacts += data.ncon
            self.iterations += int(data.solver_niter.sum())
        self.given_up += int(self.batch.warning[:, GAVE_UP, 1].any(axis=1).sum())

    def report(self):
        """Fields of axion-bench's report."""
        return {'contacts_mean': self.contacts / self.steps, 'newton_iterations_mean': self.iterations / self.steps,
                'max_penetration_m': self.overlap, 'max_joint_error_m': self.loops, 'non_finite_fraction': self.given_up / self.steps}


class Watch:
    """What axion-bench reports of the body that it watches: bench_options.cpp has it in C++."""

    def __init__(self, model, name, worlds, steps):
        self._body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        if self._body < 0:
            raise SystemExit(f'mujoco_bench.py: --watch {name!r} is no body of the model')
        self._model, self._steps, self._data = model, steps, mujoco.MjData(model)
        self._last = np.zeros((worlds, 3))
        self._low, self._high, self._tilt, self._speed, self._speed_end, self._finite = math.inf, -math.inf, 0.0, 0.0, 0.0, True

    def see(self, step, batch):
        """The worlds of a batch that keeps its data, after a step, from 0."""
        place, up = np.empty_like(self._last), np.empty(len(self._last))
        for world in range(len(place)):
            data = batch.get_data(world, self._data)
            mujoco.mj_kinematics(self._model, data)
            place[world], up[world] = data.xpos[self._body], data.xmat[self._body, 8]
        self._finite = self._finite and bool(np.isfinite(place).all() and np.isfinite(up).all())
        if not self._finite:
            return
        self._low, self._high = min(self._low, place[:, 2].min()), max(self._high, place[:, 2].max())
        self._tilt = max(self._tilt, float(np.arccos(np.clip(up, -1, 1)).max()))
        if step > 0:
            speed = np.linalg.norm(place - self._last, axis=1).max() / self._model.opt.timestep
            self._speed = max(self._speed, speed)
            if 10 * step >= 9 * self._steps:
                self._speed_end = max(self._speed_end, speed)
        self._last = place

    def report(self):
        """Fields of axion-bench's report; none where something was not finite."""
        if not self._finite:
            return {'watched_height_min_m': None}
        return {'watched_height_min_m': float(self._low), 'watched_height_max_m': float(self._high), 'watched_tilt_max_rad': self._tilt,
                'watched_speed_max_m_s': float(self._speed), 'watched_speed_end_m_s': float(self._speed_end),
                'watched_x_end_min_m': float(self._last[:, 0].min()),
                'watched_height_end_min_m': float(self._last[:, 2].min())}


# ---- Controls, as bench_options.cpp draws them
# ------------------------------------------------------------------------------------------------------------------------------------------

def noise(seed, world, step, actuator):
    """splitmix64 chained over the arguments, in [-1, 1)."""
    with np.errstate(over='ignore'):
        x = np.uint64(seed)
        for part in (world, step, actuator):
            x = x + part.astype(np.uint64) + np.uint64(0x9e3779b97f4a7c15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
            x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(float) * 2.0 ** -52 - 1.0


def control_ranges(model, start, centre_of_all):
    """(centre, lower, upper) of each control: motors move around zero, drives around where their joint starts, or all around one value."""
    lower = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 0], -1.0)
    upper = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 1], 1.0)
    centre = np.zeros(model.nu)
    for a in range(model.nu):
        position = model.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE and model.actuator_biasprm[a, 1] != 0
        if position and model.actuator_trntype[a] == mujoco.mjtTrn.mjTRN_JOINT:
            centre[a] = model.actuator_gear[a, 0] * start.qpos[model.jnt_qposadr[model.actuator_trnid[a, 0]]]
    if centre_of_all is not None:
        centre[:] = centre_of_all
    return np.clip(centre, lower, upper), lower, upper


class Controls:
    """What the controls of all worlds are at a step."""

    def __init__(self, options, ranges):
        self._options, (self._centre, self._lower, self._upper) = options, ranges

    def draw(self, first, count):
        """[worlds, count, nu], of the steps from `first` on."""
        world, step, actuator = np.meshgrid(np.arange(self._options.worlds), np.arange(first, first + count) // self._options.control_hold,
                                            np.arange(len(self._centre)), indexing='ij')
        half = 0.5 * (self._upper - self._lower) * self._options.control_fraction
        return np.clip(self._centre + half * noise(self._options.seed, world, step, actuator), self._lower, self._upper)


def start_of(model, keyframe):
    data = mujoco.MjData(model)
    if keyframe >= 0:
        mujoco.mj_resetDataKeyframe(model, data, keyframe)
    return data


def time_rollouts(model, options, controls, keyframe):
    """Fields of the report: how fast all worlds step. A simulation that warns stops, so that there is no rate where one does."""
    batch = Batch(model, options.worlds, nthread=max(1, min(options.threads, options.worlds)))
    batch.reset(keyframe=keyframe, stage=mujoco.mjtStage.mjSTAGE_NONE)
    seconds, last = 0.0, options.warmup_steps + options.steps
    bounds = [*range(0, options.warmup_steps, LAUNCH), *range(options.warmup_steps, last, LAUNCH), last]
    for first, end in zip(bounds[:-1], bounds[1:]):
        control = controls.draw(first, end - first)
        begin = time.perf_counter()
        batch.rollout(end - first, control, record=())
        seconds += (time.perf_counter() - begin) * (first >= options.warmup_steps)
    warned = batch.warning[..., 1].any(axis=1)
    rate = None if warned.any() else options.worlds * options.steps / seconds
    return {'steps_per_second': rate, 'wall_seconds': seconds, 'threads': batch.nthread, 'warned_worlds': int(warned.sum())}


def look_at_steps(model, options, controls, keyframe):
    """Fields of the report: how well every step was solved, and what the watched body did."""
    looker = Looker(model, options.worlds)
    looker.batch.reset(keyframe=keyframe, stage=mujoco.mjtStage.mjSTAGE_NONE)
    warmup = options.warmup_steps
    if warmup > 0:
        looker.batch.rollout(warmup, controls.draw(0, warmup), record=())
    watch = Watch(model, options.watch, options.worlds, options.steps) if options.watch else None
    ctrl = looker.batch.bind('ctrl')
    for step in range(options.steps):
        if step == 0 or (warmup + step) % options.control_hold == 0:
            ctrl[:] = controls.draw(warmup + step, 1)[:, 0]
        looker.step()
        if watch:
            watch.see(step, looker.batch)
    return {**looker.report(), **(watch.report() if watch else {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', required=True)
    for name, default in (('worlds', 256), ('steps', 1000), ('warmup_steps', 50), ('threads', 1), ('control_hold', 1), ('keyframe', -1),
                          ('seed', 1)):
        parser.add_argument(f'--{name}', type=int, default=default)
    parser.add_argument('--dt', type=float, default=0, help="s; 0: the file's")
    parser.add_argument('--control_fraction', type=float, default=0.1)
    parser.add_argument('--control_centre', type=float)
    parser.add_argument('--watch', help='body whose motion is reported, with --look')
    parser.add_argument('--integrator', choices=['file', *INTEGRATORS], default='file')
    parser.add_argument('--speculative', action='store_true', help='contacts that look ahead')
    parser.add_argument('--look', action='store_true', help='look at every step in place of a clock')
    parser.add_argument('--json', action='store_true', help='as axion-bench; there is no other form')
    options = parser.parse_args()

    model = choose(mujoco.MjModel.from_xml_path(options.model), options.integrator, options.speculative)
    if options.dt > 0:
        model.opt.timestep = options.dt
    if options.keyframe >= model.nkey:
        parser.error(f'--keyframe is {options.keyframe}, the model has {model.nkey}')
    controls = Controls(options, control_ranges(model, start_of(model, options.keyframe), options.control_centre))
    measure = look_at_steps if options.look else time_rollouts
    print(json.dumps({'engine': f'mujoco {mujoco.__version__}', 'model': pathlib.Path(options.model).name, 'device': 'cpu',
                      'worlds': options.worlds, 'steps': options.steps, 'dt': model.opt.timestep, 'precision': 'float64',
                      'converged_fraction': None, **measure(model, options, controls, options.keyframe)}))


if __name__ == '__main__':
    main()
