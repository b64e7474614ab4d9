"""Records within the classes of their groups: what is of the group is kept together, and k holds over everything."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.flow.classes.households import partition_together
from shoal.flow.classes.steps import Steps, followed
from shoal.flow.classes.strata import partition_strata
from shoal.recipe.recipe import Recipe
from shoal.types import Partition, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def wider(groups: int, k: int, share: float, members: float) -> int:
    """Return how many groups a class must hold, so that there is room in each for several classes of records.

    If all records had classes of k, there would be n/k. Groups get (n/k) to the power of `share`, their share of the
    attributes, so that both kinds of attributes are cut into about as many parts each. `members` are the records of a
    group, on average.

    **Guarantee.** At least k groups, and at most all of them.

    >>> wider(1000, 5, 0.5, 2.0)  # 2,000 records: 20 classes of 50 groups
    50
    """
    classes = float(max(1.0, groups * members / k) ** share)
    return min(groups, max(k, round(groups / classes)))


def way_of_groups(plain: Any, recipe: Recipe, groups: NDArray[np.int64]) -> Any:
    """Return what forms classes of whole groups."""
    if not recipe.nested:
        return followed(plain, None, recipe.refine, more=bool(recipe.require))
    share, members = len(recipe.all_blocks[0]) / len(recipe.quasi), len(groups) / (int(groups.max()) + 1)
    size = partial(wider, k=plain.k, share=share, members=members)
    return Steps(plain, repair=None, effort=recipe.refine, size=size)


def partition_nested(
    blocks: tuple[Points, Points],
    ways: tuple[Any, Any],
    groups: NDArray[np.int64],
    inside: NDArray[np.int64] | None,
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> list[Partition]:
    """Partition whole groups by what is theirs, then the records of each class of groups by the rest.

    **Guarantee.** Every class of groups holds at least k of them, each whole. Every class of records lies in one of
    these, with records of at least k groups; so k holds over all attributes together. A method that forms blocks of
    attributes itself promises k in each of them only, here as elsewhere.

    Parameters
    ----------
    blocks
        The records in the attributes of their groups, and in the others.
    ways
        What forms classes of records, and of groups.
    groups
        The group of each record.
    inside, strata
        The stratum of each group, and of each record.
    rng
        Where randomness comes from.
    """
    whole = partition_together(blocks[0], ways[1], groups, inside, rng)
    within = whole.labels if len(whole.blocks) == 1 else strata
    found = partition_strata(blocks[1], ways[0], within, rng)
    return [whole, replace(found, note="") if within is not strata else found]
