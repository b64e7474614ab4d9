"""Whom records are about, for methods that count subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.flow.categories import categories
from shoal.types import Role, Table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def subjects_of(table: Table) -> NDArray[np.int64] | None:
    """Return the number of the subject of each record; None if no column names them.

    Blanks around a name make no other subject, nor does −0; all records without one are of one subject.
    """
    names = table.schema.names(Role.SUBJECT)
    if not names:
        return None
    return categories(names[0], told_apart(table, names[0]), "cannot be a subject. Give it another role.")


def named(data: pa.Table, name: str | None) -> pa.ChunkedArray | None:
    """Return whom records are about, for audits: codes that mean no answer name nobody. None if no column says it."""
    from shoal.schema.user_missing import without_user_missing

    return None if name is None else without_user_missing(data.schema.field(name), data.column(name))


def told_apart(table: Table, name: str) -> pa.ChunkedArray:
    """Return a column so that one subject is not taken for two; where there is none, the value is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = named(table.data, name)
    assert column is not None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    elif pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column
