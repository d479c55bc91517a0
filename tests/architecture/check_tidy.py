#!/usr/bin/env python3
"""Runs clang-tidy by .clang-tidy over the sources of engine/, server/ and clients/, and the headers that they include.
Exit code 1 and clang-tidy's words when it finds something.

Most of clang-tidy's time goes into headers of libraries, gRPC's above all. So the sources of a folder that are compiled
alike are read as one, and what is found is told in the lines of the files that they come from. Sources that have a name
in common in their anonymous namespaces are kept apart; where those that were put together do not compile as one all the
same, they are read one by one.

Usage: check_tidy.py --build DIRECTORY [--clang_tidy PROGRAM] [--root DIRECTORY] [--jobs N] [--seconds] [PATH...]

DIRECTORY has compile_commands.json, and what is compiled from proto/ is built there. PATH: only sources below these.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

ROOMS = ('engine', 'server', 'clients')
# What clang 14 cannot compile: it asks g++'s __builtin_cpu_supports for levels of x86-64.
NOT_READ = {'engine/backend/cpu/run_row.cpp'}
# Of a command of g++ what a reader of the code must know; the rest is how it is optimised, and headers that are
# compiled once (-include), which sources include by themselves.
FLAGS = re.compile(r'-(D|I|U|std=|isystem|m(arch|avx|fma|sse))')
FLAGS_WITH_A_WORD = ('-D', '-I', '-U', '-isystem')
# Sources that are read together include what the others do.
NOT_TOGETHER = '-bugprone-suspicious-include,-readability-duplicate-include'
OWN_NAME = re.compile(r'(?!using|template)[A-Za-z][^=({;]*?[ *&>](\w+)(?:\[[^\]]*\])?\s*(\([^)]*|:(?!:)|[{=;])')
USED_NAME = re.compile(r'using (?:(\w+) = |(?:\w+::)+(\w+);).*')
PLACE = re.compile(r'^(?P<path>[^\s:]+):(?P<line>\d+):(?P<column>\d+): (?P<kind>warning|error|note): ')


@dataclasses.dataclass(frozen=True)
class Unit:
    """Sources that are read as one translation unit."""
    name: str
    files: tuple
    flags: tuple


@dataclasses.dataclass
class Result:
    unit: Unit
    findings: list      # lines of clang-tidy, with places in our files
    is_clash: bool      # nothing is known: the sources do not compile as one
    seconds: float


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--build', type=pathlib.Path, required=True)
    parser.add_argument('--clang_tidy', default='clang-tidy-14', help='program (%(default)s)')
    parser.add_argument('--root', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--seconds', action='store_true', help='print what each unit took')
    parser.add_argument('paths', nargs='*', help='only sources whose path begins so')
    return parser.parse_args()


def reader_flags(command):
    """What of a compiler's command decides what the code means."""
    words, flags = iter(shlex.split(command)), []
    for word in words:
        if FLAGS.match(word):
            flags.append(word)
            if word in FLAGS_WITH_A_WORD:
                flags.append(next(words))
    return tuple(flags)


def compiled_files(entry):
    """The sources that a command compiles: one, or those that CMake has put together (AXION_UNITY)."""
    path = (pathlib.Path(entry['directory']) / entry['file']).resolve()
    if path.parent.name == 'Unity' and path.exists():
        return [pathlib.Path(name).resolve() for name in re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE)]
    return [path]


def sources(options):
    """{path: flags} of each source once, the first command of those that compile it."""
    found = {}
    root = options.root.resolve()
    for entry in json.loads((options.build / 'compile_commands.json').read_text()):
        for path in compiled_files(entry):
            if not path.is_relative_to(root):
                continue
            name = path.relative_to(root).as_posix()
            if not name.startswith(tuple(f'{room}/' for room in ROOMS)) or path.suffix != '.cpp' or name in NOT_READ:
                continue
            if not options.paths or name.startswith(tuple(options.paths)):
                found.setdefault(name, reader_flags(entry['command']))
    return found


