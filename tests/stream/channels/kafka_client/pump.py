"""A pump that is obviously right: pending tuples of a lane are released in classes of k, mixed up by a fixed rule."""

from __future__ import annotations

import time
from typing import Any

from shoal.types.stream import Cursor, Leaving, Letter, Outgoing, Tally


class Lane:
    """One lane: what waits, and what is done."""

    def __init__(self, cursor: Cursor):
        self.cursor = cursor
        self.next = cursor.position  # the number of the record that comes next
        self.waiting: dict[int, tuple[int, bytes]] = {}
        self.done = {cursor.position + i for i in range(8 * len(cursor.done)) if cursor.done[i // 8] >> i % 8 & 1}
        self.after = cursor.place
        self.tally = cursor.tally
        self.letters: list[Letter] = []
        self.ended = False

    def take(self, incoming: Any) -> None:
        for record, place in zip(incoming.records, incoming.places, strict=True):
            if self.next not in self.done:
                if record == b"bad":
                    self.done.add(self.next)
                    self.letters.append(Letter(self.next, place, "The record is bad.", record))
                else:
                    self.waiting[self.next] = (place, record)
            self.next += 1
        self.after, self.ended = incoming.after, incoming.ended

    def leave(self, k: int, delay: int, lane: str) -> list[Leaving]:
        classes = []
        while len(self.waiting) > (k - 1 if self.ended else delay):
            order = sorted(self.waiting)
            members = sorted([order[0], *order[:0:-1][: k - 1]])  # the oldest, with the newest there are
            number = self.tally.classes
            bodies = [f"{lane}-{number} ".encode() + self.waiting[one][1] for one in members]
            classes.append(Leaving(number, bodies, [self.waiting[one][0] for one in members]))
            self.tally = Tally(classes=number + 1, released=self.tally.released + k)
            for one in members:
                del self.waiting[one]
                self.done.add(one)
        return classes

    def step(self, k: int, delay: int, lane: str) -> Outgoing:
        classes = self.leave(k, delay, lane)
        if self.ended:
            self.done |= set(self.waiting)  # fewer than k: dropped
            self.waiting.clear()
        position = min(self.waiting, default=self.next)
        place = self.waiting[position][0] if self.waiting else self.after
        last = max(self.done, default=position)  # after a restart it may be one that has not come again yet
        bits = bytearray((max(last - position, 0) + 8) // 8)
        for one in self.done:
            if one >= position:
                bits[(one - position) // 8] |= 1 << (one - position) % 8
        self.cursor = Cursor(position, place, bytes(bits), self.tally)
        letters, self.letters = self.letters, []
        return Outgoing(lane, classes, letters, self.cursor)


class Pump:
    """Drives a link."""

    def __init__(self, link: Any, k: int = 3, delay: int = 5, most: int = 7):
        self.link, self.k, self.delay, self.most = link, k, delay, most
        self.lanes: dict[str, Lane] = {}
        self.begun = 0

    def turn(self, seconds: float = 0.2, *, commit: bool = True) -> bool:
        """Do one step; return whether something came."""
        theirs = self.link.lanes()
        for name in [name for name in self.lanes if name not in theirs]:
            del self.lanes[name]
        for name in theirs:
            if name not in self.lanes:
                self.lanes[name] = Lane(theirs[name])
                self.begun += 1
        incoming = self.link.fetch(self.most, seconds)
        if incoming is None:
            return False
        lane = self.lanes[incoming.lane]
        lane.take(incoming)
        if commit:
            self.link.commit([lane.step(self.k, self.delay, incoming.lane)])
        return True

    def to_end(self) -> None:
        """Go on until all lanes have ended."""
        until = time.monotonic() + 40
        while not self.lanes or not all(lane.ended for lane in self.lanes.values()):
            self.turn()
            assert time.monotonic() < until, "the lanes do not end"
