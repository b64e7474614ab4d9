"""NATS JetStream: tuples from one stream to another, one class per message, one atomic batch per step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from uuid import uuid4

from shoal.errors import DataError, EngineError, ParameterError, listing
from shoal.progress import say
from shoal.stream.channels._nats_connection import INPUT, OUTPUT, SCHEME, Address, Connection
from shoal.stream.channels._nats_messages import MOST, Delivered, Runs, State, addressed, digests, packed
from shoal.stream.channels._nats_reader import Consumers, Reader
from shoal.stream.channels._nats_writer import FencedError, Writer
from shoal.types.stream import Channel, Cursor, Incoming, Journey, Link, Outgoing

_LANE = ""  # the only lane
_ATTEMPTS = 20  # to start while another instance is active
_GROWTH = 4096  # bytes by which a tuple may grow when it is released


class NatsLink(Link):
    """One lane: the messages of the input stream, or of one of its subjects.

    **Guarantee.** The output of `commit` is stored in the output stream whole or not at all, together with the cursor,
    which is the last message of ``….state`` there. No other state is kept: a reopened link resumes from it.
    """

    def __init__(self, journey: Journey, reading: Connection, writer: Writer, dead: str | None) -> None:
        self._journey, self._source, self._writer, self._dead = journey, reading.address, writer, dead
        group = self._source.options.get("consumer", "shoal-" + re.sub(r"[^\w-]", "_", writer.address.subject))
        self._consumers = Consumers(reading, group)
        self._reader = Reader(reading, self._consumers)
        self._longest = min(journey.longest, max(writer.largest - _GROWTH, writer.largest // 2))
        self._cursor = Cursor()
        self._digests = digests(journey.promises)
        self._places = Runs()  # of the records that were read, from the cursor's position on
        self._known = Runs()  # those among them that were read before a restart and must arrive again
        self._next = 0  # sequence number of the next record if nothing is missing; 0: not known
        self._left: int | None = None  # with until=end: number of records still to deliver
        self._ended = False
        self.closing = ExitStack()

    def begin(self) -> None:
        """Resume from the last state, and claim it for this instance."""
        if self._dead is not None:
            self._writer.holds(self._dead)
        for attempt in reversed(range(_ATTEMPTS)):
            try:
                self._take_over()
                break
            except FencedError:  # the previous instance was about to write
                if attempt == 0:
                    raise
        self._next = self._known.last + 1 if self._known else self._cursor.place
        self._unread()
        self._writer.tidy()
        self._reader.begin(self._cursor.place)
        if "until" in self._source.options:
            self._left = self._reader.left

    def _take_over(self) -> None:
        """Rewrite the last state, so that its previous writer is fenced off."""
        begun = self._consumers.begun()  # checked first, because a consumer is created after the state is written
        last = self._writer.last()
        if last is not None:
            self._check(last)
            self._cursor, self._known = last.cursor, Runs.of(last.places)
            if not last.cursor.begun:  # a different recipe may start here, with other memory
                self._cursor = replace(last.cursor, memory={})
        elif begun:
            raise EngineError(
                f"{self._writer.address}: {self._writer.address.subject}.state must record what was released, got "
                "nothing, although the input's consumer has started. Name another output subject and ?consumer= if "
                "released records may be released again."
            )
        self._writer.write([], self._state(self._cursor, self._known.first(len(self._known))))

    def _check(self, last: State) -> None:
        """Refuse to resume with other promises, or with another input."""
        names = sorted(last.digests.keys() | self._digests.keys())
        others = [name for name in names if last.digests.get(name) != self._digests.get(name)]
        if last.cursor.begun and (others or last.fingerprint != self._journey.fingerprint):
            raise DataError(
                f"{self._writer.address}: this stream was started with another {listing(others) or 'recipe'}. "
                "Continue as it was started, or name another subject with ?subject=."
            )
        if (last.lane, last.born) != (self._source.lane, self._consumers.born):
            raise self._other()

    def _other(self) -> DataError:
        return DataError(
            f"{self._writer.address}: the input must be the one that its classes were formed from, got another "
            "stream or subject, or a recreated one. Name another output, or another subject with ?subject=."
        )

    def _state(self, cursor: Cursor, places: list[list[int]]) -> State:
        source = self._source
        step = uuid4().hex
        return State(source.lane, self._consumers.born, self._journey.fingerprint, self._digests, step, cursor, places)

    def lanes(self) -> Mapping[str, Cursor]:
        """Return the only lane; it is ours until another instance takes over."""
        return {_LANE: self._cursor}

    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return messages in stream order; with ``until=end`` the last existing ones are marked."""
        if self._ended:
            return None
        if self._left is not None:
            most, seconds = min(most, self._left), min(seconds, 0.2)
        taken = self._reader.fetch(most, seconds) if most else []
        if self._left is not None:
            self._left -= len(taken)
            self._ended = self._left <= 0 or self._reader.left == 0
        if taken:
            if taken[-1].place - self._next + 1 > len(taken):  # some are missing
                self._unread()
            self._next = max(self._next, taken[-1].place + 1)
        found = self._aligned(taken)
        if not found and not self._ended:
            return None
        places = [place for place, _ in found]
        self._places.extend(places)
        after = places[-1] + 1 if places else max(self._cursor.place, self._places.last + 1 if self._places else 0)
        return Incoming(_LANE, [record for _, record in found], places, after, self._ended)

    def _aligned(self, taken: Sequence[Delivered]) -> list[tuple[int, bytes]]:
        """Return records with their positions; one that was read before a restart and is deleted now is empty."""
        found: list[tuple[int, bytes]] = []
        for message in taken:
            while self._known and self._known.head < message.place:
                found.append(self._gone())
            if self._known and self._known.popleft() != message.place:
                raise self._other()
            record = message.record.rstrip(b"\r\n")
            found.append((message.place, record[: self._longest + 1]))
        while self._ended and self._known:
            found.append(self._gone())
        return found

    def _unread(self) -> None:
        """Report records that the stream deleted before they were read; unknown for one subject among others."""
        if not self._next or self._source.filter is not None or (first := self._consumers.first()) <= self._next:
            return
        told = f"{self._source}: {first - self._next:,} records were deleted from the stream before they were read"
        if "gone" not in self._source.options:
            raise EngineError(f"{told}. Keep messages longer; with ?gone=skip it continues without them.")
        say(f"{told}.")
        self._next = first

    def _gone(self) -> tuple[int, bytes]:
        if "gone" not in self._source.options:
            raise EngineError(
                f"{self._source}: {len(self._known):,} pending records must be read again, but the stream no longer "
                "holds all of them. Keep messages longer; with ?gone=skip the lost ones are rejected."
            )
        return self._known.popleft(), b""

    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Publish each step as one batch; finished records are acknowledged only after that."""
        address, largest = self._writer.address, self._writer.largest
        for step in steps:
            self._places.drop_before(step.cursor.place)
            count = 8 * len(step.cursor.done)
            known = [*self._places.first(count), *self._known.first(count - len(self._places))]
            letters = addressed(step.letters, self._dead, largest, MOST // 8) if self._dead is not None else []
            classes = packed(step.classes, f"{address.subject}.classes", largest)
            self._writer.write([*letters, *classes], self._state(step.cursor, known))
            self._cursor = step.cursor
            self._reader.acknowledge(step.cursor.place)

    def close(self) -> None:
        """Close both ends; the consumer stays, so that the input keeps unfinished records."""
        self.closing.close()


class Nats(Channel):
    """NATS streams, written ``nats://HOST:PORT/STREAM``."""

    def open(self, journey: Journey) -> NatsLink:
        """Connect to both ends; refuse a journey whose promises differ from those it was started with."""
        source, target = _ends(journey)
        dead = None if journey.dead is None else _subject(journey.dead, target)
        with ExitStack() as opened:
            reading = Connection(source)
            opened.callback(reading.close)
            writing = Connection(target)
            opened.callback(writing.close)
            link = NatsLink(journey, reading, Writer(writing), dead)
            link.begin()
            link.closing = opened.pop_all()
        return link


