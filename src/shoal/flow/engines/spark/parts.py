"""Parts of a DataFrame that hold whole classes: a group-by over all its rows, as they are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.flow.engines.spark.frames import FACTS, batches_by_rows, grouped, quoted, result_of, tried
from shoal.flow.engines.spark.row_groups import rows_of
from shoal.flow.stages.parts import Distribution, Wanted
from shoal.flow.stages.row_digests import row_digests

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

T = TypeVar("T")
_ROWS = 200_000  # of a part, about
_LIMIT = 1 << 31  # bytes of the distinct values of a confidential column


@dataclass(frozen=True, eq=False)
class SparkParts:
    """A DataFrame in parts; as `Parts`, which are on disk."""

    frame: DataFrame = field(repr=False)
    wanted: Wanted
    hidden: tuple[str, ...]
    records: int
    distributions: Mapping[str, tuple[pa.ChunkedArray, NDArray[np.int64]]] = field(repr=False)
    unique: Mapping[str, int]
    orders: Mapping[str, pa.Array] = field(default_factory=dict)  #: Spark has no ordered categories
    folder: Path | None = None

    def map(self, work: Callable[[pa.Table], T]) -> list[T]:
        """Return what a function returns for each part, computed on the workers.

        Raises
        ------
        ShoalError
            The first that the function raised.
        GuaranteeError
            If not every row was seen.
        """
        by, count = self.wanted.by, max(1, -(-self.records // _ROWS))

        def assign(rows: pa.Table) -> tuple[pa.Table, NDArray[np.int32]]:
            return rows, (row_digests(rows, by) % np.uint64(count)).astype(np.int32)

        def one(_: int, part: pa.Table) -> pa.Table:
            return pa.table({FACTS: pa.array([pickle.dumps((part.num_rows, tried(work, part)))], pa.binary())})

        rows = rows_of(self.frame.select(*map(quoted, (*self.wanted.columns, *self.hidden))), self.folder)
        schema = pa.schema([pa.field(FACTS, pa.binary())])
        with batches_by_rows(rows.frame):
            told = grouped(rows, assign, count, one, schema).toArrow()
        found = [(seen, result_of(one)) for seen, one in map(pickle.loads, told.column(0).to_pylist())]
        if sum(seen for seen, _ in found) != self.records:
            raise GuaranteeError("Not every row of the DataFrame was seen: it changes while it is read.")
        return [result for _, result in found]


def parts_of(frame: DataFrame, wanted: Wanted, hidden: tuple[str, ...] = (), folder: Path | None = None) -> SparkParts:
    """Count what concerns a whole DataFrame, and return it in parts.

    Parameters
    ----------
    frame
        The table.
    wanted
        What to read and count.
    hidden
        Columns of people or weights that are not released.
    folder
        The Parquet files that the DataFrame reads as they are, if any.
    """
    distributions = {name: _distribution(frame, name) for name in wanted.counted}
    unique = {key: _unique(frame, names, distributions) for key, names in wanted.unique.items()}
    counts = next((counts for _, counts in distributions.values()), None)
    records = frame.count() if counts is None else int(counts.sum())
    return SparkParts(frame, wanted, hidden, records, distributions, unique, folder=folder)


def _hash(names: Sequence[str]) -> Column:
    from pyspark.sql import functions as f

    return f.xxhash64(*(f.col(quoted(name)) for name in names))


def _distribution(frame: DataFrame, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
    """Return the distinct cells of a column, and the number of records that have each."""
    found = frame.groupBy(quoted(name)).count().toArrow()
    cells = Distribution(name, _LIMIT)
    cells.add_counted(found.column(0).combine_chunks(), found.column(1).to_numpy())
    return cells.compute()


def _unique(
    frame: DataFrame, names: Sequence[str], known: Mapping[str, tuple[pa.ChunkedArray, NDArray[np.int64]]]
) -> int:
    """Return how many rows are unique on some columns; two of n rows have equal digests with odds below n² / 2⁶⁵."""
    if len(names) == 1 and names[0] in known:
        return int((known[names[0]][1] == 1).sum())
    return frame.groupBy(_hash(names)).count().where("count = 1").count()
