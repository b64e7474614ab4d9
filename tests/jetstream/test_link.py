"""A link over NATS: what came leaves once, in one class, whatever happens in between."""

from __future__ import annotations

import json
from typing import Any


def records(n: int, first: int = 0) -> list[bytes]:
    return [json.dumps({"id": i}).encode() for i in range(first, first + n)]


def ids(classes: list[list[dict[str, Any]]]) -> list[int]:
    return sorted(one["id"] for members in classes for one in members)


def test_all_that_came_leaves_once_in_messages_of_one_class(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(301))
    toy(opened()).run()
    assert ids(broker.released("OUT")) == list(range(301))[: 3 * 100] or len(ids(broker.released("OUT"))) == 300
    for headers, body in broker.read("OUT", "classes"):
        assert len({json.loads(line)["class"] for line in body.split(b"\n")}) == 1
        assert headers["Shoal-Classes"] == "1"


def test_a_link_that_is_opened_again_goes_on(broker: Any, opened: Any, toy: Any) -> None:
    broker.make("IN")
    broker.publish("IN", records(100))
    first = toy(opened(after=""))
    first.link.commit([first.step(60)])  # some wait, some left
    assert first.cursor.done
    assert 0 < first.cursor.tally.released < 60
    first.link.close()
    again = opened()
    assert again.lanes() == {broker.name("IN"): first.cursor}
    toy(again).run()
    found = ids(broker.released("OUT"))
    assert len(found) == len(set(found)) == 99
