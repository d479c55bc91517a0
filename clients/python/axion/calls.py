"""One surface, several transports.

A call of the service is one `_ask`: the name of the service's method, the request, and what reads the answer. The surface
(client_models.py, client_batches.py; batch_requests.py, batch_reads.py, batch_writes.py, batch_steps.py) makes requests of
arguments and results of answers, and reaches no server. Transports are beneath it:

    client.py, batch.py                  gRPC; a call waits for its answer
    aio.py                               gRPC; `_ask` returns what is to be awaited, and so does the call
    fleet_batch.py, fleet_results.py     many batches; the request is cut by worlds, and the answers are joined
    ray_fleet.py                         the client of another process
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from axion.assets import Assets
    from axion.errors import AxionError

_Result = TypeVar("_Result")
_Item = TypeVar("_Item")


def nothing(_: Any) -> None:
    """Reads an answer that says only that it is done."""


class Pages(Generic[_Item]):
    """A list that the server gives page by page: the next request, and the items so far."""

    def __init__(self, request: Any, read: Callable[[Any], Iterable[_Item]]) -> None:
        self.request, self._read, self.items, self.is_whole = request, read, list[_Item](), False

    def take(self, page: Any) -> None:
        self.items += self._read(page)
        self.request.page_token, self.is_whole = page.next_page_token, not page.next_page_token


class Calls:
    """The seam: what a transport has, and calls of the surface use."""

    def _ask(self, method: str, request: Any, read: Callable[[Any], _Result], timeout: float | None = None, *,
             refused: Callable[[AxionError], None] = nothing) -> _Result:
        """What `read` makes of the answer to a request; AxionError, which `refused` may add words to, where there is none."""
        raise NotImplementedError


class ServerCalls(Calls):
    """A transport that sends files and lists, too."""

    def _ask(self, method: str, request: Any, read: Callable[[Any], _Result], timeout: float | None = None, *,
             refused: Callable[[AxionError], None] = nothing, assets: Assets | None = None) -> _Result:
        """As Calls says; of `assets` what the server says that it lacks is sent, and then the request again."""
        raise NotImplementedError

    def _ask_all(self, method: str, request: Any, read: Callable[[Any], Iterable[_Item]]) -> list[_Item]:
        """All items of a list that the server gives page by page; `read` takes what is on a page."""
        raise NotImplementedError
