#!/usr/bin/env python3
"""The byte budget of a real axiond: what strangers send and ask for stays within --memory_limit, is refused in words, and
memory comes back.

Usage: memory_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import collections
import contextlib
import re
import socket
import sys
import threading
import time
import unittest

import axion
import grpc
import h2.config
import h2.connection
import h2.exceptions
import h2.settings

import access_case as case
from axion.v1 import simulation_pb2 as sim
from axion.v1 import state_pb2
from memory_case import BIN, MIB, MODEL, SERVICE, MemoryCase, field

Code = grpc.StatusCode


def send_half(port, size, held):
    """Half of a message of `size` bytes, or as much of it as the server takes, on a connection of its own that stays open."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.send_headers(1, [(':method', 'POST'), (':scheme', 'http'), (':path', '/axion.v1.Simulation/Step'), (':authority', 'x'),
                                ('te', 'trailers'), ('content-type', 'application/grpc')])
    body, sent, last = b'\0' + size.to_bytes(4, 'big') + bytes(size // 2), 0, time.monotonic()
    wire = socket.create_connection(('127.0.0.1', port))
    held.append(wire)
    with contextlib.suppress(OSError, h2.exceptions.ProtocolError):  # the server has had enough
        while sent < len(body) and time.monotonic() < last + 2:
            part = min(connection.local_flow_control_window(1), connection.max_outbound_frame_size, len(body) - sent)
            if part > 0:
                connection.send_data(1, body[sent:sent + part])
                sent, last = sent + part, time.monotonic()
            wire.settimeout(case.PATIENCE_SECONDS)
            wire.sendall(connection.data_to_send())
            wire.settimeout(0.001 if part > 0 else 0.05)
            with contextlib.suppress(TimeoutError):
                data = wire.recv(1 << 16)
                if not data:
                    break
                connection.receive_data(data)


def ask_and_read_nothing(port, method, request, count):
    """A connection with so many calls whose answers have no window to go through."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.local_settings[h2.settings.SettingCodes.INITIAL_WINDOW_SIZE] = 0
    connection.initiate_connection()
    wire = socket.create_connection(('127.0.0.1', port))
    body = request.SerializeToString()
    for call in range(count):
        connection.send_headers(1 + 2 * call, [(':method', 'POST'), (':scheme', 'http'), (':path', SERVICE + method), (':authority', 'x'),
                                               ('te', 'trailers'), ('content-type', 'application/grpc')])
        connection.send_data(1 + 2 * call, b'\0' + len(body).to_bytes(4, 'big') + body, end_stream=True)
    wire.sendall(connection.data_to_send())
    return wire


class Memory(MemoryCase):
    def setUp(self):
        self.start()
        self.raw = self.channel.unary_unary

    def refused(self, method, data):
        code, text = case.outcome(self.raw(SERVICE + method), data)
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
        self.assertIn('memory_limit', text)
        self.assertRegex(text, r'\d+ bytes')

    def test_millions_of_parts_of_a_scene_are_refused_before_they_are_parsed(self):
        for where, data in (('scene.bodies', b'\x2a\x00' * (63 * MIB // 2)),
                            ('scene.joints[0].axes', field(6, b'\x42\x00' * (40 * MIB // 2))),
                            ('scene.tendons[0].terms', field(50, field(2, b'') * (40 * MIB // 2))),
                            ('scene.meshes[0].vertices', field(20, field(2, b'') * (40 * MIB // 2)))):
            code, text = case.outcome(self.raw(SERVICE + 'CreateModel'), field(2, data))
            self.assertEqual(code, Code.INVALID_ARGUMENT, text)
            self.assertRegex(text, rf'^{re.escape(where)}: may have at most \d+ entries; it has more')

    def test_millions_of_empty_names_and_unknown_fields_are_refused_before_they_are_parsed(self):
        self.refused('Step', b'\x3a\x00' * (40 * MIB // 2))
        self.refused('GetState', b'\xfa\x7f\x00' * (40 * MIB // 3))

    def test_a_document_of_millions_of_elements_is_refused_before_it_is_read(self):
        self.refused('CreateModel', field(1, b'<mujoco>' + b'<a/>' * (10 * MIB) + b'</mujoco>'))

    def test_messages_that_stay_half_sent_hold_up_nobody(self):
        # Neither calls of others end nor their connections: nobody is even asked to connect anew.
        held, states = [], []
        patient = self.enterContext(axion.Client(self.server.address, retry=0))
        batch = patient.create_batch(patient.create_model(MODEL), 4)
        self.channel.subscribe(states.append)
        self.stub.GetServerInfo(sim.GetServerInfoRequest())  # and then it idles, which gRPC would end first
        crowd = [threading.Thread(target=send_half, args=(self.server.port, 60 * MIB, held)) for _ in range(30)]
        for one in crowd:
            one.start()
        while any(one.is_alive() for one in crowd):
            batch.step(timeout=case.PATIENCE_SECONDS)
        batch.step(timeout=case.PATIENCE_SECONDS)
        self.assertTrue(case.eventually(lambda: states and states[-1] == grpc.ChannelConnectivity.READY), states)
        self.assertEqual(states.count(grpc.ChannelConnectivity.READY), 1, states)
        for wire in held:
            wire.close()
        self.assertTrue(case.eventually(lambda: self.server.metric('axion_connections') <= 3))

    def test_answers_that_nobody_reads_give_their_room_back(self):
        model = self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        batch = self.stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1000)).name
        # Long answers that are soon made: a client that reads nothing counts as one ten seconds after they are there.
        all_state = state_pb2.GetStateRequest(batch=batch)
        for _ in range(2):
            self.enterContext(contextlib.closing(ask_and_read_nothing(self.server.port, 'GetState', all_state, 250)))

        def refusal():
            code, text = case.outcome(self.stub.GetState, all_state)
            return text if code == Code.RESOURCE_EXHAUSTED else None

        self.assertRegex(case.eventually(refusal), 'memory_limit: the answer would take')
        limit = self.server.metric('axion_memory_bytes{kind="limit"}')
        self.assertTrue(case.eventually(lambda: self.used() < limit / 2))
        self.stub.GetState(all_state)
        cut = case.eventually(lambda: [line for line in self.server.log_text().splitlines() if 'event=connection_cut' in line])
        self.assertRegex(cut[0], r'has \d+ bytes of answers that it does not take, all together \d+; \d+ may be')

    def test_short_requests_with_long_answers_wait_within_the_limit(self):
        model = self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        batches = [self.stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=256)).name for _ in range(4)]
        step = self.raw('/axion.v1.Simulation/Step', request_serializer=sim.StepRequest.SerializeToString)
        long = ['body_pose', 'body_velocity', 'joint_position', 'joint_velocity', 'joint_impulse', 'actuator_force', 'control']
        calls = [step.future(sim.StepRequest(batch=batches[i % 4], step_count=150, record_every=1, outputs=long, request_id=f'{i}'))
                 for i in range(100)]
        codes = collections.Counter(call.code() for call in calls)
        del calls
        self.assertEqual(set(codes), {Code.OK, Code.RESOURCE_EXHAUSTED}, codes)
        self.assertGreater(codes[Code.OK], 0)

    def test_batches_and_models_that_do_not_fit_are_refused_with_the_numbers(self):
        model = self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        made, code = [], Code.OK
        while code == Code.OK and len(made) < 1000:
            before = self.used()
            code, text = case.outcome(self.stub.CreateBatch, sim.CreateBatchRequest(model=model, world_count=500))
            made.append(before)
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
        self.assertRegex(text, r'^memory_limit: the batch would take about \d+ bytes beside the \d+ that are held of \d+')
        self.assertAlmostEqual(self.used(), made[-1], delta=1 << 16)
        # One of 30000 worlds at once is refused before it is made.
        self.assertEqual(case.outcome(self.stub.CreateBatch, sim.CreateBatchRequest(model=model, world_count=30000))[0],
                         Code.RESOURCE_EXHAUSTED)
        batch = self.stub.ListBatches(sim.ListBatchesRequest()).batches[0].name
        self.assertEqual(case.outcome(self.stub.GetState, state_pb2.GetStateRequest(batch=batch, fields=['time']))[0], Code.OK)


class Flags(unittest.TestCase):
    def test_sizes_are_understood_and_others_refused(self):
        for wrong in ('1MiB', '5GiBs', 'x', '-1', '99999999999GiB', '100MiB'):
            code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', f'--memory_limit={wrong}')
            self.assertNotEqual(code, 0)
            self.assertIn('--memory_limit=', text)
        for right in ('1GiB', '1G', f'{1 << 30}', '0'):
            with case.Server(BIN, f'--memory_limit={right}') as server:
                limit = server.metric('axion_memory_bytes{kind="limit"}')
                self.assertGreater(limit, 1 << 28)
                if right != '0':
                    self.assertLess(limit, 1 << 30)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
