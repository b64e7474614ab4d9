"""Released columns and metadata: values in fresh memory, metadata on an allow-list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.types.statistical_files import KEY, FileNotes, Variable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def released_column(
    column: pa.ChunkedArray, *, keep: bool = False, whole: Sequence[Any] | None = None
) -> pa.ChunkedArray:
    """Return a copy of a column with its values only, also inside lists and records.

    Dictionaries hold the categories that occur, in their order if they have one, else sorted; or the list `whole`.
    Memory under missing values is zero, and fields inside types have no metadata, unless `keep`.

    **Complexity.** O(n), and O(c log c) for c categories.

    >>> import pyarrow as pa
    >>> cells = pa.DictionaryArray.from_arrays(pa.array([2, 0]), ["m", "other", "f"])
    >>> released_column(pa.chunked_array([cells])).chunk(0).dictionary.to_pylist()
    ['f', 'm']
    >>> released_column(pa.chunked_array([cells]), whole=["f", "m", "x"]).chunk(0).dictionary.to_pylist()
    ['f', 'm', 'x']
    """
    import pyarrow as pa

    one = column.combine_chunks()
    chunks = one.chunks if isinstance(one, pa.ChunkedArray) else [one]  # several if texts exceed 2 GiB
    if whole is not None and pa.types.is_dictionary(column.type):
        fresh = [_reduced(chunk, pa.array(whole, column.type.value_type)) for chunk in chunks]
    else:
        fresh = [_fresh(chunk, keep) for chunk in chunks]
    return pa.chunked_array(fresh) if fresh else column


def _fresh(array: pa.Array, keep: bool) -> pa.Array:
    """Return a deep copy of an array."""
    import pyarrow as pa

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        storage = _fresh(array.storage, keep)
        return pa.ExtensionArray.from_storage(kind, storage) if storage.type == kind.storage_type else storage
    if pa.types.is_dictionary(kind):
        return _reduced(array)
    return _fresh_inside(_copied(array), keep)


def _copied(array: pa.Array) -> pa.Array:
    """Return a copy with zeros under missing values, and nothing beyond the end."""
    import numpy as np
    import pyarrow as pa

    if not array.null_count and not pa.types.is_nested(array.type):  # nothing to zero: joining copies, and is faster
        return pa.concat_arrays([array, array[:0]])
    try:
        return array.take(pa.array(np.arange(len(array))))
    except pa.ArrowNotImplementedError:  # a type that Arrow cannot take rows of
        return array


def _fresh_inside(array: pa.Array, keep: bool) -> pa.Array:
    """Return an array of lists, maps or records with fresh values inside; others unchanged."""
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    mask = array.is_null() if array.null_count else None
    if types.is_struct(kind) and kind.num_fields:
        inside = zip(kind, array.flatten(), strict=True)  # `flatten` propagates missing values to the inside
        found = [_fresh(child if one.nullable else array.field(one.name), keep) for one, child in inside]
        fields = [_field(one, child, keep) for one, child in zip(kind, found, strict=True)]
        return pa.StructArray.from_arrays(found, fields=fields, mask=mask)
    if types.is_map(kind):
        keys, items = _fresh(array.keys, keep), _fresh(array.items, keep)
        made = pa.map_(_field(kind.key_field, keys, keep), _field(kind.item_field, items, keep), kind.keys_sorted)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=made, mask=mask)
    if types.is_fixed_size_list(kind):
        values = _fresh(array.values, keep)
        made = pa.list_(_field(kind.value_field, values, keep), kind.list_size)
        return pa.FixedSizeListArray.from_arrays(values, type=made, mask=mask)
    if types.is_list(kind) or types.is_large_list(kind):
        values = _fresh(array.values, keep)
        listed, made = (pa.ListArray, pa.list_) if types.is_list(kind) else (pa.LargeListArray, pa.large_list)
        return listed.from_arrays(array.offsets, values, type=made(_field(kind.value_field, values, keep)), mask=mask)
    return array


def _field(had: pa.Field, array: pa.Array, keep: bool) -> pa.Field:
    import pyarrow as pa

    return pa.field(had.name, array.type, had.nullable, had.metadata if keep else None)


def _reduced(array: pa.DictionaryArray, whole: pa.Array | None = None) -> pa.Array:
    """Drop categories that do not occur and duplicates; sort them unless they are ordered."""
    import numpy as np
    import pyarrow as pa

    kind = array.type
    try:
        once = array.dictionary.dictionary_encode(null_encoding="mask")  # a dictionary may hold a value twice, or null
    except pa.ArrowNotImplementedError:
        once = pa.DictionaryArray.from_arrays(np.arange(len(array.dictionary)), array.dictionary)
    codes = once.indices.take(array.indices)
    used = np.unique(codes.drop_null().to_numpy())
    kept = once.dictionary.take(pa.array(used))
    if whole is not None:
        places, kept = _places_in(whole, kept), whole
    elif kind.ordered:
        places = np.arange(len(used))
    else:
        order = _sorted(kept)
        places, kept = np.argsort(order), kept.take(pa.array(order))
    new = np.zeros(len(once.dictionary), np.int64)
    new[used] = places
    index = kind.index_type if len(kept) <= np.iinfo(kind.index_type.to_pandas_dtype()).max else pa.int32()
    return pa.DictionaryArray.from_arrays(pa.array(new).take(codes).cast(index), kept, ordered=kind.ordered)


def _places_in(whole: pa.Array, values: pa.Array) -> NDArray[np.int64]:
    """Return the positions of values in a list that must contain them all."""
    import numpy as np
    import pyarrow.compute as pc

    found = pc.index_in(values, value_set=whole)
    if found.null_count:
        raise DataError(
            f"A column of categories must hold those of its list only; {found.null_count:,} are not in it. Add them."
        )
    return np.asarray(found.to_numpy(), np.int64)


def _sorted(values: pa.Array) -> NDArray[np.int64]:
    """Return the sort order of values; those that Arrow cannot compare are sorted by their Python text."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return np.asarray(pc.array_sort_indices(values).to_numpy(), np.int64)
    except pa.ArrowNotImplementedError:
        return np.array(sorted(range(len(values)), key=lambda i: repr(values[i].as_py())), np.int64)