def _ends(journey: Journey) -> tuple[Address, Address]:
    for end, name in ((journey.source, "input"), (journey.target, "output")):
        if end.partition("://")[0].lower() != SCHEME:
            raise ParameterError(
                f"Stream: with NATS the {name} must be nats://HOST:PORT/STREAM too, got something else. The output "
                "stream records what was released, so both ends must be NATS."
            )
    source, target = Address.read(journey.source, INPUT), Address.read(journey.target, OUTPUT)
    if journey.header:
        raise ParameterError(f"{source}: messages must hold JSON, got CSV, which needs a header. Use --format jsonl.")
    if journey.force:
        raise ParameterError(
            f"{target}: --force is not possible with NATS, because released records cannot be withdrawn. Name "
            "another subject with ?subject=."
        )
    if (source.servers, source.stream) == (target.servers, target.stream):
        raise ParameterError(f"{target}: the output must be another stream than the input. Name another.")
    return source, target


def _subject(dead: str, address: Address) -> str:
    """Return the subject of dead letters, within the output stream, so that they are stored with the classes."""
    if dead.partition("://")[0].lower() == SCHEME:
        other = Address.read(dead, OUTPUT)
        if (other.servers, other.stream) == (address.servers, address.stream):
            return other.options.get("subject", f"{address.subject}.dead")
    if re.fullmatch(r"[^\s.*>/:]+(\.[^\s.*>/:]+)*", dead) is None:
        raise ParameterError(
            f"{address}: with NATS rejected records must go to a subject of the output stream, got something else. "
            f"Write for example --dead {address.subject}.dead."
        )
    return dead
