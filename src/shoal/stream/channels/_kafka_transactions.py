"""Kafka transactions of tuples, dead letters and cursors; cursors as offset metadata."""

from __future__ import annotations

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import msgspec

from shoal.errors import EngineError, ParameterError
from shoal.stream.channels._kafka_group import Clients, sentence
from shoal.types.stream import Cursor, Tally

_SECONDS = 2.0  # so that signals are handled in between
#: Errors of the transaction itself; a transaction that ends for any other reason may succeed next time.
_HOPELESS = {
    "MSG_SIZE_TOO_LARGE",
    "RECORD_LIST_TOO_LARGE",
    "INVALID_MSG_SIZE",
    "INVALID_RECORD",
    "OFFSET_METADATA_TOO_LARGE",
    "UNKNOWN_TOPIC_OR_PART",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "POLICY_VIOLATION",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
}


class Lapsed(Exception):  # noqa: N818 - not an error: another member continues
    """A transaction was aborted because the lanes are not ours any more, or may not be."""


class Transactions:
    """A transactional producer.

    A producer that starts under the same name aborts what its predecessor left open, and the predecessor can commit
    nothing more. The second fence is the membership in the consumer group: cursors of a replaced member are refused.
    """

    def __init__(self, clients: Clients, name: str):
        self.name = name
        self._clients = clients
        self._error = clients.kafka.KafkaException
        self._producer = clients.producer(
            transactional_id=name,
            transaction_timeout_ms=15_000,
            linger_ms=5,
            compression_type="lz4",
            queue_buffering_max_messages=1_000_000,
        )
        try:
            self._until_done(lambda: self._producer.init_transactions(_SECONDS))
        except self._error as error:
            raise self._told(error) from None

    def commit(
        self, records: Iterable[tuple[str, int, bytes]], cursors: Mapping[tuple[str, int], tuple[int, str]], member: Any
    ) -> None:
        """Send records (topic, partition, value) and store cursors (offset, text) in one transaction."""
        offsets = [
            self._clients.kafka.TopicPartition(topic, partition, offset, metadata=text)
            for (topic, partition), (offset, text) in cursors.items()
        ]
        try:
            self._producer.begin_transaction()
            self._produce(records)
            self._until_done(lambda: self._producer.send_offsets_to_transaction(offsets, member, _SECONDS))
            self._until_done(lambda: self._producer.commit_transaction(_SECONDS))
        except self._error as error:
            self._abort(error.args[0])
            raise self._told(error) from None

    def _produce(self, records: Iterable[tuple[str, int, bytes]]) -> None:
        produce = self._producer.produce
        for topic, partition, value in records:
            while True:
                try:
                    produce(topic, value, partition=partition)
                    break
                except BufferError:  # its queue is full: wait until some are sent
                    self._producer.poll(0.1)
        self._producer.poll(0)

    def _until_done(self, act: Callable[[], None]) -> None:
        """Retry until the action is known to be done or undone."""
        began = time.monotonic()
        while True:
            try:
                act()
                return
            except self._error as error:
                if not error.args[0].retriable():
                    raise
                self._producer.poll(0)
                self._clients.give_up_after(began)

    def _abort(self, error: Any) -> None:
        """Abort an open transaction; one that cannot be aborted was fenced, or will be."""
        if error.fatal():
            return
        try:
            self._until_done(lambda: self._producer.abort_transaction(_SECONDS))
        except self._error:
            return

    def _told(self, error: Any) -> Exception:
        if error.args[0].name() in _HOPELESS:
            return sentence(self._clients.owner, error.args[0])
        return Lapsed(error.args[0].name())


def fenced(
    clients: Clients, prefix: str, mine: Sequence[int], held: Set[int], present: Transactions | None
) -> Transactions:
    """Return the transactions of a member, after aborting those that earlier members may have left open.

    They are named after a member's first partition, so the new owner of that partition aborts them. Partitions that
    were `held` until now have no open transactions of other members.
    """
    for one in mine[1:]:
        if one not in held:
            Transactions(clients, f"{prefix}-{one}")
    name = f"{prefix}-{mine[0]}"
    return present if present is not None and present.name == name else Transactions(clients, name)


