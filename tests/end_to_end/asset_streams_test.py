#!/usr/bin/env python3
"""Streams of assets whose clients stand still, go away or say more than they send, on a real axiond; and what a model holds of them.

Usage: asset_streams_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import collections
import resource
import sys
import threading
import time
import unittest

import axion
import grpc

import access_case as case
from asset_case import FILES, HULL, MIB, SKIN, WEIGHT, AssetsCase, Code, digest_of, mesh_file, pieces, request
from axion.v1 import asset_pb2
from axion.v1 import simulation_pb2 as sim


class Streams(AssetsCase):
    def test_an_upload_that_is_taken_back_leaves_nothing(self):
        server = self.serve()
        before, go_on, stub = self.used(server), threading.Event(), server.stub()

        def half():
            yield from list(pieces(FILES['hull.obj']))[:2]
            go_on.wait(case.PATIENCE_SECONDS)
        call = stub.UploadAssets.future(half())
        self.assertTrue(case.eventually(lambda: self.used(server) >= before + MIB))   # of what has come alone
        self.assertLess(self.used(server), before + len(FILES['hull.obj']))
        call.cancel()
        go_on.set()
        self.assertTrue(case.eventually(lambda: self.used(server) == before))
        self.assertEqual(self.missing(stub), {HULL, WEIGHT})

    def open_upload(self, stub, digest, size, data=b'x'):
        """An upload that sends one piece and then nothing, and a function that lets it end."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def silent():
            yield asset_pb2.UploadAssetsRequest(digest=digest, size_bytes=size, data=data)
            go_on.wait(case.PATIENCE_SECONDS)
        return stub.UploadAssets.future(silent()), go_on.set

    def test_an_upload_or_a_download_whose_client_stands_still_ends_and_gives_back_what_it_held(self):
        server = self.serve('--asset_idle_timeout=1s', '--model_ttl=1s')
        stub, large = server.stub(), b'z' * (48 * MIB)   # far more than is on its way unread
        before = self.used(server)
        upload, _ = self.open_upload(stub, HULL, 2 * MIB, b'x' * MIB)
        with self.assertRaises(grpc.RpcError) as ended:
            upload.result(case.PATIENCE_SECONDS)
        self.assertEqual(ended.exception.code(), Code.DEADLINE_EXCEEDED)
        self.assertIn('asset_idle_timeout', ended.exception.details())
        self.assertTrue(case.eventually(lambda: self.used(server) == before))
        self.upload(stub, large)
        download = stub.DownloadAsset(asset_pb2.DownloadAssetRequest(digest=digest_of(large)))
        next(download)   # and no more: it holds the asset beyond its time
        self.assertTrue(case.eventually(lambda: self.used(server) == before))
        self.assertTrue(case.eventually(lambda: 'method=DownloadAsset code=DEADLINE_EXCEEDED' in server.log_text()))
        with self.assertRaises(grpc.RpcError):
            collections.deque(download, 0)

    def test_an_upload_that_goes_on_is_not_ended_however_long_it_takes(self):
        stub, content, sent = self.serve('--asset_idle_timeout=4s').stub(), b'abcdef', time.monotonic()

        def slow():
            yield asset_pb2.UploadAssetsRequest(digest=digest_of(content), size_bytes=len(content))
            for letter in content:
                time.sleep(0.8)   # not to wait for anything: it is what is tested; a fifth of the limit, as processors may be busy
                yield asset_pb2.UploadAssetsRequest(data=bytes([letter]))
        self.assertEqual(stub.UploadAssets(slow()).asset_count, 1)
        self.assertGreater(time.monotonic() - sent, 4)   # or nothing was tested

    def test_the_size_of_an_upload_alone_takes_no_memory_from_others(self):
        server = self.serve(limits=[(resource.RLIMIT_AS, 3 << 30, 3 << 30)])
        uploads = [self.open_upload(server.stub(), digest_of(bytes([i])), 600 * MIB) for i in range(5)]
        self.assertTrue(case.eventually(lambda: self.used(server) > 5 * 512 or any(upload.done() for upload, _ in uploads)))
        self.assertFalse([upload.details() for upload, _ in uploads if upload.done()])   # all have begun
        self.assertEqual(self.upload(server.stub(), b'y' * (300 * MIB), length=MIB).asset_count, 1)
        for upload, go_on in uploads:
            go_on()
            self.assertEqual(upload.code(), Code.INVALID_ARGUMENT)   # incomplete, by its own fault

    def test_a_model_that_was_known_before_holds_the_assets_that_it_is_made_with_again(self):
        server = self.serve('--model_ttl=1s')
        stub, lonely = server.stub(), mesh_file(MIB, 0.7)
        small = {name: content for name, content in FILES.items() if name != 'skin.obj'}
        digests = {'skin.obj': SKIN}
        with axion.Client(server.address) as client:
            def make_batch():
                """None where the model has ended before its batch came."""
                try:
                    return client.create_batch(stub.CreateModel(request(assets=small, asset_digests=digests)).name, 1)
                except axion.errors.NotFoundError:
                    return None
            batch = case.eventually(make_batch)
            self.upload(stub, FILES['skin.obj'])
            again = stub.CreateModel(request(assets=small, asset_digests=digests, keep_visuals=True))
            self.assertEqual(again.name, batch.model)
            before = self.used(server)
            for _ in range(2):   # each of which is there for its time
                self.upload(stub, lonely)
                self.assertTrue(case.eventually(lambda: self.used(server) < before + MIB / 2))
            stub.DownloadAsset(asset_pb2.DownloadAssetRequest(digest=SKIN)).next()

    def test_what_is_missing_is_told_in_a_time_that_grows_as_the_files_do(self):
        server = self.serve()

        def ticks(count):
            mjcf = ''.join(f'<mesh name="m{i}" file="{i}"/>' for i in range(count))
            geoms = ''.join(f'<geom type="mesh" mesh="m{i}"/>' for i in range(count))
            wanted = sim.CreateModelRequest(mjcf=f'<mujoco><asset>{mjcf}</asset><worldbody><body>{geoms}</body></worldbody></mujoco>',
                                            asset_digests={str(i): digest_of(str(i).encode()) for i in range(count)})
            before = server.processor_seconds()
            self.assertEqual(len(self.missing(server.stub(), wanted)), 40)
            return server.processor_seconds() - before
        few = ticks(8000)
        self.assertLess(ticks(32000), 8 * few + 0.1)   # four times as many; 16 times the time if all were compared

    def test_two_clients_that_send_the_same_at_once_both_succeed_and_it_is_held_once(self):
        server, content = self.serve(), FILES['hull.obj']
        before, both = self.used(server), threading.Barrier(2)

        def at_once():
            *first, last = pieces(content)
            yield from first
            both.wait(case.PATIENCE_SECONDS)   # all but the end of both is there
            yield last
        calls = [server.stub().UploadAssets.future(at_once()) for _ in range(2)]
        self.assertEqual([call.result().asset_count for call in calls], [1, 1])
        self.assertTrue(case.eventually(lambda: 0 < self.used(server) - before < 1.1 * len(content)), self.used(server))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
