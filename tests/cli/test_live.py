"""The live line, and the table of delays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.cli.stream import line
from shoal.stream.engine.counters import Snapshot
from shoal.types.stream import Tally


def test_one_line_says_what_a_stream_is_doing() -> None:
    tally = Tally(read=1200, released=1000, dropped=3, dead=2, clamped=0, classes=100, lost=1.0, spread=50.0)
    told = line(Snapshot(tally, 195, 1, 2.0, 600.0, (40, 95, 100), (0.01, 0.2, 1.5)))
    assert told == (
        "in 1,200 · out 1,000 · dropped 3 · rejected 2 · pending 195 · delay 40 / 95 / 100 tuples, "
        "0.01 / 0.2 / 1.5 s · loss 2.00 % · 600/s"
    )


def test_delays_are_tried_and_the_end_is_told_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("x\n" + "".join(f"{i * 37 % 101}\n" for i in range(200)))
    common = ["--quasi", "x", "--bounds", "x=0:100", "--k", "3", "--delay", "10", "--json"]
    tried = run("stream", "in.csv", *common, "--try-delays", "5,50")
    assert [one["delay"] for one in json.loads(tried.out)["delays"]] == [5, 50]
    done = json.loads(run("stream", "in.csv", "-o", "out.csv", *common).out)
    assert (done["read"], done["released"] + done["dropped"], done["finished"]) == (200, 200, True)
    assert done["delay"]["longest"] <= 10
