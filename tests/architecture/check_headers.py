#!/usr/bin/env python3
"""Compiles each header of the engine alone: what it names it includes. Exit code 1 and the compiler's first error of each header
that does not compile.

Usage: check_headers.py [--root DIRECTORY] [--compiler COMMAND] [PATH...]   paths below the root; all of engine/ without
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

FLAGS = ['-std=c++20', '-fsyntax-only', '-w', '-x', 'c++', '-']
FIRST_INCLUDE = re.compile(r'#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]')


def headers(root, paths):
    """Paths of headers, relative to the root."""
    for path in paths:
        found = [root / path] if (root / path).is_file() else sorted((root / path).rglob('*.hpp'))
        yield from (header.relative_to(root).as_posix() for header in found)


def error_of(root, compiler, header):
    """The compiler's first error where a source file includes the header and nothing else; empty if it compiles."""
    run = subprocess.run([*compiler.split(), '-I', str(root), *FLAGS], input=f'#include "{header}"\n', capture_output=True, text=True,
                         check=False, env=dict(os.environ, LC_ALL='C'))
    errors = [line for line in run.stderr.splitlines() if ' error: ' in line or line.startswith('error: ')]
    return '' if run.returncode == 0 else (errors or run.stderr.splitlines() or ['it failed without a word'])[0]


def compiled_by_others(root, names):
    """What a header includes before all else is compiled alone with it."""
    first = [FIRST_INCLUDE.search((root / name).read_text()) for name in names]
    return {match.group(2) for match in first if match and match.group(1) == '"'}


def check(root, compiler, paths):
    """Findings as (header, error), in order, and how many headers were compiled, by others or by themselves."""
    every = list(headers(root, paths))
    others = compiled_by_others(root, every)
    names = [name for name in every if name not in others]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(lambda header: error_of(root, compiler, header), names))
    return [(name, error) for name, error in zip(names, errors) if error], len(every)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('paths', nargs='*', default=['engine'])
    parser.add_argument('--root', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument('--compiler', default='c++')
    options = parser.parse_args()
    findings, count = check(options.root, options.compiler, options.paths)
    for header, error in findings:
        print(f'{header}: does not compile alone: {error}')
    print(f'{count} headers, {len(findings)} findings')
    return 1 if findings or count == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
