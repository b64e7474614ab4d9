"""Transactions of Kafka: tuples, letters and cursors become visible together, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from shoal.stream.channels.kafka_client.group import Clients, sentence

_SECONDS = 2.0  # so that a signal is heard in between
#: What is wrong with a transaction itself; everything else that ends one may go well the next time.
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


class Lapsed(Exception):  # noqa: N818 - not an error: somebody else goes on where we were
    """A transaction was undone because the lanes are not ours any more, or may not be."""


class Transactions:
    """A transactional producer.

    Whoever begins under the same name ends what another left open under it, and the other can commit nothing more. The
    second fence is the membership in the consumer group: cursors of a member that was replaced are refused.
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
        """Send records (topic, partition, value) and store cursors (offset, text), in one transaction."""
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
                except BufferError:  # it holds as much as it may: wait until some is sent
                    self._producer.poll(0.1)
        self._producer.poll(0)

    def _until_done(self, act: Callable[[], None]) -> None:
        """Act until it is known to be done or undone."""
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
        """Undo an open transaction; one that cannot be undone any more was fenced, or will be."""
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
    """Return the transactions of a member, after ending those that members before it may have left open.

    They are named after the first partition that a member has; so whoever has that one now ends them. Nobody else left
    anything open in partitions that were `held` until now.
    """
    for one in mine[1:]:
        if one not in held:
            Transactions(clients, f"{prefix}-{one}")
    name = f"{prefix}-{mine[0]}"
    return present if present is not None and present.name == name else Transactions(clients, name)
