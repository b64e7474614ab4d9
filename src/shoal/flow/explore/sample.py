"""Sample of a large table: whole subjects, from every stratum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.errors import ParameterError, SchemaError, raise_all
from shoal.flow.plan.declared_output import completed, declared_schema
from shoal.flow.stages.groupings import strata_of, subjects_of
from shoal.flow.stages.values import only_rows
from shoal.parameters import unknown
from shoal.recipe.recipe import Recipe
from shoal.types import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def sampled(table: Table, rows: NDArray[np.int64] | None, most: int, seed: int, least: int) -> NDArray[np.int64] | None:
    """Draw about `most` of some records at random; return all of them if there are no more.

    Either all records of a subject (or household) are drawn, or none. Every stratum contributes the same share of its
    records, but at least enough to form classes.

    Parameters
    ----------
    table, rows
        The records to draw from; None: all.
    most
        How many records to draw.
    seed
        Random seed.
    least
        Records to draw from each stratum at least, if it has them.

    Returns
    -------
    array or None
        Positions in the table, in order; None: all.
    """
    import numpy as np

    n = len(table) if rows is None else len(rows)
    if n <= most:
        return rows
    inside = only_rows(table, rows)
    units, strata = subjects_of(inside), strata_of(inside)
    units = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    strata = np.zeros(n, np.int64) if strata is None else strata
    sizes = np.bincount(units)
    own = np.empty(len(sizes), np.int64)
    own[units[::-1]] = strata[::-1]  # the stratum of a unit's first record
    order = np.random.default_rng(seed).permutation(len(sizes))
    taken = np.zeros(len(sizes), np.bool_)
    for stratum in np.unique(own):
        inner = order[own[order] == stratum]
        before = np.cumsum(sizes[inner]) - sizes[inner]
        total = int(sizes[inner].sum())
        taken[inner] = before < max(total * most / n, least)
    chosen = np.flatnonzero(taken[units])
    return chosen if rows is None else rows[chosen]


def stand_ins(records: int, names: Sequence[str], recipe: Recipe) -> Table:
    """Return a table of `records` records, each quasi-identifier uniform within its bounds or over its taxonomy.

    Only the number of records and the column names come from the data; both are public. Other columns are omitted.

    >>> recipe = Recipe(quasi=["age"], release="laplace", epsilon=1.0, claim="original", bounds={"age": [0, 9]})
    >>> stand_ins(3, ["age", "name"], recipe).data.column("age").to_numpy().round(2).tolist()
    [5.73, 2.43, 0.37]
    """
    import numpy as np
    import pyarrow as pa

    if isinstance(recipe.bounds, str):
        raise ParameterError(
            "Explore: with claim = original bounds must be numbers, because no cell may be read, and bounds from the "
            "data would read all of them. Give the ends of each domain as known without the data."
        )
    said = {**recipe.roles, **recipe.kinds, **recipe.taxonomies}
    raise_all(SchemaError, [unknown("Schema", "column", name, names) for name in said if name not in names])
    schema, rng = declared_schema(completed(recipe)), np.random.default_rng(recipe.seed)
    made = {}
    for column in schema.columns:
        if column.taxonomy is not None:
            made[column.name] = pa.array(rng.choice(sorted(column.taxonomy.paths), records), pa.string())
        else:
            low, high = recipe.bounds.get(column.name, (0.0, 1.0))  # missing bounds are refused later
            made[column.name] = pa.array(rng.uniform(float(low), float(high), records))
    return Table(pa.table(made), schema)
