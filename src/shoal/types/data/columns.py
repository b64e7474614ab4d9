"""Columns of Arrow as they can be worked with, and as they may leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.types.data.table import with_columns

if TYPE_CHECKING:
    import pyarrow as pa


def plain(table: pa.Table) -> pa.Table:
    """Return a table without the types for which Arrow lacks functions: views, half floats, runs. Values are the same.

    >>> import pyarrow as pa
    >>> plain(pa.table({"a": pa.array(["x"], pa.string_view()), "b": [1]})).schema.types
    [DataType(large_string), DataType(int64)]
    """
    found = {name: _plain(table.column(name)) for name in table.column_names}
    changed = {name: column for name, column in found.items() if column.type != table.schema.field(name).type}
    return with_columns(table, changed) if changed else table


def as_it_was(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column that was made plain in the type that it had; another as it is."""
    return column.cast(kind, safe=False) if _kinds().get(kind) == column.type else column


def _kinds() -> dict[pa.DataType, pa.DataType]:
    import pyarrow as pa

    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary(), pa.float16(): pa.float32()}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(column.type):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    return column.cast(_kinds().get(column.type, column.type))


def without_unused(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without the categories that no record has; they would tell what had been there.

    >>> import pyarrow as pa
    >>> sizes = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), ["S", "M", "L"], ordered=True)
    >>> without_unused(pa.chunked_array([sizes])).chunk(0).dictionary.to_pylist()
    ['S', 'L']
    """
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_dictionary(kind) or not len(column):
        return column
    cells = column.unify_dictionaries().combine_chunks()
    cells = cells.chunk(0) if isinstance(cells, pa.ChunkedArray) else cells
    used = np.unique(cells.indices.drop_null().to_numpy())
    if len(used) == len(cells.dictionary):
        return column
    places = np.zeros(len(cells.dictionary), np.int64)
    places[used] = np.arange(len(used))
    codes = pa.array(places).take(cells.indices).cast(kind.index_type)
    kept = cells.dictionary.take(pa.array(used))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, kept, ordered=kind.ordered)])
