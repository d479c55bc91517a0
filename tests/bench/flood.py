#!/usr/bin/env python3
"""What a client waits for whose neighbours call as fast as they can: its Steps alone, and beside connections that never have fewer calls
open than they may and never wait for an answer.

Usage: flood.py BIN_DIRECTORY MODEL.xml [--connections N] [--open N...] [--runs N] [--seconds S] [--method NAME] [--lawless], with an
interpreter that has the package axion. --open tries the server's --max_concurrent_calls with these numbers; --lawless sends on beyond
what the server allows, over a new connection whenever one is ended. For a machine that does nothing else.
"""

import argparse
import contextlib
import itertools
import multiprocessing
import pathlib
import select
import socket
import sys
import time

import grpc
from axion.v1 import simulation_pb2 as sim
from axion.v1 import simulation_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess  # noqa: E402

DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
END_STREAM, END_HEADERS, ACKNOWLEDGED = 1, 4, 1
MOST_STEPS, AT_ONCE = 500, 256
LARGEST = (2**31 - 1).to_bytes(4, 'big')


def frame(kind, flags, stream, payload=b''):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + payload


def greeting():
    """Windows for answers that never shut."""
    return (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, 0, 0, b'\0\4' + LARGEST) +
            frame(WINDOW_UPDATE, 0, 0, (2**31 - 1 - 65535).to_bytes(4, 'big')) + frame(SETTINGS, ACKNOWLEDGED, 0))


def calls(method, body, first, count):
    """That many calls, with streams of odd numbers from `first` on."""
    headers = b'\x83\x86' + b''.join(
        b'\x00' + bytes([len(name)]) + name + bytes([len(value)]) + value
        for name, value in ((b':path', f'/axion.v1.Simulation/{method}'.encode()), (b':authority', b'a'), (b'te', b'trailers'),
                            (b'content-type', b'application/grpc')))
    message = b'\0' + len(body).to_bytes(4, 'big') + body
    return b''.join(frame(HEADERS, END_HEADERS, stream, headers) + frame(DATA, END_STREAM, stream, message)
                    for stream in range(first, first + 2 * count, 2))


def flood(port, method, body, most, sent):
    """Never fewer than `most` calls open, however many that are."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port)) as wire:
            wire.sendall(greeting())
            wire.setblocking(False)
            stream, is_open, unsent, unread = 1, 0, b'', b''
            while True:
                if not unsent and is_open < most:
                    count = min(most - is_open, AT_ONCE)
                    unsent = calls(method, body, stream, count)
                    stream, is_open = stream + 2 * count, is_open + count
                    with sent.get_lock():
                        sent.value += count
                readable, writable, _ = select.select([wire], [wire] if unsent else [], [], 1)
                if writable:
                    with contextlib.suppress(BlockingIOError):
                        unsent = unsent[wire.send(unsent):]
                if not readable:
                    continue
                data = wire.recv(1 << 20)
                if not data:
                    raise ConnectionError('ended by the server')
                unread += data
                at = 0
                while len(unread) - at >= 9 and len(unread) - at >= 9 + int.from_bytes(unread[at:at + 3], 'big'):
                    size, kind, flags = int.from_bytes(unread[at:at + 3], 'big'), unread[at + 3], unread[at + 4]
                    is_open -= kind in (DATA, HEADERS) and flags & END_STREAM
                    if kind == PING and not flags & ACKNOWLEDGED:
                        unsent += frame(PING, ACKNOWLEDGED, 0, unread[at + 9:at + 9 + size])
                    at += 9 + size
                unread = unread[at:]


def waits(stub, batch, seconds):
    """Of one Step after another, in milliseconds, the shortest first."""
    found, end = [], time.monotonic() + seconds
    for _ in itertools.repeat(None, MOST_STEPS):
        begin = time.monotonic()
        stub.Step(sim.StepRequest(batch=batch), timeout=60)
        found.append(1e3 * (time.monotonic() - begin))
        if time.monotonic() > end:
            break
    return sorted(found)


def text(found):
    p99 = found[min(len(found) - 1, len(found) * 99 // 100)]
    return f'{len(found):3} Steps, median {found[len(found) // 2]:6.1f} ms, p99 {p99:6.1f}, longest {found[-1]:6.1f}'


def run(options, most):
    with AxiondProcess(options.bin / 'axiond', '--threads=1', f'--max_concurrent_calls={most}') as server:
        stub = simulation_pb2_grpc.SimulationStub(grpc.insecure_channel(server.address))
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=options.model.read_text())).name
        own, other = (stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1)).name for _ in range(2))
        body = sim.StepRequest(batch=other).SerializeToString() if options.method == 'Step' else b''
        alone = waits(stub, own, options.seconds)
        sent = multiprocessing.Value('q', 0)
        arguments = (server.port, options.method, body, 10**9 if options.lawless else most, sent)
        crowd = [multiprocessing.Process(target=flood, args=arguments, daemon=True) for _ in range(options.connections)]
        for one in crowd:
            one.start()
        time.sleep(1)
        before, begin = sent.value, time.monotonic()
        beside = waits(stub, own, options.seconds)
        rate = (sent.value - before) / (time.monotonic() - begin)
        for one in crowd:
            one.kill()
            one.join()
        print(f'{options.connections} connections, {most:4} calls each: alone {text(alone)}; beside {rate:6.0f} calls a second '
              f'of {options.method} {text(beside)}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('bin', type=pathlib.Path)
    parser.add_argument('model', type=pathlib.Path)
    parser.add_argument('--connections', type=int, default=4)
    parser.add_argument('--open', type=int, nargs='+', default=[256])
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--method', default='ListModels', choices=('ListModels', 'ListBatches', 'GetServerInfo', 'Step'))
    parser.add_argument('--lawless', action='store_true')
    options = parser.parse_args()
    for _ in range(options.runs):
        for most in options.open:
            run(options, most)


if __name__ == '__main__':
    main()
