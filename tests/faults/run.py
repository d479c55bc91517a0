#!/usr/bin/env python3
"""Does faults to a real axiond, one a round and at random, and checks after each that what it promised holds: acknowledged snapshots are
whole, no step is counted twice, trajectories have the bits of a server to which nothing happened, memory and descriptors are given
back. Ends with 1 where a promise was broken.

Usage: run.py BIN_DIRECTORY MODEL.xml [--rounds N] [--seed S] [--only KIND]..., with an interpreter that has the package axion.
"""

import argparse
import collections
import faulthandler
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))

from axiond_process import PATIENCE_SECONDS  # noqa: E402
from farm import HEAP, Broken, Course, Farm  # noqa: E402
from kinds import KINDS  # noqa: E402

ROUND_SECONDS = PATIENCE_SECONDS + 60  # after which all stacks are written, and the server and the command end
SMALL_DISK = '48m'


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bin', type=pathlib.Path)
    parser.add_argument('model', type=pathlib.Path)
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', action='append', choices=[kind.__name__ for kind in KINDS], help='a kind of fault; may be repeated')
    return parser.parse_args()


def deck(kinds, rounds, chance):
    """Kinds in random order, each as often as the others."""
    drawn = []
    while len(drawn) < rounds:
        drawn += chance.sample(kinds, len(kinds))
    return drawn[:rounds]


def small_disk(folder):
    """A file system of its own for the state, seen by this process and its children alone; whether it could be had."""
    folder.mkdir()
    return subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={SMALL_DISK}', 'none', str(folder)], capture_output=True).returncode == 0


def in_a_mount_namespace():
    """Begins anew where mounts vanish with the process, if that may be."""
    if '--namespace' in sys.argv:
        sys.argv.remove('--namespace')
        return True
    inside = ['unshare', '--mount', '--propagation', 'private']
    if shutil.which('unshare') is None or subprocess.run([*inside, 'true'], capture_output=True).returncode != 0:
        return False
    sys.exit(subprocess.run([*inside, sys.executable, '-B', *sys.argv, '--namespace']).returncode)


def raise_descriptor_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def give_up(farm):
    faulthandler.dump_traceback()
    farm.server.process.kill()  # what waits for the end of the output waits for every process that may write it
    os._exit(1)


def main():
    namespace = in_a_mount_namespace()
    arguments = parse()
    raise_descriptor_limit()
    kinds = [kind for kind in KINDS if not arguments.only or kind.__name__ in arguments.only]
    begin, times = time.monotonic(), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / 'disk'
        disk = small_disk(folder) if namespace else folder.mkdir()
        program = arguments.bin / 'axiond'
        farm = Farm(program, [Course(program, arguments.model.read_text()), Course(program, HEAP)], folder)
        farm.small_disk = bool(disk)
        print(f'state on {"a file system of " + SMALL_DISK if disk else "the disk"}; seed {arguments.seed}', flush=True)
        try:
            for number, kind in enumerate(deck(kinds, arguments.rounds, random.Random(arguments.seed))):
                watch = threading.Timer(ROUND_SECONDS, give_up, [farm])
                watch.daemon = True
                watch.start()
                start = time.monotonic()
                try:
                    lost = kind(farm, random.Random(f'{arguments.seed} {number}'))
                    farm.check(lost)
                except Exception as error:  # noqa: BLE001 - told with what led to it
                    if not isinstance(error, Broken):
                        traceback.print_exc()
                    print(f'round {number}, {kind.__name__}: {error}\n--- the end of the server\'s log:', file=sys.stderr)
                    print(farm.server.log_text()[-3000:], file=sys.stderr)
                    return 1
                finally:
                    watch.cancel()
                took = time.monotonic() - start
                times[kind.__name__].append(took)
                print(f'round {number:3} {kind.__name__:34} {took:5.2f} s, {len(farm.snapshots)} snapshots, '
                      f'{farm.status("VmRSS") >> 20} MiB, {farm.open_descriptors()} descriptors', flush=True)
        finally:
            farm.close()
            if disk:
                subprocess.run(['umount', '-l', str(folder)], check=False)
    for name, rounds in times.items():
        print(f'{name:34} {len(rounds):4} rounds, {sum(rounds) / len(rounds):5.2f} s each')
    total = sum(map(len, times.values()))
    print(f'{total} rounds in {time.monotonic() - begin:.0f} s: every promise was kept')
    return 0


if __name__ == '__main__':
    sys.exit(main())
