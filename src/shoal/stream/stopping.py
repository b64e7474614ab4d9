"""Told to stop: a stream leaves off cleanly, and within a stated time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from shoal.errors import EngineError

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class StoppedError(BaseException):
    """Told to stop while nothing could have left: there is nothing to wait for. Not for those who catch errors."""


class Stopping:
    """Listens for SIGTERM, SIGINT and SIGHUP while it is entered; then nothing more is read.

    If the stream has not stopped `seconds` after it was told to, it is stopped by an error. What was not committed by
    then has not left, and is read again at the next start.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked: int | None = None  #: the number of the signal
        self._before: dict[int, Any] = {}
        self._at_once = False

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                if hasattr(signal, name):
                    number = int(getattr(signal, name))
                    self._before[number] = signal.signal(number, self._ask)
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._enough)
        return self

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Leave the block by `StoppedError` when told to: it may wait for somebody for long, and commits nothing."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _ask(self, number: int, _: FrameType | None) -> None:
        if self.asked is None:
            self.asked = number
            if self._at_once:
                self._at_once = False
                raise StoppedError
            signal.setitimer(signal.ITIMER_REAL, max(self.seconds, 0.001))

    def _enough(self, _number: int, _: FrameType | None) -> None:
        raise EngineError(
            f"The stream was told to stop, and did not within {self.seconds:g} s. What has not left is read again "
            "at the next start."
        )

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
