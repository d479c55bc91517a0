#!/usr/bin/env python3
"""Operations and bytes of one world-step of a robot, counted, and from them the least time on several machines.

Operations are counted by axion-count, which steps the worlds with numbers that count what is done to them. Bytes of the near
memory (shared memory of a multiprocessor, first cache of a core) are operations times the numbers that an operation of the phase,
as it is written, reads or writes there, PHASES below. A world alone can be no faster than the team's verbs one after the other.

Usage: floor.py --bin BUILD/bin --model humanoid.xml [--out docs/floor.md]
"""

import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file
import stamp  # noqa: E402

# Phase, functions whose operations are its, numbers of near memory an operation, and why.
PHASES = [
    ('rows, free motion, contacts', ['constraints::*', 'collide::*', 'step::scale_rows'], 0.5, 'inputs and rows of bodies'),
    ('residuals', ['solver::evaluate', 'solver::place_iterate'], 0.5, 'rows, velocities, impulses'),
    ('linearisation', ['solver::linearise*', 'solver::set_joint_rhs', 'solver::note_*'], 0.5, 'rows'),
    ('factorisation of the tree, and solves', ['solver::solve_joints*', 'solver::substitute_*', 'solver::factorise*',
                                               'solver::eliminate_node', 'solver::solve_panels', 'solver::read_*'], 0.5,
     'a row of a node stays in registers, the pivot row is read'),
    ('inverses of the nodes', ['solver::invert_*'], 0.45, 'six columns read for one'),
    ('impulses along the tree', ['solver::push_lanes', 'solver::respond'], 0.3,
     'sixteen lanes share what they multiply'),
    ('columns of D = J V Jt', ['solver::RowSpace::find_columns', 'solver::DelassusColumns::*'], 0.3,
     'sixteen lanes share what they multiply'),
    ('sweeps: D times the change of a contact', ['solver::RowSpace::apply_impulses', 'solver::RowSpace::start'], 0.85,
     'three columns and the velocities, in and out, for six operations'),
    ('sweeps: contacts solved alone, pivots', ['elsewhere', 'solver::sweep_*'], 0.5, 'a block of nine, velocities, impulses'),
    ('sweeps: momentum', ['solver::accelerate', 'solver::add_to_mean', 'solver::move_to_mean'], 0.75,
     'impulses and velocities, this sweep and the last'),
    ('active set: elimination', ['solver::solve_active_rows', 'solver::reduce_columns_by'], 1.0,
     'a row in and out and the pivot row for two operations, half of it kept'),
    ('active set: the rest', ['solver::*active*'], 1.0, 'columns of D again'),
    ('the end', ['*'], 0.5, 'acceptance, residuals for the record, warm start'),
]

# Peaks. GPUs: float32 with fused multiply-add, device memory, multiprocessors x 128 bytes of shared memory a clock x
# clock. H200 SXM: NVIDIA H200 data sheet (67 TFLOP/s, 4.8 TB/s), 132 multiprocessors, 1.98 GHz, Hopper tuning guide.
# RTX 4090: NVIDIA Ada GPU architecture, appendix A (82.6 TFLOP/s, 1,008 GB/s, 128 multiprocessors, 2.52 GHz). AVX-512
# core: two 512-bit fused units (64 float32 operations a clock), two 64-byte loads a clock from the first cache: Intel
# 64 and IA-32 Architectures Optimization Reference Manual; at --clock. Memory: a core's share, --core_memory. `verb`:
# clocks from one verb to the next: a load from the near memory, one operation and a barrier; a core has no barrier.
MACHINES = {
    'H200': {'flops': 67e12, 'memory': 4.8e12, 'near': 132 * 128 * 1.98e9, 'clock': 1.98e9, 'verb': 50},
    'RTX 4090': {'flops': 82.6e12, 'memory': 1.008e12, 'near': 128 * 128 * 2.52e9, 'clock': 2.52e9, 'verb': 50},
}
DIVISION = 8  # clocks of a unit for a division or root, in place of one: reciprocal, two corrections


