#!/usr/bin/env python3
"""Operations and bytes of one world-step of a robot, counted, and from them the least time on several machines.

Counts of the model, contacts and Newton iterations are measured by running axion-bench; how often rows were visited in sweeps
is given (--sweeps ...: the engine does not report it; the defaults were counted in sweep_row and sweep_contact with
humanoid.xml at 5 ms, steps 201 to 1,200, at commit 2256317). Operations are additions, multiplications, divisions and roots of
reals, each one; comparisons, indices and moves are free. Formulas are beside each phase: n rows that sweeps solve (limits and
three a contact), R all rows, b bodies.

Usage: floor.py --bin BUILD/bin --model humanoid.xml [--out docs/floor.md]
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys

# Peaks. GPUs: float32 with fused multiply-add, device memory, multiprocessors x 128 bytes of shared memory a clock x clock.
# H200 SXM: NVIDIA H200 data sheet (67 TFLOP/s, 4.8 TB/s), 132 multiprocessors, 1.98 GHz, Hopper tuning guide.
# RTX 4090: NVIDIA Ada GPU architecture, appendix A (82.6 TFLOP/s, 1,008 GB/s, 128 multiprocessors, 2.52 GHz).
# AVX-512 core: two 512-bit fused units (64 float32 operations a clock), two 64-byte loads a clock from the first cache: Intel 64
# and IA-32 Architectures Optimization Reference Manual; at --clock. Memory: a core's share, --core_memory.
MACHINES = {
    'H200': {'flops': 67e12, 'memory': 4.8e12, 'near': 132 * 128 * 1.98e9, 'units': 132, 'clock': 1.98e9},
    'RTX 4090': {'flops': 82.6e12, 'memory': 1.008e12, 'near': 128 * 128 * 2.52e9, 'units': 128, 'clock': 2.52e9},
}


def run(program, arguments):
    done = subprocess.run([str(program), '--json', *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{program}: {done.stderr.strip()}')
    return json.loads(done.stdout)


def count_phases(m, o):
    """[(phase, formula, operations, bytes of the near memory)] of one world-step; m is axion-bench's report."""
    b, joints, locks, axes = m['bodies'], m['bodies'] - 1, m['joint_rows'], m['axis_rows']
    contacts, newton = m['contacts_mean'], m['newton_iterations_mean']
    n = m['limit_rows'] + 3 * contacts
    R = locks + axes + n
    pairs = m['shapes'] * (m['shapes'] - 1) / 2
    # Sizes of a joint's node: its body's six velocities and its rows.
    size = 6 + (locks + axes) / joints if joints else 6
    lu = 2 / 3 * size ** 3 + 2 * size ** 2 * 6 + 2 * 36 * size  # factorise, six columns to the parent, its block
    phases = []

    def add(phase, formula, operations, reals):
        phases.append((phase, formula, operations, 4 * reals))

    add('rows and free motion', '60 R_joint + 250 a joint + 150 a body', 60 * (locks + axes) + 250 * joints + 150 * b,
        14 * (locks + axes) + 40 * b)
    add('contacts', '40 a pair of shapes, 300 a contact', 40 * pairs + 300 * contacts, 6 * pairs + 40 * contacts)
    add('residuals', f'{o.evaluations:g} x (48 R for J u and Jt lambda, 10 R, 250 a joint, 150 a body)',
        o.evaluations * (58 * R + 250 * joints + 150 * b), o.evaluations * (30 * R + 60 * b))
    add('linearisation', f'{newton:.2f} x (60 R, 100 a contact)', newton * (60 * R + 100 * contacts), newton * 24 * R)
    add('factorisation', f'{newton:.2f} x b x (2/3 s^3 + 12 s^2 + 72 s), s = {size:.0f}', newton * b * lu,
        newton * b * (2 * size ** 2 + 4 * 6 * size))
    add('inverse V of the tree', f'{newton:.2f} x b^2 blocks of 2 x 6^3', newton * b * b * 432, newton * b * b * 3 * 36)
    add('columns of D = J V Jt', f'{o.columns:g} contacts x 3 columns x (72 b for V Jt, 18 n for J)',
        o.columns * 3 * (72 * b + 18 * n), o.columns * (36 * b + 3 * n + 3 * 9 * n))
    add('sweeps: solving rows', f'4 x {o.row_visits:g} rows, 3 x {o.contact_visits:g} contacts visited, 60 x {o.contact_pushes:g} '
        'solved', 4 * o.row_visits + 3 * o.contact_visits + 60 * o.contact_pushes,
        4 * o.row_visits + 4 * o.contact_visits + 24 * o.contact_pushes)
    add('sweeps: D times change', f'6 n x {o.contact_pushes:g} contacts, 2 n x {o.row_pushes:g} rows',
        6 * n * o.contact_pushes + 2 * n * o.row_pushes, 5 * n * o.contact_pushes + 3 * n * o.row_pushes)
    add('sweeps: momentum', f'14 n x {o.sweeps:g} sweeps', 14 * n * o.sweeps, 12 * n * o.sweeps)
    add('solutions of the tree', f'{newton:.2f} x b x (2 s^2 + 24 s), gathering 24 R', newton * (b * (2 * size ** 2 + 24 * size) + 24 * R),
        newton * b * (size ** 2 + 12 * size))
    add('acceptance', '200 a body, 250 a joint, 30 a contact', 200 * b + 250 * joints + 30 * contacts, 40 * b + 30 * contacts)
    return phases


