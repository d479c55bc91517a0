#!/usr/bin/env python3
"""Whether any start throws a robot: models of some folders, from their own start and from others that overlap.

  tests/bench/deep_starts.py DIRECTORY... [--bin build/release/bin] [--starts 3] [--precision float32] [--softness rigid] [--json FILE]

Every model below a DIRECTORY that loads (tests/bench/models.py says which files are models) steps for a second without controls
from --starts states, the first its own, the others drawn at random within its limits, so that links lie in each other and in the
floor; and for another second each without contacts and equalities. No body may be faster than in the latter by more than
3 (sqrt(2 g size) + depenetration_velocity) (tests/support/start_speeds.hpp). A table of what is worst in each model, worst first.
Exit codes: 0; 1 when a body is faster than that, or a program crashed.
"""

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def models_module():
    spec = importlib.util.spec_from_file_location('models', HERE / 'models.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODELS = models_module()


def starts_of(options, path):
    """What axion-models says of the starts of a file; None where it does not load."""
    try:
        _, assets = (MODELS.FILES.read_urdf if path.suffix == '.urdf' else MODELS.FILES.read_mjcf)(path)
    except (OSError, ValueError):
        return None
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for i, (name, content) in enumerate(assets.items()):
            (pathlib.Path(folder) / str(i)).write_bytes(content)
            lines.append(f'{name}\t{folder}/{i}\n')
        listed = pathlib.Path(folder) / 'assets'
        listed.write_text(''.join(lines), encoding='utf-8')
        command = [options.bin / 'axion-models', path, '--assets', listed, '--seconds', 0, '--starts', options.starts,
                   '--precision', options.precision, '--softness', options.softness]
        try:
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return [{'refused': f'longer than {options.timeout} s'}]
    if done.returncode != 0:
        why = f'exit code {done.returncode}'
        return [{'body': why, 'speed': float('inf'), 'allowed': 0, 'held': False, 'converged': 0, 'joint_error': 0}]
    return json.loads(done.stdout).get('starts')


def excess(start):
    speed = start['speed'] if start['speed'] is not None else float('inf')
    return speed / max(start['allowed'], 1e-9)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('directories', nargs='+', type=pathlib.Path)
    parser.add_argument('--bin', type=pathlib.Path, default=HERE.parents[1] / 'build/release/bin')
    parser.add_argument('--starts', type=int, default=3)
    parser.add_argument('--precision', choices=('float32', 'float64'), default='float32')
    parser.add_argument('--softness', choices=('rigid', 'mjcf'), default='rigid')
    parser.add_argument('--timeout', type=float, default=600)
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    rows, refused = [], []
    for directory in options.directories:
        for path in MODELS.documents(directory):
            starts = starts_of(options, path)
            if not starts:
                continue
            ran = [start for start in starts if 'refused' not in start]
            refused += [(path, start['refused']) for start in starts if 'refused' in start]
            if ran:
                worst = max(ran, key=excess)
                rows.append({'model': str(path.relative_to(directory)), 'starts': len(ran), **worst,
                             'held': all(start['held'] for start in ran), 'converged': min(start['converged'] for start in ran),
                             'joint_error': max(start['joint_error'] for start in ran)})
    rows.sort(key=excess, reverse=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding='utf-8')
    print('| model | starts | body | speed, m/s | allowed | least converged | joint error, mm |')
    print('| --- | ---: | --- | ---: | ---: | ---: | ---: |')
    for row in rows:
        speed = 'not finite' if row['speed'] is None else f'{row["speed"]:.2f}'
        print(f'| {row["model"]} | {row["starts"]} | {row["body"]} | {speed} | {row["allowed"]:.2f} | {100 * row["converged"]:.1f} % | '
              f'{1000 * row["joint_error"]:.3f} |')
    for path, why in refused:
        print(f'{path}: {why}', file=sys.stderr)
    print(f'\n{sum(row["held"] for row in rows)} of {len(rows)} models are held.')
    return 0 if all(row['held'] for row in rows) else 1


if __name__ == '__main__':
    sys.exit(main())
