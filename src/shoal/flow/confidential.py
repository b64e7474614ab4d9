"""Table → confidential attributes, for the methods that look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError
from shoal.points.confidential import confidential_of
from shoal.schema.cells import is_text, readable, tidy, values
from shoal.schema.order import in_order
from shoal.schema.user_missing import without_user_missing
from shoal.types import Confidential, Dialect, Kind, Release, Role, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

_READ = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)


def as_values(name: str, table: Table, *, exact: bool = False) -> pa.ChunkedArray:
    """Return a column whose cells are read: as numbers or dates where its kind says so, as missing where they are.

    A quasi-identifier of integers is read as numbers with decimals, which its means may have, unless it is to be
    `exact`: as the table came.
    """
    column = without_user_missing(table.data.schema.field(name), table.data.column(name))
    dialect = table.dialect or Dialect()
    role, kind = table.schema[name].role, table.schema[name].kind
    if not is_text(column):
        return in_order(table.schema[name], column)
    if role is Role.QUASI and kind is Kind.INTEGER and not exact:
        kind = Kind.CONTINUOUS  # means of integers leave as they are
    if kind in _READ:
        return values(column, name, kind, dialect)
    read = column if table.dialect is None else tidy(column, dialect)
    if table.schema[name].order:
        return in_order(table.schema[name], read)
    for number in (Kind.INTEGER, Kind.CONTINUOUS) if kind is Kind.ORDINAL else ():  # 1 leaves as 1, not as 1.0
        if readable(tidy(column, dialect), number, dialect):
            return values(column, name, number, dialect)
    return read


def with_values(release: Release, names: Sequence[str]) -> Release:
    """Return a release with the cells of some columns also read as values, for the audits that look at values."""
    table = Table(release.data, release.schema, release.dialect)
    unread = [name for name in names if name not in release.read]
    return replace(release, read={**release.read, **{name: as_values(name, table) for name in unread}})


def confidential_columns(table: Table, names: Sequence[str] | None = None) -> tuple[Confidential, ...]:
    """Return the confidential attributes of a table, or some columns as such."""
    chosen = table.schema.names(Role.CONFIDENTIAL) if names is None else names
    return tuple(confidential_of(table.schema[name], as_values(name, table)) for name in chosen)


def confidential_arrays(given: ArrayLike, n: int) -> tuple[Confidential, ...]:
    """Return the confidential attributes of bare points: one for each column; numbers are ordered, text is not."""
    array = np.asarray(given)
    columns = array.T if array.ndim == 2 else [array]
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise DataError(
            f"microaggregate: confidential must have one value, or one row, for each of the {n:,} points, "
            f"got the shape {array.shape}."
        )
    found = []
    for j, column in enumerate(columns):
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise DataError("microaggregate: confidential must be finite. Fill or remove these rows.")
        values, codes = np.unique(column, return_inverse=True)
        numbers = values.astype(np.float64) if column.dtype.kind in "biuf" else None
        ordered = numbers is not None
        found.append(Confidential(str(j), codes.astype(np.int64), np.bincount(codes), ordered, values=numbers))
    return tuple(found)
