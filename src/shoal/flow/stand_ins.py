"""Records that stand in for those of a table, so that no cell of it need be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.errors import ParameterError
from shoal.flow.reading import schema_for
from shoal.recipe import Recipe
from shoal.types import Table


def needs_stand_ins(recipe: Recipe) -> bool:
    """Tell whether settings must be chosen without the data: ε is claimed for original records."""
    return recipe.epsilon is not None and recipe.claim == "original"


def stand_ins(records: int, names: Sequence[str], recipe: Recipe) -> Table:
    """Return a table of so many records with these columns, each quasi-identifier uniform within its bounds.

    Only the number of records and the names of columns come from the data; both are public. Other columns are empty.

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
    rng = np.random.default_rng(recipe.seed)
    ends = {name: recipe.bounds.get(name, (0.0, 1.0)) for name in recipe.quasi}  # what lacks bounds is refused later
    made = {name: rng.uniform(float(low), float(high), records) for name, (low, high) in ends.items()}
    data = pa.table({name: made[name] if name in made else pa.nulls(records, pa.float64()) for name in names})
    return Table(data, schema_for(data, replace(recipe, kinds={}, orders={}, taxonomies={}), None))