#: The broker's default for ``offset.metadata.max.bytes``. It accepts one character less.
USUAL_ROOM = 4096
#: Maximum length of the text without the bits: the recipe's mark, nine numbers of 20 digits, and zlib's overhead.
_BESIDES = 560


@dataclass(frozen=True, slots=True)
class Kept:
    """The contents of a cursor text."""

    cursor: Cursor
    mark: str  #: digest of the promises


class _Head(msgspec.Struct):
    """Everything except the position and the bits."""

    recipe: str
    position: int
    tally: tuple[int, int, int, int, int, int, float, float]  #: in the order of `Tally`
    memory: dict[str, Any]
    shoal: Literal[1] = 1  #: format version


def pack(cursor: Cursor, mark: str) -> str:
    """Return the text of a cursor; its position is the offset itself, and is omitted.

    >>> unpack(pack(Cursor(position=7, place=9, done=b"\\x06"), "ab"), 9) == Kept(Cursor(7, 9, b"\\x06"), "ab")
    True
    """
    line = msgspec.json.encode(_Head(mark, cursor.position, astuple(cursor.tally), dict(cursor.memory)))
    return base64.b64encode(zlib.compress(line + b"\n" + cursor.done.rstrip(b"\0"), 9)).decode()


def unpack(text: str, offset: int) -> Kept:
    """Return the contents of a text, given the offset it was stored with.

    Raises
    ------
    ValueError
        If the text was not written by shoal.
    """
    try:
        line, _, done = zlib.decompress(base64.b64decode(text, validate=True)).partition(b"\n")
        head = msgspec.json.decode(line, type=_Head)
    except (zlib.error, msgspec.DecodeError) as error:
        raise ValueError("no cursor") from error
    return Kept(Cursor(head.position, offset, done, Tally(*head.tally), head.memory), head.recipe)


def room_for(delay: int) -> int:
    """Return the maximum length of a cursor's text for a delay in tuples, without a memory.

    The bits cover the records between the oldest pending one and the newest, at most `delay` of them; in the worst case
    they do not compress.
    """
    return 4 * -(-(-(-delay // 8) + _BESIDES) // 3)


def checked_delay(delay: int, room: int) -> None:
    """Refuse a delay whose cursors might exceed the broker's limit."""
    if room_for(delay) >= room:
        fits = max(8 * ((room - 1) // 4 * 3 - _BESIDES), 0)
        raise ParameterError(
            f"Kafka: delay must be at most {fits:,}, so that the state of a lane fits into the {room:,} characters "
            f"that the broker stores with an offset, got {delay:,}. Lower the delay, or raise "
            "offset.metadata.max.bytes of the broker."
        )


def fitting(cursor: Cursor, mark: str, room: int) -> str:
    """Return the text of a cursor, if it fits the broker's limit."""
    text = pack(cursor, mark)
    if len(text) < room:
        return text
    bare = len(pack(replace(cursor, memory={}), mark))
    raise EngineError(
        f"Kafka: the state of a lane must have fewer than the {room:,} characters that the broker stores with an "
        f"offset, got {len(text):,}; requirements and learnt fields take {len(text) - bare:,}. Raise "
        "offset.metadata.max.bytes of the broker, lower the delay, give t a reference, or name the fields in keep."
    )


_WIDE = 6


def mark(fingerprint: str, promises: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal promises: the fingerprint, and a short digest of each promise in order.

    >>> len(mark("f" * 64, {"k": 5, "delay": 100}))
    76
    """
    return fingerprint + "".join(_digest(name, promises[name]) for name in sorted(promises))


def changed(mine: str, theirs: str, promises: Mapping[str, Any]) -> list[str]:
    """Return which promises differ between two marks, the first one made from `promises`; empty: not known.

    >>> before = mark("f", {"k": 5, "delay": 100})
    >>> changed(mark("g", now := {"k": 4, "delay": 100}), before, now)
    ['k']
    """
    if len(mine) != len(theirs):
        return []
    names, begin = sorted(promises), len(mine) - _WIDE * len(promises)
    at = {name: slice(begin + _WIDE * i, begin + _WIDE * (i + 1)) for i, name in enumerate(names)}
    return [name for name in names if mine[at[name]] != theirs[at[name]]]


def _digest(name: str, value: Any) -> str:
    canonical = json.dumps([name, value], sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=list)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_WIDE]
