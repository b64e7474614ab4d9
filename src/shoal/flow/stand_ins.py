"""Records that stand in for those of a table, so that no cell of it need be looked at."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import ParameterError, SchemaError, raise_all
from shoal.flow.declaration import completed
from shoal.flow.declared_table import declared_schema
from shoal.parameters import unknown
from shoal.recipe import Recipe
from shoal.types import Table


def stand_ins(records: int, names: Sequence[str], recipe: Recipe) -> Table:
    """Return a table of so many records, each quasi-identifier uniform within its bounds or over its taxonomy.

    Only the number of records and the names of columns come from the data; both are public. Other columns are left out.

    >>> recipe = Recipe(quasi=["age"], release="laplace", epsilon=1.0, claim="original", bounds={"age": [0, 9]})
    >>> stand_ins(3, ["age", "name"], recipe).data.column("age").to_numpy().round(2).tolist()
    [5.73, 2.43, 0.37]
    """
    import numpy as np
    import pyarrow as pa

    if isinstance(recipe.bounds, str):
        raise ParameterError(
            "Explore: with claim = original bounds must be numbers, for no cell is looked at, and bounds from the data "
            "would look at all of them. Give the ends of each domain, from what is known without the data."
        )
    said = {**recipe.roles, **recipe.kinds, **recipe.taxonomies}
    raise_all(SchemaError, [unknown("Schema", "column", name, names) for name in said if name not in names])
    schema, rng = declared_schema(completed(recipe)), np.random.default_rng(recipe.seed)
    made = {}
    for column in schema.columns:
        if column.taxonomy is not None:
            made[column.name] = pa.array(rng.choice(sorted(column.taxonomy.paths), records), pa.string())
        else:
            low, high = recipe.bounds.get(column.name, (0.0, 1.0))  # what lacks bounds is refused later
            made[column.name] = pa.array(rng.uniform(float(low), float(high), records))
    return Table(pa.table(made), schema)
