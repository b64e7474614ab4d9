"""The Spark engine releases the rows of the disk engine and finds the same audit, however rows are divided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
import shoal.spark
from shoal.partition import auto

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N = 2_000


def people(seed: int = 0, n: int = N) -> pa.Table:
    """Return a table with a column of every kind that Spark has; many of its rows have equal quasi-identifiers."""
    rng = np.random.default_rng(seed)
    copied = rng.integers(0, n // 3, n)
    job = pa.array(["cook", "nurse", "smith", "baker", "clerk"]).take(pa.array(rng.integers(0, 5, n)))
    return pa.table(
        {
            "a": np.round(rng.normal(size=n), 4),
            "b": np.round(rng.normal(size=n), 4),
            "few": np.round(rng.normal(size=n), 1)[copied],
            "whole": rng.integers(0, 40, n)[copied],
            "day": pa.array(rng.integers(0, 20_000, n), pa.int32()).cast(pa.date32()),
            "job": job,
            "gaps": pa.array(np.round(rng.normal(size=n), 2), mask=rng.random(n) < 0.1),
            "region": pa.array(["north", "south"]).take(pa.array(rng.integers(0, 2, n))),
            "w": np.round(rng.uniform(0.1, 3.0, n), 3),
            "who": pa.array([f"person {i}" for i in rng.integers(0, 2 * n // 3, n)]),
            "pay": rng.integers(0, 50, n),
            "note": pa.array([f"note {i % 7}" for i in range(n)]),
        }
    )


SCENARIOS: dict[str, dict[str, Any]] = {
    "fast": {"quasi": ["a", "b"], "effort": "fast"},
    "default": {"quasi": ["a", "b"]},
    "equal records": {"quasi": ["few", "whole"]},
    "mixed": {"quasi": ["few", "job", "day"], "effort": "fast"},
    "gaps": {"quasi": ["a", "gaps"], "effort": "fast"},
    "places": {"quasi": ["a", "gaps", "b"], "effort": "fast", "coordinates": [["a", "gaps"]]},
    "excluded": {"quasi": ["a", "gaps"], "effort": "fast", "when_missing": "exclude"},
    "people": {"quasi": ["a", "b"], "effort": "fast", "subject": "who"},
    "weights": {"quasi": ["a", "b"], "effort": "fast", "weight": "w"},
    "no weights": {"quasi": ["a", "job"], "effort": "fast", "weight": "w", "release_weight": "none"},
    "strata": {"quasi": ["a", "b"], "effort": "fast", "strata": ["region"]},
    "t": {"quasi": ["a", "b"], "effort": "fast", "t": 0.3},
    "t in strata": {"quasi": ["a", "b"], "effort": "fast", "t": 0.35, "strata": ["region"]},
    "diverse": {"quasi": ["few", "job"], "effort": "fast", "require": {"l_distinct": 3}},
}


def recipe(name: str) -> dict[str, Any]:
    """Return the fields of a scenario; the name of a person is removed, if people are not counted."""
    fields = {"confidential": ["pay"], "k": 4, **SCENARIOS[name]}
    return fields if "subject" in fields else {**fields, "identifier": ["who"]}


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables of some hundred records be partitioned in several blocks; the driver decides it."""
    from shoal.partition import blocks

    monkeypatch.setattr(auto, "LARGE", 600)
    monkeypatch.setattr(
        blocks.Blocks,
        "__init__",
        _with_size(blocks.Blocks.__init__, 250),  # type: ignore[misc]
    )


def _with_size(made: Any, size: int) -> Any:
    def init(self: Any, *args: Any, **given: Any) -> None:
        made(self, *args, **{"size": size, **given})

    return init


def on_disk(table: pa.Table, fields: dict[str, Any], folder: Path) -> shoal.Protected:
    """Protect a table by the disk engine."""
    parquet.write_table(table, folder / "in.parquet")
    more = {"row_order": "shuffle"}
    return shoal.protect(folder / "in.parquet", {**fields, **more}, output=f"{folder}/disk/", engine="disk")