_PANDAS = b"pandas"  # lists every column and index that the table ever had, so it is never kept
_EXTENSION = b"ARROW:extension:name", b"ARROW:extension:metadata"
_TECHNICAL = (KEY, _PANDAS, *_EXTENSION, b"PARQUET:field_id")
_POLARS = b"_PL_"
_EXTENSIONS = (b"arrow.", b"geoarrow.")  # published formats: their parameters describe a type, never its values


def released(
    table: pa.Table,
    unchanged: Collection[str],
    *,
    keep: bool = False,
    whole: Mapping[str, Sequence[Any]] | None = None,
) -> pa.Table:
    """Return a table with its values only, without anything else that came with the input.

    **Guarantee.** Of the metadata of table and columns only the notes of statistical packages remain (labels of
    variables and values, formats, declared missing values; not the label and the notes of the file), and annotations of
    Arrow's published extension types. Dictionaries hold the categories that occur: ordered ones in their order, others
    sorted, so that they reveal neither removed categories nor the order of rows. Every column is one chunk of fresh
    memory, with zeros under missing values.

    Parameters
    ----------
    table
        The table to release.
    unchanged
        Columns that keep the input's type, so that annotations of extension types still fit.
    keep
        Keep all metadata except that of pandas. Categories are reduced anyway.
    whole
        Columns whose dictionary is this list instead of the categories that occur.

    >>> import pyarrow as pa
    >>> sex = pa.field("sex", pa.dictionary(pa.int8(), pa.string()), metadata={"note": "two are other"})
    >>> cells = pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), ["m", "other", "f"])
    >>> made = released(pa.table([cells], schema=pa.schema([sex], metadata={"source": "clinic"})), ())
    >>> made.schema.metadata, made.schema.field("sex").metadata, made["sex"].chunk(0).dictionary.to_pylist()
    (None, None, ['f', 'm'])
    """
    import pyarrow as pa

    whole = whole or {}
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        made = released_column(column, keep=keep, whole=whole.get(field.name))
        columns.append(made)
        known = _all_of(field.metadata) if keep else _known_of(field, annotated=field.name in unchanged)
        fields.append(pa.field(field.name, made.type, field.nullable, known or None))
    notes = _all_of(table.schema.metadata) if keep else _known_of_file(table.schema)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=notes or None))


def carries_more(schema: pa.Schema) -> bool:
    """Tell whether :func:`released` drops anything that people wrote, not just notes of pandas, polars or Parquet."""
    notes = FileNotes.of(schema)
    if notes is not None and (notes.label or notes.notes):
        return True
    keys = [*(schema.metadata or {}), *(key for field in schema for key in field.metadata or {})]
    return any(key not in _TECHNICAL and not key.startswith(_POLARS) for key in keys)


def _all_of(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes]:
    return {key: value for key, value in (metadata or {}).items() if key != _PANDAS}


def _known_of(field: pa.Field, *, annotated: bool) -> dict[bytes, bytes]:
    """Return the recognised metadata of a column, newly serialised."""
    had = dict(field.metadata or {})
    known = {}
    if annotated and had.get(_EXTENSION[0], b"").startswith(_EXTENSIONS):
        known = {key: had[key] for key in _EXTENSION if key in had}
    variable = Variable.of(field)
    return known if variable is None else {**known, **variable.metadata()}


def _known_of_file(schema: pa.Schema) -> dict[bytes, bytes]:
    bare = _bare(schema)
    return {} if bare is None else bare.metadata()


def _bare(schema: pa.Schema) -> FileNotes | None:
    """Return the package that a table came from, without the label and the notes of its file."""
    found = FileNotes.of(schema)
    return None if found is None else FileNotes(found.package)
