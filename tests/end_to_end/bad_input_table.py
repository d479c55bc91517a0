#!/usr/bin/env python3
"""Hundreds of hostile requests over all methods of a real axiond. Each is refused with a status and a text that say what is wrong, or
means something after all; a batch beside them keeps every bit.

Usage: bad_input_table.py BIN_DIRECTORY MODEL.xml [--page docs/bad_input.md], with an interpreter that has the package axion.

Without --page it is a test: it fails where a request is not answered, is answered by a status that blames nobody (UNKNOWN, INTERNAL), is
refused without words, or changes the batch beside it, and where fewer than 300 were refused.
"""

import argparse
import collections
import hashlib
import pathlib
import re
import sys

import axion
import grpc
import numpy as np
from axion.v1 import scene_pb2, simulation_pb2 as sim
from axion.v1 import asset_pb2, linearize_pb2, query_pb2, snapshot_pb2, solver_pb2, state_pb2, step_gradient_pb2, tensor_pb2
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import DecodeError

import access_case as case
import hostile_files

Code = grpc.StatusCode
LEAST_REFUSED = 300
BLAMED_ON_NOBODY = {Code.UNKNOWN, Code.INTERNAL, Code.DEADLINE_EXCEEDED, Code.DATA_LOSS, Code.UNAVAILABLE, Code.CANCELLED}

LONG = 'é' * 5000
REALS = [float('nan'), float('inf'), -1.0, 1e300]
WHOLE = {Field.CPPTYPE_INT32: [-1, 2**31 - 1], Field.CPPTYPE_INT64: [-1, 2**63 - 1], Field.CPPTYPE_UINT32: [2**32 - 1],
         Field.CPPTYPE_UINT64: [2**64 - 1], Field.CPPTYPE_ENUM: [99]}
TENSOR = tensor_pb2.Tensor.DESCRIPTOR.full_name


def is_repeated(field):
    found = getattr(field, 'is_repeated', None)  # newer versions of protobuf
    return field.label == Field.LABEL_REPEATED if found is None else found


def shown(value):
    text = repr(value) if isinstance(value, (str, bytes)) else f'{value:g}' if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f'{text[:24]}... ({len(value)} long)'


def copy_of(message):
    fresh = type(message)()
    fresh.CopyFrom(message)
    return fresh


def tensor_lies(tensor):
    """A tensor in other words."""
    def lie(text, **changes):
        bad = copy_of(tensor)
        for name, value in changes.items():
            if name == 'shape':
                del bad.shape[:]
                bad.shape.extend(value)
            else:
                setattr(bad, name, value)
        return text, bad

    shape, data = list(tensor.shape), tensor.data
    wide = np.frombuffer(data, np.float32 if tensor.dtype == tensor_pb2.DTYPE_FLOAT32 else np.float64).copy()
    yield lie('dtype 0', dtype=0)
    yield lie('dtype 77', dtype=77)
    yield lie('dtype INT32', dtype=tensor_pb2.DTYPE_INT32)
    yield lie('one byte less', data=data[:-1])
    yield lie('no data', data=b'')
    yield lie('no shape', shape=[])
    yield lie('a shape of -1', shape=[-1, *shape[1:]])
    yield lie('a shape whose product overflows', shape=[2**62, 2**62, *shape])
    yield lie('one world more', shape=[shape[0] + 1, *shape[1:]])
    yield lie('a dimension of 0', shape=[0, *shape[1:]], data=b'')
    for value in ('nan', 'inf'):
        wide[-1] = float(value)
        yield lie(f'{value} in its last place', data=wide.tobytes())


def map_lies(message, field, path):
    """The message with tensors of a map in other words, and under other names."""
    values = getattr(message, field)
    for key in list(values):
        tensor = values[key]
        if getattr(tensor, 'DESCRIPTOR', None) is None or tensor.DESCRIPTOR.full_name != TENSOR:
            return
        for text, bad in tensor_lies(tensor):
            fresh = copy_of(message)
            getattr(fresh, field)[key].CopyFrom(bad)
            yield f'{path}["{key}"]: {text}', fresh
    for wrong in ('', 'nobody', LONG):
        fresh = copy_of(message)
        getattr(fresh, field)[wrong].CopyFrom(tensor)
        yield f'{path}[{shown(wrong)}]', fresh


