#!/usr/bin/env python3
"""Snapshots and checkpoints of a real axiond that is killed, drained, restarted, short of disk and lied to: what it has acknowledged
is there, and steps on with the same bits.

Usage: snapshots_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import contextlib
import pathlib
import random
import sqlite3
import sys
import threading
import unittest

import grpc
import numpy as np

import access_case as case
from axion.v1 import simulation_pb2 as sim
from axion.v1 import scene_pb2, snapshot_pb2, state_pb2

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
Code, refusal = grpc.StatusCode, case.outcome
WORLDS = 5
OUTPUTS = ['body_pose', 'body_velocity', 'joint_impulse']


def make_batch(stub, worlds=WORLDS, metadata=None):
    """A model and a batch of worlds that differ. Returns their messages."""
    model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL), metadata=metadata)
    request = sim.CreateBatchRequest(model=model.name, world_count=worlds, seed=7)
    request.initial_noise.joint_position = 0.05
    request.overrides.friction_scale.CopyFrom(tensor(np.linspace(0.5, 1.5, worlds)))
    return model, stub.CreateBatch(request, metadata=metadata)


def tensor(array):
    from axion import to_tensor
    return to_tensor(array)


def step(stub, batch, count=5, **keywords):
    return stub.Step(sim.StepRequest(batch=batch, step_count=count, outputs=OUTPUTS, **keywords), timeout=case.PATIENCE_SECONDS)


@contextlib.contextmanager
def opened(folder):
    """The database, by another program."""
    with contextlib.closing(sqlite3.connect(folder / 'axion.db')) as database, database:
        yield database


def bits(answer):
    return {name: answer.outputs[name].data for name in OUTPUTS}, list(answer.time), list(answer.step_index)


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(case.scratch())
        self.state = self.folder / 'state'

    def serve(self, *flags, **keywords):
        return self.enterContext(case.Server(BIN, f'--state_dir={self.state}', *flags, **keywords))

    def save(self, stub, batch, **keywords):
        return stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch, **keywords), timeout=case.PATIENCE_SECONDS)

    def restore(self, stub, **keywords):
        return stub.RestoreSnapshot(snapshot_pb2.RestoreSnapshotRequest(**keywords), timeout=case.PATIENCE_SECONDS)

    def list(self, stub, **keywords):
        return stub.ListSnapshots(snapshot_pb2.ListSnapshotsRequest(**keywords), timeout=case.PATIENCE_SECONDS)

    def test_a_saved_snapshot_survives_a_kill_and_steps_on_with_the_same_bits(self):
        server = self.serve()
        stub = server.stub()
        model, batch = make_batch(stub)
        step(stub, batch.name, 40)
        saved = self.save(stub, batch.name, display_name='after forty')
        self.assertEqual((saved.world_count, saved.min_step_index, saved.max_step_index), (WORLDS, 40, 40))
        self.assertRegex(saved.name, '^snapshots/[0-9a-f]{16}$')
        expected = [bits(step(stub, batch.name)) for _ in range(3)]
        server.kill()

        stub = self.serve().stub()
        self.assertEqual([s.name for s in self.list(stub).snapshots], [saved.name])
        self.assertEqual(self.list(stub).snapshots[0], saved)
        again = self.restore(stub, snapshot=saved.name)
        self.assertNotEqual(again.name, batch.name)
        for field in ('world_count', 'dt', 'options', 'seed', 'initial_noise', 'idle_ttl', 'stream_ttl', 'fields'):
            self.assertEqual(getattr(again, field), getattr(batch, field), field)
        self.assertEqual(stub.GetModel(sim.GetModelRequest(name=again.model)).fingerprint, model.fingerprint)
        self.assertEqual([bits(step(stub, again.name)) for _ in range(3)], expected)
        # Its worlds start again as those of the batch that it was taken of: scales travel, too.
        stub.Reset(state_pb2.ResetRequest(batch=again.name))
        fresh = make_batch(stub)[1]
        self.assertEqual(fresh.model, again.model, 'equal content is one model')
        stub.Reset(state_pb2.ResetRequest(batch=fresh.name))
        self.assertEqual(bits(step(stub, again.name)), bits(step(stub, fresh.name)))

    def test_a_batch_goes_back_to_its_snapshot(self):
        stub = self.serve().stub()
        _, batch = make_batch(stub)
        step(stub, batch.name, 10)
        saved = self.save(stub, batch.name)
        expected = bits(step(stub, batch.name, 20, request_id='once'))
        back = self.restore(stub, snapshot=saved.name, batch=batch.name)
        self.assertEqual(back.name, batch.name)
        # What was answered stays answered, and is no step.
        self.assertEqual(bits(step(stub, batch.name, 20, request_id='once')), expected)
        self.assertEqual(bits(step(stub, batch.name, 20, expected_step=10)), expected)
        other = stub.CreateBatch(sim.CreateBatchRequest(model=batch.model, world_count=WORLDS + 1))
        code, text = refusal(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(snapshot=saved.name, batch=other.name))
        self.assertEqual(code, Code.INVALID_ARGUMENT)
        self.assertIn(f'{WORLDS + 1} worlds', text)
        code, text = refusal(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(
            snapshot=saved.name, batch=stub.CreateBatch(sim.CreateBatchRequest(model=batch.model, world_count=WORLDS, dt=1e-3)).name))
        self.assertEqual(code, Code.INVALID_ARGUMENT)
        self.assertIn('dt', text)

    def test_bytes_travel_to_a_server_that_keeps_nothing(self):
        stub = self.serve().stub()
        _, batch = make_batch(stub)
        step(stub, batch.name, 17, request_id='seventeen')
        saved = self.save(stub, batch.name, return_content=True, skip_store=True)
        self.assertEqual((saved.name, len(self.list(stub).snapshots)), ('', 0))
        expected = bits(step(stub, batch.name))
        bare = self.enterContext(case.Server(BIN)).stub()
        again = self.restore(bare, content=saved.content)
        remembered = step(bare, again.name, 17, request_id='seventeen')
        self.assertEqual(list(remembered.step_index), [17] * WORLDS)
        self.assertEqual(bits(step(bare, again.name, expected_step=17)), expected)
        for call, request in ((bare.SaveSnapshot, snapshot_pb2.SaveSnapshotRequest(batch=again.name)),
                              (bare.ListSnapshots, snapshot_pb2.ListSnapshotsRequest()),
                              (bare.DeleteSnapshot, snapshot_pb2.DeleteSnapshotRequest(name='snapshots/1')),
                              (bare.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(snapshot='snapshots/1'))):
            code, text = refusal(call, request)
            self.assertEqual(code, Code.FAILED_PRECONDITION)
            self.assertIn('--state_dir', text)

    def test_bytes_that_are_not_whole_are_refused_and_change_nothing(self):
        stub = self.serve().stub()
        _, batch = make_batch(stub)
        step(stub, batch.name, 3)
        content = self.save(stub, batch.name, return_content=True, skip_store=True).content
        before = stub.GetState(state_pb2.GetStateRequest(batch=batch.name))
        randomness = random.Random(1)
        damaged = [b'', b'x', content[:-1], content[:60], content + b'\0', content[1:]]
        for _ in range(60):
            at = randomness.randrange(len(content))
            damaged.append(content[:at] + bytes([content[at] ^ 1 << randomness.randrange(8)]) + content[at + 1:])
        for bad in damaged:
            for into in ('', batch.name):
                code, text = refusal(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(content=bad, batch=into))
                self.assertEqual(code, Code.INVALID_ARGUMENT, text)
                self.assertIn('content', text)
        self.assertEqual(stub.GetState(state_pb2.GetStateRequest(batch=batch.name)), before)
        self.assertEqual(len(stub.ListBatches(sim.ListBatchesRequest()).batches), 1)

    def test_sealed_lies_are_refused(self):
        """Whoever knows the format can seal anything: what is sealed is checked like any request."""
        import hashlib
        import struct
        stub = self.serve().stub()
        _, batch = make_batch(stub)
        content = self.save(stub, batch.name, return_content=True, skip_store=True).content
        length, = struct.unpack_from('<Q', content, 16)
        head = snapshot_pb2.StoredBatch.FromString(content[24:24 + length])
        rest = content[24 + length:-32]

        def sealed(change):
            lie = snapshot_pb2.StoredBatch()
            lie.CopyFrom(head)
            change(lie)
            part = lie.SerializeToString()
            body = content[:16] + struct.pack('<Q', len(part)) + part + rest
            return body + hashlib.sha256(body).digest()

        self.assertEqual(refusal(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(
            content=sealed(lambda lie: None)))[0], Code.OK)

        def more_bodies(lie, count=1):
            scene = scene_pb2.SceneSpec.FromString(lie.model.scene)
            for number in range(count):
                scene.bodies.add(name=f'more{number}', mass=1, inertia=scene_pb2.Inertia(xx=1, yy=1, zz=1))
            lie.model.scene = scene.SerializeToString()

        models = len(stub.ListModels(sim.ListModelsRequest()).models)
        for change in (lambda lie: setattr(lie, 'world_count', 6), lambda lie: setattr(lie, 'world_count', -1),
                       lambda lie: setattr(lie, 'dt', float('nan')), lambda lie: setattr(lie, 'dt', 0.5),
                       lambda lie: setattr(lie, 'joint_position_noise', -1.0), lambda lie: lie.idle_ttl.FromSeconds(10**10),
                       lambda lie: setattr(lie.options, 'tolerance', -1.0),
                       lambda lie: setattr(lie.model, 'scene', b''), lambda lie: setattr(lie.model, 'scene', b'\xff\xff\xff'),
                       lambda lie: lie.ClearField('model'), more_bodies,
                       lambda lie: (more_bodies(lie, 2), setattr(lie, 'dt', 0.5)), lambda lie: more_bodies(lie, 5000)):
            code, text = refusal(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(content=sealed(change)))
            self.assertEqual(code, Code.INVALID_ARGUMENT, text)
        self.assertEqual(len(stub.ListBatches(sim.ListBatchesRequest()).batches), 2)
        self.assertEqual(len(stub.ListModels(sim.ListModelsRequest()).models), models)

    def test_a_drained_server_comes_back_with_models_batches_and_answers(self):
        server = self.serve()
        stub = server.stub()
        model, batch = make_batch(stub)
        lonely = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL.replace('name="quadruped"', 'name="other"', 1).replace(
            '<mujoco', '<!-- another -->\n<mujoco', 1).replace('<option', '<option integrator="implicit"', 1)))
        answer = step(stub, batch.name, 30, request_id='thirty')
        self.assertEqual(server.stop(), 0)

        # What steps after that point would have given, from a server that never stopped.
        stub = self.serve(port=server.port).stub()
        self.assertEqual({m.name for m in stub.ListModels(sim.ListModelsRequest()).models}, {model.name, lonely.name})
        again = stub.GetBatch(sim.GetBatchRequest(name=batch.name))
        self.assertEqual((again.model, again.incarnation, again.create_time), (model.name, batch.incarnation, batch.create_time))
        self.assertEqual(stub.GetModel(sim.GetModelRequest(name=model.name)), model)
        self.assertEqual(step(stub, batch.name, 30, request_id='thirty'), answer)
        after = step(stub, batch.name, 30, expected_step=30, expected_incarnation=batch.incarnation)
        reference = self.enterContext(case.Server(BIN)).stub()
        twin = make_batch(reference)[1]
        step(reference, twin.name, 30)
        self.assertEqual(bits(after), bits(step(reference, twin.name, 30)))
        # Names are not given twice.
        self.assertNotIn(make_batch(stub)[1].name, (batch.name,))

    def test_checkpoints_are_there_after_a_kill_and_say_that_time_was_lost(self):
        server = self.serve('--checkpoint_interval=100ms')
        stub = server.stub()
        _, batch = make_batch(stub)
        step(stub, batch.name, 10)
        server.await_checkpoints()
        server.kill()
        stub = self.serve(port=server.port).stub()
        again = stub.GetBatch(sim.GetBatchRequest(name=batch.name))
        self.assertNotEqual(again.incarnation, batch.incarnation)
        code, text = refusal(stub.Step, sim.StepRequest(batch=batch.name, expected_incarnation=batch.incarnation))
        self.assertEqual(code, Code.ABORTED)
        self.assertIn('checkpoint', text)
        self.assertEqual(list(step(stub, batch.name, 1, expected_step=10, expected_incarnation=again.incarnation).step_index),
                         [11] * WORLDS)

    def test_steps_go_on_while_checkpoints_are_taken(self):
        server = self.serve('--checkpoint_interval=100ms')
        stub = server.stub()
        names = [make_batch(stub)[1].name for _ in range(3)]
        counts, earliest = [0] * 3, []  # steps of each batch: that were made, and that a checkpoint has for sure

        def await_checkpoints():
            server.await_checkpoints(1)
            earliest.extend(counts)
            server.await_checkpoints()

        checkpoints = threading.Thread(target=await_checkpoints)
        checkpoints.start()
        while checkpoints.is_alive():
            for i, name in enumerate(names):
                step(stub, name, 1, expected_step=counts[i], request_id=f'{i}.{counts[i]}')
                counts[i] += 1
        server.kill()
        stub = self.serve().stub()
        for i, name in enumerate(names):
            at = list(stub.GetState(state_pb2.GetStateRequest(batch=name, fields=['time'])).step_index)
            self.assertEqual(len(set(at)), 1, 'a batch is saved between two requests')
            self.assertGreaterEqual(at[0], earliest[i], 'it was saved while it stepped')
            # The last request that it has is remembered, and the next is not.
            self.assertEqual(list(step(stub, name, 1, expected_step=at[0] - 1, request_id=f'{i}.{at[0] - 1}').step_index), at)
            self.assertEqual(list(step(stub, name, 1, request_id=f'{i}.{at[0]}').step_index), [at[0] + 1] * WORLDS)

    def test_what_was_deleted_or_expired_does_not_come_back(self):
        server = self.serve('--checkpoint_interval=100ms')
        stub = server.stub()
        model, batch = make_batch(stub)
        _, kept = make_batch(stub)
        brief = sim.CreateBatchRequest(model=model.name, world_count=1)
        brief.idle_ttl.FromMilliseconds(600)
        expired = stub.CreateBatch(brief).name
        saved = self.save(stub, batch.name)
        server.await_checkpoints()
        stub.DeleteBatch(sim.DeleteBatchRequest(name=batch.name))
        stub.DeleteSnapshot(snapshot_pb2.DeleteSnapshotRequest(name=saved.name))
        self.assertTrue(case.eventually(lambda: len(stub.ListBatches(sim.ListBatchesRequest()).batches) == 1))
        server.await_checkpoints()
        server.kill()
        stub = self.serve().stub()
        self.assertEqual([b.name for b in stub.ListBatches(sim.ListBatchesRequest()).batches], [kept.name])
        self.assertEqual(refusal(stub.GetBatch, sim.GetBatchRequest(name=expired))[0], Code.NOT_FOUND)
        self.assertEqual(refusal(stub.DeleteSnapshot, snapshot_pb2.DeleteSnapshotRequest(name=saved.name))[0], Code.NOT_FOUND)
        self.assertEqual(len(self.list(stub).snapshots), 0)

    def test_a_kill_in_the_middle_of_saving_loses_nothing_acknowledged(self):
        randomness = random.Random(5)
        acknowledged = {}  # snapshot name to the bits of the steps after it
        for _ in range(12):
            server = self.serve('--checkpoint_interval=100ms')
            stub = server.stub()
            for name in randomness.sample(sorted(acknowledged), min(2, len(acknowledged))):
                again = self.restore(stub, snapshot=name)
                self.assertEqual(bits(step(stub, again.name)), acknowledged[name])
                stub.DeleteBatch(sim.DeleteBatchRequest(name=again.name))
            self.assertLessEqual(set(acknowledged), {s.name for s in self.list(stub, page_size=1000).snapshots})
            _, batch = make_batch(stub, 64)
            step(stub, batch.name, 3)
            killer = threading.Timer(randomness.uniform(0, 0.1), server.kill)  # in the middle of one of those after the first
            with contextlib.suppress(grpc.RpcError):
                while True:
                    saved = self.save(stub, batch.name)
                    acknowledged[saved.name] = None  # from here on it has to be there
                    acknowledged[saved.name] = bits(step(stub, batch.name))
                    if killer.ident is None:
                        killer.start()
            killer.join()
            acknowledged = {name: after for name, after in acknowledged.items() if after is not None}
        self.assertGreaterEqual(len(acknowledged), 12)
        stub = self.serve().stub()
        for name, after in acknowledged.items():
            again = self.restore(stub, snapshot=name)
            self.assertEqual(bits(step(stub, again.name)), after)
            stub.DeleteBatch(sim.DeleteBatchRequest(name=again.name))

    def test_a_full_disk_is_told_and_loses_nothing(self):
        server = self.serve('--checkpoint_interval=200ms', max_file_bytes=6 << 20)
        stub = server.stub()
        _, batch = make_batch(stub, 64)
        _, large = make_batch(stub, 3000)  # its 12 MB fit into no such file, whatever else is there
        stub.Step(sim.StepRequest(batch=large.name), timeout=case.PATIENCE_SECONDS)
        code, text = refusal(stub.SaveSnapshot, snapshot_pb2.SaveSnapshotRequest(batch=large.name))
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
        self.assertTrue(case.eventually(lambda: server.metric('axion_checkpoint_failures_total') > 0))
        stub.DeleteBatch(sim.DeleteBatchRequest(name=large.name))
        kept = []
        for _ in range(1000):
            step(stub, batch.name, 1)
            code, text = refusal(stub.SaveSnapshot, snapshot_pb2.SaveSnapshotRequest(batch=batch.name, display_name='x'))
            if code != Code.OK:
                break
            kept = [s.name for s in self.list(stub, page_size=1000).snapshots]
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
        self.assertIn('no room', text)
        self.assertGreater(len(kept), 0)
        expected = bits(step(stub, batch.name))  # it serves on
        self.assertEqual([s.name for s in self.list(stub, page_size=1000).snapshots], kept)
        for name in kept:
            stub.DeleteBatch(sim.DeleteBatchRequest(name=self.restore(stub, snapshot=name).name))
        server.kill()
        stub = self.serve().stub()
        self.assertEqual([s.name for s in self.list(stub, page_size=1000).snapshots], kept)
        self.assertTrue(expected)
        for name in kept:
            self.restore(stub, snapshot=name)

    def test_tenants_see_their_own_snapshots_alone(self):
        tokens = {name: case.new_token() for name in ('red', 'blue')}
        file = self.folder / 'tokens'
        file.write_text(''.join(f'{name} {token[1]}\n' for name, token in tokens.items()))
        red, blue = (case.bearer(tokens[name][0]) for name in ('red', 'blue'))
        server = self.serve(f'--token_file={file}')
        stub = server.stub()
        _, batch = make_batch(stub, metadata=red)
        saved = stub.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch.name), metadata=red)

        def strangers():
            self.assertEqual(len(stub.ListSnapshots(snapshot_pb2.ListSnapshotsRequest(), metadata=blue).snapshots), 0)
            for call, request in ((stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(snapshot=saved.name)),
                                  (stub.DeleteSnapshot, snapshot_pb2.DeleteSnapshotRequest(name=saved.name)),
                                  (stub.SaveSnapshot, snapshot_pb2.SaveSnapshotRequest(batch=batch.name)),
                                  (stub.GetBatch, sim.GetBatchRequest(name=batch.name))):
                self.assertEqual(refusal(call, request, metadata=blue)[0], Code.NOT_FOUND)
                self.assertEqual(refusal(call, request)[0], Code.UNAUTHENTICATED)

        strangers()
        server.stop()
        stub = self.serve(f'--token_file={file}').stub()
        strangers()
        self.assertEqual(len(stub.ListSnapshots(snapshot_pb2.ListSnapshotsRequest(), metadata=red).snapshots), 1)
        stub.GetBatch(sim.GetBatchRequest(name=batch.name), metadata=red)
        stub.RestoreSnapshot(snapshot_pb2.RestoreSnapshotRequest(snapshot=saved.name), metadata=red)

    def test_one_server_at_a_time_has_a_store(self):
        self.serve()
        code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', f'--state_dir={self.state}')
        self.assertNotEqual(code, 0)
        self.assertIn('another server uses it', text)

    def test_a_damaged_item_is_told_and_spoils_no_other(self):
        server = self.serve()
        stub = server.stub()
        _, batch = make_batch(stub)
        good, bad = self.save(stub, batch.name), self.save(stub, batch.name)
        _, other = make_batch(stub)
        server.stop()
        with opened(self.state) as database:
            for name in (bad.name, other.name):
                database.execute('UPDATE parts SET bytes = zeroblob(length(bytes)) WHERE number = 1 AND item = '
                                 '(SELECT sequence FROM items WHERE name = ?)', (name,))
        server = self.serve()
        stub = server.stub()
        self.assertIn(f'event=restore_failed name={other.name}', server.log_text())
        self.assertEqual(server.metric('axion_restore_failures'), 1)
        self.assertEqual([b.name for b in stub.ListBatches(sim.ListBatchesRequest()).batches], [batch.name])
        self.assertEqual(refusal(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(snapshot=bad.name))[0], Code.DATA_LOSS)
        self.restore(stub, snapshot=good.name)

    def test_a_database_of_a_newer_server_or_of_another_program_is_refused(self):
        self.serve().stop()
        with opened(self.state) as database:
            database.execute('PRAGMA user_version = 99')
        code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', f'--state_dir={self.state}')
        self.assertNotEqual(code, 0)
        self.assertIn('newer', text)
        other = self.folder / 'other'
        other.mkdir()
        with opened(other) as database:
            database.execute('CREATE TABLE notes(text)')
        code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', f'--state_dir={other}')
        self.assertNotEqual(code, 0)
        self.assertIn('not the database of an axiond', text)

    def test_a_forgotten_answer_is_told_and_never_a_second_step(self):
        server = self.serve()
        stub = server.stub()
        _, batch = make_batch(stub, 1)
        for i in range(100):
            step(stub, batch.name, 1, request_id=f'r{i}')
        code, text = refusal(stub.Step, sim.StepRequest(batch=batch.name, request_id='r3'))
        self.assertEqual(code, Code.ABORTED)
        self.assertIn('not kept any more', text)
        server.stop()
        stub = self.serve(port=server.port).stub()
        self.assertEqual(refusal(stub.Step, sim.StepRequest(batch=batch.name, request_id='r3'))[0], Code.ABORTED)
        self.assertEqual(list(step(stub, batch.name, 1, request_id='r99').step_index), [100])
        self.assertEqual(list(step(stub, batch.name, 1, request_id='r100').step_index), [101])

    def test_snapshots_come_in_pages(self):
        stub = self.serve().stub()
        _, batch = make_batch(stub, 1)
        names = [self.save(stub, batch.name).name for _ in range(5)]
        found, tokens = [], ['']
        while tokens[-1] or len(tokens) == 1:
            page = self.list(stub, page_size=2, page_token=tokens[-1])
            found += [s.name for s in page.snapshots]
            tokens.append(page.next_page_token)
        self.assertEqual(found, names)
        self.assertRegex(' '.join(tokens[1:-1]), r'^pages/\w{16} pages/\w{16}$')   # they count no other tenant's snapshots
        for wrong in ({'page_size': -1}, *({'page_token': token} for token in ('x', '2', 'pages/0000000000000002'))):
            self.assertEqual(refusal(stub.ListSnapshots, snapshot_pb2.ListSnapshotsRequest(**wrong))[0], Code.INVALID_ARGUMENT)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
