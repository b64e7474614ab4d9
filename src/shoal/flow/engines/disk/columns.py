"""Quasi-identifiers of a table that is read in batches: what all batches together say about each.

Every fact is mergeable: counts add up, ends are the outermost, and sums are exact, so that nothing depends on how rows
are divided into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import DataError, raise_all
from shoal.flow.stages.encode import encode, values_of
from shoal.flow.stages.summary import ColumnSummary
from shoal.kernels.arithmetic.sums import Grids, extent, grids_for, on_grids, total_on
from shoal.points._digits import own_unit_of, step_for, unit_counts, unit_for
from shoal.points._missing import Missing
from shoal.points.datetime import Datetime
from shoal.points.numeric import Numeric, coordinate
from shoal.points.template import Scaling
from shoal.types import Attribute, CodedAttribute, Column, Footing, Kind, Numbers, Placed, Resolution, Schema, Table
from shoal.types.points import PlacedAttribute

#: Yields the stored columns, batch by batch, each time that it is called.
Parts = Callable[[], Iterable[pa.Table]]

_CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)


@dataclass
class QuasiColumn:
    """One quasi-identifier, as far as it has been read."""

    column: Column
    missing: str  #: how a missing value is treated
    type: pa.DataType | None = None  #: of its values
    leaves: pa.DataType | None = None  #: of its cells
    noted: pa.Field | None = None  #: with the notes of its file
    records: int = 0
    lacking: int = 0
    low: Any = None
    high: Any = None
    decimals: NDArray[np.int64] | None = None
    units: dict[str, int] = field(default_factory=dict)
    codes: dict[Any, int] = field(default_factory=dict)  #: of each category, by first appearance
    counts: Counter[int] = field(default_factory=Counter)  #: records of each category
    order: dict[Any, None] = field(default_factory=dict)  #: categories of an ordered dictionary, also without records

    @property
    def name(self) -> str:
        """Its name."""
        return self.column.name

    @property
    def categorical(self) -> bool:
        """Whether it is stored as codes."""
        return self.column.kind in _CATEGORIES

    def add(self, table: Table) -> pa.Array:
        """Take in a batch, and return its values as they are stored: as they are, or as codes of categories."""
        values, _ = values_of(table, self.name, self.missing)
        given = table.data.column(self.name)
        if self.type is None:
            self.type, self.leaves, self.noted = values.type, given.type, table.data.schema.field(self.name)
        self.records += len(values)
        self.lacking += values.null_count
        return self._add_categories(values) if self.categorical else self._add_numbers(values, given.type)

    def _add_numbers(self, values: pa.ChunkedArray, leaves: pa.DataType) -> pa.Array:
        encoder = registry.for_kind("points", self.column.kind)
        made = encoder.of(self.column, values, self.missing, leaves)
        inner = made.inner if isinstance(made, Missing) else made
        ends = pc.min_max(values)
        if len(values) > values.null_count:
            self.low, self.high = _outer(self.low, self.high, ends["min"], ends["max"])
        if isinstance(inner, Numeric) and not pa.types.is_integer(values.type):
            self.decimals = inner.decimals + (0 if self.decimals is None else self.decimals)
        if isinstance(inner, Datetime):
            for unit, count in unit_counts(inner.ticks, inner.per_second).items():
                self.units[unit] = self.units.get(unit, 0) + count
        return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)

    def _add_categories(self, values: pa.ChunkedArray) -> pa.Array:
        plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        if self._ordered:
            self.order |= dict.fromkeys(values.unify_dictionaries().chunk(0).dictionary.to_pylist())
        encoded = plain.combine_chunks().dictionary_encode(null_encoding="mask")
        own = [self.codes.setdefault(value, len(self.codes)) for value in encoded.dictionary.to_pylist()]
        there = encoded.indices.drop_null().to_numpy()
        for code, count in zip(own, np.bincount(there, minlength=len(own)).tolist(), strict=True):
            self.counts[code] += count
        return pa.array(own, pa.int32()).take(encoded.indices)

    def drop_unused(self) -> None:
        """Forget categories without records, as if excluded records had never been there."""
        self.order = {value: None for value in self.order if value in self.codes}

    def summary(self) -> ColumnSummary:
        """Return what a plan must know of it."""
        if self.categorical:
            found = {str(value): self.counts[code] for value, code in self.codes.items()}
            return ColumnSummary(self.lacking, categories=Counter(found))
        low, high = (None if end is None else end.as_py() for end in (self.low, self.high))
        counts = () if self.decimals is None else enumerate(self.decimals.tolist())
        return ColumnSummary(self.lacking, low, high, Counter({at: count for at, count in counts if count}))

    def values(self) -> pa.Array:
        """Return the categories, by code."""
        assert self.type is not None
        kind = self.type.value_type if pa.types.is_dictionary(self.type) else self.type
        found = pa.array(list(self.codes), kind)
        return self._in_order(found) if self._ordered else found

    def restored(self, stored: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return stored values in their own type."""
        if not self.categorical:
            return stored
        return pa.chunked_array([self.values().take(stored.combine_chunks())])

    @property
    def _ordered(self) -> bool:
        """Whether the column itself has an order of categories."""
        kind = self.type
        ordered = kind is not None and pa.types.is_dictionary(kind) and bool(kind.ordered)
        return ordered and self.column.kind is Kind.ORDINAL and not self.column.order

    def _in_order(self, found: pa.Array) -> pa.DictionaryArray:
        assert self.type is not None
        place = {value: at for at, value in enumerate(self.order)}
        indices = pa.array([place[value] for value in found.to_pylist()], self.type.index_type)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(self.order), self.type.value_type), ordered=True)

    def skeleton(self) -> pa.Array:
        """Return the ends of its range, or all its categories, and a missing value if it has one."""
        held = (
            self.values() if self.categorical else pa.array([end.as_py() for end in (self.low, self.high)], self.type)
        )
        return pa.concat_arrays([held, pa.nulls(1, held.type)]) if self.lacking else held

    def resolution(self, declared: float | str | None, attribute: Attribute) -> Resolution:
        """Return the resolution of released values, as the whole column would have it."""
        inner = attribute.inner if isinstance(attribute, Missing) else attribute
        if isinstance(inner, Datetime):
            return unit_for(self.name, declared, own_unit_of(self.units, self.records - self.lacking))
        if isinstance(inner, Numeric) and self.decimals is not None:
            return step_for(self.name, declared, inner.step_of(self.decimals))
        return attribute.resolution(declared)


