"""Classes of a table: from plan to points to partition; nothing is released yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shoal import progress
from shoal.flow.classes.canonical_order import canonical
from shoal.flow.classes.households import partition_nested, partition_together, strata_of_groups, way_of_groups
from shoal.flow.classes.improve import improved
from shoal.flow.classes.steering import steering_in
from shoal.flow.classes.strata import as_merged, merge_small, merged_note, partition_strata, with_strata
from shoal.flow.classes.weights import weights_counted
from shoal.flow.plan.components import as_promised
from shoal.flow.plan.plan import Plan, refuse_in_strata
from shoal.flow.plan.release_traits import bounded
from shoal.flow.plan.required_models import of_values
from shoal.flow.stages.encode import confidential_columns, encode
from shoal.flow.stages.groupings import strata_of, subjects_of
from shoal.flow.stages.summary import summarise
from shoal.recipe.recipe import Recipe
from shoal.types import Attribute, Block, Partition, Points, Role, Table
from shoal.types.contracts.components import Partitioner, Releaser

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


#: Partitions the blocks of a table; takes the points of each block, the methods, and the random generator.
Engine = Callable[[Recipe, Sequence[Points], Ways, "np.random.Generator"], list[Partition]]


def form(plan: Plan, table: Table, engine: Engine | None = None) -> Formed:
    """Form the classes of a table; `engine` partitions its blocks, by default in this process."""
    import numpy as np

    recipe, method = plan.recipe, plan.method
    rng = np.random.default_rng(recipe.seed)
    for step in plan.steps:
        table = step.apply(table)
    typed, attributes = encode(table, table.schema.names(Role.QUASI), missing=plan.missing)
    points = bounded(plan.encoding.encode(attributes, recipe.attribute_weights), recipe, typed)
    points = _with_demands(plan, table, points)
    strata, merged = _strata(plan, table, points)
    steering = steering_in(recipe, method, points, table)
    progress.stage("Partition")
    blocks = [points.only(names) for names in recipe.all_blocks]
    ways = _ways(plan, points, strata)
    parts = (engine or in_memory)(recipe, [steering.onto(block) for block in blocks], ways, rng)
    parts = [as_promised(steering.without(part, block), method) for part, block in zip(parts, blocks, strict=True)]
    notes = dict.fromkeys(note for note in (merged, *(part.note for part in parts)) if note)
    partition = Partition(tuple(_noted(block, points) for part in parts for block in part.blocks), "; ".join(notes))
    if merged and strata is not None:
        table, typed = as_merged(table, strata), as_merged(typed, strata)
    return Formed(plan, table, typed, attributes, points, partition, strata, rng)


def in_memory(recipe: Recipe, blocks: Sequence[Points], ways: Ways, rng: np.random.Generator) -> list[Partition]:
    """Partition each block in this process: records, or whole groups in blocks where groups are never split."""
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
    method = canonical(improved(plain, recipe.t, recipe.refine, more=plan.repairs), plain, recipe.method)
    groups = None if recipe.together is None else points.subjects
    if groups is None:
        return Ways(method, strata=strata)
    whole = canonical(way_of_groups(plain, recipe, groups), plain, recipe.method)
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
