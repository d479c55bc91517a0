"""A server that faults are done to, what its clients were promised, and whether the promises hold."""

import contextlib
import hashlib
import os
import pathlib
import random
import re
import secrets
import signal
import sys
import threading

import axion
import grpc
import numpy as np
from axion.v1 import simulation_pb2 as sim

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess, eventually  # noqa: E402

OUTPUTS = ['body_pose', 'body_velocity']
WORLDS = 4
CALL_SECONDS = 120       # after which a call that should be answered counts as lost
CHECKPOINT_SECONDS = 0.1
DRAIN_SECONDS = 5        # a part of CALL_SECONDS, after which a server that is told to end has to have ended
KEPT_SNAPSHOTS = 6
MIB = 1 << 20
MEMORY_LIMIT = 640 * MIB
HEAP = ('<mujoco model="heap"><worldbody><geom type="plane" size="5 5 .1"/>' + ''.join(
    f'<body pos="0.0{i} 0 {0.15 + 0.22 * i}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for i in range(4)) +
    '</worldbody></mujoco>')


class Broken(Exception):
    """A promise that was not kept."""


def demand(condition, text):
    if not condition:
        raise Broken(text)


def digests(poses, velocities):
    """One of each world."""
    return [hashlib.sha256(pose.tobytes() + velocity.tobytes()).digest() for pose, velocity in zip(poses, velocities, strict=True)]


class Course:
    """A scene, the controls of each step, and what its worlds are after each step, as a server to which nothing happens says."""

    LENGTH = 1500

    def __init__(self, binary, mjcf):
        self.mjcf = mjcf
        with AxiondProcess(binary, '--threads=1', metrics=False) as server, axion.Client(server.address) as client:
            batch = self.create(client)
            self._controls = batch.proto.fields and next((f.shape[0] for f in batch.proto.fields if f.name == 'control'), 0)
            result = batch.step(control=self.control(0, self.LENGTH), steps=self.LENGTH, record_every=1, outputs=OUTPUTS)
            poses, velocities = (np.swapaxes(result[name], 0, 1) for name in OUTPUTS)
            self.after = [None] + [digests(*pair) for pair in zip(poses, velocities, strict=True)]

    def create(self, client, worlds=WORLDS):
        """Worlds that differ from each other."""
        model = client.stub.CreateModel(sim.CreateModelRequest(mjcf=self.mjcf), timeout=CALL_SECONDS)
        request = sim.CreateBatchRequest(model=model.name, world_count=worlds, seed=7, request_id=secrets.token_hex(8))
        request.initial_noise.joint_position = 0.05
        request.overrides.friction_scale.CopyFrom(axion.to_tensor(np.linspace(0.5, 1.5, worlds)))
        return client.get_batch(client.stub.CreateBatch(request, timeout=CALL_SECONDS).name)

    def control(self, start, steps):
        """Of each world at each of the steps."""
        if not self._controls:
            return None
        phase = 0.1 * np.arange(start, start + steps)[:, None] + np.arange(self._controls)
        return np.ascontiguousarray(np.broadcast_to(0.3 * np.sin(phase), (WORLDS, steps, self._controls)), np.float32)

    def check(self, indices, poses, velocities, whose):
        for world, (index, found) in enumerate(zip(indices, digests(poses, velocities), strict=True)):
            demand(index == 0 or found == self.after[index][world], f'{whose}: world {world} is not as it should be after step {index}')


class Witness:
    """A batch and how many steps its client was told to have been made."""

    def __init__(self, farm, course):
        self.farm, self.course = farm, course
        self.batch = course.create(farm.client)
        self.made = self.saved = 0  # `saved`: those that a checkpoint has for sure

    def request(self, steps):
        return {'control': self.course.control(self.made, steps), 'steps': steps, 'outputs': OUTPUTS}

    def step(self, steps=1):
        self.heard(self.batch.step(expected_step=self.made, timeout=CALL_SECONDS, **self.request(steps)), steps)

    def heard(self, result, steps):
        demand(set(result.step_index) == {self.made + steps},
               f'{self.batch.name}: {steps} steps after {self.made} led to {result.step_index}')
        self.course.check(result.step_index, *(result[name] for name in OUTPUTS), self.batch.name)
        self.made += steps

    @property
    def finished(self):
        return self.made > self.course.LENGTH - 200

    def settle(self, lost):
        """Compares the batch with what its client knows; `lost`: the server may have gone back to a checkpoint."""
        before = self.batch.proto.incarnation
        self.batch = self.farm.client.get_batch(self.batch.name)
        state = self.batch.get_state(OUTPUTS, timeout=CALL_SECONDS)
        self.course.check(state.step_index, *(state[name] for name in OUTPUTS), self.batch.name)
        index, = set(state.step_index)
        rolled_back = self.batch.proto.incarnation != before
        demand(lost or not rolled_back, f'{self.batch.name} has another incarnation, and nothing was lost')
        demand(rolled_back or index == self.made, f'{self.batch.name} is at step {index}; its client heard of {self.made}')
        demand(self.saved <= index <= self.made + 8, f'{self.batch.name} is at step {index}, not between {self.saved} and {self.made}')
        self.made = index


class Farm:
    """A server with a store, the batches that witness and the snapshots that it acknowledged."""

    def __init__(self, program, courses, folder):
        self.program, self.courses, self.folder = program, courses, pathlib.Path(folder)
        self.state = self.folder / 'state'
        self.tokens = {name: 'axion_' + secrets.token_urlsafe(32) for name in ('farm', 'stranger')}
        self._token_file = self.folder / 'tokens'
        self._token_file.write_text(''.join(
            f'{name} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n' for name, token in self.tokens.items()))
        self.port = 0
        self.server = self.client = None
        self.snapshots = {}  # name: course and step
        self.start()
        self.witnesses = [Witness(self, course) for course in courses for _ in range(2)]
        self._measure()

    def flags(self):
        return ['--threads=2', f'--state_dir={self.state}', f'--checkpoint_interval={CHECKPOINT_SECONDS}s',
                f'--token_file={self._token_file}', f'--memory_limit={MEMORY_LIMIT // MIB}MiB',
                f'--drain_timeout_seconds={DRAIN_SECONDS}']

    def start(self):
        self.server = AxiondProcess(self.program, *self.flags(), port=self.port)
        self.port = self.server.port
        if self.client is None:
            self.client = self.connect(self.server.address)
            self.client.server_info()
        self.descriptors = None

    def connect(self, address=None, retry=CALL_SECONDS):
        return axion.Client(address or self.server.address, token=self.tokens['farm'], retry=retry)

    def kill(self):
        self.server.kill()
        self.server.close()

    def stop(self):
        """By SIGTERM."""
        self.server.process.send_signal(signal.SIGTERM)
        code = self.server.process.wait(CALL_SECONDS)
        demand(code == 0, f'the server ended with {code}')
        self.server.close()

    def close(self):
        if self.client is not None:
            self.client.close()
        if self.server is not None:
            self.server.close()

    # ---- What goes on while faults are done ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def stepping(self, tolerated=(), client=None):
        """All witnesses step, each on a thread and by Step or a stream, until the end, or until they hear that steps were lost."""
        stop, faults = threading.Event(), []

        def run(witness, seed):
            chance = random.Random(seed)
            patient = self.connect(client) if client else None
            try:
                if patient:
                    # A client tries again once the server was there; the first call may be cut, too.
                    eventually(lambda: answers(patient))
                    witness.batch = patient.get_batch(witness.batch.name)
                while not stop.is_set() and not witness.finished:
                    try:
                        if chance.random() < 0.2:
                            self._stream(witness, chance)
                        else:
                            witness.step(chance.randint(1, 8))
                    except axion.AxionError as error:
                        if error.code.name not in tolerated:
                            raise
                    stop.wait(chance.uniform(0, 0.004))
            except axion.AbortedError as error:
                if error.reason not in ('ROLLED_BACK', 'REQUEST_GIVEN_UP'):
                    faults.append(error)
            except Exception as error:  # noqa: BLE001 - told by the thread that waits
                faults.append(error)
            finally:
                if patient:
                    witness.batch = self.client.get_batch(witness.batch.name)
                    patient.close()

        threads = [threading.Thread(target=run, args=(witness, i)) for i, witness in enumerate(self.witnesses)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(3 * CALL_SECONDS)
        demand(not any(thread.is_alive() for thread in threads), 'a call never ended')
        if faults:
            raise Broken(f'a client was told: {faults[0]!r}') from faults[0]

    @staticmethod
    def _stream(witness, chance):
        with witness.batch.stream() as stream:
            for _ in range(chance.randint(1, 5)):
                stream.send(**witness.request(1))
                witness.heard(stream.receive(), 1)

    def save(self, witness, **keywords):
        kept = witness.batch.save_snapshot(**keywords)
        index = kept.min_step_index
        demand(index == kept.max_step_index, 'a snapshot was taken within a request')
        self.snapshots[kept.name] = (witness.course, index)

    def checkpoint(self):
        """Waits until all that clients know of is in a checkpoint."""
        for witness in self.witnesses:
            witness.pending = witness.made
        self.server.await_checkpoints()
        for witness in self.witnesses:
            witness.saved = witness.pending

    # ---- Whether the promises hold --------------------------------------------------------------------------------------

    def check(self, lost):
        demand(self.server.process.poll() is None, f'the server ended with {self.server.process.returncode}')
        for witness in self.witnesses:
            witness.settle(lost)
        self._check_snapshots()
        for i, witness in enumerate(self.witnesses):
            if witness.finished:
                witness.batch.delete()
                self.witnesses[i] = witness = Witness(self, witness.course)
            witness.step(3)
        names = {witness.batch.name for witness in self.witnesses}
        for batch in list(self.client.list_batches()):
            if batch.name not in names:  # of clients that were killed
                batch.delete()
        self._check_resources()

    def _check_snapshots(self):
        listed = {snapshot.name for snapshot in self.client.list_snapshots()}
        demand(set(self.snapshots) <= listed, f'acknowledged snapshots are gone: {set(self.snapshots) - listed}')
        for name in listed - set(self.snapshots):  # saved, and the answer was lost
            self.client.delete_snapshot(name)
        for name, (course, index) in self.snapshots.items():
            again = self.client.restore_snapshot(name)
            state = again.get_state(OUTPUTS)
            demand(set(state.step_index) == {index}, f'{name} was taken at step {index} and is at {state.step_index}')
            course.check(state.step_index, *(state[field] for field in OUTPUTS), name)
            result = again.step(control=course.control(index, 2), steps=2, outputs=OUTPUTS)
            course.check(result.step_index, *(result[field] for field in OUTPUTS), name)
            again.delete()
        self.trim()

    def trim(self):
        """Deletes all but the newest snapshots."""
        for name in list(self.snapshots)[:-KEPT_SNAPSHOTS]:
            self.client.delete_snapshot(name)
            del self.snapshots[name]

    def status(self, name):
        return int(re.search(rf'{name}:\s+(\d+)', pathlib.Path(f'/proc/{self.server.process.pid}/status').read_text()).group(1)) * 1024

    def open_descriptors(self):
        return len(os.listdir(f'/proc/{self.server.process.pid}/fd'))

    def held(self):
        return self.server.metric('axion_memory_bytes{kind="used"}')

    def _measure(self):
        for witness in self.witnesses:
            for _ in range(70):  # as many answers as are remembered
                witness.step()
        self._settled = self.held()

    def _check_resources(self):
        """What was held for others has been given back."""
        # Of witnesses, what their remembered answers take varies.
        demand(eventually(lambda: self.held() < self._settled + 2 * MIB), f'{self.held()} bytes are still held; it was {self._settled}')
        demand(eventually(lambda: self.server.metric('axion_connections') <= 2),
               f'{self.server.metric("axion_connections")} connections are open')
        if self.descriptors is None:  # the first after a start
            self.descriptors = self.open_descriptors() + 8
        demand(eventually(lambda: self.open_descriptors() <= self.descriptors),
               f'{self.open_descriptors()} descriptors are open; it was {self.descriptors}')
        demand(self.status('VmHWM') <= MEMORY_LIMIT, f'the server took {self.status("VmHWM")} bytes')


def answers(client):
    with contextlib.suppress(axion.AxionError):
        return bool(client.server_info(timeout=2).version)
    return False


def raw_stub(address):
    """Of a connection of its own, without a token."""
    from axion.v1 import simulation_pb2_grpc
    channel = grpc.insecure_channel(address, [('grpc.use_local_subchannel_pool', 1)])
    return channel, simulation_pb2_grpc.SimulationStub(channel)
