#!/usr/bin/env python3
"""What strangers may do to a real axiond: use up its descriptors, send messages that inflate or cannot be parsed, never read
its log, stall its pages. It says no in clear words, and serves everybody else as before.

Usage: hostile_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion and h2 installed.
"""

import contextlib
import itertools
import os
import pathlib
import re
import resource
import socket
import sys
import threading
import time
import unittest
import zlib

import grpc
import h2.config
import h2.connection
import h2.events
import h2.exceptions

from axion.v1 import simulation_pb2 as sim
from axion.v1 import simulation_pb2_grpc, state_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import PATIENCE_SECONDS, AxiondProcess, eventually  # noqa: E402

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
SERVICE = '/axion.v1.Simulation/'
MALFORMED = b'\xff\xff\xff'
SERVING, NOT_SERVING = b'\x08\x01', b'\x08\x02'   # answers of grpc.health.v1
# What h2 would not send so: a call of GetServerInfo without Huffman codes, and why a call is taken back.
GET_SERVER_INFO = b'\x83\x86' + b''.join(
    b'\x00' + bytes([len(name)]) + name + bytes([len(value)]) + value
    for name, value in ((b':path', SERVICE.encode() + b'GetServerInfo'), (b':authority', b'a'), (b'te', b'trailers'),
                        (b'content-type', b'application/grpc')))
CANCEL = (8).to_bytes(4, 'big')


def frame(kind, flags, stream, payload=b''):
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + payload


class Server(AxiondProcess):
    """An axiond of one thread."""

    def __init__(self, *flags, **keywords):
        super().__init__(BIN / 'axiond', '--threads=1', *flags, **keywords)
        self.stub = self.connect()

    def channel(self):
        return grpc.insecure_channel(self.address, options=[('grpc.use_local_subchannel_pool', 1)])

    def connect(self):
        """A client with a connection of its own."""
        return simulation_pb2_grpc.SimulationStub(self.channel())

    def answers(self):
        with contextlib.suppress(grpc.RpcError):
            self.connect().GetServerInfo(sim.GetServerInfoRequest(), timeout=PATIENCE_SECONDS)
            return True
        return False

    def make_batch(self):
        model = self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        return self.stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1)).name

    def step_index(self, batch):
        return self.stub.GetState(state_pb2.GetStateRequest(batch=batch, fields=['time'])).step_index[0]

    def peak_bytes(self):
        status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text()
        return int(re.search(r'VmHWM:\s+(\d+)', status).group(1)) * 1024

    def calls(self, method):
        """Of that name which have ended."""
        counts = re.findall(rf'^axion_rpc_duration_seconds_count{{[^}}]*method="{method}"}} (\S+)', self.metrics(), re.MULTILINE)
        return sum(map(float, counts))


def message(data, compressed=False):
    """A message of gRPC as it lies in DATA frames."""
    return bytes([compressed]) + len(data).to_bytes(4, 'big') + data


def send_frames(server, path, body, *headers):
    """Calls by hand. Returns grpc-status and grpc-message; None where the connection ended first."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.send_headers(1, [(':method', 'POST'), (':scheme', 'http'), (':path', path), (':authority', 'x'),
                                ('te', 'trailers'), ('content-type', 'application/grpc'), *headers])
    sent, found, ended = 0, {}, False
    with socket.create_connection(('127.0.0.1', server.port)) as wire:
        end = time.monotonic() + PATIENCE_SECONDS
        while not ended and time.monotonic() < end:
            size = min(connection.local_flow_control_window(1), connection.max_outbound_frame_size, len(body) - sent)
            if size > 0:
                connection.send_data(1, body[sent:sent + size], end_stream=sent + size == len(body))
                sent += size
            with contextlib.suppress(OSError):
                wire.settimeout(PATIENCE_SECONDS)
                wire.sendall(connection.data_to_send())
            try:
                wire.settimeout(0.001 if sent < len(body) else 0.02)
                data = wire.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                break
            try:
                events = connection.receive_data(data)
            except h2.exceptions.ProtocolError:   # what was under way when the server ended the connection
                break
            if not data:
                break
            for event in events:
                if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                    found.update({k.decode(): v.decode() for k, v in event.headers})
                ended = ended or isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset))
    return int(found['grpc-status']) if 'grpc-status' in found else None, found.get('grpc-message')


def bomb(gigabytes, window_bits):
    """Zeros, compressed: a stretch that ends at a full flush may be repeated. window_bits: 31 gzip, 15 zlib."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    zeros = bytes(16 << 20)
    head = compressor.compress(zeros) + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(zeros) + compressor.flush(zlib.Z_FULL_FLUSH)
    return head + block * (64 * gigabytes - 1)


