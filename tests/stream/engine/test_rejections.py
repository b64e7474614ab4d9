"""A stream that rejects too many records stops before they are committed, and can be resumed."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import DataError, ParameterError
from shoal.stream.engine.counters import Rejections
from shoal.stream.recipe.recipe import StreamRecipe

RECIPE: dict[str, Any] = {"quasi": ["a"], "bounds": {"a": [0, 5000]}, "k": 3, "delay": 10}


def write(path: Path, records: list[Any]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def good(first: int, end: int) -> list[dict]:
    return [{"a": i, "n": i} for i in range(first, end)]


def bad(first: int, end: int) -> list[dict]:
    return [{"a": "x", "n": i} for i in range(first, end)]


@pytest.mark.parametrize("count", [1, 40, 3000])
def test_a_stream_whose_records_are_all_rejected_stops(tmp_path: Path, count: int) -> None:
    write(tmp_path / "in.jsonl", bad(0, count))
    said = r"Stream: ([\d,]+) of \1 records were rejected, more than max_rejected = 0.5 allows\. Most frequent reason "
    with pytest.raises(DataError, match=said + r"\(\1\): Column 'a': must be a finite number"):
        shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE, dead=tmp_path / "dead.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_the_most_frequent_reason_is_named(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*bad(0, 5), *["no object"] * 6, *good(0, 10)])
    with pytest.raises(DataError, match=r"11 of 21 records .* reason \(6\): the record must be a JSON object"):
        shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)


@pytest.mark.parametrize(
    ("records", "stops"),
    [
        ([*good(0, 500), *bad(500, 1000)], False),
        ([*good(0, 499), *bad(499, 1000)], True),
        ([*good(0, 1000), *bad(1000, 1003)], False),  # the last 1,000, not the last three
        ([*good(0, 1000), *bad(1000, 1999)], True),
        ([*good(0, 1000), *bad(1000, 1400), *good(1400, 2500)], False),
        ([*good(0, 5000), *bad(5000, 6000)], True),
    ],
)
def test_every_thousand_and_the_end_are_judged(tmp_path: Path, records: list[dict], stops: bool) -> None:
    write(tmp_path / "in.jsonl", records)
    if stops:
        with pytest.raises(DataError, match="more than max_rejected"):
            shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    else:
        assert shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE).finished
    more = shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "more.jsonl", {**RECIPE, "max_rejected": 1})
    assert more.counts.tally.read == len(records)


def test_judged_records_are_committed_and_others_held() -> None:
    rejections = Rejections(0.5)
    rejections.add(10, [(3, "x")])
    assert rejections.judged == 0
    rejections.add(489, [])
    assert rejections.judged == 0  # 498 good ones
    rejections.add(2, [])
    assert rejections.judged == 501  # it cannot become more than half of 1,000 any more
    rejections.add(500, [(i, "y") for i in range(499)])
    assert rejections.judged == 1000
    rejections.end()
    assert rejections.judged == 1001
    strict = Rejections(0.0)
    with pytest.raises(DataError, match=r"1 of 3 records"):
        strict.add(3, [(2, "x")])


def test_rejected_records_are_read_again_and_a_corrected_input_loses_nothing(tmp_path: Path) -> None:
    """Rejections before the stop were not committed: with max_rejected = 1 it becomes letters, each once."""
    records = [
        *good(0, 2000),
        *[one for i in range(2000, 3000) for one in (bad(i, i + 1) if i % 3 else good(i, i + 1))],
    ]
    write(tmp_path / "in.jsonl", records)
    source, out, dead = (tmp_path / name for name in ("in.jsonl", "out.jsonl", "dead.jsonl"))
    recipe = {**RECIPE, "delay": 60}
    with pytest.raises(DataError, match="more than max_rejected"):
        shoal.run_stream(source, out, recipe, dead=dead, rate=4000)
    assert 0 < len(read(out)) < 2400
    assert read(dead) == []
    done = shoal.run_stream(source, out, {**recipe, "max_rejected": 1.0}, dead=dead)
    assert done.finished
    assert sorted(one["n"] for one in read(out)) == [one["n"] for one in records if one["a"] != "x"]
    assert [one["position"] for one in read(dead)] == [one["n"] for one in records if one["a"] == "x"]
    assert (done.counts.tally.dead, done.counts.tally.released) == (667, 2333)


def test_a_stop_in_between_loses_no_letter(tmp_path: Path) -> None:
    records = [one for i in range(900) for one in (bad(i, i + 1) if i % 4 == 1 else good(i, i + 1))]
    write(tmp_path / "in.jsonl", records)
    source, out, dead = (tmp_path / name for name in ("in.jsonl", "out.jsonl", "dead.jsonl"))
    stopped = False
    for _ in range(3):
        calls: list[object] = []

        def stop(now: object, calls: list[object] = calls) -> None:
            calls.append(now)
            if len(calls) == 1:
                signal.raise_signal(signal.SIGTERM)

        done = shoal.run_stream(source, out, RECIPE, dead=dead, rate=2000, watch=stop)
        stopped = stopped or not done.finished
        if done.finished:
            break
    assert stopped
    done = done if done.finished else shoal.run_stream(source, out, RECIPE, dead=dead)
    assert sorted(one["n"] for one in read(out)) == [one["n"] for one in records if one["a"] != "x"]
    assert [one["position"] for one in read(dead)] == [one["n"] for one in records if one["a"] == "x"]
    assert (done.counts.tally.read, done.counts.tally.dead) == (900, 225)


@pytest.mark.parametrize(
    ("wrap", "said"),
    [
        (lambda one: gzip.compress(one, mtime=0), "compressed with gzip"),
        (lambda one: b"\x00\x00\x00\x00\x07" + one, "Confluent Schema Registry"),
        (lambda one: b"\x00\x00\x00\x01\xff\x02\x80", "Confluent Schema Registry"),
    ],
)
def test_frames_are_recognised(wrap: Any, said: str) -> None:
    from shoal.stream.wire.csv import Csv
    from shoal.stream.wire.jsonl import Jsonl

    record = wrap(b'{"a": 1}')
    for wire in (Jsonl(["a"], [], "class"), Csv(b"a,b", ["a"], [], "class")):
        assert said in wire.parse([b'{"a": 1}', record]).faults[-1][1]


def test_a_compressed_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 9))
    (tmp_path / "in.csv").write_bytes(gzip.compress(b"a\n1\n"))
    for name, out in (("in.jsonl.gz", "out.jsonl"), ("in.csv", "out.csv")):
        with pytest.raises(DataError, match=f"{name}: is compressed with gzip"):
            shoal.run_stream(tmp_path / name, tmp_path / out, RECIPE)
        assert not (tmp_path / out).exists()


@pytest.mark.parametrize("value", [-0.1, 1.1, "half", None, float("nan"), True])
def test_shares_that_are_none(value: Any) -> None:
    with pytest.raises(ParameterError, match="max_rejected must be a number ≥ 0 and ≤ 1"):
        StreamRecipe(**RECIPE, max_rejected=value)


class TestFinished:
    """A finished stream whose input is another one now does not say that all is well."""

    def finished(self, folder: Path, form: str, end: str = "\n") -> tuple[Path, Path]:
        source, out = folder / f"in.{form}", folder / f"out.{form}"
        lines = ["a,n", *(f"{i},{i}" for i in range(50))] if form == "csv" else [json.dumps(one) for one in good(0, 50)]
        source.write_text("\n".join(lines) + end)
        shoal.run_stream(source, out, RECIPE)
        return source, out

    @pytest.mark.parametrize("form", ["csv", "jsonl"])
    @pytest.mark.parametrize("end", ["\n", ""])
    def test_the_same_input_is_finished_already(self, tmp_path: Path, form: str, end: str) -> None:
        source, out = self.finished(tmp_path, form, end)
        for blank in ("", "\n", "\r\n\n"):
            source.write_text(source.read_text() + blank, newline="")
            assert shoal.run_stream(source, out, RECIPE).already

    @pytest.mark.parametrize("form", ["csv", "jsonl"])
    @pytest.mark.parametrize("end", ["\n", ""])
    @pytest.mark.parametrize("more", ["{}\n", "7,8\n", " ", "x" * 300_000])
    def test_an_input_that_grew_is_refused(self, tmp_path: Path, form: str, end: str, more: str) -> None:
        source, out = self.finished(tmp_path, form, end)
        before = out.read_bytes()
        source.write_text(source.read_text() + more)
        with pytest.raises(DataError, match="has grown since this stream finished"):
            shoal.run_stream(source, out, RECIPE)
        assert out.read_bytes() == before

    @pytest.mark.parametrize("form", ["csv", "jsonl"])
    def test_an_input_that_was_replaced_or_cut_is_refused(self, tmp_path: Path, form: str) -> None:
        source, out = self.finished(tmp_path, form)
        whole = source.read_text()
        for other in (whole.replace("49", "48"), whole[:-20], whole[:10] + whole):
            source.write_text(other)
            with pytest.raises(DataError, match="is not the input that this stream was started with"):
                shoal.run_stream(source, out, RECIPE)
        source.write_text(whole)
        assert shoal.run_stream(source, out, RECIPE).already
