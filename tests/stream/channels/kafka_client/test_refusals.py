"""The impossible is refused in a sentence, before anything is read, and never with a secret."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import EngineError, ParameterError, ShoalError
from shoal.stream.channels._kafka_address import OWNED, address, properties
from shoal.stream.channels.kafka import Kafka
from shoal.types.stream import Journey

SECRET = "hunter2"
IN, OUT = "kafka://h:9092/in?group=g", "kafka://h:9092/out"


def _open(source: str = IN, target: str = OUT, *, delay: int = 5, **more: Any) -> None:
    Kafka().open(Journey(source, target, {"delay": delay}, "f", **more)).close()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"target": "out.jsonl"}, "Kafka: the output must go through a topic, too"),
        ({"source": "-"}, "Kafka: the input must go through a topic, too"),
        ({"dead": "dead.jsonl"}, "Kafka: the rejected records must go through a topic, too"),
        ({"source": "kafka://h:9092/in"}, r"kafka://h:9092/in: must name a consumer group. Add \?group=NAME."),
        ({"source": "kafka://h:9092/in?group="}, "must name a consumer group"),
        ({"source": f"kafka://ann:{SECRET}@h:9092/in?group=g"}, "a URL must not hold a user or a password"),
        ({"source": f"kafka://ann:{SECRET}/in?group=g"}, "a URL must name host and port"),
        ({"source": "kafka:///in?group=g"}, "a URL must name host and port"),
        ({"source": "kafka://h:9092?group=g"}, "a topic must have 1 to 249 letters"),
        ({"source": "kafka://h:9092/a/b?group=g"}, "a topic must have 1 to 249 letters"),
        ({"source": "kafka://h:9092/in?gruop=g"}, "no option is called 'gruop'; .* Did you mean 'group'?"),
        ({"target": "kafka://h:9092/out?group=g"}, "no option is called 'group'; there are none"),
        ({"source": IN + "&until=now"}, "until must be end, got 'now'"),
        ({"source": IN + "&from=now"}, "from must be beginning or end, got 'now'"),
        ({"source": IN + "&patience=-1"}, "patience must be a number of seconds > 0, got '-1'"),
        ({"source": IN + "&config=none.properties"}, "config none.properties cannot be read"),
        ({"header": True}, "records must hold JSON, got CSV"),
        ({"force": True}, "--force is not possible with Kafka"),
        ({"target": "kafka://other:9092/out"}, "kafka://other:9092/out: must be in the cluster of kafka://h:9092/in"),
        ({"target": "kafka://h:9092/in"}, "input, output and rejected records must be in different topics"),
    ],
)
def test_without_a_broker(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence) as raised:
        _open(**given)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"sasl.password {SECRET}\n", "line 1 must be property=value"),
        (f"# a\n\nSASL.PASSWORD={SECRET}", "line 3 must be property=value"),
        (f"a={SECRET}\nisolation.level=read_uncommitted", "line 2 sets isolation.level, which shoal sets itself"),
        (f"sasl.pasword={SECRET}", "librdkafka rejects sasl.pasword"),
        (f"security.protocol={SECRET}", "librdkafka rejects security.protocol"),
        (f"sasl.password={SECRET}\nsession.timeout.ms={SECRET}", "librdkafka rejects session.timeout.ms"),
    ],
)
def test_properties_that_cannot_be(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(text)
    with pytest.raises(ParameterError, match=sentence) as raised:
        _open(f"{IN}&config={file}")
    assert SECRET not in str(raised.value)


def test_properties_are_read(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"# login\nsasl.username = ann\nsasl.password={SECRET}=x\n")
    here = address(f"{IN}&config={file}", ("group", "config"))
    assert properties(here) == {"sasl.username": "ann", "sasl.password": f"{SECRET}=x"}
    assert str(file) not in repr(here)
    assert {"group.id", "transactional.id", "enable.auto.commit", "isolation.level"} <= OWNED


def _refused(cluster: Any, source: str, target: str, **more: Any) -> ShoalError:
    with pytest.raises(ShoalError) as raised:
        _open(cluster.url(source, group=uuid.uuid4().hex), cluster.url(target), **more)
    return raised.value


def test_topics_between_which_nothing_can_be_promised(cluster: Any) -> None:
    two, one, compacted = cluster.topic(2), cluster.topic(1), cluster.topic(1, cleanup_policy="compact")
    assert f"must have at least the 2 partitions of kafka://{cluster.servers}/{two}" in str(_refused(cluster, two, one))
    assert "there is no such topic" in str(_refused(cluster, "none", one))
    assert "there is no such topic" in str(_refused(cluster, one, two, dead=cluster.url("none")))
    assert "a compacted one" in str(_refused(cluster, compacted, one))
    assert "delay must be at most 20,0" in str(_refused(cluster, one, two, delay=50_000))


def test_a_broker_that_asks_for_a_login(cluster: Any, tmp_path: Path) -> None:
    ends = [url.replace(cluster.servers, cluster.login) for url in map(cluster.url, (cluster.topic(), cluster.topic()))]
    file = tmp_path / "client.properties"
    begin = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=ann\nsasl.password="
    file.write_text(f"{begin}{SECRET}\n")
    _open(f"{ends[0]}?group=g&config={file}", ends[1])
    file.write_text(f"{begin}{SECRET}3\n")
    with pytest.raises(
        EngineError, match=r"the broker rejects the login\. Check it in the file that \?config= names\.$"
    ) as raised:
        _open(f"{ends[0]}?group=g&config={file}&patience=20", ends[1])
    assert SECRET not in str(raised.value)


def test_a_broker_that_does_not_speak_tls(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n")
    with pytest.raises(EngineError, match=r"the broker does not (accept the TLS connection|answer)"):
        _open(cluster.url("in", group="g", config=file, patience=2), cluster.url("out"))
