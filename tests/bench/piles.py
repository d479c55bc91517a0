#!/usr/bin/env python3
"""Piles of 300 spheres, boxes, cylinders, convex meshes and all of them together: whether they settle, and what a step costs.

Each pile falls between four walls and comes to rest; what is round may roll for long, as nothing resists rolling. A row a pile: the deepest
overlap of any step of the last half second, the fastest body at its end (m/s), bodies that move at all, the share of its steps that
converged, contacts, and the time of a step in it, also as a multiple of the spheres'.

Usage: piles.py BIN_DIRECTORY [--bodies 300] [--seconds 5] [--dt 0.005] [--threads 1], with an interpreter that has the package axion.
Ends with 1 where a pile overlaps by a millimetre or more at rest, or more than one body in fifty still moves.
"""

import argparse
import pathlib
import sys
import time

import axion
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess  # noqa: E402

DEEPEST, MOVES, MOST_MOVING = 1e-3, 0.05, 0.02     # m, m/s, share of the bodies
SPACING, PER_SIDE = 0.24, 5           # m between bodies of a layer; a layer has PER_SIDE of them along each side
KINDS = ('sphere', 'box', 'cylinder', 'mesh')
# About 0.2 m wide each. The meshes are a frustum, a prism of six sides and half a ball.
SHAPES = {'sphere': ('type="sphere" size=".1"',), 'box': ('type="box" size=".09 .08 .06"', 'type="box" size=".06 .09 .08"'),
          'cylinder': ('type="cylinder" size=".08 .06"', 'type="cylinder" size=".06 .09"'),
          'mesh': tuple(f'type="mesh" mesh="{name}"' for name in ('frustum', 'prism', 'dome'))}


def meshes():
    """MJCF of the vertices of the three meshes, whose hulls collide."""
    frustum = [(x * s, y * s, z) for z, s in ((-.06, 1), (.06, .7)) for x in (-.1, .1) for y in (-.08, .08)]
    prism = [(.09 * np.cos(k * np.pi / 3), .09 * np.sin(k * np.pi / 3), z) for z in (-.05, .05) for k in range(6)]
    dome = [(.1 * np.sin(t) * np.cos(f), .1 * np.sin(t) * np.sin(f), .1 * np.cos(t) - .04) for t in np.linspace(0, np.pi / 2, 5)
            for f in np.linspace(0, 2 * np.pi, 12, endpoint=False)]
    return ''.join(f'<mesh name="{name}" vertex="{" ".join(f"{number:.6f}" for vertex in vertices for number in vertex)}"/>'
                   for name, vertices in (('frustum', frustum), ('prism', prism), ('dome', dome)))


def pile(kinds, count):
    """MJCF of `count` bodies of 1 kg in layers above the floor between four walls, each turned another way."""
    draw, wall = np.random.default_rng(7), SPACING * PER_SIDE / 2 + .02
    parts = [f'<mujoco><asset>{meshes()}</asset><default><geom friction=".5" mass="1"/></default><worldbody>',
             '<geom type="plane" size="9 9 1" mass="0"/>']
    for x, y, quat in ((-1, 0, '1 0 1 0'), (1, 0, '1 0 -1 0'), (0, -1, '1 -1 0 0'), (0, 1, '1 1 0 0')):
        parts.append(f'<geom type="plane" size="9 9 1" mass="0" pos="{x * wall:g} {y * wall:g} 0" quat="{quat}"/>')
    for i in range(count):
        place = [SPACING * (k - (PER_SIDE - 1) / 2) + draw.uniform(-.01, .01) for k in (i % PER_SIDE, i // PER_SIDE % PER_SIDE)]
        variants = SHAPES[kinds[i % len(kinds)]]
        shape = variants[i // len(kinds) % len(variants)]
        turn = ' '.join(f'{number:.6f}' for number in draw.standard_normal(4))
        parts.append(f'<body pos="{place[0]:.6f} {place[1]:.6f} {.14 + .26 * (i // PER_SIDE ** 2):.6f}" quat="{turn}"><freejoint/>'
                     f'<geom {shape}/></body>')
    return ''.join(parts + ['</worldbody></mujoco>'])


def settle(client, kinds, options):
    """The last half second of a pile that fell for --seconds: figures by name."""
    model = client.create_model(mjcf=pile(kinds, options.bodies))
    with client.create_batch(model, world_count=1, dt=options.dt) as batch:
        last = round(.5 / options.dt)
        for _ in range(max(0, round(options.seconds / options.dt) - last)):
            batch.step(steps=1)
        seconds, overlap, converged, contacts = 0.0, 0.0, 0, []
        for _ in range(last):
            begin = time.perf_counter()
            result = batch.step(steps=1)
            seconds += time.perf_counter() - begin
            converged += int(result.converged[0])
            overlap = max(overlap, float(batch.world_stats().max_penetration[0]))
        contacts = len(batch.contacts())
        velocity = batch.get_state('body_velocity')['body_velocity'][0]
        speed = np.linalg.norm(velocity[:, :3], axis=1)
        return {'overlap': overlap, 'fastest': float(speed.max()), 'moving': int((speed > MOVES).sum()), 'converged': converged / last,
                'contacts': contacts, 'ms': 1000 * seconds / last}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('bin', type=pathlib.Path)
    parser.add_argument('--bodies', type=int, default=300)
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--dt', type=float, default=0.005)
    parser.add_argument('--threads', type=int, default=1)
    options = parser.parse_args()
    server, failed, spheres = AxiondProcess(options.bin / 'axiond', f'--threads={options.threads}'), [], None
    print(f'| {options.bodies} bodies | deepest overlap, mm | fastest, m/s | above 0.05 m/s | converged | contacts | ms a step |'
          ' over spheres |')
    print('| --- | --- | --- | --- | --- | --- | --- | --- |')
    try:
        with axion.Client(server.address) as client:
            for kinds in [(kind,) for kind in KINDS] + [KINDS]:
                name = kinds[0] if len(kinds) == 1 else 'all four'
                row = settle(client, kinds, options)
                spheres = spheres or row['ms']
                print(f'| {name} | {1000 * row["overlap"]:.3f} | {row["fastest"]:.3f} | {row["moving"]} |'
                      f' {100 * row["converged"]:.1f} % |'
                      f' {row["contacts"]} | {row["ms"]:.2f} | {row["ms"] / spheres:.2f} |', flush=True)
                if row['overlap'] >= DEEPEST or row['moving'] > MOST_MOVING * options.bodies:
                    failed.append(name)
    finally:
        server.close()
    if failed:
        print(f'not at rest, or in each other: {", ".join(failed)}', file=sys.stderr)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
