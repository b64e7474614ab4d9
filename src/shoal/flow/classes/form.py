"""Table → Points → Partition: the classes of a table, before anything is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal import progress
from shoal.errors import ParameterError
from shoal.flow.classes.canonical_order import canonical
from shoal.flow.classes.households import one_value_per_group, partition_together, refuse_groups, strata_of_groups
from shoal.flow.classes.nested_households import partition_nested, way_of_groups
from shoal.flow.classes.steering import steering_in
from shoal.flow.classes.steps import followed, one_block
from shoal.flow.classes.strata import (
    as_merged,
    merge_small,
    merged_note,
    partition_strata,
    refuse_small,
    strata_of,
    with_strata,
)
from shoal.flow.classes.weights import weights_counted
from shoal.flow.plan.components import components, enough_records, promises_k
from shoal.flow.plan.declaration import covers_originals
from shoal.flow.plan.release_traits import bounded, refuse_noise, refuse_what_cannot_be_released
from shoal.flow.plan.required_models import as_requirements, of_values, refuse_infeasible, required_in
from shoal.flow.stages.encode import confidential_columns, encode
from shoal.flow.stages.subjects import named, subjects_of
from shoal.flow.stages.values import with_values
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, resolve
from shoal.types import Attribute, Block, Partition, Points, Release, Role, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def with_enough_persons(method: Any, recipe: Recipe) -> Any:
    """Return a method whose classes have as many persons as a bound on their shares takes at least."""
    from shoal.kernels.models.persons import least_persons

    bounds = [one for one in as_requirements(resolve("Recipe", recipe.require), ()) if not one.attribute]
    least = max(map(least_persons, bounds), default=0)
    return replace(method, k=least) if promises_k(method) and least > method.k else method


@dataclass(frozen=True, eq=False)
class Formed:
    """A table whose classes are formed, and nothing released yet."""

    table: Table
    typed: Table  #: with values for cells
    attributes: Sequence[Attribute]
    points: Points
    partition: Partition
    release: Any  #: what will release it
    strata: NDArray[np.int64] | None
    rng: np.random.Generator


def form(table: Table, recipe: Recipe, *, certified: bool = False, sink: type | None = None) -> Formed:
    """Form the classes of a table, and refuse what cannot be released.

    Parameters of `set` may also be those of the sink, which are not for this to use.
    """
    import numpy as np

    from shoal.points.encoding import Encoding

    method, release, encoding = components(recipe, Encoding, sink)
    _refuse(table, recipe, method, release, certified=certified)
    method = with_enough_persons(method, recipe)
    rng = np.random.default_rng(recipe.seed)
    missing = "fill" if recipe.when_missing == "fill" else "category"
    typed, attributes = encode(table, table.schema.names(Role.QUASI), missing=missing)
    points = bounded(encoding.encode(attributes, recipe.attribute_weights), recipe, typed)
    points = _points(table, recipe, points)
    strata, merged = _strata(table, recipe, points, method)
    steering = steering_in(recipe, method, points, table)
    progress.stage("Partition")
    groups = None if recipe.together is None else points.subjects
    one_value_per_group(typed, recipe, groups)
    inside = None if groups is None else strata_of_groups(table, recipe, groups, strata)
    partition = _partition(recipe, method, points, steering, groups, (inside, strata), rng)
    if merged:
        partition = replace(partition, note="; ".join(note for note in (merged, partition.note) if note))
    if merged and strata is not None:
        table, typed = as_merged(table, strata), as_merged(typed, strata)
    return Formed(table, typed, attributes, points, partition, release, strata, rng)


def _refuse(table: Table, recipe: Recipe, method: Any, release: Any, *, certified: bool) -> None:
    """Refuse what cannot be done, before anything is."""
    if certified and not promises_k(method):
        raise ParameterError(
            f"{type(method).__name__}: nothing can be certified, for this method forms no classes of at least k "
            f"records. Leave out --certify, or take another method."
        )
    if certified and covers_originals(recipe):
        raise ParameterError(
            "Laplace: with claim = original certify must be left out, because the bound depends on the data. Leave it "
            "out."
        )
    enough_records(method, len(table))
    required = required_in(recipe)
    refuse_what_cannot_be_released(release, recipe, table)
    refuse_noise(recipe, type(method))
    if of_values(required):
        one_block(type(method), len(recipe.all_blocks))
    refuse_groups(table, recipe, method)
    if not _merging(recipe, method):
        _refuse_infeasible(table, recipe, required)


def _merging(recipe: Recipe, method: Any) -> bool:
    return recipe.small_strata == "merge" and promises_k(method)


def _points(table: Table, recipe: Recipe, points: Points) -> Points:
    """Return the points with what methods must know besides: confidential columns, what they must hold, subjects."""
    asked = as_requirements(resolve("Recipe", recipe.require), recipe.confidential)
    if of_values(required_in(recipe)):
        points = replace(points, confidential=confidential_columns(table))
    weights = weights_counted(table, recipe) if asked else None
    return replace(points, required=asked, subjects=subjects_of(table, exact=recipe.subject_exact), weights=weights)


def _partition(
    recipe: Recipe,
    plain: Any,
    points: Points,
    steering: Any,
    groups: NDArray[np.int64] | None,
    strata: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None],
    rng: np.random.Generator,
) -> Partition:
    """Form the classes, block by block; `strata` are those of groups and of records."""
    counting = recipe.subject is not None or bool(recipe.household_level)
    more = bool(recipe.require) or (counting and promises_k(plain))
    method = canonical(followed(plain, recipe.t, recipe.refine, more=more), plain, recipe.method)
    whole = None if groups is None else way_of_groups(plain, recipe, groups)
    ways = (method, None if whole is None else canonical(whole, plain, recipe.method))
    seen = [points.only(names) for names in recipe.all_blocks]
    parts = _formed(recipe, [steering.onto(p) for p in seen], ways, groups, strata, rng)
    parts = [steering.without(part, p) for part, p in zip(parts, seen, strict=True)]
    notes = dict.fromkeys(part.note for part in parts if part.note)
    blocks = tuple(_noted(block, points) for part in parts for block in part.blocks)
    return Partition(blocks, "; ".join(notes))


def _formed(
    recipe: Recipe,
    blocks: Sequence[Points],
    ways: tuple[Any, Any],
    groups: NDArray[np.int64] | None,
    strata: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None],
    rng: np.random.Generator,
) -> list[Partition]:
    """Partition each block: records in the first way, or whole groups in the second where these stay together."""
    of_groups, of_records = strata
    if groups is None:
        return [partition_strata(points, ways[0], of_records, rng) for points in blocks]
    if recipe.nested:
        return partition_nested((blocks[0], blocks[1]), ways, groups, of_groups, of_records, rng)
    return [
        partition_together(points, ways[1], groups, of_groups, rng)
        if names in recipe.whole_blocks
        else partition_strata(points, ways[0], of_records, rng)
        for names, points in zip(recipe.all_blocks, blocks, strict=True)
    ]


def _strata(table: Table, recipe: Recipe, points: Points, method: Any) -> tuple[NDArray[np.int64] | None, str]:
    """Return the stratum of each record, small ones merged if the recipe says so, and what was merged in words."""
    strata, k = strata_of(table), method.k if promises_k(method) else 1
    if strata is None or not _merging(recipe, method):
        refuse_small(table, strata, k)
        return strata, ""
    merged = merge_small(points, strata, k, points.subjects)
    joined = replace(table, data=with_strata(table.data, recipe.strata, merged))
    _refuse_infeasible(joined, recipe, required_in(recipe))
    return merged, merged_note(strata, merged, k)


def _refuse_infeasible(table: Table, recipe: Recipe, required: list[Required]) -> None:
    """Refuse what cannot hold even if all records, or all of a stratum, are one class."""
    from shoal.privacy.k_anonymity import KAnonymity

    asked = [one for one in required if one.key != "n_t_closeness"]  # which t implies
    if recipe.counted is not None:
        asked = [Required("k_anonymity", KAnonymity(recipe.k)), *asked]
    if not asked:
        return
    whose = named(table.data, recipe.counted)
    release = Release(table.data, table.schema, table.dialect, whose, subject_exact=recipe.subject_exact)
    release = with_values(release, recipe.confidential if of_values(asked) else ())
    release = replace(release, weights=weights_counted(table, recipe))
    refuse_infeasible(release, recipe.strata, asked, recipe.confidential)


def _noted(block: Block, points: Points) -> Block:
    """Say how many values leave unchanged, where a method makes them itself."""
    if block.values is None:
        return block
    before = points.only(block.attributes).coordinates
    largest = float(abs(before).max())
    same = int((abs(block.values / 2 - before / 2) <= 1e-12 * largest).sum())  # but for rounding; halves: no overflow
    said = f"{same:,} of {block.values.size:,} values leave unchanged"
    return replace(block, note=f"{block.note}; {said}" if block.note else said)
