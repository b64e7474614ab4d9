"""Sorted rows: detects that a table is sorted by a column that is not released unchanged."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ShoalError
from shoal.flow.stages.values import as_values
from shoal.recipe.recipe import Recipe
from shoal.types import Role, Table

_FEWEST_PAIRS = 20
_SORTED = 95  # percent of the neighbouring pairs that differ
_SLICES = 8
_SHORTEST_SLICE = 4096
_PARSED = (Role.QUASI, Role.CONFIDENTIAL, Role.WEIGHT)  # roles whose cells are parsed later in any case


def sorted_by(table: Table, recipe: Recipe) -> str | None:
    """Return the first masked, recoded, removed or confidential column by which the rows are sorted, if any.

    Of the pairs of neighbouring rows that differ in it, of at least 20, at least 95 % increase or at least 95 %
    decrease. Pairs with a missing value do not count.
    """
    return next((name for name in order_columns(table, recipe) if _is_sorted(table, name)), None)


def order_columns(table: Table, recipe: Recipe) -> list[str]:
    """Return the masked, recoded, removed and confidential columns of a table."""
    roles = {Role.QUASI, Role.IDENTIFIER, Role.SUBJECT, Role.CONFIDENTIAL}
    if recipe.release_weight != "record":
        roles.add(Role.WEIGHT)
    there = set(table.data.column_names)
    return [
        column.name
        for column in table.schema.columns
        if (column.role in roles or column.name in recipe.recode) and column.name in there
    ]


def _is_sorted(table: Table, name: str) -> bool:
    """Tell whether rows are sorted by a column; for an unsorted one an eighth of the rows usually suffices."""
    n = len(table)
    step = max(-(-n // _SLICES), _SHORTEST_SLICE)
    whole = comparable(table, name) if table.schema[name].role in _PARSED else None
    up = down = 0
    for start in range(0, n - 1, step):
        end = step + 1  # includes the first row of the next slice
        if whole is None:
            column = comparable(replace(table, data=table.data.select([name]).slice(start, end)), name)
        else:
            column = whole.slice(start, end)
        rises, falls = steps(column)
        up, down = up + rises, down + falls
        most = up + down + max(n - 1 - start - step, 0)  # pairs that can still differ
        if 100 * min(up, down) > (100 - _SORTED) * most:
            return False
    return is_order(up, down)


def is_order(up: int, down: int) -> bool:
    """Tell whether a column that rises and falls so often is sorted."""
    return up + down >= _FEWEST_PAIRS and 100 * max(up, down) >= _SORTED * (up + down)


def comparable(table: Table, name: str) -> pa.ChunkedArray:
    """Return the values of a column; an unreadable one is compared as text."""
    try:
        return _ranked(as_values(name, table, exact=table.schema[name].role is Role.QUASI))
    except (ShoalError, pa.ArrowException):
        return _ranked(table.data.column(name))


def steps(column: pa.ChunkedArray) -> tuple[int, int]:
    """Return how many rows have a higher value than the previous row, and how many a lower one."""
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    try:
        found = pc.sum(pc.less(before, after)), pc.sum(pc.greater(before, after))
    except pa.ArrowException:  # lists and similar types have no order
        return 0, 0
    return found[0].as_py() or 0, found[1].as_py() or 0


def _ranked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in comparable form: ordered categories by rank, others by name."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    if not kind.ordered:
        return column.cast(kind.value_type)
    chunks = [chunk.indices for chunk in column.unify_dictionaries().chunks]
    return pa.chunked_array(chunks, kind.index_type)
