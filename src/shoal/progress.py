"""Progress reports of long work, independent of who displays them.

Work calls :func:`stage`, :func:`report` and :func:`say`; a caller that displays them (the command line, the web
application) wraps the work in :func:`listening`. Without a listener all three do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Enough(Exception):  # noqa: N818 - not an error: the listener has seen enough
    """Raised by a listener's `report`: an anytime search then stops with the best result so far."""


class Listener(Protocol):
    """A display of progress."""

    def stage(self, name: str) -> None:
        """Receive the start of a stage."""

    def report(self, done: int, total: int) -> None:
        """Receive the progress of the current stage."""

    def say(self, text: str) -> None:
        """Receive a message."""


_listener: ContextVar[Listener | None] = ContextVar("shoal_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the progress of all work inside the block to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def stage(name: str) -> None:
    """Announce the start of a stage."""
    if (listener := _listener.get()) is not None:
        listener.stage(name)


def report(done: int, total: int) -> None:
    """Report the progress of the current stage."""
    if (listener := _listener.get()) is not None:
        listener.report(done, total)


def say(text: str) -> None:
    """Send a message."""
    if (listener := _listener.get()) is not None:
        listener.say(text)
