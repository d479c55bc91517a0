#!/usr/bin/env python3
"""All benchmarks in one command: runs them and writes their tables between the marks of docs/benchmarks.md and docs/floor.md.

Parts, about twenty minutes together on two idle cores (--parts chooses):
  compare       humanoid.xml, 1, 64 and 256 worlds on one and two threads, Axion beside MuJoCo's newest package, which peer.py installs
  robots        six robots, 16 worlds, at 5, 10 and 20 ms, likewise; overlap at equal speed
  largest_step  speed and overlap of two scenes at every time step that each engine holds
  tunnelling    36 thin bodies that fly at a thin wall
  exactness     seams between tiles, hulls that lie flush, hands out of reach, bodies that start in each other
  growth        64 to 16,384 worlds, as memory allows; piles of 100 to 1,000 spheres
  rpc           Step and StepStream of 1, 256 and 4,096 humanoids beside the engine alone and an empty call
  agreement     bits between numbers of threads and instruction sets
  profile       where a humanoid's step spends its time, where perf is installed
  floor         docs/floor.md
  emulated_gpu  instructions and memory of a humanoid's step counted on the emulated GPU, PTX and machine code, what may be expected
                of a GPU, and its bits beside the CPU's; takes nvdisasm, from PyPI where it is not installed
  gpu           the report that gpu.py wrote on a machine with a GPU (--gpu_report); not run unless asked for
The page's table of goals is then made anew from the figures on it. A part that is not run keeps its figures, with the machine and
the commit that they are of. The page names no commit with changes: with some outside docs/ nothing is written there.

Usage: benchmarks.py --bin BUILD/bin --models DIRECTORY_OF_humanoid.xml [--parts compare growth ...]
"""

import argparse
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file
import stamp  # noqa: E402
from stamp import output_of  # noqa: E402

ROOT = stamp.ROOT
HERE = pathlib.Path(__file__).resolve().parent
PARTS = ['compare', 'robots', 'largest_step', 'tunnelling', 'exactness', 'growth', 'rpc', 'agreement', 'profile', 'floor', 'emulated_gpu',
         'gpu']
OWN_MODELS = sorted((ROOT / 'clients/examples/models').glob('*.xml')) + [HERE / 'wheeled_robot.xml']


def command_of(part, options):
    humanoid = options.models / 'humanoid.xml'
    quick = options.quick
    robots = [HERE / 'robots.py', '--bin', options.bin, '--models', options.models]
    compare = robots + ['--robots', 'humanoid.xml', '--worlds', 1, 64, 256, '--threads', 1, 2, '--steps_ms', 5]
    few = ['--repeat', 1, '--world_steps', 40, '--least_seconds', 0.1, '--warmup_seconds', 0.1, '--worlds', 2, '--robots', 'humanoid.xml']
    tunnelling = [HERE / 'tunnelling.py', '--bin', options.bin]
    exactness = [HERE / 'exactness.py', '--bin', options.bin]
    largest = [HERE / 'largest_step.py', '--bin', options.bin, '--models', options.models]
    growth = [HERE / 'growth.py', '--bin', options.bin, '--model', humanoid, '--worlds', 64, 1024, 16384, '--spheres', 100, 300, 1000]
    rpc = [options.bin / 'rpc_bench', '--axiond', options.bin / 'axiond', '--model', humanoid, '--worlds', 1, '--worlds', 256,
           '--worlds', 4096]
    floor = [HERE / 'floor.py', '--bin', options.bin, '--model', humanoid]
    return {
        'compare': compare + (few if quick else []),
        'robots': robots + (few if quick else []),
        'largest_step': largest + (['--repeat', 1, '--scenes', 'step', '--grid_ms', 10, '--worlds_held', 1] if quick else []),
        'tunnelling': tunnelling + (['--speeds', 50, '--steps', 0.01] if quick else []),
        'exactness': exactness + (['--heights', 1, '--steps', 0.02] if quick else []),
        'growth': growth + (['--repeat', 1, '--worlds', 2, 4, '--spheres', 8, 12, '--seconds_lying', 0.1] if quick else []),
        'rpc': rpc[:-4] + ['--repeat', 2] if quick else rpc,
        'floor': floor + (['--repeat', 1, '--steps', 20, '--warmup_steps', 5] if quick else ['--out', ROOT / 'docs/floor.md']),
    }[part]


