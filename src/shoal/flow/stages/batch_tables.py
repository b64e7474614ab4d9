"""Tables of batches: their schema, and text cells as values of types that are the same in all batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, SchemaError, raise_all
from shoal.flow.stages.batches import Batches
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.schema.cell_summary import CellSummary, as_type
from shoal.schema.cells import WORDS, moment_sign, readable, tidy, values, without_missing
from shoal.schema.conventions import refusal
from shoal.schema.kinds import CellCounts, all_labelled, kind_of_field, sampled_rows
from shoal.schema.roles import schema_from
from shoal.types import Column, Dialect, Kind, Role, Schema, Table, with_columns
from shoal.types.table import PARSED


def schema_of_batches(batches: Batches, recipe: Recipe) -> Schema:
    """Return the schema that `schema_for` returns for the whole table.

    The kinds of text columns need one pass over the batches, and a second one over a few cells of columns that mix
    numbers or dates with other text.
    """
    names = batches.arrow.names
    raise_all(SchemaError, [unknown("Schema", "column", n, names) for n in recipe.reviewed if n not in names])
    known = {**recipe.kinds, **recipe.taxonomies, **recipe.orders}
    asked = [name for name in names if name not in known]

    @cache
    def kinds() -> dict[str, Kind]:
        return kinds_of_batches(batches, asked)

    return schema_from(
        batches.arrow,
        lambda name: kinds()[name],
        recipe.roles,
        recipe.kinds,
        taxonomies=recipe.taxonomies,
        orders=recipe.orders,
    )


def kinds_of_batches(batches: Batches, names: Sequence[str]) -> dict[str, Kind]:
    """Return the kinds of columns that `kind_of` infers from the whole table."""
    if batches.dialect is None:
        return {name: kind_of_field(batches.arrow.field(name), _labelled(batches, name)) for name in names}
    dialect, counts = batches.dialect, dict.fromkeys(names, CellCounts())
    for table in batches.read(names):
        for name in names:
            found = CellCounts.of(tidy(table.column(name), dialect), dialect)
            counts[name] = counts[name].merged(found)
    samples = _samples(batches, [name for name in names if not counts[name].settled], counts, dialect)
    return {
        name: samples[name].kind if name in samples and samples[name].conclusive else counts[name].kind
        for name in names
    }


def _labelled(batches: Batches, name: str) -> Callable[[], bool]:
    """Return a function that tells whether all values of a column have a label."""

    def labelled() -> bool:
        field = batches.arrow.field(name)
        found = {all_labelled(field, table.column(name)) for table in batches.read([name])}
        return True in found and False not in found

    return labelled


def _samples(
    batches: Batches, names: Sequence[str], counts: Mapping[str, CellCounts], dialect: Dialect
) -> dict[str, CellCounts]:
    """Count the cells of the rows from which `kind_of` infers the kind first."""
    if not names:
        return {}
    rows, start, taken = sampled_rows(counts[names[0]].rows), 0, []
    for table in batches.read(names):
        inside = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + table.num_rows)] - start
        taken.append(table.take(pa.array(inside)))
        start += table.num_rows
    sample = pa.concat_tables(taken)
    return {name: CellCounts.of(tidy(sample.column(name), dialect), dialect) for name in names}


@dataclass(frozen=True, eq=False)
class BatchReader:
    """Tables of batches with the schema of the whole table; all have the same Arrow types.

    Parameters
    ----------
    batches
        The files.
    schema
        The schema of the whole table.
    textual
        Whether the output is text. Cells are then kept as written, and quasi-identifiers, weights and confidential
        dates are also parsed, where `as_values` finds them. Otherwise cells are parsed as in `read_table`.
    recoded
        Further columns that are parsed, whatever their roles, because they are recoded.
    """

    batches: Batches
    schema: Schema
    textual: bool
    recoded: frozenset[str] = frozenset()

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the tables, and of a text output, as in memory; None: the output is not text."""
        if not self.textual:
            return None
        if self.batches.dialect is None:
            return self.batches.written
        moments = [one for one in self._readings.values() if one.how == "moments" and one.column.role is Role.QUASI]
        return replace(self.batches.dialect, moment=moments[-1].moment if moments else "T")

    @cached_property
    def _readings(self) -> dict[str, Reading]:
        """How each text column is read. If that depends on its cells, they are read now, in one pass."""
        dialect = self.batches.dialect
        if dialect is None:
            return {}
        readings = {
            c.name: Reading.of(c, dialect, textual=self.textual, recoded=c.name in self.recoded)
            for c in self.schema.columns
        }
        undecided = [name for name, reading in readings.items() if reading.undecided]
        for table in self.batches.read(undecided) if undecided else ():
            for name in undecided:
                readings[name].count(table.column(name), dialect)
        raise_all(DataError, [said for name in undecided if (said := readings[name].refusal(dialect))])
        self._refuse_unread(dialect)
        return readings

    def _refuse_unread(self, dialect: Dialect) -> None:
        """Refuse confidential numbers and dates that would be compared as categories, by the first batch."""
        names = [
            one.name
            for one in self.schema.columns
            if one.role is Role.CONFIDENTIAL and one.kind is Kind.NOMINAL and not one.declared
        ]
        if not names:
            return
        first = next(self.batches.read(names))
        found = [refusal(self.schema[name], first.column(name), dialect) for name in names]
        raise_all(DataError, [said for said in found if said])

    def read(self, columns: Sequence[str] | None = None, rows: int | None = None) -> Iterator[Table]:
        """Yield tables of `rows` rows, by default by width; the last has fewer. All columns or some, in this order.

        Raises
        ------
        DataError
            If a file cannot be read, or if cells of a quasi-identifier or a weight do not read as its kind: the column,
            the count and the row numbers of the whole table.
        """
        wanted = self.schema.names() if columns is None else tuple(columns)
        schema = Schema(tuple(self.schema[name] for name in wanted))
        dialect, written = self.batches.dialect, self.dialect
        for data in self.batches.read(wanted, rows):
            found = {} if dialect is None else {name: self._parsed(name, data, dialect) for name in wanted}
            parsed = {name: column for name, column in found.items() if column is not None}
            if self.textual:
                table = Table(data, schema, written)
            else:
                kept = {name for name in parsed if self._readings[name].beside}
                typed = {name: column for name, column in parsed.items() if name not in kept}
                table = Table(with_columns(data, typed) if typed else data, schema)
                parsed = {name: parsed[name] for name in kept}
            for name, column in parsed.items():
                table.cache[PARSED, (name,), True] = column
                if schema[name].kind is not Kind.INTEGER:  # whose values are floats, unless they are to be exact
                    table.cache[PARSED, (name,), False] = column
            yield table

    def _parsed(self, name: str, data: pa.Table, dialect: Dialect) -> pa.ChunkedArray | None:
        reading = self._readings[name]
        try:
            return reading.parse(data.column(name), dialect)
        except DataError:  # about the rows of this batch
            whole = replace(reading, summary=CellSummary())
            for table in self.batches.read([name]):
                whole.count(table.column(name), dialect)
            raise DataError(whole.summary.refusal(name, reading.column.kind, dialect)) from None


