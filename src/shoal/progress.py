"""Progress reports of long work, independent of who displays them.

Work calls :func:`stage`, :func:`report`, :func:`say`, :func:`finished` and :func:`expect`; a caller that displays them
(the command line, the web application) wraps the work in :func:`listening`. Without a listener they do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

TRIAL = "shoal-trial"  #: name of threads whose work may be abandoned


class Enough(Exception):  # noqa: N818 - not an error: the listener has seen enough
    """Raised by a listener's `report`: an anytime search then stops with the best result so far."""


class Listener(Protocol):
    """A display of progress; it may also have ``expect(seconds, disk)``."""

    def stage(self, name: str) -> None:
        """Receive the start of a stage."""

    def report(self, done: int, total: int) -> None:
        """Receive the progress of the current stage."""

    def say(self, text: str) -> None:
        """Receive a message."""

    def finished(self, text: str) -> None:
        """Receive a line about a finished part of the work, for a display without a bar."""


_listener: ContextVar[Listener | None] = ContextVar("shoal_progress", default=None)


def listener() -> Listener | None:
    """Return the listener of the current work, if any."""
    return _listener.get()


@contextmanager
def listening(who: Listener) -> Iterator[None]:
    """Send the progress of all work inside the block to a listener."""
    token = _listener.set(who)
    try:
        yield
    finally:
        _listener.reset(token)


def stage(name: str) -> None:
    """Announce the start of a stage."""
    if (one := _listener.get()) is not None:
        one.stage(name)


def report(done: int, total: int) -> None:
    """Report the progress of the current stage."""
    if (one := _listener.get()) is not None:
        one.report(done, total)


def say(text: str) -> None:
    """Send a message."""
    if (one := _listener.get()) is not None:
        one.say(text)


def finished(text: str) -> None:
    """Send a line about a finished part of the work."""
    if (one := _listener.get()) is not None:
        one.finished(text)


class _Sentences(NamedTuple):
    """Forwards messages, but no progress."""

    listener: Listener

    def stage(self, name: str) -> None:
        """Ignore stages."""

    def report(self, done: int, total: int) -> None:
        """Ignore progress."""

    def say(self, text: str) -> None:
        """Forward a message."""
        self.listener.say(text)

    def finished(self, text: str) -> None:
        """Ignore it."""


def expect(seconds: Callable[[], float], disk: int = 0) -> None:
    """Announce how long the work will take, and how many bytes of disk.

    `seconds` estimates the time, and is called only if a listener wants to know.
    """
    one = _listener.get()
    if one is not None and (show := getattr(one, "expect", None)) is not None:
        with listening(_Sentences(one)):
            found = seconds()
        show(found, disk)
