"""Scratch of the Spark engine: DataFrames written between passes, so that every pass sees the same rows."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from shoal.progress import say
from shoal.scratch import new_mark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Scratch(Protocol):
    """A place where DataFrames are written and read again."""

    def written(self, frame: DataFrame, rows: int = 0) -> DataFrame:
        """Write a DataFrame, and return it as it was written.

        With `rows`, a file has no more than these: a row may hold many packed records, and a file is read as a whole.
        """

    def folder(self, frame: DataFrame) -> Path | None:
        """Return the folder of a DataFrame that was written here; None: this process cannot reach it."""

    def remove(self, frame: DataFrame) -> None:
        """Remove a DataFrame that was written here."""

    def keep(self, frame: DataFrame) -> None:
        """Leave a DataFrame that was written here, also when the rest is removed."""

    def close(self) -> None:
        """Remove everything that was written here and is not kept."""


_NO_DICTIONARY = {"parquet.enable.dictionary": "false"}  # hashing megabytes of packed records would save nothing


class FolderScratch:
    """Parquet folders below a folder of their own; workers and driver must see the same path."""

    def __init__(self, spark: SparkSession, root: str | Path) -> None:
        self._spark, self._root = spark, f"{str(root).rstrip('/')}/{new_mark()}"
        self._names = count()
        self._paths: dict[int, str] = {}
        self._kept = False

    def written(self, frame: DataFrame, rows: int = 0) -> DataFrame:
        """Write a DataFrame, and return it as it was written."""
        path = f"{self._root}/{next(self._names)}"
        frame.write.options(maxRecordsPerFile=rows, **_NO_DICTIONARY).parquet(for_spark(path))
        found = self._spark.read.parquet(for_spark(path))
        self._paths[id(found)] = path
        return found

    def folder(self, frame: DataFrame) -> Path | None:
        """Return the folder of a DataFrame that was written here."""
        return local_path(self._paths[id(frame)])

    def remove(self, frame: DataFrame) -> None:
        """Remove a DataFrame that was written here."""
        remove_path(self._paths.pop(id(frame)))

    def keep(self, frame: DataFrame) -> None:
        """Leave a DataFrame that was written here, also when the rest is removed."""
        self._paths.pop(id(frame))
        self._kept = True

    def close(self) -> None:
        """Remove everything that was written here and is not kept."""
        for path in self._paths.values() if self._kept else (self._root,):
            if not remove_path(path):
                say(f"Scratch could not be removed and holds original values. Remove it: {path}")
        self._paths.clear()


class TableScratch:
    """Tables of a catalog, whose names begin with that of the scratch table; they are dropped afterwards."""

    def __init__(self, spark: SparkSession, name: str, form: str) -> None:
        self._spark, self._name, self._form = spark, f"{name}_{new_mark().replace('-', '_')}", form
        self._names = count()
        self._tables: dict[int, str] = {}

    def written(self, frame: DataFrame, rows: int = 0) -> DataFrame:
        """Write a DataFrame, and return it as it was written."""
        name = f"{self._name}_{next(self._names)}"
        frame.write.format(self._form).option("maxRecordsPerFile", rows).saveAsTable(name)
        found = self._spark.table(name)
        self._tables[id(found)] = name
        return found

    def folder(self, frame: DataFrame) -> Path | None:
        """Return None: only the catalog knows where a table is."""
        return None

    def remove(self, frame: DataFrame) -> None:
        """Drop a table that was written here."""
        self._spark.sql(f"DROP TABLE IF EXISTS {self._tables.pop(id(frame))}")

    def keep(self, frame: DataFrame) -> None:
        """Leave a table that was written here, also when the rest is dropped."""
        self._tables.pop(id(frame))

    def close(self) -> None:
        """Drop all tables that were written here and are not kept."""
        for name in self._tables.values():
            self._spark.sql(f"DROP TABLE IF EXISTS {name}")
        self._tables.clear()


def local_path(place: str) -> Path | None:
    """Return a path that this process can reach itself; None: only Spark can.

    >>> local_path("file:///shared/safe"), local_path("s3a://bucket/safe")
    (PosixPath('/shared/safe'), None)
    """
    if place.startswith("file:"):
        return Path("/" + place.removeprefix("file:").lstrip("/"))
    return None if "://" in place else Path(place)


def for_spark(place: str | Path) -> str:
    """Return a place as Spark expects it: a path of this machine is not one of the default file system.

    >>> for_spark("/shared/safe"), for_spark("s3a://bucket/safe")
    ('file:///shared/safe', 's3a://bucket/safe')
    """
    path = local_path(str(place))
    return str(place) if path is None else path.absolute().as_uri()


def remove_path(place: str) -> bool:
    """Remove a folder, in an object store through pyarrow; return whether it was removed."""
    found = local_path(place)
    if found is not None:
        shutil.rmtree(found, ignore_errors=True)
        return not found.exists()
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(place.replace("s3a://", "s3://").replace("s3n://", "s3://"))
        system.delete_dir(path)
    except (OSError, ValueError):
        return False
    return True