#: Ways to read a column that depend on all its cells.
_UNDECIDED = ("moments", "readable moments", "lossless", "ordinal")


def _how(column: Column, dialect: Dialect, *, textual: bool, recoded: bool = False) -> str:
    """Return how a text column is read.

    ``written``: as it is. ``tidy``, ``without missing``: as text without cells that mean "no value". ``values``: as
    numbers, or dates of a given format. ``moments``: as dates or times in ISO 8601, whose type depends on all of them;
    ``readable moments``: the same, if all are readable. ``lossless``: as values, if they keep everything. ``ordinal``:
    as numbers, if all cells are.
    """
    role, kind = column.role, column.kind
    needed = role in (Role.QUASI, Role.WEIGHT) or (recoded and textual)
    if kind is Kind.DATETIME and dialect.datetime is None and (needed or (textual and role is Role.CONFIDENTIAL)):
        return "moments" if needed else "readable moments"
    if needed and kind in WORDS:
        return "values"
    if (role is Role.QUASI or recoded) and kind is Kind.ORDINAL and not column.order:
        return "ordinal"
    if not textual and (role is Role.QUASI or kind in WORDS):
        return "tidy" if role is Role.QUASI else "lossless"
    return "without missing" if not textual and role is Role.CONFIDENTIAL and kind is Kind.NOMINAL else "written"


@dataclass
class Reading:
    """Way of reading a text column, decided from all cells of all batches."""

    column: Column
    how: str
    summary: CellSummary = field(default_factory=CellSummary)
    numbers: tuple[Kind, ...] = (Kind.INTEGER, Kind.CONTINUOUS)  #: kinds as which all cells read
    moment: str = "T"  #: separator between date and time
    recoded: bool = False  #: whether the column is recoded, for which its values are needed

    @classmethod
    def of(cls, column: Column, dialect: Dialect, *, textual: bool, recoded: bool = False) -> Reading:
        """Return how a column is read, before any of its cells has been counted."""
        return cls(column, _how(column, dialect, textual=textual, recoded=recoded), recoded=recoded)

    @property
    def undecided(self) -> bool:
        """Whether the way depends on all cells of the column."""
        return self.how in _UNDECIDED

    @property
    def beside(self) -> bool:
        """Whether cells of an output that is not text stay as written, and their values are only needed to recode."""
        if self.how == "ordinal":
            return self.column.role is not Role.QUASI
        return self.recoded and self.how == "lossless" and not self.summary.lossless(self.column.kind)

    def count(self, cells: pa.ChunkedArray, dialect: Dialect) -> None:
        """Take a batch into account."""
        if self.how == "ordinal":
            read = tidy(cells, dialect)
            self.numbers = tuple(kind for kind in self.numbers if readable(read, kind, dialect))
            return
        self.summary = self.summary.merged(CellSummary.of(cells, self.column.kind, dialect))
        if self.how == "moments" and moment_sign(cells) != "T":
            self.moment = moment_sign(cells)

    def refusal(self, dialect: Dialect) -> str:
        """Return the sentence about cells that cannot be read as values; empty if all can."""
        if self.how != "moments" or self.summary.readable:
            return ""
        return self.summary.refusal(self.column.name, self.column.kind, dialect)

    def parse(self, cells: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray | None:
        """Return the values of a batch; None: the cells as written."""
        name, kind = self.column.name, self.column.kind
        if self.how == "tidy" or (self.how == "ordinal" and not self.numbers):
            return tidy(cells, dialect)
        if self.how == "without missing":
            return without_missing(cells, dialect)
        if self.how == "ordinal":
            return values(cells, name, self.numbers[0], dialect)
        if self.how == "written" or (self.how == "lossless" and not self.beside and not self.summary.lossless(kind)):
            return None
        if (self.how == "readable moments" or self.beside) and not self.summary.readable:
            return None
        return as_type(cells, name, kind, dialect, self.summary)
