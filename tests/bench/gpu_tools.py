"""gpu.py's parts that look at kernels with another program: Nsight Compute and compute-sanitizer."""

import collections
import csv
import gzip
import io
import pathlib
import shutil
import tempfile

from gpu_build import ROOT
from gpu_run import bench_command, last_line, shown

SANITIZERS = ['memcheck', 'racecheck', 'synccheck']
SECTIONS = ['SpeedOfLight', 'SchedulerStats', 'WarpStateStats', 'Occupancy', 'MemoryWorkloadAnalysis', 'InstructionStats',
            'SourceCounters']
PROFILED_STEPS = 10  # of the launch that is profiled: ncu runs the program again for each set of its counters
VIEWS = ['cuda,sass', 'sass']  # of the source page; where no source line is found, counts by instruction are kept
SHOWN_LINES = 30
SAMPLES = 'Warp Stall Sampling (All Samples)'
INSTRUCTIONS = 'Instructions Executed'


def no_tool(options, tool):
    """What is missing for a tool that looks at kernels, or nothing."""
    return 'GPU' if options.dry_run or options.device == 'cpu' else '' if shutil.which(tool) else tool


def profile_commands(options, kept):
    """Collects, then prints by source line. By default ncu locks a card's clocks, which others may share and which need not be
    ours to set. The source lines are in programs that were built with -lineinfo; their files are found below this tree's engine,
    wherever it was when they were built."""
    launches = -(-options.warmup_steps // PROFILED_STEPS)
    collect = ['ncu', '--clock-control', 'none', '--launch-skip', launches, '--launch-count', 1, '--replay-mode', 'application',
               '--import-source', 'yes', '--source-folders', ROOT / 'engine', '--page', 'details', '--force-overwrite', '--export', kept]
    for section in SECTIONS:
        collect += ['--section', section]
    collect += bench_command(options, options.table_model, options.first_worlds, PROFILED_STEPS, PROFILED_STEPS)
    return collect, ['ncu', '--import', kept, '--page', 'source', '--csv', '--print-source']


def profiler(options, report, runner):
    """One launch after the warm-up under Nsight Compute. Not part of the exit code: a driver may not let users count."""
    with tempfile.TemporaryDirectory() as folder:
        kept = options.out.with_suffix('.ncu-rep') if options.out else pathlib.Path(folder) / 'launch.ncu-rep'
        collect, by_line = profile_commands(options, kept)
        missing = no_tool(options, 'ncu')
        if missing:
            report.say('\n'.join(f'left out, as there is no {missing}: {shown(command)}' for command in (collect, [*by_line, VIEWS[0]])))
            return True
        done = runner.run(collect, timeout=options.profiler_seconds)
        rows = [line.rstrip() for line in done.stdout.splitlines()
                if line.startswith('    ') and not line.strip().startswith(('OPT', 'INF'))]
        if done.returncode != 0 or not rows:
            report.say(f'ncu: {last_line(done)}')
            return True
        report.say('\n'.join(rows))
        for view in VIEWS:
            done = runner.run([*by_line, view], timeout=options.profiler_seconds)
            lines = samples_by_line(done.stdout)
            if lines:
                break
        if options.out:
            with gzip.open(options.out.with_suffix('.lines.csv.gz'), 'wt', encoding='utf-8') as file:
                file.write(done.stdout)
        say_lines(report, lines)
    return True


def samples_by_line(text):
    """{file:line: (source text, Counter of the columns' numbers)} of ncu's source page. Each source line's row is the sum over its
    instructions, whose rows follow it and have no number of a line; a line stands once for each function that it is part of."""
    lines, file, head = {}, '', []
    for row in csv.reader(io.StringIO(text)):
        if len(row) >= 2 and row[0] == 'File Path':
            file = row[1]
        elif row and row[0] == 'Line No':
            head = row
        elif head and len(row) == len(head) and row[0].isdigit():
            _, counts = lines.setdefault(f'{file}:{row[0]}', (row[1].strip(), collections.Counter()))
            for name, cell in zip(head[4:], row[4:]):
                if cell.replace(',', '').isdigit():
                    counts[name] += int(cell.replace(',', ''))
    return lines


def stalls(counts, most):
    """What warps waited for, the most frequent first, as shares of the samples."""
    reasons = sorted(((count, name) for name, count in counts.items() if name.startswith('stall_') and '(' not in name), reverse=True)
    return ', '.join(f'{name.removeprefix("stall_")} {100 * count / max(1, counts[SAMPLES]):.0f} %' for count, name in reasons[:most])


def say_lines(report, lines):
    total = sum((counts for _, counts in lines.values()), collections.Counter())
    if not total[SAMPLES]:
        report.say('\nno sample has a source line: were the programs built with -lineinfo, and is engine/ where this file is?')
        return
    report.say(f'\n{total[SAMPLES]:,} samples of warps, {total[INSTRUCTIONS]:,} instructions; waiting for: {stalls(total, 8)}\n')
    report.say('| source line | samples, % | instructions, % | waiting for | source |\n| --- | ---: | ---: | --- | --- |')
    for place, (source, counts) in sorted(lines.items(), key=lambda item: -item[1][1][SAMPLES])[:SHOWN_LINES]:
        _, found, below = place.rpartition('/engine/')
        report.say(f'| {found.strip("/") + "/" if found else ""}{below} | {100 * counts[SAMPLES] / total[SAMPLES]:.1f} | '
                   f'{100 * counts[INSTRUCTIONS] / max(1, total[INSTRUCTIONS]):.1f} | {stalls(counts, 3)} | '
                   f'`{source[:60].replace("|", "¦")}` |')


def sanitize(options, report, runner):
    """compute-sanitizer over a few steps of a few worlds. True where it finds nothing to complain of."""
    clean = True
    for tool in SANITIZERS:
        for model in options.sanitizer_models:
            command = ['compute-sanitizer', '--tool', tool, '--error-exitcode', 9, options.bin / 'axion-bench', '--model', model,
                       '--device', options.device, '--worlds', 2, '--steps', 3, '--warmup_steps', 0, '--json']
            missing = no_tool(options, 'compute-sanitizer')
            if missing:
                report.say(f'{tool}, {model.name}: left out, as there is no {missing}: {shown(command)}')
                continue
            done = runner.run(command, timeout=options.sanitizer_seconds)
            summary = [line for line in (done.stdout + done.stderr).splitlines() if 'SUMMARY' in line]
            clean &= done.returncode == 0
            report.say(f'{tool}, {model.name}: exit code {done.returncode}; '
                       f'{summary[-1].strip("= ") if summary else done.stderr.strip()[-300:]}')
    return clean
