#!/usr/bin/env python3
"""Tokens and tenants of a real axiond: who may call, what a tenant sees of the others, its quotas, and tokens taken back while it
serves.

Usage: tokens_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion; openssl makes the certificates.
"""

import contextlib
import pathlib
import queue
import sys
import unittest

import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim
from axion.v1 import linearize_pb2, query_pb2, snapshot_pb2, state_pb2, step_gradient_pb2, watch_pb2

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
Code = grpc.StatusCode
HEALTH = '/grpc.health.v1.Health/'
SERVING = b'\x08\x01'


class Metadata:
    """A stub whose calls carry a token."""

    def __init__(self, stub, token):
        self._stub, self._metadata = stub, case.bearer(token)

    def __getattr__(self, name):
        method = getattr(self._stub, name)
        return lambda request, **keywords: method(request, metadata=self._metadata, **keywords)


def methods_on(name, other_model):
    """Every method that names a model or batch, as (method, request)."""
    batch, model = name, other_model
    return [('GetModel', sim.GetModelRequest(name=model)),
            ('DeleteModel', sim.DeleteModelRequest(name=model)),
            ('CreateBatch', sim.CreateBatchRequest(model=model, world_count=1)),
            ('GetBatch', sim.GetBatchRequest(name=batch)),
            ('DeleteBatch', sim.DeleteBatchRequest(name=batch)),
            ('KeepAlive', sim.KeepAliveRequest(name=batch)),
            ('Step', sim.StepRequest(batch=batch)),
            ('Reset', state_pb2.ResetRequest(batch=batch)),
            ('GetState', state_pb2.GetStateRequest(batch=batch)),
            ('SetState', state_pb2.SetStateRequest(batch=batch)),
            ('GetContacts', state_pb2.GetContactsRequest(batch=batch)),
            ('GetSolverStats', sim.GetSolverStatsRequest(batch=batch)),
            ('CastRays', query_pb2.CastRaysRequest(batch=batch)),
            ('GetDistances', query_pb2.GetDistancesRequest(batch=batch)),
            ('GetDynamics', query_pb2.GetDynamicsRequest(batch=batch)),
            ('Linearize', linearize_pb2.LinearizeRequest(batch=batch)),
            ('StepGradient', step_gradient_pb2.StepGradientRequest(batch=batch)),
            ('SaveSnapshot', snapshot_pb2.SaveSnapshotRequest(batch=batch, return_content=True, skip_store=True))]


