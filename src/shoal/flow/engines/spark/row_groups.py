"""Parquet files that workers read themselves, because Spark would convert their columns row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from shoal.flow.engines.spark.frames import RECORDS, Rows, arrow_schema, outside, quoted
from shoal.flow.engines.spark.scratch import Scratch, local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS = 1 << 15  # read at a time
_FILES = 10_000  # whose footers the driver reads


def rows_of(frame: DataFrame, folder: Path | None) -> Rows:
    """Return the rows of a DataFrame, read from its files if it is a folder of Parquet files as they are.

    Spark reads them where columns have other types for Arrow than for Spark, as some times have, or where the columns
    of partitions are only in the names of folders.

    Parameters
    ----------
    frame
        The rows; columns of the files, as they are.
    folder
        The file or folder of Parquet files that it reads; driver and workers see it under this path. None: it is
        another DataFrame.
    """
    groups = None if folder is None else _row_groups(frame, folder)
    if groups is None:
        return Rows(frame)
    spark = frame.sparkSession
    return Rows(spark.createDataFrame(groups).repartition(groups.num_rows), _Reader(tuple(frame.columns)))


def packed_rows(frame: DataFrame, scratch: Scratch) -> Rows:
    """Return the packed records of a DataFrame that was written to scratch."""
    return rows_of(frame.select(quoted(RECORDS)), scratch.folder(frame))


@dataclass(frozen=True)
class _Reader:
    """Reads row groups."""

    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, group in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                with parquet.ParquetFile(path) as file:
                    for rows in file.iter_batches(_ROWS, row_groups=[group], columns=list(self.names)):
                        yield rows.select(self.names)


_OLD_DATES = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def _has_old_dates(metadata: Mapping[bytes, bytes]) -> bool:
    """Tell whether Spark shifts dates of a file that are before 1582, as those of Spark 2: only Spark does."""
    version = metadata.get(b"org.apache.spark.version", b"3").partition(b".")[0]
    return any(key in metadata for key in _OLD_DATES) or int(version) < 3


def _row_groups(frame: DataFrame, folder: Path) -> pa.Table | None:
    """Return path and number of each row group; None: Spark must read the files."""
    if not folder.exists():
        return None  # this process does not see it
    paths = [folder] if folder.is_file() else sorted(folder.glob("*.parquet"))
    listed = {local_path(unquote(one)) for one in frame.inputFiles()}
    if listed != {path.absolute() for path in paths} or len(paths) > _FILES:
        return None
    expected = {outside(one.name): one.type for one in arrow_schema(frame)}
    found: list[tuple[str, int]] = []
    for path in paths:
        with parquet.ParquetFile(path) as file:
            if _has_old_dates(file.schema_arrow.metadata or {}):
                return None
            types = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            if any(types.get(name) != kind for name, kind in expected.items()):
                return None
            found += [(str(path.absolute()), group) for group in range(file.num_row_groups)]
    if not found:
        return None
    return pa.table({"path": [path for path, _ in found], "number": pa.array([n for _, n in found], pa.int32())})
