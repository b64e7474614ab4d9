"""Kafka link: a lane per partition, a transaction per commit, and checks of topics."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import DataError, EngineError, ParameterError, listing
from shoal.stream.channels._kafka_address import Address
from shoal.stream.channels._kafka_group import Clients, Group, replaced
from shoal.stream.channels._kafka_transactions import (
    USUAL_ROOM,
    Lapsed,
    Transactions,
    changed,
    fenced,
    fitting,
    mark,
    unpack,
)
from shoal.types.stream import Cursor, Incoming, Journey, Letter, Link, Outgoing

_SECONDS = 10.0
_PAUSE = 0.1  # before a client that does not know a partition yet is asked again


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one stream, as they were found."""

    source: Address
    target: Address
    dead: Address | None
    partitions: dict[str, int]  #: number of partitions per topic
    room: int  #: characters that the broker stores with an offset


def found(clients: Clients, source: Address, target: Address, dead: Address | None) -> Topics:
    """Look up the topics; refuse those for which nothing could be promised."""
    topics = [source, target] + ([dead] if dead else [])
    for other in topics[1:]:
        if other.servers != source.servers:
            raise ParameterError(
                f"{other}: must be in the cluster of {source}, because output and progress are stored in one "
                "transaction. Name the same host and port."
            )
    if len({one.topic for one in topics}) < len(topics):
        raise ParameterError(f"{source}: input, output and rejected records must be in different topics. Name others.")
    partitions = counted(clients, topics)
    wide_enough(source, target, partitions)
    admin = clients.admin()
    _not_compacted(clients, admin, source)
    return Topics(source, target, dead, partitions, _room(clients, admin))


def counted(clients: Clients, topics: Sequence[Address]) -> dict[str, int]:
    """Return the number of partitions per topic; refuse topics that do not exist."""
    listed = clients.listed(clients.admin()).topics
    for one in topics:
        if one.topic not in listed or listed[one.topic].error is not None:
            raise ParameterError(
                f"{one}: there is no such topic, or this user may not see it. Create it, or correct the name."
            )
    return {one.topic: len(listed[one.topic].partitions) for one in topics}


def wide_enough(source: Address, target: Address, partitions: dict[str, int]) -> None:
    """Refuse an output with fewer partitions than the input: each partition is released to its namesake."""
    if partitions[target.topic] < partitions[source.topic]:
        raise ParameterError(
            f"{target}: must have at least the {partitions[source.topic]} partitions of {source}, because each is "
            f"anonymized on its own and keeps its order, got {partitions[target.topic]}. Add partitions."
        )


def _not_compacted(clients: Clients, admin: Any, source: Address) -> None:
    """Refuse a compacted topic: finished records are tracked by their offset, and must not vanish."""
    kind = clients.kafka.admin.ConfigResource
    policy = _asked(clients, admin, kind(kind.Type.TOPIC, source.topic), "cleanup.policy") or ""
    if "compact" in policy:
        raise ParameterError(
            f"{source}: must be a topic that keeps every record until it is too old (cleanup.policy=delete), got a "
            "compacted one, whose records may vanish while their tuples are pending. Read from another topic."
        )


def _room(clients: Clients, admin: Any) -> int:
    kind = clients.kafka.admin.ConfigResource
    broker = str(next(iter(clients.listed(admin).brokers)))
    return int(_asked(clients, admin, kind(kind.Type.BROKER, broker), "offset.metadata.max.bytes") or USUAL_ROOM)


def _asked(clients: Clients, admin: Any, resource: Any, name: str) -> str | None:
    """Return a setting of a topic or broker, or None if we may not read it."""
    try:
        settings = next(iter(admin.describe_configs([resource], request_timeout=_SECONDS).values())).result(_SECONDS)
    except (clients.kafka.KafkaException, TimeoutError):
        return None
    return str(settings[name].value) if name in settings else None


def ends(clients: Clients, client: Any, topic: str, partition: int) -> tuple[int, int]:
    """Return the offset of a partition's oldest record, and the one after its newest."""
    where = clients.kafka.TopicPartition(topic, partition)
    until = time.monotonic() + _SECONDS
    while True:
        try:
            low, high = client.get_watermark_offsets(where, timeout=_SECONDS)
            return int(low), int(high)
        except clients.kafka.KafkaException as error:
            young = error.args[0].code() == clients.kafka.KafkaError._UNKNOWN_PARTITION  # added after we looked
            if not young or time.monotonic() > until:
                raise EngineError(
                    f"{clients.owner}/{topic}: the contents of partition {partition} are not known "
                    f"({error.args[0].name()}). Check the log of the broker."
                ) from None
        with suppress(clients.kafka.KafkaException):
            client.list_topics(topic, timeout=_SECONDS)  # so that the client learns of it
        time.sleep(_PAUSE)


