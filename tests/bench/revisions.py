#!/usr/bin/env python3
"""Speed of several builds of axion-bench on the same files, in turns, as ratios to the first of them.

Each turn runs every build once on a file, forwards and backwards by turns; a figure is the median over the turns of the ratio of
two runs beside each other. Builds agree in what they step only as far as their revisions do: what a later one reads of a file, and
an earlier one left out, counts as time.

Usage: revisions.py NAME=PROGRAM NAME=PROGRAM... --models MODELS [--repeat N]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import growth

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / 'clients/examples/models'


def cases(models, folder):
    """Name, file, worlds and world-steps of each row."""
    wheeled, humanoid = HERE / 'wheeled_robot.xml', models / 'humanoid.xml'
    piles = {count: folder / f'pile{count}.xml' for count in (50, 200)}
    for count, path in piles.items():
        path.write_text(growth.pile(count), encoding='utf-8')
    return [('humanoid, 1 world', humanoid, 1, 12000), ('humanoid, 256 worlds', humanoid, 256, 50000),
            ('quadruped, 256 worlds', EXAMPLES / 'quadruped.xml', 256, 50000),
            ('wheeled robot, 1 world', wheeled, 1, 20000), ('wheeled robot, 256 worlds', wheeled, 256, 75000),
            ('ant, 64 worlds', models / 'ant.xml', 64, 50000), ('hopper, 256 worlds', models / 'hopper.xml', 256, 150000),
            ('50 spheres, 2 worlds', piles[50], 2, 8000), ('200 spheres, 2 worlds', piles[200], 2, 1600)]


def speed(program, path, worlds, world_steps):
    """World-steps a second of one run."""
    done = subprocess.run([program, '--model', path, '--worlds', str(worlds), '--steps', str(max(1, world_steps // worlds)),
                           '--warmup_steps', '20', '--device', 'cpu', '--json'], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{program}: {done.stderr.strip()}')
    return json.loads(done.stdout)['steps_per_second']


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('builds', nargs='+', metavar='NAME=PROGRAM',
                        help='axion-bench of each revision; the first is what others are told by')
    parser.add_argument('--models', type=pathlib.Path, required=True, help='folder of humanoid.xml, ant.xml and hopper.xml')
    parser.add_argument('--repeat', type=int, default=7, help='turns')
    parser.add_argument('--shrink', type=int, default=1, help='divides the number of steps, for a first look')
    options = parser.parse_args()
    builds = [build.partition('=')[::2] for build in options.builds]
    print('| | ' + ' | '.join(name for name, _ in builds) + ' |\n| --- |' + ' --- |' * len(builds))
    with tempfile.TemporaryDirectory() as folder:
        for row, path, worlds, steps in cases(options.models, pathlib.Path(folder)):
            speeds = [[] for _ in builds]
            for turn in range(options.repeat):
                for i in range(len(builds))[::1 if turn % 2 == 0 else -1]:
                    speeds[i].append(speed(builds[i][1], path, worlds, steps // options.shrink))
            ratios = [statistics.median(own / first for own, first in zip(of_build, speeds[0])) for of_build in speeds]
            print(f'| {row} | ' + ' | '.join(f'{ratio:.3f}' for ratio in ratios) + ' |', flush=True)


if __name__ == '__main__':
    main()