def refusal(call):
    """The error that a call ends with."""
    try:
        call()
    except grpc.RpcError as error:
        return error
    raise AssertionError('the call was not refused')


@contextlib.contextmanager
def crowd(port, size, address='127.0.0.1'):
    """So many connections from there, which say nothing."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(('127.0.0.1', port), source_address=(address, 0))) for _ in range(size)]


class Connections(unittest.TestCase):
    def test_clients_are_served_after_descriptors_ran_out(self):
        with Server(limits=[(resource.RLIMIT_NOFILE, 64, 64)]) as server:
            batch = server.make_batch()
            with crowd(server.port, 200):
                # Who was there before is served all the while, and descriptors are left for the page.
                self.assertEqual(server.stub.Step(sim.StepRequest(batch=batch)).step_index[0], 1)
                self.assertTrue(eventually(lambda: server.metric('axion_connections_refused_total') > 0))
            self.assertTrue(eventually(server.answers))
            self.assertEqual(server.stop(), 0)

    def test_the_limit_of_open_files_is_raised_to_what_may_be_had(self):
        with Server(limits=[(resource.RLIMIT_NOFILE, 64, 1024)]) as server, crowd(server.port, 300):
            self.assertTrue(eventually(lambda: server.metric('axion_connections') >= 300))
            self.assertTrue(server.answers())

    def test_a_connection_over_the_limit_is_refused_in_words(self):
        with Server('--max_connections=3') as server, crowd(server.port, 3):
            error = refusal(lambda: server.connect().GetServerInfo(sim.GetServerInfoRequest(), timeout=PATIENCE_SECONDS))
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertIn('503', error.details())
            with socket.create_connection(('127.0.0.1', server.port)) as plain:
                plain.settimeout(PATIENCE_SECONDS)
                self.assertIn(b'max_connections: the server has 3 connections', plain.recv(4096))

    def test_who_holds_all_connections_makes_room_for_clients_from_elsewhere(self):
        with Server('--max_connections=8') as server, crowd(server.port, 8, '127.0.0.2'):
            self.assertTrue(eventually(lambda: server.metric('axion_connections') >= 8))
            for client in (clients := [server.connect() for _ in range(3)]):  # which stay connected
                self.assertTrue(client.GetServerInfo(sim.GetServerInfoRequest(), timeout=PATIENCE_SECONDS).version)
            with crowd(server.port, 1, '127.0.0.2') as late:
                late[0].settimeout(PATIENCE_SECONDS)
                self.assertIn(b'max_connections', late[0].recv(4096))
            self.assertEqual(server.metric('axion_connections_cut_total'), 3)

    def test_a_connection_may_have_256_calls_open_and_no_thousands_for_which_others_would_wait(self):
        with Server() as server, socket.create_connection(('127.0.0.1', server.port)) as wire:
            client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
            client.initiate_connection()
            wire.sendall(client.data_to_send())
            wire.settimeout(PATIENCE_SECONDS)
            while not any(isinstance(event, h2.events.RemoteSettingsChanged) for event in client.receive_data(wire.recv(4096))):
                pass
            self.assertEqual(client.remote_settings.max_concurrent_streams, 256)

    def _take_back(self, server, enough):
        """Calls as fast as they are taken, each taken back at once; over a new connection whenever one is ended, as gRPC
        itself does with some after a few thousand calls. Ends when `enough` is set."""
        while not enough.is_set():
            with contextlib.suppress(ConnectionError), socket.create_connection(('127.0.0.1', server.port)) as wire:
                wire.settimeout(0.1)
                wire.sendall(bytes.fromhex('505249202a20485454502f322e300d0a0d0a534d0d0a0d0a') + frame(4, 0, 0))
                for first in itertools.count(1, 4000):
                    unsent = b''.join(frame(1, 4, stream, GET_SERVER_INFO) + frame(0, 1, stream, bytes(5)) +
                                      frame(3, 0, stream, CANCEL) for stream in range(first, first + 4000, 2))
                    while unsent and not enough.is_set():
                        with contextlib.suppress(TimeoutError):
                            unsent = unsent[wire.send(unsent):]
                    if enough.is_set():
                        return

    def test_calls_that_are_taken_back_at_once_are_stopped_and_others_do_not_wait(self):
        with Server() as server:
            request, enough = sim.StepRequest(batch=server.make_batch()), threading.Event()
            steps, asked, answered, begin = [], [], {}, time.monotonic()
            attacker = threading.Thread(target=self._take_back, args=(server, enough))
            attacker.start()

            def stopped_while_another_steps():
                """Also where the server comes to fewer a second than a client may take back."""
                if not steps or steps[-1].done():
                    asked.append(server.processor_seconds())
                    steps.append(server.stub.Step.future(request))
                    steps[-1].add_done_callback(lambda _, k=len(asked) - 1: answered.update({k: server.processor_seconds()}))
                few = 5000 < server.calls('GetServerInfo') < 1000 * (time.monotonic() - begin)
                return few or server.metric('axion_connections_cut_total') > 0

            try:
                self.assertTrue(eventually(stopped_while_another_steps))
            finally:
                enough.set()
                attacker.join()
            self.assertEqual([step.result().step_index[0] for step in steps], [*range(1, len(steps) + 1)])
            self.assertTrue(eventually(lambda: len(answered) == len(steps)))
            self.assertLess(max(answered[k] - asked[k] for k in answered), 10)  # s of the processor, for others
            self.assertTrue(eventually(lambda: server.metric('axion_connections') <= 1))  # the attacker's last has been read
            cut = server.metric('axion_connections_cut_total')
            # Who takes back a few is not cut, and newcomers wait for a few seconds at most.
            for _ in range(50):
                server.stub.Step.future(request).cancel()
            self.assertTrue(server.connect().GetServerInfo(sim.GetServerInfoRequest(), timeout=PATIENCE_SECONDS).version)
            self.assertEqual(server.metric('axion_connections_cut_total'), cut)

    def _health(self, channel):
        check = channel.unary_unary('/grpc.health.v1.Health/Check', lambda data: data, lambda data: data)
        return check(b'', timeout=PATIENCE_SECONDS)

    def test_accepting_that_stops_shows_in_health_and_goes_on_when_it_can(self):
        with Server() as server, server.channel() as channel:
            self.assertEqual(self._health(channel), SERVING)
            soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, hard))
            with socket.create_connection(('127.0.0.1', server.port)):
                self.assertTrue(eventually(lambda: self._health(channel) == NOT_SERVING))
                resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
                self.assertTrue(eventually(lambda: self._health(channel) == SERVING))
                self.assertTrue(server.answers())
            self.assertEqual(server.stop(), 0)
            self.assertIn('event=accept_failed reason="Too many open files"', server.log_text())

    def test_the_metrics_page_is_served_beside_visitors_who_never_finish(self):
        with Server() as server, crowd(server.metrics_port, 1000) as stalled:
            for one in stalled:
                with contextlib.suppress(OSError):   # the earliest may have been dropped already
                    one.sendall(b'GET /metrics HTTP/1.1\r\nX-a: ')
            self.assertEqual(server.metric('axion_models'), 0)


class Messages(unittest.TestCase):
    def test_a_compressed_message_is_refused_and_never_inflated(self):
        paths = [SERVICE + 'Step', SERVICE + 'StepStream', SERVICE + 'CreateModel', '/grpc.health.v1.Health/Check',
                 '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo']
        with Server(limits=[(resource.RLIMIT_AS, 4 << 30, 4 << 30)]) as server:
            before = server.peak_bytes()
            for encoding, window_bits in (('gzip', 31), ('deflate', 15)):
                body = message(bomb(5, window_bits), compressed=True)
                self.assertLess(len(body), 8 << 20)
                for path in paths:
                    with self.subTest(path=path, encoding=encoding):
                        status, text = send_frames(server, path, body, ('grpc-encoding', encoding))
                        self.assertEqual(status, grpc.StatusCode.UNIMPLEMENTED.value[0])
                        self.assertIn(encoding, text)
            # At most the ten messages as they came.
            self.assertLess(server.peak_bytes() - before, 10 * (8 << 20))
            self.assertEqual(server.stop(), 0)

    def test_a_compressed_message_later_in_a_stream_is_refused_too(self):
        with Server(limits=[(resource.RLIMIT_AS, 4 << 30, 4 << 30)]) as server:
            good = message(sim.StepRequest(batch=server.make_batch()).SerializeToString())
            before = server.peak_bytes()
            status, _ = send_frames(server, SERVICE + 'StepStream', good + message(bomb(5, 31), compressed=True),
                                    ('grpc-encoding', 'gzip'))
            self.assertEqual(status, grpc.StatusCode.UNIMPLEMENTED.value[0])
            # The flag alone, without an encoding, inflates nothing either.
            status, _ = send_frames(server, SERVICE + 'StepStream', good + message(bomb(5, 31), compressed=True))
            self.assertEqual(status, grpc.StatusCode.INVALID_ARGUMENT.value[0])
            self.assertLess(server.peak_bytes() - before, 4 * (8 << 20))
            self.assertTrue(server.answers())

    def test_a_message_far_above_the_limit_is_not_buffered_whole(self):
        with Server('--max_message_bytes=1048576', limits=[(resource.RLIMIT_AS, 2 << 30, 2 << 30)]) as server:
            before = server.peak_bytes()
            status, _ = send_frames(server, SERVICE + 'Step', message(bytes(500 << 20)))
            self.assertNotEqual(status, 0)
            # An eighth of what the process may have, and some slack for what is on its way.
            self.assertLess(server.peak_bytes() - before, 400 << 20)
            self.assertTrue(server.answers())

    def test_a_message_that_cannot_be_parsed_is_refused_on_every_method_and_counted(self):
        methods = sim.DESCRIPTOR.services_by_name['Simulation'].methods
        series = 'axion_rejected_total{reason="malformed_message"}'
        with Server() as server, server.channel() as channel:
            for method in methods:
                make = channel.stream_stream if method.name == 'StepStream' else channel.unary_unary
                call = make(SERVICE + method.name, lambda data: data, lambda data: data)
                with self.subTest(method=method.name):
                    if method.name == 'StepStream':
                        error = refusal(lambda: list(call(iter([MALFORMED]), timeout=PATIENCE_SECONDS)))
                    else:
                        error = refusal(lambda: call(MALFORMED, timeout=PATIENCE_SECONDS))
                    self.assertEqual(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
                    self.assertIn(f'cannot be parsed as {method.input_type.full_name}', error.details())
            self.assertTrue(eventually(lambda: server.metric(series) == len(methods)))
            self.assertEqual(server.stop(), 0)
            log = server.log_text()
            for method in methods:
                self.assertIn(f'method={method.name} code=INVALID_ARGUMENT', log)

    def test_a_stream_ends_with_the_message_that_cannot_be_parsed_after_the_answers_before_it(self):
        with Server() as server, server.channel() as channel:
            batch = server.make_batch()
            good = sim.StepRequest(batch=batch).SerializeToString()
            call = channel.stream_stream(SERVICE + 'StepStream', lambda data: data, sim.StepResponse.FromString)
            not_utf8 = b'\x0a\x02\xff\xfe'
            for bad in (MALFORMED, good[:-3], not_utf8):
                with self.subTest(bad=bad):
                    before, answers = server.step_index(batch), []
                    error = refusal(lambda: answers.extend(call(iter([good, good, bad, good, good]), timeout=PATIENCE_SECONDS)))
                    self.assertEqual(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
                    self.assertEqual(server.step_index(batch), before + 2)

    def test_long_values_are_cut_in_messages(self):
        long = 'é' * (1 << 19)
        scene = '<mujoco><worldbody><body name="b"><freejoint/>{}</body></worldbody></mujoco>'
        geom = scene.format('<geom type="sphere" size="{}"/>')
        with Server() as server:
            stub, batch = server.stub, server.make_batch()
            calls = {
                'name': lambda: stub.GetBatch(sim.GetBatchRequest(name=long)),
                'model': lambda: stub.CreateBatch(sim.CreateBatchRequest(model=long, world_count=1)),
                'batch': lambda: stub.Step(sim.StepRequest(batch=long)),
                'outputs': lambda: stub.Step(sim.StepRequest(batch=batch, outputs=[long])),
                'keyframe': lambda: stub.Reset(state_pb2.ResetRequest(batch=batch, keyframe=long)),
                'page_token': lambda: stub.ListModels(sim.ListModelsRequest(page_token=long)),
                'shape': lambda: stub.Step(sim.StepRequest(batch=batch, control={'dtype': 1, 'shape': [1] * 100_000})),
                'attribute': lambda: stub.CreateModel(sim.CreateModelRequest(mjcf=geom.format(long))),
                'element': lambda: stub.CreateModel(sim.CreateModelRequest(mjcf=scene.format(f'<{long}/>'))),
                'asset': lambda: stub.CreateModel(sim.CreateModelRequest(
                    mjcf='<mujoco><include file="a"/></mujoco>',
                    assets={'a': b'<mujoco><worldbody><geom size="' + b'\xff' * (1 << 19) + b'"/></worldbody></mujoco>'})),
            }
            for name, call in calls.items():
                with self.subTest(value=name):
                    error = refusal(call)
                    self.assertIn(error.code(), (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND))
                    self.assertLess(len(error.details().encode()), 600)
                    # 64 bytes where the element is named, where the attribute is, and where the field is.
                    self.assertLessEqual(error.details().count('é'), 3 * 32)


class Logs(unittest.TestCase):
    def test_a_log_that_nobody_reads_holds_nobody_up(self):
        read_end, write_end = os.pipe()
        with Server(pipe=(read_end, write_end)) as server:
            os.close(write_end)
            batch = server.make_batch()
            # More than the pipe and the queue take: a line is at least a hundred bytes.
            for _ in range(120):
                calls = [server.stub.GetBatch.future(sim.GetBatchRequest(name='x' * 200), timeout=PATIENCE_SECONDS) for _ in range(100)]
                self.assertEqual({call.code() for call in calls}, {grpc.StatusCode.NOT_FOUND})
            self.assertEqual(server.connect().Step(sim.StepRequest(batch=batch), timeout=PATIENCE_SECONDS).step_index[0], 1)
            self.assertGreater(server.metric('axion_log_lines_dropped_total'), 0)
            self.assertEqual(server.stop(), 0)
        os.close(read_end)

    def test_a_reader_of_the_log_that_went_away_ends_nothing(self):
        for metrics in (True, False):
            with self.subTest(metrics=metrics):
                read_end, write_end = os.pipe()
                with Server(pipe=(read_end, write_end), metrics=metrics) as server:
                    os.close(write_end)
                    os.close(read_end)
                    for _ in range(3):
                        error = refusal(lambda: server.stub.GetBatch(sim.GetBatchRequest(name='x'), timeout=PATIENCE_SECONDS))
                        self.assertEqual(error.code(), grpc.StatusCode.NOT_FOUND)
                    self.assertEqual(server.stop(), 0)


def many_keyframes(name, count):
    """A scene whose description is several times its text."""
    key = '<key qpos="' + '0 0 1 1 0 0 0 ' * 10 + '"/>'
    bodies = ''.join(f'<body name="{name}{i}"><freejoint/><geom type="sphere" size=".1" pos="0 0 {i}"/></body>'
                     for i in range(10))
    return f'<mujoco model="{name}"><worldbody>{bodies}</worldbody><keyframe>{key * count}</keyframe></mujoco>'


class Models(unittest.TestCase):
    def test_one_that_cannot_be_answered_is_not_kept(self):
        with Server('--max_message_bytes=65536') as server:
            self.assertEqual(refusal(lambda: server.stub.CreateModel(sim.CreateModelRequest(
                mjcf=many_keyframes('large', 200)))).code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertEqual(server.stub.GetServerInfo(sim.GetServerInfoRequest()).model_count, 0)
            kept = server.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
            self.assertEqual([m.name for m in server.stub.ListModels(sim.ListModelsRequest()).models], [kept])

    def test_are_listed_in_pages_of_so_many_bytes(self):
        with Server('--max_message_bytes=65536') as server:
            names = [server.stub.CreateModel(sim.CreateModelRequest(mjcf=many_keyframes(f'm{i}', 40))).name
                     for i in range(5)]
            listed, token, pages = [], '', 0
            while pages == 0 or token:
                page = server.stub.ListModels(sim.ListModelsRequest(page_token=token))
                self.assertLessEqual(page.ByteSize(), 65536)
                listed += [m.name for m in page.models]
                token, pages = page.next_page_token, pages + 1
            self.assertEqual(listed, names)
            self.assertGreater(pages, 1)


class StaysDeaf(unittest.TestCase):
    def test_ends_with_a_code_for_a_restart(self):
        self.assertEqual(_deaf.process.wait(2 * PATIENCE_SECONDS), 75)


def setUpModule():
    """A server that cannot accept gives up after half a minute, which passes beside the other tests."""
    global _deaf
    _deaf = unittest.enterModuleContext(Server())
    resource.prlimit(_deaf.process.pid, resource.RLIMIT_NOFILE, (3, 3))
    unittest.enterModuleContext(socket.create_connection(('127.0.0.1', _deaf.port)))


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
