from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.flow.engines.spark.frames import over
from shoal.flow.engines.spark.row_groups import _has_old_dates, rows_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PLAIN = {"net. income": [1.5, None, 3.0, 4.25], "a": [4, 3, 2, 1]}


def test_workers_read_row_groups_themselves(spark: Any, tmp_path: Path) -> None:
    for number in range(2):
        parquet.write_table(pa.table(PLAIN), tmp_path / f"part {number}.parquet", row_group_size=3)
    frame = spark.read.parquet(str(tmp_path)).select("a", "`net. income`")
    rows = rows_of(frame, tmp_path)
    assert rows.frame.count() == 4  # groups, not rows
    found = pa.concat_tables(over(rows, lambda table: table))
    assert found.column_names == ["a", "net. income"]
    assert sorted(found.to_pylist(), key=repr) == sorted(
        2 * pa.table(PLAIN).select(["a", "net. income"]).to_pylist(), key=repr
    )


def _dictionary(folder: Path) -> None:
    parquet.write_table(pa.table({"a": pa.array(["x", "y"]).dictionary_encode()}), folder / "one.parquet")


def _unsigned(folder: Path) -> None:
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.uint32())}), folder / "one.parquet")


def _partitions(folder: Path) -> None:
    (folder / "b=1").mkdir()
    parquet.write_table(pa.table({"a": [1, 2]}), folder / "b=1" / "one.parquet")


def _other_suffix(folder: Path) -> None:
    parquet.write_table(pa.table({"a": [1, 2]}), folder / "one.parquet")
    parquet.write_table(pa.table({"a": [1, 2]}), folder / "two.pq")


@pytest.mark.parametrize("write", [_dictionary, _unsigned, _partitions, _other_suffix])
def test_spark_reads_what_arrow_would_read_differently(write: Any, spark: Any, tmp_path: Path) -> None:
    write(tmp_path)
    frame = spark.read.parquet(str(tmp_path))
    assert rows_of(frame, tmp_path).frame is frame
    assert rows_of(frame, None).frame is frame


def test_files_of_spark_2_are_left_to_spark() -> None:
    assert not _has_old_dates({})
    assert not _has_old_dates({b"org.apache.spark.version": b"4.0.1"})
    assert _has_old_dates({b"org.apache.spark.version": b"2.4.8"})
    assert _has_old_dates({b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyDateTime": b""})
