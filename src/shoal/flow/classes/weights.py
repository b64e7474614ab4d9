"""Sampling weights: which means they may weigh, and as what they are released.

Quasi-identifiers that are released as weighted means next to the weights of single records give an equation in whole
numbers, whose solution is the original values. So a weight either moves into the mean of its class, with everything
that depends on it, or nothing depends on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.flow.plan.plan import refuse_weighted_blocks
from shoal.flow.plan.release_traits import in_two_tables
from shoal.flow.stages.encode import weights_in
from shoal.recipe.recipe import Recipe
from shoal.types import Kind, Pair, Partition, Release, Role, Schema, Table, with_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def weights_counted(table: Table, recipe: Recipe) -> NDArray[np.float64] | None:
    """Return what records weigh, relative to the heaviest; None where every record weighs the same.

    That is so without a weight column, and where the weights of records are released: nothing may depend on them then.
    """
    import numpy as np

    weights = weights_in(table)  # which refuses what cannot be a weight, used or not
    if weights is None or recipe.release_weight == "record":
        return None
    return np.asarray(weights / weights.max())  # only ratios matter, and sums must not overflow


def weights_for_means(table: Table, recipe: Recipe, partition: Partition) -> NDArray[np.float64] | None:
    """Return what means are weighted by, relative to the largest; None: they are not weighted.

    Raises
    ------
    ParameterError
        If a record is in several classes, and its weight is not to be released as it is.
    """
    weights = weights_counted(table, recipe)
    if weights is not None and len(partition.blocks) > 1 and not recipe.nested:
        refuse_weighted_blocks(recipe)
    return weights


def with_released_weights(release: Release, table: Table, recipe: Recipe, partition: Partition) -> Release:
    """Return a release whose weight is as the recipe says: the mean of its class, as it was, or removed.

    With two tables the weight stays with its person, like everything in the first one, and is not averaged.

    **Guarantee.** With ``class``, records of a class have the same weight, a float64, and the sum of all
    weights is kept up to rounding. The order of members does not change a bit of it.
    """
    import pyarrow as pa

    from shoal.kernels.arithmetic.class_means import class_means

    names, weights = recipe.columns(Role.WEIGHT), weights_in(table)
    if weights is None or recipe.release_weight == "record":
        return release
    if recipe.release_weight == "none":
        kept = tuple(column for column in release.schema.columns if column.role is not Role.WEIGHT)
        return replace(release, data=release.data.drop_columns(list(names)), schema=Schema(kept))
    if in_two_tables(recipe):
        return release
    labels = partition.labels
    means = pa.array(class_means(weights, labels)[labels])
    columns = (
        replace(column, kind=Kind.CONTINUOUS) if column.name == names[0] else column
        for column in release.schema.columns
    )
    return replace(release, data=with_columns(release.data, {names[0]: means}), schema=Schema(tuple(columns)))


def weights_compared(table: Table, recipe: Recipe, partition: Partition) -> Pair | None:
    """Return the weights before and after, for measures of totals; None if there are none.

    Removed weights are taken for those of classes, by which means were weighted.
    """
    from shoal.kernels.arithmetic.class_means import class_means

    weights = weights_in(table)
    if weights is None:
        return None
    if recipe.release_weight == "record" or in_two_tables(recipe):
        return Pair(weights, weights)
    labels = partition.labels
    return Pair(weights, class_means(weights, labels)[labels])
