"""Inference of column kinds: from the type if there is one, from the cells if there is only text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.schema import cells
from shoal.types import Dialect, Kind
from shoal.types.data.statistical_files import Variable, declared_missing

if TYPE_CHECKING:
    import pyarrow as pa

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
    import pyarrow as pa

    if dialect is not None and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return _kind_of_cells(column, dialect)
    noted = Variable.of(field) if field is not None else None
    if noted is not None and (measured := _kind_of_measure(noted, column)) is not None:
        return measured
    return _kind_of_type(column.type)


def _kind_of_type(kind: pa.DataType) -> Kind:
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return Kind.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.CONTINUOUS
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Kind.DATETIME
    if pa.types.is_dictionary(kind) and kind.ordered:
        return Kind.ORDINAL
    return Kind.NOMINAL


def _kind_of_measure(variable: Variable, column: pa.ChunkedArray) -> Kind | None:
    """Return the kind by the measure; without one, values that all have a label are categories."""
    import pyarrow as pa

    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if variable.measure == "nominal":
        return Kind.NOMINAL
    if variable.measure == "ordinal":
        return Kind.ORDINAL if numbers else Kind.NOMINAL  # texts have no order of their own
    if variable.measure == "unknown" and numbers and variable.labels:
        values = _present(variable, column).unique().to_pylist()
        labelled = {value for value, _ in variable.labels}
        return Kind.NOMINAL if values and labelled.issuperset(values) else None
    return None


def _present(variable: Variable, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values that are present and not declared missing."""
    import pyarrow.compute as pc

    return column.filter(pc.invert(declared_missing(variable, column))).drop_null()


def _kind_of_cells(column: pa.ChunkedArray, dialect: Dialect) -> Kind:
    """Infer the kind from the cells, first from a sample: most columns of categories are recognised by then."""
    import numpy as np
    import pyarrow as pa

    rows = np.unique(np.linspace(0, len(column) - 1, _SAMPLE).astype(np.int64))
    sample = cells.tidy(column.take(pa.array(rows)), dialect)
    numbers = _count(sample, Kind.CONTINUOUS, dialect)
    if len(sample) < len(column) and (sample.null_count == len(sample) or numbers):
        sample = cells.tidy(column, dialect)
        numbers = _count(sample, Kind.CONTINUOUS, dialect)
    enough = NUMERIC_SHARE * (len(sample) - sample.null_count)
    if enough and numbers >= enough and not _has_codes(sample):
        return Kind.INTEGER if _is_whole(sample, dialect, numbers) else Kind.CONTINUOUS
    return Kind.DATETIME if enough and _count(sample, Kind.DATETIME, dialect) >= enough else Kind.NOMINAL


def _has_codes(read: pa.ChunkedArray) -> bool:
    """Tell whether a cell has a leading zero that a number would not have."""
    import pyarrow.compute as pc

    digits = pc.utf8_ltrim(read, characters="+-")
    zeros = digits.filter(pc.starts_with(digits, "0"))
    return bool(pc.any(pc.match_substring_regex(zeros, "^0[0-9]")).as_py())


def _is_whole(read: pa.ChunkedArray, dialect: Dialect, numbers: int) -> bool:
    """Tell whether all `numbers` numbers are integers that certainly fit into 64 bits."""
    import pyarrow.compute as pc

    few = read.slice(0, _SAMPLE)
    if pc.max(pc.utf8_length(read)).as_py() > 18 or _count(few, Kind.INTEGER, dialect) < _count(
        few, Kind.CONTINUOUS, dialect
    ):
        return False
    return _count(read, Kind.INTEGER, dialect) >= numbers


def _count(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> int:
    """Return how many cells read as a kind; if all do, without matching each against a pattern."""
    import pyarrow.compute as pc

    few = read.slice(0, _SAMPLE)  # reading unreadable cells is slow, so try a few first
    if cells.readable(few, kind, dialect) and cells.readable(read, kind, dialect):
        return int(len(read) - read.null_count)
    return int(pc.sum(cells.fits(read, kind, dialect)).as_py() or 0)
