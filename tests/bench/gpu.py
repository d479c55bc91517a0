#!/usr/bin/env python3
"""Everything that a machine with a GPU is needed for, in one command of less than ten minutes: figures, bits beside the CPU's, sanitizers.

Needs Python's standard library, and either programs that were built before (--bin) or nvcc, CMake, Ninja and a C++20 compiler.
No git, no TinyXML-2, no gRPC, no GoogleTest, no network. The most wanted comes first, each row is on the screen and in --out as soon
as it is known, and --deadline ends the call in order: what was not reached is named. Parts, in this order (--parts chooses):
  build       the engine, axion-bench and axion-agreement with CUDA for the GPU that is there; with --bin that its programs start
  first       steps per second of 8,192 worlds, in the first minute: of falling robots, then of those that lie
  table       steps per second and memory over the number of worlds; time of a step of one world
  profiler    where ncu is installed: what a multiprocessor does in a launch, and at which source lines its warps wait for what; beside
              --out it leaves ncu's report and the counts of all lines. No command changes a setting of the card, its clocks included.
  agreement   CPU and GPU step the same worlds; every field's bits are compared. Where they differ, worlds are stepped again a
              step a launch, and the first step, world and field are named. Part of the exit code.
  sanitizer   compute-sanitizer's memcheck, racecheck and synccheck over a few steps of a few worlds. Part of the exit code.
  shapes      steps per second over threads of a world and its bytes in shared memory, for one world, some and many: whether
              engine/backend/cuda/launch_plan.cpp chooses well; and that all shapes end in the same bits. Part of the exit code.
  warp        mujoco_warp on the same file in the same table, where that package is installed
A model that the engine does not import is skipped with a word; one that is not there is refused before anything is measured. For
another machine, gpu_prepare.py fills a folder with programs and models, and gpu_recipe.md has two calls for fifteen minutes with a GPU.
--dry_run tries a call without a GPU: it says every command, looks whether programs, their libraries and the models are there, and runs in
place of what needs a GPU the same in small, on the emulated GPU (tools/ptx) or, where --bin has no such programs, on the CPU. Its figures
mean nothing.

Usage: gpu.py --models DIRECTORY_OF_humanoid.xml [--bin build/gpu/bin] [--deadline 570] [--out report.md]
Exit code: 0; 1 where bits differ, a sanitizer complains, or a part did not work; 2 for a wrong command line or no such model; 143
when it was told to end.
"""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_build import ROOT, build  # noqa: E402  beside this file
from gpu_device import gpu, revision  # noqa: E402
from gpu_options import PARTS, models_of, parse  # noqa: E402
from gpu_run import NOT_IMPORTED, DeadlineError, DryRunner, Report, Runner, bench_command, last_line, not_imported  # noqa: E402
from gpu_tools import profiler, sanitize  # noqa: E402

BLOCK_THREADS = [32, 64, 128, 256]
CUDA_PROGRAMS = '/usr/local/cuda/bin'  # where its tools are, though not on every PATH


def bench(options, runner, model, *arguments, timeout=300):
    """The report of axion-bench, or its last word. A dry run's is of fewer worlds."""
    done = runner.measure(bench_command(options, model, *arguments), timeout=timeout)
    if done.returncode != 0:
        return last_line(done)
    report = json.loads(done.stdout)
    return report if report['model'] == model.name else f'refused: {report["model"]} was measured in place of {model.name}'


def first(options, report, runner):
    """Of falling robots at once; of those that lie as soon as they do, however slow the engine."""
    steps, measured = options.steps_per_launch, False
    for what, warmup in (('as they fall', 0), (f'after {options.warmup_steps} steps', options.warmup_steps)):
        r = bench(options, runner, options.table_model, options.first_worlds, steps, steps, '--warmup_steps', warmup, timeout=120)
        if isinstance(r, dict):
            measured = True
            report.say(f'{options.table_model.name}, {r["worlds"]} worlds, {what}: {r["steps_per_second"]:,.0f} steps/s; '
                       f'{r["block_threads"]} threads and {r["near_bytes"]} bytes near a world')
        else:
            report.say(f'{options.table_model.name}, {options.first_worlds} worlds, {what}: {r}')
    return measured


