"""Lazy frames and Arrow streams as input of every verb, and a release as a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.io.sources._arrow_stream import in_memory

COLUMNS = {"age": [31, 33, 62, 60, 35, 61, 32, 63], "ill": list("abababab")}
PEOPLE = pa.table(COLUMNS)
RECIPE = {"quasi": ["age"], "confidential": ["ill"], "k": 4}
SECRET = "Zyxomma"


class Capsule:
    """Something that is nothing but an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return PEOPLE.__arrow_c_stream__(requested_schema)


def relation() -> Any:
    people = PEOPLE
    assert people is not None
    return duckdb.connect().from_arrow(people)


STREAMS: dict[str, Callable[[], Any]] = {
    "reader": PEOPLE.to_reader,
    "batch": lambda: PEOPLE.to_batches()[0],
    "relation": relation,
    "lazy": lambda: pl.LazyFrame(COLUMNS),
    "capsule": Capsule,
}
KINDS: dict[str, type] = {"lazy": pl.DataFrame}


@pytest.mark.parametrize("kind", STREAMS)
def test_every_verb_takes_it(kind: str) -> None:
    make = STREAMS[kind]
    done = shoal.protect(make(), RECIPE)
    assert isinstance(done.data, KINDS.get(kind, pa.Table))
    expected = shoal.protect(PEOPLE, RECIPE)
    assert pa.table(done).to_pydict() == pa.table(expected).to_pydict()
    assert shoal.plan(make(), RECIPE).records == 8
    assert shoal.audit(make(), ["age"]).to_dict() == shoal.audit(PEOPLE, ["age"]).to_dict()
    assert shoal.inspect(make()).to_dict() == shoal.inspect(PEOPLE).to_dict()
    assert shoal.compare(make(), done.data, ["age"]).to_dict() == shoal.compare(PEOPLE, done.data, ["age"]).to_dict()
    assert shoal.attack(make(), [done.data], RECIPE, only=["linkage"])["linkage"].records == 8
    tried: dict[str, Any] = {"quasi": ["age"], "methods": ["mdav"], "k": [4], "effort": ["none"]}
    assert shoal.explore(make(), **tried).to_dict() == shoal.explore(PEOPLE, **tried).to_dict()


def test_evidence_of_a_stream(tmp_path: Any) -> None:
    done = shoal.protect(PEOPLE.to_reader(), RECIPE)
    done.evidence(tmp_path / "e.json", receipt=tmp_path / "r.json")
    found = shoal.verify(tmp_path / "e.json", done, PEOPLE.to_reader(), receipt=tmp_path / "r.json")
    assert found.holds


def test_a_stream_is_replayed() -> None:
    recipe = {"quasi": ["age"], "bounds": {"age": (0, 120)}, "k": 2, "delay": 4}
    assert shoal.replay(PEOPLE.to_reader(), recipe)[0].loss == shoal.replay(PEOPLE, recipe)[0].loss


@pytest.mark.parametrize("frame", [PEOPLE, pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)])
def test_frames_stay_as_they_are(frame: Any) -> None:
    assert in_memory(frame) is frame


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), PEOPLE])
def test_a_release_is_a_stream(frame: Any) -> None:
    done = shoal.protect(frame, RECIPE)
    expected = {"age": list(done.data["age"]), "ill": list(done.data["ill"])}
    if isinstance(done.data, pa.Table):
        expected = done.data.to_pydict()
    assert pl.DataFrame(done).to_dict(as_series=False) == expected
    counted = duckdb.connect().from_arrow(pa.RecordBatchReader.from_stream(done)).aggregate("count(*)").fetchall()
    assert counted == [(8,)]


def test_a_stream_holds_only_categories_that_occur() -> None:
    work = pl.Series("work", [f"{SECRET}1", f"{SECRET}2", *["nurse", "cook"] * 4], pl.Categorical)
    frame = pl.DataFrame({"age": [None, None, *COLUMNS["age"]], "work": work})
    done = shoal.protect(frame, quasi=["age"], k=4, when_missing="exclude")
    assert len(done.data) == 8
    held = pa.table(done)["work"].unify_dictionaries().chunk(0)
    assert not any(SECRET in name for name in held.dictionary.to_pylist())


def test_a_stream_from_disk(tmp_path: Any) -> None:
    shoal.write_table(shoal.survey(400), tmp_path / "people.parquet")
    recipe = {"quasi": ["birth", "income"], "identifier": ["person"], "k": 5}
    done = shoal.protect(tmp_path / "people.parquet", recipe, output=tmp_path / "safe.parquet", engine="disk")
    assert pa.table(done).num_rows == 400


def test_columns_that_arrow_cannot_hold_are_named() -> None:
    done = shoal.protect(pd.DataFrame({"age": COLUMNS["age"], "odd": [object()] * 8}), quasi=["age"], k=4)
    with pytest.raises(shoal.DataError, match="Arrow cannot hold the columns odd"):
        pa.table(done)


def test_a_failing_query_is_told_without_its_values() -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{SECRET}' AS name")
    bad = connection.sql("SELECT CAST(name AS INTEGER) AS age FROM t")
    lazy = pl.LazyFrame({"name": [SECRET]}).select(age=pl.col("name").cast(pl.Int64, strict=True))
    for stream in (bad, lazy):
        with pytest.raises(shoal.DataError, match="cannot be read as a table") as raised:
            shoal.protect(stream, quasi=["age"], k=2)
        assert SECRET not in str(raised.value)
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None


def test_a_reader_that_was_read_before() -> None:
    reader = PEOPLE.to_reader()
    reader.read_all()
    with pytest.raises(shoal.DataError, match=r"has no rows.*make a new one"):
        shoal.audit(reader, ["age"])


@pytest.mark.parametrize("other", [pl.Series([1]), pa.chunked_array([[1]]), {"a": [1]}, 3])
def test_anything_else_is_refused(other: Any) -> None:
    with pytest.raises(shoal.ParameterError, match=r"Frame: must be a pandas\.DataFrame"):
        shoal.audit(other, ["a"])


def test_a_spark_frame_stays_on_its_cluster() -> None:
    far = type("DataFrame", (), {"__arrow_c_stream__": lambda self, schema=None: None, "__module__": "pyspark.sql"})
    with pytest.raises(shoal.ParameterError, match=r"got pyspark.DataFrame. Use shoal.spark"):
        shoal.audit(far(), ["age"])
