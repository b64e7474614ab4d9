"""Runs a stream over a link: reads, lets lanes work, commits their steps, until it is over or told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from shoal.errors import ParameterError
from shoal.privacy._leaving import Gate
from shoal.stream.gauge import Gauge, Snapshot
from shoal.stream.pump import How, Lane
from shoal.stream.stopping import Stopping
from shoal.types.stream import Cursor, Incoming, Link

_MOST = 8192  # records that are read at once
_STEP = 16_384  # records that are done, from which they are committed
_SECONDS = 0.05  # after which what is done is committed
_IDLE = 0.1  # how long to wait for records
_LOOK = 0.25  # how often those who watch are told


class Pace:
    """How fast a stream is read: at full speed, or so many records each second."""

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

    **Guarantee.** A class leaves only in a step that is committed whole, with the cursor after it; what was read and
    not committed is read again. Memory is bounded by what waits and one batch: nothing is read while a step is
    committed.
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
        """Go on until everything has left, or it is told to stop."""
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
        """Whether everything has left for good; lanes that were taken away meanwhile are not over."""
        if not self.over:
            return False
        self.how.rejections.end()
        if any(lane.pending for lane in self.lanes.values()) or not getattr(self.link, "finished", True):
            self._commit(everything=True)
        self._lanes()
        return self.over

    @property
    def over(self) -> bool:
        """Whether all lanes have come to their end."""
        return bool(self.lanes) and all(lane.ended for lane in self.lanes.values())

    def _lanes(self) -> None:
        """See which lanes are ours, and begin those that are new or came back."""
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
        if lane is None:  # it was taken away
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
        """Return what happened so far."""
        return self.gauge.snapshot([(lane.tally, lane.waiting) for lane in self.lanes.values()], self.clock())
