"""A link over NATS: every tuple is released once, in one class, whatever happens in between."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from shoal.errors import EngineError
from shoal.progress import listening
from shoal.stream.channels import _nats_reader as reading
from shoal.stream.channels import _nats_writer as writing
from shoal.stream.channels._nats_connection import INPUT, Address, Connection
from shoal.stream.channels._nats_reader import Reader
from shoal.stream.channels._nats_writer import Writer
from shoal.stream.run import Telling
from shoal.types.stream import Cursor, Leaving, Letter, Outgoing


def records(n: int, first: int = 0) -> list[bytes]:
    return [json.dumps({"id": i}).encode() for i in range(first, first + n)]


def once(classes: list[list[dict[str, Any]]], k: int = 3) -> list[int]:
    """What left, if none of it left twice and every class has k."""
    assert all(len(members) == k for members in classes)
    found = sorted(one["id"] for members in classes for one in members)
    assert len(found) == len(set(found))
    return found


def test_all_that_came_leaves_once_in_messages_of_one_class(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_TIDY", 3)
    broker.make("IN")
    broker.publish("IN", records(1500))
    toy(opened()).run()
    assert once(broker.released("OUT")) == list(range(1500))
    for headers, body in broker.read("OUT", "classes"):
        assert {str(json.loads(line)["class"]) for line in body.split(b"\n")} == {headers["Shoal-Class"]}
        assert headers["Shoal-Classes"] == "1"
    assert len(broker.read("OUT", "state")) <= 6  # of more than thirty


@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_a_link_that_is_opened_again_goes_on(broker: Any, opened: Any, toy: Any, retention: str) -> None:
    broker.make("IN", retention=retention)
    if retention == "interest":  # keeps nothing without a consumer
        opened(after="").close()
    broker.publish("IN", records(120))
    for _ in range(4):
        some = toy(opened(after=""))
        some.link.commit([some.step(40, least=30)])
        assert some.cursor.tally.released > 0
        some.link.close()
        again = opened(after="")
        assert again.lanes() == {"": some.cursor}
        again.close()
    toy(opened()).run()
    assert once(broker.released("OUT")) == list(range(120))
    left = broker.api(f"STREAM.INFO.{broker.name('IN')}")["state"]["messages"]
    assert left == (120 if retention == "limits" else 0)  # all was acknowledged


def test_only_what_is_done_is_acknowledged(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN", retention="workqueue")
    broker.publish("IN", records(60))
    some = toy(opened(after=""))
    some.link.commit([some.step(60, least=60)])
    some.link.close()
    first = broker.api(f"STREAM.INFO.{broker.name('IN')}")["state"]["first_seq"]
    assert first == some.cursor.place
    assert some.cursor.done  # some after it are done, but stay until all before them are


def test_a_crash_between_publish_and_acknowledgement_repeats_nothing(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN", retention="workqueue")
    broker.publish("IN", records(90))
    with monkeypatch.context() as broken:
        broken.setattr(Reader, "acknowledge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        some = toy(opened(after=""))
        step = some.step(60, least=60)
        with pytest.raises(KeyboardInterrupt):
            some.link.commit([step])
        some.link.close()
    assert broker.api(f"STREAM.INFO.{broker.name('IN')}")["state"]["messages"] == 90
    before = broker.released("OUT")
    toy(opened()).run()
    assert broker.released("OUT")[: len(before)] == before  # released tuples are not released again
    assert once(broker.released("OUT")) == list(range(90))
    assert broker.api(f"STREAM.INFO.{broker.name('IN')}")["state"]["messages"] == 0


def test_a_crash_after_everything_was_published_ends_at_once(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN", retention="workqueue")
    broker.publish("IN", records(30))
    with monkeypatch.context() as broken:
        broken.setattr(Reader, "acknowledge", lambda *_: None)
        some = toy(opened())
        some.run()
        some.link.close()
    again = toy(opened())
    again.run()
    assert again.next == 30
    assert once(broker.released("OUT")) == list(range(30))


def test_a_batch_whose_end_never_came_leaves_nothing(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN")
    broker.publish("IN", records(60))
    some = toy(opened(after="", target_after="?patience=1"))
    step = some.step(60, least=60)
    assert len(step.classes) > 3

    async def half(self: Connection, messages: Any, batch: str) -> dict[str, Any]:
        for number, one in enumerate(messages[:-1], 1):
            headers = {**one.headers, "Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
            await self.client.publish(one.subject, one.body, headers=headers)
        await self.client.flush()
        await asyncio.sleep(0.2)
        return {}

    with monkeypatch.context() as broken:
        broken.setattr(Connection, "_together", half)
        with pytest.raises(EngineError, match=r"could not be reached within 1 s"):
            some.link.commit([step])
    assert broker.released("OUT") == []
    toy(opened()).run()
    assert once(broker.released("OUT")) == list(range(60))


def test_a_confirmation_that_is_lost_repeats_nothing(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN")
    broker.publish("IN", records(300))
    sent, together, calls = Connection._together, [], []

    async def silent(self: Connection, messages: Any, batch: str) -> dict[str, Any]:
        calls.append(len(messages))
        answer = await sent(self, messages, batch)
        together.append(answer)
        return {} if len(calls) % 2 else answer

    monkeypatch.setattr(Connection, "_together", silent)
    toy(opened()).run()
    assert once(broker.released("OUT")) == list(range(300))
    assert all("error" not in answer for answer in together)  # stored messages are seen, and not sent again


def test_what_was_sent_twice_is_stored_once(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN")
    broker.publish("IN", records(300))
    sent = Connection._together

    async def twice(self: Connection, messages: Any, batch: str) -> dict[str, Any]:
        await sent(self, messages, batch)
        return await sent(self, messages, batch + "again")

    monkeypatch.setattr(Connection, "_together", twice)
    toy(opened()).run()
    assert once(broker.released("OUT")) == list(range(300))


def test_of_two_instances_the_newer_goes_on(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(200))
    older = toy(opened())
    step = older.step(60, least=60)
    newer = toy(opened())
    with pytest.raises(EngineError, match=r"another instance writes to OUT_\w+, and this one stops"):
        older.link.commit([step])
    with pytest.raises(EngineError, match="another instance took over"):
        all(older.link.fetch(1, 0.1) for _ in range(200))
    newer.run()
    assert len(once(broker.released("OUT"))) == 198


def test_the_newer_goes_on_though_the_older_is_busy(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN")
    broker.publish("IN", records(90))
    older, last, times = toy(opened(after="")), Writer.last, []

    def busy(self: Writer) -> Any:
        found = last(self)
        if self is not older.link._writer and len(times) < 5:
            times.append(older.link.commit([older.step(6, least=6)]))  # between its look and its first step
        return found

    monkeypatch.setattr(Writer, "last", busy)
    newer = toy(opened())
    assert len(times) == 5
    newer.run()
    assert once(broker.released("OUT")) == list(range(90))


def test_an_instance_that_was_not_reading_learns_that_it_was_taken_over(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(3000))
    older = opened(after="")
    assert len(older.fetch(1, 5).records) == 1
    time.sleep(0.5)  # as much as it may hold has come, and it asks for no more
    opened(after="")
    with pytest.raises(EngineError, match="another instance took over"):
        all(older.fetch(500, 2) for _ in range(20))


def test_only_one_of_two_that_begin_at_once_goes_on(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(90))
    begun: list[Any] = []

    def begin() -> None:
        try:
            begun.append(toy(opened()))
        except EngineError as error:
            begun.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = 0
    for one in begun:
        try:
            one.run()
            ended += 1
        except (EngineError, AttributeError):
            pass
    assert ended == 1
    assert once(broker.released("OUT")) == list(range(90))


def test_a_server_that_dies_and_comes_back_repeats_and_loses_nothing(
    new_server: Any, new_broker: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BATCH", 50)  # so that little is buffered when the server dies
    monkeypatch.setattr(reading, "_AHEAD", 50)
    from shoal.stream.channels.nats import Nats
    from shoal.types.stream import Journey

    server = new_server()
    server.start()
    try:
        helper = new_broker(server)
        helper.make("IN")
        helper.publish("IN", records(3000))
        link = Nats().open(Journey(helper.at("IN") + "?until=end", helper.at("OUT"), {}, "f"))
        one = toy(link)
        for _ in range(4):
            for _ in range(5):
                if (step := one.step(100, 2)) is not None:
                    link.commit([step])
            server.kill()
            threading.Timer(0.5, server.start).start()
            if (step := one.step(100, 2)) is not None:
                link.commit([step])
        one.run()
        link.close()
        assert once(helper.released("OUT")) == list(range(3000))
        helper.close()
    finally:
        time.sleep(0.6)
        server.gone()


def test_a_server_that_stays_away_is_an_error_and_nothing_is_lost(
    new_server: Any, new_broker: Any, toy: Any, opened: Any, broker: Any
) -> None:
    server = new_server()
    server.start()
    broker.make("IN")
    broker.publish("IN", records(90))
    try:  # input and output are on two servers, and the output goes away
        target = f"{server.url}/OUT"
        some = toy(opened(target_url=target + "?patience=0.5"))
        some.link.commit([some.step(60, least=60)])
        step = some.step(20, least=20)
        server.kill()
        with pytest.raises(EngineError, match=r"/OUT: the server could not be reached within 0.5 s"):
            some.link.commit([step])
        some.link.close()
        server.start()
        toy(opened(target_url=target)).run()
        helper = new_broker(server)
        helper.name = lambda what: what
        assert once(helper.released("OUT")) == list(range(90))
        helper.close()
    finally:
        server.gone()


def test_an_input_that_stays_away_is_an_error(new_server: Any, new_broker: Any, opened: Any) -> None:
    server = new_server()
    server.start()
    try:
        helper = new_broker(server)
        source = helper.make("IN")
        helper.close()
        link = opened(source_url=f"{source}?patience=0.5")
        server.kill()
        with pytest.raises(EngineError, match=r"/IN_\w+: the server could not be reached within 0.5 s"):
            any(link.fetch(10, 0.2) for _ in range(50))
    finally:
        server.gone()


def test_messages_that_are_lost_on_the_way_come_again_in_order(
    broker: Any, opened: Any, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.make("IN")
    broker.publish("IN", records(600))
    take, lost, came = Reader._take, [], count(1)

    async def now_and_then(self: Reader, message: Any) -> None:
        if message.reply and len(lost) < 8 and next(came) % 70 == 0:
            lost.append(message)
        else:
            await take(self, message)

    monkeypatch.setattr(Reader, "_take", now_and_then)
    one = toy(opened())
    one.run()
    assert lost
    assert list(one.places.values()) == list(range(1, 601))
    assert once(broker.released("OUT")) == list(range(600))


def test_classes_larger_than_a_message_leave_whole(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(30))
    link = opened(after="")
    large = [json.dumps({"id": i, "class": 0, "text": "x" * 100_000}).encode() for i in range(30)]
    small = [json.dumps({"id": 30, "class": 1}).encode()]
    classes = [Leaving(0, large, range(1, 31)), Leaving(1, small, [31])]
    link.commit([Outgoing("", classes, [], Cursor(31, 32))])
    messages = broker.read("OUT", "classes")
    assert [headers.get("Shoal-Part") for headers, _ in messages] == ["1/3", "2/3", "3/3", None]
    assert [len(members) for members in broker.released("OUT")] == [30, 1]


def test_a_tuple_larger_than_a_message_is_refused_whole(broker: Any, opened: Any) -> None:
    broker.make("IN")
    link = opened(after="")
    classes = [Leaving(0, [b"{}", b"x" * 2_000_000], [1, 2])]
    with pytest.raises(EngineError, match="a released tuple must have at most 1,047,552 bytes, got 2,000,000"):
        link.commit([Outgoing("", classes, [], Cursor(2, 3))])
    assert broker.read("OUT", "classes") == []


def test_a_step_of_more_classes_than_a_batch_has_messages(broker: Any, opened: Any) -> None:
    broker.make("IN")
    link = opened(after="", dead=broker.name("OUT") + ".dead")
    classes = [Leaving(i, [json.dumps({"id": i, "class": i}).encode()], [i + 1]) for i in range(5000)]
    letters = [Letter(5000 + i, 5001 + i, "not JSON", b"?" if i % 2 else None) for i in range(3000)]
    link.commit([Outgoing("", classes, letters, Cursor(8000, 8001))])
    assert [members[0]["id"] for members in broker.released("OUT")] == list(range(5000))
    found = [json.loads(line) for _, body in broker.read("OUT", "dead") for line in body.split(b"\n")]
    assert [one["position"] for one in found] == list(range(5000, 8000))
    assert found[:2] == [
        {"position": 5000, "place": 5001, "reason": "not JSON"},
        {"position": 5001, "place": 5002, "reason": "not JSON", "payload": "?"},
    ]


def test_dead_letters_are_kept_with_the_step_and_only_if_wanted(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", [b"{", *records(30), b"?"])
    toy(opened(dead=broker.name("OUT") + ".dead")).run()
    found = [json.loads(body) for _, body in broker.read("OUT", "dead")]
    assert [(one["position"], one["place"]) for one in found] == [(0, 1), (31, 32)]
    toy(opened(target="URL", dead=broker.at("URL"))).run()
    assert len(broker.read("URL", "dead")) == 2
    toy(opened(target="OTHER")).run()
    assert once(broker.released("OTHER")) == list(range(30))
    assert broker.read("OTHER", "dead") == []


def test_a_step_without_classes_moves_the_cursor(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(5))
    link = opened(after="")
    assert sum(len(came.records) for came in iter(lambda: link.fetch(10, 0.3), None)) == 5
    link.commit([Outgoing("", [], [], Cursor(3, 4))])  # three were dropped
    link.close()
    again = opened()
    assert [*again.fetch(1, 5).places, *again.fetch(1, 5).places] == [4, 5]


def test_one_subject_of_a_stream(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    for i in range(60):
        broker.publish("IN", records(1, i), subject=f"eu.{'a' if i % 3 else 'b'}")
    subject = f"{broker.name('IN')}.eu.a"
    some = toy(opened(after=f"?subject={subject}"))
    some.link.commit([some.step(30, least=30)])
    some.link.close()
    toy(opened(after=f"?subject={subject}&until=end")).run()
    found = once(broker.released("OUT"))
    assert len(found) == 39
    assert all(i % 3 for i in found)


def test_records_that_are_gone_are_not_taken_for_others(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(60))
    some = toy(opened(after=""), delay=30)
    some.link.commit([some.step(60, least=60)])
    some.link.close()
    done = {place for place in range(some.cursor.place, 61) if _done(some.cursor, place - some.cursor.place)}
    waited = next(place for place in range(some.cursor.place + 1, 61) if place not in done)
    left = once(broker.released("OUT"))
    broker.api(f"STREAM.MSG.DELETE.{broker.name('IN')}", seq=waited)
    with pytest.raises(EngineError, match=r"the stream no longer holds all of them.*gone=skip"):
        toy(opened()).run()
    toy(opened(after="?until=end&gone=skip", dead=broker.name("OUT") + ".dead")).run()
    found = once(broker.released("OUT"))
    assert set(left) <= set(found)
    assert waited - 1 not in found  # the record of the sequence number s is s − 1
    assert [json.loads(body)["place"] for _, body in broker.read("OUT", "dead")] == [waited]


def test_records_that_were_deleted_before_they_were_read_are_said(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(60))
    some = toy(opened(after=""), delay=30)
    some.link.commit([some.step(60, least=60)])
    some.link.close()
    broker.publish("IN", records(90)[60:])
    broker.api(f"STREAM.PURGE.{broker.name('IN')}", seq=71)  # as a limit would: those before 71 go
    with pytest.raises(
        EngineError, match=r": 1\d records were deleted from the stream before they were read.*gone=skip"
    ):
        opened()
    told: list[str] = []
    with listening(Telling(told.append)):
        toy(opened(after="?until=end&gone=skip", dead=broker.name("OUT") + ".dead")).run()
    assert ["records were deleted" in line for line in told] == [True]
    assert len(set(range(70, 90)) - set(once(broker.released("OUT")))) < 3  # too few for a class at the end


def test_records_that_are_deleted_while_they_are_read_are_said(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(5))
    link = opened(after="")
    while link._next < 6:
        link.fetch(10, 1)
    link._reader._connection.wait(_pause(link._reader))
    broker.publish("IN", records(5000))
    broker.api(f"STREAM.PURGE.{broker.name('IN')}", seq=4000)
    link._reader._connection.wait(link._reader._begin())
    with pytest.raises(EngineError, match=r"records were deleted from the stream before they were read"):
        any(link.fetch(10_000, 1) is False for _ in range(100))


async def _pause(reader: Reader) -> None:
    """Let the reader hear nothing more: as if this process stood still."""
    reader._consumer = ""


def _done(cursor: Cursor, at: int) -> bool:
    return at // 8 < len(cursor.done) and bool(cursor.done[at // 8] >> at % 8 & 1)


def test_a_record_that_is_too_long_is_cut_and_line_ends_go(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", [b"x" * 500, b"{}\r\n"])
    link = opened(longest=100)
    came = [link.fetch(1, 5), link.fetch(1, 5)]
    assert [len(one.records[0]) for one in came] == [101, 2]


def test_nothing_to_read_is_the_end(broker: Any, opened: Any) -> None:
    broker.make("IN")
    link = opened()
    came = link.fetch(10, 5)
    assert (list(came.records), came.ended) == ([], True)
    assert link.fetch(10, 0) is None


def test_what_comes_later_is_read(broker: Any, opened: Any) -> None:
    broker.make("IN")
    link = opened(after="")
    assert link.fetch(10, 0.1) is None
    broker.publish("IN", records(3))
    places: list[int] = []
    while len(places) < 3:
        came = link.fetch(10, 5)
        places += came.places
        assert not came.ended
    assert places == [1, 2, 3]


def test_it_works_where_another_event_loop_runs(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(30))

    async def outer() -> None:
        toy(opened()).run()

    # in a thread of its own: in this one the browser's tests may have left a loop running
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, outer()).result()
    assert once(broker.released("OUT")) == list(range(30))


def test_a_client_that_never_closes_is_left_behind(broker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    connection = Connection(Address.read(broker.at("IN"), INPUT))
    closing = connection.client.close

    async def never() -> None:
        await closing()
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    connection.client.close = never
    began = time.monotonic()
    connection.close()
    assert time.monotonic() - began < 15
    connection.close()
    gc.collect()
    assert capsys.readouterr().err == ""
