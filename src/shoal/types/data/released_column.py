"""Columns of Arrow as they are released: values only, in fresh memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def released_column(
    column: pa.ChunkedArray, *, keep: bool = False, whole: Sequence[Any] | None = None
) -> pa.ChunkedArray:
    """Return a copy of a column without anything but its values, also inside lists and records.

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
    chunks = one.chunks if isinstance(one, pa.ChunkedArray) else [one]  # several where texts exceed 2 GiB
    if whole is not None and pa.types.is_dictionary(column.type):
        fresh = [_reduced(chunk, pa.array(whole, column.type.value_type)) for chunk in chunks]
    else:
        fresh = [_fresh(chunk, keep) for chunk in chunks]
    return pa.chunked_array(fresh) if fresh else column


def _fresh(array: pa.Array, keep: bool) -> pa.Array:
    """Return a copy of an array, and of what is inside it."""
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

    try:
        return array.take(pa.array(np.arange(len(array))))
    except pa.ArrowNotImplementedError:  # a type of which Arrow cannot take some
        return array


def _fresh_inside(array: pa.Array, keep: bool) -> pa.Array:
    """Return an array of lists, maps or records with fresh values inside; others as they are."""
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    mask = array.is_null() if array.null_count else None
    if types.is_struct(kind) and kind.num_fields:
        inside = zip(kind, array.flatten(), strict=True)  # which puts what is missing outside inside as well
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
    """Return categories without those that do not occur, each once; sorted unless they are ordered."""
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
    """Return where values are in a list that must hold them all."""
    import numpy as np
    import pyarrow.compute as pc

    found = pc.index_in(values, value_set=whole)
    if found.null_count:
        raise DataError(
            f"A column of categories must hold those of its list only, {found.null_count:,} are not in it. Add them."
        )
    return np.asarray(found.to_numpy(), np.int64)


def _sorted(values: pa.Array) -> NDArray[np.int64]:
    """Return the order of values; those that Arrow cannot compare go by how Python writes them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return np.asarray(pc.array_sort_indices(values).to_numpy(), np.int64)
    except pa.ArrowNotImplementedError:
        return np.array(sorted(range(len(values)), key=lambda i: repr(values[i].as_py())), np.int64)
