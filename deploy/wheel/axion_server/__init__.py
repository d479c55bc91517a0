"""The program axiond of Axion Server as a Python package."""

import os
import pathlib
import sys

__all__ = ['main', 'program']


def program() -> pathlib.Path:
    """The path of axiond."""
    return pathlib.Path(__file__).resolve().parent / 'bin' / 'axiond'


def main() -> None:
    """Becomes axiond with this process's arguments: signals and the exit code are its own."""
    path = os.fspath(program())
    os.execv(path, [path, *sys.argv[1:]])