def shown(command, options):
    """A command as a reader of the page would type it."""
    text = ' '.join(map(str, command))
    for path, name in ((HERE, 'tests/bench'), (options.bin, 'build/release/bin'), (options.models, 'MODELS'), (f'{ROOT}/', '')):
        text = text.replace(str(path), name)
    return text


def run_agreement(options):
    """Returns (command, table, whether all bits agree)."""
    program = options.bin / 'axion-agreement'
    lines = ['| model | precision | one thread beside two | widest instruction set beside x86-64 |', '| --- | --- | --- | --- |']
    good = True
    for model in OWN_MODELS + [options.models / 'humanoid.xml']:
        for precision in ('float32', 'float64'):
            cells = []
            for right in (['--right_threads', 2], ['--right_instruction_set', 'x86-64']):
                command = [program, '--model', model, '--worlds', 16, '--steps', 20 if options.quick else 200, '--device', 'cpu',
                           '--threads', 1, '--precision', precision, *right]
                done = subprocess.run([str(a) for a in command], capture_output=True, text=True, check=False)
                good &= done.returncode == 0
                said = ' '.join((done.stdout or done.stderr).split())
                cells.append('same bits' if done.returncode == 0 else said)
            lines.append(f'| {model.name} | {precision} | {cells[0]} | {cells[1]} |')
    command = [program, '--model', options.models / 'humanoid.xml', '--device', 'cpu', '--threads', 1, '--right_threads', 2]
    return command, '\n'.join(lines), good


def run_profile(options):
    """Shares of functions of a humanoid's steps, sampled; those that are inlined count to their callers."""
    bench = [options.bin / 'axion-bench', '--model', options.models / 'humanoid.xml', '--worlds', 64, '--steps', 20 if options.quick
             else 300, '--threads', 1]
    if not shutil.which('perf'):
        return bench, 'Not sampled: perf is not installed.', True
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / 'perf.data'
        sampled = subprocess.run([str(a) for a in ['perf', 'record', '-q', '-o', data, *bench]], capture_output=True, text=True,
                                 check=False)
        report = output_of(['perf', 'report', '-i', data, '--stdio', '--no-children', '--percent-limit', '0.3', '-F', 'overhead,symbol',
                            '-g', 'none'])
    if sampled.returncode != 0:
        return bench, 'Not sampled: this machine does not let perf.', True
    shares = {}
    for line in report.splitlines():
        found = re.match(r'\s*([\d.]+)%\s+\[.\]\s+(.*)', line)
        if found:
            name = re.sub(r'<.*|\(.*|\w*axion\w*::', '', re.sub(r'^(void|float|int|bool) ', '', found[2])).strip()
            shares[name] = shares.get(name, 0) + float(found[1])
    lines = ['| function | share |', '| --- | ---: |']
    lines += [f'| `{name}` | {share:.1f} % |' for name, share in sorted(shares.items(), key=lambda item: -item[1])[:15]]
    return ['perf', 'record', *bench], '\n'.join(lines), True


