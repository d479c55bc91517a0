"""The peer: the newest MuJoCo of PyPI. Where it is, which of its ways to step are measured, and how mujoco_bench.py is asked for a run.

Needs Python's own library alone; mujoco_bench.py needs mujoco, and runs with an interpreter that has it.
"""

import json
import math
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().with_name('mujoco_bench.py')
# Name in tables: flags of mujoco_bench.py. `discrete` solves constraints and the implicit update in one; speculative contacts look ahead.
VARIANTS = {'implicitfast': ['--integrator', 'implicitfast'], 'discrete': ['--integrator', 'discrete'],
            'discrete, speculative': ['--integrator', 'discrete', '--speculative']}
VERSION_OF = 'import mujoco, mujoco.batch; print(mujoco.__version__)'


def said(command):
    """(whether it went well, its last line)."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    except OSError as error:
        return False, str(error)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else ''


def add_flag(parser):
    parser.add_argument('--mujoco_python', type=pathlib.Path,
                        help='an interpreter that has mujoco 4.0 or later; default: this one, or a virtual environment beside --bin')


def find(options):
    """(interpreter that has the peer, its version), or (None, why there is none). Installs it beside --bin where it is nowhere."""
    named, folder = options.mujoco_python, options.bin.resolve().parent / 'mujoco-venv'
    for python in [named] if named else [sys.executable, folder / 'bin/python']:
        good, text = said([python, '-c', VERSION_OF])
        if good:
            return python, text
    if named:
        return None, text
    for command in ([sys.executable, '-m', 'venv', folder], [folder / 'bin/python', '-m', 'pip', 'install', '-q', 'mujoco>=4', 'numpy']):
        good, text = said(command)
        if not good:
            return None, text
    good, text = said([folder / 'bin/python', '-c', VERSION_OF])
    return (folder / 'bin/python', text) if good else (None, text)


def sides(options, python):
    """{name: command} of the engines that take axion-bench's flags: Axion's, and the peer's in each variant where there is a `python`."""
    both = {'axion': [options.bin / 'axion-bench', '--device', 'cpu']}
    if python:
        both.update({name: [python, '-B', BENCH, *flags] for name, flags in VARIANTS.items()})
    return both


def run(command, *arguments):
    """The report of one run, as a dictionary; None where the program refuses, with its words on standard error."""
    done = subprocess.run([str(part) for part in (*command, '--json', *arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f'{" ".join(map(str, command))}: {done.stderr.strip()}', file=sys.stderr)
        return None
    return json.loads(done.stdout)


def look(side, command, *arguments):
    """A run for how well it was solved, not how fast: the peer looks at its contacts after every step of it. As run()."""
    return run(command, *arguments, *([] if side == 'axion' else ['--look']))


def millimetres(report, field):
    """A length of a report for a table."""
    value = report.get(field) if report else None
    return '-' if value is None or not math.isfinite(value) else f'{1000 * value:.2f}'
