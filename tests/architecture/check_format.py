#!/usr/bin/env python3
"""Checks that all C++ and CUDA sources are as clang-format writes them by .clang-format. Exit code 1 and the name of each
file that is not; --fix writes them.

Usage: check_format.py [--clang_format PROGRAM] [--root DIRECTORY] [--fix]
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_architecture import CPP_SUFFIXES, source_files  # noqa: E402

FILES_A_CALL = 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\nUsage')[0])
    parser.add_argument('--clang_format', default='clang-format', help='program (%(default)s)')
    parser.add_argument('--root', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument('--fix', action='store_true', help='write the files in place')
    return parser.parse_args()


def unformatted(program, root, paths, fix):
    """Names in `paths` that clang-format would change; none when `fix` has it write them."""
    command = [program, '--style=file', *(['-i'] if fix else ['--dry-run', '-Werror']), *paths]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    named = {line.split(':')[0] for line in done.stderr.splitlines()}
    return [path for path in paths if path in named] or [done.stderr.strip()]


def main():
    options = arguments()
    paths = [path for path in source_files(options.root) if pathlib.PurePosixPath(path).suffix in CPP_SUFFIXES]
    calls = [paths[i:i + FILES_A_CALL] for i in range(0, len(paths), FILES_A_CALL)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = sum(pool.map(lambda call: unformatted(options.clang_format, options.root, call, options.fix), calls), [])
    for path in found:
        print(f'{path}: not as clang-format writes it; tests/architecture/check_format.py --fix')
    print(f'{len(paths)} files, {len(found)} to be formatted')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
