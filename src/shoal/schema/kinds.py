"""Kinds of columns, inferred from their measures, types or cells, at once or batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.schema import cells
from shoal.types import Dialect, Kind
from shoal.types.statistical_files import Variable, declared_missing

#: A column of text is numeric if at least this share of its cells reads as numbers: the others then count as errors,
#: reported with their rows, and not as a sign that the column holds categories.
NUMERIC_SHARE = 0.5
_SAMPLE = 1000


def kind_of(column: pa.ChunkedArray, dialect: Dialect | None, field: pa.Field | None = None) -> Kind:
    """Infer the kind of a column from its measure, its type, or its cells.

    A measure is the level of measurement that a statistical package stores in the metadata of a field.

    >>> import pyarrow as pa
    >>> kind_of(pa.chunked_array([["1", "2"]]), Dialect()).value
    'integer'
    >>> kind_of(pa.chunked_array([["007", "120"]]), Dialect()).value  # leading zeros: a code
    'nominal'
    """
    if dialect is not None and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return _kind_of_cells(column, dialect)
    field = pa.field("", column.type) if field is None else field
    return kind_of_field(field, lambda: all_labelled(field, column) is True)


def kind_of_field(field: pa.Field, labelled: Callable[[], bool]) -> Kind:
    """Infer the kind of a column from its measure or its type; `labelled` tells whether all its values have a label."""
    noted = Variable.of(field)
    measured = None if noted is None else _kind_of_measure(noted, field.type, labelled)
    return _kind_of_type(field.type) if measured is None else measured


def _kind_of_type(kind: pa.DataType) -> Kind:
    if pa.types.is_integer(kind):
        return Kind.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.CONTINUOUS
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Kind.DATETIME
    if pa.types.is_dictionary(kind) and kind.ordered:
        return Kind.ORDINAL
    return Kind.NOMINAL


def _kind_of_measure(variable: Variable, kind: pa.DataType, labelled: Callable[[], bool]) -> Kind | None:
    """Return the kind by the measure; without one, values that all have a label are categories."""
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if variable.measure == "nominal":
        return Kind.NOMINAL
    if variable.measure == "ordinal":
        return Kind.ORDINAL if numbers else Kind.NOMINAL  # texts have no order of their own
    if variable.measure == "unknown" and numbers and variable.labels:
        return Kind.NOMINAL if labelled() else None
    return None


def all_labelled(field: pa.Field, column: pa.ChunkedArray) -> bool | None:
    """Tell whether all values have a label, except those declared missing; None if no value is present."""
    variable = Variable.of(field)
    assert variable is not None
    present = column.filter(pc.invert(declared_missing(variable, column))).drop_null().unique().to_pylist()
    return {value for value, _ in variable.labels}.issuperset(present) if present else None


@dataclass(frozen=True)
class CellCounts:
    """Counts of text cells from which the kind of a column follows. Those of batches are merged.

    >>> import pyarrow as pa
    >>> ages, codes = (pa.chunked_array([cells]) for cells in (["31", "44"], ["007"]))
    >>> CellCounts.of(ages, Dialect()).kind.value
    'integer'
    >>> CellCounts.of(ages, Dialect()).merged(CellCounts.of(codes, Dialect())).kind.value
    'nominal'
    """

    rows: int = 0
    present: int = 0  #: cells that are not missing
    numbers: int = 0
    dates: int = 0
    codes: bool = False  #: a cell has a leading zero that a number would not have
    whole: bool = True  #: all numbers are integers that certainly fit into 64 bits

    @classmethod
    def of(cls, read: pa.ChunkedArray, dialect: Dialect) -> CellCounts:
        """Count tidy cells."""
        present = len(read) - read.null_count
        numbers = _count(read, Kind.CONTINUOUS, dialect)
        only_numbers = numbers == present and dialect.datetime is None  # which are no dates in ISO 8601
        return cls(
            len(read),
            present,
            numbers,
            0 if only_numbers else _count(read, Kind.DATETIME, dialect),
            _has_codes(read),
            _is_whole(read, dialect, numbers),
        )

    def merged(self, other: CellCounts) -> CellCounts:
        """Return the counts of two batches together."""
        return CellCounts(
            self.rows + other.rows,
            self.present + other.present,
            self.numbers + other.numbers,
            self.dates + other.dates,
            self.codes or other.codes,
            self.whole and other.whole,
        )

    @property
    def kind(self) -> Kind:
        """The kind that follows from these counts."""
        enough = NUMERIC_SHARE * self.present
        if enough and self.dates == self.numbers == self.present:  # dates without signs
            return Kind.DATETIME
        if enough and self.numbers >= enough and not self.codes:
            return Kind.INTEGER if self.whole else Kind.CONTINUOUS
        return Kind.DATETIME if enough and self.dates >= enough else Kind.NOMINAL

    @property
    def conclusive(self) -> bool:
        """Whether the kind follows from a sample with these counts: it has cells, and none is a number."""
        return self.present > 0 and not self.numbers

    @property
    def settled(self) -> bool:
        """Whether no sample of the column could be conclusive and lead to another kind."""
        if self.rows <= _SAMPLE or self.numbers == self.present or self.rows - self.numbers < _SAMPLE:
            return True
        possible = {Kind.DATETIME} if self.dates == self.present else {Kind.NOMINAL}
        return possible == {self.kind} and self.dates in (0, self.present)


def sampled_rows(n: int) -> NDArray[np.int64]:
    """Return the rows of the sample from which the kind of a column of n cells is inferred first."""
    return np.unique(np.linspace(0, n - 1, _SAMPLE).astype(np.int64))


def _kind_of_cells(column: pa.ChunkedArray, dialect: Dialect) -> Kind:
    """Infer the kind from the cells, first from a sample: most columns of categories are recognised by then."""
    sample = CellCounts.of(cells.tidy(column.take(pa.array(sampled_rows(len(column)))), dialect), dialect)
    if sample.rows == len(column) or sample.conclusive:
        return sample.kind
    return CellCounts.of(cells.tidy(column, dialect), dialect).kind


def _has_codes(read: pa.ChunkedArray) -> bool:
    """Tell whether a cell has a leading zero that a number would not have."""
    digits = pc.utf8_ltrim(read, characters="+-")
    zeros = digits.filter(pc.starts_with(digits, "0"))
    return bool(pc.any(pc.match_substring_regex(zeros, "^0[0-9]")).as_py())


def _is_whole(read: pa.ChunkedArray, dialect: Dialect, numbers: int) -> bool:
    """Tell whether all `numbers` numbers are integers that certainly fit into 64 bits."""
    few = read.slice(0, _SAMPLE)
    if (pc.max(pc.utf8_length(read)).as_py() or 0) > 18 or _count(few, Kind.INTEGER, dialect) < _count(
        few, Kind.CONTINUOUS, dialect
    ):
        return False
    return not numbers or _count(read, Kind.INTEGER, dialect) >= numbers


def _count(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> int:
    """Return how many cells read as a kind; if all do, without matching each against a pattern."""
    few = read.slice(0, _SAMPLE)  # reading unreadable cells is slow, so try a few first
    if cells.readable(few, kind, dialect) and cells.readable(read, kind, dialect):
        return int(len(read) - read.null_count)
    return int(pc.sum(cells.fits(read, kind, dialect)).as_py() or 0)