def state_bytes(m):
    """Bytes of a world that a step must read from and write to device memory once: poses, velocities, impulses, contacts."""
    rows = m['joint_rows'] + m['axis_rows'] + m['limit_rows']
    reals = 13 * m['bodies'] + 2 * m['axis_rows'] + rows + m['axis_rows'] + m['bodies'] * 2
    return 4 * reals + 40 * m['contacts_mean'], 4 * reals + (40 + 100 + 16) * m['contacts_mean']


def print_machines(say, machines, operations, near, read, written, chain):
    say('| machine | arithmetic, fused, ns | arithmetic, not fused, ns | near memory, ns | device memory, ns | least, ns a world-step | '
        'world-steps/s at most | one world alone, at least, us |')
    say('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
    for name, p in machines.items():
        fused, plain = 1e9 * operations / p['flops'], 2e9 * operations / p['flops']
        close, far = 1e9 * near / p['near'], 1e9 * (read + written) / p['memory']
        least = max(fused, close, far)
        say(f'| {name} | {fused:,.1f} | {plain:,.1f} | {close:,.1f} | {far:,.2f} | {least:,.1f} | {1e9 / least:,.0f} | '
            f'{1e6 * chain / p["clock"]:,.0f} |')


def mujoco_phases(report):
    """Operations of a step of C MuJoCo, estimated: smooth dynamics, pyramidal rows, dense Hessian of its Newton solver."""
    nv, m = 27, 4 * report['contacts_mean']
    iterations = max(1.0, report['newton_iterations_mean'])
    return [('kinematics, composite inertias, bias forces', '600 a body and 100 a pair of degrees of freedom in line',
             600 * 17 + 100 * 200),
            ('constraint rows J, J M^-1 Jt diagonal', '2 x 12 nv m', 24 * nv * m),
            ('Newton', f'{iterations:.1f} x (2 m nv^2 / 2 + nv^3 / 3 + 8 m nv)', iterations * (m * nv * nv + nv ** 3 / 3 + 8 * m * nv))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--model', type=pathlib.Path, required=True)
    parser.add_argument('--steps', type=int, default=1000)
    parser.add_argument('--sweeps', type=float, default=117, help='a world-step')
    parser.add_argument('--row_visits', type=float, default=2460, help='limits and bounded rows looked at')
    parser.add_argument('--row_pushes', type=float, default=110, help='of which changed')
    parser.add_argument('--contact_visits', type=float, default=2124)
    parser.add_argument('--contact_pushes', type=float, default=1036)
    parser.add_argument('--columns', type=float, default=14.1, help='contacts whose columns of D were made')
    parser.add_argument('--evaluations', type=float, default=4.1, help='of all residuals')
    parser.add_argument('--chain', type=float, default=60, help='clocks of a contact after the one before it in a sweep')
    parser.add_argument('--clock', type=float, default=2.6e9, help='of the AVX-512 core, Hz')
    parser.add_argument('--core_memory', type=float, default=10e9, help='bytes a second that one core has of the memory')
    parser.add_argument('--out', type=pathlib.Path)
    o = parser.parse_args()

    lines = []

    def say(line=''):
        lines.append(line)

    common = ['--model', o.model, '--worlds', 8, '--threads', 1, '--steps', o.steps, '--warmup_steps', 200]
    ours = run(o.bin / 'axion-bench', common + ['--device', 'cpu'])
    phases = count_phases(ours, o)
    operations, near = sum(p[2] for p in phases), sum(p[3] for p in phases)
    read, written = state_bytes(ours)
    say(f'{o.model.name}, dt {ours["dt"]:g} s: {ours["bodies"]:.0f} bodies, {ours["joint_rows"]:.0f} locked, '
        f'{ours["axis_rows"]:.0f} axis and {ours["limit_rows"]:.0f} limit rows, {ours["contacts_mean"]:.1f} contacts, '
        f'{ours["newton_iterations_mean"]:.2f} Newton iterations on average, converged {ours["converged_fraction"]:.4f}.\n')
    say('| phase | count | operations | share | bytes of near memory |\n| --- | --- | ---: | ---: | ---: |')
    for phase, formula, count, size in phases:
        say(f'| {phase} | {formula} | {count:,.0f} | {100 * count / operations:.0f} % | {size:,.0f} |')
    say(f'| all | | {operations:,.0f} | 100 % | {near:,.0f} |')
    say(f'\nDevice memory, one step a launch: {read:,.0f} bytes read and {written:,.0f} written; k steps a launch divide both by k.\n')
    core = {'AVX-512 core': {'flops': 64 * o.clock, 'memory': o.core_memory, 'near': 128 * o.clock, 'units': 1, 'clock': o.clock}}
    chain = o.chain * o.contact_pushes + 8 * (o.contact_visits - o.contact_pushes + o.row_visits)
    print_machines(say, {**MACHINES, **core}, operations, near, read, written, chain)
    measured = 1e6 / ours['steps_per_second']
    say(f'\nMeasured here, one thread: {measured:.1f} us a world-step, {operations / measured / 1e3:.2f} GFLOP/s of '
        f'{64 * o.clock / 1e9:.0f} (fused) on a core of {o.clock / 1e9:g} GHz.')
    if (o.bin / 'mujoco_bench').exists():
        theirs = run(o.bin / 'mujoco_bench', common)
        rows = mujoco_phases(theirs)
        total = sum(row[2] for row in rows)
        time = 1e6 / theirs['steps_per_second']
        say(f'\nC MuJoCo on the same file, same core: {time:.1f} us, {theirs["contacts_mean"]:.1f} contacts, '
            f'{theirs["newton_iterations_mean"]:.1f} iterations; about {total:,.0f} operations, {total / time / 1e3:.1f} GFLOP/s:')
        for phase, formula, count in rows:
            say(f'- {phase}: {formula}: {count:,.0f}')
    if o.out:
        text = o.out.read_text(encoding='utf-8')
        start, end = '<!-- floor.py writes from here -->', '<!-- to here -->'
        commit = subprocess.run(['git', '-C', str(pathlib.Path(__file__).parent), 'describe', '--always', '--dirty'],
                                capture_output=True, text=True, check=False).stdout.strip()
        stamp = f'\n{ours["device_name"]}, commit {commit}, {datetime.date.today()}:\n\n'
        head, tail = text.split(start)[0], text.split(end)[1]
        o.out.write_text(head + start + stamp + '\n'.join(lines) + '\n' + end + tail, encoding='utf-8')
    else:
        print('\n'.join(lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
