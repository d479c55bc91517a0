#!/usr/bin/env python3
"""A real axiond beside clients that open much and ask for little: calls that stay open, streams of reflection, batches in tens of
thousands, long steps while checkpoints are due; and beside an operator whose terminal goes.

Usage: crowd_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import contextlib
import pathlib
import re
import signal
import socket
import sys
import tempfile
import time
import unittest

import axion
import grpc
import h2.config
import h2.connection

import access_case as case
from axion.v1 import simulation_pb2 as sim

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
BALL = '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
MIB = 1 << 20


def open_calls(port, path, count):
    """A connection on which so many calls with an empty message are opened and left."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    wire = socket.create_connection(('127.0.0.1', port))
    wire.settimeout(case.PATIENCE_SECONDS)
    wire.sendall(connection.data_to_send())
    connection.receive_data(wire.recv(1 << 16))
    with contextlib.suppress(OSError):  # the server has had enough
        for call in range(count):
            connection.send_headers(1 + 2 * call, [(':method', 'POST'), (':scheme', 'http'), (':path', path), (':authority', 'x'),
                                                   ('te', 'trailers'), ('content-type', 'application/grpc')])
            connection.send_data(1 + 2 * call, b'\0\0\0\0\0')
            if call % 50 == 49:
                wire.sendall(connection.data_to_send())
                time.sleep(0.01)  # below what is noticed as bytes
        wire.sendall(connection.data_to_send())
    return wire


class Crowd(unittest.TestCase):
    def serve(self, *flags):
        self.server = self.enterContext(case.Server(BIN, *flags))
        return self.server

    def open_calls(self, path, count):
        return self.enterContext(contextlib.closing(open_calls(self.server.port, path, count)))

    def of_process(self, name):
        return int(re.search(rf'{name}:\s+(\d+)', pathlib.Path(f'/proc/{self.server.process.pid}/status').read_text()).group(1))

    def test_calls_that_strangers_leave_open_stay_few_and_cut_nobody_else(self):
        server = self.serve('--memory_limit=512MiB', '--reflection=off', '--max_concurrent_calls=1024')
        client = self.enterContext(axion.Client(server.address))
        batch = client.create_batch(client.create_model(MODEL), 4)
        batch.step()
        before = self.of_process('VmRSS')
        for _ in range(15):
            self.open_calls('/grpc.health.v1.Health/Watch', 1000)
            batch.step(timeout=case.PATIENCE_SECONDS)
        self.assertTrue(case.eventually(lambda: server.metric('axion_connections') <= 6))
        # An eighth of the limit, 128 MiB, is for what is not a whole request yet.
        self.assertLess(self.of_process('VmHWM') - before, 128 << 10)
        self.assertGreaterEqual(server.metric('axion_connections_cut_total'), 10)
        cut = case.eventually(lambda: [line for line in server.log_text().splitlines() if 'event=connection_cut' in line])
        self.assertRegex(cut[0], r'has \d+ calls open, the most of \d+; together 4096 may be')
        batch.step(timeout=case.PATIENCE_SECONDS)

    def test_streams_of_reflection_take_few_threads(self):
        server = self.serve()
        before = self.of_process('Threads')
        wires = [self.open_calls('/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo', 150) for _ in range(2)]
        client = self.enterContext(axion.Client(server.address))
        client.create_batch(client.create_model(MODEL), 1).step(timeout=case.PATIENCE_SECONDS)
        time.sleep(1)  # for threads that would still be made
        self.assertLess(self.of_process('Threads') - before, 100)
        for wire in wires:
            wire.close()
        self.assertEqual(server.stop(), 0)

    def test_tens_of_thousands_of_batches_hold_up_no_other(self):
        stub = self.serve().stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=BALL)).name
        own = stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1)).name

        def make(count):
            """Seconds of processor time that the server takes for so many batches, and for a step after them."""
            before = self.server.processor_seconds()
            for _ in range(count // 100):
                made = [stub.CreateBatch.future(sim.CreateBatchRequest(model=model, world_count=1)) for _ in range(100)]
                for one in made:
                    one.result()
            between = self.server.processor_seconds()
            for _ in range(200):
                stub.Step(sim.StepRequest(batch=own))
            return between - before, self.server.processor_seconds() - between

        first, first_steps = make(2000)
        make(16000)
        last, last_steps = make(2000)
        print(f'  2000 batches and 200 steps: {first:.2f} + {first_steps:.2f} s at first, {last:.2f} + {last_steps:.2f} s beside 18000',
              file=sys.stderr)
        # A tick of the kernel's clock is 10 ms.
        # Beside eighteen times as many, what is done for each batch that is there takes as many times as long.
        self.assertLess(last, 6 * first + 0.2)
        self.assertLess(last_steps, 6 * first_steps + 0.2)

    def test_long_steps_hold_up_no_checkpoint_of_others(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        server = self.serve(f'--state_dir={folder}/state', '--checkpoint_interval=100ms')
        stub = server.stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        long = [stub.Step.future(sim.StepRequest(
            batch=stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=64)).name, step_count=1_000_000)) for _ in range(12)]
        own = stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1)).name
        stub.Step(sim.StepRequest(batch=own))
        server.await_checkpoints()
        self.assertFalse(any(step.done() for step in long))  # of which each takes minutes
        for step in long:
            step.cancel()

    def test_a_terminal_that_goes_sends_several_signals_and_all_is_saved(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        server = self.serve(f'--state_dir={folder}/state', '--drain_timeout_seconds=1')
        stub = server.stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        batch = stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=64)).name
        long = stub.Step.future(sim.StepRequest(batch=batch, step_count=1_000_000))
        self.assertTrue(case.eventually(lambda: server.metric('axion_world_steps_total{device="cpu"}') > 0))  # it is under way
        for _ in range(5):
            server.process.send_signal(signal.SIGHUP)
            self.assertTrue(case.eventually(lambda: 'event=drain signal=1 ' in server.log_text()))
        self.assertEqual(server.process.wait(case.PATIENCE_SECONDS), 0, server.log_text())
        self.assertEqual(long.code(), grpc.StatusCode.ABORTED)
        again = self.serve(f'--state_dir={folder}/state')
        self.assertEqual([held.name for held in again.stub().ListBatches(sim.ListBatchesRequest()).batches], [batch])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
