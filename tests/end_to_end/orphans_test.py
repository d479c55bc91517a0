#!/usr/bin/env python3
"""What nobody will ever name again: batches of cancelled calls, repeated calls, models without batches, on a real axiond.

Usage: orphans_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import concurrent.futures
import pathlib
import random
import sys
import threading
import time
import unittest

import grpc

import access_case as case
from axion.v1 import simulation_pb2 as sim

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()
Code = grpc.StatusCode


def batches(stub):
    return [batch.name for batch in stub.ListBatches(sim.ListBatchesRequest(page_size=1000)).batches]


class Orphans(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(case.scratch())

    def serve(self, *flags, **keywords):
        return self.enterContext(case.Server(BIN, *flags, **keywords))

    def test_streams_that_are_cancelled_at_any_moment_harm_nobody(self):
        server = self.serve()
        own = server.stub()
        model = own.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        batch = own.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1)).name
        begun = threading.Barrier(6)

        def cancel(seed):
            randomness, stub = random.Random(seed), server.stub()
            mine = stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=4)).name
            begun.wait(case.PATIENCE_SECONDS)
            for _ in range(120):
                stream = stub.StepStream(iter([sim.StepRequest(batch=mine, step_count=randomness.randint(1, 40)) for _ in range(8)]))
                next(stream)
                time.sleep(randomness.uniform(0, 0.003))
                stream.cancel()

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for done in [pool.submit(cancel, seed) for seed in range(6)]:
                done.result(case.PATIENCE_SECONDS)
        self.assertIsNone(server.process.poll(), server.log_text()[-500:])
        self.assertEqual(own.Step(sim.StepRequest(batch=batch)).step_index[0], 1)

    def test_a_batch_bound_to_a_stream_outlives_a_server_that_drains(self):
        state = f'--state_dir={self.folder / "state"}'
        server = self.serve(state)
        stub = server.stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL))
        request = sim.CreateBatchRequest(model=model.name, world_count=2)
        request.stream_ttl.SetInParent()
        bound = stub.CreateBatch(request)
        go_on = threading.Event()

        def requests():
            yield sim.StepRequest(batch=bound.name)
            go_on.wait(case.PATIENCE_SECONDS)
        answers = stub.StepStream(requests())
        self.assertEqual(list(next(answers).step_index), [1, 1])
        self.assertEqual(server.stop(), 0)
        go_on.set()
        stub = self.serve(state, port=server.port).stub()
        again = stub.GetBatch(sim.GetBatchRequest(name=bound.name))
        self.assertTrue(again.HasField('stream_ttl'))
        answers = stub.StepStream(iter([sim.StepRequest(batch=bound.name, expected_step=1)]))
        self.assertEqual([list(answer.step_index) for answer in answers], [[2, 2]])
        self.assertTrue(case.eventually(lambda: bound.name not in batches(stub)))

    def test_a_cancelled_creation_that_is_repeated_is_there_once(self):
        stub = self.serve().stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        randomness = random.Random(3)
        requests = [sim.CreateBatchRequest(model=model, world_count=200, request_id=f'{i}') for i in range(60)]
        for request in requests:
            call = stub.CreateBatch.future(request)
            if randomness.random() < 0.5:  # else at once, as early as can be
                time.sleep(randomness.uniform(0, 0.005))
            call.cancel()
        # An answer that was under way when its call was cancelled may yet take its batch with it.
        self.assertTrue(case.eventually(lambda: {stub.CreateBatch(request).name for request in requests} == set(batches(stub)) and
                                        stub.GetServerInfo(sim.GetServerInfoRequest()).world_count == 200 * 60))

    def test_a_repeated_creation_gets_the_first_batch_also_after_a_restart(self):
        server = self.serve(f'--state_dir={self.folder / "state"}')
        stub = server.stub()
        model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
        request = sim.CreateBatchRequest(model=model, world_count=2, request_id='one')
        first = [call.result().name for call in [stub.CreateBatch.future(request) for _ in range(8)]]
        self.assertEqual(len(set(first)), 1)
        self.assertEqual(batches(stub), first[:1])
        server.stop()
        stub = self.serve(f'--state_dir={self.folder / "state"}', port=server.port).stub()
        self.assertEqual(stub.CreateBatch(request).name, first[0])
        stub.DeleteBatch(sim.DeleteBatchRequest(name=first[0]))
        self.assertNotEqual(stub.CreateBatch(request).name, first[0])
        code, text = case.outcome(stub.CreateBatch, sim.CreateBatchRequest(model=model, world_count=1, request_id='x' * 129))
        self.assertEqual(code, Code.INVALID_ARGUMENT)
        self.assertIn('request_id', text)

    def test_models_without_batches_end_and_others_stay(self):
        server = self.serve('--model_ttl=1s')
        stub = server.stub()


        def make_used():
            """None where the model has ended before its batch came."""
            model = stub.CreateModel(sim.CreateModelRequest(mjcf=MODEL)).name
            try:
                return model, stub.CreateBatch(sim.CreateBatchRequest(model=model, world_count=1)).name
            except grpc.RpcError as error:
                self.assertEqual(error.code(), Code.NOT_FOUND)

        used, batch = case.eventually(make_used)
        lonely = stub.CreateModel(sim.CreateModelRequest(mjcf='<mujoco><worldbody><body><freejoint/><geom size="1"/></body>'
                                                              '</worldbody></mujoco>')).name

        def left():
            # A step has the device's thread look at the clock.
            stub.Step(sim.StepRequest(batch=batch))
            return {model.name for model in stub.ListModels(sim.ListModelsRequest()).models}

        self.assertTrue(case.eventually(lambda: left() == {used}))
        self.assertTrue(case.eventually(lambda: f'event=model_expired model={lonely}' in server.log_text()))
        self.assertEqual(case.outcome(stub.GetModel, sim.GetModelRequest(name=lonely))[0], Code.NOT_FOUND)
        code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', '--model_ttl=0')
        self.assertNotEqual(code, 0)
        self.assertIn('--model_ttl', text)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
