#!/usr/bin/env python3
"""Databases of --state_dir with any bytes in them: a real axiond says what is wrong and ends, or serves what is whole of them.

Usage: damaged_stores_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import collections
import pathlib
import random
import sys
import unittest

import axion
import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim
from axion.v1 import snapshot_pb2

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
PAGE = 4096
SAID = {grpc.StatusCode.OK, grpc.StatusCode.DATA_LOSS, grpc.StatusCode.NOT_FOUND}


def some_bytes(dice, good):
    return dice.randbytes(dice.choice([1, 15, 100, PAGE, 50_000]))


def a_part(dice, good):
    return good[:dice.randrange(1, len(good))]


def other_pages(dice, good):
    return good[:100] + dice.randbytes(len(good) - 100)


def one_other_page(dice, good):
    at = PAGE * dice.randrange(len(good) // PAGE)
    return good[:at] + dice.randbytes(PAGE) + good[at + PAGE:]


def some_other_bytes(dice, good):
    data = bytearray(good)
    for _ in range(dice.choice([1, 5, 50])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(data)


def other_bytes_of_the_schema(dice, good):
    data = bytearray(good)
    for _ in range(3):
        data[dice.randrange(2 * PAGE)] = dice.randrange(256)
    return bytes(data)


class DamagedStores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(case.scratch())
        with case.Server(BIN, f'--state_dir={cls.folder}/good') as server, axion.Client(server.address) as client:
            batch = client.create_batch(client.create_model(MODEL), 3)
            batch.step(steps=5)
            batch.save_snapshot('whole')
            server.stop()
        cls.good = (cls.folder / 'good/axion.db').read_bytes()

    def start(self, data, log=b''):
        """A server on such a store: (server, '') or (None, what it said before it ended)."""
        state = self.folder / 'state'
        state.mkdir(exist_ok=True)
        for left in state.iterdir():
            left.unlink()
        (state / 'axion.db').write_bytes(data)
        if log:
            (state / 'axion.db-wal').write_bytes(log)
        try:
            return case.Server(BIN, f'--state_dir={state}'), ''
        except RuntimeError as error:  # it ended
            return None, str(error)

    def serves(self, server):
        """Lists and snapshots are there, or damaged in words, and it goes on with what is new."""
        with server, server.channel() as channel:
            stub = case.simulation_pb2_grpc.SimulationStub(channel)
            for method, request in (('ListModels', sim.ListModelsRequest()), ('ListBatches', sim.ListBatchesRequest()),
                                    ('ListSnapshots', snapshot_pb2.ListSnapshotsRequest())):
                code, text = case.outcome(getattr(stub, method), request)
                self.assertIn(code, SAID, f'{method}: {text}')
                if method == 'ListSnapshots' and code is grpc.StatusCode.OK:
                    for held in stub.ListSnapshots(request).snapshots:
                        code, text = case.outcome(stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(snapshot=held.name))
                        self.assertIn(code, SAID, text)
            model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
            batch = stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=2)).name
            self.assertEqual(list(stub.Step(sim.StepRequest(batch=batch)).step_index), [1, 1])
            code, text = case.outcome(stub.SaveSnapshot, snapshot_pb2.SaveSnapshotRequest(batch=batch))
            self.assertIn(code, SAID, text)
            self.assertIn(server.stop(), (0, 1), server.log_text())

    def test_whatever_lies_there(self):
        dice, found = random.Random(18), collections.Counter()
        for damage in (some_bytes, a_part, other_pages, one_other_page, some_other_bytes, other_bytes_of_the_schema):
            for i in range(8):
                data = damage(dice, self.good)
                log = dice.randbytes(5000) if i == 7 else b''
                with self.subTest(damage=damage.__name__, i=i):
                    server, said = self.start(data, log)
                    if server is None:
                        self.assertRegex(said, r'axiond: --state_dir=\S+: .*(damaged|is not the database)')
                    else:
                        self.serves(server)
                    found['serves' if server else 'refused'] += 1
        self.assertGreater(found['serves'], 5, found)
        self.assertGreater(found['refused'], 5, found)

    def test_a_column_of_another_name(self):
        self.assertIn(b'tenant TEXT', self.good)
        server, said = self.start(self.good.replace(b'tenant TEXT', b'tenanz TEXT'))
        if server is not None:
            server.close()
            self.fail('it serves')
        self.assertRegex(said, r'axiond: --state_dir=\S+: .*no such column: tenant.*damaged')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
