"""Distinct values of a confidential column in an audit, and the distances between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, GuaranteeError, SchemaError
from shoal.privacy.counting.spelling import merged
from shoal.types import Column, Kind, Reference, Taxonomy, called

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def ranks_of(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return dense ranks from 0 of numbers without NaN, and the distinct numbers, ascending.

    >>> ranks_of(np.array([0.5, -2.0, 0.5, 7.0]))[0].tolist()
    [1, 0, 1, 2]
    """
    n = len(numbers)
    whole = numbers.dtype.kind in "iu" and n > 0
    if whole and int(numbers.max()) - int(numbers.min()) < 2 * n:  # few enough for a table with an entry per value
        wide = numbers if numbers.dtype.itemsize == 8 else numbers.astype(np.int64)  # 127 − (−128) is no int8
        least = wide.min()
        above = (wide - least).astype(np.int64)
        places = np.bincount(above) > 0
        return np.asarray((np.cumsum(places) - 1)[above]), _above(least, places)
    order, rising = _ordered(numbers)
    ranks = np.empty(n, np.int64)
    new = np.ones(n, np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=new[1:])
    ranks[order] = np.cumsum(new) - 1
    return ranks, rising if bool(new.all()) else rising[new]


def _above(least: Any, places: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the numbers marked in a table, counted from the least; beyond 2⁶³ they are unsigned."""
    found = np.flatnonzero(places)
    return found.astype(np.uint64) + least if int(least) + len(places) > 2**63 else found + int(least)


def _ordered(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return positions in ascending order of their numbers, and the numbers; equal ones in any order."""
    n = len(numbers)
    shift = max(n - 1, 1).bit_length()
    if numbers.dtype != np.float64 or n < 1000:
        order = np.argsort(numbers)
        return order, numbers[order]
    # as bits, floats are in order, if the other bits are flipped where the sign is set
    keys = (numbers + 0.0).view(np.int64)
    if int(keys.min()) < 0:
        turned = keys >> 63
        turned &= _ALL_BUT_SIGN
        keys ^= turned
    keys >>= shift  # the lowest bits make room for the position
    keys <<= shift
    keys |= np.arange(n)
    keys.sort()
    order = keys & ((1 << shift) - 1)
    rising = numbers[order]
    wrong = np.flatnonzero(rising[1:] < rising[:-1])  # numbers that differ only in their lowest bits
    if len(wrong) > n // 100:
        order = np.argsort(numbers)
        return order, numbers[order]
    ends = np.flatnonzero(np.diff(keys >> shift)) + 1 if len(wrong) else wrong
    for at in np.unique(np.searchsorted(ends, wrong, side="right")).tolist():
        same = slice(int(ends[at - 1]) if at else 0, int(ends[at]) if at < len(ends) else n)
        order[same] = order[same][np.argsort(rising[same])]
        rising[same] = numbers[order[same]]
    return np.asarray(order), rising


class Level(NamedTuple):
    """Nodes of a tree at the same depth below the root."""

    node: NDArray[np.int64]  #: for each value, its node or ancestor at this level; −1: none
    length: NDArray[np.int64]  #: of the edge above each node


@dataclass(frozen=True, eq=False)
class Values:
    """Value of each record, numbered so that neighbours in the order, or in the tree, have neighbouring numbers.

    Attributes
    ----------
    codes
        The code of each record's value.
    count
        Number of values.
    levels
        The tree with the values as leaves; empty if values are ordered.
    scale
        Length of a unit: distances between values are lengths divided by this.
    reading
        How distances are measured, in words.
    numbers
        The values as numbers, without a missing one, if they are known without another pass.
    merged
        For each value the first one that is the same in another spelling; None: no two are the same. Models that count
            values use it; closeness compares values as they are spelled.
    table
        The count of each value in the whole table; None: these records are the whole table.
    base
        The codes of the values of all records of the whole table, ascending; None: these records are the whole table.
    """

    codes: NDArray[np.int64]
    count: int
    levels: tuple[Level, ...]
    scale: int
    reading: str
    numbers: NDArray[Any] | None = None
    merged: NDArray[np.int64] | None = None
    table: NDArray[np.int64] | None = None
    base: NDArray[Any] | None = None

    def as_counted(self) -> Values:
        """Return the values as they are counted: spellings of one value are one value."""
        if self.merged is None:
            return self
        table = None if self.table is None else _added(self.merged, self.table, self.count)
        return replace(self, codes=self.merged[self.codes], merged=None, table=table, base=None)

    @property
    def records(self) -> int:
        """Number of records of the whole table."""
        return len(self.codes) if self.table is None else int(self.table.sum())

    def counts_in(self, base: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the count of each value among some records."""
        if self.table is not None and base is self.base:
            return self.table
        return np.bincount(base, minlength=self.count)


def _added(codes: NDArray[np.int64], counts: NDArray[np.int64], values: int) -> NDArray[np.int64]:
    """Return the sum of the counts of each code."""
    total = np.zeros(values, np.int64)
    np.add.at(total, codes, counts)
    return total


def values_within(column: Column, cells: pa.ChunkedArray, reference: Reference) -> Values:
    """Number the values of a part of a table as those of the whole table are numbered.

    Raises
    ------
    GuaranteeError
        If the part has a value that the table does not have: then it is no part of it.

    >>> import pyarrow as pa
    >>> from shoal.types import Role
    >>> whole = pa.chunked_array([[30, 10, None]])
    >>> pay = Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)
    >>> part = values_within(pay, pa.chunked_array([[None, 30]]), Reference(whole, whole, np.array([5, 2, 1])))
    >>> part.codes.tolist(), part.table.tolist()
    ([2, 1], [2, 5, 1])
    """
    if "values" not in reference.cache:
        whole = values_of(column, reference.values)
        table = _added(whole.codes, reference.counts, whole.count)
        narrow = np.int32 if whole.count <= np.iinfo(np.int32).max else np.int64  # there may be many records
        base = np.repeat(np.arange(whole.count, dtype=narrow), table)
        reference.cache["values"] = replace(whole, table=table, base=base)
        reference.cache["cells"] = normal(reference.cells).combine_chunks()
    known: Values = reference.cache["values"]
    rows = pc.index_in(normal(cells), value_set=reference.cache["cells"])
    if rows.null_count:
        raise GuaranteeError(f"Column {column.name!r} changed while it was audited. Audit it again.")
    return replace(known, codes=known.codes[rows.to_numpy()])


def values_of(column: Column, cells: pa.ChunkedArray) -> Values:
    """Number the values of a confidential column.

    A missing value is a value, and so is NaN, which is the same value; −0 is 0. It comes last where values are ordered,
    and next to all groups in a taxonomy.

    >>> import pyarrow as pa
    >>> from shoal.types import Role
    >>> pay = Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)
    >>> values_of(pay, pa.chunked_array([[30, 10, None, 10]])).codes.tolist()
    [1, 0, 2, 0]
    """
    if column.taxonomy is not None:
        return _tree(column.name, cells, column.taxonomy)
    if column.kind is Kind.NOMINAL:
        codes, found, missing = _told_apart(column.name, cells)
        count = len(found) + missing
        star = Level(np.arange(count), np.ones(count, np.int64))
        same = merged(found)
        if same is not None and missing:  # missing is a value of its own
            same = np.append(same, len(found))
        return Values(codes, count, (star,), 2, "values are equally far apart", merged=same)
    codes, numbers = _ranks(column, cells)
    count = int(codes.max()) + 1
    return Values(codes, count, (), max(count - 1, 1), "values are as far apart as their ranks", numbers)


def _told_apart(name: str, cells: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array, int]:
    """Return the code of each record's value, the values, and whether a missing one comes after them."""
    try:
        encoded = normal(cells).combine_chunks().dictionary_encode(null_encoding="mask")
    except pa.ArrowException:
        raise SchemaError(
            f"Column {name!r}: a confidential column must hold numbers, dates, text or categories, got {cells.type}. "
            f"Give its parts columns of their own, or make it an identifier, which is removed."
        ) from None
    missing = int(encoded.indices.null_count > 0)
    codes = encoded.indices.fill_null(len(encoded.dictionary)) if missing else encoded.indices
    return codes.to_numpy().astype(np.int64), encoded.dictionary, missing


