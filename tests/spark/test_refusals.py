"""The Spark engine fails closed: nothing is published, and nothing is left, unless the written rows pass the audit."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
import shoal.spark
from shoal.flow.engines.spark import publish

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FIELDS: dict[str, Any] = {"quasi": ["a", "b"], "confidential": ["pay"], "k": 4, "effort": "fast"}


def people(n: int = 300) -> pa.Table:
    """Return a small table."""
    rng = np.random.default_rng(0)
    return pa.table({"a": rng.integers(0, 90, n), "b": np.round(rng.normal(size=n), 2), "pay": rng.integers(0, 50, n)})


def _lost(frame: Any) -> Any:
    return frame.limit(frame.count() - 1)


def _twice(frame: Any) -> Any:
    return _lost(frame).union(_lost(frame).limit(1))


def _apart(frame: Any) -> Any:
    from pyspark.sql import functions as f

    last = frame.agg(f.max("pay")).collect()[0][0]
    return frame.withColumn("a", f.when(f.col("pay") == last, f.lit(91)).otherwise(f.col("a")))


def _other_pay(frame: Any) -> Any:
    from pyspark.sql import functions as f

    return frame.withColumn("pay", f.col("pay") + 1)


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        pytest.param(_lost, "299 rows, but 300 were released", marks=pytest.mark.long),
        (_twice, "lost, repeated or changed|found less than was promised"),
        pytest.param(_other_pay, "lost, repeated or changed", marks=pytest.mark.long),
        (_apart, "found less than was promised"),
    ],
)
def test_rows_that_change_on_their_way_are_not_published(
    break_it: Any, said: str, spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = publish.Folder.staged

    @contextmanager
    def broken(self: Any, frame: Any, scratch: Any) -> Any:
        with plain(self, break_it(frame), scratch) as staged:
            yield staged

    monkeypatch.setattr(publish.Folder, "staged", broken)
    frame = spark.createDataFrame(people())
    with pytest.raises(shoal.GuaranteeError, match=said):
        shoal.spark.protect(frame, FIELDS, scratch=folder / "scratch", output=folder / "safe")
    assert [path.name for path in folder.iterdir()] == ["scratch"]
    assert list((folder / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"row_order": "keep"}, "rows have no order in Spark"),
        ({"together": "pay", "confidential": []}, "together is not supported"),
        ({"attacker": "table"}, "attacker must be 'algorithm'"),
        ({"method": "mdav"}, "method must be auto or blocks"),
        ({"release": "medoid"}, "release must be centroid"),
        ({"quasi": ["a", "c"]}, "'c'"),
        ({"k": 301}, "k must be at most the number of records"),
    ],
)
def test_what_cannot_be_done_is_refused(fields: dict[str, Any], said: str, spark: Any, folder: Path) -> None:
    frame = spark.createDataFrame(people())
    with pytest.raises(shoal.ShoalError, match=said):
        shoal.spark.protect(frame, {**FIELDS, **fields}, scratch=folder / "scratch", output=folder / "safe")
    assert not (folder / "safe").exists()


def test_cells_that_cannot_be_used_are_refused_without_their_values(spark: Any, folder: Path) -> None:
    table = people().append_column("w", pa.array([-7.25, *[1.0] * 299]))
    with pytest.raises(shoal.DataError, match=r"weights must be ≥ 0; negative in 1 row\. Correct") as caught:
        shoal.spark.protect(spark.createDataFrame(table), FIELDS, weight="w", scratch=folder)
    assert "7.25" not in str(caught.value)


def test_names_that_spark_confuses_are_refused(spark: Any, folder: Path) -> None:
    table = people().append_column("__shoal_block", pa.array([1] * 300))
    with pytest.raises(shoal.SchemaError, match="must not begin with __shoal_"):
        shoal.spark.protect(spark.createDataFrame(table), FIELDS, scratch=folder)


def test_an_existing_folder_is_kept(spark: Any, folder: Path) -> None:
    (folder / "safe").mkdir()
    (folder / "safe" / "mine.txt").write_text("mine")
    with pytest.raises(shoal.ParameterError, match="safe"):
        shoal.spark.protect(spark.createDataFrame(people()), FIELDS, scratch=folder / "scratch", output=folder / "safe")
    assert (folder / "safe" / "mine.txt").read_text() == "mine"


def test_an_empty_frame_is_refused(spark: Any, folder: Path) -> None:
    with pytest.raises(shoal.DataError, match="it must have rows"):
        shoal.spark.protect(spark.createDataFrame(people()).limit(0), FIELDS, scratch=folder)


def test_the_output_is_not_the_input(spark: Any, folder: Path) -> None:
    spark.createDataFrame(people()).write.parquet(str(folder / "people"))
    frame = spark.read.parquet(str(folder / "people"))
    with pytest.raises(shoal.ParameterError, match="must not be the input"):
        shoal.spark.protect(frame, FIELDS, scratch=folder / "scratch", output=folder / "people", force=True)
    spark.createDataFrame(people()).write.mode("overwrite").saveAsTable("both")
    with pytest.raises(shoal.ParameterError, match="both: the output must not be the input"):
        shoal.spark.protect(spark.table("both"), FIELDS, scratch=folder / "scratch", output="both", force=True)
    spark.sql("DROP TABLE both")
    assert frame.count() == 300


def test_a_folder_that_is_named_wins_over_the_environment(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_SCRATCH", str(folder / "elsewhere"))
    done = shoal.spark.protect(spark.createDataFrame(people()), FIELDS, scratch=folder / "scratch")
    assert done.data.count() == 300
    (kept,) = (folder / "scratch").iterdir()
    assert kept.name.startswith("release-")
