#!/usr/bin/env python3
"""A real axiond whose machine's clock is set by hours while it serves: no lease runs out for that, nobody is locked out, and
deadlines stay what they are.

Usage: clock_test.py BIN_DIRECTORY MODEL.xml SET_CLOCK.so, with an interpreter that has the package axion.
"""

import os
import pathlib
import struct
import sys
import tempfile
import time
import unittest

import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
SET_CLOCK = sys.argv[3]
HOUR = 3600


class Clock(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.ahead = folder / 'ahead'
        self.ahead.write_bytes(bytes(8))
        os.environ.update(AXION_TEST_CLOCK=str(self.ahead), LD_PRELOAD=SET_CLOCK)
        try:
            self.server = self.enterContext(case.Server(BIN, '--max_connections=8'))
        finally:
            del os.environ['AXION_TEST_CLOCK'], os.environ['LD_PRELOAD']

    def set_clock(self, ahead):
        with self.ahead.open('r+b') as file:
            file.write(struct.pack('<q', ahead))

    def batch(self, stub):
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        return stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1))

    def crowd(self, count):
        for _ in range(count):
            with self.server.channel() as channel:
                stub = case.simulation_pb2_grpc.SimulationStub(channel)
                self.assertTrue(case.eventually(lambda: case.info(stub)[0] == grpc.StatusCode.OK))

    def test_leases_outlast_a_clock_that_is_set(self):
        stub = self.server.stub()
        leased = self.batch(stub)
        other = self.batch(stub).name
        for ahead in (5 * HOUR, -5 * HOUR, 0):
            self.set_clock(ahead)
            for _ in range(20):  # the device's thread looks at leases
                stub.Step(sim.StepRequest(batch=other), timeout=case.PATIENCE_SECONDS)
            kept = stub.GetBatch(sim.GetBatchRequest(name=leased.name))
            # An hour's lease, as whoever reads the clock now understands it.
            left = kept.expire_time.seconds - (time.time() + ahead)
            self.assertLess(left, HOUR + 2)
            self.assertGreater(left, HOUR - 2 * case.PATIENCE_SECONDS)

    def test_connections_come_and_go_after_the_clock_was_set_back(self):
        self.crowd(3)
        self.set_clock(-5 * HOUR)
        begin = time.monotonic()
        self.crowd(30)
        self.assertLess(time.monotonic() - begin, case.PATIENCE_SECONDS)

    def test_deadlines_are_those_of_the_client(self):
        stub = self.server.stub()
        batch = self.batch(stub).name
        for ahead in (5 * HOUR, -5 * HOUR):
            self.set_clock(ahead)
            begin = time.monotonic()
            with self.assertRaises(grpc.RpcError) as late:
                stub.Step(sim.StepRequest(batch=batch, step_count=1_000_000), timeout=0.5)
            self.assertEqual(late.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            self.assertGreater(time.monotonic() - begin, 0.45)
            self.assertLess(time.monotonic() - begin, case.PATIENCE_SECONDS)
            stub.Step(sim.StepRequest(batch=batch), timeout=case.PATIENCE_SECONDS)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
