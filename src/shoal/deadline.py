"""Deadline of a run: searches stop there with the best result so far.

Work that is not a search, such as reading, a first partition and the audit, always runs to its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float] = ContextVar("shoal_deadline", default=float("inf"))


@contextmanager
def stopping_after(seconds: float | None) -> Iterator[None]:
    """Let searches inside the block stop after this many seconds, or when an outer deadline passes; None: no limit."""
    until = float("inf") if seconds is None else time.monotonic() + seconds
    token = _until.set(min(until, _until.get()))
    try:
        yield
    finally:
        _until.reset(token)


def passed() -> bool:
    """Tell whether the deadline has passed.

    >>> with stopping_after(0):
    ...     passed()
    True
    >>> passed()
    False
    """
    return time.monotonic() >= _until.get()
