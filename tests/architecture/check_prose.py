#!/usr/bin/env python3
"""Counts words that the style sheet keeps out of comments, docstrings and pages (CONTRIBUTING.md), and says how many there are in a
thousand lines of prose, room by room. Exit code 1 where the whole or a room has more than it may. Code, literals, code spans
and blocks of pages do not count.

Usage: check_prose.py [--root DIRECTORY] [--list]     --list: each place, as file:line: words
"""

import argparse
import collections
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_architecture import CPP_SUFFIXES, room_of, source_files  # noqa: E402
from source_text import cpp_comments  # noqa: E402

WORDS = re.compile(r'\b(?:the\s+same\s+of|those\s+(?:that|of)|what\s+of\s+it|whoever|nobody|everybody)\b', re.IGNORECASE)
# In a thousand lines of prose: of the whole, a little above what there is, to be lowered as that falls; and of a room that has
# some hundreds of lines.
MOST, MOST_OF_ROOM, LEAST_LINES = 14.0, 50.0, 200
PYTHON = re.compile(r'''(?P<quotes>"{3}|\'{3})(?:\\.|.)*?(?P=quotes)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*''', re.DOTALL)
# Pages whose lines are the messages of programs.
MESSAGES = {'docs/bad_input.md', 'docs/mjcf.md'}


def numbered(text, first=1):
    return list(enumerate(text.splitlines(), first))


def lines_of_python(text):
    """Comments, and docstrings: literals that begin a line after the head of a block, or a file."""
    lines = []
    for match in PYTHON.finditer(text):
        before, token = text[:match.start()], match.group(0)
        if token.startswith('#'):
            lines.append((before.count('\n') + 1, token.lstrip('#')))
        elif token.startswith(('"""', "'''")) and not before.rpartition('\n')[2].strip(' rR'):
            head = before.rstrip(' rR\n').rpartition('\n')[2]
            if head.endswith(':') or head.startswith('#') or not head:
                lines += numbered(token, before.count('\n') + 1)
    return lines


def lines_of_page(text):
    """A page without its blocks of code, and without what stands between backticks."""
    text = re.sub(r'^( *)```.*?^\1```', lambda block: '\n' * block.group(0).count('\n'), text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r'`[^`\n]+`', '`', text)
    return [(number, line) for number, line in numbered(text) if line.strip()]


def prose_of(path, text):
    """(line, text) of each line of prose in a file."""
    suffix = pathlib.PurePosixPath(path).suffix
    if suffix in CPP_SUFFIXES | {'.proto'}:
        return [line for first, comment in cpp_comments(text) for line in numbered(re.sub(r'(?m)^\s*//', '', comment), first)]
    if suffix == '.py':
        return lines_of_python(text)
    if suffix == '.md':
        return [] if path in MESSAGES else lines_of_page(text)
    if suffix in {'.sh', '.cmake', '.yaml', '.yml'} or path.endswith('CMakeLists.txt'):
        return [(number, match.group(1)) for number, line in numbered(text) if (match := re.search(r'(?:^|\s)#(?!!)(.*)', line))]
    return []


def found_in(lines):
    """(line, words) of each place; a sentence goes on in the next line, but not over what is no prose."""
    numbers, parts = [], []
    for number, line in lines:
        if numbers and number > numbers[-1] + 1:
            numbers.append(numbers[-1] + 1)
            parts.append('.')
        numbers.append(number)
        parts.append(line)
    text = '\n'.join(parts)
    return [(numbers[text.count('\n', 0, match.start())], ' '.join(match.group(0).split())) for match in WORDS.finditer(text)]


def files_of(root):
    yield from source_files(root)
    for pattern in ('*.md', 'docs/**/*.md', 'cmake/*', 'CMakeLists.txt'):
        yield from sorted(path.relative_to(root).as_posix() for path in root.glob(pattern))


def count(root):
    """Lines of prose by room, and places as (path, line, words)."""
    lines, places = collections.Counter(), []
    for path in files_of(root):
        prose = prose_of(path, (root / path).read_text(encoding='utf-8', errors='replace'))
        lines[room_of(path)] += len(prose)
        places += [(path, *place) for place in found_in(prose)]
    return lines, places


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--root', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    lines, places = count(options.root)
    if options.list:
        print(*(f'{path}:{line}: {words}' for path, line, words in places), sep='\n')
    found = collections.Counter(room_of(path) for path, _, _ in places)
    rates = [(room, found[room], lines[room], MOST_OF_ROOM if lines[room] >= LEAST_LINES else None) for room in sorted(lines)]
    rates.append(('all', len(places), sum(lines.values()), MOST))
    failed = False
    for room, words, prose, most in rates:
        rate = 1000 * words / prose if prose else 0.0
        above = most is not None and rate > most
        failed |= above
        print(f'{room:24} {words:5} in {prose:6} lines of prose, {rate:5.1f} in a thousand' + (f': at most {most} there' if above else ''))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
