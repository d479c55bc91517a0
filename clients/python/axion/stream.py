"""Steps over one stream: requests go ahead of their answers, which come in order."""

import queue

import grpc

from axion import results
from axion.errors import from_rpc_error

_END = object()


class StepStream:
    """A StepStream call. Use as a context manager; `send` and `receive` from one thread.

        with batch.stream() as stream:
            for result in stream.map(({"control": row} for row in controls), in_flight=4):
                ...

    A request that the server refuses ends the stream: the answers before it arrive, then `receive` raises.
    """

    def __init__(self, client, batch):
        self._client = client
        self._batch = batch
        self._requests = queue.SimpleQueue()
        self._call = None
        self._pending = 0

    def __enter__(self):
        self._call = self._client.stub.StepStream(iter(self._requests.get, _END))
        return self

    def __exit__(self, kind, error, trace):
        self._requests.put(_END)
        if kind is not None or self._pending:
            self._call.cancel()

    @property
    def pending(self):
        """Requests sent and not yet answered."""
        return self._pending

    def send(self, **arguments):
        """Sends a step; arguments as of Batch.step without timeout. Does not wait."""
        self._requests.put(self._batch.step_request(**arguments))
        self._pending += 1

    def receive(self):
        """The StepResult of the oldest unanswered request; waits for it. Raises AxionError, or RuntimeError if nothing
        is pending."""
        if not self._pending:
            raise RuntimeError("receive() without a request that waits for its answer")
        try:
            answer = next(self._call)
        except StopIteration:
            raise RuntimeError("the server ended the stream before it answered") from None
        except grpc.RpcError as error:
            self._pending = 0
            raise from_rpc_error(error) from error
        self._pending -= 1
        return results.StepResult(answer)

    def map(self, requests, in_flight=4):
        """Sends each request (a dict of arguments of `send`) and yields the results in order, with at most `in_flight`
        requests ahead. ServerLimits.max_stream_in_flight bounds what helps."""
        if in_flight < 1:
            raise ValueError(f"in_flight: {in_flight} is not at least 1")
        for request in requests:
            self.send(**request)
            while self._pending >= in_flight:
                yield self.receive()
        while self._pending:
            yield self.receive()
