"""The page about NATS says what is printed when something goes wrong, word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import ShoalError
from shoal.types.stream import Cursor, Outgoing

PAGE = Path(__file__).parents[4] / "docs" / "streams_nats.md"


def rows() -> dict[str, tuple[str, int]]:
    """What happened, what is printed, exit code."""
    text = PAGE.read_text(encoding="utf-8").partition("## What can go wrong")[2]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    return {what: (sentence, int(code)) for what, sentence, code in cells if code.isdigit()}


@pytest.fixture
def documented(broker: Any) -> Callable[[str, Callable[[], Any]], None]:
    """Do something that fails, and see that the page has a row for it."""

    def documented(what: str, work: Callable[[], Any]) -> None:
        with pytest.raises(ShoalError) as caught:
            work()
        said = str(caught.value).replace(f":{broker.server.port}/", ":4222/")
        said = said.replace(broker.name("IN"), "VISITS").replace(broker.name("OUT"), "SAFE")
        assert (re.sub(r"\d+ pending records", "12 pending records", said), caught.value.exit_code) == rows()[what]

    return documented


def test_another_recipe_input_or_instance(broker: Any, opened: Any, toy: Any, documented: Any) -> None:
    documented("No such input", opened)
    broker.make("IN")
    broker.publish("IN", [json.dumps({"id": i}).encode() for i in range(120)])
    older = toy(opened(after=""))
    older.link.commit([older.step(60, least=60)])  # before that another recipe may begin
    step = older.step(60, least=60)
    documented("Another *k*", lambda: opened(promises={"k": 4}))
    opened().close()
    documented("… and this one had something to write", lambda: older.link.commit([step]))
    documented("A second instance was started", lambda: all(older.link.fetch(1, 0.5) for _ in range(100)))


def test_an_output_that_does_not_suit(broker: Any, opened: Any, documented: Any) -> None:
    broker.make("IN")
    broker.make("OUT")
    documented("An output without atomic batches", opened)
    broker.api(f"STREAM.DELETE.{broker.name('OUT')}")
    opened().close()
    broker.api(f"STREAM.PURGE.{broker.name('OUT')}")
    documented("An output that was emptied", opened)


def test_records_that_are_gone(broker: Any, opened: Any, documented: Any) -> None:
    broker.make("IN")
    broker.publish("IN", [b"{}"] * 16)
    link = opened(after="")
    while (came := link.fetch(16, 5)).places[-1] < 16:
        pass
    assert came.after == 17
    link.commit([Outgoing("", [], [], Cursor(0, 1, b"\x00\x80"))])
    link.close()
    broker.api(f"STREAM.MSG.DELETE.{broker.name('IN')}", seq=5)
    again = opened()
    documented("Pending records were deleted", lambda: all(again.fetch(16, 5) for _ in range(20)))


def test_a_wrong_password(new_server: Any, new_broker: Any, documented: Any, broker: Any, opened: Any) -> None:
    server = new_server(config='authorization { users = [ { user: ann, password: "hunter2" } ] }')
    server.start()
    try:
        host = f"nats://ann:wrong@127.0.0.1:{server.port}"
        with pytest.raises(ShoalError) as caught:
            opened(source_url=f"{host}/VISITS", target_url=f"{host}/SAFE")
        said = str(caught.value).replace(f":{server.port}/", ":4222/")
        assert (said, caught.value.exit_code) == rows()["A wrong password"]
    finally:
        server.gone()
