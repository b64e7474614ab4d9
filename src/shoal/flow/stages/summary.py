"""Summary of a table: counts, ranges, digits, categories, and the distributions of confidential values.

Every decision of a plan is based on the summary. Summaries of parts of a table can be merged, so that a plan can be
made for a table that does not fit in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, SchemaError, ShoalError
from shoal.flow.stages.encode import confidential_columns, encode, weights_in
from shoal.flow.stages.values import as_values, categories, named, strata_of, subjects_of, told_apart
from shoal.kernels.runtime.jit import each
from shoal.points._missing import Missing
from shoal.points.numeric import Numeric
from shoal.recipe.recipe import Recipe
from shoal.types import Attribute, Kind, Role, Table

T = TypeVar("T")
_CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)
GROUP = "group"  #: name of the column of groups in a tally


@dataclass(frozen=True)
class ColumnSummary:
    """One quasi-identifier: its missing values, and its range and decimals or its categories.

    >>> ColumnSummary(1, 2.0, 3.0).merged(ColumnSummary(0, 0.5, 1.0))
    ColumnSummary(missing=1, low=0.5, high=3.0, decimals=Counter(), categories=Counter())
    """

    missing: int
    low: Any = None  #: the smallest value; None without values
    high: Any = None
    decimals: Counter[int] = field(default_factory=Counter)  #: values other than 0, by number of decimals
    categories: Counter[str] = field(default_factory=Counter)  #: number of records per category

    def merged(self, other: ColumnSummary) -> ColumnSummary:
        """Return the summary of this part of the column and another part."""
        lows = [one.low for one in (self, other) if one.low is not None]
        highs = [one.high for one in (self, other) if one.high is not None]
        return ColumnSummary(
            self.missing + other.missing,
            min(lows, default=None),
            max(highs, default=None),
            self.decimals + other.decimals,
            self.categories + other.categories,
        )


@dataclass(frozen=True, eq=False)
class Tally:
    """Each combination of values once, with its number of records and, where requested, their weight.

    >>> import pyarrow as pa
    >>> tally = Tally.of(pa.table({"a": [1, 1, 2], "b": [0, 0, 0]}))
    >>> tally.merged(tally).counts.tolist(), tally.rows.num_rows
    ([4, 2], 2)
    """

    rows: pa.Table = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    weights: NDArray[np.float64] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        data: pa.Table,
        counts: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Tally:
        """Count the rows of a table; with `counts`, each row stands for that many records."""
        codes = np.zeros(data.num_rows, np.int64)
        for name in data.column_names:
            own = categories(name, data.column(name), "cannot be counted. Give the column another role.")
            pairs = codes * (own.max(initial=-1) + 1) + own
            codes = np.asarray(np.unique(pairs, return_inverse=True)[1], np.int64).ravel()
        first = np.unique(codes, return_index=True)[1]
        added = np.bincount(codes, counts, len(first)).astype(np.int64)
        summed = None if weights is None else np.bincount(codes, weights, len(first)).astype(np.float64)
        return cls(data.take(first), added, summed)

    def merged(self, other: Tally) -> Tally:
        """Return the tally of the records of both."""
        rows = pa.concat_tables([self.rows, other.rows], promote_options="permissive").unify_dictionaries()
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.concatenate((self.weights, other.weights))
        return Tally.of(rows, np.concatenate((self.counts, other.counts)), weights)

    def records(self) -> pa.Table:
        """Return one row for each counted record."""
        return self.rows.take(np.repeat(np.arange(len(self.counts)), self.counts))


@dataclass(frozen=True, eq=False)
class Summary:
    """The facts about the data that a plan needs.

    Attributes
    ----------
    records
        Number of records.
    columns
        The quasi-identifiers, by name.
    strata
        Number of records in each stratum; None without strata.
    values
        The values of each confidential column in each stratum, if something is required of them.
    people
        The people or groups in each stratum with their weights, if k or a requirement counts them.
    ungrouped
        Number of records without a group, if groups are never split.
    by_group
        For each column that must be constant within a group, and for the strata under "", the values in each group.
    unit
        The amount that a weight of 1 in `people` stands for.
    faults
        Reasons why columns could not be read.
    counted
        Whether the table was read; without that, a plan cannot tell whether requirements can be met.
    """

    records: int
    columns: Mapping[str, ColumnSummary] = field(default_factory=dict, repr=False)
    strata: Tally | None = None
    values: Mapping[str, Tally] = field(default_factory=dict, repr=False)
    people: Tally | None = None
    ungrouped: int = 0
    by_group: Mapping[str, Tally] = field(default_factory=dict, repr=False)
    unit: float = 1.0
    faults: tuple[ShoalError, ...] = ()
    counted: bool = True

    def merged(self, other: Summary) -> Summary:
        """Return the summary of this part of a table and another part with the same columns."""
        unit = max(self.unit, other.unit)
        return Summary(
            self.records + other.records,
            {name: one.merged(other.columns[name]) for name, one in self.columns.items()},
            _both(self.strata, other.strata),
            {name: one.merged(other.values[name]) for name, one in self.values.items()},
            _both(self._people_in(unit), other._people_in(unit)),
            self.ungrouped + other.ungrouped,
            {name: one.merged(other.by_group[name]) for name, one in self.by_group.items()},
            unit,
            (*self.faults, *other.faults),
        )

    def _people_in(self, unit: float) -> Tally | None:
        if self.people is None or self.people.weights is None:
            return self.people
        return Tally(self.people.rows, self.people.counts, self.people.weights * (self.unit / unit))


def _both(one: Tally | None, other: Tally | None) -> Tally | None:
    return None if one is None or other is None else one.merged(other)


def summarise(table: Table, recipe: Recipe) -> Summary:
    """Summarise a table as far as a recipe needs; unreadable columns are listed in its faults."""
    faults: list[ShoalError] = []

    def tried(make: Callable[[], T], otherwise: T) -> T:
        try:
            return make()
        except (DataError, ParameterError, SchemaError) as error:
            faults.append(error)
            return otherwise

    missing = "fill" if recipe.when_missing == "fill" else "category"
    none: tuple[Table, list[Attribute]] = (table, [])
    typed, attributes = tried(lambda: encode(table, table.schema.names(Role.QUASI), missing=missing), none)
    confidential = tried(lambda: confidential_columns(table), None)  # refuses columns that the audit could not read
    strata = tried(lambda: _strata(table), None)
    weights = tried(lambda: weights_in(table), None)
    required = recipe.t is not None or bool(recipe.require)
    unit = 1.0 if weights is None else float(weights.max())
    people = None
    if recipe.counted is not None or required:
        people = tried(lambda: people_tally(table, recipe, None if weights is None else weights / unit), None)
    empty: dict[str, Tally] = {}
    values = empty if confidential is None or not required else tried(lambda: value_tallies(table), empty)
    grouped = recipe.together is not None and not faults
    return Summary(
        len(table),
        dict(each(lambda one: (one.name, _of_column(one, typed)), attributes)),
        strata,
        values,
        people,
        told_apart(table, recipe.together, exact=recipe.subject_exact).null_count if recipe.together else 0,
        tried(lambda: _by_group(table, typed, recipe), empty) if grouped else empty,
        unit,
        tuple(faults),
    )


def _of_column(attribute: Attribute, typed: Table) -> ColumnSummary:
    name = attribute.name
    column = typed.data.column(name)
    if typed.schema[name].kind in _CATEGORIES:
        counted = pc.value_counts(column.drop_null().combine_chunks())
        found = zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True)
        return ColumnSummary(column.null_count, categories=Counter({str(value): count for value, count in found}))
    ends = pc.min_max(column)
    values = attribute.inner if isinstance(attribute, Missing) else attribute
    needed = enumerate(values.decimals.tolist()) if isinstance(values, Numeric) else ()
    decimals = Counter({count: records for count, records in needed if records})
    return ColumnSummary(column.null_count, ends["min"].as_py(), ends["max"].as_py(), decimals)


def _strata(table: Table) -> Tally | None:
    names = table.schema.names(Role.STRATA)
    if strata_of(table) is None:  # refuses columns that cannot be strata
        return None
    return Tally.of(table.data.select(list(names)))


def value_tallies(table: Table) -> dict[str, Tally]:
    """Return the values of each confidential column in each stratum."""
    strata = [table.data.column(name) for name in table.schema.names(Role.STRATA)]
    return {
        name: Tally.of(_columns((*table.schema.names(Role.STRATA), name), (*strata, as_values(name, table))))
        for name in table.schema.names(Role.CONFIDENTIAL)
    }


def people_tally(table: Table, recipe: Recipe, weights: NDArray[np.float64] | None) -> Tally:
    """Return the people of each stratum with their weights; without a subject column, every record is one."""
    names = list(table.schema.names(Role.STRATA))
    columns = [table.data.column(name) for name in names]
    subject = named(table.data, recipe.counted)
    if subject is not None and recipe.counted is not None:
        subjects_of(table, exact=recipe.subject_exact)  # refuses a column that cannot identify people
        counted = _columns((*names, recipe.counted), (*columns, subject))
        return Tally.of(counted, weights=np.ones(len(table)) if weights is None else weights)
    weight = pa.chunked_array([np.ones(len(table)) if weights is None else weights])
    return Tally.of(_columns((*names, "weight"), (*columns, weight)))


def _by_group(table: Table, typed: Table, recipe: Recipe) -> dict[str, Tally]:
    """Return the values of each column that must be constant within a group, and of the strata."""
    assert recipe.together is not None
    groups = told_apart(table, recipe.together, exact=recipe.subject_exact)
    found = {
        name: Tally.of(_columns((GROUP, name), (groups, typed.data.column(name)))) for name in recipe.household_level
    }
    if recipe.strata:
        strata = [table.data.column(name) for name in recipe.strata]
        found[""] = Tally.of(_columns((GROUP, *recipe.strata), (groups, *strata)))
    return found


def _columns(names: tuple[str, ...], columns: tuple[pa.ChunkedArray, ...]) -> pa.Table:
    return pa.Table.from_arrays(list(columns), [f"{at}" if names.count(n) > 1 else n for at, n in enumerate(names)])
