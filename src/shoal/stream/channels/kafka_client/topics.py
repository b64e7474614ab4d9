"""What must be true of topics before a stream may run between them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shoal.errors import EngineError, ParameterError
from shoal.stream.channels.kafka_client.address import Address
from shoal.stream.channels.kafka_client.cursors import USUAL_ROOM
from shoal.stream.channels.kafka_client.group import Clients

_SECONDS = 10.0
_PAUSE = 0.1  # until a client that does not know a partition yet is asked again


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one stream, as they were found."""

    source: Address
    target: Address
    dead: Address | None
    partitions: dict[str, int]  #: how many each topic has
    room: int  #: characters that the broker keeps beside an offset


def found(clients: Clients, source: Address, target: Address, dead: Address | None) -> Topics:
    """Look the topics up; refuse those between which nothing could be promised."""
    topics = [source, target] + ([dead] if dead else [])
    for other in topics[1:]:
        if other.servers != source.servers:
            raise ParameterError(
                f"{other}: must be in the cluster of {source}, for what leaves and what is done are stored together. "
                "Name the same host and port."
            )
    if len({one.topic for one in topics}) < len(topics):
        raise ParameterError(f"{source}: input, output and dead letters must be different topics. Name others.")
    partitions = counted(clients, topics)
    wide_enough(source, target, partitions)
    admin = clients.admin()
    _not_compacted(clients, admin, source)
    return Topics(source, target, dead, partitions, _room(clients, admin))


def counted(clients: Clients, topics: Sequence[Address]) -> dict[str, int]:
    """Return how many partitions topics have; refuse those that are not there."""
    listed = clients.listed(clients.admin()).topics
    for one in topics:
        if one.topic not in listed or listed[one.topic].error is not None:
            raise ParameterError(
                f"{one}: there is no such topic, or we may not see it. Create it, or correct the name."
            )
    return {one.topic: len(listed[one.topic].partitions) for one in topics}


def wide_enough(source: Address, target: Address, partitions: dict[str, int]) -> None:
    """Refuse an output with fewer partitions than the input: what leaves one goes to the same of the other."""
    if partitions[target.topic] < partitions[source.topic]:
        raise ParameterError(
            f"{target}: must have at least the {partitions[source.topic]} partitions of {source}, for each is "
            f"anonymized on its own and keeps its order, got {partitions[target.topic]}. Add partitions."
        )


def _not_compacted(clients: Clients, admin: Any, source: Address) -> None:
    """Refuse a topic that forgets records in between: which of them are done is known by their number."""
    kind = clients.kafka.admin.ConfigResource
    policy = _asked(clients, admin, kind(kind.Type.TOPIC, source.topic), "cleanup.policy") or ""
    if "compact" in policy:
        raise ParameterError(
            f"{source}: must be a topic that keeps every record until it is too old (cleanup.policy=delete), got a "
            "compacted one, in which records vanish while their tuples wait. Read from another topic."
        )


def _room(clients: Clients, admin: Any) -> int:
    kind = clients.kafka.admin.ConfigResource
    broker = str(next(iter(clients.listed(admin).brokers)))
    return int(_asked(clients, admin, kind(kind.Type.BROKER, broker), "offset.metadata.max.bytes") or USUAL_ROOM)


def _asked(clients: Clients, admin: Any, resource: Any, name: str) -> str | None:
    """Return a setting of a topic or a broker, or None if we may not know it."""
    try:
        settings = next(iter(admin.describe_configs([resource], request_timeout=_SECONDS).values())).result(_SECONDS)
    except (clients.kafka.KafkaException, TimeoutError):
        return None
    return str(settings[name].value) if name in settings else None


def ends(clients: Clients, client: Any, topic: str, partition: int) -> tuple[int, int]:
    """Return the offset of the oldest record of a partition, and the one after the newest."""
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
                    f"{clients.owner}/{topic}: partition {partition} does not say what it holds "
                    f"({error.args[0].name()}). Check the log of the broker."
                ) from None
        with suppress(clients.kafka.KafkaException):
            client.list_topics(topic, timeout=_SECONDS)  # so that it knows
        time.sleep(_PAUSE)
