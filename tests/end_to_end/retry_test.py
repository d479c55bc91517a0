#!/usr/bin/env python3
"""Clients that try again: across restarts of a real axiond and through connections that are cut between a request and its answer, no
step is lost and none is made twice.

Usage: retry_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import grpc

import axion
from axion.v1 import snapshot_pb2, state_pb2

import access_case as case
from cutting_proxy import CuttingProxy  # access_case knows where it is

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
STEPS = 200


def reference(binary):
    """Bits after STEPS steps one by one on a server that nothing happens to."""
    with case.Server(binary) as server, axion.Client(server.address) as client:
        batch = client.create_batch(client.create_model(MODEL), 3)
        for _ in range(STEPS):
            result = batch.step(outputs=['body_pose'])
        return result['body_pose'].tobytes()


class Retries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = reference(BIN)

    def setUp(self):
        self.folder = self.enterContext(case.scratch())

    def serve(self, *flags, **keywords):
        return self.enterContext(case.Server(BIN, f'--state_dir={self.folder / "state"}', *flags, **keywords))

    def client(self, address, retry=case.PATIENCE_SECONDS):
        return self.enterContext(axion.Client(address, retry=retry))

    def test_a_drained_server_is_waited_for_and_no_step_is_lost_or_made_twice(self):
        server = self.serve()
        client = self.client(server.address)
        batch = client.create_batch(client.create_model(MODEL), 3)
        running, restarts = [server], []

        def restart():
            running[-1].stop()
            running.append(self.serve(port=server.port))

        for i in range(STEPS):
            if i in (20, 80, 140):  # while it steps on
                for thread in restarts:
                    thread.join()
                restarts.append(threading.Thread(target=restart))
                restarts[-1].start()
            result = batch.step(outputs=['body_pose'])
            self.assertEqual(result.step_index.tolist(), [i + 1] * 3)
        restarts[-1].join()
        self.assertEqual(len(running), 4)
        self.assertEqual(result['body_pose'].tobytes(), self.expected)

    def test_a_stream_is_opened_again_and_goes_on(self):
        server = self.serve()
        client = self.client(server.address)
        batch = client.create_batch(client.create_model(MODEL), 3)
        with batch.stream() as stream:
            indices = []
            for result in stream.map(({'outputs': ['body_pose']} for _ in range(STEPS)), in_flight=4):
                indices.append(result.step_index[0])
                if len(indices) in (50, 120):
                    server.stop()
                    server = self.serve(port=server.port)
        self.assertEqual(indices, list(range(1, STEPS + 1)))
        self.assertEqual(result['body_pose'].tobytes(), self.expected)

    def test_a_step_whose_answer_is_lost_is_not_made_twice(self):
        server = self.serve()
        proxy = CuttingProxy(server.port)
        self.addCleanup(proxy.close)
        client = self.client(proxy.address)
        batch = client.create_batch(client.create_model(MODEL), 3)
        for i in range(STEPS):
            if i % 20 == 10:
                proxy.mute()
                made = server.metric('axion_world_steps_total{device="cpu"}')
                threading.Thread(target=lambda made=made: (case.eventually(
                    lambda: server.metric('axion_world_steps_total{device="cpu"}') > made), proxy.cut())).start()
            result = batch.step(outputs=['body_pose'])
            self.assertEqual(result.step_index.tolist(), [i + 1] * 3)
        self.assertEqual(result['body_pose'].tobytes(), self.expected)
        self.assertEqual(server.metric('axion_world_steps_total{device="cpu"}'), 3 * STEPS)

    def test_a_reset_and_a_state_whose_answer_is_lost_are_made_once(self):
        server = self.serve()
        proxy = CuttingProxy(server.port)
        self.addCleanup(proxy.close)
        client, own = self.client(proxy.address), self.client(server.address)
        task = {'observation': [{'quantity': {'field': 'joint_position'}}],
                'start': [{'of': 'START_OF_POSITION', 'start': 7, 'lower': -0.1, 'upper': 0.1}]}
        model = client.create_model(MODEL)
        name = client.create_batch(model, 2, task=task).name
        # The first, in the place of the client's, loses its answer; the second is of a server that nothing happens to.
        batch, other = client.get_batch(name), own.create_batch(model, 2, task=task)
        action = [[0.0] * batch.task.action_size] * 2

        def lose(method, call):
            page = f'axion_rpc_duration_seconds_count{{code="OK",method="{method}"}}'
            made = server.metric(page, 0)
            proxy.mute()
            threading.Thread(target=lambda: (case.eventually(lambda: server.metric(page, 0) > made), proxy.cut())).start()
            return call()

        for _ in range(3):
            seen = lose('Reset', batch.begin_episodes)
            self.assertEqual(seen.tolist(), other.begin_episodes().tolist())
            self.assertEqual(batch.step_task(action).episode.tolist(), other.step_task(action).episode.tolist())
        # Between a state that was set and its repetition another client steps: it is not set back.
        position = other.get_state('joint_position')['joint_position']
        elsewhere = own.get_batch(name)
        request = state_pb2.SetStateRequest(batch=name, request_id='once')
        request.state.joint_position.CopyFrom(axion.to_tensor(position, 'joint_position'))
        own.stub.SetState(request)
        stepped = elsewhere.step(steps=5, outputs=['body_pose'])['body_pose'].tobytes()
        own.stub.SetState(request)
        self.assertEqual(elsewhere.get_state('body_pose')['body_pose'].tobytes(), stepped)
        request.world_indices.extend([1, 0])
        with self.assertRaisesRegex(grpc.RpcError, 'request_id'):
            own.stub.SetState(request)
        # Across the end of the server, as what a step was answered.
        reset = state_pb2.ResetRequest(batch=name, request_id='reset')
        seen = own.stub.Reset(reset).task.observation.data
        stepped = elsewhere.step(outputs=['body_pose'])['body_pose'].tobytes()
        server.stop()
        server = self.serve(port=server.port)
        self.assertEqual(own.stub.Reset(reset).task.observation.data, seen)
        self.assertEqual(elsewhere.get_state('body_pose')['body_pose'].tobytes(), stepped)

    def test_a_snapshot_whose_answer_is_lost_is_kept_and_restored_once(self):
        server = self.serve()
        proxy = CuttingProxy(server.port)
        self.addCleanup(proxy.close)
        client, own = self.client(proxy.address), self.client(server.address)
        batch = client.create_batch(client.create_model(MODEL), 2)
        elsewhere = own.get_batch(batch.name)

        def lose(method, call, then=lambda: None):
            """Cuts the connection once the call is done, and before its answer is through; `then` happens before it is repeated."""
            page = f'axion_rpc_duration_seconds_count{{code="OK",method="{method}"}}'
            made = server.metric(page, 0)
            proxy.mute()
            threading.Thread(target=lambda: (case.eventually(lambda: server.metric(page, 0) > made), then(), proxy.cut())).start()
            return call()

        def positions(of):
            return of.get_state('joint_position')['joint_position'].tobytes()

        batch.step(steps=50)
        before = positions(elsewhere)
        # Another client steps before the repetition comes: it has the first one's worlds, and there is one snapshot.
        kept = lose('SaveSnapshot', lambda: batch.save_snapshot('fifty', return_content=True), lambda: elsewhere.step(steps=5))
        self.assertEqual([s.name for s in own.list_snapshots()], [kept.name])
        self.assertEqual(kept.max_step_index, 50)
        made = lose('RestoreSnapshot', lambda: client.restore_snapshot(kept.content))
        self.assertEqual(positions(made), before)
        self.assertEqual(sorted(b.name for b in own.list_batches()), sorted([batch.name, made.name]))
        # What is stepped between a batch's return and its repetition is not taken back.
        lose('RestoreSnapshot', lambda: client.restore_snapshot(kept, batch), lambda: elsewhere.step(steps=7))
        self.assertEqual(batch.step().step_index.tolist(), [58, 58])

    def test_a_snapshot_is_made_once_for_its_id_across_the_end_of_the_server(self):
        server = self.serve()
        own = self.client(server.address)
        model = own.create_model(MODEL)
        batch, other = own.create_batch(model, 2), own.create_batch(model, 2)
        save = snapshot_pb2.SaveSnapshotRequest(batch=batch.name, request_id='kept', return_content=True)
        with ThreadPoolExecutor(4) as pool:  # some while another is under way
            names = {own.stub.SaveSnapshot(save).name for _ in range(3)} | set(
                pool.map(lambda _: own.stub.SaveSnapshot(save).name, range(8)))
        first = own.stub.SaveSnapshot(save)
        self.assertEqual(names, {first.name})
        for wrong in ({'batch': other.name}, {'display_name': 'else'}):
            with self.assertRaisesRegex(grpc.RpcError, 'request_id'):
                own.stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(**({'batch': batch.name, 'request_id': 'kept'} | wrong)))
        restore = snapshot_pb2.RestoreSnapshotRequest(snapshot=first.name, request_id='made')
        into = snapshot_pb2.RestoreSnapshotRequest(snapshot=first.name, request_id='made', batch=batch.name)
        made = own.stub.RestoreSnapshot(restore).name
        own.stub.RestoreSnapshot(into)
        batch.step(steps=3)
        server.stop()
        server = self.serve(port=server.port)
        self.assertEqual(own.stub.SaveSnapshot(save), first)
        self.assertEqual(own.stub.RestoreSnapshot(restore).name, made)
        self.assertEqual(own.stub.RestoreSnapshot(into).name, batch.name)
        self.assertEqual(batch.step().step_index.tolist(), [4, 4])
        self.assertEqual([s.name for s in own.list_snapshots()], [first.name])
        self.assertEqual(len(own.list_batches()), 3)
        for request in (restore, into):
            request.content = first.content
            with self.assertRaisesRegex(grpc.RpcError, 'request_id'):
                own.stub.RestoreSnapshot(request)
        # The snapshot outlives the batch that it was taken of; once it is deleted its id is new.
        batch.delete()
        self.assertEqual(own.stub.SaveSnapshot(save), first)
        own.delete_snapshot(first.name)
        with self.assertRaisesRegex(grpc.RpcError, 'does not exist'):
            own.stub.SaveSnapshot(save)

    def test_a_batch_that_lost_steps_is_told_and_not_stepped(self):
        server = self.serve('--checkpoint_interval=100ms')
        client = self.client(server.address)
        batch = client.create_batch(client.create_model(MODEL), 3)
        batch.step(steps=10)
        server.await_checkpoints()
        server.kill()
        server = self.serve(port=server.port)
        with self.assertRaises(axion.AbortedError) as caught:
            batch.step()
        self.assertEqual(caught.exception.reason, 'ROLLED_BACK')
        again = client.get_batch(batch.name)
        self.assertEqual(again.step().step_index.tolist(), [11] * 3)

    def test_without_patience_or_a_server_that_was_there_errors_come_at_once(self):
        for_ever = 1e6  # seconds for which a call would wait that waits
        with self.assertRaises(axion.UnavailableError):
            self.client('127.0.0.1:1', retry=for_ever).server_info()
        server = self.serve()
        impatient, patient = self.client(server.address, retry=0), self.client(server.address, retry=for_ever)
        impatient.server_info()
        patient.server_info()
        server.kill()
        with self.assertRaises(axion.UnavailableError):
            impatient.server_info()
        with self.assertRaises((axion.UnavailableError, axion.DeadlineExceededError)):
            patient.server_info(timeout=0.3)
        with self.assertRaises(ValueError):
            axion.Client(retry=-1)

    def test_a_server_that_is_away_is_looked_for_each_second(self):
        listener = self.enterContext(socket.create_server(('127.0.0.1', 0)))
        attempts = []

        def turn_away():
            with contextlib.suppress(OSError):  # it is closed
                while True:
                    listener.accept()[0].close()
                    attempts.append(time.monotonic())

        threading.Thread(target=turn_away, daemon=True).start()
        client = self.client(f'127.0.0.1:{listener.getsockname()[1]}', retry=0)

        def looked_for():
            with self.assertRaises(axion.UnavailableError):
                client.server_info()
            return len(attempts) >= 12  # which takes five minutes with the waits of gRPC

        self.assertTrue(case.eventually(looked_for))

    def test_snapshots_by_the_tool(self):
        server = self.serve()
        batch = self.client(server.address).create_batch(self.client(server.address).create_model(MODEL), 3)
        batch.step(steps=STEPS // 2)
        file = self.folder / 'half.axion'

        def tool(*words):
            done = subprocess.run([str(BIN / 'axion'), 'snapshot', *map(str, words), f'--server={server.address}', '--json'],
                                  capture_output=True, text=True, timeout=case.PATIENCE_SECONDS)
            return done.returncode, json.loads(done.stdout) if done.stdout.strip() else done.stderr

        code, kept = tool('save', batch.name, '--name=half way', f'--out={file}')
        self.assertEqual((code, kept['display_name'], kept['world_count']), (0, 'half way', 3))
        self.assertGreater(file.stat().st_size, 1000)
        self.assertEqual(tool('list'), (0, [kept]))
        for words in ((kept['name'],), (file,), (kept['name'], batch.name)):
            code, made = tool('restore', *words)
            self.assertEqual(code, 0, made)
            again = self.client(server.address).get_batch(made['name'])
            for _ in range(STEPS // 2):
                result = again.step(outputs=['body_pose'])
            self.assertEqual(result['body_pose'].tobytes(), self.expected)
        self.assertEqual(tool('delete', kept['name'])[0], 0)
        self.assertEqual(tool('list'), (0, []))
        code, text = tool('restore', kept['name'])
        self.assertEqual(code, 1)
        self.assertIn('NOT_FOUND', text)
        for wrong in (('save',), ('restore',), ('burn', 'x'), (), ('save', batch.name, '--nokeep')):
            self.assertEqual(tool(*wrong)[0], 2)

    def test_snapshots_by_the_package(self):
        client = self.client(self.serve().address)
        batch = client.create_batch(client.create_model(MODEL), 3)
        batch.step(steps=STEPS // 2)
        kept = batch.save_snapshot('half way')
        carried = batch.save_snapshot(return_content=True, skip_store=True)
        self.assertEqual([s.display_name for s in client.list_snapshots()], ['half way'])
        for source in (kept, kept.name, carried, carried.content):
            again = client.restore_snapshot(source)
            for _ in range(STEPS // 2):
                result = again.step(outputs=['body_pose'])
            self.assertEqual(result['body_pose'].tobytes(), self.expected)
        self.assertEqual(client.restore_snapshot(kept, batch).name, batch.name)
        client.delete_snapshot(kept)
        self.assertEqual(client.list_snapshots(), [])
        with self.assertRaises(axion.NotFoundError):
            client.restore_snapshot(kept)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