def lies(message, path=''):
    """(what is wrong, the message with that wrong) for each field that is set, and into it."""
    for field, value in message.ListFields():
        name = f'{path}{field.name}'
        repeated = is_repeated(field)
        if repeated and field.message_type and field.message_type.GetOptions().map_entry:
            yield from map_lies(message, field.name, name)
            continue
        if field.cpp_type == Field.CPPTYPE_MESSAGE:
            inner = value[0] if repeated else value
            found = tensor_lies(inner) if inner.DESCRIPTOR.full_name == TENSOR else lies(inner)
            for text, bad in found:
                fresh = copy_of(message)
                getattr(fresh, field.name)[0].CopyFrom(bad) if repeated else getattr(fresh, field.name).CopyFrom(bad)
                yield f'{name}{"[0]" if repeated else ""}{": " if inner.DESCRIPTOR.full_name == TENSOR else "."}{text}', fresh
            continue
        for wrong in wrong_values(field, value[0] if repeated else value):
            fresh = copy_of(message)
            if repeated:
                getattr(fresh, field.name)[0] = wrong
            else:
                setattr(fresh, field.name, wrong)
            yield f'{name}{"[0]" if repeated else ""} = {shown(wrong)}', fresh
        if repeated:
            fresh = copy_of(message)
            getattr(fresh, field.name).extend(value)
            yield f'{name} twice over', fresh


def wrong_values(field, value):
    if field.cpp_type in (Field.CPPTYPE_DOUBLE, Field.CPPTYPE_FLOAT):
        return REALS
    if field.cpp_type in WHOLE:
        return WHOLE[field.cpp_type]
    if field.type == Field.TYPE_BYTES:
        return [b'', b'other']
    if field.cpp_type == Field.CPPTYPE_STRING:
        return ['', 'nobody', LONG, 'a\0b\n"']
    return []  # bool


