"""Columns as codes: confidential values for privacy models, and values before and after for measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import spelling
from shoal.errors import DataError, SchemaError
from shoal.types import Codes, Column, Confidential, Kind, Pair, Taxonomy, called

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def confidential_of(column: Column, values: pa.ChunkedArray) -> Confidential:
    """Return the value of each record as a code: its rank if values have an order.

    A missing value is a value: the last where values are ordered, a leaf next to all groups in a taxonomy.

    >>> from shoal.types import Role
    >>> pay = Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)
    >>> confidential_of(pay, pa.chunked_array([[30, 10, None, 10]])).codes.tolist()
    [1, 0, 2, 0]
    >>> confidential_of(pay, pa.chunked_array([[30, 10, None, 10]])).values.tolist()
    [10.0, 30.0, nan]
    """
    values = _stored(column, values)
    if column.taxonomy is not None:
        return _leaves(column.name, values, column.taxonomy)
    if column.kind is Kind.NOMINAL:
        codes, merged = with_spellings(*_told_apart(column.name, values))
        return Confidential(column.name, codes, np.bincount(codes), ordered=False, merged=merged)
    codes = _ranks(column, _in_order(column, values))
    counts = np.bincount(codes)
    if column.kind is Kind.ORDINAL:
        return Confidential(column.name, codes, counts)
    rows = np.empty(len(counts), np.int64)
    rows[codes] = np.arange(len(codes))  # a record with each value
    return Confidential(column.name, codes, counts, values=_numbers(values.take(pa.array(rows))))


def _numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return values as numbers: dates and times in days, NaN for missing or non-finite values."""
    days = 1.0
    if pa.types.is_date(values.type):
        values = values.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_temporal(values.type):
        days = 86_400 * _TICKS[values.type.unit]
        values = values.cast(pa.int64() if values.type.bit_width == 64 else pa.int32())
    numbers = pc.fill_null(values.cast(pa.float64(), safe=False), float("nan")).to_numpy() / days
    numbers[~np.isfinite(numbers)] = np.nan
    return np.asarray(numbers, np.float64)


def _stored(column: Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as Arrow stores them, for example UUIDs as bytes; only ordered categories stay categories."""
    if isinstance(values.type, pa.BaseExtensionType):
        values = values.cast(values.type.storage_type)
    if pa.types.is_dictionary(values.type) and not (column.kind is Kind.ORDINAL and values.type.ordered):
        values = values.cast(values.type.value_type)
    return values


def _ranks(column: Column, values: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return dense ranks from 0; refuse binary values, which would sort but are not numbers."""
    if not pa.types.is_primitive(values.type) and not pa.types.is_decimal(values.type):
        raise SchemaError(_no_order(column, values))
    if pa.types.is_floating(values.type):  # NaN is a missing value, and −0 is 0
        values = pc.add(pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values), pa.scalar(0, values.type))
    if pa.types.is_integer(values.type) and not values.null_count and len(values):
        low, high = pc.min_max(values).values()
        if high.as_py() - low.as_py() < _NARROW:
            wide = values.type if values.type == pa.uint64() else pa.int64()
            places = pc.subtract(values.cast(wide), low.cast(wide)).cast(pa.int64()).to_numpy()
            return np.asarray(np.cumsum(np.bincount(places) > 0)[places] - 1, np.int64)
    try:
        ranks = pc.rank(values, "ascending", tiebreaker="dense")  # missing values last
    except pa.ArrowException:
        raise SchemaError(_no_order(column, values)) from None
    return np.asarray(ranks.to_numpy(), np.int64) - 1


_NARROW = 1 << 16  # range of integers that are counted instead of sorted


def _no_order(column: Column, values: pa.ChunkedArray) -> str:
    return (
        f"Column {column.name!r}: a confidential column of kind {column.kind} must hold numbers or dates, got "
        f"{values.type}. Set its kind to nominal, or give it another role."
    )


def _in_order(column: Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return keys that sort like the values of an ordered column."""
    kind = values.type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if column.kind is not Kind.ORDINAL or numbers:
        return values
    if not pa.types.is_dictionary(values.type) or not values.type.ordered:
        raise SchemaError(
            f"Column {column.name!r}: the order of an ordinal column must be known, but type {values.type} has no "
            "order. Give an ordered categorical, or numbers."
        )
    return pa.chunked_array([chunk.indices for chunk in values.unify_dictionaries().chunks])


def _told_apart(name: str, values: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the code of each record's value, and the values; a missing one is the last code."""
    try:
        encoded = values.combine_chunks().dictionary_encode(null_encoding="mask")
    except pa.ArrowException:
        raise SchemaError(
            f"Column {name!r}: a confidential column must hold numbers, dates, text or categories, got {values.type}. "
            f"Give its parts columns of their own, or make it an identifier, which is removed."
        ) from None
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy().astype(np.int64)
    return codes, encoded.dictionary


def with_spellings(codes: NDArray[np.int64], found: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Number values so that spellings of one value are neighbours; also return which are the same value, or None."""
    text = pa.types.is_string(found.type) or pa.types.is_large_string(found.type)
    same = spelling.spelling_groups(found.to_pylist()) if text else None
    if same is None:
        return codes, None
    if codes.max(initial=0) == len(found):  # a missing value, which is a value of its own
        same.append(len(found))
    _, merged = np.unique(same, return_inverse=True)
    order = np.argsort(merged, kind="stable")
    return np.argsort(order)[codes], merged[order]


def _leaves(name: str, values: pa.ChunkedArray, taxonomy: Taxonomy) -> Confidential:
    """Number the values in leaf order, and the groups after them, inner ones first."""
    codes, found = _told_apart(name, values)
    leaves = sorted(taxonomy.paths, key=lambda leaf: (*taxonomy.paths[leaf], ""))  # those of a group are neighbours
    number = {leaf: at for at, leaf in enumerate(leaves)}
    strange = np.array([called(value) not in number for value in found.to_pylist()], np.bool_)
    if strange.any():
        records = int(np.isin(codes, np.flatnonzero(strange)).sum())
        raise DataError(
            f"Column {name!r}: every value must be in its taxonomy; {int(strange.sum()):,} of {len(found):,} are not, "
            f"in {records:,} of {len(codes):,} records. Add them to the taxonomy."
        )
    new = np.array([*(number[called(value)] for value in found.to_pylist()), len(leaves)], np.int64)
    missing = int(values.null_count > 0)
    counts = np.bincount(new[codes], minlength=len(leaves) + missing)
    groups = sorted({path[:depth] for path in taxonomy.paths.values() for depth in range(1, len(path) + 1)}, key=len)
    place = {group: len(leaves) + missing + at for at, group in enumerate(reversed(groups))}
    above = [place.get(taxonomy.paths[leaf], -1) for leaf in leaves] + [-1] * missing  # −1: directly below the root
    above += [place.get(group[:-1], -1) for group in reversed(groups)]
    return Confidential(name, new[codes], counts, ordered=False, parents=np.array(above, np.int64))


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
    chunks = pc.dictionary_encode(column, null_encoding="encode").chunks  # of one dictionary
    return np.concatenate([np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in chunks)])
