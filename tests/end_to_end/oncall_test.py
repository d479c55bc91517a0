#!/usr/bin/env python3
"""What those on call see of a real axiond: lines of JSON that name whose call was refused, tenants' counters, why a directory cannot be
used, and which checkpoint is not whole.

Usage: oncall_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()


class OnCall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(case.scratch())
        cls.token, digest = case.new_token()
        (folder / 'tokens').write_text(f'blue {digest}\n')
        cls.server = cls.enterClassContext(case.Server(BIN, f'--token_file={folder / "tokens"}', '--log_format=json'))
        cls.stub = cls.server.stub()

    def call(self, method, request, token=None):
        return case.outcome(getattr(self.stub, method), request, metadata=case.bearer(token or self.token))

    def whole_lines(self):
        """Of the log; its last may be under way."""
        return self.server.log_text().split('\n')[:-1]

    def refusals(self, method):
        lines = [json.loads(line) for line in self.whole_lines()]
        return [line for line in lines if line['event'] == 'rpc' and line['method'] == method]

    def line_of(self, method):
        """The only refusal of that method, once it is written."""
        found = case.eventually(lambda: self.refusals(method))
        self.assertEqual(len(found), 1)
        return found[0]

    def assert_names(self, line, **names):
        self.assertRegex(line['peer'], r'^ipv4:127\.0\.0\.1:\d+$')
        self.assertEqual({key: line[key] for key in names}, names)

    def test_every_line_is_an_object_with_time_level_and_event(self):
        lines = case.eventually(self.whole_lines)
        self.assertGreater(len(lines), 0)
        for line in lines:
            self.assertLessEqual({'time', 'level', 'event'}, set(json.loads(line)))

    def test_a_refused_step_names_its_client_tenant_batch_and_request(self):
        code, _ = self.call('Step', sim.StepRequest(batch='batches/none', request_id='one "two"'))
        self.assertEqual(code, grpc.StatusCode.NOT_FOUND)
        line = self.line_of('Step')
        self.assert_names(line, tenant='blue', resource='batches/none', request_id='one "two"', code='NOT_FOUND', level='info')
        self.assertIn('batches/none', line['message'])

    def test_a_refused_request_of_a_stream_names_the_same(self):
        stream = self.stub.StepStream(iter([sim.StepRequest(batch='batches/gone', request_id='s1')]),
                                      metadata=case.bearer(self.token), timeout=case.PATIENCE_SECONDS)
        with self.assertRaises(grpc.RpcError):
            list(stream)
        self.assert_names(self.line_of('StepStream'), tenant='blue', resource='batches/gone', request_id='s1')

    def test_long_names_are_cut(self):
        self.call('DeleteBatch', sim.DeleteBatchRequest(name='x' * 5000))
        self.assertLess(len(self.line_of('DeleteBatch')['resource']), 100)

    def test_who_is_not_let_in_has_no_tenant_and_a_place(self):
        self.call('GetBatch', sim.GetBatchRequest(name='batches/1'), token='axion_' + 'x' * 43)
        self.assert_names(self.line_of('GetBatch'), tenant='', resource='', code='UNAUTHENTICATED')

    def test_tenants_have_counters(self):
        metadata = case.bearer(self.token)
        model = self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL), metadata=metadata).name
        batch = self.stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=3), metadata=metadata).name
        self.stub.Step(sim.StepRequest(batch=batch, step_count=7), metadata=metadata)
        self.assertEqual(self.server.metric('axion_tenant_world_steps_total{tenant="blue"}'), 21)
        self.assertGreaterEqual(self.server.metric('axion_tenant_calls_total{outcome="answered",tenant="blue"}'), 3)
        self.assertGreater(self.server.metric('process_resident_memory_bytes'), 1 << 20)


class StateDirectory(unittest.TestCase):
    """Whose it is and why it cannot be used."""

    STRANGER = 64001

    def refusal_of(self, path):
        """Of an axiond that runs without the rights of root."""
        command = [BIN / 'axiond', '--device=cpu', '--threads=1', '--listen=127.0.0.1:0', '--metrics_listen=', f'--state_dir={path}']
        user = {'user': self.STRANGER, 'group': self.STRANGER, 'extra_groups': []} if os.geteuid() == 0 else {}
        done = subprocess.run(command, capture_output=True, text=True, timeout=case.PATIENCE_SECONDS, **user)
        self.assertEqual(done.returncode, 1)
        return done.stderr.splitlines()[-1]

    def test_that_cannot_be_used_says_whose_it_is_its_mode_and_who_runs_the_server(self):
        runs = self.STRANGER if os.geteuid() == 0 else os.geteuid()
        with case.scratch() as folder:
            folder.chmod(0o755)
            locked, file = folder / 'locked', folder / 'file'
            locked.mkdir(), file.touch()
            (folder / 'old').mkdir()
            (folder / 'old/axion.db').touch()
            (folder / 'old/axion.db').chmod(0o400)
            (folder / 'old').chmod(0o777)
            locked.chmod(0o500)
            for path, found, mode, why in ((locked, locked, '0500', 'cannot be written: Permission denied'),
                                           (locked / 'new', locked, '0500', 'cannot be made: Permission denied'),
                                           (folder / 'no/new', folder, '0755', 'cannot be made: No such file or directory'),
                                           (file, file, None, 'is no directory'),
                                           (folder / 'old', folder / 'old/axion.db', '0400', 'its database cannot be written')):
                with self.subTest(path=path.name):
                    said = self.refusal_of(path)
                    self.assertIn(f'--state_dir={path}: {why}', said)
                    self.assertIn(f'"{found}" is a {"file" if found.is_file() else "directory"} of user {os.geteuid()} and', said)
                    self.assertIn(f'the server runs as user {runs} and group', said)
                    if mode:
                        self.assertIn(f'with mode {mode}', said)


class Checkpoints(unittest.TestCase):
    def test_one_that_lacks_a_busy_batch_says_so_and_counts_as_no_whole_one(self):
        folder = self.enterContext(case.scratch())
        server = self.enterContext(case.Server(BIN, f'--state_dir={folder / "state"}', '--checkpoint_interval=100ms'))
        stub = server.stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL))
        batch = stub.CreateBatch(sim.CreateBatchRequest(model=model.name, world_count=5))
        server.await_checkpoints()
        long = stub.Step.future(sim.StepRequest(batch=batch.name, step_count=1_000_000))

        def lacking():
            return server.log_text().count(f'event=checkpoint_lacks batches=1 first={batch.name}')

        self.assertTrue(case.eventually(lacking))
        before = server.metric('axion_checkpoint_timestamp_seconds')
        self.assertTrue(case.eventually(lambda: lacking() > 3))
        self.assertEqual(server.metric('axion_checkpoint_timestamp_seconds'), before)
        self.assertEqual(server.metric('axion_checkpoint_failures_total'), 0)
        long.cancel()
        self.assertTrue(case.eventually(lambda: server.metric('axion_checkpoint_timestamp_seconds') > before))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
