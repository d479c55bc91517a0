"""N worlds of one model on the server: step, read, write."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from axion import results
from axion.arguments import checked
from axion.batch_requests import IndexOfName, Kind, index_in
from axion.batch_steps import BatchCalls
from axion.calls import nothing
from axion.errors import AxionError
from axion.lease import LeaseKeeper
from axion.stream import StepStream
from axion.tensors import Worlds
from axion.texts import documented, documented_call
from axion.v1 import simulation_pb2, snapshot_pb2
from axion.watch import Watch

if TYPE_CHECKING:
    from axion.client import Client
    from axion.run_log import RunLog

_Result = TypeVar("_Result")


@documented
class Batch(BatchCalls):
    """Worlds of one model, resident on one device, stepped at one time step.

    Client.create_batch and Client.get_batch make it; as a context manager it deletes itself at the end. Everywhere, n
    is the number of worlds that a call is about, nb, nq, nv and nu the numbers of bodies, joint coordinates, their
    rates and controls of the model. Arrays may be float32 or float64. Every call raises AxionError; a refused call
    changes nothing.

    Parameters
    ----------
    proto : Batch
        What the server said of it.

    Attributes
    ----------
    name : str
        Resource name, "batches/{id}".
    model : str
        Resource name of its model.
    world_count : int
        How many worlds it has.
    dt : float
        Time step, s.
    device : str
        Where it lives, for example "cpu".
    memory_bytes : int
        What it takes there, bytes.
    proto : axion.v1.Batch
        The whole message, with every solver option filled.
    """

    def __init__(self, client: Client, proto: simulation_pb2.Batch) -> None:
        super().__init__(proto)
        self._client = client
        self._log: RunLog | None = None  # which puts itself here

    def _ask(self, method: str, request: Any, read: Callable[[Any], _Result], timeout: float | None = None, *,
             refused: Callable[[AxionError], None] = nothing) -> _Result:
        log = self._log
        if log is None:
            return self._client._ask(method, request, read, timeout, refused=refused)
        log._before(method)
        try:
            answer = self._client._ask(method, request, read, timeout, refused=refused)
        except AxionError as error:
            log._failed(method, error)
            raise
        log._made(method, request)
        return answer

    def _ask_of_names(self, method: str, build: Callable[[IndexOfName], Any], read: Callable[[Any], _Result],
                      timeout: float | None) -> _Result:
        return self._ask(method, build(self._index), read, timeout)

    def _index(self, field: str, given: int | str, kind: Kind) -> int:
        if isinstance(given, str) and self._known_model is None:
            self._known_model = self._client.get_model(self.model)
        return index_in(self._known_model, field, given, kind)

    def _request_id(self) -> str:
        return self._client._request_id()

    @property
    def client(self) -> Client:
        """Client : The connection that it was made by."""
        return self._client

    def __repr__(self) -> str:
        return f"<axion.Batch {self.name}: {self.world_count} worlds of {self.model}, dt {self.dt:g} s, {self.device}>"

    def __reduce__(self) -> NoReturn:
        """A connection does not go to another process; the name of a batch does."""
        raise TypeError("a batch is not pickled: the process that is to have it opens it, by "
                        f"axion.Client(address).get_batch({self.name!r})")

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.delete()
        except AxionError:
            if kind is None:  # else the error on its way says more than a failed clean-up; the lease ends the batch
                raise

    @documented
    def watch(self, fields: str | Iterable[str] = ("body_pose",), worlds: Worlds = None, rate: float = 30.0,
              contacts: bool = False, solver_stats: bool = False) -> Watch:
        """Looks on while somebody else steps the worlds.

        It renews no lease, waits for no step and slows none by more than a fiftieth; a frame that the client has no
        time for is not made.

        Parameters
        ----------
        fields : str or Iterable[str], default ('body_pose',)
            Names of fields, as of get_state.

        Returns
        -------
        Watch
            An iterator over frames, and a context manager.
        """
        return Watch(self._client, self, fields, worlds, rate, contacts, solver_stats)

    def stream(self) -> StepStream:
        """Makes a connection on which steps are sent ahead of their answers.

        Returns
        -------
        StepStream
            The stream, a context manager.
        """
        return StepStream(self._client, self)

    @documented_call
    @checked
    def solver_stats(self, timeout: float | None = None) -> results.BatchStats:
        """Reads what the solver did over all world-steps of this batch.

        Returns
        -------
        BatchStats
            Sums and histograms.
        """
        return self._ask("GetSolverStats", simulation_pb2.GetSolverStatsRequest(batch=self.name, batch_only=True),
                         lambda answer: results.BatchStats(answer.batch), timeout)

    @documented_call
    @checked
    def keep_alive(self, timeout: float | None = None) -> datetime.datetime:
        """Renews the lease, as every other call on the worlds does too.

        Returns
        -------
        datetime.datetime
            The new end of it, UTC.
        """
        def read(answer: simulation_pb2.KeepAliveResponse) -> datetime.datetime:
            return answer.expire_time.ToDatetime()
        return self._ask("KeepAlive", simulation_pb2.KeepAliveRequest(name=self.name), read, timeout)

    def kept_alive(self) -> LeaseKeeper:
        """Renews the lease in the background, for a client that may pause longer than it.

        Returns
        -------
        context manager
            Renews from entry to exit.
        """
        return LeaseKeeper(self)

    @documented_call
    @checked
    def save_snapshot(self, display_name: str = "", return_content: bool = False, skip_store: bool = False,
                      timeout: float | None = None) -> snapshot_pb2.Snapshot:
        """Takes a snapshot of the whole batch, which the server keeps from when this returns.

        Parameters
        ----------
        display_name : str, default ''
            What people call it.
        return_content : bool, default False
            Whether the answer has its bytes (`content`), for another server or another day.
        skip_store : bool, default False
            The server keeps nothing; with return_content.

        Returns
        -------
        Snapshot
            For Client.restore_snapshot.
        """
        def read(answer: snapshot_pb2.Snapshot) -> snapshot_pb2.Snapshot:
            return answer
        return self._ask("SaveSnapshot", snapshot_pb2.SaveSnapshotRequest(
            batch=self.name, display_name=display_name, return_content=return_content, skip_store=skip_store,
            request_id=self._request_id()), read, timeout)

    @documented_call
    @checked
    def delete(self, timeout: float | None = None) -> None:
        """Frees the worlds."""
        return self._ask("DeleteBatch", simulation_pb2.DeleteBatchRequest(name=self.name), nothing, timeout)