def run_emulated_gpu(options):
    """What a world-step takes at the shape that the engine would choose, in PTX and machine code, and whether its bits are the CPU's."""
    humanoid = options.models / 'humanoid.xml'
    count = [ROOT / 'tools/ptx/profile/sass.py', '--bin', options.bin, '--model', humanoid]
    if not (options.bin / 'axion-ptx-profile').exists():
        return count, 'Not counted: built without nvcc.', True
    steps = ['--worlds', 1, '--steps', 2, '--warmup_steps', 2, '--ptx_only'] if options.quick else []
    done = subprocess.run([str(a) for a in [*count, *steps]], capture_output=True, text=True, check=False)
    good = done.returncode == 0
    if not good:
        sys.stderr.write(done.stderr)
    lines = [done.stdout.strip(), '']
    near = re.search(r'(\d+) threads, ([\d,]+) bytes near', done.stdout)
    for threads, budget in ((near[1], near[2].replace(',', '')),) * (near is not None) + ((32, -1), (64, -1)):
        shape = ['--right_block_threads', threads, *(['--right_near_bytes', budget] if int(budget) >= 0 else [])]
        agreement = [options.bin / 'axion-agreement-emulated', '--model', humanoid, '--worlds', 2, '--steps', 2 if options.quick else 20,
                     '--warmup_steps', 0, '--device', 'cpu', '--threads', 1, '--right', 'cuda:0', *shape]
        agrees = subprocess.run([str(a) for a in agreement], capture_output=True, check=False).returncode == 0
        good &= agrees
        lines.append(f'{threads} threads, {f"{int(budget):,} bytes" if int(budget) >= 0 else "all"} near: '
                     f'{"the bits of the CPU" if agrees else "bits **differ** from the CPU"}.')
    return count, '\n'.join(lines), good


def run_part(part, options):
    """(command, text, whether it went well)."""
    if part == 'agreement':
        return run_agreement(options)
    if part == 'profile':
        return run_profile(options)
    if part == 'emulated_gpu':
        return run_emulated_gpu(options)
    command = command_of(part, options)
    by = [sys.executable, '-B'] if str(command[0]).endswith('.py') else []  # which may have what the script needs
    done = subprocess.run([str(a) for a in (*by, *command)], capture_output=True, text=True, check=False)
    good = done.returncode == 0 and (part == 'floor' or bool(done.stdout.strip()))
    if not good:
        sys.stderr.write(f'{part}: exit code {done.returncode}\n{done.stderr}')
    return command, done.stdout.strip(), good


def part_of(page, part):
    """What stands between a part's marks."""
    start, end = f'<!-- {part} -->', f'<!-- end of {part} -->'
    if start not in page or end not in page:
        raise RuntimeError(f'the page has no marks {start} and {end}')
    return page.split(start)[1].split(end)[0]


def replace_part(page, part, text):
    part_of(page, part)
    start, end = f'<!-- {part} -->', f'<!-- end of {part} -->'
    return page.split(start)[0] + start + '\n' + text + '\n' + end + page.split(end, 1)[1]


def rows_of(text):
    """Cells of the tables in a text, heads included."""
    lines = [line for line in text.splitlines() if line.startswith('| ')]
    return [[cell.strip() for cell in line.split('|')[1:-1]] for line in lines if not set(line) <= set('-:| ')]


def records_of(text):
    """The rows of the tables in a text, each as a dictionary from the head of a column to its cell."""
    head, records = None, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if not line.startswith('|'):
            head = None
        elif head is None:
            head = cells
        elif not set(line) <= set('-:| '):
            records.append(dict(zip(head, cells)))
    return records


def number(text):
    return float(text.replace(',', ''))


def goals_of_speed(page):
    """Steps a second at the same time step, over the fastest of MuJoCo's variants."""
    compare = [row for row in records_of(part_of(page, 'compare')) if row['model'] == 'humanoid.xml']
    for worlds, goal in (('256', 3.0), ('1', 1.0)):
        rows = [row for row in compare if row['worlds'] == worlds and
                all(row.get(f'{name}: axion / it', '-') != '-' for name in peer.VARIANTS)]
        ratios = [(min(number(row[f'{name}: axion / it'].split()[0]) for name in peer.VARIANTS), row['threads'], number(row['converged']))
                  for row in rows]
        if ratios:
            yield (f'humanoid.xml on the CPU, {worlds} world{"s" * (worlds != "1")}: steps/s at 5 ms over MuJoCo\'s fastest', f'≥ {goal:g}',
                   ', '.join(f'{r:.2f} ({threads} thread{"s" * (threads != "1")})' for r, threads, _ in ratios), min(ratios)[0] >= goal)
            yield (f'converged, {worlds} world{"s" * (worlds != "1")}', '≥ 99.9 %', f'{100 * min(r[2] for r in ratios):.2f} %',
                   min(r[2] for r in ratios) >= 0.999)


