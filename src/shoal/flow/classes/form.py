"""Classes of a table: from plan to points to partition, and sampling weights; nothing is released yet.

If quasi-identifiers are released as weighted means next to the weights of single records, they yield an equation in
whole numbers whose solution is the original values. So either a weight is replaced by its class mean, like everything
that depends on it, or nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.flow.classes.households import partition_nested, partition_together, strata_of_groups, way_of_groups
from shoal.flow.classes.improve import canonical, improved
from shoal.flow.classes.profiles import partition_profiles
from shoal.flow.classes.steering import steering_in
from shoal.flow.classes.strata import as_merged, merge_small, merged_note, partition_strata, with_strata
from shoal.flow.plan.components import as_promised, of_values
from shoal.flow.plan.plan import Plan, refuse_in_strata, refuse_weighted_blocks
from shoal.flow.plan.release_traits import bounded, in_two_tables
from shoal.flow.stages.encode import confidential_columns, encode, weights_in
from shoal.flow.stages.summary import summarise
from shoal.flow.stages.values import strata_of, subjects_of
from shoal.recipe.recipe import Recipe
from shoal.types import Attribute, Block, Kind, Pair, Partition, Points, Release, Role, Schema, Table, with_columns
from shoal.types.protocols import Partitioner, Releaser


def weights_counted(table: Table, recipe: Recipe) -> NDArray[np.float64] | None:
    """Return the weights of the records relative to the largest; None where every record weighs the same.

    That is the case without a weight column, and where record weights are released: nothing may depend on them then.
    """
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
    from shoal.kernels.arithmetic.class_statistics import class_means

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
    from shoal.kernels.arithmetic.class_statistics import class_means

    weights = weights_in(table)
    if weights is None:
        return None
    if recipe.release_weight == "record" or in_two_tables(recipe):
        return Pair(weights, weights)
    labels = partition.labels
    return Pair(weights, class_means(weights, labels)[labels])


@dataclass(frozen=True, eq=False)
class Formed:
    """A table with its classes formed; nothing is released yet."""

    plan: Plan
    table: Table
    typed: Table  #: with cells parsed to values
    attributes: Sequence[Attribute]
    points: Points
    partition: Partition
    strata: NDArray[np.int64] | None
    rng: np.random.Generator

    @property
    def release(self) -> Releaser:
        """The component that releases the classes."""
        return self.plan.release


@dataclass(frozen=True, eq=False)
class Ways:
    """The methods that form classes of records and, where groups are never split, of whole groups."""

    records: Partitioner
    groups: Partitioner | None = None
    group_of: NDArray[np.int64] | None = field(default=None, repr=False)
    strata: NDArray[np.int64] | None = field(default=None, repr=False)
    strata_of_groups: NDArray[np.int64] | None = field(default=None, repr=False)
    people: NDArray[np.int64] | None = field(default=None, repr=False)  #: of each record, where classes hold them whole


#: Partitions the blocks of a table; takes the points of each block, the methods, and the random generator.
Engine = Callable[[Recipe, Sequence[Points], Ways, "np.random.Generator"], list[Partition]]


def form(plan: Plan, table: Table, engine: Engine | None = None) -> Formed:
    """Form the classes of a table; `engine` partitions its blocks, by default in this process."""
    recipe, method = plan.recipe, plan.method
    rng = np.random.default_rng(recipe.seed)
    for step in plan.steps:
        table = step.apply(table)
    typed, attributes, points = points_of(plan, table)
    strata, merged = _strata(plan, table, points)
    steering = steering_in(recipe, method, points, table)
    progress.stage("Partition")
    blocks = [points.only(names) for names in recipe.all_blocks]
    ways = _ways(plan, points, strata)
    parts = (engine or in_memory)(recipe, [steering.onto(block) for block in blocks], ways, rng)
    parts = [as_promised(steering.without(part, block), method) for part, block in zip(parts, blocks, strict=True)]
    notes = dict.fromkeys(note for note in (merged, *(part.note for part in parts)) if note)
    partition = Partition(tuple(_noted(block, points) for part in parts for block in part.blocks), "; ".join(notes))
    if merged and strata is not None:  # the mergers depend on who is in which of the strata, which an atom may cross
        partition = replace(partition, blocks=tuple(replace(block, by_value=False) for block in partition.blocks))
        table, typed = as_merged(table, strata), as_merged(typed, strata)
    return Formed(plan, table, typed, attributes, points, partition, strata, rng)


def points_of(plan: Plan, table: Table) -> tuple[Table, Sequence[Attribute], Points]:
    """Return the table with parsed cells, its attributes, and its records as points, with what methods must respect."""
    recipe = plan.recipe
    typed, attributes = encode(table, table.schema.names(Role.QUASI), missing=plan.missing)
    points = bounded(plan.encoding.encode(attributes, recipe.attribute_weights, recipe.coordinates), recipe, typed)
    return typed, attributes, _with_demands(plan, table, points)


def in_memory(recipe: Recipe, blocks: Sequence[Points], ways: Ways, rng: np.random.Generator) -> list[Partition]:
    """Partition each block in this process: records, or whole groups in blocks where groups are never split."""
    if ways.people is not None:
        (points,) = blocks
        return [partition_profiles(points, ways.records, ways.people, ways.strata, rng)]
    if ways.group_of is None or ways.groups is None:
        return [partition_strata(points, ways.records, ways.strata, rng) for points in blocks]
    if recipe.nested:
        both = (ways.records, ways.groups)
        return partition_nested((blocks[0], blocks[1]), both, ways.group_of, ways.strata_of_groups, ways.strata, rng)
    return [
        partition_together(points, ways.groups, ways.group_of, ways.strata_of_groups, rng)
        if names in recipe.whole_blocks
        else partition_strata(points, ways.records, ways.strata, rng)
        for names, points in zip(recipe.all_blocks, blocks, strict=True)
    ]


def _with_demands(plan: Plan, table: Table, points: Points) -> Points:
    """Add to the points what methods must respect: confidential columns, requirements, subjects."""
    recipe = plan.recipe
    if of_values(plan.required):
        points = replace(points, confidential=confidential_columns(table))
    weights = weights_counted(table, recipe) if plan.requirements else None
    subjects = subjects_of(table, exact=recipe.subject_exact)
    return replace(points, required=plan.requirements, subjects=subjects, weights=weights)


def _ways(plan: Plan, points: Points, strata: NDArray[np.int64] | None) -> Ways:
    """Return the method followed by repair and refinement, for records and for whole groups."""
    recipe, plain = plan.recipe, plan.method
    repairs = plan.repairs and recipe.pseudonym is None  # classes of whole people hold k of them as they are
    method = improved(plain, recipe.t, recipe.refinement, recipe.attacker, more=repairs)
    method = canonical(method, plain, recipe.method, recipe.attacker)
    if recipe.pseudonym is not None:
        return Ways(method, strata=strata, people=points.subjects)
    groups = None if recipe.together is None else points.subjects
    if groups is None:
        return Ways(method, strata=strata)
    whole = canonical(way_of_groups(plain, recipe, groups), plain, recipe.method, recipe.attacker)
    return Ways(method, whole, groups, strata, strata_of_groups(groups, strata))


def _strata(plan: Plan, table: Table, points: Points) -> tuple[NDArray[np.int64] | None, str]:
    """Return the stratum of each record, with small strata merged if the plan says so, and a note on the mergers."""
    recipe, method, strata = plan.recipe, plan.method, strata_of(table)
    if strata is None or not plan.merges_strata:
        return strata, ""
    k = method.k if method.promises_k else 1
    merged = merge_small(points, strata, k, points.subjects)
    joined = table.changed(with_strata(table.data, recipe.strata, merged), set(recipe.strata))
    refuse_in_strata(summarise(joined, recipe), recipe, table.schema, method)
    return merged, merged_note(strata, merged, k)


def _noted(block: Block, points: Points) -> Block:
    """Note how many values are released unchanged, for a method that makes the values itself."""
    if block.values is None:
        return block
    before = points.only(block.attributes).coordinates
    largest = float(abs(before).max())
    same = int((abs(block.values / 2 - before / 2) <= 1e-12 * largest).sum())  # up to rounding; halves avoid overflow
    said = f"{same:,} of {block.values.size:,} values are released unchanged"
    return replace(block, note=f"{block.note}; {said}" if block.note else said)
