#!/usr/bin/env python3
"""Checks that pages name what is there: links lead to files and headings, files that are named by their full path exist, and the
README of a room that lists its files lists all of them. Exit code 1 and one line a finding ("file:line: text").

Pages of docs/experiments tell of their time, and may name what has gone.

Usage: check_pages.py [--root DIRECTORY]
"""

import argparse
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_architecture import CPP_SUFFIXES, source_files  # noqa: E402

LINK = re.compile(r'\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)')
NAMED = re.compile(r'(?<![\w./-])(?:cmake|clients|deploy|docs|engine|proto|server|tests|third_party|tools)/[\w./-]*\.\w+')
# Rooms whose README has a table of files.
LISTED_SUFFIXES = CPP_SUFFIXES | {'.py', '.proto', '.sh'}
LISTING_ROOMS = ('clients', 'deploy', 'engine', 'proto', 'server', 'tests/physics')


def anchors_of(text):
    """Of each heading, as a page's address has it."""
    return {re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-') for heading in re.findall(r'(?m)^#+ (.*)$', text)}


def pages_of(root):
    yield from sorted(root.glob('*.md'))
    for folder in ('clients', 'deploy', 'docs', 'engine', 'proto', 'server', 'tests', 'tools'):
        yield from sorted(path for path in (root / folder).rglob('*.md') if 'build' not in path.parts)


def check_links(root, page, text):
    for match in LINK.finditer(text):
        line, target, anchor = text.count('\n', 0, match.start()) + 1, page.parent / match.group(1), match.group(2)
        if not match.group(1):
            target = page
        if not target.exists():
            yield line, f'links to {match.group(1)}, which is not there'
        elif anchor and target.suffix == '.md' and anchor not in anchors_of(target.read_text(encoding='utf-8')):
            yield line, f'links to {match.group(1)}#{anchor}, and there is no such heading'


def check_names(root, text):
    """Files by their full path; what a page links to is looked at as a link."""
    text = LINK.sub(lambda link: ']' + re.sub(r'\S', ' ', link.group(0)[1:]), text)
    for match in NAMED.finditer(text):
        if not (root / match.group(0)).exists():
            yield text.count('\n', 0, match.start()) + 1, f'names {match.group(0)}, which is not there'


def check_listing(root, page, text, files):
    """Of a room whose README has a table of files, the files that it does not name."""
    room = page.parent.relative_to(root).as_posix()
    if page.name != 'README.md' or not room.startswith(LISTING_ROOMS) or not re.search(r'(?m)^\| (file|program) \|', text):
        return
    for path in map(pathlib.PurePosixPath, files):
        if path.parent.as_posix() != room or path.suffix not in LISTED_SUFFIXES or path.stem == '__init__':
            continue
        if not re.search(rf'(?<!\w){re.escape(path.stem)}(?!\w)', text):
            yield 1, f'lists the files of its room, and not {path.name}'


def check(root):
    """Findings as (page, line, text)."""
    files = list(source_files(root))
    for page in pages_of(root):
        name, text = page.relative_to(root).as_posix(), page.read_text(encoding='utf-8')
        findings = list(check_links(root, page, text)) + list(check_listing(root, page, text, files))
        if not name.startswith('docs/experiments/'):
            findings += check_names(root, text)
        yield from ((name, *finding) for finding in sorted(findings))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--root', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    findings = list(check(parser.parse_args().root.resolve()))
    for page, line, text in findings:
        print(f'{page}:{line}: {text}')
    print(f'{len(findings)} findings')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
