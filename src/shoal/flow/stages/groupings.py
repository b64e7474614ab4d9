"""Groupings of records: people, households and strata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.flow.stages.values import categories
from shoal.recipe.recipe import Recipe
from shoal.types import Role, Table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def subjects_of(table: Table, *, exact: bool = False) -> NDArray[np.int64] | None:
    """Return the subject number of each record; None without a subject column.

    Spellings that probably denote one subject are merged, unless `exact`; records without a subject share one number.
    """
    names = table.schema.names(Role.SUBJECT)
    if not names:
        return None
    otherwise = "cannot be a subject. Give it another role."
    return table.once(
        ("subjects", names, exact), lambda: categories(names[0], told_apart(table, names[0], exact=exact), otherwise)
    )


def named(data: pa.Table, name: str | None) -> pa.ChunkedArray | None:
    """Return the subject of each record for audits; no-answer codes count as missing. None: no such column."""
    from shoal.schema.roles import without_user_missing

    return None if name is None else without_user_missing(data.schema.field(name), data.column(name))


def told_apart(table: Table, name: str, *, exact: bool = False) -> pa.ChunkedArray:
    """Return a column in which spellings of one subject are equal; a record without a subject is missing.

    With `exact`, every non-blank spelling is a separate subject.
    """
    return table.once(("people", (name,), exact), lambda: _told_apart(table, name, exact=exact))


def _told_apart(table: Table, name: str, *, exact: bool) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    from shoal.spelling import people

    column = named(table.data, name)
    assert column is not None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column = _bytes_as_text(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if exact:
            blank = pc.equal(pc.utf8_trim_whitespace(column), "")
            return pc.if_else(blank, pa.scalar(None, column.type), column)
        encoded = column.combine_chunks().dictionary_encode()
        return pa.chunked_array([people(encoded.dictionary).take(encoded.indices)])
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def respelled(table: Table, recipe: Recipe) -> str:
    """Return a sentence on spellings that were merged into the same group; empty if none was merged.

    It is appended to refusals, which the merging may have caused.
    """
    name = recipe.counted
    if name is None or recipe.subject_exact:
        return ""
    apart, together = (set(told_apart(table, name, exact=exact).unique().to_pylist()) for exact in (True, False))
    count = len(apart - {None}) - len(together - {None})
    if count <= 0:
        return ""
    what = (
        "1 name was treated as another spelling" if count == 1 else f"{count:,} names were treated as other spellings"
    )
    return f" In column {name!r} {what} of the same one; if they differ, set subject_exact = true."


def _bytes_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert text stored as bytes or views to text; leave other bytes unchanged."""
    import pyarrow as pa

    kind = column.type
    stored = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_string_view)
    if not any(test(kind) for test in stored):
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException:  # these bytes are not text
        return column


def strata_of(table: Table) -> NDArray[np.int64] | None:
    """Return the stratum of each record, from 0; None without strata columns."""
    names = table.schema.names(Role.STRATA)
    return table.once(("strata", names, None), lambda: _strata(table, names)) if names else None


def _strata(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    import numpy as np

    strata = np.zeros(len(table), np.int64)
    for name in names:
        codes = categories(name, table.data.column(name), "cannot be strata. Give it another role.")
        strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return strata
