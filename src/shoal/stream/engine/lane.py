"""One lane at work: records arrive, tuples are pending, classes are rendered, pass the gate, and form a step."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shoal.errors import listing
from shoal.privacy.stream_gate.gate import Gate
from shoal.progress import say
from shoal.stream.engine.buffer import Core
from shoal.stream.engine.counters import Gauge, Rejections
from shoal.stream.engine.demands import witness_of
from shoal.stream.engine.intake import fields_of, remembered
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Cursor, Formed, Incoming, Leaving, Letter, Outgoing, Tally, Wire

_SHOWN = 30  # names of fields in a sentence
_PLACE: Final = 2  # index of the position in a pending tuple


@dataclass(frozen=True)
class How:
    """Settings shared by all lanes of a stream."""

    recipe: StreamRecipe
    wire: Wire
    longest: int = 1 << 20  #: maximum size of a record in bytes
    payload: bool = False  #: whether dead letters contain the record
    rejections: Rejections = field(default_factory=lambda: Rejections(1.0))
    told: set[frozenset[str]] = field(default_factory=set)  #: sets of fields already announced as released


class Lane:
    """A lane at work.

    **Guarantee.** Every record that was read is in exactly one state: pending, released, dropped, or rejected as a dead
    letter. A cursor records which, so that a lane restarted from it resumes with exactly the pending ones. Rejected
    records count as finished only when their share was judged; until then they are read again too.
    """

    def __init__(self, name: str, how: How, cursor: Cursor, gate: Gate, gauge: Gauge) -> None:
        self.name, self.committed = name, cursor
        self.after = cursor.place
        self.ended = False
        self._how, self._gate, self._gauge = how, gate, gauge
        self._core = Core(how.recipe, cursor)
        self._fields = fields_of(how.recipe, cursor.memory)
        self._wire = how.wire.under(self._fields)
        self._witness = witness_of(how.recipe, cursor.memory)  # checks the demands other than k
        self._next = cursor.position  # number of the next record
        self._done = np.unpackbits(np.frombuffer(cursor.done, np.uint8), bitorder="little").astype(bool)
        self._begun = cursor.position
        self._dead = cursor.tally.dead
        # pending tuples: body, record (for the gate), position in the input, subject (if subjects are counted)
        self._waits: dict[int, tuple[Any, bytes, int, Any]] = {}
        self._times: deque[tuple[int, float]] = deque()  # first number of each batch and its arrival time
        self._classes: list[Leaving] = []
        self._letters: list[Letter] = []  # of the current batch
        self._held: list[tuple[int, Letter]] = []  # not committed, each with its number among all records read
        self._settled = 0  # finished tuples that are not committed

    def take(self, incoming: Incoming, now: float) -> None:
        """Process arrived records."""
        first, count = self._next, len(incoming.records)
        self._next, self.after, self.ended = first + count, incoming.after, incoming.ended
        fresh = self._fresh(first, count)
        records = incoming.records if fresh is None else [incoming.records[i] for i in fresh]
        places = incoming.places if fresh is None else [incoming.places[i] for i in fresh]
        positions = np.arange(first, first + count) if fresh is None else first + np.array(fresh, np.int64)
        self._gauge.came(len(records), now)
        self._times.append((first, now))
        for own in self._pieces(positions):
            self._parse(records[own], places[own], positions[own], now)
        self._judge(positions)

    def _pieces(self, positions: NDArray[np.int64]) -> Iterator[slice]:
        """Split records where the first class may form: only fields seen before it are released."""
        at, count = 0, len(positions)
        while self._fields.open and at < count:
            oldest = int(positions[at]) if self._core.oldest is None else self._core.oldest
            end = int(np.searchsorted(positions, oldest + self._how.recipe.delay, "right"))
            yield slice(at, max(end, at + 1))
            at = max(end, at + 1)
        yield slice(at, count)

    def _learn(self) -> None:
        """Fix the released fields to those seen so far."""
        if not self._fields.open:
            return
        self._fields = self._fields.settled()
        self._wire = self._how.wire.under(self._fields)
        learnt = self._fields.learnt
        if learnt and learnt not in self._how.told:
            self._how.told.add(learnt)
            kind = "rejected" if self._how.recipe.unknown == "reject" else "released without them"
            say(
                f"Released unchanged, as in the first tuples: {listing(sorted(learnt), most=_SHOWN)}. Records with "
                f"other fields are {kind}. Name the fields in keep to choose them."
            )

    def _judge(self, positions: NDArray[np.int64]) -> None:
        """Count the processed records; too many rejected ones stop the stream."""
        rejections, letters = self._how.rejections, sorted(self._letters, key=attrgetter("position"))
        at = np.searchsorted(positions, [letter.position for letter in letters]).tolist()
        self._held += [(rejections.came + index, letter) for index, letter in zip(at, letters, strict=True)]
        self._letters = []
        rejections.add(len(positions), [(index, letter.reason) for index, letter in zip(at, letters, strict=True)])

    @property
    def pending(self) -> int:
        """Number of finished records that are not committed."""
        return self._settled + self._judged

    @property
    def _judged(self) -> int:
        """Number of held letters that may be committed."""
        return bisect_left(self._held, self._how.rejections.judged, key=itemgetter(0)) if self._held else 0

    def _fresh(self, first: int, count: int) -> list[int] | None:
        """Return which of the arriving records are not finished; None: all."""
        done = self._done[first - self._begun : first - self._begun + count]
        return None if not done.any() else [i for i in range(count) if i >= len(done) or not done[i]]

    def _parse(self, records: Sequence[bytes], places: Sequence[int], at: NDArray[np.int64], now: float) -> None:
        longest = self._how.longest
        if max(map(len, records), default=0) > longest:
            short = [i for i, record in enumerate(records) if len(record) <= longest]
            reason = f"the record is longer than {longest:,} bytes. Check its producer, or raise --longest."
            for i in sorted(set(range(len(records))) - set(short)):
                self._bad(int(at[i]), places[i], reason, records[i])
            records, places, at = [records[i] for i in short], [places[i] for i in short], at[short]
        good, columns, bodies, faults = self._wire.parse(records)
        for i, reason in faults:
            self._bad(int(at[i]), places[i], reason, records[i])
        if faults:
            records, places, at = [records[i] for i in good], [places[i] for i in good], at[good]
        formed, odd = self._core.take(at, columns, now)
        if self._fields.open:
            wrong = {i for i, _ in odd}
            self._fields = self._fields.seen(
                self._wire.others([body for i, body in enumerate(bodies) if i not in wrong])
            )
        if self._witness is not None:
            fine = np.setdiff1d(np.arange(len(at)), [i for i, _ in odd]).tolist()
            names = self._how.recipe.confidential
            self._witness.came(at[fine].tolist(), {name: [columns[name][i] for i in fine] for name in names})
        subject = self._how.recipe.subject
        who = repeat(None, len(at)) if subject is None else columns[subject]
        self._waits.update(zip(at.tolist(), zip(bodies, records, places, who, strict=True), strict=True))
        for i, reason in odd:
            del self._waits[int(at[i])]
            self._bad(int(at[i]), places[i], reason, records[i])
        self._leave(formed, now)

    def _bad(self, position: int, place: int, reason: str, record: bytes) -> None:
        self._letters.append(Letter(position, place, reason, record if self._how.payload else None))
        self._gauge.bad(reason)
        self._dead += 1

    def expire(self, now: float) -> None:
        """Release tuples that have been pending for too many seconds."""
        if self._how.recipe.delay_seconds is not None:
            self._leave(self._core.expire(now), now)

    def flush(self, now: float) -> None:
        """Release all tuples that can be: the input has ended."""
        self._leave(self._core.flush(), now)

    def _leave(self, formed: Formed, now: float) -> None:
        """Render classes, and pass them through the gate."""
        if len(formed.positions) or len(formed.dropped):
            self._learn()
        name, counted = self.name, self._how.recipe.subject is not None
        members, end = formed.positions.tolist(), 0
        for number, size in enumerate(formed.sizes.tolist()):
            at, end = end, end + size
            own = members[at:end]
            bodies, records, places, subjects = map(list, zip(*map(self._waits.pop, own), strict=True))
            values = {field: column[number] for field, column in formed.values.items()}
            label = f"{name}-{formed.first + number}" if name else formed.first + number
            leaving = Leaving(formed.first + number, self._wire.render(bodies, values, label), places)
            self._gate.check(leaving, label, subjects if counted else None, own, records, self._fields.learnt)
            if self._witness is not None:
                fields = self._gate.fields(leaving, self._how.recipe.confidential)
                self._witness.look(int(formed.moments[number]), fields)
            self._classes.append(leaving)
        for position in formed.dropped.tolist():
            del self._waits[position]
        if len(members) or len(formed.dropped):
            self._settled += len(members) + len(formed.dropped)
            self._measure(formed, now)

    def _measure(self, formed: Formed, now: float) -> None:
        """Record the delays of tuples."""
        delays = np.repeat(formed.moments, formed.sizes) - formed.positions
        firsts, times = (np.array(column) for column in zip(*self._times, strict=True))
        came = times[np.maximum(np.searchsorted(firsts, formed.positions, "right") - 1, 0)]
        self._gauge.left(delays, np.maximum(now - came, 0.0))
        oldest = next(iter(self._waits), self._next)
        while len(self._times) > 1 and self._times[1][0] <= oldest:
            self._times.popleft()

    def step(self) -> Outgoing:
        """Return the output since the last step, and the cursor after it."""
        judged = self._judged
        letters, self._held = [letter for _, letter in self._held[:judged]], self._held[judged:]
        made = Outgoing(self.name, self._classes, letters, self._cursor())
        self._classes, self._settled = [], 0
        self.committed = made.cursor
        self._gate.settle(made.cursor.position)
        return made

    def _cursor(self) -> Cursor:
        waiting, held = self._core.waiting, {letter.position: letter.place for _, letter in self._held}
        again = np.union1d(waiting, np.fromiter(held, np.int64, len(held))) if held else waiting
        position = int(again[0]) if len(again) else self._next
        place = self.after if not len(again) else held[position] if position in held else self._waits[position][_PLACE]
        before = self._done[self._next - self._begun :]  # finished before the lane was started, and not read again yet
        done = np.concatenate([np.ones(self._next - position, bool), before])
        done[again - position] = False
        memory = {**self._core.memory, **remembered(self._fields)}
        tally = replace(self.tally, dead=self._dead - len(held))
        return Cursor(position, place, np.packbits(done, bitorder="little").tobytes(), tally, memory)

    @property
    def tally(self) -> Tally:
        """Counts of everything that happened so far."""
        ahead = np.flatnonzero(self._done[self._next - self._begun :])
        read = self._next + (int(ahead[-1]) + 1 if len(ahead) else 0)
        return replace(self._core.tally, read=read, dead=self._dead)

    @property
    def waiting(self) -> int:
        """Number of pending tuples."""
        return len(self._waits)