#: Longer payloads are omitted: a record that cannot be sent would stop the stream.
_LONGEST = 500_000
#: So are payloads that exceed it once written as JSON, where one control character becomes six.
_LARGEST = 900_000


def letter_of(partition: int, letter: Letter) -> bytes:
    """Return a dead letter as JSON.

    >>> letter_of(0, Letter(position=3, place=5, reason="The record is no JSON object.")).decode()
    '{"partition":0,"position":3,"place":5,"reason":"The record is no JSON object."}'
    """
    told: dict[str, object] = {"partition": partition, **letter.told}
    if letter.payload is None:
        return _written(told)
    if len(letter.payload) > _LONGEST:
        return _written(told | {"payload_left_out": f"It has more than {_LONGEST:,} bytes."})
    whole = _written(told | letter.enclosed)
    return whole if len(whole) <= _LARGEST else _written(told | {"payload_left_out": "It grows too large as JSON."})


def _written(told: dict[str, object]) -> bytes:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


class KafkaLink(Link):
    """Reads as a member of a consumer group, and commits under its membership.

    **Guarantee.** A tuple is released in the same transaction as the cursor that records it; a member that lost its
    partitions can commit neither. The next owner of a partition waits for open transactions and starts from the cursor.
    So across crashes and rebalances no tuple is lost, none is released twice, and no class in parts, for all consumers
    with ``isolation.level=read_committed``.
    """

    def __init__(self, clients: Clients, topics: Topics, journey: Journey):
        self._clients, self._topics = clients, topics
        self._promises, self._longest = journey.promises, journey.longest
        self._mark = mark(journey.fingerprint, journey.promises)
        self._to_end = topics.source.options.get("until") == "end"
        self._group = Group(clients, topics.source, to_end=self._to_end)
        self._last = self._offsets_at_end() if self._to_end else {}
        self._transactions: Transactions | None = None
        self._held: set[int] = set()  # partitions that we own or owned last, with no open transactions of other members
        self._cursors: dict[str, Cursor] = {}
        self._queue: deque[Incoming] = deque()
        self._over: set[int] = set()  # partitions that were read to the end
        self._lapsed_since: float | None = None

    def _offsets_at_end(self) -> dict[int, int]:
        source = self._topics.source.topic
        every = range(self._topics.partitions[source])
        return {one: self._group.ask(lambda client, p: ends(self._clients, client, source, p), one)[1] for one in every}

    def lanes(self) -> Mapping[str, Cursor]:
        """Return the cursors of our partitions; after a revocation, return nothing for one call first."""
        if self._group.taken:
            self._group.taken = False
            self._cursors.clear()
            self._queue.clear()
            return {}
        if self._group.mine and not self._cursors:
            try:
                self._begin()
            except Lapsed as lapsed:
                self._rejoin(lapsed)
                return {}
        return dict(self._cursors)

    def _begin(self) -> None:
        """Start all lanes from the stored cursors; store a cursor for new ones before anything is released."""
        source, target = self._topics.source, self._topics.target
        if max(self._group.mine) >= self._topics.partitions[source.topic]:  # partitions were added
            self._topics.partitions.update(counted(self._clients, (source, target)))
            wide_enough(source, target, self._topics.partitions)
        prefix = f"shoal-{source.options['group']}-{source.topic}"
        self._transactions = fenced(self._clients, prefix, self._group.mine, self._held, self._transactions)
        self._held = set(self._group.mine)
        stored = self._group.stored()
        new = {one: self._new(one) for one, (offset, _) in stored.items() if offset < 0}
        old = {one: self._old(one, offset, text) for one, (offset, text) in stored.items() if offset >= 0}
        if new:
            self._transactions.commit((), self._texts(new), self._group.member)
        cursors = {one: (new | old)[one] for one in sorted(new | old)}
        self._cursors = {str(one): cursor for one, cursor in cursors.items()}
        self._over = {one for one, cursor in cursors.items() if self._to_end and cursor.place >= self._last.get(one, 0)}
        self._queue = deque(Incoming(str(one), (), (), cursors[one].place, ended=True) for one in self._over)
        self._group.begin({one: cursor.place for one, cursor in cursors.items() if one not in self._over})

    def _new(self, partition: int) -> Cursor:
        """Return the cursor of a partition that was never read; the output must not contradict that."""
        source, target = self._topics.source, self._topics.target
        begin = source.options.get("from")
        if begin is None and self._group.ask(lambda c, p: ends(self._clients, c, target.topic, p), partition)[1] > 0:
            raise ParameterError(
                f"{target}: partition {partition} is not empty, but the group {source.options['group']} has stored "
                "nothing; released tuples would be released again in other classes. Name the group that wrote it or "
                "an empty topic, or add from=beginning or from=end to the input if what is there came from "
                "elsewhere."
            )
        low, high = self._group.ask(lambda c, p: ends(self._clients, c, source.topic, p), partition)
        return Cursor(place=high if begin == "end" else low)

    def _old(self, partition: int, offset: int, text: str | None) -> Cursor:
        source = self._topics.source
        group = source.options["group"]
        try:
            kept = unpack(text or "", offset)
        except ValueError:
            raise ParameterError(
                f"{source}: partition {partition} of the group {group} has an offset that this version of shoal did "
                "not store. Name another group."
            ) from None
        if kept.mark != self._mark and not kept.cursor.begun:
            return replace(kept.cursor, memory={})  # nothing was released: a corrected recipe may start here
        if kept.mark != self._mark:
            others = listing(changed(self._mark, kept.mark, self._promises)) or "recipe"
            raise DataError(
                f"{source}: the group {group} was started with another {others}. Continue as it was started, or name "
                "another group and another output."
            )
        return kept.cursor

    def _texts(self, cursors: Mapping[int, Cursor]) -> dict[tuple[str, int], tuple[int, str]]:
        topic, room = self._topics.source.topic, self._topics.room
        return {(topic, one): (c.place, fitting(c, self._mark, room)) for one, c in cursors.items()}

    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return records of one partition, cut one byte beyond the maximum; a record without a value is empty."""
        if not self._queue:
            self._fill(most, seconds)
        return self._queue.popleft() if self._queue and not self._group.taken else None

    def _fill(self, most: int, seconds: float) -> None:
        over: dict[int, int] = {}
        found: dict[int, list[tuple[bytes, int]]] = {}
        cut = self._longest + 1
        for message in self._group.poll(most, seconds, over.__setitem__):
            found.setdefault(message.partition(), []).append(((message.value() or b"")[:cut], message.offset()))
        for one in sorted({*found, *over}):
            if one not in self._over and str(one) in self._cursors:
                self._queue.append(self._incoming(one, found.get(one, []), over.get(one, -1)))

    def _incoming(self, partition: int, records: list[tuple[bytes, int]], over: int) -> Incoming:
        after = records[-1][1] + 1 if records else over
        ended = False
        if self._to_end:
            last = self._last.get(partition, 0)
            ended = max(after, over) >= last
            records = [record for record in records if record[1] < last]
            after = min(after, last)
        if ended:
            self._over.add(partition)
        return Incoming(str(partition), [r[0] for r in records], [r[1] for r in records], after, ended)

    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Commit in one transaction; if the partitions were revoked, it is aborted and the lanes are dropped."""
        if self._group.taken or self._transactions is None or not all(step.lane in self._cursors for step in steps):
            return
        cursors = {int(step.lane): step.cursor for step in steps}
        try:
            self._transactions.commit(self._records(steps), self._texts(cursors), self._group.member)
        except Lapsed as lapsed:
            self._rejoin(lapsed)
            return
        self._lapsed_since = None
        self._cursors.update({step.lane: step.cursor for step in steps})

    def _records(self, steps: Sequence[Outgoing]) -> Iterator[tuple[str, int, bytes]]:
        target, dead = self._topics.target.topic, self._topics.dead
        for step in steps:
            lane = int(step.lane)
            for leaving in step.classes:
                for body in leaving.tuples:
                    yield target, lane, body
            if dead is not None:
                partition = lane % self._topics.partitions[dead.topic]
                yield from ((dead.topic, partition, letter_of(lane, letter)) for letter in step.letters)

    def _rejoin(self, lapsed: Lapsed) -> None:
        """Leave the group and rejoin: our view of the partitions may be wrong."""
        if "FENCED" in str(lapsed) and "instance" in self._topics.source.options:
            raise replaced(self._topics.source) from None
        now = time.monotonic()
        self._lapsed_since = self._lapsed_since or now
        if now - self._lapsed_since > self._clients.patience:
            raise EngineError(
                f"{self._topics.source}: no transaction could be committed for {self._clients.patience:g} seconds "
                f"({lapsed}). Check the log of the broker, and that no other program uses the transactional ids of "
                "shoal."
            ) from None
        self._group.close()
        self._transactions, self._held = None, set()
        self._group = Group(self._clients, self._topics.source, to_end=self._to_end)
        self._group.taken = True

    def close(self) -> None:
        """Leave the group; uncommitted output has not been released."""
        self._group.close()
