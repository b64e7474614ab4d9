"""Processor time that kernels take to compile, and which ones a piece of work uses."""

# mypy: allow-untyped-calls
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from shoal.kernels.runtime.jit import KERNELS


class _Watch(event.Listener):
    """Listener that measures compilations which Python starts; those of parts are inside."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begun: list[float] = []

    def on_start(self, event: Any) -> None:
        self._begun.append(time.process_time())

    def on_end(self, event: Any) -> None:
        begun = self._begun.pop()
        if not self._begun:
            self.seconds[_name(event.data["dispatcher"], event.data["args"])] = time.process_time() - begun


@contextmanager
def compile_times() -> Iterator[dict[str, float]]:
    """Provide, after the block, every kernel that was compiled or loaded in it, with its CPU seconds; loaded: 0.

    A kernel that is compiled for arguments of several types is listed for each.
    """
    found: dict[str, float] = {}
    before = {_name(one, args) for one in KERNELS for args in one.stats.cache_hits}
    with event.install_listener("numba:compile", _Watch()) as watch:
        yield found
    loaded = {_name(one, args) for one in KERNELS for args in one.stats.cache_hits} - before
    found |= dict.fromkeys(loaded, 0.0) | watch.seconds


def _name(kernel: Any, args: Any) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}{tuple(args)}"
