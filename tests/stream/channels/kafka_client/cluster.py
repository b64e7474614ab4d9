"""Ways past shoal to look into a Kafka broker."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any


class Cluster:
    """A broker, and what tests do with it."""

    def __init__(self, addresses: str):
        self.servers, self.login = addresses.split()

    @property
    def admin(self) -> Any:
        """What makes topics."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers})

    def topic(self, partitions: int = 1, **config: str) -> str:
        """Make a topic."""
        from confluent_kafka.admin import NewTopic

        name = f"t{uuid.uuid4().hex[:12]}"
        named = {key.replace("_", "."): value for key, value in config.items()}
        admin = self.admin  # it must live until there is an answer
        admin.create_topics([NewTopic(name, partitions, 1, config=named)])[name].result(10)
        while name not in admin.list_topics(timeout=10).topics:  # a moment passes until the broker knows of it
            time.sleep(0.01)
        return name

    def url(self, topic: str, **options: object) -> str:
        """The URL of a topic."""
        asked = "&".join(f"{name.rstrip('_')}={value}" for name, value in options.items())
        return f"kafka://{self.servers}/{topic}" + (f"?{asked}" if asked else "")

    def send(self, topic: str, records: Sequence[bytes | None], partition: int = 0) -> None:
        """Write records."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        for record in records:
            producer.produce(topic, record, partition=partition)
            producer.poll(0)
        assert producer.flush(20) == 0

    def read(self, topic: str, isolation: str = "read_committed") -> list[list[bytes]]:
        """Read all records of each partition."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": uuid.uuid4().hex,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        try:
            count = len(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, one, 0) for one in range(count)])
            found: list[list[bytes]] = [[] for _ in range(count)]
            over: set[int] = set()
            while len(over) < count:
                for message in consumer.consume(1000, 0) or [consumer.poll(10)]:
                    assert message is not None, "the end of the topic does not come"
                    if message.error() is None:
                        found[message.partition()].append(message.value())
                    else:
                        over.add(message.partition())
            return found
        finally:
            consumer.close()

    def stored(self, group: str, topic: str, partition: int = 0) -> tuple[int, str]:
        """What a group stored of a partition: the offset, and the text beside it."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group})
        try:
            found = consumer.committed([TopicPartition(topic, partition)], 10)[0]
            return found.offset, found.metadata
        finally:
            consumer.close()
