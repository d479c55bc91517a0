"""What the tests of memory share: an axiond with a --memory_limit, which must have kept to it and have given all back in the end.

Their first arguments are BIN_DIRECTORY MODEL.xml.
"""

import pathlib
import re
import sys
import unittest

import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
MIB = 1 << 20
LIMIT = 512 * MIB
UNLIMITED = [('grpc.max_send_message_length', -1), ('grpc.max_receive_message_length', -1), ('grpc.use_local_subchannel_pool', 1)]
SERVICE = '/axion.v1.Simulation/'


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


class MemoryCase(unittest.TestCase):
    def start(self, *flags):
        self.server = self.enterContext(case.Server(BIN, f'--memory_limit={LIMIT // MIB}MiB', *flags))
        self.channel = self.enterContext(grpc.insecure_channel(self.server.address, UNLIMITED))
        self.stub = case.simulation_pb2_grpc.SimulationStub(self.channel)

    def tearDown(self):
        """Whatever was asked for: within the limit, serving, and given back."""
        peak = self.status('VmHWM')
        print(f'  {self.id().rpartition(".")[2]}: peak {peak // MIB} of {LIMIT // MIB} MiB', file=sys.stderr)
        self.assertLessEqual(peak, LIMIT)
        self.assertIsNone(self.server.process.poll())
        model = case.eventually(self.model_if_there_is_room)
        self.assertTrue(model)
        batch = self.stub.CreateBatch(sim.CreateBatchRequest(model=model.name, world_count=4))
        self.stub.Step(sim.StepRequest(batch=batch.name))
        while batches := self.stub.ListBatches(sim.ListBatchesRequest(page_size=1000)).batches:
            for held in batches:
                self.stub.DeleteBatch(sim.DeleteBatchRequest(name=held.name))
        for held in self.stub.ListModels(sim.ListModelsRequest()).models:
            self.stub.DeleteModel(sim.DeleteModelRequest(name=held.name))
        self.assertTrue(case.eventually(lambda: self.used() < MIB), f'{self.used()} bytes are still held')

    def model_if_there_is_room(self):
        """None while what the last call took is not given back: its end is told first."""
        try:
            return self.stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL))
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            return None

    def status(self, name):
        return int(re.search(rf'{name}:\s+(\d+)', pathlib.Path(f'/proc/{self.server.process.pid}/status').read_text()).group(1)) * 1024

    def used(self):
        return self.server.metric('axion_memory_bytes{kind="used"}')
