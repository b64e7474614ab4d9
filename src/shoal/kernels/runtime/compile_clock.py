"""Time that kernels take to compile, which no deadline of a search counts, because it is spent once."""

# mypy: allow-untyped-calls
from __future__ import annotations

import time

from numba.core import event

_COMPILE = "numba:compile"


class CompileTime(event.Listener):
    """Measures how long kernels are compiled, in any thread; numba compiles one at a time.

    >>> timer = CompileTime()
    >>> timer.close()
    >>> timer.seconds
    0.0
    """

    def __init__(self) -> None:
        self._before, self._since, self._nested = 0.0, 0.0, 0
        event.register(_COMPILE, self)

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return self._before + (time.monotonic() - self._since if self._nested else 0.0)

    def close(self) -> None:
        """Stop measuring."""
        event.unregister(_COMPILE, self)

    def on_start(self, event: object) -> None:
        """Note the start of a compilation; those of the parts of a kernel are nested."""
        if not self._nested:
            self._since = time.monotonic()
        self._nested += 1

    def on_end(self, event: object) -> None:
        """Add the time of a compilation."""
        self._nested -= 1
        if not self._nested:
            self._before += time.monotonic() - self._since
