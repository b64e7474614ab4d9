"""Spark DataFrames: functions over their parts and groups, and results that reach the driver as bytes.

Everything here is part of Spark Connect: no RDD, no context, nothing persisted.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.flow.stages.row_digests import row_digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

T = TypeVar("T")

PREFIX = "__shoal_"  #: of columns that are never released
BLOCK, FACTS = "\0block", "\0facts"  #: the number of a block, and what a function reports of it
RECORDS = "\0records"  #: records that are packed as the bytes of a table
_ROWS, _MOST = 1 << 17, 1 << 21  # rows that a function sees at a time …
_EACH = 2_000  # … so many for each group, if possible: short pieces cost more to pack
_BYTES = 1 << 27  # but no more than these
_FILE = 1_000_000  # rows of a released file, about
_SEVERAL, _TOGETHER = 16, 4  # a task has a group of its own, or about 4 where there are many


def over(frame: DataFrame, work: Callable[[pa.Table], T]) -> list[T]:
    """Return what a function returns for each part of a DataFrame, in any order; it must not depend on the parts.

    Raises
    ------
    ShoalError
        The first that the function raised.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            yield pa.record_batch([pa.array([pickle.dumps(tried(work, table))], pa.binary())], ["found"])

    found = frame.mapInArrow(run, "found binary").toArrow()
    return [result_of(pickle.loads(one)) for one in found.column(0).to_pylist()]


def changed(
    frame: DataFrame, work: Callable[[pa.Table], pa.Table], schema: pa.Schema, size: int | None = None
) -> DataFrame:
    """Return a DataFrame whose parts are what a function makes of those of another; of about `size` bytes, if given."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches, most=size or _BYTES):
            yield from _outside(work(table), schema).to_batches()

    return frame.mapInArrow(run, spark_schema(frame, schema))


def grouped(
    frame: DataFrame,
    assign: Callable[[pa.Table], tuple[pa.Table, NDArray[np.int32]]],
    groups: int,
    work: Callable[[int, pa.Table], pa.Table],
    schema: pa.Schema,
) -> DataFrame:
    """Return a DataFrame whose rows are what a function makes of each group; one worker holds a group as a whole.

    `assign` takes some rows, and returns records and the number of the group of each. Records cross the network
    packed, many at a time: Spark would take them apart cell by cell. The number of tasks follows from the number of
    groups: Spark would join tasks by their bytes, and a group takes time, not space.
    """
    rows = min(max(_EACH * groups, _ROWS), _MOST)

    def spread(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches, rows):
            records, number = assign(table)
            if records.num_rows:
                yield from _sent(records, number)

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return _outside(work(int(key[0].as_py()), unpacked(table.column(1))), schema)

    sent = frame.mapInArrow(spread, "number int, records binary")
    sent = sent.repartition(max(min(groups, _SEVERAL), -(-groups // _TOGETHER)), "number")
    return sent.groupBy("number").applyInArrow(run, spark_schema(frame, schema))


def _sent(records: pa.Table, number: NDArray[np.int32]) -> Iterator[pa.RecordBatch]:
    """Yield the records of each group, packed."""
    order = np.argsort(number, kind="stable")
    sorted_, own = records.take(pa.array(order)).combine_chunks(), number[order]
    begins = np.flatnonzero(np.concatenate(([True], own[1:] != own[:-1])))
    for begin, end in itertools.pairwise([*begins.tolist(), len(own)]):
        packed_ = pa.array([packed(sorted_.slice(begin, end - begin))], pa.binary())
        yield pa.record_batch([pa.array(own[begin : begin + 1], pa.int32()), packed_], ["number", "records"])


def packed(table: pa.Table) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(column: pa.ChunkedArray) -> pa.Table:
    """Return packed tables as one."""
    return pa.concat_tables([pa.ipc.open_stream(one.as_buffer()).read_all() for one in column])


def in_order_of_digests(frame: DataFrame, names: Sequence[str], records: int, schema: pa.Schema) -> DataFrame:
    """Return some columns of packed records, the rows in the order of a digest of these cells.

    So neither a row's position nor its file tells anything that the row does not.
    """
    names, files = list(names), max(1, -(-records // _FILE))

    def assign(table: pa.Table) -> tuple[pa.Table, NDArray[np.int32]]:
        shown = unpacked(table.column(RECORDS)).select(names)
        return shown, (row_digests(shown, names) % np.uint64(files)).astype(np.int32)

    def arrange(_: int, shown: pa.Table) -> pa.Table:
        ties = shown.append_column(FACTS, pa.array(row_digests(shown, names)))
        plain = [name for name in names if not pa.types.is_nested(shown.schema.field(name).type)]
        return ties.sort_by([(FACTS, "ascending"), *((name, "ascending") for name in plain)]).drop_columns([FACTS])

    shown = pa.schema([schema.field(name) for name in names])
    return grouped(frame.select(quoted(RECORDS)), assign, files, arrange, shown)


def spark_schema(frame: DataFrame, schema: pa.Schema) -> StructType:
    """Return the schema that a DataFrame with these columns has."""
    one_row = pa.table({outside(one.name): pa.nulls(1, one.type) for one in schema})  # Connect refuses an empty table
    return frame.sparkSession.createDataFrame(one_row).schema


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Return the columns of a DataFrame, without metadata."""
    found = frame.limit(0).toArrow().schema
    return pa.schema([pa.field(inside_name(one.name), one.type) for one in found])


def gathered(batches: Iterable[pa.RecordBatch], at: int = _ROWS, most: int = _BYTES) -> Iterator[pa.Table]:
    """Yield the rows of small batches as larger tables; there may be none."""
    waiting: list[pa.RecordBatch] = []
    rows, size = 0, 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= at or size >= most:
            yield inside(pa.Table.from_batches(waiting))
            waiting, rows, size = [], 0, 0
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


def tried(work: Callable[[pa.Table], Any], table: pa.Table) -> tuple[bool, Any]:
    """Return the result of a function, or the error it raised, to be sent to the driver."""
    try:
        return True, work(table)
    except ShoalError as error:
        return False, error


def result_of(found: tuple[bool, Any]) -> Any:
    """Return a result that a worker sent, or raise its error."""
    done, value = found
    if not done:
        raise value
    return value
