#!/usr/bin/env python3
"""What a client waits for, and what the server holds, while strangers make calls without a token and take them back at once: before
the server itself, and before the proxy of deploy/haproxy.cfg.

Usage: resets.py BIN_DIRECTORY MODEL.xml [--connections N] [--runs N] [--seconds S] [--memory SIZE], with an interpreter that has the
package axion, haproxy and openssl.
"""

import argparse
import multiprocessing
import pathlib
import re
import ssl
import sys
import tempfile
import time

import axion

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'tests/end_to_end')]
import access_case as case  # noqa: E402
from rapid_reset import headers, take_back  # noqa: E402 - access_case knows where it is

CALL = headers('/axion.v1.Simulation/GetServerInfo')


def peak_mib(process):
    return int(re.search(r'VmHWM:\s+(\d+)', pathlib.Path(f'/proc/{process.pid}/status').read_text())[1]) // 1024


def attack(port, enough, sent, authority):
    def count(calls, ended):
        with sent.get_lock():
            sent[0], sent[1] = sent[0] + calls, sent[1] + ended
    context = None
    if authority:
        context = ssl.create_default_context(cafile=authority)
        context.set_alpn_protocols(['h2'])
    take_back(port, CALL, enough, count, context)


def measure(options, what, server, client, port, authority):
    batch = client.create_batch(client.create_model(options.model.read_text()), 1)
    enough, sent, waits = multiprocessing.Event(), multiprocessing.Array('q', 2), []
    crowd = [multiprocessing.Process(target=attack, args=(port, enough, sent, authority), daemon=True)
             for _ in range(options.connections)]
    for one in crowd:
        one.start()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        batch.step(timeout=120)
        waits.append(1e3 * (time.monotonic() - begin))
    enough.set()
    for one in crowd:
        one.kill()
        one.join()
    waits.sort()
    print(f'{what}: {sent[0] / options.seconds:7.0f} calls a second over {sent[1]:3} connections; {len(waits):4} Steps, median '
          f'{waits[len(waits) // 2]:6.1f} ms, longest {waits[-1]:6.0f} ms; the server holds {peak_mib(server.process)} MiB at most',
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('bin', type=pathlib.Path)
    parser.add_argument('model', type=pathlib.Path)
    parser.add_argument('--connections', type=int, default=4)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=8)
    parser.add_argument('--memory', default='512MiB')
    options = parser.parse_args()
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            token, token_hash = case.new_token()
            (folder / 'tokens').write_text(f'blue {token_hash}\n')
            flags = (f'--token_file={folder / "tokens"}', f'--memory_limit={options.memory}')
            with case.Server(options.bin, *flags) as server, axion.Client(server.address, token=token, tls=False) as client:
                measure(options, 'server', server, client, server.port, None)
            with case.Server(options.bin, *flags) as server, case.proxy(folder, server.address) as (port, authority), \
                    axion.Client(f'localhost:{port}', token=token, tls_ca=authority) as client:
                measure(options, 'proxy ', server, client, port, str(authority))


if __name__ == '__main__':
    main()
