"""Parallel execution of independent tasks in threads, with progress, a deadline and cancellation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event
from typing import NamedTuple, TypeVar

import numpy as np

from shoal.progress import Enough, report
from shoal.threads import thread_count

Item = TypeVar("Item")
Result = TypeVar("Result")
GoOn = Callable[[float], bool]  #: receives the share of the work that is done; returns whether to continue

_TICK = 0.1  # seconds
_PARTS = 1000


class Watch(NamedTuple):
    """Deadline of a piece of work, and the part of the progress bar that it fills."""

    until: float = float("inf")  #: by time.monotonic()
    begin: float = 0.0  #: share done before
    end: float = 1.0  #: share done after


@contextmanager
def thread_pool() -> Iterator[ThreadPoolExecutor]:
    """Provide threads, started when needed; tasks not started when the block ends are dropped, so Ctrl-C ends soon."""
    pool = ThreadPoolExecutor(thread_count())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def together(
    work: Callable[[Item, GoOn], Result], items: Sequence[Item], watch: Watch | None = None
) -> tuple[list[Result | None], bool]:
    """Call ``work(item, go_on)`` for every item, as many at a time as there are threads.

    Returns
    -------
    results
        In the order of the items; None for items not started when the deadline passed or the listener cancelled.
    stopped
        Whether that happened. Running tasks learn it from ``go_on`` and still return a result.
    """
    watch = watch or Watch()
    shares, stop = np.zeros(len(items)), Event()

    def one(at: int) -> Result | None:
        def go_on(share: float) -> bool:
            shares[at] = share
            return not stop.is_set()

        return None if stop.is_set() else work(items[at], go_on)

    with thread_pool() as pool:
        futures = [pool.submit(one, at) for at in range(len(items))]
        try:
            pending = set(futures)
            while pending:
                _, pending = wait(pending, timeout=min(_TICK, max(watch.until - time.monotonic(), 0.0)))
                if time.monotonic() >= watch.until:
                    stop.set()
                    wait(pending)
                    break
                done = watch.begin + (watch.end - watch.begin) * float(shares.mean())
                report(int(_PARTS * done), _PARTS)
        except Enough:
            stop.set()
            wait(futures)  # tasks not started end at once
        except BaseException:
            stop.set()  # otherwise the threads would run to the end
            raise
    return [future.result() for future in futures], stop.is_set()
