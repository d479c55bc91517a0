"""Leases of batches that are renewed in the background."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from axion.errors import AxionError, DeadlineExceededError, UnavailableError

if TYPE_CHECKING:
    from axion.batch import Batch


class LeaseKeeper:
    """Renews a lease three times in its length until the context ends or the server refuses."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._ended = threading.Event()
        self._interval = max(batch.proto.idle_ttl.ToTimedelta().total_seconds() / 3, 0.1)
        self._thread = threading.Thread(target=self._renew, name="axion-lease", daemon=True)

    def __enter__(self) -> Batch:
        self._thread.start()
        return self._batch

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(self._interval):
            try:
                self._batch.keep_alive(timeout=self._interval)
            except AxionError as error:
                if not isinstance(error, (UnavailableError, DeadlineExceededError)):
                    return  # The batch is gone; whoever uses it next is told so.