class Tokens(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(case.scratch())
        self.file = self.folder / 'tokens'
        self.tokens = {name: case.new_token() for name in ('red', 'blue', 'small', 'lean')}
        self.lines = {'red': 'red {} max_queue=100', 'blue': 'blue {}',
                      'small': 'small {} max_worlds=5 max_models=1 max_queue=2 max_batches=5',
                      'lean': 'lean {} max_memory=4MiB max_snapshot_bytes=200K'}
        self.write(*self.tokens)

    def write(self, *names):
        case.replace(self.file, '# tokens of the test\n\n' + ''.join(
            self.lines[name].format(self.tokens[name][1]) + '\n' for name in names))

    def serve(self, *flags):
        return self.enterContext(case.Server(BIN, f'--token_file={self.file}', *flags))

    def tenant(self, server, name):
        return Metadata(server.stub(), self.tokens[name][0])

    def make_batch(self, stub, worlds=1):
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        return model, stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=worlds)).name

    def test_a_call_without_its_token_is_told_so_on_every_method(self):
        server = self.serve()
        stub = server.stub()
        token = self.tokens['red'][0]
        self.assertEqual(case.info(stub, metadata=case.bearer(token))[0], Code.OK)
        self.assertEqual(case.info(stub, metadata=[('authorization', f'bearer  {token}')])[0], Code.OK)
        for metadata, words in (
                ([], 'is absent'), ([('authorization', '')], 'is not "Bearer TOKEN"'),
                ([('authorization', token)], 'is not "Bearer TOKEN"'), (case.bearer(''), 'is unknown'),
                ([('authorization', 'Basic eDp5')], 'is not "Bearer TOKEN"'), (case.bearer(token[:-1]), 'is unknown'),
                (case.bearer(token + 'x'), 'is unknown'), (case.bearer(token.upper()), 'is unknown'),
                (case.bearer(self.tokens['red'][1]), 'is unknown'),   # the hash is no token
                (case.bearer(case.new_token()[0]), 'is unknown'),
                (case.bearer(token) * 2, 'more than once')):
            with self.subTest(metadata=metadata):
                code, text = case.info(stub, metadata=metadata)
                self.assertEqual(code, Code.UNAUTHENTICATED, text)
                self.assertIn(words, text)
                self.assertNotIn(token[:-1], text)
        for name, request in [*methods_on('batches/x', 'models/x'), ('CreateModel', sim.CreateModelRequest(mjcf=MODEL)),
                              ('ListModels', sim.ListModelsRequest()), ('ListBatches', sim.ListBatchesRequest())]:
            with self.subTest(method=name):
                self.assertEqual(case.outcome(getattr(stub, name), request)[0], Code.UNAUTHENTICATED)
        with self.assertRaises(grpc.RpcError) as refused:
            next(stub.StepStream(iter([sim.StepRequest(batch='batches/x')])))
        self.assertEqual(refused.exception.code(), Code.UNAUTHENTICATED)
        self.assertNotIn(token, server.log_text())
        self.assertGreater(server.metric('axion_rejected_total{reason="token_unknown"}'), 0)

    def test_health_is_told_without_a_token_and_the_schema_is_not(self):
        server = self.serve()
        channel = server.channel()
        self.assertEqual(channel.unary_unary(HEALTH + 'Check')(b'', timeout=case.PATIENCE_SECONDS), SERVING)
        self.assertEqual(next(channel.unary_stream(HEALTH + 'Watch')(b'', timeout=case.PATIENCE_SECONDS)), SERVING)
        reflect = '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo'
        for flag, code in (('--reflection=auto', Code.UNIMPLEMENTED), ('--reflection=on', Code.OK)):
            found = Code.OK
            try:
                next(self.serve(flag).channel().stream_stream(reflect)(iter([b'\x3a\x01*']), timeout=case.PATIENCE_SECONDS))
            except grpc.RpcError as error:
                found = error.code()
            self.assertEqual(found, code, flag)

    def test_what_a_tenant_made_does_not_exist_for_another(self):
        server = self.serve()
        red, blue = self.tenant(server, 'red'), self.tenant(server, 'blue')
        model, batch = self.make_batch(red)
        for name, request in methods_on(batch, model):
            with self.subTest(method=name):
                code, text = case.outcome(getattr(blue, name), request)
                self.assertEqual(code, Code.NOT_FOUND, text)
                # Nothing tells that it is another's: the words are those for a name that nobody has.
                strange = type(request)()
                strange.CopyFrom(request)
                for field in ('name', 'batch', 'model'):
                    if field in strange.DESCRIPTOR.fields_by_name and getattr(strange, field):
                        setattr(strange, field, getattr(strange, field).split('/')[0] + '/' + '0' * 16)
                nobody = case.outcome(getattr(blue, name), strange)
                self.assertEqual(text.replace(batch, 'X').replace(model, 'X'),
                                 nobody[1].replace('batches/' + '0' * 16, 'X').replace('models/' + '0' * 16, 'X'))
        with self.assertRaises(grpc.RpcError) as refused:
            next(blue.Watch(watch_pb2.WatchRequest(batch=batch)))
        self.assertEqual(refused.exception.code(), Code.NOT_FOUND)
        with self.assertRaises(grpc.RpcError) as refused:
            next(blue.StepStream(iter([sim.StepRequest(batch=batch)])))
        self.assertEqual(refused.exception.code(), Code.NOT_FOUND)
        self.assertEqual(list(blue.ListModels(sim.ListModelsRequest()).models), [])
        self.assertEqual(list(blue.ListBatches(sim.ListBatchesRequest()).batches), [])
        self.assertEqual([one.name for one in red.ListBatches(sim.ListBatchesRequest()).batches], [batch])
        self.assertEqual(red.GetState(state_pb2.GetStateRequest(batch=batch, fields=['time'])).step_index, [0])
        found = blue.GetServerInfo(sim.GetServerInfoRequest())
        self.assertEqual((found.tenant, found.model_count, found.batch_count, found.world_count), ('blue', 0, 0, 0))
        # The same scene is another model, and the same request_id another request.
        own_model, own_batch = self.make_batch(blue)
        self.assertNotEqual(own_model, model)
        for stub, name, steps in ((red, batch, 3), (blue, own_batch, 2)):
            answer = stub.Step(sim.StepRequest(batch=name, step_count=steps, request_id='same'))
            self.assertEqual(answer.step_index, [steps])
        blue.DeleteBatch(sim.DeleteBatchRequest(name=own_batch))
        blue.DeleteModel(sim.DeleteModelRequest(name=own_model))
        self.assertEqual(red.GetModel(sim.GetModelRequest(name=model)).name, model)

    def test_lists_of_tenants_are_paged_apart(self):
        server = self.serve()
        red, blue = self.tenant(server, 'red'), self.tenant(server, 'blue')
        models = {stub: stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name for stub in (red, blue)}
        made = {red: [], blue: []}
        for _ in range(3):
            for stub in (red, blue):
                made[stub].append(stub.CreateBatch(sim.CreateBatchRequest(model=models[stub], world_count=1)).name)
        for stub in (red, blue):
            names, token = [], ''
            while True:
                page = stub.ListBatches(sim.ListBatchesRequest(page_size=2, page_token=token))
                names += [one.name for one in page.batches]
                token = page.next_page_token
                if not token:
                    break
            self.assertEqual(names, made[stub])

    def test_quotas_are_named_and_given_back(self):
        server = self.serve()
        small, blue = self.tenant(server, 'small'), self.tenant(server, 'blue')
        limits = small.GetServerInfo(sim.GetServerInfoRequest()).limits
        self.assertEqual((limits.max_worlds, limits.max_models, limits.max_queue, limits.max_batches), (5, 1, 2, 5))
        model, batch = self.make_batch(small, worlds=3)
        code, text = case.outcome(small.CreateBatch, sim.CreateBatchRequest(model=model, world_count=3))
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED)
        self.assertIn('beside the 3 of the tenant pass its quota max_worlds = 5', text)
        code, text = case.outcome(small.CreateModel, sim.CreateModelRequest(mjcf=MODEL.replace('quadruped', 'other')))
        self.assertEqual(code, Code.RESOURCE_EXHAUSTED, text)
        self.assertIn('max_models', text)
        self.make_batch(blue, worlds=60)   # others do not feel it
        small.DeleteBatch(sim.DeleteBatchRequest(name=batch))
        small.CreateBatch(sim.CreateBatchRequest(model=model, world_count=5))

    def fill(self, stub, make, most=2000):
        """What a tenant can make until it is refused, and the words of that."""
        made = []
        while len(made) < most:
            try:
                made.append(make())
            except grpc.RpcError as error:
                self.assertEqual(error.code(), Code.RESOURCE_EXHAUSTED, error.details())
                return made, error.details()
        self.fail(f'{most} were made')

    def test_memory_is_a_quota_of_a_tenant_before_and_after_a_restart(self):
        flags = ['--device=cpu', f'--state_dir={self.folder / "state"}']
        with case.Server(BIN, f'--token_file={self.file}', *flags) as server:
            lean, blue = self.tenant(server, 'lean'), self.tenant(server, 'blue')
            model, _ = self.make_batch(lean)
            made, text = self.fill(lean, lambda: lean.CreateBatch(sim.CreateBatchRequest(model=model, world_count=5)).name)
            self.assertGreater(len(made), 1)
            self.assertRegex(text, r'^max_memory: the batch would take about \d+ bytes beside the \d+ of the tenant, '
                                   r'past its quota 4194304; ')
            code, text = case.outcome(lean.CreateModel, sim.CreateModelRequest(
                mjcf=MODEL.replace('quadruped', 'q' * (4 << 20))))
            self.assertEqual((code, text[:11]), (Code.RESOURCE_EXHAUSTED, 'max_memory:'))
            self.make_batch(blue, worlds=500)   # others do not feel it
            self.assertEqual(server.stop(), 0)
        server = self.serve(*flags)
        lean, blue = self.tenant(server, 'lean'), self.tenant(server, 'blue')
        more, text = self.fill(lean, lambda: lean.CreateBatch(sim.CreateBatchRequest(model=model, world_count=5)).name)
        self.assertIn('quota 4194304', text)
        self.assertLessEqual(len(more), 2)
        for name in made[:3]:
            lean.DeleteBatch(sim.DeleteBatchRequest(name=name))
        lean.CreateBatch(sim.CreateBatchRequest(model=model, world_count=5))
        self.make_batch(blue, worlds=500)

    def test_snapshots_of_a_tenant_take_no_more_of_the_disk_than_its_quota(self):
        server = self.serve(f'--state_dir={self.folder / "state"}')
        lean, blue = self.tenant(server, 'lean'), self.tenant(server, 'blue')
        _, batch = self.make_batch(lean)
        kept, text = self.fill(lean, lambda: lean.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch)))
        self.assertRegex(text, r'^max_snapshot_bytes: the snapshot would take \d+ bytes beside the \d+ that the tenant keeps, '
                               r'past its quota 204800; delete one first')
        sizes = [one.size_bytes for one in kept]
        self.assertLessEqual(sum(sizes), 204800)
        self.assertGreater(sum(sizes) + max(sizes), 204800)
        lean.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch, return_content=True, skip_store=True))
        _, other = self.make_batch(blue, worlds=60)
        for _ in range(3):
            blue.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=other))
        lean.DeleteSnapshot(snapshot_pb2.DeleteSnapshotRequest(name=kept[0].name))
        lean.SaveSnapshot(snapshot_pb2.SaveSnapshotRequest(batch=batch))

    def test_a_tenant_at_its_share_of_the_queue_is_refused_and_others_are_not(self):
        server = self.serve()
        small, blue = self.tenant(server, 'small'), self.tenant(server, 'blue')
        _, batch = self.make_batch(small)
        _, other = self.make_batch(blue)
        stub = server.stub()
        metadata = case.bearer(self.tokens['small'][0])
        long = {}

        def refused_beside_two_long_steps():
            """A question may come before the second long step and take its place: that one is refused then and asked again."""
            for k in range(2):
                if k not in long or long[k].done():
                    long[k] = stub.Step.future(sim.StepRequest(batch=batch, step_count=1_000_000), metadata=metadata)
            answer = case.info(stub, metadata=metadata)
            return answer if answer[0] != Code.OK else None

        refused = case.eventually(refused_beside_two_long_steps)
        self.assertEqual(refused[0], Code.RESOURCE_EXHAUSTED)
        self.assertIn('max_queue', refused[1])
        self.assertEqual(case.outcome(blue.Step, sim.StepRequest(batch=other))[0], Code.OK)
        for call in long.values():
            call.cancel()
        self.assertTrue(case.eventually(lambda: case.info(stub, metadata=metadata)[0] == Code.OK))

    def test_a_stream_alone_is_held_back_to_its_tenants_share_of_the_queue_and_not_refused(self):
        # By a tenant that has nothing else under way: cancelled calls of the test above hold their places until they have ended.
        server = self.serve()
        small = self.tenant(server, 'small')
        _, batch = self.make_batch(small)
        self.assertEqual(sum(1 for _ in small.StepStream(iter([sim.StepRequest(batch=batch)] * 20))), 20)

    def test_a_tenant_with_all_its_streams_open_is_refused_one_more_and_others_are_not(self):
        server = self.serve('--max_streams=2', '--max_watches=1')
        limits = server.stub().GetServerInfo(sim.GetServerInfoRequest(), metadata=case.bearer(self.tokens['red'][0])).limits
        self.assertEqual((limits.max_streams, limits.max_watches), (2, 1))
        red, blue = self.tenant(server, 'red'), self.tenant(server, 'blue')
        batches = {stub: self.make_batch(stub)[1] for stub in (red, blue)}
        kept = []  # a call that nobody holds is taken back

        def stream_of(stub):
            """A StepStream that has answered once and stays open until something is put into its queue."""
            requests = queue.SimpleQueue()
            requests.put(sim.StepRequest(batch=batches[stub]))
            stream = stub.StepStream(iter(requests.get, None))
            self.addCleanup(requests.put, None)
            kept.append(stream)
            next(stream)
            return requests, stream

        def watch_of(stub):
            watch = stub.Watch(watch_pb2.WatchRequest(batch=batches[stub], rate=0.001, fields=['time']))
            self.addCleanup(watch.cancel)
            kept.append(watch)
            next(watch)

        requests, first = stream_of(red)
        stream_of(red), watch_of(red)
        for one_more, words in ((stream_of, 'limit of 2 streams of StepStream'), (watch_of, 'limit of 1 streams of Watch')):
            with self.assertRaises(grpc.RpcError) as refused:
                one_more(red)
            self.assertEqual(refused.exception.code(), Code.RESOURCE_EXHAUSTED)
            self.assertIn(words, refused.exception.details())
            one_more(blue)
        requests.put(None)
        self.assertEqual(list(first), [])

        def opens():
            with contextlib.suppress(grpc.RpcError):
                return stream_of(red)

        self.assertTrue(case.eventually(opens))

    def test_a_token_taken_back_ends_calls_and_streams_and_a_new_one_begins(self):
        self.write('red', 'small')
        server = self.serve()
        red, blue = self.tenant(server, 'red'), self.tenant(server, 'blue')
        model, batch = self.make_batch(red)
        requests = queue.SimpleQueue()
        stream = red.StepStream(iter(requests.get, None))
        requests.put(sim.StepRequest(batch=batch))
        self.assertEqual(next(stream).step_index, [1])
        self.assertEqual(case.info(blue)[0], Code.UNAUTHENTICATED)
        self.write('blue')
        self.assertTrue(case.eventually(lambda: server.reloads('tokens') == 1))
        self.assertEqual(case.info(red)[0], Code.UNAUTHENTICATED)
        self.assertEqual(case.info(blue)[0], Code.OK)
        requests.put(sim.StepRequest(batch=batch))
        with self.assertRaises(grpc.RpcError) as ended:
            next(stream)
        self.assertEqual(ended.exception.code(), Code.UNAUTHENTICATED)
        requests.put(None)
        # With a new token the tenant finds what it had.
        self.tokens['red'] = case.new_token()
        self.write('red', 'blue')
        self.assertTrue(case.eventually(lambda: server.reloads('tokens') == 2))
        again = self.tenant(server, 'red')
        self.assertEqual(again.GetState(state_pb2.GetStateRequest(batch=batch, fields=['time'])).step_index, [1])

    def test_a_secret_that_an_orchestrator_exchanges_by_a_link_is_noticed(self):
        versions = [self.folder / name for name in ('first', 'second')]
        for version, names in zip(versions, (('red',), ('blue',))):
            version.mkdir()
            self.write(*names)
            self.file.rename(version / 'tokens')
        data = self.folder / 'data'
        data.symlink_to(versions[0])
        self.file.symlink_to(data / 'tokens')
        server = self.serve()
        self.assertEqual(case.info(self.tenant(server, 'red'))[0], Code.OK)
        fresh = self.folder / 'fresh'
        fresh.symlink_to(versions[1])
        fresh.rename(data)
        self.assertTrue(case.eventually(lambda: server.reloads('tokens') == 1))
        self.assertEqual(case.info(self.tenant(server, 'red'))[0], Code.UNAUTHENTICATED)
        self.assertEqual(case.info(self.tenant(server, 'blue'))[0], Code.OK)

    def test_a_wrong_new_file_is_reported_by_its_line_and_the_old_one_stays(self):
        server = self.serve()
        secret = 'axion_a_token_that_was_pasted_here'
        case.replace(self.file, f'# all anew\nred {secret}\n')
        self.assertTrue(case.eventually(lambda: server.reloads('tokens', 'refused') == 1))
        self.assertTrue(case.eventually(lambda: 'line 2' in server.log_text()))
        self.assertNotIn(secret, server.log_text())
        self.assertEqual(case.info(self.tenant(server, 'red'))[0], Code.OK)
        self.file.unlink()
        self.assertTrue(case.eventually(lambda: server.reloads('tokens', 'refused') == 2))
        self.assertEqual(case.info(self.tenant(server, 'red'))[0], Code.OK)
        case.replace(self.file, '')   # nobody any more
        self.assertTrue(case.eventually(lambda: server.reloads('tokens') == 1))
        self.assertEqual(case.info(self.tenant(server, 'red'))[0], Code.UNAUTHENTICATED)

    def test_a_file_that_cannot_be_used_is_named_with_its_flag(self):
        hashed = case.new_token()[1]
        huge = self.folder / 'huge'
        with contextlib.suppress(OSError), huge.open('wb') as file:
            file.truncate(17 << 20)
        for content, words in ((f'red {hashed}\nblue {hashed}\n', 'line 2: the hash is that of line 1'),
                               ('red sha256:12\n', 'line 1'), (huge, 'bytes'), (pathlib.Path('/dev/zero'), 'no regular file'),
                               (self.folder / 'absent', 'No such file')):
            path = content
            if isinstance(content, str):
                path = self.folder / 'wrong'
                path.write_text(content)
            with self.subTest(content=content):
                code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', f'--token_file={path}')
                self.assertEqual(code, 1, text)
                self.assertIn(f'--token_file={path}', text)
                self.assertIn(words, text)

    def test_methods_are_switched_off_by_group_and_by_name(self):
        server = self.serve('--disable_methods=models,KeepAlive')
        red = self.tenant(server, 'red')
        for name, request in (('CreateModel', sim.CreateModelRequest(mjcf=MODEL)), ('KeepAlive', sim.KeepAliveRequest(name='x'))):
            code, text = case.outcome(getattr(red, name), request)
            self.assertEqual(code, Code.UNIMPLEMENTED)
            self.assertIn('--disable_methods', text)
        self.assertEqual(case.outcome(red.ListBatches, sim.ListBatchesRequest())[0], Code.OK)
        self.assertEqual(case.info(server.stub())[0], Code.UNAUTHENTICATED)
        code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', '--disable_methods=stepping')
        self.assertEqual(code, 1)
        self.assertIn('--disable_methods=stepping', text)
        self.assertIn('StepStream', text)

    def test_tokens_and_certificates_are_both_asked_for(self):
        authority = case.Authority(self.folder, 'authority')
        certificate, key = authority.issue('server')
        server = self.serve(f'--tls_cert={certificate}', f'--tls_key={key}', f'--tls_client_ca={authority.certificate}')
        member = authority.issue('member')
        token = case.bearer(self.tokens['red'][0])
        self.assertEqual(case.info(server.stub(authority.certificate, *member), metadata=token)[0], Code.OK)
        self.assertEqual(case.info(server.stub(authority.certificate, *member))[0], Code.UNAUTHENTICATED)
        self.assertEqual(case.info(server.stub(authority.certificate), metadata=token)[0], Code.UNAVAILABLE)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
