"""How long work tells what it is doing, without knowing who listens.

Work calls :func:`stage`, :func:`report` and :func:`say`; whoever wants to show them (the command line, the web
application) wraps the call in :func:`listening`. Without a listener all three do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Enough(Exception):  # noqa: N818 - not an error: the listener has seen enough
    """Raised by a listener's `report`: a search that can stop at any time does, with the best it has found."""


class Listener(Protocol):
    """Somebody who shows progress."""

    def stage(self, name: str) -> None:
        """Learn that a stage of the work begins."""

    def report(self, done: int, total: int) -> None:
        """Learn how much of the present stage is done."""

    def say(self, text: str) -> None:
        """Learn something worth a line."""


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
    """Tell that a stage of the work begins."""
    if (listener := _listener.get()) is not None:
        listener.stage(name)


def report(done: int, total: int) -> None:
    """Tell how much of the present stage is done."""
    if (listener := _listener.get()) is not None:
        listener.report(done, total)


def say(text: str) -> None:
    """Tell something worth a line."""
    if (listener := _listener.get()) is not None:
        listener.say(text)