def own_names(text):
    """Names in a source's anonymous namespaces, functions with their parameters; of those that `using` brings that line, which
    another source may repeat, of others None. clang-format writes them from the first column."""
    names = dict.fromkeys(re.findall(r'^int (main)\(', text, re.MULTILINE))
    for block in re.findall(r'^namespace \{\n(.*?)^\}  // namespace$', text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if used := USED_NAME.match(line):
                names[used[1] or used[2]] = line
            elif own := OWN_NAME.match(line):
                names[own[1] + (own[2] if own[2].startswith('(') else '')] = None
    return names


def agree(names, others):
    """Whether two sources can be read as one, by their own names."""
    return all(names[name] is not None and names[name] == others[name] for name in names.keys() & others.keys())


def units(root, found):
    """Sources of one folder with the same flags whose own names agree make a unit."""
    groups = collections.defaultdict(list)   # of each folder and flags: [files, names]
    for path, flags in sorted(found.items()):
        names = own_names((root / path).read_text())
        parts = groups[path.rpartition('/')[0], flags]
        part = next((part for part in parts if agree(names, part[1])), None)
        if part is None:
            part = ([], {})
            parts.append(part)
        part[0].append(path)
        part[1].update(names)
    return [Unit(folder if len(files) > 1 else files[0], tuple(files), flags)
            for (folder, flags), parts in groups.items() for files, _ in parts]


def join(root, files):
    """The text of all files, and for each of its lines its (file, line)."""
    text, places = [], []
    for path in files:
        lines = (root / path).read_text().splitlines()
        text += lines
        places += [(path, number) for number in range(1, len(lines) + 1)]
    return '\n'.join(text) + '\n', places


def told(output, joined, places, root):
    """clang-tidy's lines with places in our files, relative to the root."""
    lines = []
    for line in output.splitlines():
        match = PLACE.match(line)
        if match and places and match['path'] == str(joined):
            path, number = places[min(int(match['line']), len(places)) - 1]
            line = f'{path}:{number}:{match["column"]}: {line[match.end("column") + 2:]}'
        lines.append(line.replace(f'{root}/', ''))
    return lines


def check(options, unit):
    start = time.monotonic()
    root = options.root.resolve()
    together = len(unit.files) > 1
    with tempfile.TemporaryDirectory() as folder:
        path, places = root / unit.files[0], None
        if together:
            path = pathlib.Path(folder) / 'room.cpp'
            text, places = join(root, unit.files)
            path.write_text(text)
        command = [options.clang_tidy, '--quiet', '--warnings-as-errors=*', f'--config-file={root}/.clang-tidy',
                   *([f'--checks={NOT_TOGETHER}'] if together else []), str(path), '--', '-x', 'c++', *unit.flags]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        findings = told(done.stdout, path, places, root)
    errors = [line for line in findings if '[clang-diagnostic-error]' in line or ': fatal error: ' in line]
    if done.returncode != 0 and not findings:
        findings = [f'{unit.name}: {options.clang_tidy} failed', *done.stderr.splitlines()[-5:]]
    return Result(unit, findings if done.returncode != 0 else [], together and bool(errors), time.monotonic() - start)


def one_by_one(unit):
    return [Unit(path, (path,), unit.flags) for path in unit.files]


def main():
    options = arguments()
    found = sources(options)
    if not found:
        print(f'check_tidy.py: {options.build}/compile_commands.json names no source to read', file=sys.stderr)
        return 2
    waiting = sorted(units(options.root, found), key=lambda unit: -len(unit.files))
    lines = set()
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(check, options, unit) for unit in waiting}
        while running:
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for result in (future.result() for future in done):
                if options.seconds:
                    how = ', does not compile as one: one by one' if result.is_clash else ''
                    print(f'{result.seconds:7.1f} s  {result.unit.name} ({len(result.unit.files)}){how}', flush=True)
                if result.is_clash:
                    running |= {pool.submit(check, options, unit) for unit in one_by_one(result.unit)}
                elif result.findings:
                    failed.append(result.unit.name)
                    fresh = [line for line in result.findings if line not in lines]
                    lines.update(line for line in fresh if PLACE.match(line))
                    print('\n'.join(fresh), flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f'{len(found)} sources, findings in {len(failed)}, {used.ru_utime + used.ru_stime:.0f} s of a processor')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
