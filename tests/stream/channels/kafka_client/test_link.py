"""A link over a real broker: nothing is lost, nothing is released twice, and aborted steps are never seen."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import replace
from typing import Any

import pytest

from shoal.errors import DataError, EngineError, ParameterError
from shoal.stream.channels._kafka_group import Clients
from shoal.stream.channels._kafka_transactions import Lapsed, Transactions, unpack


def _records(n: int, of: str = "") -> list[bytes]:
    return [f"{of}{i}".encode() for i in range(n)]


def _checked(cluster: Any, target: str, sent: list[bytes], k: int = 3) -> list[bytes]:
    """Return what left: whole classes of k under names that differ, and no record twice."""
    rows = [row.split(b" ", 1) for part in cluster.read(target) for row in part]
    sizes: dict[bytes, int] = {}
    for name, _ in rows:
        sizes[name] = sizes.get(name, 0) + 1
    assert set(sizes.values()) <= {k}
    left = [body for _, body in rows]
    assert len(set(left)) == len(left)
    assert set(left) <= set(sent)
    return left


def test_each_partition_is_a_lane_that_ends_where_it_ended_when_we_began(cluster: Any, opened: Any, pump: Any) -> None:
    source, target, group = cluster.topic(3), cluster.topic(4), uuid.uuid4().hex
    for one, n in ((0, 30), (1, 8)):  # and nothing in the third
        cluster.send(source, _records(n, f"{one}/"), one)
    link = opened(cluster.url(source, group=group, until="end"), cluster.url(target))
    cluster.send(source, [b"late"], 0)
    pumped = pump(link)
    pumped.to_end()
    left = _checked(cluster, target, _records(30, "0/") + _records(8, "1/"))
    assert len(left) == 30 + 6
    for one, rows in enumerate(cluster.read(target)[:2]):
        assert rows
        assert all(row.split(b" ", 1)[1].startswith(f"{one}/".encode()) for row in rows)  # the same partition
    link.close()
    assert cluster.stored(group, source)[0] == 30
    again = pump(opened(cluster.url(source, group=group, until="end"), cluster.url(target)))
    again.to_end()
    assert again.lanes["0"].next == 31
    assert len(_checked(cluster, target, _records(30, "0/") + _records(8, "1/"))) == 36


def test_a_link_goes_on_where_the_cursor_says(cluster: Any, opened: Any, pump: Any) -> None:
    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    sent = _records(40)
    cluster.send(source, sent)
    url = cluster.url(source, group=group, until="end")
    for turns in (3, 1, 2):
        link = opened(url, cluster.url(target))
        pumped = pump(link, most=5)
        while turns:
            turns -= pumped.turn()
        pumped.turn(commit=False)  # taken, and not committed: it comes again
        committed = link.lanes()["0"]
        link.close()
        offset, text = cluster.stored(group, source)
        kept = unpack(text, offset)
        assert kept.cursor == replace(committed, done=committed.done.rstrip(b"\0"))
        assert kept.cursor.place == kept.cursor.position == offset
        assert any(kept.cursor.done)
    pump(opened(url, cluster.url(target)), most=5).to_end()
    assert len(_checked(cluster, target, sent)) == 39


def test_what_a_dead_process_left_open_is_undone_and_seen_by_nobody(cluster: Any, opened: Any, pump: Any) -> None:
    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    cluster.send(source, _records(20))
    url = cluster.url(source, group=group, until="end", instance="one")
    link = opened(url, cluster.url(target))
    pumped = pump(link)
    while not pumped.turn():
        pass
    before = _checked(cluster, target, _records(20))
    # everything of a commit but its end, and then silence
    lane = pumped.lanes["0"]
    while lane.next < 20:
        pumped.turn(commit=False)
    producer = link._transactions._producer
    step = lane.step(3, 5, "0")
    producer.begin_transaction()
    link._transactions._produce(link._records([step]))
    place, text = link._texts({0: step.cursor})[source, 0]
    kafka = link._clients.kafka
    producer.send_offsets_to_transaction(
        [kafka.TopicPartition(source, 0, place, metadata=text)], link._group.member, 10
    )
    producer.flush(10)
    assert _checked(cluster, target, _records(20)) == before
    assert len(cluster.read(target, "read_uncommitted")[0]) > len(before)
    pump(opened(url, cluster.url(target))).to_end()  # the same member: it does not wait for the other's death
    assert len(_checked(cluster, target, _records(20))) == 18
    with pytest.raises(kafka.KafkaException, match="FENCED"):
        producer.commit_transaction(10)


def test_what_others_left_open_does_not_hold_us_up(cluster: Any, opened: Any, pump: Any) -> None:
    from confluent_kafka import Consumer, TopicPartition

    source, target, group = cluster.topic(2), cluster.topic(2), uuid.uuid4().hex
    cluster.send(source, _records(20), 1)
    other = Transactions(Clients(cluster.servers, {}, 10), f"shoal-{group}-{source}-1")  # had the second partition only
    consumer = Consumer({"bootstrap.servers": cluster.servers, "group.id": group})
    other._producer.begin_transaction()
    pending = [TopicPartition(source, 1, 7, metadata="pending")]
    other._producer.send_offsets_to_transaction(pending, consumer.consumer_group_metadata(), 10)
    consumer.close()
    began = time.monotonic()
    pump(opened(cluster.url(source, group=group, until="end"), cluster.url(target))).to_end()
    assert time.monotonic() - began < 12  # it would end by itself after 15 seconds
    assert len(_checked(cluster, target, _records(20))) == 18


def test_two_members_share_the_partitions_and_take_over(cluster: Any, opened: Any, pump: Any, quick: Any) -> None:
    source, target, group = cluster.topic(2), cluster.topic(2), uuid.uuid4().hex
    sent = []
    url = cluster.url(source, group=group, config=quick)
    first = pump(opened(url, cluster.url(target)))
    while set(first.lanes) != {"0", "1"}:
        first.turn()
    second = pump(opened(url, cluster.url(target)))
    for turn in range(400):
        if turn % 20 == 0:
            for one in (0, 1):
                some = _records(9, f"{turn}/{one}/")
                sent += some
                cluster.send(source, some, one)
        first.turn(0.01)
        second.turn(0.01)
        if len(first.lanes) == len(second.lanes) == 1 and turn > 100:
            break
    assert {*first.lanes, *second.lanes} == {"0", "1"}
    assert len(second.lanes) == 1
    first.link.close()
    while set(second.lanes) != {"0", "1"}:
        second.turn(0.05)
    while second.turn(1.0):
        pass
    left = _checked(cluster, target, sent)
    waiting = sum(len(lane.waiting) for lane in second.lanes.values())
    assert len(left) + waiting == len(sent)
    assert waiting <= 10


def _half_way(pump: Any, link: Any) -> Any:
    """A pump that has taken more than it committed."""
    pumped = pump(link)
    while not pumped.turn():
        pass
    for _ in range(2):
        pumped.turn(commit=False)
    return pumped


def test_whoever_comes_under_the_same_name_replaces_us(cluster: Any, opened: Any, pump: Any) -> None:
    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    cluster.send(source, _records(30))
    url = cluster.url(source, group=group, instance="one", until="end")
    old = _half_way(pump, opened(url, cluster.url(target)))
    new = pump(opened(url, cluster.url(target)))
    while not new.turn():
        pass
    before = _checked(cluster, target, _records(30))
    with pytest.raises(EngineError, match="another process took over as instance one"):
        old.link.commit([old.lanes["0"].step(3, 5, "0")])
    assert _checked(cluster, target, _records(30)) == before
    new.to_end()
    assert len(_checked(cluster, target, _records(30))) == 30


def test_a_member_that_was_thrown_out_commits_nothing(cluster: Any, opened: Any, pump: Any, quick: Any) -> None:
    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    cluster.send(source, _records(30))
    quick.write_text(f"{quick.read_text()}max.poll.interval.ms=1500\n")
    url = cluster.url(source, group=group, until="end", config=quick)
    old = _half_way(pump, opened(url, cluster.url(target)))
    new = pump(opened(url, cluster.url(target)))
    while not new.turn():  # it gets the partition when the other has not asked for too long
        pass
    before = _checked(cluster, target, _records(30))
    step = old.lanes["0"].step(3, 5, "0")
    other = Transactions(old.link._clients, uuid.uuid4().hex)  # not fenced by its name: the membership is a fence too
    with pytest.raises(Lapsed):
        other.commit(old.link._records([step]), old.link._texts({0: step.cursor}), old.link._group.member)
    assert _checked(cluster, target, _records(30)) == before
    old.link.commit([step])
    assert _checked(cluster, target, _records(30)) == before
    assert old.link.lanes() == {}
    old.link.close()
    new.to_end()
    assert len(_checked(cluster, target, _records(30))) == 30


def test_letters_go_to_their_topic_in_the_same_transaction(cluster: Any, opened: Any, pump: Any) -> None:
    source, target, dead = cluster.topic(2), cluster.topic(2), cluster.topic()
    cluster.send(source, [b"bad", b"1", b"2", None, b"bad", b"3"], 1)
    url = cluster.url(source, group=uuid.uuid4().hex, until="end")
    pump(opened(url, cluster.url(target), dead=cluster.url(dead)), most=100).to_end()
    letters = [json.loads(row) for row in cluster.read(dead)[0]]
    assert [(one["partition"], one["place"], one["reason"], one["payload"]) for one in letters] == [
        (1, 0, "The record is bad.", "bad"),
        (1, 4, "The record is bad.", "bad"),
    ]
    assert cluster.read(target)[1] == [b"1-0 1", b"1-0 ", b"1-0 3"]  # a record without a value is empty


def test_a_record_that_is_too_long_is_cut(cluster: Any, opened: Any) -> None:
    source, target = cluster.topic(), cluster.topic()
    cluster.send(source, [b"x" * 500_000])
    link = opened(cluster.url(source, group=uuid.uuid4().hex), cluster.url(target), longest=1000)
    while True:
        link.lanes()
        if (incoming := link.fetch(10, 0.2)) is not None:
            break
    assert [len(record) for record in incoming.records] == [1001]


def test_another_recipe_is_refused(cluster: Any, opened: Any, pump: Any) -> None:
    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    cluster.send(source, _records(20))
    url = cluster.url(source, group=group, until="end")
    link = opened(url, cluster.url(target))
    pump(link).to_end()
    link.close()
    with pytest.raises(DataError, match=rf"the group {group} was started with another delay\. .* name another group"):
        pump(other := opened(url, cluster.url(target), fingerprint="g", delay=6)).to_end()
    other.close()
    with pytest.raises(DataError, match=rf"the group {group} was started with another recipe\. "):
        pump(opened(url, cluster.url(target), fingerprint="longer")).to_end()


def test_a_group_that_forgot_does_not_repeat_what_left(cluster: Any, opened: Any, pump: Any) -> None:
    source, target = cluster.topic(), cluster.topic()
    cluster.send(source, _records(20))
    link = opened(cluster.url(source, group=uuid.uuid4().hex, until="end"), cluster.url(target))
    pump(link).to_end()
    link.close()
    with pytest.raises(ParameterError, match=r"partition 0 is not empty, but the group other has stored nothing"):
        pump(opened(cluster.url(source, group="other", until="end"), cluster.url(target))).to_end()
    late = pump(opened(cluster.url(source, group="third", until="end", from_="end"), cluster.url(target)))
    late.to_end()
    assert late.lanes["0"].next == 0
    assert len(_checked(cluster, target, _records(20))) == 18


def test_an_offset_that_is_not_ours_is_refused(cluster: Any, opened: Any, pump: Any) -> None:
    from confluent_kafka import Consumer, TopicPartition

    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    consumer = Consumer({"bootstrap.servers": cluster.servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(source, 0, 0, metadata="")], asynchronous=False)
    consumer.close()
    with pytest.raises(ParameterError, match=r"has an offset that this version of shoal did not store"):
        pump(opened(cluster.url(source, group=group), cluster.url(target))).to_end()


def test_records_that_are_gone_are_not_skipped(cluster: Any, opened: Any, pump: Any) -> None:
    from confluent_kafka import TopicPartition

    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    cluster.send(source, _records(20))
    url = cluster.url(source, group=group)
    link = opened(url, cluster.url(target))
    pumped = pump(link)
    while not pumped.turn():
        pass
    link.close()
    admin = cluster.admin
    [deleted] = admin.delete_records([TopicPartition(source, 0, 15)]).values()
    deleted.result(10)
    again = pump(opened(url, cluster.url(target)))
    with pytest.raises(EngineError, match=r"partition 0 no longer holds the records that the group"):
        again.to_end()


def test_partitions_that_are_added_are_lanes_too(cluster: Any, opened: Any, pump: Any, quick: Any) -> None:
    from confluent_kafka.admin import NewPartitions

    source, target, group = cluster.topic(), cluster.topic(), uuid.uuid4().hex
    quick.write_text(f"{quick.read_text()}topic.metadata.refresh.interval.ms=300\n")
    cluster.send(source, _records(20, "0/"))
    pumped = pump(opened(cluster.url(source, group=group, config=quick), cluster.url(target)))
    while not pumped.turn():
        pass
    admin = cluster.admin
    for topic in (target, source):
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(10)
    until = time.monotonic() + 30
    while set(pumped.lanes) != {"0", "1"} and time.monotonic() < until:
        pumped.turn()
    cluster.send(source, _records(20, "1/"), 1)
    while len(pumped.lanes["1"].done) < 15 and time.monotonic() < until:
        pumped.turn()
    left = _checked(cluster, target, _records(20, "0/") + _records(20, "1/"))
    assert len(left) == 30
