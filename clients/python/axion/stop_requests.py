"""Ctrl-C of a program that serves until it is stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_PERIOD_SECONDS = 0.2  # between looks whether somebody asked


class StopRequests:
    """Signals that ask a program to stop, as a question that its loop asks in place of an exception that comes anywhere.

    An exception is lost that comes where Python drops them, as in a finalizer, and leaves a lock taken that was about to be given back.
    As a context it takes the signals, from before the line that tells that the program is ready until that is over; a second one of a
    kind does what it does everywhere else. Signals that are ignored, or that somebody else takes, stay so, as do all in another thread
    than the first.

    Parameters
    ----------
    *numbers : signal.Signals
        Which.

    Attributes
    ----------
    asked : bool
        Whether one came.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self._numbers = numbers
        self._before: dict[int, Any] = {}
        self.asked = False

    def __enter__(self) -> StopRequests:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number in list(self._before):
            self._give_back(number)

    def wait(self, ended: Callable[[float], bool]) -> None:
        """Waits until somebody asks, or until the program has ended by itself: `ended` waits for so many seconds at most, and is true once
        there is nothing more to wait for."""
        while not self.asked and not ended(_PERIOD_SECONDS):
            pass

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._give_back(number)

    def _give_back(self, number: int) -> None:
        if number in self._before:
            signal.signal(number, self._before.pop(number))
