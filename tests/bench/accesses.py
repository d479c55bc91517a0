#!/usr/bin/env python3
"""The order of heat in engine/model/world_places.hpp: fields of scratch by the bytes that a step moves a byte of theirs.

Steps each model with axion-accesses (ninja axion-accesses: it is not built with the rest) and prints for_each_heat's list, then
for each model which share of its accesses the list covers with some budgets of near memory, and what an order of its own would.
A model's weight follows it after a colon. Fields that no model accesses come last, in the order of for_each_field.

Usage: accesses.py --bin BUILD/bin MODEL.xml[:WEIGHT]...
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGETS_KIB = [4, 8, 15, 24, 35, 52, 100, 224]
ALIGNMENT = 64


def field_names():
    text = (ROOT / 'engine/model/world_view.hpp').read_text(encoding='utf-8')
    body = text[text.index('inline void for_each_field'):]
    return re.findall(r'f\(k(?:State|Parameter|Scratch), &W::(\w+)', body)


def count(options, model):
    """{name: (bytes of the field, as it is aligned; bytes moved a step)} of scratch, and all that is moved."""
    done = subprocess.run([options.bin / 'axion-accesses', '--model', model, '--worlds', str(options.worlds), '--steps',
                           str(options.steps), '--warmup_steps', str(options.warmup_steps)],
                          capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    names = field_names()
    assert len(rows) == len(names), 'for_each_field has changed: build axion-accesses again'
    total = sum(float(moved) for _, _, moved in rows)
    return {name: ((int(size) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT, float(moved))
            for name, (kind, size, moved) in zip(names, rows) if kind == '2'}, total


def covered(order, fields, total, budget):
    used = near = 0
    for name in order:
        size, moved = fields[name]
        if used + size <= budget:
            used, near = used + size, near + moved
    return near / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('models', nargs='+')
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--worlds', type=int, default=4)
    parser.add_argument('--steps', type=int, default=50)
    parser.add_argument('--warmup_steps', type=int, default=150)
    options = parser.parse_args()
    options.bin = options.bin.resolve()

    weights, counts = {}, {}
    for argument in options.models:
        path, _, weight = argument.partition(':')
        weights[path], counts[path] = float(weight or 1), count(options, path)
    names = list(next(iter(counts.values()))[0])
    share = {name: sum(w * counts[m][0][name][1] / counts[m][1] for m, w in weights.items()) / sum(weights.values())
             for name in names}
    size = {name: sum(w * max(ALIGNMENT, counts[m][0][name][0]) for m, w in weights.items()) for name in names}
    order = sorted(names, key=lambda name: -share[name] / size[name])
    for name in order:
        print(f'f(&W::{name}, {round(1000 * share[name])}),')

    print('\n| model | near, KiB | covered | by an order of its own |\n| --- | ---: | ---: | ---: |')
    for path, (fields, total) in counts.items():
        own = sorted(names, key=lambda name: -fields[name][1] / max(ALIGNMENT, fields[name][0]))
        for budget in BUDGETS_KIB:
            print(f'| {pathlib.Path(path).stem} | {budget} | {covered(order, fields, total, 1024 * budget):.2f} | '
                  f'{covered(own, fields, total, 1024 * budget):.2f} |')


if __name__ == '__main__':
    main()
