"""Values of columns: text cells parsed once, categories coded, incomplete records excluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, raise_all
from shoal.recipe.recipe import Recipe
from shoal.schema.cells import is_text, readable, tidy, values
from shoal.schema.roles import in_order, without_user_missing
from shoal.types import Dialect, Kind, Release, Role, Table, with_columns, without_unused
from shoal.types.data.table import PARSED

if TYPE_CHECKING:
    import pyarrow as pa


def categories(name: str, column: pa.ChunkedArray, otherwise: str) -> NDArray[np.int64]:
    """Return a code for each distinct value of a column; a missing value has its own code.

    `otherwise` completes the error for a column of lists or structures: the refusal and the remedy.
    """
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        raise DataError(f"Column {name!r}: {column.type} {otherwise}") from None
    return np.asarray(encoded.indices.to_numpy(), np.int64)


_READ = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)


def as_values(name: str, table: Table, *, exact: bool = False) -> pa.ChunkedArray:
    """Return a column with parsed cells: numbers or dates according to its kind, and missing values.

    An integer quasi-identifier is parsed as floats, because its means may have decimals; with `exact` it keeps its own
    type. Each column is parsed once.
    """
    return table.once((PARSED, (name,), exact), lambda: _parsed(name, table, exact=exact))


def _parsed(name: str, table: Table, *, exact: bool) -> pa.ChunkedArray:
    column = without_user_missing(table.data.schema.field(name), table.data.column(name))
    dialect = table.dialect or Dialect()
    role, kind = table.schema[name].role, table.schema[name].kind
    if not is_text(column):
        return in_order(table.schema[name], column)
    if role is Role.QUASI and kind is Kind.INTEGER and not exact:
        kind = Kind.CONTINUOUS  # means of integers are released unrounded
    if kind in _READ:
        return values(column, name, kind, dialect)
    read = column if table.dialect is None else tidy(column, dialect)
    if table.schema[name].order:
        return in_order(table.schema[name], read)
    for number in (Kind.INTEGER, Kind.CONTINUOUS) if kind is Kind.ORDINAL else ():  # 1 is released as 1, not 1.0
        if readable(tidy(column, dialect), number, dialect):
            return values(column, name, number, dialect)
    return read


def with_values(release: Release, names: Sequence[str]) -> Release:
    """Return a release with some columns also parsed as values, for audits that need values."""
    table = Table(release.data, release.schema, release.dialect)
    unread = [name for name in names if name not in release.read]
    if not unread:
        return release  # keeps the audit results cached on it
    return replace(release, read={**release.read, **{name: as_values(name, table) for name in unread}})


def complete_rows(table: Table, recipe: Recipe) -> NDArray[np.int64] | None:
    """Return the rows of released records if some are excluded; None if all are released."""
    import numpy as np

    from shoal.schema.cells import without_nan

    if recipe.when_missing != "exclude":
        return None
    lacking, faults = np.zeros(len(table), np.bool_), []
    for name in table.schema.names(Role.QUASI):
        try:  # as it will be encoded
            lacking |= np.asarray(without_nan(as_values(name, table, exact=True)).is_null().to_numpy())
        except DataError as error:
            faults.append(str(error))
    raise_all(DataError, faults)  # now, while row numbers are those of the file
    if not lacking.any():
        return None
    if lacking.all():
        raise DataError(
            f"Recipe: when_missing must leave records, but all {len(table):,} lack a quasi-identifier and would be "
            "excluded. Choose another when_missing, or other quasi-identifiers."
        )
    return np.flatnonzero(~lacking)


def only_rows(table: Table, rows: NDArray[np.int64] | None) -> Table:
    """Return the table of some records, or of all if None; categories of other records are dropped."""
    if rows is None:
        return table
    data = table.data.take(rows)
    return replace(
        table, data=with_columns(data, {name: without_unused(data.column(name)) for name in data.column_names})
    )