def normal(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return plain values: no dictionaries, NaN as missing, −0 as 0."""
    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        return normal(cells.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return normal(cells.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return normal(pa.chunked_array([pc.run_end_decode(chunk) for chunk in cells.chunks], kind.value_type))
    if not pa.types.is_floating(kind):
        return cells
    plain = pc.add(cells, pa.scalar(0, kind))
    if pc.any(pc.is_nan(plain)).as_py():
        plain = pc.if_else(pc.is_nan(plain), pa.scalar(None, kind), plain)
    return plain


def _ranks(column: Column, cells: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """Return dense ranks from 0, missing values last; and the values if they are plain numbers."""
    ordered = _in_order(column, cells)
    ranked = pa.types.is_primitive(ordered.type) and not pa.types.is_interval(ordered.type)
    if not ranked and not pa.types.is_decimal(ordered.type):
        raise SchemaError(
            f"Column {column.name!r}: a confidential column of kind {column.kind} must hold numbers or dates, got "
            f"{ordered.type}. Set its kind to nominal, or give it another role."
        )
    if not ordered.null_count:
        return _dense(ordered.combine_chunks())
    ranks = np.empty(len(ordered), np.int64)
    there = np.asarray(ordered.is_valid().to_numpy())
    present, numbers = _dense(ordered.drop_null().combine_chunks())
    ranks[there], ranks[~there] = present, present.max(initial=-1) + 1
    return ranks, numbers


def _dense(present: pa.Array) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """Return dense ranks from 0 of values without missing ones; and the values if they are numbers."""
    if pa.types.is_decimal(present.type):
        return np.asarray(pc.rank(present, "ascending", tiebreaker="dense").to_numpy(), np.int64) - 1, None
    if pa.types.is_temporal(present.type):
        present = present.view(pa.int64() if present.type.bit_width == 64 else pa.int32())
    numbers = present.to_numpy(zero_copy_only=False)
    return ranks_of(numbers)


def _in_order(column: Column, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return keys that sort like the values of an ordered column."""
    if pa.types.is_dictionary(cells.type) and cells.type.ordered:
        categories = cells.unify_dictionaries().chunk(0).dictionary if cells.num_chunks else pa.array([], pa.string())
        _refuse_spellings(column.name, "order", categories)
        return pa.chunked_array([chunk.indices for chunk in cells.unify_dictionaries().chunks])
    plain = normal(cells)
    if column.kind is Kind.ORDINAL and not _is_number(plain.type):
        raise SchemaError(
            f"Column {column.name!r}: the order of an ordinal column must be known, but type {cells.type} has no "
            "order. Give an ordered categorical, or numbers."
        )
    return plain


def _texts(names: list[str]) -> pa.Array:
    return pa.array(names, pa.string())


def _refuse_spellings(name: str, what: str, categories: pa.Array) -> None:
    """Refuse an order or a taxonomy with two spellings of one value, because either could be meant."""
    if merged(categories) is not None:
        raise SchemaError(
            f"Column {name!r}: its {what} must list every value once, but lists two spellings of one value "
            "(differing in case, spaces or invisible characters). Remove one, and correct the cells that have it."
        )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _tree(name: str, cells: pa.ChunkedArray, taxonomy: Taxonomy) -> Values:
    """Number the values in leaf order, so that those below a node are neighbours."""
    codes, found, missing = _told_apart(name, cells)
    leaves = sorted(taxonomy.paths, key=lambda leaf: (*taxonomy.paths[leaf], ""))
    _refuse_spellings(name, "taxonomy", _texts(leaves))
    place = {leaf: at for at, leaf in enumerate(leaves)}
    new = np.array([*(place.get(called(value), -1) for value in found.to_pylist()), len(leaves)], np.int64)
    strange = int((new < 0).sum())
    if strange:
        raise DataError(
            f"Column {name!r}: every value must be in its taxonomy; {strange:,} of {len(found):,} are not, "
            f"in {int((new[codes] < 0).sum()):,} of {len(codes):,} records. Add them to the taxonomy."
        )
    paths = [taxonomy.paths[leaf] for leaf in leaves] + [()] * missing
    levels, height = _levels(paths)
    reading = "values are as far apart as their lowest common ancestor in the taxonomy is high"
    return Values(new[codes], len(paths), levels, 2 * height, reading)


def _levels(paths: list[tuple[str, ...]]) -> tuple[tuple[Level, ...], int]:
    """Return the levels of a tree, given the groups above each leaf, and its height.

    An edge is as long as its upper end is higher than its lower one. The path from a leaf up to a node is then as long
    as the node is high, and the path between two leaves is twice the height of their lowest common ancestor.
    """
    height: dict[tuple[str, ...], int] = {(): 1}
    for path in paths:
        for depth in range(len(path) + 1):
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) - depth + 1)
    leaves = Level(np.arange(len(paths)), np.array([height[path] for path in paths], np.int64))
    levels = [leaves]
    for depth in range(1, max(map(len, paths)) + 1):
        groups = sorted(group for group in height if len(group) == depth)
        number = {group: at for at, group in enumerate(groups)}
        node = np.array([number[path[:depth]] if len(path) >= depth else -1 for path in paths], np.int64)
        levels.append(Level(node, np.array([height[g[:-1]] - height[g] for g in groups], np.int64)))
    return tuple(levels), height[()]
