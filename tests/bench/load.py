#!/usr/bin/env python3
"""Sixty-four honest clients of mixed scenes and sizes, without and with one that asks for all it can get: what each honest client waits
for, what each gets done, and what the server's memory does.

Usage: load.py BIN_DIRECTORY MODEL.xml [--seconds S] [--clients N] [--rate HZ] [--threads N], with an interpreter that has the package
axion. Ends with 1 where an honest client's p99 with the greedy one is above three times what it was, rates of clients differ by more than
a tenth, or memory grows after the warm-up. For a machine that does nothing else.
"""

import argparse
import asyncio
import multiprocessing
import pathlib
import re
import sys
import time

import grpc
import numpy as np
from axion.v1 import simulation_pb2 as sim
from axion.v1 import simulation_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess  # noqa: E402

PROCESSES = 4
SIZES = (1, 4, 16, 64)   # worlds
PENDULUM = ('<mujoco><worldbody><body><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -1" size=".05"/></body>'
            '</worldbody></mujoco>')
PILE = ('<mujoco><worldbody><geom type="plane" size="5 5 .1"/>' +
        ''.join(f'<body pos="0 0 {.15 + .22 * i}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for i in range(4)) +
        '</worldbody></mujoco>')
TIMES_SLOWER, RATE_SPREAD, GROWTH_MIB = 3.0, 0.1, 8
LEAST_P99 = 0.002  # s: shorter waits are the machine's own jitter


def channel(address):
    return grpc.aio.insecure_channel(address, [('grpc.use_local_subchannel_pool', 1), ('grpc.max_receive_message_length', -1)])


async def honest(address, mjcf, worlds, rate, start, seconds):
    """Steps at a fixed pace. Returns the waits, in seconds."""
    async with channel(address) as own:
        stub = simulation_pb2_grpc.SimulationStub(own)
        model = (await stub.CreateModel(sim.CreateModelRequest(mjcf=mjcf))).name
        batch = (await stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=worlds))).name
        waits, due = [], start
        while due < start + seconds:
            await asyncio.sleep(max(0, due - time.monotonic()))
            begin = time.monotonic()
            await stub.Step(sim.StepRequest(batch=batch, outputs=['body_pose']))
            waits.append(time.monotonic() - begin)
            due = max(due + 1 / rate, begin)
        await stub.DeleteBatch(sim.DeleteBatchRequest(name=batch))
        return waits


async def greedy(address, mjcf, start, seconds):
    """As many long steps of many worlds as the server takes, and at once again what it refuses. Returns how many it got."""
    async with channel(address) as own:
        stub = simulation_pb2_grpc.SimulationStub(own)
        model = (await stub.CreateModel(sim.CreateModelRequest(mjcf=mjcf))).name
        batches = [(await stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=2048))).name for _ in range(4)]

        async def ask(batch):
            done = 0
            while time.monotonic() < start + seconds:
                try:
                    await stub.Step(sim.StepRequest(batch=batch, step_count=20, outputs=['body_pose']), timeout=seconds)
                    done += 1
                except grpc.RpcError:
                    await asyncio.sleep(0.01)
            return done

        done = sum(await asyncio.gather(*(ask(batch) for batch in batches for _ in range(32))))
        for batch in batches:
            await stub.DeleteBatch(sim.DeleteBatchRequest(name=batch))
        return done


async def crowd(address, clients, rate, start, seconds):
    return await asyncio.gather(*(honest(address, mjcf, worlds, rate, start, seconds) for mjcf, worlds in clients))


def run_crowd(arguments):
    return asyncio.run(crowd(*arguments))


def run_greedy(arguments):
    return asyncio.run(greedy(*arguments))


def rss(server):
    return int(re.search(r'VmRSS:\s+(\d+)', pathlib.Path(f'/proc/{server.process.pid}/status').read_text()).group(1)) / 1024


def phase(server, pool, clients, mjcf, arguments, with_greedy):
    """Waits of each client, and the server's memory over the time."""
    start = time.monotonic() + 3  # by then all have made their batches
    parts = [pool.apply_async(run_crowd, ((server.address, clients[i::PROCESSES], arguments.rate, start, arguments.seconds),))
             for i in range(PROCESSES)]
    other = pool.apply_async(run_greedy, ((server.address, mjcf, start, arguments.seconds),)) if with_greedy else None
    memory = []
    while time.monotonic() < start + arguments.seconds:
        time.sleep(0.5)
        memory.append(rss(server))
    waits = [None] * len(clients)
    for i, part in enumerate(parts):
        waits[i::PROCESSES] = part.get(arguments.seconds + 60)
    return waits, memory, other.get(arguments.seconds + 60) if other else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bin', type=pathlib.Path)
    parser.add_argument('model', type=pathlib.Path)
    parser.add_argument('--seconds', type=float, default=60, help='of each of the two phases')
    parser.add_argument('--clients', type=int, default=64)
    parser.add_argument('--rate', type=float, default=10, help='steps a second that each honest client asks for')
    parser.add_argument('--threads', type=int, default=0)
    arguments = parser.parse_args()
    mjcf = arguments.model.read_text()
    scenes = (mjcf, PENDULUM, PILE)
    clients = [(scenes[i % 3], SIZES[i // 3 % 4]) for i in range(arguments.clients)]
    faults = []
    with AxiondProcess(arguments.bin / 'axiond', f'--threads={arguments.threads}') as server, \
            multiprocessing.get_context('spawn').Pool(PROCESSES + 1) as pool:
        results = {}
        pool.map(time.sleep, [1] * (PROCESSES + 1), 1)  # they are there
        for name, with_greedy in (('without', False), ('with', True)):
            waits, memory, got = results[name] = phase(server, pool, clients, mjcf, arguments, with_greedy)
            p99 = [np.quantile(w, 0.99) for w in waits]
            rates = [len(w) / arguments.seconds for w in waits]
            half = len(memory) // 2
            growth = np.mean(memory[half + half // 2:]) - np.mean(memory[half:half + half // 2])
            print(f'{name} the greedy client ({got} of its steps): honest p50 {1e3 * np.median(np.concatenate(waits)):.2f} ms, p99 of a '
                  f'client {1e3 * np.median(p99):.2f} ms (worst {1e3 * max(p99):.2f}), rates {min(rates):.2f} to {max(rates):.2f} Hz, '
                  f'memory {memory[-1]:.0f} MiB, {growth:+.1f} over the last quarter', flush=True)
            if min(rates) < (1 - RATE_SPREAD) * max(rates):
                faults.append(f'{name}: rates from {min(rates):.2f} to {max(rates):.2f} Hz')
            if growth > GROWTH_MIB:
                faults.append(f'{name}: memory grew by {growth:.1f} MiB')
    alone, beside = ([max(np.quantile(w, 0.99), LEAST_P99) for w in results[name][0]] for name in ('without', 'with'))
    ratios = [b / a for a, b in zip(alone, beside, strict=True)]
    print(f'p99 with the greedy client over that without: median {np.median(ratios):.2f}, worst {max(ratios):.2f}')
    if max(ratios) > TIMES_SLOWER:
        faults.append(f'{sum(ratio > TIMES_SLOWER for ratio in ratios)} clients wait more than {TIMES_SLOWER:g} times as long')
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