def run(program, arguments):
    done = subprocess.run([str(program), '--json', *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{program}: {done.stderr.strip()}')
    return json.loads(done.stdout)


def count_phases(counts):
    """[(phase, reason, loops, operations, bytes of the near memory)] of one world-step; counts is axion-count's report."""
    left = {**counts['functions'], 'elsewhere': counts['elsewhere']}
    phases = []
    for phase, patterns, reals, reason in PHASES:
        mine = [left.pop(name) for name in list(left) if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
        operations = sum(f['operations'] + (DIVISION - 1) * f['quotients'] for f in mine)
        phases.append((phase, f'{reals:g}: {reason}', sum(f['loops'] for f in mine), operations, 4 * reals * operations))
    return phases


def state_bytes(m):
    """Bytes of a world that a step must read from and write to device memory once: poses, velocities, impulses, contacts."""
    rows = m['joint_rows'] + m['axis_rows'] + m['limit_rows']
    reals = 13 * m['bodies'] + 2 * m['axis_rows'] + rows + m['axis_rows'] + m['bodies'] * 2
    return 4 * reals + 40 * m['contacts_mean'], 4 * reals + (40 + 100 + 16) * m['contacts_mean']


def print_machines(say, machines, operations, near, moved, verbs):
    say('| machine | arithmetic, fused, ns | arithmetic, not fused, ns | device memory, ns | least, ns a world-step | '
        'world-steps/s at most | near memory as it is used, ns | world-steps/s with that | one world alone, at least, us |')
    say('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    for name, p in machines.items():
        fused, plain = 1e9 * operations / p['flops'], 2e9 * operations / p['flops']
        close, far = 1e9 * near / p['near'], 1e9 * moved / p['memory']
        least, used = max(plain, far), max(plain, far, close)
        alone = max(1e6 * verbs * p['verb'] / p['clock'], least / 1e3 if p['verb'] == 0 else 0)
        say(f'| {name} | {fused:,.1f} | {plain:,.1f} | {far:,.2f} | {least:,.1f} | {1e9 / least:,.0f} | {close:,.1f} | '
            f'{1e9 / used:,.0f} | {alone:,.0f} |')


def describe(say, ours, counts, phases):
    functions = counts['functions']

    def loops(name):
        return functions.get(f'solver::{name}', {}).get('loops', 0)

    say(f'{ours["model"]}, dt {ours["dt"]:g} s: {ours["bodies"]:.0f} bodies, {ours["joint_rows"]:.0f} locked, '
        f'{ours["axis_rows"]:.0f} axis and {ours["limit_rows"]:.0f} limit rows, {counts["contacts_mean"]:.1f} contacts, '
        f'{counts["newton_iterations_mean"]:.2f} Newton iterations and {counts["sweep_rounds_mean"]:.2f} rounds of sweeps '
        f'on average. In a world-step: '
        f'{loops("invert_nodes"):.2f} factorisations of the joint tree, {loops("note_sweep"):.1f} sweeps, '
        f'{loops("RowSpace::apply_impulses"):.0f} changes of a contact\'s or row\'s impulse, '
        f'{loops("note_sliding_shares"):.1f} steps on the active set, '
        f'{loops("DelassusColumns::make"):.1f} passages through the joint tree for columns of D.\n')
    total, near, verbs = (sum(p[i] for p in phases) for i in (3, 4, 2))
    say('| phase | verbs | operations | share | numbers of near memory an operation | bytes of near memory |')
    say('| --- | ---: | ---: | ---: | --- | ---: |')
    for phase, reason, loop, operations, size in phases:
        say(f'| {phase} | {loop:,.0f} | {operations:,.0f} | {100 * operations / total:.1f} % | {reason} | {size:,.0f} |')
    say(f'| all | {verbs:,.0f} | {total:,.0f} | 100 % | | {near:,.0f} |')
    return total, near, verbs


def write_page(path, said, lines):
    text = path.read_text(encoding='utf-8')
    start, end = '<!-- floor.py writes from here -->', '<!-- to here -->'
    head, tail = text.split(start)[0], text.split(end)[1]
    path.write_text(head + start + said + '\n'.join(lines) + '\n' + end + tail, encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--model', type=pathlib.Path, required=True)
    parser.add_argument('--steps', type=int, default=1000)
    parser.add_argument('--worlds', type=int, default=8)
    parser.add_argument('--warmup_steps', type=int, default=200)
    parser.add_argument('--repeat', type=int, default=3, help='timed runs, of which the best counts')
    parser.add_argument('--clock', type=float, default=2.6e9, help='of the AVX-512 core, Hz')
    parser.add_argument('--core_memory', type=float, default=10e9, help='bytes a second that one core has of the memory')
    parser.add_argument('--out', type=pathlib.Path)
    peer.add_flag(parser)
    o = parser.parse_args()

    lines = []
    say = lines.append
    common = ['--model', o.model, '--worlds', o.worlds, '--threads', 1, '--steps', o.steps, '--warmup_steps', o.warmup_steps]
    counts = run(o.bin / 'axion-count', common)
    python, version = peer.find(o)
    sides = peer.sides(o, python)
    best = dict.fromkeys(sides)
    for _ in range(o.repeat):
        for side, command in sides.items():
            best[side] = max(filter(None, (best[side], peer.run(command, *common))), key=lambda r: r['steps_per_second'])
    ours = best['axion']
    operations, near, verbs = describe(say, ours, counts, count_phases(counts))
    read, written = state_bytes(ours)
    quotients = counts['elsewhere']['quotients'] + sum(f['quotients'] for f in counts['functions'].values())
    say(f'\nOf the operations {DIVISION} each are {quotients:,.0f} divisions and roots. Device memory, one step a launch: {read:,.0f} '
        f'bytes read and {written:,.0f} written; k steps a launch divide both by k.\n')
    core = {'AVX-512 core': {'flops': 64 * o.clock, 'memory': o.core_memory, 'near': 128 * o.clock, 'clock': o.clock, 'verb': 0}}
    print_machines(say, {**MACHINES, **core}, operations, near, read + written, verbs)
    micros = 1e6 / ours['steps_per_second']
    say(f'\nMeasured, one thread, {o.worlds} worlds: {micros:.1f} us a world-step, {operations / micros / 1e3:.1f} GFLOP/s of '
        f'{32 * o.clock / 1e9:.0f} (not fused) on a core of {o.clock / 1e9:g} GHz.')
    for name in (side for side in sides if side != 'axion'):
        looked = peer.look(name, sides[name], *common)
        say(f'\nMuJoCo {version}, {name}, on the same file, same core, float64: {1e6 / best[name]["steps_per_second"]:.1f} us '
            'a world-step, '
            f'{looked["contacts_mean"]:.1f} contacts, {looked["newton_iterations_mean"]:.1f} iterations.')
    if o.out:
        shown = 'tests/bench/floor.py --bin build/release/bin --model MODELS/humanoid.xml --out docs/floor.md'
        write_page(o.out, f'\n{stamp.stamp(o.bin)}, `{shown}`:\n\n', lines)
    else:
        print('\n'.join(lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
