"""Looking on while somebody else steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import grpc

from axion import results, tensors
from axion.arguments import checked
from axion.errors import from_rpc_error
from axion.tensors import Worlds
from axion.texts import documented
from axion.v1 import watch_pb2

if TYPE_CHECKING:
    from axion.batch import Batch
    from axion.client import Client


class Frame:
    """Worlds between two launches.

    Parameters
    ----------
    proto : watch_pb2.WatchResponse
        What the server said.

    Attributes
    ----------
    state : State
        The fields asked for, [n, ...].
    contacts : Contacts or None
        None where they were not asked for.
    worlds : WorldStats or None
        What the solver did in the last step of each world; None where it was not asked for.
    dropped_frames : int
        Frames so far that were due while this client had not taken the one before; they were not made.
    """

    def __init__(self, proto: watch_pb2.WatchResponse) -> None:
        self.proto = proto
        self.state = results.State(proto.state)
        self.contacts = results.Contacts(proto.contacts) if proto.HasField("contacts") else None
        self.worlds = results.WorldStats(proto.worlds) if proto.HasField("worlds") else None
        self.dropped_frames = proto.dropped_frames

    def __repr__(self) -> str:
        return f"<axion.Frame {self.state!r}, {self.dropped_frames} dropped>"


@checked
def watch_request(batch: str, world_count: int, fields: str | Iterable[str], worlds: Worlds, rate: float, contacts: bool,
                  solver_stats: bool) -> watch_pb2.WatchRequest:
    """The axion.v1.WatchRequest that a Watch sends."""
    return watch_pb2.WatchRequest(
        batch=batch, world_indices=tensors.world_indices(worlds, world_count),
        fields=[fields] if isinstance(fields, str) else fields, rate=rate, contacts=contacts, solver_stats=solver_stats)


@documented
class Watch(Iterator[Frame]):
    """An iterator over frames of a batch: one at once, then one whenever the worlds have changed. Batch.watch makes it.

    It raises AxionError when the batch is gone or the server is.

    Parameters
    ----------
    fields : str or Iterable[str]
        Names of fields.

    Examples
    --------
    >>> with batch.watch(rate=10) as watch:
    ...     for frame in watch:
    ...         print(frame.state["body_pose"][:, 0, 2])
    """

    def __init__(self, client: Client, batch: Batch, fields: str | Iterable[str], worlds: Worlds, rate: float, contacts: bool,
                 solver_stats: bool) -> None:
        self._closed, self._batch = False, batch.name
        self._call: Any = client.stub.Watch(watch_request(batch.name, batch.world_count, fields, worlds, rate, contacts, solver_stats))

    def __next__(self) -> Frame:
        try:
            return Frame(next(self._call))
        except grpc.RpcError as error:
            if self._closed:
                raise StopIteration from None
            raise from_rpc_error(error) from error

    def close(self) -> None:
        """Ends it, from any thread."""
        self._closed = True
        self._call.cancel()

    def __repr__(self) -> str:
        return f"<axion.Watch of {self._batch}{', closed' if self._closed else ''}>"

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
