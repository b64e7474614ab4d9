"""Kafka: a consumer group in, a transactional producer out; each partition is anonymized separately."""

from __future__ import annotations

from shoal.errors import ParameterError
from shoal.stream.channels._kafka_address import address, chosen, properties, seconds
from shoal.stream.channels._kafka_group import Clients
from shoal.stream.channels._kafka_link import KafkaLink, found
from shoal.stream.channels._kafka_transactions import checked_delay
from shoal.types.stream import Channel, Journey

_OPTIONS = ("config", "from", "group", "instance", "patience", "until")


class Kafka(Channel):
    """Topics of one cluster, by URL: ``kafka://HOST:PORT/TOPIC?group=NAME``."""

    def open(self, journey: Journey) -> KafkaLink:
        """Return a link; nothing is read yet."""
        for what, place in (("input", journey.source), ("output", journey.target), ("rejected records", journey.dead)):
            if place is not None and not place.lower().startswith("kafka://"):
                raise ParameterError(
                    f"Kafka: the {what} must go through a topic, too, so that everything is stored in one "
                    "transaction, got another place. Write kafka://HOST:PORT/TOPIC."
                )
        source = address(journey.source, _OPTIONS)
        target = address(journey.target, ())
        if journey.header:
            raise ParameterError(
                f"{source}: records must hold JSON, got CSV, which needs a header. Use --format jsonl."
            )
        if journey.force:
            raise ParameterError(
                f"{target}: --force is not possible with Kafka, because released records cannot be withdrawn. Name "
                "another topic."
            )
        dead = address(journey.dead, ()) if journey.dead is not None else None
        if not source.options.get("group"):
            raise ParameterError(f"{source}: must name a consumer group. Add ?group=NAME.")
        chosen(source, "until", ("end",))
        chosen(source, "from", ("beginning", "end"))
        clients = Clients(source.servers, properties(source), seconds(source, "patience", 60.0))
        topics = found(clients, source, target, dead)
        checked_delay(int(journey.promises["delay"]), topics.room)
        return KafkaLink(clients, topics, journey)
