#!/usr/bin/env python3
"""Stores that servers of every schema so far have written (tests/golden/stores) are opened by this one: models, batches, remembered
answers and snapshots are there, and step on with the bits that the server that wrote them gave.

Usage: old_stores_test.py BIN_DIRECTORY MODEL.xml STORES, with an interpreter that has the package axion.
       old_stores_test.py BIN_DIRECTORY MODEL.xml STORES --write SCHEMA      writes the store of a new schema, once
       old_stores_test.py BIN_DIRECTORY MODEL.xml STORES --measure SCHEMA    what its worlds do next, where a step is meant to
                                                                             give other bits than before
"""

import gzip
import hashlib
import json
import pathlib
import sys
import unittest

import axion
import numpy as np

import access_case as case
from axion.v1 import simulation_pb2 as sim

BIN, STORES = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
SCENE = '''<mujoco model="cart"><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="cart" pos="0 0 .3"><joint name="slide" type="slide" axis="1 0 0" damping="0.1"/><geom type="box" size=".2 .1 .1"/>
<body name="pole"><joint name="hinge" type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .6" size=".04"/></body></body>
<body name="ball" pos="1 0 .1"><freejoint/><geom type="sphere" size=".1"/></body></worldbody>
<actuator><motor name="push" joint="slide" gear="5"/></actuator>
<keyframe><key name="tilted" qpos="0 .3 1 0 .1 1 0 0 0"/></keyframe></mujoco>'''
OUTPUTS = ['body_pose', 'body_velocity', 'joint_impulse']


def digest(result):
    text = hashlib.sha256()
    for name in OUTPUTS:
        text.update(np.ascontiguousarray(result[name]).tobytes())
    return text.hexdigest()


def step(batch, count, **keywords):
    control = np.linspace(-1, 1, batch.world_count)[:, None]
    return batch.step(control=control, steps=count, outputs=OUTPUTS, **keywords)


def write(schema):
    """A store with a snapshot, and a batch that a drain saved, and what their worlds do next."""
    with case.scratch() as folder:
        server = case.Server(BIN, f'--state_dir={folder}')
        with axion.Client(server.address) as client:
            model = client.create_model(SCENE)
            request = sim.CreateBatchRequest(model=model.name, world_count=3, seed=9)
            request.initial_noise.joint_position = 0.05
            request.overrides.mass_scale.CopyFrom(axion.to_tensor(np.linspace(0.8, 1.2, 9).reshape(3, 3)))
            batch = client.get_batch(client.stub.CreateBatch(request).name)
            batch.reset(keyframe='tilted')
            step(batch, 40)
            kept = batch.save_snapshot('of schema')
            after_snapshot = digest(step(batch, 25))
            last = digest(step(batch, 5, request_id='last'))
            facts = {'model': model.name, 'fingerprint': model.proto.fingerprint, 'batch': batch.name, 'snapshot': kept.name,
                     'incarnation': batch.proto.incarnation, 'after_snapshot': after_snapshot, 'last': last}
        server.stop()
        store = (folder / 'axion.db').read_bytes()
        with case.Server(BIN, f'--state_dir={folder}') as again, axion.Client(again.address) as client:
            facts['after_drain'] = digest(step(client.get_batch(facts['batch']), 30, expected_step=70))
    (STORES / f'schema-{schema}.db.gz').write_bytes(gzip.compress(store, 9, mtime=0))
    (STORES / f'schema-{schema}.json').write_text(json.dumps(facts, indent=1) + '\n')


def measure(schema):
    file = STORES / f'schema-{schema}.json'
    facts = json.loads(file.read_text())
    with case.scratch() as folder:
        (folder / 'axion.db').write_bytes(gzip.decompress(file.with_suffix('.db.gz').read_bytes()))
        with case.Server(BIN, f'--state_dir={folder}') as server, axion.Client(server.address) as client:
            facts['after_snapshot'] = digest(step(client.restore_snapshot(facts['snapshot']), 25, expected_step=40))
            facts['after_drain'] = digest(step(client.get_batch(facts['batch']), 30, expected_step=70))
    file.write_text(json.dumps(facts, indent=1) + '\n')


class OldStores(unittest.TestCase):
    def test_each_is_opened_and_steps_on_with_its_bits(self):
        stores = sorted(STORES.glob('schema-*.db.gz'))
        self.assertGreater(len(stores), 0)
        for store in stores:
            with self.subTest(store=store.name), case.scratch() as folder:
                facts = json.loads(store.with_name(store.name.replace('.db.gz', '.json')).read_text())
                (folder / 'axion.db').write_bytes(gzip.decompress(store.read_bytes()))
                for _ in range(2):  # it is there after this server has written it, too
                    server = self.enterContext(case.Server(BIN, f'--state_dir={folder}'))
                    with axion.Client(server.address) as client:
                        self.look(client, facts)
                    self.assertEqual(server.stop(), 0)

    def look(self, client, facts):
        self.assertEqual([model.proto.fingerprint for model in client.list_models()], [facts['fingerprint']])
        batch = client.get_batch(facts['batch'])
        self.assertEqual((batch.proto.model, batch.proto.incarnation), (facts['model'], facts['incarnation']))
        again = step(batch, 5, request_id='last')
        self.assertEqual((digest(again), list(again.step_index)), (facts['last'], [70] * 3))
        self.assertEqual([(kept.name, kept.display_name) for kept in client.list_snapshots()], [(facts['snapshot'], 'of schema')])
        copy = client.restore_snapshot(facts['snapshot'])
        self.assertEqual(digest(step(copy, 25, expected_step=40)), facts['after_snapshot'])
        copy.delete()
        before = batch.get_state('snapshot')['snapshot']
        self.assertEqual(digest(step(batch, 30, expected_step=70)), facts['after_drain'])
        batch.set_state(snapshot=before)  # for whoever looks next


if __name__ == '__main__':
    if sys.argv[4:5] == ['--write']:
        write(int(sys.argv[5]))
    elif sys.argv[4:5] == ['--measure']:
        measure(int(sys.argv[5]))
    else:
        unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
