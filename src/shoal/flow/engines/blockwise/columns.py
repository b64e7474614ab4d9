"""Quasi-identifiers of a table that is read in batches: what all batches together say about each.

Every fact is mergeable: counts add up, ends are the outermost, and sums are exact, so that nothing depends on how rows
are divided into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import registry
from shoal.flow.stages.encode import values_of
from shoal.flow.stages.summary import ColumnSummary
from shoal.points._digits import own_unit_of, step_for, unit_counts, unit_for
from shoal.points._missing import Missing
from shoal.points.datetime import Datetime
from shoal.points.numeric import Numeric
from shoal.types import Attribute, Column, Kind, Resolution, Table

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
        return _whole(values)

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

    def stored(self, table: Table) -> pa.Array:
        """Return the values of a batch of a table that was read to its end, as they are stored."""
        values, _ = values_of(table, self.name, self.missing)
        if not self.categorical:
            return _whole(values)
        plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        return pc.index_in(_whole(plain), value_set=pa.array(list(self.codes), plain.type), skip_nulls=True)

    def merge(self, other: QuasiColumn) -> None:
        """Take in what another part of the table says about the column."""
        if self.type is None:
            self.type, self.leaves, self.noted = other.type, other.leaves, other.noted
        self.records += other.records
        self.lacking += other.lacking
        if other.low is not None:
            self.low, self.high = _outer(self.low, self.high, other.low, other.high)
        if other.decimals is not None:
            self.decimals = other.decimals + (0 if self.decimals is None else self.decimals)
        for unit, count in other.units.items():
            self.units[unit] = self.units.get(unit, 0) + count
        for value, code in other.codes.items():
            self.counts[self.codes.setdefault(value, len(self.codes))] += other.counts[code]
        self.order |= other.order

    def sort_categories(self) -> None:
        """Number the categories in their own order, which does not depend on how rows are divided into parts."""
        values = sorted(self.codes, key=lambda value: (str(type(value)), value))
        self.counts = Counter({at: self.counts[self.codes[value]] for at, value in enumerate(values)})
        self.codes = {value: at for at, value in enumerate(values)}

    def drop_unused(self) -> None:
        """Forget categories without records, as if excluded records had never been there."""
        self.order = {value: None for value in self.order if value in self.codes}

    def summary(self) -> ColumnSummary:
        """Return the facts about it that a plan needs."""
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


def _whole(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


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