def rows_of(frame: Any) -> pa.Table:
    """Return the rows of a table or DataFrame in the order of their cells."""
    data = frame.toArrow() if hasattr(frame, "toArrow") else frame
    return data.sort_by([(name, "ascending") for name in data.column_names])


QUICK = ("default", "mixed", "people")
ALL = [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in SCENARIOS]


@pytest.mark.parametrize("name", ALL)
def test_the_engines_agree(name: str, spark: Any, folder: Path) -> None:
    table, fields = people(), recipe(name)
    disk = on_disk(table, fields, folder)
    frame = spark.createDataFrame(table).repartition(3)
    done = shoal.spark.protect(frame, fields, scratch=folder / "scratch", output=folder / "safe")
    found, wanted = rows_of(done.data), rows_of(disk.data.to_table())
    assert found.column_names == wanted.column_names
    assert found.to_pylist() == wanted.to_pylist()
    assert done.audit.to_dict() == disk.audit.to_dict()
    assert done.readings["sse"] == disk.readings["sse"]
    assert done.left_out == disk.left_out
    assert done.partition.note == disk.partition.note
    assert sorted(path.name for path in folder.iterdir()) == ["disk", "in.parquet", "safe", "scratch"]
    assert list((folder / "scratch").iterdir()) == []
    assert not [path.name for path in (folder / "safe").iterdir() if "crc" in path.name or "SUCCESS" in path.name]


@pytest.mark.long
@pytest.mark.parametrize("name", ["default", "equal records", "mixed", "people", "t"])
def test_rows_do_not_depend_on_partitions(name: str, spark: Any, folder: Path) -> None:
    table, fields = people(1), recipe(name)
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(N)))
    found = []
    for count, data in ((1, table), (2, shuffled), (7, table)):
        frame = spark.createDataFrame(data).repartition(count)
        done = shoal.spark.protect(frame, fields, scratch=folder / "scratch")
        found.append(rows_of(done.data).to_pylist())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "name", ["mixed", *(pytest.param(one, marks=pytest.mark.long) for one in ("fast", "equal records"))]
)
def test_an_exchange_within_a_class_changes_no_byte(name: str, spark: Any, folder: Path) -> None:
    table, fields = people(2), recipe(name)
    disk = shoal.protect(table, {**fields, "row_order": "keep"}, k=4)
    labels, quasi = disk.partition.labels, fields["quasi"]
    rows = np.arange(N)
    for label in np.unique(labels)[::3]:
        inside = np.flatnonzero(labels == label)
        rows[inside] = np.roll(inside, 1)
    moved = [*quasi, "who"]
    exchanged = table
    for column in moved:
        at = table.schema.get_field_index(column)
        exchanged = exchanged.set_column(at, column, table.column(column).take(pa.array(rows)))
    assert not exchanged.equals(table)
    contents = []
    for number, data in enumerate((table, exchanged)):
        parquet.write_table(data, folder / f"{number}.parquet")
        frame = spark.read.parquet(str(folder / f"{number}.parquet"))
        out = folder / f"out-{number}"
        shoal.spark.protect(frame, fields, scratch=folder / "scratch", output=out)
        contents.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert contents[0] == contents[1]


@pytest.mark.long
def test_every_pass_sees_the_same_rows_of_a_query_that_changes(spark: Any, folder: Path) -> None:
    from pyspark.sql import functions as f

    frame = spark.range(1_500).select(f.rand().alias("a"), f.rand().alias("b"), (f.rand() * 9).cast("int").alias("pay"))
    done = shoal.spark.protect(frame, quasi=["a", "b"], confidential=["pay"], k=4, scratch=folder)
    assert done.data.count() == 1_500
    assert done.audit.overall.achieved >= 4


