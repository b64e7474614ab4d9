"""Kinds of columns, found by looking: the type where there is one, the cells where there is only text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.schema import cells
from shoal.types import Dialect, Kind

if TYPE_CHECKING:
    import pyarrow as pa

#: A column of text is numeric if at least this share of its cells reads as numbers: the others are then faults
#: that are named with their rows, and not a sign that the column holds categories.
NUMERIC_SHARE = 0.5


def kind_of(column: pa.ChunkedArray, dialect: Dialect | None) -> Kind:
    """Return the kind that a column's type, or its cells, suggest.

    >>> import pyarrow as pa
    >>> kind_of(pa.chunked_array([["1", "2"]]), Dialect()).value
    'integer'
    >>> kind_of(pa.chunked_array([["007", "120"]]), Dialect()).value  # leading zeros: a code
    'nominal'
    """
    import pyarrow as pa

    if dialect is not None and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return _kind_of_cells(column, dialect)
    if pa.types.is_integer(column.type):
        return Kind.INTEGER
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return Kind.CONTINUOUS
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return Kind.DATETIME
    if pa.types.is_dictionary(column.type) and column.type.ordered:
        return Kind.ORDINAL
    return Kind.NOMINAL


def _kind_of_cells(column: pa.ChunkedArray, dialect: Dialect) -> Kind:
    import pyarrow.compute as pc

    read = cells.tidy(column, dialect)
    present = len(read) - read.null_count
    if present == 0:
        return Kind.NOMINAL
    if _share(read.slice(0, 1000), Kind.CONTINUOUS, dialect) > 0 or _share(read, Kind.CONTINUOUS, dialect) > 0:
        share = _share(read, Kind.CONTINUOUS, dialect)
        if share >= NUMERIC_SHARE and not pc.any(pc.match_substring_regex(read, r"^[+-]?0[0-9]")).as_py():
            whole = pc.sum(cells.fits(read, Kind.INTEGER, dialect)).as_py()
            short = pc.max(pc.utf8_length(read)).as_py() <= 18  # what surely fits 64 bits
            return Kind.INTEGER if short and whole >= share * present else Kind.CONTINUOUS
    return Kind.DATETIME if _share(read, Kind.DATETIME, dialect) >= NUMERIC_SHARE else Kind.NOMINAL


def _share(read: pa.ChunkedArray, kind: Kind, dialect: Dialect) -> float:
    import pyarrow.compute as pc

    present = len(read) - read.null_count
    return (pc.sum(cells.fits(read, kind, dialect)).as_py() or 0) / present if present else 0.0