def goals_of_error(page):
    """Error at equal speed, beside the best of MuJoCo's variants."""
    scenes = re.findall(r'^(\w+): ([\d.]+|-) times MuJoCo with at most 1 mm of overlap(, of which it holds no step)?, '
                        r'([\d.]+|-) times at the fastest step that each holds', part_of(page, 'largest_step'), re.M)
    for scene, close, none, fastest in scenes:
        name = {'standing': 'humanoid standing on position drives', 'step': 'wheeled robot over a step'}.get(scene, scene)
        yield (f'{name}: simulated s a wall s with at most 1 mm of overlap, over MuJoCo\'s fastest', '≥ 5',
               'MuJoCo has more at every step' if none else close, bool(none) or (close != '-' and float(close) >= 5))
        yield (f'{name}: simulated s a wall s at the fastest step held, over MuJoCo\'s', '≥ 1', fastest,
               fastest != '-' and float(fastest) >= 1)
    pairs = []
    for row in records_of(part_of(page, 'robots')):
        theirs = [number(row[name].split()[0]) for name in peer.VARIANTS if ' at ' in row.get(name, '')]
        if 'axion, overlap, mm' in row and theirs:
            pairs.append((number(row['axion, overlap, mm']), min(theirs)))
    if pairs:
        yield ('six robots at 20 ms: overlap over the least of MuJoCo\'s at no less speed', '≤ 0.1',
               f'{max(a / max(b, 0.01) for a, b in pairs):.2f} (greatest: {max(a for a, _ in pairs):.2f} mm, of MuJoCo\'s least '
               f'{min(b for _, b in pairs):.2f} to {max(b for _, b in pairs):.2f})', all(a <= 0.1 * b for a, b in pairs))
    flown = re.search(r'^Of (\d+) cases pass: axion (\d+)(.*)\.$', part_of(page, 'tunnelling'), re.M)
    if flown:
        yield (f'thin bodies that pass a thin wall, of {flown[1]}', '0', f'{flown[2]} (MuJoCo: {flown[3].removeprefix(", ")})',
               flown[2] == '0')
    for what, row_of, goal in (('way that movers lose over nine seams, %', 'over nine seams, way lost', 1),
                               ('way that hulls which lie flush move aside in a second, mm', 'flush on another', 0.01)):
        rows = [row for row in records_of(part_of(page, 'exactness')) if row_of in row.get('scene', '')]
        if rows:
            worst = {side: max((row[side] for row in rows), key=float) for side in rows[0] if side != 'scene'}
            theirs = ', '.join(f'{side} {figure}' for side, figure in worst.items() if side != 'axion')
            yield what, f'≤ {goal:g}', f'{worst["axion"]} (MuJoCo: {theirs})', float(worst['axion']) <= goal


