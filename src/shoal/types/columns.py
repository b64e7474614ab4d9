"""Columns of Arrow as they can be worked with, and as they may leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.types.table import with_columns

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


def owned(data: pa.Table, source: pa.Table) -> pa.Table:
    """Return a table that shares no memory with another one; columns that did are copied.

    Memory that is shared may hold more than the cells that can be seen: other rows, where the column is a slice, and
    values under missing cells. Pickling a column of Arrow writes all of it.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 44, 50]})
    >>> owned(people.slice(1, 1), people).column("age").chunk(0).buffers()[1].size
    8
    """
    used = {address for column in source.columns for address in _addresses(column)}
    shared = [name for name in data.column_names if not used.isdisjoint(_addresses(data.column(name)))]
    return with_columns(data, {name: copied(data.column(name)) for name in shared}) if shared else data


def copied(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in memory of its own, which holds its cells and nothing else; unused categories are dropped."""
    import pyarrow as pa

    column = without_unused(column)
    return pa.chunked_array([_copied(chunk) for chunk in column.chunks], column.type)


def _copied(cells: pa.Array) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    kind = cells.type
    if pa.types.is_dictionary(kind):
        parts = _copied(cells.indices), _copied(cells.dictionary)
        return pa.DictionaryArray.from_arrays(*parts, ordered=kind.ordered)
    if _parts_are_shared(kind):  # rare, so that it may be slow
        return pa.array(cells.to_pylist(), kind)
    return cells.take(pa.array(np.arange(len(cells))))  # which leaves out what is under missing cells


def _parts_are_shared(kind: pa.DataType) -> bool:
    """Tell whether Arrow cannot take cells of a type, or takes them without what they refer to."""
    import pyarrow as pa

    views = (pa.types.is_string_view, pa.types.is_binary_view, pa.types.is_list_view, pa.types.is_large_list_view)
    if any(is_one(kind) for is_one in (*views, pa.types.is_dictionary, pa.types.is_run_end_encoded)):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _parts_are_shared(kind.storage_type)
    return any(_parts_are_shared(kind.field(j).type) for j in range(kind.num_fields))


def _addresses(column: pa.ChunkedArray) -> set[int]:
    """Return where the memory of a column begins, buffer by buffer."""
    import pyarrow as pa

    arrays = list(column.chunks)
    if pa.types.is_dictionary(column.type):
        arrays += [chunk.dictionary for chunk in column.chunks]
    return {buffer.address for array in arrays for buffer in array.buffers() if buffer is not None and buffer.size}
