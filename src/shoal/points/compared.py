"""Comparison of a column before and after, as numbers or as categories, for measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.types import Codes, Kind, Pair


def as_column(places: NDArray[np.int64], values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return some of the values as a column of a type; −1: missing."""
    if not pa.types.is_dictionary(kind):
        return values.take(pa.array(places, mask=places < 0)).cast(kind)
    most = np.iinfo(kind.index_type.to_pandas_dtype()).max
    index = kind.index_type if len(values) <= most else pa.int32()  # an order may have more categories
    indices = pa.array(np.maximum(places, 0), mask=places < 0).cast(index)
    return pa.DictionaryArray.from_arrays(indices, values.cast(kind.value_type), ordered=kind.ordered)


_NUMBERS = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)
_DAY = 86_400e9  # in nanoseconds


def in_own_terms(kind: Kind, before: pa.ChunkedArray, after: pa.ChunkedArray) -> Pair | Codes:
    """Return a column before and after as numbers, if it is numeric by kind and in both versions, else as categories.

    >>> in_own_terms(Kind.INTEGER, pa.chunked_array([[1, None]]), pa.chunked_array([[1.5, 2.0]])).before.tolist()
    [1.0, nan]
    """
    if kind in _NUMBERS:
        numbers = [_as_numbers(column) for column in (before, after)]
        if numbers[0] is not None and numbers[1] is not None:
            return Pair(numbers[0], numbers[1])
    return _as_codes(before, after)


def _as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Return numbers, with dates and times in days since 1970; None if the column holds anything else."""
    kind, per = column.type, 1.0
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column, per = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), _DAY / 1e3
    elif pa.types.is_time(kind):
        column, per = column.cast(pa.time64("ns")).cast(pa.int64()), _DAY
    elif pa.types.is_duration(kind):
        column, per = column.cast(pa.int64()), 1.0
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    numbers = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()
    return np.asarray(numbers / per)


def _as_codes(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Codes:
    """Return categories, in their order if both versions have the same, else sorted by name."""
    texts = [_as_text(column) for column in (before, after)]
    ranked = pa.types.is_dictionary(before.type) and before.type.ordered
    if ranked:
        known = _as_text(pa.chunked_array([before.unify_dictionaries().chunk(0).dictionary])).combine_chunks()
    else:
        both = pa.chunked_array([*texts[0].chunks, *texts[1].chunks], pa.large_string())
        known = pc.unique(pc.drop_null(both))
        known = known.take(pc.sort_indices(known))
    codes = [pc.fill_null(pc.index_in(text, value_set=known), -1).to_numpy().astype(np.int64) for text in texts]
    return Codes(codes[0], codes[1], tuple(known.to_pylist()), bool(ranked))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string(), safe=False)


def classes_in(columns: list[pa.ChunkedArray]) -> NDArray[np.int64]:
    """Number records by their contents: records equal in all columns share a number, in order of first rows.

    >>> classes_in([pa.chunked_array([[5, 1, 5, None]])]).tolist()
    [0, 1, 0, 2]
    """
    found: NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        plain = column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
        codes = _by_first_row(plain)
        found = _by_first_row(found * (int(codes.max(initial=0)) + 1) + codes)
    return found


def _by_first_row(values: Any) -> NDArray[np.int64]:
    """Return a number for each value, in order of first occurrence; a missing one is a value."""
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values)])
    coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    return np.asarray(coded.indices.to_numpy(), np.int64)
