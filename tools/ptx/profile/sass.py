#!/usr/bin/env python3
"""What a step of one world takes in machine instructions, counted without a GPU, and what may be expected of one.

The PTX that the emulated GPU runs is assembled by ptxas with line numbers and taken apart by nvdisasm. Each machine instruction counts
as often as the PTX of its line in its function was issued, on average over that line. Worlds are those that lie (--warmup_steps), the
shape of a block is that which the engine chooses for --planned_worlds. Prints rows of a table: PTX, machine instructions, those of them
that move to uniform registers (R2UR), the clocks that their stall fields name, the code that was passed through, and bounds. The last
rows are an expectation, with its assumptions: what to compare a measurement with.

nvdisasm is looked for on the PATH; else the package nvidia-cuda-nvdisasm is installed into --venv. Where it cannot be had only PTX is
counted.

Usage: sass.py --bin BUILD/bin --model humanoid.xml [--planned_worlds 8192] [--worlds 4] [--steps 50] [--warmup_steps 200]
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# An H200's multiprocessors, warp instructions a clock of each, and clock.
MULTIPROCESSORS, ISSUED, HERTZ = 132, 4, 1.755e9
# As engine/backend/cuda/launch_plan.cpp assumes: latencies in clocks of near memory, the second cache and device memory
# and of a warp's barrier; of 43 loads 10 are waited for, the others are under way with them.
NEAR, CACHED, DEVICE, BARRIER, WAITED = 30, 250, 600, 20, 10 / 43
SECTOR, CACHE_BYTES_A_SECOND = 32, 5.5e12
INSTRUCTION = re.compile(r'^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P[0-9T]+ )?([A-Z0-9_]+)')
CONTROL = re.compile(r'^\s+/\* 0x([0-9a-f]{16}) \*/')
LINE = re.compile(r'//## File "([^"]*)", line (\d+)')


def fail(message):
    print(f'sass.py: {message}', file=sys.stderr)
    sys.exit(1)


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f'{command[0]}: {done.stderr.strip()[-500:]}')
    return done.stdout


def disassembler(options):
    """The path of nvdisasm, or None and why."""
    found = options.nvdisasm or shutil.which('nvdisasm')
    if found:
        return found, ''
    python = options.venv / 'bin/python'
    for command in ([sys.executable, '-m', 'venv', options.venv], [python, '-m', 'pip', 'install', '-q', 'nvidia-cuda-nvdisasm']):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None, (done.stderr.strip().splitlines() or ['no word'])[-1]
    programs = sorted(options.venv.glob('lib/python*/site-packages/nvidia/**/bin/nvdisasm'))
    if not programs:
        return None, 'nvidia-cuda-nvdisasm has no such program'
    programs[0].chmod(0o755)
    return programs[0], ''


def source(path):
    """A file's name as axion-ptx-profile has it: from the last folder `engine` on."""
    at = path.rfind('/engine/')
    return path[at + 1:] if at >= 0 else path


def read_counts(path):
    """{function: {line: (instructions of PTX, times that warps issued them)}}"""
    counts = collections.defaultdict(dict)
    for text in path.read_text(encoding='utf-8').splitlines():
        function, line, written, issued = text.split('\t')
        counts[function][line] = (int(written), int(issued))
    return counts


def instructions(lines):
    """(function, line of the source, operation, stall clocks) of machine code as nvdisasm -g -c -hex prints it. What stands before a
    function's first line belongs to that."""
    function, line, operation, waiting = '', None, None, []
    for text in lines:
        if text.startswith('.text.'):
            for entry in waiting:
                yield function, '', *entry
            function, line, waiting = text.strip()[len('.text.'):].rstrip(':'), None, []
        elif '//## File' in text:
            found = LINE.search(text)
            line = f'{source(found[1])}:{found[2]}'
            for entry in waiting:
                yield function, line, *entry
            waiting = []
        elif (control := CONTROL.match(text)) and operation:
            entry, operation = (operation, int(control[1], 16) >> 41 & 15), None
            if line is None:
                waiting.append(entry)
            else:
                yield function, line, *entry
        elif found := INSTRUCTION.match(text):
            operation = found[1]


def weigh(code, counts):
    """Sums over machine instructions, each as often as its line was issued."""
    sums = collections.Counter()
    for function, line, operation, stall in code:
        lines = counts.get(function)
        if lines is None:
            continue
        written, issued = lines.get(line, (0, 0))
        if written == 0:
            sums['without a line of PTX'] += 1
            continue
        times = issued / written
        sums['instructions'] += times
        sums['R2UR'] += times * (operation == 'R2UR')
        sums['stall clocks'] += times * stall
        sums['bytes passed'] += 16 * (times > 0)
        sums['code'] += 1
    return sums


def number(text, pattern):
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        fail(f'axion-ptx-profile does not say {pattern}')
    return float(found[1])