def goal_rows(page):
    """(what, goal, measured, whether it is met or None) from the figures on the page."""
    yield from goals_of_speed(page)
    yield from goals_of_error(page)
    gpu = part_of(page, 'gpu')
    rate = [number(row['steps/s']) for row in records_of(gpu) if row.get('worlds') == '8192' and 'us a world-step' in row]
    alone = re.findall(r'one world, \d+ steps? a launch: ([\d.]+) ms', gpu)
    yield ('humanoid.xml on an H200, 8,192 worlds, steps/s', '≥ 10 M', f'{rate[0]:,.0f}' if rate else 'not measured',
           rate[0] >= 1e7 if rate else None)
    yield ('humanoid.xml on an H200, one world, ms a step', '≤ 0.1', min(alone, key=float) if alone else 'not measured',
           min(map(float, alone)) <= 0.1 if alone else None)
    agreement = part_of(page, 'agreement')
    yield ('determinism', 'on, always', 'the same bits in every run' if 'same bits' in agreement and 'differ' not in agreement
           else 'not measured', 'differ' not in agreement if 'same bits' in agreement else None)
    rpc = {(row['worlds'], row['way']): row for row in records_of(part_of(page, 'rpc'))}
    if ('4096', 'Step') in rpc:
        ratio = number(rpc['4096', 'Step']['p50 / engine'])
        yield ('Step of 4,096 humanoids through gRPC, over the engine\'s time', '≤ 1.1', f'{ratio:.2f}', ratio <= 1.1)
    if ('1', 'StepStream') in rpc:
        extra = number(rpc['1', 'StepStream']['p50 - engine - empty call, us'])
        yield ('one world through StepStream, p50, over engine and empty call, µs', '≤ 20', f'{extra:.0f}', extra <= 20)
    growth = [row for row in records_of(part_of(page, 'growth')) if row.get('us a world-step')]
    worlds = [row for row in growth if 'worlds' in row]
    if len(worlds) > 1:
        times = [number(row['us a world-step']) for row in worlds]
        growth_factor = max(times[1:]) / times[0]
        yield (f'time of a world-step from {worlds[0]["worlds"]} to {worlds[-1]["worlds"]} worlds', 'flat (greatest over the first ≤ 1.2)',
               f'{growth_factor:.2f}', growth_factor <= 1.2)
    piles = [(int(row['spheres']), number(row['us a world-step'])) for row in growth if 'spheres' in row]
    if len(piles) > 1:
        power = math.log(piles[-1][1] / piles[0][1]) / math.log(piles[-1][0] / piles[0][0])
        yield (f'piles of {piles[0][0]} to {piles[-1][0]} spheres: time of a step grows with the power', '≤ 1.2 (near-linear)',
               f'{power:.2f}', power <= 1.2)


def goals(page):
    lines = ['| goal | asked | measured | |', '| --- | --- | --- | --- |']
    for what, asked, measured, met in goal_rows(page):
        lines.append(f'| {what} | {asked} | {measured} | {"" if met is None else "met" if met else "**missed**"} |')
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=ROOT / 'build/release/bin')
    parser.add_argument('--models', type=pathlib.Path, help='directory of humanoid.xml; needed by every part but gpu')
    parser.add_argument('--parts', nargs='*', choices=PARTS, default=PARTS[:-1], help='none: only the table of goals')
    parser.add_argument('--gpu_report', type=pathlib.Path)
    parser.add_argument('--page', type=pathlib.Path, default=ROOT / 'docs/benchmarks.md')
    parser.add_argument('--quick', action='store_true', help='that every part runs, in seconds; its figures mean nothing')
    options = parser.parse_args()
    if options.models is None and set(options.parts) - {'gpu'}:
        parser.error('--models is missing')
    if 'gpu' in options.parts and options.gpu_report is None:
        parser.error('--gpu_report is missing')
    options.bin = options.bin.resolve()
    options.models = options.models.resolve() if options.models else None
    said = stamp.stamp(options.bin)
    if 'dirty' in said and ROOT / 'docs' in options.page.resolve().parents:
        parser.error(f'{said}: commit what has been changed first, or name another --page')
    failed = False
    for part in options.parts:
        start = time.monotonic()
        if part == 'gpu':
            text, good = options.gpu_report.read_text(encoding='utf-8').replace('\n## ', '\n### ').strip(), True
        else:
            command, text, good = run_part(part, options)
            text = f'{said}:\n\n```sh\n{shown(command, options)}\n```\n\n{text}'
        failed |= not good
        if good and part != 'floor':
            page = options.page.read_text(encoding='utf-8')
            options.page.write_text(replace_part(page, part, text), encoding='utf-8')
        print(f'{part}: {"written" if good else "failed"}, {time.monotonic() - start:.0f} s', flush=True)
    page = options.page.read_text(encoding='utf-8')
    options.page.write_text(replace_part(page, 'goals', goals(page)), encoding='utf-8')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
