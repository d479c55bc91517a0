"""What a page says of where its figures come from: the processor, the commit, the day."""

import datetime
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(command):
    """What a command prints; '' where it cannot be run."""
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ''


def processor():
    names = [line.split(': ', 1)[1] for line in pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
             if line.startswith('model name')]
    return f'{names[0]}, {len(names)} cores' if names else 'unknown processor'


def commit():
    """Of the working tree, with -dirty where something else than docs/ has been changed since: pages are what is being written."""
    name = output_of(['git', '-C', ROOT, 'rev-parse', '--short=7', 'HEAD']) or 'unknown'
    changed = output_of(['git', '-C', ROOT, 'status', '--porcelain', '--untracked-files=no', '--', '.', ':!docs'])
    return f'{name}-dirty' if changed else name


def commits(programs):
    """The commit of the benchmarks and, where it is another, of the `programs` (a directory with axiond) that they measure."""
    said = re.search(r'revision ([0-9a-f]+)', output_of([programs / 'axiond', '--version']))
    ours = commit()
    if said is None or said[1].startswith(ours.removesuffix('-dirty')):
        return f'commit {ours}'
    return f'commit {ours}, programs of {said[1][:7]}'


def stamp(programs):
    return f'{processor()}, {commits(programs)}, {datetime.date.today()}'
