"""What Ctrl-C leaves of a movie."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Generic, TypeVar

from axion.tool import over_progress

_Frame = TypeVar("_Frame")
_Drawn = TypeVar("_Drawn")


class UntilInterrupt(Generic[_Frame]):
    """Frames of a movie as they come, up to Ctrl-C once there is one, so that it has all that was seen until then.

    As a context it takes Ctrl-C to itself: what comes while a frame is awaited or drawn ends the wait, what comes while one is written
    lets it be written whole. Where Python drops the exception that ends the wait, as in a finalizer, the frames end with the next one;
    so they do where they are soon, as an exception in the middle of a call may leave a lock of gRPC's as it should not be.
    Another Ctrl-C after that ends everything, as everywhere else.

    Parameters
    ----------
    frames : Iterator
        Anything that a frame is drawn of.
    are_soon : bool, default False
        Whether the next frame comes by itself, as where this program steps the worlds.

    Attributes
    ----------
    count : int
        How many came.
    is_cut : bool
        Whether Ctrl-C ended them.
    """

    def __init__(self, frames: Iterator[_Frame], are_soon: bool = False) -> None:
        self._frames = frames
        self._are_soon = are_soon
        self._is_written = False
        self._takes_interrupts = False
        self.count = 0
        self.is_cut = False

    def __enter__(self) -> UntilInterrupt[_Frame]:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._interrupt)
            self._takes_interrupts = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._takes_interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __iter__(self) -> Iterator[_Frame]:
        return self.drawn(lambda seen: seen)

    def drawn(self, draw: Callable[[_Frame], _Drawn]) -> Iterator[_Drawn]:
        """What is drawn of each.

        Parameters
        ----------
        draw : Callable
            Draws a frame. One that comes twice in a row is drawn once.

        Yields
        ------
        object
            What `draw` made.
        """
        last: _Frame | None = None
        picture: _Drawn | None = None
        try:
            for frame in self._frames:
                if self.is_cut and self.count > 0:
                    break
                picture = draw(frame) if picture is None or frame is not last else picture
                last = frame
                self.count += 1
                self._is_written = True
                yield picture
                if self.is_cut:
                    break
                self._is_written = False
        except KeyboardInterrupt:
            if self.count == 0:
                raise
            self.is_cut = True
        self._is_written = True
        if self.is_cut:
            print(over_progress(), end="", file=sys.stderr)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        is_first, self.is_cut = not self.is_cut, True
        if not (is_first and (self._is_written or self._are_soon)):
            raise KeyboardInterrupt
