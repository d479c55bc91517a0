#!/usr/bin/env python3
"""What a real axiond keeps for longer than a call is counted in --memory_limit: snapshots that come back, what they remember,
tasks, and requests of streams.

Usage: kept_memory_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import collections
import hashlib
import struct
import sys
import tempfile
import unittest

import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim
from axion.v1 import snapshot_pb2, task_pb2, watch_pb2
from memory_case import MIB, MODEL, SERVICE, MemoryCase, field

Code = grpc.StatusCode


def unknown(size):
    """A field that no message has."""
    return field(2047, bytes(size))


def unsealed(content):
    """A snapshot's first part, and the rest as it lies in the content."""
    length, = struct.unpack_from('<Q', content, 16)
    return content[24:24 + length], content[24 + length:-32]


def sealed(like, head, rest):
    body = like[:16] + struct.pack('<Q', len(head)) + head + rest
    return body + hashlib.sha256(body).digest()


class KeptMemory(MemoryCase):
    def setUp(self):
        self.start(f'--state_dir={self.enterContext(tempfile.TemporaryDirectory())}/state')
        self.model = self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.server.metric('axion_connections_cut_total'), 0)

    def batch(self, worlds=1, **keywords):
        return self.stub.CreateBatch(sim.CreateBatchRequest(model=self.model, world_count=worlds, **keywords)).name

    def content(self, batch):
        return self.stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch, return_content=True, skip_store=True)).content

    def restores_until_refused(self, count, **source):
        for done in range(count):
            code, text = case.outcome(self.stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(**source))
            if code != Code.OK:
                self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
                self.assertRegex(text, r'^memory_limit: .* would take about \d+ bytes')
                return done
        return count

    def test_answers_that_a_restored_batch_remembers(self):
        batch = self.batch()
        for i in range(64):
            self.stub.Step(sim.StepRequest(batch=batch, step_count=600, record_every=1, outputs=['body_pose'], request_id=f'{i}'))
        snapshot = self.stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch)).name
        before = self.used()
        restored = self.restores_until_refused(100, snapshot=snapshot)
        self.assertGreater(restored, 0)
        self.assertLess(restored, 100)
        self.assertGreater(self.used(), before + restored * 10 * MIB)

    def test_ids_of_requests_that_a_restored_batch_has_forgotten(self):
        content = self.content(self.batch())
        head, rest = unsealed(content)
        lie = sealed(content, head + field(13, struct.pack('<65536Q', *range(65536))), rest)
        before = self.used()
        restored = self.restores_until_refused(400, content=lie)
        self.assertGreater(self.used(), before + restored * MIB)

    def test_ids_and_refusals_without_end_are_refused(self):
        content = self.content(self.batch())
        head, rest = unsealed(content)
        for answer in (snapshot_pb2.StoredAnswer(request_id='x' * MIB), snapshot_pb2.StoredAnswer(request_id='x', message='y' * MIB)):
            lie = sealed(content, head + field(12, answer.SerializeToString()) * 20, rest)
            code, text = case.outcome(self.stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(content=lie))
            self.assertEqual(code, Code.INVALID_ARGUMENT, text)
            self.assertIn('content', text)

    def test_a_sealed_snapshot_of_millions_of_empty_answers(self):
        content = self.content(self.batch())
        head, rest = unsealed(content)
        lie = sealed(content, head + field(12, b'') * (8 * MIB), rest)
        code, text = case.outcome(self.stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(content=lie))
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
        self.assertRegex(text, r'^memory_limit: the snapshot would take about \d+ bytes')

    def test_kept_snapshots_that_wait_to_be_restored(self):
        batch = self.batch(2000)
        snapshot = self.stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch)).name
        with self.server.channel() as other:
            long = case.simulation_pb2_grpc.SimulationStub(other).Step.future(sim.StepRequest(batch=batch, step_count=1_000_000))
            asked, calls = snapshot_pb2.RestoreSnapshotRequest(snapshot=snapshot, batch=batch), []

            def refused():
                """Of one more, which is read and waits for the step to end, and of those before it."""
                calls.append(self.stub.RestoreSnapshot.future(asked))
                return any(call.done() and 'memory_limit: the snapshot' in (call.details() or '') for call in calls)

            self.assertTrue(case.eventually(refused))
            for call in calls:
                call.cancel()
            long.cancel()
        self.assertGreater(len(calls), 5)

    def test_tasks_keep_what_they_say_and_no_more(self):
        task = task_pb2.TaskSpec()
        task.observation.add().quantity.field = 'joint_position'
        wanted = sim.CreateBatchRequest(model=self.model, world_count=1, task=task).SerializeToString()
        number = sim.CreateBatchRequest.DESCRIPTOR.fields_by_name['task'].number
        create = self.channel.unary_unary(SERVICE + 'CreateBatch', response_deserializer=sim.Batch.FromString)
        for _ in range(10):
            code, text = case.outcome(create, wanted + field(number, unknown(MIB)))
            self.assertEqual(code, Code.OK, text)
        for batch in self.stub.ListBatches(sim.ListBatchesRequest()).batches:
            self.assertLess(batch.task.ByteSize(), 4096)
        task.reward.add(name='r' * 2 * MIB, measure=task_pb2.MEASURE_ALIVE)
        code, text = case.outcome(self.stub.CreateBatch, sim.CreateBatchRequest(model=self.model, world_count=1, task=task))
        self.assertEqual(code, Code.INVALID_ARGUMENT, text)
        self.assertRegex(text, r'^task: has \d+ bytes; at most 1048576 are taken')

    def test_requests_of_streams_that_stay_open(self):
        asked = watch_pb2.WatchRequest(batch=self.batch(), rate=0.001).SerializeToString() + unknown(4 * MIB)
        watch = self.channel.unary_stream(SERVICE + 'Watch', response_deserializer=watch_pb2.WatchResponse.FromString)
        streams, codes = [], collections.Counter()
        for _ in range(40):
            stream = watch(asked)
            try:
                next(stream)
                streams.append(stream)
            except grpc.RpcError as error:
                codes[error.code()] += 1
        self.assertGreater(len(streams), 0)
        self.assertEqual(set(codes), {Code.RESOURCE_EXHAUSTED}, codes)
        for stream in streams:
            stream.cancel()


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