@pytest.mark.long
def test_catalog_tables(spark: Any, folder: Path) -> None:
    fields = recipe("fast")
    spark.createDataFrame(people()).write.mode("overwrite").saveAsTable("people")
    frame = spark.table("people")
    done = shoal.spark.protect(frame, fields, scratch="scratch", output="safe")
    rows = rows_of(done.data)
    again = shoal.spark.protect(frame, fields, scratch=folder, output="safe", force=True)
    assert rows_of(spark.table("safe")).equals(rows)
    assert again.audit.to_dict() == done.audit.to_dict()
    with pytest.raises(shoal.ParameterError, match="safe: the table exists"):
        shoal.spark.protect(frame, fields, scratch=folder, output="safe")
    assert {one.name for one in spark.catalog.listTables()} == {"people", "safe"}


@pytest.mark.long
def test_an_object_store_gets_its_manifest_last(spark: Any, folder: Path) -> None:
    from shoal.flow.engines.spark.protect import protect_on_spark
    from shoal.flow.engines.spark.publish import StoreFolder
    from shoal.flow.engines.spark.scratch import FolderScratch

    frame = spark.createDataFrame(people())
    into = StoreFolder(f"file://{folder}/safe")
    done = protect_on_spark(frame, shoal.Recipe(**recipe("fast")), into, FolderScratch(spark, folder / "scratch"))
    said = json.loads(spark.read.text(f"{folder}/safe/_manifest").collect()[0].value)
    assert said["records"] == N == done.data.count()
    assert len(said["files"]) == len(list((folder / "safe").glob("*.parquet")))


def test_report_and_evidence_come_with_the_output(spark: Any, folder: Path) -> None:
    frame, fields = spark.createDataFrame(people()), recipe("people")
    files = {"report": folder / "r.html", "evidence": folder / "e.json", "save_recipe": folder / "r.toml"}
    shoal.spark.protect(frame, fields, scratch=folder / "scratch", output=folder / "safe", **files)
    assert "2,000" in (folder / "r.html").read_text()
    whole = shoal.verify(folder / "e.json", folder / "safe")
    assert whole.holds
    found = shoal.spark.verify(folder / "e.json", spark.read.parquet(str(folder / "safe")))
    assert found.holds
    assert {one.claim: one.verdict for one in found.checks if "released file" not in one.claim} == {
        one.claim: one.verdict for one in whole.checks if "safe" not in one.claim
    }
    changed = spark.read.parquet(str(folder / "safe")).limit(N - 3)
    assert not shoal.spark.verify(folder / "e.json", changed).holds


def test_any_frame_is_audited_and_attacked(spark: Any) -> None:
    table = people(3)
    frame = spark.createDataFrame(table)
    asked = {"quasi": ["few", "job"], "confidential": ["pay"], "subject": "who"}
    expected = shoal.audit(table, **asked)
    assert shoal.spark.audit(frame, **asked).to_dict() == expected.to_dict()
    with pytest.raises(shoal.SchemaError, match="age"):
        shoal.spark.audit(frame, quasi=["age"])
    found = shoal.spark.attack(frame, frame, recipe("mixed"))
    assert found["homogeneity"].verdict != "not_run"
    assert found["unique_columns"].succeeded
    assert "rows have no order" in found["linkage"].sentence


def test_only_short_rows_come_in_batches_of_any_size(spark: Any) -> None:
    from shoal.flow.engines.spark.frames import batches_by_rows

    key = "spark.sql.execution.arrow.maxBytesPerBatch"
    usual = spark.conf.get(key, None)
    numbers = spark.createDataFrame([(1, 2.0)], "a long, b double")
    with batches_by_rows(numbers):
        assert spark.conf.get(key) == str(2**31 - 1)
    assert spark.conf.get(key, None) == usual
    with batches_by_rows(numbers.selectExpr("a", "cast(b as string) as b")):
        assert spark.conf.get(key, None) == usual
