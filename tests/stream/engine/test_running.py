"""From file to file: every record is in the output once, dropped, or dead; and every class is one."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import DataError, GuaranteeError, ParameterError
from shoal.stream.recipe.recipe import StreamRecipe

RECIPE = {"quasi": ["a", "b"], "bounds": {"a": [0, 100], "b": [0, 1]}, "k": 5, "delay": 30, "identifier": ["name"]}


def tuples(count: int, seed: int = 0) -> list[dict]:
    rng = np.random.default_rng(seed)
    return [
        {"name": f"n{i}", "a": round(float(rng.random() * 100), 3), "b": float(rng.random()), "pay": i}
        for i in range(count)
    ]


def write(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(left: list[dict], k: int = 5) -> None:
    """Every class has k tuples and one combination, and left in one piece."""
    assert all("name" not in one for one in left)
    sizes = Counter(one["class"] for one in left)
    assert min(sizes.values(), default=k) >= k
    assert [one["class"] for one in left] == sorted(one["class"] for one in left)
    assert len({(one["class"], one["a"], one["b"]) for one in left}) == len(sizes)


def test_from_file_to_file(tmp_path: Path) -> None:
    records = tuples(1003)
    write(tmp_path / "in.jsonl", records)
    done = shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    left = read(tmp_path / "out.jsonl")
    check(left)
    assert sorted(one["pay"] for one in left) == list(range(1003))
    assert done.finished
    assert (done.counts.tally.read, done.counts.tally.released, done.counts.waiting) == (1003, 1003, 0)
    assert done.counts.delay[2] <= 30
    mean = np.mean([one["a"] for one in left])
    assert mean == pytest.approx(np.mean([one["a"] for one in records]))


def test_again_says_that_it_is_finished(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", tuples(100))
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    before = (tmp_path / "out.jsonl").read_bytes()
    done = shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    assert (done.finished, done.already, done.counts.tally.released) == (True, True, 100)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_csv(tmp_path: Path) -> None:
    records = tuples(200)
    with (tmp_path / "in.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["name", "a", "pay", "b"], lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(records)
    shoal.run_stream(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE)
    with (tmp_path / "out.csv").open(newline="") as file:
        left = list(csv.DictReader(file))
    assert list(left[0]) == ["a", "pay", "b", "class"]
    assert sorted(int(one["pay"]) for one in left) == list(range(200))
    check([{**one, "class": int(one["class"])} for one in left])


def test_bad_records_are_letters_and_the_stream_goes_on(tmp_path: Path) -> None:
    records = [json.dumps(one).encode() for one in tuples(100)]
    bad = [b"no", b"{}", b'{"a": "x", "b": 1}', b'{"a": NaN, "b": 1}', b'{"b": 1}', b'"\xff"', b"x" * 3_000_000, b"[1]"]
    lines = [
        line for i, one in enumerate(records) for line in ([bad[i // 10], one] if i % 10 == 0 and i < 80 else [one])
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    done = shoal.run_stream(
        tmp_path / "in.jsonl",
        tmp_path / "out.jsonl",
        RECIPE,
        dead=tmp_path / "dead.jsonl",
        dead_payload=True,
        longest=9999,
    )
    assert (done.counts.tally.read, done.counts.tally.released, done.counts.tally.dead) == (108, 100, 8)
    letters = read(tmp_path / "dead.jsonl")
    assert [letter["position"] for letter in letters] == [lines.index(one) for one in bad]
    whole = (tmp_path / "in.jsonl").read_bytes()
    for letter, one in zip(letters, bad, strict=True):
        assert whole[letter["place"] :].startswith(one)
        assert letter["reason"].endswith(".")
        assert "payload_base64" in letter if one == b'"\xff"' else letter["payload"].encode() == one[:10_000]


def test_reasons_are_told_with_how_many_and_the_most_frequent_first(tmp_path: Path) -> None:
    good = [json.dumps(one) for one in tuples(20)]
    many = [json.dumps({"n": i}) for i in range(7)]
    (tmp_path / "in.jsonl").write_text("\n".join(["not a tuple", *good, *many]) + "\n")
    done = shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    assert list(done.counts.reasons.values()) == [7, 1]
    assert done.to_dict()["reasons"] == done.counts.reasons
    assert not any("not a tuple" in reason for reason in done.counts.reasons)


def test_letters_hold_no_record_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("31415926\n")
    recipe = {**RECIPE, "max_rejected": 1}
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", recipe, dead=tmp_path / "dead.jsonl")
    assert "31415926" not in (tmp_path / "dead.jsonl").read_text()


@pytest.mark.parametrize(("name", "value"), [("k", 6), ("delay", 31), ("identifier", ["pay"]), ("order_weight", 0.1)])
def test_another_promise_is_refused(tmp_path: Path, name: str, value: object) -> None:
    write(tmp_path / "in.jsonl", tuples(100))
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    before = (tmp_path / "out.jsonl").read_bytes()
    with pytest.raises(DataError, match=f"started with another {name}"):
        shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", {**RECIPE, name: value}, force=True)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_outputs_that_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", tuples(20))
    (tmp_path / "out.jsonl").write_text("precious\n")
    (tmp_path / "hard.jsonl").hardlink_to(tmp_path / "in.jsonl")
    (tmp_path / "soft.jsonl").symlink_to(tmp_path / "in.jsonl")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for target, dead in (
        ("out.jsonl", None),
        ("in.jsonl", None),
        ("hard.jsonl", None),
        ("soft.jsonl", None),
        ("new.jsonl", "in.jsonl"),
        ("new.jsonl", "new.jsonl"),
        ("new.jsonl", "./new.jsonl"),
        ("new.jsonl", "hard.jsonl"),
        ("new.jsonl", "out.jsonl"),
    ):
        letters = None if dead is None else f"{tmp_path}/{dead}"
        with pytest.raises(ParameterError):
            shoal.run_stream(tmp_path / "in.jsonl", tmp_path / target, RECIPE, dead=letters)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE, force=True)
    assert (tmp_path / "out.jsonl.old").read_text() == "precious\n"


def test_an_output_that_was_changed_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", tuples(100))
    out = tmp_path / "out.jsonl"
    shoal.run_stream(tmp_path / "in.jsonl", out, RECIPE)
    whole = out.read_bytes()
    for change, said in (
        (whole[:-1], "some were removed"),
        (b"", "some were removed"),
        (whole + b"x", "does not record"),
    ):
        out.write_bytes(change)
        with pytest.raises(DataError, match=said):
            shoal.run_stream(tmp_path / "in.jsonl", out, RECIPE)
        assert out.read_bytes() == change


def test_two_runs_do_not_share_an_output(tmp_path: Path) -> None:
    import fcntl

    write(tmp_path / "in.jsonl", tuples(10))
    with (tmp_path / "out.jsonl").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ParameterError, match="another run is writing to it"):
            shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)


def test_a_class_that_fails_the_gate_does_not_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.stream.wire.jsonl import Jsonl

    real, calls = Jsonl.render, []

    def broken(self: Jsonl, bodies: list, values: dict, number: int) -> list[bytes]:
        calls.append(number)
        rendered = real(self, bodies, values, number)
        return rendered if number < 7 else [*rendered[:-1], rendered[-1].replace(b'"a":', b'"a":1')]

    monkeypatch.setattr(Jsonl, "render", broken)
    write(tmp_path / "in.jsonl", tuples(300))
    with pytest.raises(GuaranteeError, match="class 7 "):
        shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    monkeypatch.undo()
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE)
    left = read(tmp_path / "out.jsonl")
    check(left)
    assert sorted(one["pay"] for one in left) == list(range(300))


def test_subjects(tmp_path: Path) -> None:
    records = [{**one, "pid": i // 3} for i, one in enumerate(tuples(300))]
    write(tmp_path / "in.jsonl", records)
    recipe = {**RECIPE, "subject": "pid", "delay": 60}
    done = shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", recipe)
    subjects = {i: i // 3 for i in range(300)}
    classes: dict[int, set[int]] = {}
    for one in read(tmp_path / "out.jsonl"):
        assert "pid" not in one
        classes.setdefault(one["class"], set()).add(subjects[one["pay"]])
    assert min(map(len, classes.values())) >= 5
    assert done.counts.tally.released + done.counts.tally.dropped == 300


@pytest.mark.parametrize("more", [{"require": {"l_distinct": 3}}, {"t": 0.4, "categories": {"ill": list("xyz")}}])
def test_demands_hold_also_across_a_stop(tmp_path: Path, more: dict) -> None:
    rng = np.random.default_rng(1)
    records = [{**one, "ill": "xyz"[int(rng.integers(3))]} for one in tuples(600)]
    recipe = {**RECIPE, "confidential": ["ill"], "delay": 80, "method": "look_ahead", **more}
    write(tmp_path / "in.jsonl", records)
    write(tmp_path / "half.jsonl", records)
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "whole.jsonl", recipe)
    stops: list[float] = []

    def stop(now: object) -> None:
        stops.append(1.0)
        if len(stops) == 2:
            signal.raise_signal(signal.SIGTERM)

    stopped = shoal.run_stream(tmp_path / "half.jsonl", tmp_path / "out.jsonl", recipe, rate=600, watch=stop)
    assert not stopped.finished
    assert stopped.counts.tally.released > 0
    done = shoal.run_stream(tmp_path / "half.jsonl", tmp_path / "out.jsonl", recipe)
    assert done.finished
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    classes: dict[int, set[str]] = {}
    for one in read(tmp_path / "out.jsonl"):
        classes.setdefault(one["class"], set()).add(one["ill"])
    assert min(map(len, classes.values())) >= (3 if "require" in more else 1)


def test_a_table_is_replayed(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(tuples(150)), tmp_path / "in.parquet")
    for out in ("out.jsonl", "out.csv"):
        done = shoal.run_stream(tmp_path / "in.parquet", tmp_path / out, RECIPE)
        assert done.counts.tally.released == 150
    check(read(tmp_path / "out.jsonl"))
    found = shoal.replay(tmp_path / "in.parquet", RECIPE, delays=[10, 30, 100])
    assert [one.delay for one in found] == [10, 30, 100]
    assert found[1].loss == pytest.approx(done.counts.loss)
    assert found[0].loss > found[2].loss
    assert min(Counter(found[0].labels[found[0].labels >= 0].tolist()).values()) >= 5


def test_a_rate_is_kept(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", tuples(100))
    began = time.monotonic()
    shoal.run_stream(tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE, rate=200)
    assert time.monotonic() - began > 0.4


def test_metrics_and_watching(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", tuples(200))
    said: list[str] = []
    pages: list[str] = []

    def watch(now: object) -> None:
        with urllib.request.urlopen(said[0].removeprefix("Metrics: ")) as answer:
            pages.append(answer.read().decode())

    shoal.run_stream(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", RECIPE, metrics=":0", watch=watch, say=said.append, rate=400
    )
    lines = pages[-1].splitlines()
    assert "shoal_released_total 200" in lines
    assert "# TYPE shoal_released_total counter" in lines
    assert 'shoal_delay_tuples{quantile="1"}' in pages[-1]
    values = [float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")]
    assert all(np.isfinite(values))


def start(folder: Path, *more: str, **options: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "shoal", "stream", *more, "--quasi", "a,b", "--bounds", "a=0:100,b=0:1"]
    command += ["--k", "5", "--delay", "30", "--identifier", "name"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]


def test_a_pipe_that_stalls_expires_by_seconds_and_stops_when_told(tmp_path: Path) -> None:
    records = "".join(json.dumps(one) + "\n" for one in tuples(12)).encode()
    process = start(tmp_path, "-", "-o", "out.jsonl", "--delay-seconds", "0.2", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(records)
    process.stdin.flush()
    began = time.monotonic()
    while time.monotonic() - began < 60 and not ((tmp_path / "out.jsonl").exists() and read(tmp_path / "out.jsonl")):
        time.sleep(0.05)
    check(read(tmp_path / "out.jsonl"))
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    _, err = process.communicate()
    assert process.returncode == 143, err
    for given, code in ((b"x" + records[1:], 3), (records[:100], 3), (records, 0)):
        again = start(tmp_path, "-", "-o", "out.jsonl", "--delay-seconds", "0.2", stdin=subprocess.PIPE)
        _, err = again.communicate(given, timeout=60)
        assert again.returncode == code, err
    assert len(read(tmp_path / "out.jsonl")) == 12  # the last two were too few for a class, and joined the last one


def test_standard_output_has_no_journal_and_says_so(tmp_path: Path) -> None:
    process = start(tmp_path, "-", stdin=subprocess.PIPE)
    out, err = process.communicate("".join(json.dumps(one) + "\n" for one in tuples(50)).encode(), timeout=60)
    assert process.returncode == 0
    check([json.loads(line) for line in out.decode().splitlines()])
    assert b"no journal" in err
    assert os.listdir(tmp_path) == []
    assert StreamRecipe.from_dict(RECIPE).k == 5