class Requests:
    """A good request of each method, on a batch of its own."""

    def __init__(self, client, mjcf):
        self.client = client
        stub = client.stub
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=mjcf))
        self.scene = stub.GetModel(sim.GetModelRequest(name=model.name, view=sim.MODEL_VIEW_FULL)).scene
        del self.scene.bodies[3:], self.scene.joints[3:], self.scene.shapes[3:], self.scene.actuators[2:], self.scene.keyframes[:]
        self.scene.excludes.add(body_a=0, body_b=1)
        self.scene.contact_pairs.add(shape_a=0, shape_b=1, friction=0.5, contact_dimension=3)
        self.scene.meshes.add(name='wedge', vertices=[scene_pb2.Vec3(x=x, y=y, z=z)
                                                      for x, y, z in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))])
        make = sim.CreateBatchRequest(model=model.name, world_count=2, dt=0.005, seed=3, request_id='once')
        make.initial_noise.joint_position = 0.01
        make.initial_noise.joint_velocity = 0.01
        make.idle_ttl.FromSeconds(3600)
        make.options.CopyFrom(solver_pb2.SolverOptions(
            preset=1, precision=1, joint_mode=4, gyroscopic_mode=1, contact_function=1, friction_model=2, linear_solver=1, tolerance=1e-3,
            max_newton_iterations=20, max_linear_iterations=100, linear_tolerance=1e-5, depenetration_velocity=1, contact_compliance=1e-9,
            contact_margin=0.01, constraint_level=1, baumgarte=0.1, limit_recovery_time=0.05, equality_pull=5000))
        nb = model.body_count
        for name, shape in (('mass_scale', (2, nb)), ('friction_scale', (2,)), ('gain_scale', (2, model.control_count))):
            getattr(make.overrides, name).CopyFrom(axion.to_tensor(np.ones(shape, np.float32)))
        self.batch = stub.CreateBatch(make).name
        pose = axion.to_tensor(client.get_batch(self.batch).get_state('body_pose')['body_pose'])
        make.overrides.body_pose.CopyFrom(pose)
        make.request_id = ''
        velocity = axion.to_tensor(np.zeros((2, nb, 6), np.float32))
        state = state_pb2.StateUpdate(body_pose=pose, body_velocity=velocity, time=axion.to_tensor(np.zeros(2)))
        joints = state_pb2.StateUpdate(joint_position=axion.to_tensor(np.zeros((2, model.joint_position_count)) + 0.5),
                                       joint_velocity=axion.to_tensor(np.zeros((2, model.joint_velocity_count))))
        own = client.get_batch(self.batch).get_parameters(['body_mass', 'shape_size'])
        numbers = state_pb2.StateUpdate(parameters={name: axion.to_tensor(array) for name, array in own.items()})
        rays = axion.to_tensor(np.ones((2, 4, 3)))
        step = sim.StepRequest(batch=self.batch, world_indices=[0, 1], step_count=2, record_every=1, outputs=['body_pose'],
                               control=axion.to_tensor(np.zeros((2, model.control_count), np.float32)), body_wrench=velocity,
                               expected_step=0, request_id='r', expected_incarnation=1)
        kept = client.get_batch(self.batch).save_snapshot('kept', return_content=True)
        self.content = kept.content
        worlds = [0, 1]
        self.good = [
            ('CreateModel', sim.CreateModelRequest(scene=self.scene)),
            ('CreateModel', sim.CreateModelRequest(
                mjcf=mjcf, shape_overrides=[{'name': 'floor', 'restitution': 0.5, 'contact_stiffness': 1e5, 'contact_damping': 10}],
                joint_overrides=[{'name': 'nobody', 'lock_stiffness': 1e5, 'lock_damping': 10}])),
            ('GetModel', sim.GetModelRequest(name=model.name, view=2)), ('ListModels', sim.ListModelsRequest(page_size=1, page_token='x')),
            ('DeleteModel', sim.DeleteModelRequest(name=model.name)), ('CreateBatch', make),
            ('GetBatch', sim.GetBatchRequest(name=self.batch)), ('ListBatches', sim.ListBatchesRequest(page_size=1, page_token='x')),
            ('DeleteBatch', sim.DeleteBatchRequest(name=self.batch)), ('KeepAlive', sim.KeepAliveRequest(name=self.batch)),
            ('Step', step), ('StepStream', step),
            ('UploadAssets', asset_pb2.UploadAssetsRequest(digest='sha256:' + hashlib.sha256(b'x').hexdigest(), size_bytes=1, data=b'x')),
            ('Reset', state_pb2.ResetRequest(batch=self.batch, world_indices=worlds, keyframe='stand', state=state, seeds=[1, 2])),
            ('Reset', state_pb2.ResetRequest(batch=self.batch, world_indices=worlds, state=joints)),
            ('GetState', state_pb2.GetStateRequest(batch=self.batch, world_indices=worlds, fields=['time'], parameters=['gravity'])),
            ('SetState', state_pb2.SetStateRequest(batch=self.batch, world_indices=worlds, state=state)),
            ('SetState', state_pb2.SetStateRequest(batch=self.batch, world_indices=worlds, state=joints)),
            ('SetState', state_pb2.SetStateRequest(batch=self.batch, world_indices=worlds, state=numbers)),
            ('GetContacts', state_pb2.GetContactsRequest(batch=self.batch, world_indices=worlds)),
            ('GetSolverStats', sim.GetSolverStatsRequest(batch=self.batch, world_indices=worlds)),
            ('CastRays', query_pb2.CastRaysRequest(batch=self.batch, world_indices=worlds, origin=rays, direction=rays, body=0,
                                                   max_distance=5, ignored_bodies=[0])),
            ('GetDistances', query_pb2.GetDistancesRequest(batch=self.batch, world_indices=worlds, max_distance=5,
                                                           pairs=[query_pb2.ShapePair(shape_a=1, shape_b=2)])),
            ('GetDynamics', query_pb2.GetDynamicsRequest(
                batch=self.batch, world_indices=worlds, mass_matrix=True, bias_force=True,
                frames=[scene_pb2.FrameSpec(body=1, pose=scene_pb2.Pose(position=scene_pb2.Vec3(x=1),
                                                                        rotation=scene_pb2.Quaternion(w=1)))])),
            ('Linearize', linearize_pb2.LinearizeRequest(
                batch=self.batch, world_indices=worlds, start=joints, difference=1e-5, sensors=True, method=1,
                control=axion.to_tensor(np.zeros((2, 1, model.control_count))))),
            ('StepGradient', step_gradient_pb2.StepGradientRequest(
                batch=self.batch, world_indices=worlds, start=joints, difference=1e-5, step_count=2, record_every=1,
                control=axion.to_tensor(np.zeros((2, 2, model.control_count))), inputs=['mass_scale', 'gravity'],
                outputs=['joint_position'], state_gradient=axion.to_tensor(np.zeros((2, 2 * model.joint_velocity_count))),
                output_gradients={'joint_velocity': axion.to_tensor(np.ones((2, 2, model.joint_velocity_count)))})),
            ('SaveSnapshot', snapshot_pb2.SaveSnapshotRequest(batch=self.batch, display_name='x', return_content=True)),
            ('RestoreSnapshot', snapshot_pb2.RestoreSnapshotRequest(snapshot=kept.name, batch=self.batch)),
            ('ListSnapshots', snapshot_pb2.ListSnapshotsRequest(page_size=1, page_token='x')),
            ('DeleteSnapshot', snapshot_pb2.DeleteSnapshotRequest(name=kept.name)),
        ]

    def hostile(self):
        """(method, what is wrong, request or bytes)."""
        for method, request in self.good:
            if method in ('DeleteModel', 'DeleteBatch', 'DeleteSnapshot'):
                found = ((text, bad) for text, bad in lies(request))
            else:
                found = lies(request)
            for text, bad in found:
                yield method, text, bad
        for method in sim.DESCRIPTOR.services_by_name['Simulation'].methods:
            yield method.name, 'bytes that are no message', b'\xff\xff\xff'
            if method.input_type.fields:
                yield method.name, 'text that is not UTF-8', b'\x0a\x02\xff\xfe'
                yield method.name, 'a message that ends in the middle', b'\x0a\x7fabc'
        yield from self._by_hand()
        for text, request in hostile_files.scenes():
            yield 'CreateModel', text, request

    def _by_hand(self):
        step, reset = sim.StepRequest, state_pb2.ResetRequest
        yield 'CreateModel', 'nothing', sim.CreateModelRequest()
        yield 'CreateModel', 'an empty scene', sim.CreateModelRequest(scene=scene_pb2.SceneSpec())
        yield 'CreateModel', 'assets beside a scene', sim.CreateModelRequest(scene=self.scene, assets={'a': b'b'})
        yield 'CreateModel', 'a digest that is none', sim.CreateModelRequest(mjcf='<mujoco/>', asset_digests={'a.stl': 'md5:00'})
        yield 'CreateModel', 'a file by content and by digest', sim.CreateModelRequest(
            mjcf='<mujoco/>', assets={'a.stl': b''}, asset_digests={'a.stl': 'sha256:' + '0' * 64})
        yield 'UploadAssets', 'an asset that is incomplete', asset_pb2.UploadAssetsRequest(
            digest='sha256:' + hashlib.sha256(b'xy').hexdigest(), size_bytes=2, data=b'x')
        yield 'UploadAssets', 'bytes of another digest', asset_pb2.UploadAssetsRequest(digest='sha256:' + '0' * 64, size_bytes=1, data=b'x')
        yield 'UploadAssets', 'data before an asset', asset_pb2.UploadAssetsRequest(data=b'x')
        yield 'UploadAssets', 'an asset of a terabyte', asset_pb2.UploadAssetsRequest(digest='sha256:' + '0' * 64, size_bytes=1 << 40)
        yield 'DownloadAsset', 'an asset that is not here', asset_pb2.DownloadAssetRequest(digest='sha256:' + '0' * 64)
        yield 'CreateModel', 'options of URDF beside MJCF', sim.CreateModelRequest(
            mjcf='<mujoco/>', urdf_options=sim.UrdfOptions(ground=True))
        yield 'CreateBatch', 'nothing', sim.CreateBatchRequest()
        yield 'CreateBatch', 'ten million worlds', sim.CreateBatchRequest(model=self.scene_model(), world_count=10_000_000)
        yield 'Step', 'nothing', step()
        yield 'Step', 'world 0 twice', step(batch=self.batch, world_indices=[0, 0])
        yield 'Step', 'world 2 of two', step(batch=self.batch, world_indices=[2])
        yield 'Step', 'no steps', step(batch=self.batch, step_count=0)
        yield 'Step', 'records that do not divide the steps', step(batch=self.batch, step_count=5, record_every=2)
        yield 'Step', 'an output twice', step(batch=self.batch, outputs=['time', 'time'])
        yield 'Step', 'an answer of gigabytes', step(batch=self.batch, step_count=1_000_000, record_every=1, outputs=['body_pose'])
        yield 'Reset', 'three seeds for two worlds', reset(batch=self.batch, seeds=[1, 2, 3])
        yield 'Reset', 'a snapshot of noise', reset(batch=self.batch, state=state_pb2.StateUpdate(snapshot=[b'noise', b'noise']))
        yield 'SaveSnapshot', 'kept nowhere', snapshot_pb2.SaveSnapshotRequest(batch=self.batch, skip_store=True)
        yield 'RestoreSnapshot', 'nothing', snapshot_pb2.RestoreSnapshotRequest()
        for text, content in (('no bytes', b''), ('noise', b'noise' * 20), ('half of its bytes', self.content[:len(self.content) // 2]),
                              ('a bit turned', self.content[:99] + bytes([self.content[99] ^ 1]) + self.content[100:]),
                              ('a byte more', self.content + b'\0')):
            yield 'RestoreSnapshot', f'content: {text}', snapshot_pb2.RestoreSnapshotRequest(content=content)

    def scene_model(self):
        return next(request.model for method, request in self.good if method == 'CreateBatch')


def call(channel, method, request):
    """Status and text."""
    path = f'/axion.v1.Simulation/{method}'
    data = request if isinstance(request, bytes) else request.SerializeToString()
    answer = message_factory.GetMessageClass(sim.DESCRIPTOR.services_by_name['Simulation'].methods_by_name[method].output_type)
    try:
        if method == 'StepStream':
            found = list(channel.stream_stream(path)(iter([data]), timeout=case.PATIENCE_SECONDS))
        else:
            found = [channel.unary_unary(path)(data, timeout=case.PATIENCE_SECONDS)]
        for one in found:
            answer.FromString(one)
    except DecodeError as error:
        return Code.INTERNAL, f'an answer that no client can read: {error}'
    except grpc.RpcError as error:
        return error.code(), error.details()
    return Code.OK, ''


def cell(text):
    text = re.sub(r'\b(models|batches|snapshots)/[0-9a-f]{16}', r'\1/ID', text)
    text = ''.join(c if c.isprintable() else f'\\x{ord(c):02x}' for c in text)
    text = text.replace('|', '\\|').replace('<', '&lt;').replace('\n', ' ')
    return text if len(text) <= 300 else text[:297] + '...'


def run(arguments):
    rows, faults = [], []
    with case.scratch() as folder, case.Server(arguments.bin, f'--state_dir={folder}', '--memory_limit=1GiB') as server, \
            axion.Client(server.address) as client, server.channel() as channel:
        mjcf = arguments.model.read_text()
        witness = client.create_batch(client.create_model(mjcf), 3)
        witness.step(steps=20)
        before = list(witness.get_state('snapshot')['snapshot'])
        requests = Requests(client, mjcf)
        for method, what, request in requests.hostile():
            code, text = call(channel, method, request)
            rows.append((method, what, code, text))
            row = f'{method}, {what}: {code.name} {text!r}'
            if code in BLAMED_ON_NOBODY or (code is not Code.OK and len(text) < 5):
                faults.append(row)
            if len(text.encode()) > 1000:
                faults.append(f'{row} repeats too much')
            if list(witness.get_state('snapshot')['snapshot']) != before:
                faults.append(f'{row} changed the batch beside it')
                break
    return rows, faults


def page(rows):
    refused = [row for row in rows if row[2] is not Code.OK]
    taken = [row for row in rows if row[2] is Code.OK]
    lines = ['# Bad input', '',
             f'{len(refused)} hostile requests and what each is answered with, over all methods. Written by',
             '`tests/end_to_end/bad_input_table.py BIN_DIRECTORY MODEL.xml --page docs/bad_input.md`, which ctest runs without the page.',
             'After each request a batch beside it was compared with what it was before: every bit was as before after all of them.', '']
    for method in dict.fromkeys(row[0] for row in refused):
        lines += [f'## {method}', '', '| wrong | status | message |', '| --- | --- | --- |']
        lines += [f'| {cell(what)} | {code.name} | {cell(text)} |' for name, what, code, text in refused if name == method]
        lines += ['']
    lines += ['## Not refused', '', 'Of the requests that were tried these mean something, and are answered.', '',
              '| method | request |', '| --- | --- |']
    lines += [f'| {method} | {cell(what)} |' for method, what, _, _ in taken]
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bin', type=pathlib.Path)
    parser.add_argument('model', type=pathlib.Path)
    parser.add_argument('--page', type=pathlib.Path)
    arguments = parser.parse_args()
    rows, faults = run(arguments)
    counts = collections.Counter(code.name for _, _, code, _ in rows)
    print(f'{len(rows)} requests: ' + ', '.join(f'{count} {name}' for name, count in counts.most_common()))
    refused = len(rows) - counts['OK']
    if refused < LEAST_REFUSED:
        faults.append(f'only {refused} requests were refused')
    for fault in faults:
        print(fault, file=sys.stderr)
    if arguments.page and not faults:
        arguments.page.write_text(page(rows))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
