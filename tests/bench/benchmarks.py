#!/usr/bin/env python3
"""Writes the figures of docs/benchmarks.md: runs the benchmarks of this folder and puts their tables between the page's marks.

A part that is not run keeps its figures, with the machine and the commit that they are of. gpu takes the report that gpu.py
wrote on a machine with a GPU (--gpu_report).

Usage: benchmarks.py --bin BUILD/bin --models DIRECTORY_OF_humanoid.xml [--parts compare largest_step growth rpc gpu]
"""

import argparse
import datetime
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PARTS = ['compare', 'largest_step', 'growth', 'rpc', 'gpu']


def output_of(command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False).stdout.strip()


def processor():
    names = [line.split(': ', 1)[1] for line in pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
             if line.startswith('model name')]
    return f'{names[0]}, {len(names)} cores' if names else 'unknown processor'


def commands(options):
    """Command of each part, and the same as a reader of the page would type it."""
    humanoid, shown = options.models / 'humanoid.xml', 'MODELS/humanoid.xml'
    bin_shown = 'build/release/bin'

    def both(program, arguments):
        pretty = [str(a).replace(str(humanoid), shown).replace(str(options.models), 'MODELS').replace(str(options.bin), bin_shown)
                  for a in arguments]
        return [program, *arguments], ' '.join([str(program).replace(str(HERE), 'tests/bench').replace(str(options.bin), bin_shown),
                                                *pretty])

    return {
        'compare': both(HERE / 'compare.py', ['--bin', options.bin, '--model', humanoid, '--worlds', 1, 256, '--threads', 1, 2]),
        'largest_step': both(HERE / 'largest_step.py', ['--bin', options.bin, '--models', options.models]),
        'growth': both(HERE / 'growth.py', ['--bin', options.bin, '--model', humanoid]),
        'rpc': both(options.bin / 'rpc_bench', ['--axiond', options.bin / 'axiond', '--model', humanoid, '--worlds', 1, '--worlds',
                                                256, '--worlds', 4096]),
    }


def replace_part(page, part, text):
    start, end = f'<!-- {part} -->', f'<!-- end of {part} -->'
    if start not in page or end not in page:
        raise RuntimeError(f'the page has no marks {start} and {end}')
    return page.split(start)[0] + start + '\n' + text + '\n' + end + page.split(end, 1)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, default=ROOT / 'build/release/bin')
    parser.add_argument('--models', type=pathlib.Path, help='directory of humanoid.xml; needed by every part but gpu')
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=PARTS[:-1])
    parser.add_argument('--gpu_report', type=pathlib.Path)
    parser.add_argument('--page', type=pathlib.Path, default=ROOT / 'docs/benchmarks.md')
    options = parser.parse_args()
    if options.models is None and options.parts != ['gpu']:
        parser.error('--models is missing')
    if 'gpu' in options.parts and options.gpu_report is None:
        parser.error('--gpu_report is missing')
    commit = output_of(['git', '-C', ROOT, 'describe', '--always', '--dirty'])
    failed = False
    for part in options.parts:
        if part == 'gpu':
            text = options.gpu_report.read_text(encoding='utf-8').replace('\n## ', '\n### ').strip()
        else:
            command, shown = commands(options)[part]
            done = subprocess.run([str(a) for a in command], capture_output=True, text=True, check=False)
            sys.stderr.write(done.stderr)
            if done.returncode not in (0, 1) or not done.stdout.strip():
                print(f'{part}: exit code {done.returncode}', file=sys.stderr)
                failed = True
                continue
            text = f'{processor()}, commit {commit}, {datetime.date.today()}:\n\n```sh\n{shown}\n```\n\n{done.stdout.strip()}'
        page = options.page.read_text(encoding='utf-8')
        options.page.write_text(replace_part(page, part, text), encoding='utf-8')
        print(f'{part}: written', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
