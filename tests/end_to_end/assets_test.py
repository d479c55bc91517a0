#!/usr/bin/env python3
"""Files of scenes that go by their content, on a real axiond: by the clients, and by hand.

Usage: assets_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import asyncio
import contextlib
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import axion
import axion.aio
import grpc

import access_case as case
from asset_case import BIN, FILES, HULL, MIB, ROBOT, SKIN, SMALL, WEIGHT, AssetsCase, Code, digest_of, mesh_file, pieces, request
from axion import file_access
from axion.v1 import asset_pb2, snapshot_pb2
from axion.v1 import simulation_pb2 as sim


class Assets(AssetsCase):
    def robot(self):
        (self.folder / 'meshes').mkdir(exist_ok=True)
        for name, content in FILES.items():
            (self.folder / 'meshes' / name).write_bytes(content)
        (self.folder / 'robot.xml').write_text(ROBOT)
        return self.folder / 'robot.xml'

    # ---- Clients ----

    def test_a_robot_beyond_the_message_limit_loads_by_its_path_in_every_client(self):
        path, server = self.robot(), self.serve(SMALL)
        with axion.Client(server.address) as client:
            model = client.create_model(path=path)
            self.assertEqual([shape.mesh for shape in model.proto.shapes], ['hull'])
            self.assertAlmostEqual(model.proto.bodies[0].mass, 1000 * 0.4 ** 3, 6)   # of the mesh that weighs alone
            self.assertEqual(client.create_model(path=path).name, model.name)

        async def awaited(address):
            async with axion.aio.Client(address) as client:
                return (await client.create_model(path=path)).proto
        for address in (server.address, self.serve(SMALL).address):
            self.assertEqual(asyncio.run(awaited(address)).fingerprint, model.proto.fingerprint)
        fresh = self.serve(SMALL)
        for _ in range(2):
            command = [BIN / 'axion', 'run', path, '--seconds=0.01', f'--server={fresh.address}']
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(fresh.stub().ListModels(sim.ListModelsRequest()).models[0].fingerprint, model.proto.fingerprint)

    def test_a_fleet_reads_each_file_once_and_sends_each_server_what_it_lacks(self):
        path, servers = self.robot(), [self.serve(SMALL) for _ in range(3)]
        self.upload(servers[1].stub(), FILES['hull.obj'])
        opened, read = [], file_access.FileAccess.read

        def counted(access, attribute, places):
            found = read(access, attribute, places)
            opened.append(pathlib.Path(found[0]).name)
            return found
        with mock.patch.object(file_access.FileAccess, 'read', counted), axion.Fleet([server.address for server in servers]) as fleet:
            model = fleet.create_model(path=path)
            self.assertEqual(sorted(opened), sorted(FILES))
            (self.folder / 'meshes' / 'hull.obj').unlink()
            for server in servers:
                for held in server.stub().ListModels(sim.ListModelsRequest()).models:
                    server.stub().DeleteModel(sim.DeleteModelRequest(name=held.name))
            with fleet.create_batch(model, 3, shares=[1, 1, 1]) as batch:   # makes its model anew where that is gone
                self.assertEqual(list(batch.step().step_index), [1, 1, 1])
        self.assertEqual(sorted(opened), sorted(FILES))

    def test_small_scenes_carry_their_files(self):
        stub = self.serve().stub()
        small = {name: mesh_file(100) for name in FILES}
        self.assertEqual(len(stub.CreateModel(sim.CreateModelRequest(mjcf=ROBOT, assets=small)).shapes), 1)

    # ---- By hand ----

    def test_what_the_scene_needs_and_the_server_lacks_is_named_and_what_the_eye_sees_is_not(self):
        stub = self.serve().stub()
        self.assertEqual(self.missing(stub), {HULL, WEIGHT})
        self.assertEqual(self.missing(stub, request(allow_unsupported=True)), {HULL, WEIGHT})
        answer = self.upload(stub, FILES['hull.obj'])
        self.assertEqual((answer.asset_count, answer.byte_count), (1, len(FILES['hull.obj'])))
        self.assertEqual(self.missing(stub), {WEIGHT})
        self.upload(stub, FILES['weight.obj'])
        self.assertEqual(self.missing(stub), set())

    def test_documents_that_are_included_go_by_digest_too(self):
        stub = self.serve().stub()
        part = b'<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
        wanted = sim.CreateModelRequest(mjcf='<mujoco><include file="part.xml"/></mujoco>', asset_digests={'part.xml': digest_of(part)})
        self.assertEqual(self.missing(stub, wanted), {digest_of(part)})
        self.upload(stub, part)
        self.assertEqual(self.missing(stub, wanted), set())

    def test_a_urdf_names_the_meshes_that_it_collides_with(self):
        stub = self.serve().stub()
        urdf = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
        <visual><geometry><mesh filename="package://p/skin.obj"/></geometry></visual>
        <collision><geometry><mesh filename="package://p/hull.obj"/></geometry></collision></link></robot>"""
        wanted = sim.CreateModelRequest(urdf=urdf, asset_digests={'package://p/skin.obj': SKIN, 'package://p/hull.obj': HULL})
        self.assertEqual(self.missing(stub, wanted), {HULL})
        self.upload(stub, FILES['hull.obj'])
        self.assertEqual(self.missing(stub, wanted), set())

    def test_more_files_than_a_status_holds_are_named_in_turns(self):
        stub = self.serve().stub()
        contents = {f'{i}.obj': mesh_file(1, 0.01 * (i + 1)) for i in range(150)}
        assets = ''.join(f'<mesh name="m{i}" file="{i}.obj"/>' for i in range(150))
        geoms = ''.join(f'<geom type="mesh" mesh="m{i}" density="1"/>' for i in range(150))
        mjcf = f'<mujoco><asset>{assets}</asset><worldbody><body><freejoint/>{geoms}</body></worldbody></mujoco>'
        wanted = sim.CreateModelRequest(mjcf=mjcf, asset_digests={name: digest_of(content) for name, content in contents.items()})
        by_digest, turns = {digest_of(content): content for content in contents.values()}, 0
        while told := self.missing(stub, wanted):
            turns += 1
            self.assertLess(turns, 6)
            self.upload(stub, *(by_digest.pop(digest) for digest in told))
        self.assertFalse(by_digest)

    def test_an_asset_that_is_not_what_it_says_is_refused_by_name_and_nothing_stays_behind(self):
        server = self.serve('--memory_limit=512MiB')
        stub, content = server.stub(), FILES['hull.obj']
        before = self.used(server)
        other = bytearray(content)
        other[-2] ^= 1
        half, good = list(pieces(content))[:-1], list(pieces(FILES['weight.obj']))
        for what, requests, code, words in (
                ('incomplete', half, Code.INVALID_ARGUMENT, 'is incomplete'),
                ('the next before its end', [*half, *good], Code.INVALID_ARGUMENT, 'is incomplete'),
                ('other bytes', pieces(bytes(other), HULL), Code.INVALID_ARGUMENT, digest_of(bytes(other))),
                ('good ones before it', [*good, *pieces(bytes(other), HULL)], Code.INVALID_ARGUMENT, 'bytes of another'),
                ('more than its size', pieces(content, size=len(content) - 1), Code.INVALID_ARGUMENT, 'more than'),
                ('too large', pieces(content, size=1 << 40), Code.RESOURCE_EXHAUSTED, 'memory_limit'),
                ('larger than all numbers', pieces(content, size=(1 << 63) - 1), Code.RESOURCE_EXHAUSTED, 'memory_limit')):
            with self.subTest(what):
                told, text = case.outcome(stub.UploadAssets, iter(requests))
                self.assertEqual(told, code, text)
                self.assertIn(HULL, text)
                self.assertIn(words, text)
        for what, requests, words in (('negative', pieces(content, size=-1), 'size_bytes'), ('no digest', pieces(content, ''), 'digest'),
                                      ('another algorithm', pieces(content, 'md5:' + 32 * '0'), 'sha256:'),
                                      ('capitals', pieces(content, 'sha256:' + 64 * 'A'), 'small hexadecimal'),
                                      ('cut short', pieces(content, HULL[:-1]), '64')):
            with self.subTest(what):
                told, text = case.outcome(stub.UploadAssets, requests)
                self.assertEqual(told, Code.INVALID_ARGUMENT, text)
                self.assertIn(words, text)
        self.assertEqual(self.missing(stub), {HULL, WEIGHT})
        self.assertTrue(case.eventually(lambda: self.used(server) == before))
        self.assertEqual(self.upload(stub, b'').asset_count, 1)   # a file may be empty
        for bad, field in ((request(asset_digests={'hull.obj': 'x'}), 'asset_digests["hull.obj"]'),
                           (request(assets={'hull.obj': b'x'}), 'is in assets'),
                           (sim.CreateModelRequest(scene={}, asset_digests={'a': HULL}), 'asset_digests: are for mjcf')):
            told, text = case.outcome(stub.CreateModel, bad)
            self.assertEqual(told, Code.INVALID_ARGUMENT)
            self.assertIn(field, text)

    def test_what_no_model_holds_makes_room_the_least_recently_used_first(self):
        server = self.serve('--memory_limit=512MiB')
        stub = server.stub()
        self.upload(stub, FILES['hull.obj'], FILES['weight.obj'])
        model = stub.CreateModel(request())
        large = [bytes([i]) * (64 * MIB) for i in range(8)]
        used_again = sim.CreateModelRequest(mjcf='<mujoco><include file="a"/></mujoco>', asset_digests={'a': digest_of(large[0])})
        for i, content in enumerate(large[:5]):
            self.upload(stub, content)
            self.assertNotIn(digest_of(large[0]), self.named(stub, used_again), i)   # which is used again by that
        # 256 MiB and more do not fit beside them all.
        self.assertEqual(self.named(stub, used_again), set())
        self.assertEqual(self.named(stub, sim.CreateModelRequest(
            mjcf='<mujoco><include file="a"/></mujoco>', asset_digests={'a': digest_of(large[1])})), {digest_of(large[1])})
        stub.DeleteModel(sim.DeleteModelRequest(name=model.name))
        self.assertEqual(self.missing(stub), set())   # it was held: it is there

    def named(self, stub, wanted):
        """As missing; the document may be wrong besides."""
        try:
            stub.CreateModel(wanted)
        except grpc.RpcError as error:
            return set(axion.errors.from_rpc_error(error).missing)
        return set()

    def test_a_model_that_is_asked_for_again_holds_the_files_that_have_come_since(self):
        stub = self.serve('--memory_limit=512MiB').stub()
        self.upload(stub, FILES['hull.obj'], FILES['weight.obj'])
        model = stub.CreateModel(request())   # which does without its skin
        self.upload(stub, FILES['skin.obj'])
        self.assertEqual(stub.CreateModel(request()).name, model.name)
        for i in range(6):   # for which what no model holds makes room
            self.upload(stub, bytes([i]) * (64 * MIB))
        kept = stub.DownloadAsset(asset_pb2.DownloadAssetRequest(digest=SKIN))
        self.assertEqual(b''.join(piece.data for piece in kept), FILES['skin.obj'])

    def test_what_no_model_holds_ends_after_its_time_and_what_one_holds_does_not(self):
        server = self.serve('--model_ttl=1s')
        stub, client = server.stub(), self.enterContext(axion.Client(server.address))
        lonely = mesh_file(MIB, 0.7)
        before = self.used(server)

        def make_batch():
            """None where the model has ended before its batch came."""
            try:
                return client.create_batch(client.create_model(mjcf=ROBOT, assets=FILES), 1)
            except axion.errors.NotFoundError:
                return None
        batch = case.eventually(make_batch)
        self.upload(stub, lonely)
        held = self.used(server) - len(lonely)
        self.assertTrue(case.eventually(lambda: self.used(server) < held + MIB / 2))
        self.assertEqual(self.missing(stub), set())
        stub.DeleteBatch(sim.DeleteBatchRequest(name=batch.name))
        self.assertTrue(case.eventually(lambda: self.used(server) < before + MIB / 2))
        self.assertEqual(self.missing(stub), {HULL, WEIGHT})

    def test_an_asset_of_one_tenant_does_not_exist_for_another_and_counts_towards_its_quota(self):
        tokens = {name: case.new_token() for name in ('red', 'blue')}
        (self.folder / 'tokens').write_text(f'red {tokens["red"][1]}\nblue {tokens["blue"][1]} max_memory=4MiB\n')
        server = self.serve(f'--token_file={self.folder / "tokens"}')
        red, blue = (axion.Client(server.address, token=tokens[name][0]) for name in ('red', 'blue'))
        with contextlib.closing(red), contextlib.closing(blue):
            red.create_model(mjcf=ROBOT, assets=FILES)
            self.assertEqual(self.missing(blue.stub), {HULL, WEIGHT})
            code, text = case.outcome(blue.stub.UploadAssets, pieces(b'x' * (5 * MIB)))
            self.assertEqual(code, Code.RESOURCE_EXHAUSTED)
            self.assertIn('max_memory', text)
            self.assertIn(digest_of(b'x' * (5 * MIB)), text)
            # What it has uploaded and does not use makes room for more of its own.
            for letter in b'abc':
                blue.stub.UploadAssets(pieces(bytes([letter]) * (2 * MIB)))
        code, text = case.outcome(server.stub().UploadAssets, pieces(b'x'))
        self.assertEqual(code, Code.UNAUTHENTICATED)

    # ---- What outlasts a server ----

    def test_a_restart_and_a_snapshot_have_the_model_and_ask_for_files_anew(self):
        state = f'--state_dir={self.folder / "state"}'
        server = self.serve(state, SMALL)
        with axion.Client(server.address) as client:
            model = client.create_model(path=self.robot())
            with client.create_batch(model, 1) as batch:
                batch.step(steps=3)
                content = batch.save_snapshot(return_content=True, skip_store=True).content
                expected = batch.step(steps=5, outputs=['body_pose'])['body_pose']
        server.stop()
        stub = self.serve(state, SMALL, port=server.port).stub()
        self.assertEqual([held.name for held in stub.ListModels(sim.ListModelsRequest()).models], [model.name])
        self.assertEqual(self.missing(stub), {HULL, WEIGHT})
        self.upload(stub, FILES['hull.obj'], FILES['weight.obj'])
        self.assertEqual(stub.CreateModel(request()).name, model.name)
        elsewhere = self.serve()   # which has never seen the files
        restored = elsewhere.stub().RestoreSnapshot(snapshot_pb2.RestoreSnapshotRequest(content=content))
        with axion.Client(elsewhere.address) as client:
            found = client.get_batch(restored.name).step(steps=5, outputs=['body_pose'])['body_pose']
            self.assertEqual(found.tobytes(), expected.tobytes())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
