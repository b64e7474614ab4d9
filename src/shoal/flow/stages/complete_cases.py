"""Records with a missing quasi-identifier, where a recipe says that they do not leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import DataError, raise_all
from shoal.recipe.recipe import Recipe
from shoal.types import Role, Table, with_columns, without_unused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def complete_rows(table: Table, recipe: Recipe) -> NDArray[np.int64] | None:
    """Return the records that leave, where some are excluded; None if all leave."""
    import numpy as np

    from shoal.flow.stages.values import as_values
    from shoal.schema.cells import without_nan

    if recipe.when_missing != "exclude":
        return None
    lacking, faults = np.zeros(len(table), np.bool_), []
    for name in table.schema.names(Role.QUASI):
        try:  # as it will be encoded
            lacking |= np.asarray(without_nan(as_values(name, table, exact=True)).is_null().to_numpy())
        except DataError as error:
            faults.append(str(error))
    raise_all(DataError, faults)  # now, while rows have the numbers that they have in the file
    if not lacking.any():
        return None
    if lacking.all():
        raise DataError(
            f"Recipe: when_missing must leave records, but all {len(table):,} lack a quasi-identifier and would be "
            f"excluded. Take another way, or other quasi-identifiers."
        )
    return np.flatnonzero(~lacking)


def only_rows(table: Table, rows: NDArray[np.int64] | None) -> Table:
    """Return the table of some records; of all, where none are named. Categories that only others had are gone."""
    if rows is None:
        return table
    data = table.data.take(rows)
    return replace(
        table, data=with_columns(data, {name: without_unused(data.column(name)) for name in data.column_names})
    )
