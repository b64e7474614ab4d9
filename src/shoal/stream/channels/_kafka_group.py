"""Member of a Kafka consumer group: its assigned partitions, and their records in order."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from shoal.errors import EngineError, ParameterError, ShoalError
from shoal.progress import say
from shoal.registry import package
from shoal.stream.channels._kafka_address import Address

_log = logging.getLogger("shoal.stream.channels.kafka")
_log.addHandler(logging.NullHandler())
_log.propagate = False  # librdkafka logs errors that it recovers from; others become sentences

_AWAY = {"_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_TIMED_OUT", "_SSL", "_AUTHENTICATION", "_DESTROY_BROKER"}
_WHY = {
    "_AUTHENTICATION": "rejects the login. Check it in the file that ?config= names",
    "_SSL": "does not accept the TLS connection. Check security.protocol and the certificates in the file that "
    "?config= names",
    "_RESOLVE": "has an unknown host name. Check the host in the URL",
}
_DENIED = {
    "TOPIC_AUTHORIZATION_FAILED": "the topic",
    "GROUP_AUTHORIZATION_FAILED": "the consumer group",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "transactional ids that begin with shoal-",
    "CLUSTER_AUTHORIZATION_FAILED": "the cluster",
}
_TOO_LARGE = {"MSG_SIZE_TOO_LARGE", "_MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG_SIZE"}


def sentence(owner: str, error: Any) -> ShoalError:
    """Return the exception for a librdkafka error, without its own text, which may contain settings."""
    name = error.name()
    if name in _DENIED:
        return EngineError(f"{owner}: the broker does not allow the use of {_DENIED[name]}. Ask for permission.")
    if name in _TOO_LARGE:
        return EngineError(
            f"{owner}: a released tuple is larger than the output topic accepts; nothing of its class was released. "
            "Raise max.message.bytes of the topic, and message.max.bytes in the file that ?config= names."
        )
    return EngineError(f"{owner}: Kafka failed with {name}. Check the log of the broker.")


class Clients:
    """Makes consumers, producers and admin clients of one cluster, and tracks whether it responds."""

    def __init__(self, servers: str, properties: dict[str, str], patience: float):
        self.owner = f"kafka://{servers}"
        self.kafka = package("confluent_kafka", "kafka", self.owner)
        self.patience = patience
        self._common = {**properties, "bootstrap.servers": servers}
        self._away: float | None = None
        self._why = ""

    def consumer(self, **own: Any) -> Any:
        """Make a consumer; underscores stand for dots."""
        return self._made(self.kafka.Consumer, {"queued_max_messages_kbytes": 16384, **own})

    def producer(self, **own: Any) -> Any:
        """Make a producer; underscores stand for dots."""
        return self._made(self.kafka.Producer, own)

    def admin(self) -> Any:
        """Make an admin client, for topics and settings."""
        return self._made(package("confluent_kafka.admin", "kafka", self.owner).AdminClient, {})

    def _made(self, kind: Any, own: dict[str, Any]) -> Any:
        settings = {name.replace("_", "."): value for name, value in own.items()}
        try:
            return kind({**settings, **self._common, "error_cb": self._heard, "logger": _log})
        except self.kafka.KafkaException as error:
            found = re.search(r'property[: ]+"([a-z0-9._]+)"', error.args[0].str())
            raise ParameterError(
                f"{self.owner}: librdkafka rejects {found[1] if found else 'a property'} as set in the file that "
                "?config= names. Correct it there."
            ) from None

    def _heard(self, error: Any) -> None:
        """Record an error that librdkafka reports by itself."""
        if error.name() in _AWAY and (self._away is None or error.name() in _WHY):
            self._why = _WHY.get(error.name(), self._why)
            if self._away is None:
                self._away = time.monotonic()
                say(f"{self.owner}: the broker {self._why or 'does not answer'}. Trying for {self.patience:g} seconds.")

    def answered(self) -> None:
        """Record that the cluster responds."""
        if self._away is not None:
            self._away, self._why = None, ""
            say(f"{self.owner}: the broker answers again.")

    def check(self, client: Any) -> None:
        """Probe a cluster that did not respond, and give up after too long."""
        if self._away is None:
            return
        try:
            client.list_topics(timeout=0.5)
        except self.kafka.KafkaException:
            self.give_up_after(self._away)
        else:
            self.answered()

    def give_up_after(self, began: float) -> None:
        """Raise if the wait has exceeded the patience."""
        if time.monotonic() - began > self.patience:
            why = self._why or "does not answer. Check that it is running, and the host and port in the URL"
            raise EngineError(f"{self.owner}: the broker {why}; gave up after {self.patience:g} seconds.")

    def listed(self, client: Any) -> Any:
        """Return the existing topics; wait for a cluster that does not respond yet."""
        began = time.monotonic()
        while True:
            try:
                found = client.list_topics(timeout=min(2.0, self.patience))
            except self.kafka.KafkaException as error:
                self._heard(error.args[0])
                client.poll(0)  # so that the error is reported
                if error.args[0].name() not in _AWAY:
                    raise sentence(self.owner, error.args[0]) from None
                if self._why:  # waiting does not fix a failed login
                    raise EngineError(f"{self.owner}: the broker {self._why}.") from None
                self.give_up_after(began)
            else:
                self.answered()
                return found


_SECONDS = 2.0  # so that signals are handled in between


def replaced(source: Address) -> EngineError:
    """Return the exception for a second process that uses our name."""
    return EngineError(
        f"{source}: another process took over as instance {source.options['instance']}, and continues from here. Run "
        "only one process under each name."
    )


class Group:
    """A consumer that never skips: it starts where told, and delivers nothing from an expired assignment.

    After an assignment nothing flows yet; `begin` starts each partition from an offset. Whatever the consumer had
    fetched under an older assignment is discarded.
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
        self.member: Any = None  #: proof of membership, as of the assignment of the partitions
        self.mine: tuple[int, ...] = ()
        self.taken = False  #: whether partitions were revoked since the last check
        self._moved = False
        self._trouble: ShoalError | None = None
        self._consumer.subscribe(
            [source.topic], on_assign=self._given, on_revoke=self._taken_away, on_lost=self._taken_away
        )

    def _given(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._moved = True
        self.taken = self.taken or bool(self.mine)
        self.mine = tuple(sorted(one.partition for one in partitions))
        # The proof is taken now: later it could belong to another membership than the one whose records we hold.
        self.member = consumer.consumer_group_metadata()
        consumer.assign([])

    def _taken_away(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self._moved = True
        self.taken, self.mine, self.member = True, (), None
        consumer.unassign()

    def stored(self) -> dict[int, tuple[int, str | None]]:
        """Return for each of our partitions the committed offset and its metadata text; (−1, None) without one.

        Waits for an offset that belongs to an open transaction.
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
        """Start partitions, each from an offset."""
        kind = self._clients.kafka.TopicPartition
        self._consumer.assign([kind(self._source.topic, one, offset) for one, offset in offsets.items()])

    def _partitions(self) -> list[Any]:
        return [self._clients.kafka.TopicPartition(self._source.topic, one) for one in self.mine]

    def poll(self, most: int, seconds: float, ended: Callable[[int, int], None]) -> list[Any]:
        """Return messages of our partitions; call `ended(partition, offset)` at the current end of one."""
        self._clients.check(self._consumer)
        self._moved = False
        first = self._consumer.poll(seconds)  # `consume` alone would wait for all of them
        messages = [] if first is None else [first, *self._consumer.consume(most - 1, 0)] if most > 1 else [first]
        if self._moved:  # fetched for an expired assignment: the new one has delivered nothing yet
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
        """Raise an error that librdkafka cannot recover from."""
        if error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
            raise EngineError(
                f"{self._source}: partition {message.partition()} no longer holds the records that the group "
                f"{self._source.options['group']} has yet to read; it was emptied or recreated. Keep records longer "
                "(retention.ms), and continue with another group."
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
        """Return the result of `find(consumer, partition)`."""
        return find(self._consumer, partition)

    def close(self) -> None:
        """Leave the group; a member that was thrown out has left it already.

        The client may then raise a bare text, which Python reports as a SystemError.
        """
        with suppress(SystemError):
            self._consumer.close()
