"""Spark DataFrames: functions over their parts and groups, and results that reach the driver as bytes.

Everything here is part of Spark Connect: no RDD, no context, nothing persisted.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.flow.stages.row_digests import row_digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

T = TypeVar("T")

PREFIX = "__shoal_"  #: of columns that are never released
BLOCK, FACTS = "\0block", "\0facts"  #: the number of a block, and what a function reports of it
RECORDS = "\0records"  #: records that are packed as the bytes of a table
_ROWS, _MOST = 1 << 17, 1 << 21  # rows that a function sees at a time …
_EACH = 2_000  # … this number for each group, if possible: short pieces cost more to pack
_BYTES = 1 << 27  # but no more than these
_FILE = 1_000_000  # rows of a released file, about
_SEVERAL, _TOGETHER = 16, 4  # a task has a group of its own, or about 4 where there are many
_BATCH_BYTES, _UNLIMITED = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)


@contextmanager
def batches_by_rows(frame: DataFrame) -> Iterator[None]:
    """Let Spark limit the rows, but not the bytes, of what it hands to Python inside the block.

    To limit the bytes, Spark adds up the buffers of all columns after every row, which takes longer than the copying.
    A DataFrame with text keeps the limit: its rows can be of any length.
    """
    if not all(_is_short(one.dataType) for one in frame.schema):
        yield
        return
    conf = frame.sparkSession.conf
    before = conf.get(_BATCH_BYTES, None)
    conf.set(_BATCH_BYTES, _UNLIMITED)
    try:
        yield
    finally:
        if before is None:
            conf.unset(_BATCH_BYTES)
        else:
            conf.set(_BATCH_BYTES, before)


def _is_short(kind: DataType) -> bool:
    """Tell whether all values of a type take the same few bytes."""
    from pyspark.sql.types import BooleanType, DateType, NumericType, TimestampNTZType, TimestampType

    return isinstance(kind, (NumericType, BooleanType, DateType, TimestampType, TimestampNTZType))


@dataclass(frozen=True)
class Rows:
    """Rows for functions on workers: a DataFrame, and a function that turns its batches into batches of the rows.

    These are the same, unless the DataFrame names files that workers read.
    """

    frame: DataFrame
    opened: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]] = iter


def over(rows: Rows, work: Callable[[pa.Table], T]) -> list[T]:
    """Return what a function returns for each part of some rows, in any order; it must not depend on the parts.

    Raises
    ------
    ShoalError
        The first that the function raised.
    """

    opened = rows.opened

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(opened(batches)):
            yield pa.record_batch([pa.array([pickle.dumps(tried(work, table))], pa.binary())], ["found"])

    found = rows.frame.mapInArrow(run, "found binary").toArrow()
    return [result_of(pickle.loads(one)) for one in found.column(0).to_pylist()]


def changed(rows: Rows, work: Callable[[pa.Table], pa.Table], schema: pa.Schema, size: int | None = None) -> DataFrame:
    """Return a DataFrame of the results of a function on each part of some rows; of about `size` bytes, if given."""
    opened = rows.opened

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(opened(batches), most=size or _BYTES):
            yield from _outside(work(table), schema).to_batches()

    return rows.frame.mapInArrow(run, spark_schema(rows.frame, schema))


def grouped(
    rows: Rows,
    assign: Callable[[pa.Table], tuple[pa.Table, NDArray[np.int32]]],
    groups: int,
    work: Callable[[int, pa.Table], pa.Table],
    schema: pa.Schema,
) -> DataFrame:
    """Return a DataFrame of the results of a function on each group; one worker holds a whole group.

    `assign` takes some rows, and returns records and the number of the group of each. Records cross the network
    packed, many at a time: Spark would take them apart cell by cell. The number of tasks follows from the number of
    groups: Spark would join tasks by their bytes, and a group takes time, not space.
    """
    most, opened = min(max(_EACH * groups, _ROWS), _MOST), rows.opened

    def spread(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(opened(batches), most):
            records, number = assign(table)
            if records.num_rows:
                yield from _sent(records, number)

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return _outside(work(int(key[0].as_py()), unpacked(table.column(1))), schema)

    sent = rows.frame.mapInArrow(spread, "number int, records binary")
    sent = sent.repartition(max(min(groups, _SEVERAL), -(-groups // _TOGETHER)), "number")
    return sent.groupBy("number").applyInArrow(run, spark_schema(rows.frame, schema))


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


def in_order_of_digests(rows: Rows, names: Sequence[str], records: int, schema: pa.Schema) -> DataFrame:
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
    return grouped(rows, assign, files, arrange, shown)


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
