"""Main loop of a stream: reads from a link, runs the lanes, and commits their steps until it ends or is stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from types import FrameType
from typing import Any

from shoal.errors import EngineError, ParameterError
from shoal.privacy.stream_gate.gate import Gate
from shoal.stream.engine.counters import Gauge, Snapshot
from shoal.stream.engine.lane import How, Lane
from shoal.types.stream import Cursor, Incoming, Link

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class StoppedError(BaseException):
    """A stop signal while nothing could be released, so there is nothing to wait for. Not meant to be caught."""


class Stopping:
    """Handles SIGTERM, SIGINT and SIGHUP while entered; after a signal nothing more is read.

    If the stream has not stopped `seconds` after the signal, an error stops it. Uncommitted output is not released, and
    is read again at the next start. SIGINT and SIGHUP stay ignored if they are: a job in the background is not stopped
    by Ctrl-C in the foreground, and one started with ``nohup`` outlives its terminal.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked: int | None = None  #: the number of the signal
        self._before: dict[int, Any] = {}
        self._at_once = False

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                if number == signal.SIGTERM or (number and signal.getsignal(number) is not signal.SIG_IGN):
                    self._before[int(number)] = signal.signal(number, self._ask)
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._enough)
        return self

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Leave the block by `StoppedError` on a signal: the block may wait for long, and commits nothing."""
        self._at_once = True
        try:
            if self.asked is not None:  # before the block began
                raise StoppedError
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
            f"The stream was asked to stop, and did not within {self.seconds:g} s. Tuples that were not released are "
            "read again at the next start."
        )

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)


_MOST = 8192  # records per read
_STEP = 16_384  # number of finished records that triggers a commit
_SECONDS = 0.05  # time after which finished records are committed
_IDLE = 0.1  # time to wait for records
_LOOK = 0.25  # interval of progress reports


class Pace:
    """The reading speed: unlimited, or a number of records per second."""

    def __init__(self, rate: float | None) -> None:
        if rate is not None and not 0 < rate < inf:
            raise ParameterError(f"stream: rate must be a number above 0, got {rate:g}. Leave it out for full speed.")
        self._rate = rate
        self._began: float | None = None
        self._taken = 0

    def room(self, now: float) -> int:
        """Return how many records may be read now."""
        if self._rate is None:
            return _MOST
        if self._began is None:
            self._began = now
        return min(_MOST, int((now - self._began) * self._rate) + 1 - self._taken)

    def took(self, count: int) -> None:
        """Count records that were read."""
        self._taken += count


@dataclass
class Running:
    """A stream at work.

    **Guarantee.** A class is released only in a step that is committed whole, with the cursor after it; records that
    were read but not committed are read again. Memory is bounded by the pending tuples and one batch: nothing is read
    while a step is committed.
    """

    link: Link
    how: How
    gate: Callable[[Cursor], Gate]
    pace: Pace = field(default_factory=lambda: Pace(None))
    watch: Callable[[Snapshot], None] | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.gauge = Gauge(self.clock())
        self._committed = self._looked = self.clock()
        self.latest = self.snapshot()

    def run(self, stopping: Stopping) -> Snapshot:
        """Run until everything is released, or a signal arrives."""
        while stopping.asked is None and not self._settled():
            self._lanes()
            incoming = self._fetch()
            now = self.clock()
            if incoming is not None:
                self._take(incoming, now)
            for lane in self.lanes.values():
                lane.expire(now)
            pending = sum(lane.pending for lane in self.lanes.values())
            late = incoming is None or now - self._committed > _SECONDS
            if pending and (late or pending > _STEP):
                self._commit()
            if now - self._looked > _LOOK:
                self._look(now)
        if any(lane.pending for lane in self.lanes.values()):
            self._commit()
        self._look(self.clock())
        return self.latest

    def _settled(self) -> bool:
        """Whether everything is released for good; lanes revoked in the meantime are not finished."""
        if not self.over:
            return False
        self.how.rejections.end()
        if any(lane.pending for lane in self.lanes.values()) or self.link.finished is False:
            self._commit(everything=True)
        self._lanes()
        return self.over

    @property
    def over(self) -> bool:
        """Whether all lanes have ended."""
        return bool(self.lanes) and all(lane.ended for lane in self.lanes.values())

    def _lanes(self) -> None:
        """Find out which lanes are ours, and start those that are new or came back."""
        now = self.link.lanes()
        for name in [name for name in self.lanes if name not in now]:
            del self.lanes[name]
        for name, cursor in now.items():
            mine = self.lanes.get(name)
            if mine is None or not (mine.committed is cursor or mine.committed == cursor):
                self._begin(name, cursor)

    def _begin(self, name: str, cursor: Cursor) -> None:
        self.lanes[name] = Lane(name, self.how, cursor, self.gate(cursor), self.gauge)

    def _fetch(self) -> Incoming | None:
        pending = any(lane.pending for lane in self.lanes.values())
        room = self.pace.room(self.clock())
        if room < 1:
            time.sleep(_SECONDS / 5)
            return None
        incoming = self.link.fetch(room, _SECONDS if pending else _IDLE)
        if incoming is not None:
            self.pace.took(len(incoming.records))
        return incoming

    def _take(self, incoming: Incoming, now: float) -> None:
        lane = self.lanes.get(incoming.lane)
        if lane is None:  # it was revoked
            return
        if len(incoming.places) and incoming.places[0] < lane.after:  # it came back
            self._begin(incoming.lane, lane.committed)
            lane = self.lanes[incoming.lane]
        lane.take(incoming, now)
        if lane.ended:
            lane.flush(now)

    def _commit(self, *, everything: bool = False) -> None:
        self.link.commit([lane.step() for lane in self.lanes.values() if everything or lane.pending])
        self._committed = self.clock()

    def _look(self, now: float) -> None:
        self._looked = now
        self.latest = self.snapshot()
        if self.watch is not None:
            self.watch(self.latest)

    def snapshot(self) -> Snapshot:
        """Return the counters so far."""
        return self.gauge.snapshot([(lane.tally, lane.waiting) for lane in self.lanes.values()], self.clock())
