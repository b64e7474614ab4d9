"""A member of a consumer group: which partitions are ours, and their records in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.errors import EngineError, ShoalError
from shoal.kafka.address import Address
from shoal.kafka.clients import Clients, sentence

_SECONDS = 2.0  # so that a signal is heard in between


def replaced(source: Address) -> EngineError:
    """Return what to raise when another process came under our name."""
    return EngineError(
        f"{source}: another process took over as instance {source.options['instance']}, and goes on where this one "
        "was. Let only one run under each name."
    )


class Group:
    """A consumer that never skips: it begins where it is told, and shows nothing of an assignment that has gone.

    When partitions are given to us, nothing flows yet; `begin` lets them flow, each from an offset. Whatever the
    consumer had fetched under an older assignment is thrown away.
    """

    def __init__(self, clients: Clients, source: Address, *, to_end: bool):
        self._clients = clients
        self._source = source
        options = {"group_instance_id": source.options["instance"]} if "instance" in source.options else {}
        self._consumer = clients.consumer(
            group_id=source.options["group"],
            partition_assignment_strategy="range",
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            auto_offset_reset="error",
            isolation_level="read_committed",
            session_timeout_ms=10_000,
            enable_partition_eof=to_end,
            allow_auto_create_topics=False,
            **options,
        )
        self.member: Any = None  #: what proves that we are a member, as of when the partitions became ours
        self.mine: tuple[int, ...] = ()
        self.taken = False  #: whether partitions were taken away since somebody last looked
        self._moved = False
        self._trouble: ShoalError | None = None
        self._consumer.subscribe(
            [source.topic], on_assign=self._given, on_revoke=self._taken_away, on_lost=self._taken_away
        )

    def _given(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._moved = True
        self.taken = self.taken or bool(self.mine)
        self.mine = tuple(sorted(one.partition for one in partitions))
        # The proof is taken now: taken later it could be of another membership than that whose records we hold.
        self.member = consumer.consumer_group_metadata()
        consumer.assign([])

    def _taken_away(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._moved = True
        self.taken, self.mine, self.member = True, (), None
        consumer.unassign()

    def stored(self) -> dict[int, tuple[int, str | None]]:
        """Return for each of our partitions the committed offset and the text beside it; (−1, None) if there is none.

        An offset that belongs to an open transaction is waited for.
        """
        kafka, where = self._clients.kafka, self._partitions()
        while True:
            try:
                found = self._consumer.committed(where, _SECONDS)
            except kafka.KafkaException as error:
                if error.args[0].name() not in ("_TIMED_OUT", "UNSTABLE_OFFSET_COMMIT", "_WAIT_COORD"):
                    raise sentence(str(self._source), error.args[0]) from None
                self._clients.check(self._consumer)
                continue
            return {one.partition: (max(one.offset, -1), one.metadata if one.offset >= 0 else None) for one in found}

    def begin(self, offsets: dict[int, int]) -> None:
        """Let partitions flow, each from an offset."""
        kind = self._clients.kafka.TopicPartition
        self._consumer.assign([kind(self._source.topic, one, offset) for one, offset in offsets.items()])

    def _partitions(self) -> list[Any]:
        return [self._clients.kafka.TopicPartition(self._source.topic, one) for one in self.mine]

    def poll(self, most: int, seconds: float, ended: Callable[[int, int], None]) -> list[Any]:
        """Return messages of our partitions; call `ended(partition, offset)` where one has no more for now."""
        self._clients.check(self._consumer)
        self._moved = False
        first = self._consumer.poll(seconds)  # `consume` alone would wait for all of them
        messages = [] if first is None else [first, *self._consumer.consume(most - 1, 0)] if most > 1 else [first]
        if self._moved:  # they were fetched for an assignment that has gone: of the new one nothing flows yet
            return []
        good = []
        for message in messages:
            error = message.error()
            if error is None:
                good.append(message)
            elif error.name() == "_PARTITION_EOF":
                ended(message.partition(), message.offset())
            else:
                self._judge(error, message)
        if good:
            self._clients.answered()
        return good

    def _judge(self, error: Any, message: Any) -> None:
        """Raise what cannot mend itself."""
        if error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
            raise EngineError(
                f"{self._source}: partition {message.partition()} does not hold the records any more that the group "
                f"{self._source.options['group']} has yet to read; it was emptied, or made anew. Keep records longer "
                "(retention.ms), and go on with another group."
            )
        if error.fatal() and "instance" in self._source.options:
            raise replaced(self._source)
        if error.fatal() or error.name() in (
            "UNKNOWN_TOPIC_OR_PART",
            "TOPIC_AUTHORIZATION_FAILED",
            "GROUP_AUTHORIZATION_FAILED",
        ):
            raise sentence(str(self._source), error)

    def ask(self, find: Callable[[Any, int], tuple[int, int]], partition: int) -> tuple[int, int]:
        """Return what `find(consumer, partition)` says."""
        return find(self._consumer, partition)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()
