"""Sampling weights: when they weight means, and how they are released.

If quasi-identifiers are released as weighted means next to the weights of single records, they yield an equation in
whole numbers whose solution is the original values. So either a weight is replaced by its class mean, like everything
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
    """Return the weights of the records relative to the largest; None where every record weighs the same.

    That is the case without a weight column, and where record weights are released: nothing may depend on them then.
    """
    import numpy as np

    weights = weights_in(table)  # refuses invalid weights, whether or not they are used
    if weights is None or recipe.release_weight == "record":
        return None
    return np.asarray(weights / weights.max())  # only ratios matter; sums must not overflow


def weights_for_means(table: Table, recipe: Recipe, partition: Partition) -> NDArray[np.float64] | None:
    """Return the weights for means, relative to the largest; None if means are not weighted.

    Raises
    ------
    ParameterError
        If a record is in several classes and its weight is not released unchanged.
    """
    weights = weights_counted(table, recipe)
    if weights is not None and len(partition.blocks) > 1 and not recipe.nested:
        refuse_weighted_blocks(recipe)
    return weights


def with_released_weights(release: Release, table: Table, recipe: Recipe, partition: Partition) -> Release:
    """Return a release with the weight that the recipe asks for: its class mean, unchanged, or removed.

    With two tables the weight stays with its person, like everything in the first table, and is not averaged.

    **Guarantee.** With ``class``, records of a class have the same weight, a float64, and the sum of all weights is
    preserved up to rounding. The result is bit-identical for any order of members.
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
    """Return the weights before and after, for measures of totals; None without a weight column.

    Removed weights count as class means, the weights that the means used.
    """
    from shoal.kernels.arithmetic.class_means import class_means

    weights = weights_in(table)
    if weights is None:
        return None
    if recipe.release_weight == "record" or in_two_tables(recipe):
        return Pair(weights, weights)
    labels = partition.labels
    return Pair(weights, class_means(weights, labels)[labels])
