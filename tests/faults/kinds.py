"""What is done to the server in a round. Each kind takes the farm and a source of chance, leaves a server that runs, and returns whether
steps may have been lost: those after the last checkpoint, by a kill."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

import axion
import grpc
from axion.v1 import simulation_pb2 as sim
from axion.v1 import snapshot_pb2, state_pb2
from axiond_process import eventually
from cutting_proxy import CuttingProxy

from farm import CALL_SECONDS, MIB, OUTPUTS, Witness, answers, demand, raw_stub

Code = grpc.StatusCode
CROWD = 1000
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # with empty SETTINGS


def kill_during_steps(farm, chance):
    farm.checkpoint()
    with farm.stepping():
        time.sleep(chance.uniform(0, 0.4))
        farm.kill()
        time.sleep(chance.uniform(0, 0.2))
        farm.start()
        time.sleep(0.3)  # so that some hear of it and stop, and some step on
    return True


def kill_during_snapshot(farm, chance):
    farm.checkpoint()
    stop = threading.Event()
    saver = farm.connect(retry=0)

    def save():
        with contextlib.suppress(axion.AxionError):
            while not stop.is_set():
                witness = chance.choice(farm.witnesses)
                kept = saver.get_batch(witness.batch.name).save_snapshot()
                farm.snapshots[kept.name] = (witness.course, kept.min_step_index)

    with farm.stepping():
        thread = threading.Thread(target=save)
        thread.start()
        time.sleep(chance.uniform(0.02, 0.3))
        farm.kill()
        stop.set()
        thread.join(CALL_SECONDS)
        farm.start()
        time.sleep(0.2)
    saver.close()
    return True


def kill_during_start(farm, chance):
    farm.checkpoint()
    before = {witness.batch.name: witness.made for witness in farm.witnesses}
    if chance.random() < 0.5:
        farm.stop()
    else:
        farm.kill()
    for _ in range(chance.randint(1, 3)):
        start = subprocess.Popen([str(farm.program), f'--listen=127.0.0.1:{farm.port}', '--metrics_listen=127.0.0.1:0', '--device=cpu',
                                  *farm.flags()], stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.15))
        start.kill()
        start.wait()
    farm.start()
    for witness in farm.witnesses:  # nobody stepped: it is all there
        index, = set(witness.batch.get_state('time').step_index)
        demand(index == before[witness.batch.name], f'{witness.batch.name} was at step {before[witness.batch.name]} and is at {index}')
    return True


def drained_with_work_in_hand(farm, chance):
    """Nothing is lost, and the limit on a drain holds with scenes that compile for long."""
    client = farm.connect(retry=0)

    def body(i, height):
        return f'<body pos="{3 * (i % 64)} {3 * (i // 64)} {height}"><freejoint/>' + '<geom size="0.1"/>' * 4 + '</body>'

    scenes = ['<mujoco><worldbody>' + ''.join(body(i, height) for i in range(500)) + '</worldbody></mujoco>'
              for height in range(1, chance.choice([2, 12]))]
    with farm.stepping():
        calls = [client.stub.CreateModel.future(sim.CreateModelRequest(mjcf=scene), timeout=CALL_SECONDS) for scene in scenes]
        time.sleep(chance.uniform(0.05, 0.3))
        farm.stop()
        farm.start()
        time.sleep(0.2)
    for call in calls:
        demand(call.code() in (Code.OK, Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED), f'a compile ended with {call.code()}: {call.details()}')
    client.close()
    used = {witness.batch.model for witness in farm.witnesses}
    for model in farm.client.list_models():
        if model.name not in used:
            with contextlib.suppress(axion.FailedPreconditionError):
                farm.client.delete_model(model)
    return False


def client_killed_in_mid_stream(farm, chance):
    victim = Witness(farm, chance.choice(farm.courses))
    child = subprocess.Popen(
        [sys.executable, '-B', str(pathlib.Path(__file__).with_name('stream_client.py')), farm.server.address, victim.batch.name,
         str(victim.course.LENGTH - 300), chance.choice(['stream', 'calls'])],
        env={**os.environ, 'AXION_TOKEN': farm.tokens['farm']}, stdout=subprocess.PIPE)
    with farm.stepping():
        demand(child.stdout.readline() == b'ready\n', 'the client does not stream')
        time.sleep(chance.uniform(0, 0.1))
        child.kill()
        child.wait()
        child.stdout.close()

        def at_rest():
            index = list(victim.batch.get_state('time').step_index)
            time.sleep(0.1)
            return index == list(victim.batch.get_state('time').step_index)

        demand(eventually(at_rest), 'steps are made for a client that is gone')
    state = victim.batch.get_state(OUTPUTS)
    demand(max(state.step_index) > 0, 'nothing was stepped')
    demand(eventually(lambda: _goes_on(victim.batch)), 'the batch does not go on')
    held = victim.course.control(0, 1)
    if held is None:  # of a scene with actuators the child's controls are another course
        victim.course.check(state.step_index, *(state[name] for name in OUTPUTS), victim.batch.name)
    victim.batch.delete()
    return False


def _goes_on(batch):
    """False while steps are made still that a client has asked for which is gone."""
    index = batch.get_state('time').step_index
    if len(set(index)) > 1:  # a launch of some worlds was the last: each is at a step of the course
        return True
    with contextlib.suppress(axion.AbortedError):
        return batch.step(expected_step=index[0]).step_index[0] == index[0] + 1
    return False


def connection_cut_before_the_answer(farm, chance):
    proxy = CuttingProxy(farm.port)
    try:
        with farm.stepping(client=proxy.address):
            for _ in range(4):
                time.sleep(chance.uniform(0.02, 0.1))
                if chance.random() < 0.7:
                    proxy.mute()
                    time.sleep(chance.uniform(0, 0.03))
                proxy.cut()
    finally:
        proxy.close()
    series = 'axion_world_steps_total{device="cpu"}'
    before, told = farm.server.metric(series), sum(witness.made for witness in farm.witnesses)
    proxy = CuttingProxy(farm.port)
    client = farm.connect(proxy.address)
    try:
        for witness in farm.witnesses:
            own, witness.batch = witness.batch, client.get_batch(witness.batch.name)
            for i in range(6):
                if i % 3 == 1:
                    proxy.mute()
                    made = farm.server.metric(series)
                    cutter = threading.Thread(
                        target=lambda made=made: (eventually(lambda: farm.server.metric(series) > made), proxy.cut()))
                    cutter.start()
                witness.step()
                if i % 3 == 1:
                    cutter.join()
            witness.batch = own
    finally:
        client.close()
        proxy.close()
    told = sum(witness.made for witness in farm.witnesses) - told
    made = farm.server.metric(series) - before
    demand(made == 4 * told, f'{made} world-steps were made; clients heard of {4 * told}')
    return False


def disk_full(farm, chance):
    farm.checkpoint()
    worst = chance.random() < 0.5
    ballast = farm.folder / 'ballast'
    limit = None
    if farm.small_disk and chance.random() < 0.7:
        with open(ballast, 'wb', buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16 if not file.tell() % MIB else 4096))
    else:
        limit = resource.prlimit(farm.server.process.pid, resource.RLIMIT_FSIZE)
        largest = max(file.stat().st_size for file in farm.state.iterdir())
        resource.prlimit(farm.server.process.pid, resource.RLIMIT_FSIZE, (largest + (64 << 10), limit[1]))
    full = None
    with farm.stepping():
        for _ in range(10_000):
            try:
                farm.save(chance.choice(farm.witnesses), display_name='x' * 100)
            except axion.ResourceExhaustedError as error:
                full = error
                break
        demand(full is not None and full.reason == 'DISK_FULL', f'the disk is full, and a snapshot was answered with {full!r}')
        demand(eventually(_passes_of_checkpoints(farm)), 'no checkpoint ends while the disk is full')
        if worst:
            farm.kill()
            if ballast.exists():
                _start_on_a_full_disk(farm)
        ballast.unlink(missing_ok=True)
        if worst:
            farm.start()
            time.sleep(0.2)
        elif limit is not None:
            resource.prlimit(farm.server.process.pid, resource.RLIMIT_FSIZE, limit)
    if not worst:
        farm.trim()  # it may be the snapshots that filled the disk
        farm.save(farm.witnesses[0])  # there is room again
    return worst


def _passes_of_checkpoints(farm):
    """Whether a pass ended since: one that finds no room counts as failed, a checkpoint smaller than what is left is made."""
    def ended():
        return farm.server.metric('axion_checkpoint_failures_total'), farm.server.metric('axion_checkpoint_timestamp_seconds')
    begin = ended()
    return lambda: ended() != begin


def _start_on_a_full_disk(farm):
    """It serves, or it says why not."""
    log = farm.folder.parent / 'full.log'
    with open(log, 'wb') as out:
        process = subprocess.Popen([str(farm.program), '--listen=127.0.0.1:0', '--metrics_listen=', '--device=cpu', *farm.flags()],
                                   stderr=out)
    demand(eventually(lambda: process.poll() is not None or 'event=serving' in log.read_text()),
           'a server on a full disk neither serves nor ends')
    if process.poll() is None:
        process.kill()
    else:
        demand(process.returncode == 1 and 'state_dir' in log.read_text(),
               f'a server on a full disk ended with {process.returncode}: {log.read_text()}')
    process.wait()


def wrong_tokens(farm, chance):
    channel, stub = raw_stub(farm.server.address)
    stranger = farm.tokens['stranger']
    kept = next(iter(farm.snapshots), 'snapshots/0')
    batch = farm.witnesses[0].batch
    requests = [(stub.GetServerInfo, sim.GetServerInfoRequest()), (stub.Step, sim.StepRequest(batch=batch.name)),
                (stub.DeleteBatch, sim.DeleteBatchRequest(name=batch.name)), (stub.DeleteModel, sim.DeleteModelRequest(name=batch.model)),
                (stub.Reset, state_pb2.ResetRequest(batch=batch.name)),
                (stub.DeleteSnapshot, snapshot_pb2.DeleteSnapshotRequest(name=kept)),
                (stub.RestoreSnapshot, snapshot_pb2.RestoreSnapshotRequest(snapshot=kept)),
                (stub.CreateModel, sim.CreateModelRequest(mjcf=farm.courses[0].mjcf))]
    right = farm.tokens['farm']
    wrong = [None, 'Bearer', 'Bearer x', f'Bearer {right}x', f'Basic {right}', f'Bearer {right[:-1]}']
    with farm.stepping():
        for _ in range(60):
            call, request = chance.choice(requests)
            word = chance.choice(wrong)
            code = call.future(request, timeout=CALL_SECONDS, metadata=[('authorization', word)] if word else None).code()
            demand(code is Code.UNAUTHENTICATED, f'{word} was answered with {code}')
        for call, request in requests[1:-1]:  # the right token of somebody else
            code = call.future(request, timeout=CALL_SECONDS, metadata=[('authorization', f'Bearer {stranger}')]).code()
            demand(code is Code.NOT_FOUND, f'a stranger who names {request} was answered with {code}')
    channel.close()
    return False


def _half_a_message():
    """The beginning of a call of Step: its headers without compression, and ten bytes of a message of a thousand."""
    fields = [(':method', 'POST'), (':scheme', 'http'), (':path', '/axion.v1.Simulation/Step'), (':authority', 'x'), ('te', 'trailers'),
              ('content-type', 'application/grpc')]
    block = b''.join(b'\0' + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in fields)
    headers = len(block).to_bytes(3, 'big') + bytes([1, 4, 0, 0, 0, 1]) + block
    data = b'\0' + (1000).to_bytes(4, 'big') + bytes(10)
    return PREFACE + headers + len(data).to_bytes(3, 'big') + bytes([0, 0, 0, 0, 0, 1]) + data


def half_open_connections(farm, chance):
    words = [b'', PREFACE[:10], PREFACE, _half_a_message()]
    with farm.stepping(), contextlib.ExitStack() as crowd:
        for _ in range(CROWD):
            one = crowd.enter_context(socket.create_connection(('127.0.0.1', farm.port), timeout=CALL_SECONDS))
            one.sendall(chance.choice(words))
        demand(eventually(lambda: farm.server.metric('axion_connections') > 0.9 * CROWD), 'the crowd is not let in')
        newcomer = farm.connect(retry=0)
        newcomer.server_info(timeout=CALL_SECONDS)
        newcomer.close()
        farm.save(chance.choice(farm.witnesses))
    return False


def descriptors_exhausted(farm, chance):
    pid = farm.server.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (farm.open_descriptors() + chance.randint(0, 8), hard))
    with farm.stepping(), contextlib.ExitStack() as crowd:
        for _ in range(30):
            crowd.enter_context(socket.create_connection(('127.0.0.1', farm.port), timeout=CALL_SECONDS))
        demand(eventually(lambda: 'event=accept_failed' in farm.server.log_text()), 'that nobody is let in is not told')
        farm.save(chance.choice(farm.witnesses))  # who was there before is served
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    newcomer = farm.connect()
    demand(eventually(lambda: answers(newcomer)), 'the server stays deaf')
    newcomer.close()
    return False


def memory_limit_reached(farm, chance):
    greedy = farm.connect(retry=0)
    held = []
    # An honest answer may find no room either, and its client tries again.
    with farm.stepping(tolerated=('RESOURCE_EXHAUSTED',)):
        model = farm.witnesses[0].batch.model
        refused = None
        while refused is None and len(held) < 1000:
            try:
                held.append(greedy.create_batch(model, chance.randint(300, 2000)))
            except axion.ResourceExhaustedError as error:
                refused = error
        demand(refused is not None and 'memory_limit' in refused.message, f'memory ran out with {refused!r}')
        steps = [greedy.stub.Step.future(sim.StepRequest(batch=batch.name, step_count=200, record_every=1, outputs=['body_pose']),
                                         timeout=CALL_SECONDS) for batch in held for _ in range(2)]
        time.sleep(chance.uniform(0.1, 0.5))
        for step in steps:
            step.cancel()
    for batch in held:
        batch.delete()
    greedy.close()
    return False


def stopped_and_resumed(farm, chance):
    """As a machine that swaps or a debugger does."""
    with farm.stepping():
        time.sleep(chance.uniform(0, 0.1))
        farm.server.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0, 0.4))
        farm.server.process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
    return False


KINDS = [kill_during_steps, kill_during_snapshot, kill_during_start, drained_with_work_in_hand, client_killed_in_mid_stream,
         connection_cut_before_the_answer, disk_full, wrong_tokens, half_open_connections, descriptors_exhausted, memory_limit_reached,
         stopped_and_resumed]
