"""Spark DataFrames: functions over their parts and groups, and results that reach the driver as bytes.

Everything here is part of Spark Connect: no RDD, no context, nothing persisted.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

T = TypeVar("T")

PREFIX = "__shoal_"  #: of columns that are never released
BLOCK, FACTS = "\0block", "\0facts"  #: the block of a record, and what a block reports, in its first row
_ROWS = 1 << 18  # rows that a function sees at a time
_FILE = 1_000_000  # rows of a released file, about
_TASKS = 20_000  # of a stage at most


def over(frame: DataFrame, work: Callable[[pa.Table], T]) -> list[T]:
    """Return what a function returns for each part of a DataFrame, in any order; it must not depend on the parts.

    Raises
    ------
    ShoalError
        The first that the function raised.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            yield pa.record_batch([pa.array([pickle.dumps(_tried(work, table))], pa.binary())], ["found"])

    found = frame.mapInArrow(run, "found binary").toArrow()
    return [_result(pickle.loads(one)) for one in found.column(0).to_pylist()]


def changed(frame: DataFrame, work: Callable[[pa.Table], pa.Table], schema: pa.Schema) -> DataFrame:
    """Return a DataFrame whose parts are what a function makes of those of another."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            yield from _outside(work(table), schema).to_batches()

    return frame.mapInArrow(run, spark_schema(frame, schema))


def grouped(
    frame: DataFrame, by: str, groups: int, work: Callable[[int, pa.Table], pa.Table], schema: pa.Schema
) -> DataFrame:
    """Return a DataFrame whose rows are what a function makes of each group; one worker holds a group as a whole.

    There are as many tasks as groups: Spark would join tasks by their bytes, and a group takes time, not space.
    """
    name = outside(by)

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return _outside(work(int(key[0].as_py()), inside(table)), schema)

    spread = frame.repartition(min(max(groups, 1), _TASKS), name)
    return spread.groupBy(name).applyInArrow(run, spark_schema(frame, schema))


def in_order_of_digests(frame: DataFrame, names: Sequence[str], records: int) -> DataFrame:
    """Return some columns of a DataFrame, its rows in the order of a digest of these cells.

    So neither a row's position nor its file tells anything that the row does not.
    """
    from pyspark.sql import functions as f

    cells = [f.col(quoted(name)) for name in names]
    digest = f.xxhash64(*cells)
    parts = max(1, -(-records // _FILE))
    return frame.select(*cells).repartition(parts, digest).sortWithinPartitions(digest, *cells)


def spark_schema(frame: DataFrame, schema: pa.Schema) -> StructType:
    """Return the schema that a DataFrame with these columns has."""
    named = pa.schema([pa.field(outside(one.name), one.type) for one in schema])
    return frame.sparkSession.createDataFrame(named.empty_table()).schema


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Return the columns of a DataFrame, without metadata."""
    found = frame.limit(0).toArrow().schema
    return pa.schema([pa.field(inside_name(one.name), one.type) for one in found])


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of small batches as larger tables; there may be none."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= _ROWS:
            yield inside(pa.Table.from_batches(waiting))
            waiting, rows = [], 0
    if waiting:
        yield inside(pa.Table.from_batches(waiting))


def outside(name: str) -> str:
    """Return the name that a column has in Spark.

    >>> outside("age"), outside(FACTS)
    ('age', '__shoal_facts')
    """
    return f"{PREFIX}{name[1:]}" if name.startswith("\0") else name


def inside_name(name: str) -> str:
    """Return the name that a column of Spark has here.

    >>> inside_name("age"), inside_name("__shoal_facts") == FACTS
    ('age', True)
    """
    return f"\0{name.removeprefix(PREFIX)}" if name.startswith(PREFIX) else name


def quoted(name: str) -> str:
    """Return the name of a column as Spark's expressions need it.

    >>> quoted("net. income")
    '`net. income`'
    """
    return f"`{outside(name).replace('`', '``')}`"


def inside(table: pa.Table) -> pa.Table:
    """Return a table of Spark with the names that its columns have here."""
    return table.rename_columns([inside_name(name) for name in table.column_names])


def _outside(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the names and types that its columns have in Spark."""
    cast = table.select(schema.names).cast(pa.schema([pa.field(one.name, one.type) for one in schema]))
    return cast.rename_columns([outside(name) for name in schema.names])


def _tried(work: Callable[[pa.Table], Any], table: pa.Table) -> tuple[bool, Any]:
    try:
        return True, work(table)
    except ShoalError as error:
        return False, error


def _result(found: tuple[bool, Any]) -> Any:
    done, value = found
    if not done:
        raise value
    return value
