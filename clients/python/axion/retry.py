"""Calls that are made again, after a while, when the server was not there: across its restart, and never a step twice."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from typing import Any

import grpc

_FIRST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 2.0
# A server that is waited for longer is told of, on the error output unless the program has a log of its own.
SILENT_SECONDS = 2.0
# A process that was forked from one with connections is waited for so long until gRPC has left these.
_FORK_SECONDS = 5.0

_log = logging.getLogger("axion")

# Calls that are not made again as a whole.
STREAMS = frozenset({"StepStream", "Watch", "UploadAssets", "DownloadAsset"})

# What may be made again without harm. A model is the same for the same content; steps, resets, what sets states, what makes
# a batch, and snapshots that are kept or restored carry a request_id that the server remembers; what deletes does the same
# twice.
_DELETIONS = frozenset({"DeleteModel", "DeleteBatch", "DeleteSnapshot"})
_REPEATABLE = _DELETIONS | {
    "GetServerInfo", "CreateModel", "GetModel", "ListModels", "GetBatch", "ListBatches", "KeepAlive", "Step", "Reset", "GetState",
    "SetState", "GetContacts", "GetSolverStats", "CastRays", "GetDistances", "GetDynamics", "Linearize", "StepGradient",
    "SaveSnapshot", "ListSnapshots"}


# What calls end with when the server goes away. CANCELLED is what gRPC gives a call that comes to a server in the moment of its
# shutdown; a client that ends its own calls knows so.
_AWAY = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})


def checked_timeout(timeout: float | None) -> float | None:
    """Seconds, or None for a call that waits for its answer however long that takes; ValueError for what is no time."""
    if timeout is None:
        return None
    if isinstance(timeout, (str, bytes)) or not hasattr(timeout, "__float__") or getattr(timeout, "ndim", 0) > 0:
        raise TypeError(f"timeout: wants float or None, not {timeout!r}"[:200])
    if not timeout >= 0:
        raise ValueError(f"timeout: {timeout} s is no time to wait; None waits for the answer")
    if timeout > threading.TIMEOUT_MAX:  # which gRPC would take for the past
        return None
    return float(timeout)


def _words(error: grpc.RpcError) -> str:
    """What gRPC says of a call's end."""
    call: Any = error
    return str(call.details() or call.code().name) if hasattr(call, "details") else str(error)


def _is_of_a_fork(error: grpc.RpcError) -> bool:
    """Whether a call ended since gRPC of a process that was forked was in the middle of leaving its parent's connections."""
    return "file descriptor generation" in _words(error)


def tell_of_wait(target: str, seconds: float, why: str) -> None:
    """Says that a server is waited for, for so many seconds more at most."""
    _log.warning("waiting for %s, for %.0f s more at most: %s", target, seconds, why or "it does not answer")


class Patience:
    """How long a client goes on trying, and whether it should: only a server that was there once comes back."""

    def __init__(self, seconds: float, target: str = "") -> None:
        if not seconds >= 0:
            raise ValueError(f"retry: {seconds} s is negative")
        self._seconds, self._target = seconds, target
        self._is_told = threading.Event()
        self._answered = threading.Event()
        self._ended = threading.Event()
        self.has_left_a_call = False  # whether a handler of signals, as of Ctrl-C, has raised while a call was being made

    @property
    def seconds(self) -> float:
        return self._seconds

    @property
    def tries_again(self) -> bool:
        return self._seconds > 0

    def request_id(self) -> str:
        """Of a call that is to be made once however often it is sent; none if it is never made again."""
        return uuid.uuid4().hex if self.tries_again else ""

    def heard(self) -> None:
        """The server has answered, whatever it said."""
        self._answered.set()
        if self._is_told.is_set():
            self._is_told.clear()
            _log.warning("%s answers again", self._target)

    def waits(self, seconds: float, error: grpc.RpcError) -> None:
        """The server is waited for, for so many seconds at most: says so, once until it answers."""
        if not self._is_told.is_set():
            self._is_told.set()
            tell_of_wait(self._target, seconds, _words(error))

    def gave_up(self) -> None:
        """It was waited for in vain: nothing waits for it again, nor does what cleans up, until it has answered."""
        self._answered.clear()

    def end(self) -> None:
        """The client closes: what it cancels is not made again."""
        self._ended.set()

    def check_open(self) -> None:
        """ValueError once the client is closed, as of a file."""
        if self.has_ended:
            raise ValueError(f"the client of {self._target} is closed; make another one")

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def attempts(self, timeout: float | None) -> Attempts:
        return Attempts(self, self._seconds if self._answered.is_set() else 0.0, timeout)


