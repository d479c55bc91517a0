"""Steps over one stream: requests go ahead of their answers, which come in order."""

from __future__ import annotations

import collections
import queue
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import grpc
import numpy.typing as npt

from axion import results
from axion.errors import from_rpc_error
from axion.tensors import Worlds
from axion.texts import documented

if TYPE_CHECKING:
    from axion.batch import Batch
    from axion.client import Client
    from axion.v1 import simulation_pb2

_END = object()


@documented
class StepStream:
    """Steps over one connection, sent ahead of their answers; Batch.stream makes it.

    It is a context manager; send and receive from one thread. A request that the server refuses ends the stream: the
    answers before it arrive, then receive raises. What was not answered when the server went away is sent again when
    it is back.

    Examples
    --------
    >>> with batch.stream() as stream:
    ...     for result in stream.map(({"control": row} for row in controls), in_flight=4):
    ...         ...
    """

    def __init__(self, client: Client, batch: Batch) -> None:
        self._client = client
        self._batch = batch
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()  # StepRequest, then _END
        self._call: Any = None
        self._unanswered: collections.deque[simulation_pb2.StepRequest] = collections.deque()

    def __repr__(self) -> str:
        return f"<axion.StepStream of {self._batch.name}: {len(self._unanswered)} requests under way>"

    def __enter__(self) -> StepStream:
        self._open()
        return self

    def _open(self) -> None:
        """Begins a call that sends what has not been answered."""
        self._requests.put(_END)  # of a call before
        self._requests = queue.SimpleQueue()
        for request in self._unanswered:
            self._requests.put(request)
        requests: Iterator[simulation_pb2.StepRequest] = iter(self._requests.get, _END)
        self._call = self._client.stub.StepStream(requests)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._requests.put(_END)
        if kind is not None or self._unanswered:
            self._call.cancel()

    @property
    def pending(self) -> int:
        """int : Requests sent and not yet answered."""
        return len(self._unanswered)

    @documented
    def send(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
             record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
             body_wrench: npt.ArrayLike | None = None, request_id: str = "",
             mocap_pose: npt.ArrayLike | None = None) -> None:
        """Sends a step, without waiting for its answer.

        Raises
        ------
        TypeError
            An array is not of real numbers.
        ValueError
            An array has no such shape.
        """
        request = self._batch.step_request(control, steps, outputs, record_every, worlds, expected_step, body_wrench, request_id,
                                           mocap_pose)
        if self._batch._log is not None and not self._unanswered:
            self._batch._log._before("Step")
        self._unanswered.append(request)
        self._requests.put(request)

    def receive(self) -> results.StepResult:
        """Waits for the answer to the oldest unanswered request.

        While the server is away the stream is opened again as Client's `retry` says.

        Returns
        -------
        StepResult
            The answer.

        Raises
        ------
        AxionError
            The server refused the request, or is gone.
        RuntimeError
            No request waits for its answer.
        """
        if not self._unanswered:
            raise RuntimeError("receive() without a request that waits for its answer")
        attempts = self._client.patience.attempts(None)
        while True:
            try:
                answer = next(self._call)
                break
            except StopIteration:
                raise RuntimeError("the server ended the stream before it answered") from None
            except grpc.RpcError as error:
                if not all(request.request_id for request in self._unanswered) or not attempts.another(error):
                    self._unanswered.clear()
                    failure = from_rpc_error(error)
                    if self._batch._log is not None:
                        self._batch._log._failed("Step", failure)
                    raise failure from error
                self._open()
        self._client.patience.heard()
        request = self._unanswered.popleft()
        if self._batch._log is not None:
            self._batch._log._made("Step", request, are_others_under_way=bool(self._unanswered))
        return results.StepResult(answer)

    def map(self, requests: Iterable[Mapping[str, Any]], in_flight: int = 4) -> Iterator[results.StepResult]:
        """Sends requests and yields their answers in order.

        Parameters
        ----------
        requests : Iterable[Mapping[str, Any]]
            Arguments of `send`.
        in_flight : int, default 4
            Requests ahead at most; ServerLimits.max_stream_in_flight bounds what helps.

        Yields
        ------
        StepResult
            The answers.

        Raises
        ------
        ValueError
            in_flight is below 1.
        AxionError
            The server refused a request, or is gone.
        """
        if in_flight < 1:
            raise ValueError(f"in_flight: {in_flight} is not at least 1")
        for request in requests:
            self.send(**request)
            while len(self._unanswered) >= in_flight:
                yield self.receive()
        while self._unanswered:
            yield self.receive()
