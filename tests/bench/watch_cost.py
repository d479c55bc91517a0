"""What a looker-on costs who steps: pairs of runs, alone and watched, in turns. Wants the Python package.

    python tests/bench/watch_cost.py build/release/bin/axiond [--worlds 1024] [--rate 30] [--pairs 10]

Prints, for a client that reads its frames, for one that has stopped reading, and for a second run alone, which shows what
chance does: the middle and the quartiles of the share of steps that the trainer lost, and of what a step costs more of the
server's processor time, which other work on the machine disturbs less.
"""

import argparse
import os
import pathlib
import sys
import threading
import time

import numpy as np

import axion

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from axiond_process import AxiondProcess  # noqa: E402


class Server(AxiondProcess):
    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def steps_in(server, batch, seconds):
    """Steps a second, and the server's processor time of one."""
    start, used, steps = time.perf_counter(), server.processor_seconds(), 0
    while time.perf_counter() < start + seconds:
        batch.step(steps=4)
        steps += 1
    return steps / (time.perf_counter() - start), (server.processor_seconds() - used) / steps


def watched(server, client, batch, rate, seconds, reads):
    with client.get_batch(batch.name).watch(rate=rate, worlds=range(min(64, batch.world_count)), contacts=True,
                                            solver_stats=True) as watch:
        next(watch)
        thread = threading.Thread(target=lambda: [None for _ in watch])
        if reads:
            thread.start()
        found = steps_in(server, batch, seconds)
        watch.close()
        if reads:
            thread.join()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("axiond")
    parser.add_argument("--model", default=str(ROOT / "clients" / "examples" / "models" / "quadruped.xml"))
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=30)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    with Server(given.axiond) as server, axion.Client(server.address) as trainer, axion.Client(server.address) as looker:
        batch = trainer.create_batch(trainer.create_model(path=given.model), given.worlds)
        def run_alone():
            return steps_in(server, batch, given.seconds)

        run_alone()
        print(f"| {given.worlds} worlds, {given.rate:g} Hz | steps lost | quartiles | processor time a step | quartiles |")
        print("| --- | --- | --- | --- | --- |")
        for name, run in (("nobody looks on", run_alone),
                          ("a client that reads", lambda: watched(server, looker, batch, given.rate, given.seconds, True)),
                          ("a client that has stopped", lambda: watched(server, looker, batch, given.rate, given.seconds, False))):
            lost = []
            for pair in range(given.pairs):
                alone, other = [run_alone(), run()] if pair % 2 == 0 else reversed([run(), run_alone()])
                lost.append((1 - other[0] / alone[0], other[1] / alone[1] - 1))
            low, middle, high = 100 * np.quantile(lost, [0.25, 0.5, 0.75], axis=0)
            cells = [f"{middle[i]:+.1f} % | {low[i]:+.1f} to {high[i]:+.1f} %" for i in range(2)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