def _outer(low: Any, high: Any, least: Any, most: Any) -> tuple[Any, Any]:
    return (
        least if low is None or least.as_py() < low.as_py() else low,
        most if high is None or most.as_py() > high.as_py() else high,
    )


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A few rows that stand for the whole table, and their attributes."""

    table: Table
    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, columns: Sequence[QuasiColumn], missing: str) -> Skeleton:
        """Return the skeleton of columns that were read to their end.

        Raises
        ------
        DataError
            If all values of a column are missing.
        """
        raise_all(
            DataError,
            [
                f"Column {one.name!r}: every value is missing. Give it another role, or leave it out."
                for one in columns
                if one.lacking == one.records
            ],
        )
        held = {one.name: one.skeleton() for one in columns}
        rows = max(map(len, held.values()))
        cells = {name: values.take(np.minimum(np.arange(rows), len(values) - 1)) for name, values in held.items()}
        schema = Schema(tuple(one.column for one in columns))
        fields = [pa.field(one.name, cells[one.name].type, metadata=_metadata(one)) for one in columns]
        table = Table(pa.Table.from_arrays(list(cells.values()), schema=pa.schema(fields)), schema)
        return cls(table, tuple(encode(table, list(cells), missing=missing)[1]))

    def __len__(self) -> int:
        return len(self.table)


def _metadata(column: QuasiColumn) -> Mapping[Any, Any] | None:
    return None if column.noted is None else column.noted.metadata


def scalings_for(scale: str, skeleton: Skeleton, columns: Sequence[QuasiColumn], parts: Parts) -> dict[str, Scaling]:
    """Return the scale of every attribute with coordinates, as the whole table would have it in memory.

    `parts` yields the stored columns, batch by batch, each time that it is called. ``standard`` takes two passes over
    them: one for means, one for deviations.
    """
    placed = [(c, a) for c, a in zip(columns, skeleton.attributes, strict=True) if not isinstance(a, CodedAttribute)]
    if scale == "none":
        found = {c.name: Footing(0.0, 1.0, 0) for c, _ in placed}
    elif scale == "range":
        found = {c.name: Footing(*extent(_values(a))) for c, a in placed}
    else:
        found = _standard(placed, parts)
    middles = _middles(placed, found, parts)
    return {name: Scaling(footing, middles.get(name, 0.0)) for name, footing in found.items()}


def _inner(attribute: Attribute) -> Numbers:
    inner = attribute.inner if isinstance(attribute, Missing) else attribute
    assert isinstance(inner, Numbers)
    return inner


def _values(attribute: Attribute) -> NDArray[np.float64]:
    return _inner(attribute).values


class _Sums:
    """Exact sums of a column on grids that its ends determine, and the number of its values."""

    def __init__(self, largest: float, count: int) -> None:
        self.grids: Grids | None = grids_for(largest, count) if largest > 0.0 else None
        self.sums, self.count = np.zeros(3), count

    def add(self, values: NDArray[np.float64]) -> None:
        if self.grids is not None:
            self.sums += on_grids(values, self.grids)

    def mean(self) -> float:
        return 0.0 if self.grids is None else total_on(self.grids, self.sums) / self.count


def _standard(placed: Sequence[tuple[QuasiColumn, Attribute]], parts: Parts) -> dict[str, Footing]:
    """Return mean and deviation of every column: two passes."""
    exponents = {c.name: int(np.frexp(np.abs(_values(a)).max())[1]) for c, a in placed}
    ends = {c.name: np.ldexp(_values(a), -exponents[c.name]) for c, a in placed}
    varies = [(c, a) for c, a in placed if ends[c.name].min() < ends[c.name].max()]
    sums = {c.name: _Sums(float(np.abs(ends[c.name]).max()), c.records - c.lacking) for c, _ in varies}
    for name, values in _over(varies, parts):
        sums[name].add(np.ldexp(values, -exponents[name]))
    means = {name: one.mean() for name, one in sums.items()}
    squares = {
        c.name: _Sums(float(((ends[c.name] - means[c.name]) ** 2).max()), c.records - c.lacking) for c, _ in varies
    }
    for name, values in _over(varies, parts):
        squares[name].add((np.ldexp(values, -exponents[name]) - means[name]) ** 2)
    return {
        c.name: Footing(means[c.name], float(np.sqrt(squares[c.name].mean())), exponents[c.name])
        if c.name in means
        else Footing(float(ends[c.name].min()), 0.0, exponents[c.name])
        for c, _ in placed
    }


def _middles(
    placed: Sequence[tuple[QuasiColumn, Attribute]], footings: Mapping[str, Footing], parts: Parts
) -> dict[str, float]:
    """Return the mean coordinate of each column that has missing values."""
    lacking = [(c, a) for c, a in placed if c.lacking]
    if not lacking:
        return {}
    largest = {c.name: float(np.abs(coordinate(_values(a), footings[c.name])).max()) for c, a in lacking}
    sums = {c.name: _Sums(largest[c.name], c.records - c.lacking) for c, _ in lacking}
    for name, values in _over(lacking, parts):
        sums[name].add(coordinate(values, footings[name])[:, 0])
    return {name: one.mean() for name, one in sums.items()}


def _over(placed: Sequence[tuple[QuasiColumn, Attribute]], parts: Parts) -> Iterable[tuple[str, NDArray[np.float64]]]:
    """Yield the numbers of each column, batch by batch, on the scale of its skeleton."""
    unit = Footing(0.0, 1.0, 0)
    for table in parts():
        for column, attribute in placed:
            held = column.restored(table.column(column.name)).drop_null()
            if len(held):
                inner: PlacedAttribute = _inner(attribute)
                yield column.name, inner.like(held, Placed(np.zeros((1, 1)), (unit,)))[:, 0]


def categories_as_dictionaries(columns: Sequence[QuasiColumn], table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return stored columns for a template: codes with their categories, other values as they are."""
    found = {}
    for one in columns:
        stored = table.column(one.name)
        if one.column.kind is Kind.NOMINAL:
            codes = stored.combine_chunks()
            codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
            stored = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, one.values())])
        elif one.categorical:
            stored = one.restored(stored)
        found[one.name] = stored
    return found
