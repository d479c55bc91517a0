#!/usr/bin/env python3
"""The heat of the arrays that the engine declares (engine/model/array_list.hpp), counted on the emulated GPU.

Runs axion-ptx-profile with no near memory, a warp a world, on each model, and prints what to declare of each array of scratch:
Heat{rank, thousandths}. Ranks are by the sectors that a first cache of two KiB lets pass, a byte of the array, each model's traffic
being one times its weight; thousandths are the array's part of all accesses of warps to arrays. Arrays that no model accesses come
last, as they stand now.

Usage: heat.py --bin BUILD/bin MODEL.xml[:WEIGHT]...
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
ALIGNMENT = 64
DECLARATION = re.compile(r'^ +\w+<.*> (\w+)\{\s*"\1",[^;]*?Heat\{(\d+)(?:, \d+)?\}\};', re.MULTILINE)


def table(text, title):
    """{field: (units, accesses, bytes)} of one of the profile's tables."""
    rows = {}
    for line in text[text.index('by field: ' + title):].splitlines()[1:]:
        if not line.startswith(' '):
            break
        units, _, accesses, _, size, name = line.split()
        rows[name] = (float(units), float(accesses), int(size))
    return {name: row for name, row in rows.items() if row[2] > 0}


def declared_arrays():
    """Names of the arrays that have a rank, as step code writes them behind "w.", in the order of their ranks."""
    view = (ROOT / 'engine/world/world_view.hpp').read_text(encoding='utf-8')
    own = dict(re.findall(r'(\w+)<Real, Form> (\w+);', view))
    ranks = {}
    for header in (ROOT / 'engine').glob('*/*.hpp'):
        for struct, body in re.findall(r'struct (\w+) \{(.*?)^\};', header.read_text(encoding='utf-8'), re.DOTALL | re.MULTILINE):
            for name, rank in DECLARATION.findall(body):
                ranks[f'{own[struct]}.{name}' if struct in own else name] = int(rank)
    return sorted(ranks, key=ranks.get)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('models', nargs='+')
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--warmup_steps', type=int, default=100)
    parser.add_argument('--steps', type=int, default=20)
    options = parser.parse_args()

    fields = declared_arrays()
    heat, share, weights = dict.fromkeys(fields, 0.0), dict.fromkeys(fields, 0.0), 0
    for argument in options.models:
        model, _, weight = argument.partition(':')
        weight = float(weight or 1)
        weights += weight
        text = subprocess.run(
            [(options.bin / 'axion-ptx-profile').resolve(), '--model', model, '--worlds', '2', '--block_threads', '32',
             '--near_bytes', '0', '--warmup_steps', str(options.warmup_steps), '--steps', str(options.steps)],
            capture_output=True, text=True, check=True).stdout
        passed, far = table(text, 'sectors beyond'), table(text, 'sectors of far')
        all_passed, accesses = (sum(row[k] for row in rows.values()) for k, rows in ((0, passed), (1, far)))
        for name, (_, count, size) in far.items():
            if name in heat:
                size = (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
                heat[name] += weight * passed.get(name, (0,))[0] / all_passed / size
                share[name] += weight * count / accesses

    used = sorted((name for name in fields if share[name] > 0), key=lambda name: -heat[name])
    for rank, name in enumerate(used + [name for name in fields if share[name] == 0]):
        print(f'{name:40} Heat{{{rank}, {int(1000 * share[name] / weights)}}}')


if __name__ == '__main__':
    main()