def table(options, report, runner):
    model = options.table_model
    report.say(f'{model.name}, dt of the file, controls new at every step, {options.steps_per_launch} steps a launch:\n')
    report.say('| worlds | steps/s | us a world-step | converged | contacts | Newton, rounds of sweeps, sweeps | memory a world, KiB |')
    report.say('| ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    measured = False
    for worlds in options.worlds:
        steps = max(options.steps_per_launch, min(2000, options.world_steps // worlds))
        r = bench(options, runner, model, worlds, steps, options.steps_per_launch)
        if not isinstance(r, dict):
            report.say(f'| {worlds} | {r} | | | | | |')
            continue
        measured = True
        report.say(f'| {r["worlds"]} | {r["steps_per_second"]:,.0f} | {1e6 / r["steps_per_second"]:.4g} | {r["converged_fraction"]:.5f} | '
                   f'{r["contacts_mean"]:.1f} | {r["newton_iterations_mean"]:.2f}, {r["sweep_rounds_mean"]:.2f}, '
                   f'{r["contact_sweeps_mean"]:.1f} | '
                   f'{r["memory_bytes"] / r["worlds"] / 1024:.1f} |')
    for launch in (1, options.steps_per_launch):
        r = bench(options, runner, model, 1, min(1000, options.world_steps), launch)
        if isinstance(r, dict):
            report.say(f'\none world, {launch} steps a launch: {1e3 / r["steps_per_second"]:.4g} ms a step')
    return measured


def agreement(options, report, runner):
    """CPU against GPU for every model, precision and preset. True if all bits agree."""
    report.say('| model | precision | preset | agreement |\n| --- | --- | --- | --- |')
    agree, skipped, compared = True, set(), 0
    for preset in options.presets:
        for model in models_of(options, options.agreement_models):
            for precision in ('float32', 'float64'):
                if model in skipped:
                    continue
                command = [options.bin / 'axion-agreement', '--model', model, '--device', 'cpu', '--threads', 1, '--right',
                           options.device, '--right_threads', 2, '--worlds', options.agreement_worlds, '--steps',
                           options.agreement_steps, '--precision', precision, '--preset', preset]
                done = runner.measure(command + ['--steps_per_launch', 10], timeout=300)
                if not_imported(done):
                    skipped.add(model)
                    report.say(f'| {model.name} | | | skipped: {last_line(done)} |')
                    continue
                if done.returncode == 1 and 'differ first' in done.stdout:
                    done = runner.measure(command + ['--steps_per_launch', 1], timeout=300)
                agree &= done.returncode == 0
                compared += 1
                said = '; '.join(line.strip() for line in (done.stdout or done.stderr).strip().splitlines())
                report.say(f'| {model.name} | {precision} | {preset} | {"same bits" if done.returncode == 0 else said} |')
    return agree and compared > 0


def same_bits(options, runner, model, threads, near_bytes):
    """Whether a shape ends in the bits of the shape that the engine chooses; what is said where it does not."""
    done = runner.measure([options.bin / 'axion-agreement', '--model', model, '--device', options.device, '--right', options.device,
                       '--right_block_threads', threads, '--right_near_bytes', near_bytes, '--worlds', 8, '--steps', 50,
                           '--steps_per_launch', 10], timeout=300)
    return done.returncode == 0, ' '.join((done.stdout or done.stderr).split())[-200:]


def shapes(options, report, runner):
    """Steps per second of every shape. What does not fit is refused by the engine and left empty here."""
    good = measured = True
    for model in options.shape_models:
        for worlds in options.shape_worlds:
            steps = max(options.steps_per_launch, min(1000, options.shape_world_steps // worlds))
            chosen = bench(options, runner, model, worlds, steps, options.steps_per_launch)
            if not isinstance(chosen, dict):
                report.say(f'{model.name}, {worlds} worlds: {chosen}')
                measured &= chosen.startswith(NOT_IMPORTED)
                continue
            report.say(f'\n{model.name}, {chosen["worlds"]} worlds: the engine chooses {chosen["block_threads"]} threads and '
                       f'{chosen["near_bytes"] / 1024:.1f} KiB near, {chosen["steps_per_second"]:,.0f} steps/s\n')
            report.say('| threads | ' + ' | '.join(f'{near} KiB' for near in options.near_kib) + ' |')
            report.say('| ---: ' * (len(options.near_kib) + 1) + '|')
            for threads in BLOCK_THREADS:
                row = [bench(options, runner, model, worlds, steps, options.steps_per_launch, '--block_threads', threads, '--near_bytes',
                             1024 * near) for near in options.near_kib]
                report.say(f'| {threads} | ' + ' | '.join(f'{r["steps_per_second"]:,.0f}' if isinstance(r, dict) else ''
                                                         for r in row) + ' |')
        for threads in BLOCK_THREADS:
            for near in (0, 8, 32):
                same, said = same_bits(options, runner, model, threads, 1024 * near)
                good &= same
                if not same:
                    report.say(f'{model.name}, {threads} threads, {near} KiB near: {said}')
    report.say('\nall shapes end in the same bits' if good else '\nSHAPES DIFFER')
    return good and measured


def warp(options, report, runner):
    """mujoco_warp in this interpreter's installation, in a process of its own."""
    done = runner.measure([sys.executable, pathlib.Path(__file__).with_name('warp_bench.py'), '--model', options.table_model, '--worlds',
                       *options.worlds, '--world_steps', options.world_steps, '--warmup_steps', options.warmup_steps], timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith(('|', 'mujoco')) or not line]  # not warp's own log
    report.say('\n'.join(lines).strip() or done.stderr.strip()[-500:])
    return True


def main():
    options = parse(__doc__)
    os.environ['PATH'] = f'{os.environ.get("PATH", os.defpath)}:{CUDA_PROGRAMS}'
    report = Report(options.out)
    runner = DryRunner(options, report) if options.dry_run else Runner(options.deadline)
    report.say(f'commit {revision(ROOT)}, {gpu()[0] or "no GPU"}{", dry run: figures mean nothing" if options.dry_run else ""}')
    good, ended, start = True, [], time.monotonic()
    work = {'build': build, 'first': first, 'table': table, 'profiler': profiler, 'agreement': agreement, 'sanitizer': sanitize,
            'shapes': shapes, 'warp': warp}
    for part in PARTS:
        if part not in options.parts:
            continue
        report.say(f'\n## {part}\n')
        try:
            done = work[part](options, report, runner)
        except DeadlineError:
            report.say(f'the deadline of {options.deadline:g} s ended this')
            ended.append(part)
            done = part != 'build'
        good &= done
        if part == 'build' and not done:
            break
    report.say(f'\n{time.monotonic() - start:.0f} s' + (f'; the deadline left out or cut short: {", ".join(ended)}' if ended else ''))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