class Attempts:
    """Those of one call."""

    def __init__(self, patience: Patience, seconds: float, timeout: float | None) -> None:
        now = time.monotonic()
        timeout = checked_timeout(timeout)
        self._patience = patience
        self._deadline = None if timeout is None else now + timeout
        self._end_of_patience = now + seconds
        self._first_failure: float | None = None
        self._end = now + seconds if self._deadline is None else min(now + seconds, self._deadline)
        fork_end = now + min(patience.seconds, _FORK_SECONDS)
        self._fork_end = fork_end if self._deadline is None else min(fork_end, self._deadline)
        self._wait = _FIRST_WAIT_SECONDS
        self.count = 1

    def timeout(self) -> float | None:
        """What is left of the call's own."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.001)

    def another(self, error: grpc.RpcError) -> bool:
        """Waits, and says whether to try again."""
        wait = self.wait_before_another(error)
        if wait is None:
            return False
        time.sleep(wait)
        return True

    def wait_before_another(self, error: grpc.RpcError) -> float | None:
        """How long to wait before trying again, s; None: not again."""
        code: Any = error  # raised by a call, it is the call too
        wait = random.uniform(0.5, 1.0) * self._wait
        if code.code() not in _AWAY or self._patience.has_ended:
            return None
        now = time.monotonic()
        next_one = now + wait
        self._first_failure = self._first_failure or now
        if next_one >= max(self._end, self._fork_end if _is_of_a_fork(error) else self._end):
            if self._end == self._end_of_patience:
                self._patience.gave_up()
            return None
        if next_one >= self._first_failure + SILENT_SECONDS:
            self._patience.waits(self._end - next_one, error)
        self._wait = min(2 * self._wait, _LONGEST_WAIT_SECONDS)
        self.count += 1
        return wait


def may_repeat(name: str, request: Any) -> bool:
    """Whether this call of the method may be made again without harm."""
    if name in ("Step", "CreateBatch", "RestoreSnapshot"):
        return bool(request.request_id)
    return name in _REPEATABLE


def is_done_already(name: str, error: grpc.RpcError, attempts: Attempts) -> bool:
    """Whether an attempt before has done it, and its answer was lost."""
    code: Any = error
    return code.code() is grpc.StatusCode.NOT_FOUND and attempts.count > 1 and name in _DELETIONS


class OpenMethod:
    """A method of the stub for streams, of a client that is not closed."""

    def __init__(self, method: Any, patience: Patience) -> None:
        self._method, self._patience = method, patience

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._patience.check_open()
        try:
            return self._method(*arguments, **named)
        except grpc.RpcError:
            raise
        except BaseException:
            self._patience.has_left_a_call = True
            raise


class RetryingMethod:
    """A method of the stub for unary calls, which are made again as long as the patience says."""

    def __init__(self, name: str, method: Any, patience: Patience) -> None:
        self._name, self._method, self._patience = name, method, patience

    def __call__(self, request: Any, timeout: float | None = None, **arguments: Any) -> Any:
        self._patience.check_open()
        attempts = self._patience.attempts(timeout)
        while True:
            try:
                answer = self._method(request, timeout=attempts.timeout(), **arguments)
            except grpc.RpcError as error:
                if is_done_already(self._name, error, attempts):
                    return None
                if not may_repeat(self._name, request) or not attempts.another(error):
                    raise
            except BaseException:
                self._patience.has_left_a_call = True
                raise
            else:
                self._patience.heard()
                return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)
