"""A server in this process that answers as told, for tests of what the client makes of the answers."""

import concurrent.futures

import grpc
from google.protobuf import any_pb2, empty_pb2
from google.rpc import status_pb2

from axion.v1 import simulation_pb2, simulation_pb2_grpc, solver_pb2, state_pb2, tensor_pb2


def abort(context, code, message, *details):
    """Ends a call with a status and google.rpc details."""
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail)
    status = status_pb2.Status(code=code.value[0], message=message, details=packed)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, message)


class FakeSimulation(simulation_pb2_grpc.SimulationServicer):
    """Keeps the requests. A step echoes its control as the output "control"; `refusal` ends it instead."""

    def __init__(self):
        self.requests = []
        self.refusal = None
        self.names = []

    def CreateModel(self, request, context):
        self.requests.append(request)
        return simulation_pb2.Model(name="models/m", control_count=2, body_count=1)

    def CreateBatch(self, request, context):
        self.requests.append(request)
        batch = simulation_pb2.Batch(name="batches/b", model=request.model, world_count=request.world_count)
        batch.idle_ttl.FromMilliseconds(300)
        batch.task.SetInParent()
        return batch

    def ListBatches(self, request, context):
        first = int(request.page_token or 0)
        size = request.page_size or 2
        page = self.names[first:first + size]
        following = first + size
        return simulation_pb2.ListBatchesResponse(
            batches=[simulation_pb2.Batch(name=name) for name in page],
            next_page_token=str(following) if following < len(self.names) else "")

    def KeepAlive(self, request, context):
        self.requests.append(request)
        return simulation_pb2.KeepAliveResponse()

    def DeleteBatch(self, request, context):
        self.requests.append(request)
        return empty_pb2.Empty()

    def answer(self, request):
        count = len(request.world_indices) or 4
        response = simulation_pb2.StepResponse(time=[0.5] * count, step_index=[100] * count, outcome=[1] * count,
                                               request_id=request.request_id)
        response.outputs["control"].CopyFrom(request.control)
        return response

    def Step(self, request, context):
        self.requests.append(request)
        if self.refusal:
            self.refusal(context)
        return self.answer(request)

    def StepStream(self, request_iterator, context):
        for request in request_iterator:
            if request.request_id == "refuse":
                abort(context, grpc.StatusCode.ABORTED, "expected_step 7, the worlds are at 3")
            yield self.answer(request)

    def SetState(self, request, context):
        self.requests.append(request)
        if self.refusal:
            self.refusal(context)
        return state_pb2.SetStateResponse()

    def Reset(self, request, context):
        self.requests.append(request)
        if self.refusal:
            self.refusal(context)
        return state_pb2.ResetResponse(task={"observation": {"dtype": tensor_pb2.DTYPE_FLOAT64, "shape": [1, 0]}})

    def GetSolverStats(self, request, context):
        self.requests.append(request)
        histogram = solver_pb2.BinnedCounts(bounds=[1, 2, 4], counts=[1, 2, 0, 1], sum=15)
        return simulation_pb2.GetSolverStatsResponse(
            batch=solver_pb2.BatchSolverStats(world_steps=4, converged=3, newton_iterations=histogram))

    def GetContacts(self, request, context):
        rows = tensor_pb2.Tensor(dtype=tensor_pb2.DTYPE_FLOAT64, shape=[3, 3], data=bytes(72))
        return state_pb2.GetContactsResponse(world_indices=[4, 9], contact_count=[1, 2], shape_a=[0] * 3,
                                             shape_b=[1] * 3, body_a=[0] * 3, body_b=[-1] * 3, gap=[0.0] * 3,
                                             normal_impulse=[0.0] * 3, point=rows, normal=rows, friction_impulse=rows,
                                             moment_impulse=rows)


class FakeServer:
    """Context manager: the servicer on a free port of the loopback address."""

    def __enter__(self):
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=4))
        self.simulation = FakeSimulation()
        simulation_pb2_grpc.add_SimulationServicer_to_server(self.simulation, self._server)
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        return self

    def __exit__(self, kind, error, trace):
        self._server.stop(grace=None).wait()
