"""Households: classes of whole groups, and classes of records nested in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shoal.flow.classes.improve import improved
from shoal.flow.classes.strata import partition_strata
from shoal.recipe.recipe import Recipe
from shoal.types import Coded, Partition, Points
from shoal.types.protocols import Partitioner


def strata_of_groups(groups: NDArray[np.int64], strata: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Return the stratum of each group; the plan has already refused groups that span several strata."""
    if strata is None:
        return None
    found = np.empty(int(groups.max()) + 1, np.int64)
    found[groups] = strata
    return found


def partition_together(
    points: Points,
    method: Partitioner,
    groups: NDArray[np.int64],
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Partition:
    """Partition whole groups, each represented by the mean point of its members; members share their group's class.

    **Guarantee.** If the method forms classes of at least k points, every class holds at least k groups, and every
    group is in one class. So the records of a group are released with the same value in every attribute.

    **Departures.** While classes are formed, every group counts once, whatever its size. The released value of a class
    is the mean of its records, so a group then counts once per member.

    Parameters
    ----------
    points
        The records.
    method
        The method that forms classes, here of groups.
    groups
        The group of each record.
    strata
        The stratum of each group.
    rng
        The random generator.
    """
    found = partition_strata(means_of(points, groups), method, strata, rng)
    return replace(found, blocks=tuple(block.rows(groups) for block in found.blocks))


def means_of(points: Points, groups: NDArray[np.int64]) -> Points:
    """Return the mean point of each group, with the total weight of its members where shares are bounded.

    A mean of categories is no category: mean points have a coordinate for each.

    >>> import numpy as np
    >>> means_of(Points(np.array([[0.0, 1.0], [5.0, 5.0], [2.0, 3.0]])), np.array([0, 1, 0])).coordinates.tolist()
    [[1.0, 2.0], [5.0, 5.0]]
    """
    from shoal.kernels.arithmetic.class_statistics import class_means

    x = points.x
    numbers = [class_means(np.ascontiguousarray(column), groups, None)[:, None] for column in points.numbers.T]
    if isinstance(x, Coded):
        points.refuse_many(int(groups.max(initial=-1)) + 1, "leave out together")
        numbers = [numbers[at] if at >= 0 else x.means(~at, groups) for at in x.layout.order.tolist()]
    return Points(
        np.ascontiguousarray(np.column_stack(numbers)),
        points.owners,
        required=points.required,
        weights=_weights_of(points, groups) if points.required else None,
    )


def _weights_of(points: Points, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of the weights of each group, independent of the order of its members."""
    weights = np.ones(len(groups)) if points.weights is None else points.weights
    order = np.lexsort((weights, groups))
    return np.asarray(np.bincount(groups[order], weights=weights[order]), np.float64)


@dataclass(frozen=True)
class Wider(Partitioner):
    """A method that forms larger classes of groups, so that each has room for several classes of records.

    With classes of k, n records would form n/k classes. Groups form (n/k) to the power of their share of the
    attributes, so that both kinds of attributes are divided into about equally many parts.

    **Guarantee.** Classes of at least k groups, if the method forms classes of at least k points.

    >>> Wider(None, None, "algorithm", 5, 0.5, 2.0).size(1000)  # 2,000 records: 20 classes of 50 groups
    50
    """

    method: Partitioner
    refine: str | None
    attacker: str
    k: int
    share: float  #: of attributes that belong to the group
    members: float  #: records per group, on average

    def size(self, groups: int) -> int:
        """Return the smallest number of groups in a class, given the number of groups."""
        classes = float(max(1.0, groups * self.members / self.k) ** self.share)
        return min(groups, max(self.k, round(groups / classes)))

    def settled(self, points: Points) -> Self:
        """Let the method determine from all points what must be the same in every stratum."""
        return replace(self, method=self.method.settled(points))

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form the classes of groups."""
        sized = replace(self.method, k=self.size(len(points)))
        return improved(sized, None, self.refine, self.attacker, more=bool(points.required)).partition(points, rng)


def way_of_groups(plain: Partitioner, recipe: Recipe, groups: NDArray[np.int64]) -> Partitioner:
    """Return the method that forms classes of whole groups."""
    if not recipe.nested:
        return improved(plain, None, recipe.refinement, recipe.attacker, more=bool(recipe.require))
    share = len(recipe.all_blocks[0]) / len(recipe.quasi)
    return Wider(plain, recipe.refinement, recipe.attacker, plain.k, share, len(groups) / (int(groups.max()) + 1))


def partition_nested(
    blocks: tuple[Points, Points],
    ways: tuple[Partitioner, Partitioner],
    groups: NDArray[np.int64],
    inside: NDArray[np.int64] | None,
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> list[Partition]:
    """Partition whole groups by their own attributes, then the records of each class of groups by the other attributes.

    **Guarantee.** Every class of groups holds at least k whole groups. Every class of records lies within one of these
    and has records of at least k groups, so k holds over all attributes jointly. A method that forms blocks of
    attributes itself promises k only within each block, here as elsewhere.

    Parameters
    ----------
    blocks
        The records in their group's attributes, and in the other attributes.
    ways
        The methods that form classes of records and of groups.
    groups
        The group of each record.
    inside, strata
        The stratum of each group, and of each record.
    rng
        The random generator.
    """
    whole = partition_together(blocks[0], ways[1], groups, inside, rng)
    within = whole.labels if len(whole.blocks) == 1 else strata
    found = partition_strata(blocks[1], ways[0], within, rng)
    return [whole, replace(found, note="") if within is not strata else found]
