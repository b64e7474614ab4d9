"""A broker that all tests share, and ways past shoal to look into it."""

from __future__ import annotations

import os
import runpy
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

_broker = runpy.run_path(str(Path(__file__).with_name("broker.py")))


class Cluster:
    """A broker, and what tests do with it."""

    def __init__(self, addresses: str):
        from confluent_kafka.admin import AdminClient

        self.servers, self.login = addresses.split()
        self.admin = AdminClient({"bootstrap.servers": self.servers})

    def topic(self, partitions: int = 1, **config: str) -> str:
        """Make a topic."""
        from confluent_kafka.admin import NewTopic

        name = f"t{uuid.uuid4().hex[:12]}"
        named = {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=named)])[name].result(10)
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


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A broker of our own."""
    pytest.importorskip("confluent_kafka")
    base = tmp_path_factory.getbasetemp()
    try:
        return Cluster(_broker["shared"](base.parent if "PYTEST_XDIST_WORKER" in os.environ else base))
    except _broker["Missing"] as missing:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)(str(missing))


@pytest.fixture
def own_cluster(tmp_path: Path) -> Any:
    """A broker that a test may stop; its process id."""
    try:
        cluster = Cluster(_broker["start"](tmp_path / "own", os.getpid()))
    except _broker["Missing"] as missing:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)(str(missing))
    yield cluster, int((tmp_path / "own" / "pid").read_text())
    (tmp_path / "own" / "pid").unlink(missing_ok=True)


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """Properties under which a member that died is missed soon."""
    file = tmp_path / "quick.properties"
    file.write_text("session.timeout.ms=1000\nheartbeat.interval.ms=200\n")
    return file


@pytest.fixture
def opened(cluster: Cluster) -> Any:
    """Open links, and close them afterwards."""
    from shoal.channels.kafka import Kafka
    from shoal.types.stream import Journey

    links: list[Any] = []

    def opened(source: str, target: str, *, delay: int = 5, fingerprint: str = "f", **more: Any) -> Any:
        links.append(Kafka().open(Journey(source, target, {"delay": delay}, fingerprint, **more)))
        return links[-1]

    yield opened
    for link in links:
        link.close()


@pytest.fixture
def pump() -> Callable[..., Any]:
    """A small pump: see `pump.py`."""
    return runpy.run_path(str(Path(__file__).with_name("pump.py")))["Pump"]
