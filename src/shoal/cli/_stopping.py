"""Signals that end a search early but keep its results."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shoal import progress

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_PATIENCE = 0.2  # seconds that running threads have to end by themselves


class Stop:
    """Listener that asks the search to stop after a signal, and passes everything on to the display.

    Signals before the search begins, and a second one, end the command at once.
    """

    def __init__(self, display: progress.Listener | None) -> None:
        self.display = display
        self.number = 0  #: the signal that came
        self._searching = False

    @property
    def code(self) -> int:
        """The exit code of a command that this signal stopped."""
        return 128 + self.number

    def receive(self, number: int, _: object) -> None:
        """Remember a signal, or end the command."""
        if self._searching and not self.number:
            self.number = number
            return
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    def stage(self, name: str) -> None:
        """Receive the start of a stage."""
        self._searching = self._searching or name == "Explore"
        if self.display is not None:
            self.display.stage(name)

    def report(self, done: int, total: int) -> None:
        """Stop the search if a signal was received."""
        if self.number:
            raise progress.Enough
        if self.display is not None:
            self.display.report(done, total)

    def say(self, text: str) -> None:
        """Receive a message."""
        if self.display is not None:
            self.display.say(text)

    def finished(self, text: str) -> None:
        """Receive a line about a finished setting."""
        if self.display is not None:
            self.display.finished(text)


@contextmanager
def stoppable_search() -> Iterator[Stop]:
    """Let signals stop the search inside the block; signals that are ignored, as under nohup, stay ignored."""
    stop = Stop(progress.listener())
    before = {}
    if threading.current_thread() is threading.main_thread():
        known = [number for name in _SIGNALS if (number := getattr(signal, name, None)) is not None]
        before = {one: signal.getsignal(one) for one in known if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, stop.receive)
        with progress.listening(stop):
            yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_without_threads(code: int) -> None:
    """Exit if settings are still running: the interpreter would wait for their kernels. Everything is written by now.

    Returns if all threads have ended, or soon do.
    """
    running = [one for one in threading.enumerate() if one.name == progress.TRIAL]
    for one in running:
        one.join(_PATIENCE / len(running))
    if any(one.is_alive() for one in running):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