def figures_of(options, counts_path, ptx_path):
    """What axion-ptx-profile counts, by name, a world-step."""
    said = run([options.bin / 'axion-ptx-profile', '--model', options.model, '--worlds', options.worlds, '--steps', options.steps,
                '--warmup_steps', options.warmup_steps, '--planned_worlds', options.planned_worlds, '--counts', counts_path,
                '--ptx', ptx_path])
    figures = {name: number(said, rf'^\s*([\d.]+) {name}') for name in (
        'warp instructions', 'accesses of far memory by warps', 'sectors of 32 bytes in far memory', 'accesses of local memory',
        'sectors of 32 bytes in local memory', 'accesses of shared memory', 'wavefronts of shared memory', 'barrier')}
    figures['blocks'] = number(said, r', ([\d.]+) on a multiprocessor')
    figures['threads'] = number(said, r', (\d+) threads a world')
    figures['near bytes'] = number(said, r', (\d+) bytes near')
    return figures


def clocks(figures, stalls, far_latency, near):
    """Of a warp's step, alone on its scheduler: what its stall fields say, the loads that it waits for, its barriers."""
    shared = figures['accesses of shared memory']
    far = figures['accesses of far memory by warps'] + figures['accesses of local memory']
    loads = NEAR * (shared + far) if near else NEAR * shared + far_latency * far
    return stalls + WAITED * loads + BARRIER * figures['barrier']


def say(options, figures, sums, why):
    world_steps = options.worlds * options.steps
    row = lambda name, value: print(f'| {name} | {value} |')  # noqa: E731
    print(f'| a step of one world, after {options.warmup_steps} steps | {figures["threads"]:.0f} threads, '
          f'{figures["near bytes"]:,.0f} bytes near, {figures["blocks"]:.3g} blocks a multiprocessor |\n| --- | ---: |')
    for name in ('warp instructions', 'accesses of far memory by warps', 'sectors of 32 bytes in far memory', 'accesses of local memory',
                 'sectors of 32 bytes in local memory', 'accesses of shared memory', 'wavefronts of shared memory'):
        row(f'PTX: {name}', f'{figures[name]:,.0f}')
    sectors = figures['sectors of 32 bytes in far memory'] + figures['sectors of 32 bytes in local memory']
    row('world-steps/s at most, by PTX instructions issued', f'{MULTIPROCESSORS * ISSUED * HERTZ / figures["warp instructions"]:,.0f}')
    row('world-steps/s at most, by sectors at 5.5 TB/s without a first cache', f'{CACHE_BYTES_A_SECOND / SECTOR / sectors:,.0f}')
    if sums is None:
        print(f'\nMachine code was not counted: {why}')
        return
    issued, stalls = sums['instructions'] / world_steps, sums['stall clocks'] / world_steps
    row('sm_90: instructions', f'{issued:,.0f}')
    row('of them R2UR', f'{100 * sums["R2UR"] / sums["instructions"]:.1f} %')
    row('stall fields, clocks', f'{stalls:,.0f}')
    row('code passed through, KiB, of so much with a line of PTX',
        f'{sums["bytes passed"] / 1024:,.0f} of {16 * sums["code"] / 1024:,.0f}')
    bound = MULTIPROCESSORS * ISSUED * HERTZ / issued
    row('world-steps/s at most, by instructions issued', f'{bound:,.0f}')
    resident = MULTIPROCESSORS * figures['blocks'] * figures['threads'] / 32
    rates = [min(bound, resident * HERTZ / clocks(figures, stalls, latency, False)) for latency in (DEVICE, CACHED)]
    row(f'expected, {options.planned_worlds:,} worlds, steps/s',
        f'{rates[0]:,.0f} (loads of {DEVICE} clocks) to {rates[1]:,.0f} ({CACHED})')
    row('expected, one world, all near, ms a step', f'{1e3 * clocks(figures, stalls, CACHED, True) / HERTZ:.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--model', type=pathlib.Path, required=True)
    for name, default in (('worlds', 4), ('steps', 50), ('warmup_steps', 200), ('planned_worlds', 8192), ('registers', 128)):
        parser.add_argument(f'--{name}', type=int, default=default)
    parser.add_argument('--ptxas', help='default: that on the PATH or of /usr/local/cuda')
    parser.add_argument('--nvdisasm')
    parser.add_argument('--ptx_only', action='store_true', help='leave machine code out')
    parser.add_argument('--venv', type=pathlib.Path, help='where nvdisasm is installed if it has to be; default: beside --bin')
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.venv = (options.venv or options.bin.parent / 'nvdisasm-venv').resolve()
    with tempfile.TemporaryDirectory() as folder:
        counts, ptx, cubin = (pathlib.Path(folder) / name for name in ('counts', 'kernels.ptx', 'kernels.cubin'))
        figures, sums = figures_of(options, counts, ptx), None
        program, why = (None, 'not asked for') if options.ptx_only else disassembler(options)
        if program:
            ptxas = options.ptxas or shutil.which('ptxas') or '/usr/local/cuda/bin/ptxas'
            run([ptxas, '-arch=sm_90', '--compile-only', f'--maxrregcount={options.registers}', '--fmad=false', '-lineinfo', ptx, '-o',
                 cubin])
            with subprocess.Popen([str(program), '-g', '-c', '-hex', str(cubin)], stdout=subprocess.PIPE, text=True) as process:
                sums = weigh(instructions(process.stdout), read_counts(counts))
            if process.returncode != 0 or sums['instructions'] == 0:
                fail('nvdisasm printed nothing that was issued')
        say(options, figures, sums, why)
    return 0


if __name__ == '__main__':
    sys.exit(main())
