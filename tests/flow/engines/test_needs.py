"""Disk space and time of a run on disk are known before it starts, from footers and sizes of files."""

from __future__ import annotations

import json
import re
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import shoal
from shoal import progress
from shoal.flow.engines.disk import needs as module
from shoal.flow.engines.disk.needs import Needs, needs_of
from shoal.flow.stages.batches import open_batches
from shoal.flow.stages.table_sizes import estimate_records
from shoal.io.sources.parquet import ParquetBatches
from shoal.locations import place

N = 30_000
NAMES = [f"x{i}" for i in range(6)]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    numbers = {name: np.round(rng.normal(size=N), 2) for name in NAMES}
    return pa.table({**numbers, "job": rng.choice(["cook", "nurse"], N), "who": [f"p{i}" for i in range(N)]})


@pytest.fixture
def source(table: pa.Table, tmp_path: Path) -> Path:
    parquet.write_table(table, tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def needed(source: Path, *, textual: bool = False, **fields: Any) -> Needs:
    recipe = shoal.Recipe(**{"quasi": NAMES, "k": 5, "effort": "fast", **fields})
    return needs_of(open_batches(place(source), recipe), recipe, textual=textual)


def test_what_costs_more(source: Path) -> None:
    fast = needed(source)
    assert fast.records == N
    assert fast.scratch == 2 * N * 8 * 7  # the rows, and the blocks
    assert needed(source, effort="default").scratch == fast.scratch * 3 // 2
    assert needed(source, effort="default").time.cpu > 2 * fast.time.cpu
    assert needed(source, effort="best").time.cpu > 2 * needed(source, effort="default").time.cpu
    for more in ({"subject": "who"}, {"confidential": ["job"], "t": 0.4}, {"quasi": [*NAMES, "job"]}):
        assert needed(source, **more).time.cpu > 1.2 * fast.time.cpu
        assert needed(source, **more).scratch > fast.scratch
    assert needed(source, identifier=["who"]).output < fast.output
    assert needed(source, textual=True).output > fast.output
    assert needed(source, row_order="shuffle", quasi=["x0"]).scratch > needed(source, quasi=["x0"]).scratch


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_records_of_text_are_estimated(table: pa.Table, suffix: str, tmp_path: Path) -> None:
    at = tmp_path / f"in.{suffix}"
    with pa.output_stream(at) as file:
        csv.write_csv(table, file)
    found = estimate_records(open_batches(place(at), shoal.Recipe(quasi=NAMES)))
    assert found == pytest.approx(N, rel=0.05 if suffix == "csv" else 4)


def test_the_scratch_of_a_run_is_no_more_than_estimated(
    source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from shoal.flow.engines.disk.runs import Runs

    sizes: list[int] = []

    def noted(runs: Runs) -> None:
        plain(runs)
        sizes.append(sum(path.stat().st_size for path in tmp_path.rglob("*") if ".scratch." in str(path.parent)))

    plain = Runs.finish
    monkeypatch.setattr(Runs, "finish", noted)
    given = {"quasi": NAMES, "k": 5, "row_order": "keep", "method": "blocks", "set": {"size": 6_000}}
    shoal.protect(source, output=tmp_path / "out.parquet", engine="disk", **given)
    assert max(sizes) == pytest.approx(needed(source, effort="default").scratch, rel=0.1)


def test_a_disk_that_is_too_small_is_refused_before_anything_is_read(
    source: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    monkeypatch.setattr(ParquetBatches, "read", lambda *_: pytest.fail("it is read"))
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 100))
    arguments = ["protect", source, "-o", source.with_name("out.parquet"), "--quasi", ",".join(NAMES)]
    ran = run(*arguments, "--engine", "disk")
    assert ran.code == 5
    said = " ".join(ran.err.split())
    assert re.search(r"a run on disk needs about \d+ MB here, and \d+ MB are free", said)
    assert "set SHOAL_SCRATCH to a folder on another disk" in said
    assert [path.name for path in source.parent.iterdir()] == ["in.parquet"]


def test_two_disks_are_looked_at_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def usage(at: Path) -> Usage:
        asked.append(at)
        return Usage(0, 0, 6 if at == tmp_path else 10**15)

    monkeypatch.setattr(module.shutil, "disk_usage", usage)
    wants = Needs(1, 5, 5, needs_time())
    with pytest.raises(shoal.EngineError):
        module.refuse_full_disk(wants, tmp_path / "out.parquet")
    monkeypatch.setenv("SHOAL_SCRATCH", "/proc")  # another file system
    module.refuse_full_disk(wants, tmp_path / "out.parquet")
    assert asked == [tmp_path, tmp_path, Path("/proc")]


def needs_time() -> Any:
    from shoal.flow.plan.estimate import Estimate

    return Estimate(1.0, 1.0)


class Told:
    """A listener that records the announced work, and how far each stage came."""

    def __init__(self) -> None:
        self.expected: list[tuple[float, int]] = []
        self.stages: dict[str, list[tuple[int, int]]] = {}

    def stage(self, name: str) -> None:
        self.stages[name] = []

    def report(self, done: int, total: int) -> None:
        list(self.stages.values())[-1].append((done, total))

    def say(self, text: str) -> None: ...

    def finished(self, text: str) -> None: ...

    def expect(self, seconds: float, disk: int) -> None:
        self.expected.append((seconds, disk))


def test_time_and_disk_are_announced(source: Path, tmp_path: Path) -> None:
    told = Told()
    with progress.listening(told):
        shoal.protect(source, quasi=NAMES, k=5, effort="fast", output=tmp_path / "out.parquet", engine="disk")
    found = needed(source)
    assert told.expected == [(found.time.wall, found.disk)]


@pytest.mark.parametrize("order", ["keep", "shuffle"])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_the_bar_moves_while_the_output_is_written_and_audited(
    order: str, suffix: str, source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from shoal.flow.engines.disk import output
    from shoal.flow.stages import parts
    from shoal.flow.stages.batch_tables import BatchReader

    monkeypatch.setattr(BatchReader.read, "__defaults__", (None, 7_000))
    monkeypatch.setattr(output, "_BUCKET", 10_000)
    monkeypatch.setattr(parts, "_ROWS", 10_000)
    monkeypatch.setattr(parts, "_MOST", 3)
    monkeypatch.setattr(parts, "resident", lambda: 10**12)
    told = Told()
    given = {"quasi": ["x0", "x1"], "k": 5, "method": "blocks", "effort": "fast", "row_order": order}
    with progress.listening(told):
        shoal.protect(source, output=tmp_path / f"out.{suffix}", engine="disk", memory="1MB", **given)
    for stage in ("Write", "Audit"):
        seen = told.stages[stage]
        assert len(seen) >= 5, stage
        assert [done for done, _ in seen] == sorted({done for done, _ in seen}), stage
        assert seen[-1][0] == seen[-1][1], stage
    assert told.stages["Write"][-1] == (N * (2 if order == "shuffle" else 1),) * 2


# --- dry runs


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to read more of a file than its first rows."""
    plain = ParquetBatches.read

    def read(file: ParquetBatches, columns: Any, rows: int) -> Any:
        assert rows <= 10_000
        for number, table in enumerate(plain(file, columns, rows)):
            assert number == 0
            yield table

    monkeypatch.setattr(ParquetBatches, "read", read)


@pytest.mark.usefixtures("few_rows")
def test_a_dry_run_prints_the_plan_without_reading_the_file(source: Path, run: Callable[..., Any]) -> None:
    arguments = ["protect", source, "-o", source.with_name("out.parquet"), "--quasi", ",".join(NAMES), "--k", 5]
    arguments += ["--method", "blocks", "--set", "size=6000", "--memory", "1MB", "--dry-run"]
    ran = run(*arguments)
    assert ran.code == 0, ran.err
    assert "disk, in 5 blocks with effort default" in ran.out
    assert re.search(r"30,000 records\. This takes less than a second and \d+ MB of disk on this machine", ran.out)
    found = json.loads(run(*arguments, "--json").out)
    assert found["disk_bytes"] == needed(source, effort="default").disk
    assert found["columns"]["job"]["kind"] == "nominal"
    assert [path.name for path in source.parent.iterdir()] == ["in.parquet"]


@pytest.mark.usefixtures("few_rows")
def test_a_dry_run_of_a_folder(table: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    parquet.write_table(table, tmp_path / "in" / "a.parquet")
    found = shoal.plan(tmp_path / "in", quasi=NAMES, confidential=["job"], t=0.4, output=f"{tmp_path}/out/")
    (refusal,) = found.refusals
    assert "tables and strata must have 1,000,000 records or more, got 30,000" in refusal
    assert "as one file (--engine memory)" in refusal  # a folder is never protected in memory
    found = shoal.plan(tmp_path / "in", quasi=NAMES, confidential=["job"], output=f"{tmp_path}/out/")
    assert found.refusals == ()
    assert found.records == N
    assert found.decisions[0][1].startswith("disk, in 1 block")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    found = shoal.plan(tmp_path / "in", quasi=NAMES, output=f"{tmp_path}/out/", force=True)
    assert found.exit_code == 2
    assert "must hold only tables" in found.refusals[0]


@pytest.mark.usefixtures("few_rows")
def test_a_dry_run_collects_refusals(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 100))
    found = shoal.plan(
        source, quasi=NAMES, k=N + 1, method="mdav", output=tmp_path / "out.parquet", engine="disk", memory="1GB"
    )
    assert found.exit_code == 2
    assert found.seconds is None
    assert any("method must be auto or blocks" in one for one in found.refusals)
    assert any("k must be at most the number of records" in one for one in found.refusals)
    assert any("are free" in one for one in found.refusals)
    with pytest.raises(shoal.ParameterError, match="memory cannot be given with a frame"):
        shoal.plan(parquet.read_table(source), quasi=NAMES, memory="1GB")


def test_a_dry_run_of_text(table: pa.Table, tmp_path: Path) -> None:
    csv.write_csv(table, tmp_path / "in.csv")
    found = shoal.plan(tmp_path / "in.csv", quasi=NAMES, identifier=["who"], k=5, engine="disk")
    assert found.refusals == ()
    assert found.records == pytest.approx(N, rel=0.05)
    assert {str(found.schema[name].kind) for name in NAMES} == {"continuous"}
