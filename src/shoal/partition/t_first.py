"""t-closeness first: subsets by confidential value, and classes with one near record of each subset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.partition._shared import growing_sizes, ranked
from shoal.types import Coded, Confidential, Partition, Points
from shoal.types.marginality import by_marginality, spread_ranks
from shoal.types.protocols import Partitioner

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TFirst(Checked, Partitioner):
    """t-closeness-first microaggregation of Soria-Comas et al.

    t determines the class size: k′ records. Records are ranked by the confidential attribute and cut into k′ subsets of
    neighbours in rank. The record x₀ farthest from the centroid forms a class with its nearest record of every subset.
    The record x₁ farthest from x₀ does the same; and so on with the remaining records. Every class then has a record
    from every part of the range, like the table.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records, which is within t of the table in
    every confidential attribute, by value, unless all given records form one class.

    **Complexity.** Brute force O(n²d/k′); through the index about O(n log n) where d is small. With several attributes
    about ten times that.

    **Departures.** The paper's classes are within t if k′ divides n and no two values are equal. Here every class is
    checked by value, and those that fall short are merged with their neighbours, as in Algorithm 1. Eq. (4) has the
    floor; a second record comes from a central subset while it has more records left than there are classes left.
    Categories are ranked by marginality, the sum of their distances to all records, by the distance that t is audited
    with, and records of a category are spread over its ranks. k′ is derived for distances of ranks, and too small for
    categories: classes grow by half until none falls short, for a taxonomy also with subsets in the order of its
    leaves, and the partition with the lowest SSE once merged is kept. The paper has one confidential attribute. With
    several, subsets are formed by each ranked attribute, by the first principal component of these ranks, and by nested
    cuts, one attribute after the other, with ever more pieces until no class falls short; among all these partitions,
    once merged, the one with the lowest SSE is kept.

    References: [SC15] Algorithm 3 and Section 7, [DSR13].

    >>> pay = Confidential("pay", np.array([0, 1, 2, 3, 0, 1]), np.array([2, 2, 1, 1]))
    >>> points = Points(np.array([[0.0], [0.1], [5.0], [5.5], [0.2], [5.1]]), confidential=(pay,))
    >>> TFirst(k=2, t=0.3).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 0, 2, 2, 1]
    """

    promises_k: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[float, Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1)]

    relative_cost: ClassVar[float] = 3.0  #: processor time in multiples of a partition by MDAV, measured

    @classmethod
    def leaves_none_over(cls, n: int, k: int, t: float | None) -> bool:
        """Tell whether k′ divides n: then the paper's bound on the distance of a class holds."""
        from shoal.kernels.space.nearest_per_subset import class_size

        return t is not None and n > 0 and n % class_size(n, k, t) == 0

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records within t of the table; nothing is random."""
        from shoal.kernels.arithmetic.class_statistics import sse
        from shoal.kernels.arithmetic.sums import in_range

        ordered = ranked(self, points)
        x = in_range(points.x)
        found = list(self._candidates(x, ordered, points.confidential))
        best = found[0] if len(found) == 1 else min(found, key=lambda labels: sse(x, labels))
        return Partition.of(best, tuple(dict.fromkeys(points.owners)))

    def _candidates(
        self, x: Array | Coded, ordered: list[Confidential], attributes: tuple[Confidential, ...]
    ) -> Iterator[NDArray[np.int64]]:
        """Yield partitions within t: a single one if there is one attribute."""
        from shoal.kernels.closeness.earth_mover import closeness
        from shoal.kernels.closeness.merge import merge_until_close
        from shoal.kernels.closeness.t_first import t_first

        near = closeness(attributes, self.t)
        if len(attributes) == 1 and not attributes[0].ordered:
            yield from self._of_categories(x, attributes[0])
            return
        ranks = [_ranks(attribute) for attribute in ordered]
        for order in ranks if len(ranks) == 1 else [*ranks, _shared(np.column_stack(ranks))]:
            yield merge_until_close(x, t_first(x, order, self.k, self.t)[0], near)
        if len(attributes) == 1:
            return
        cut = [_ranks(attribute) for attribute in attributes]
        for pieces in range(2, len(x)):
            size = max(pieces ** len(cut), self.k)
            if 2 * size > len(x):
                return
            labels, _ = t_first(x, _nested(cut, pieces), size, 1.0)
            merged = merge_until_close(x, labels, near)
            yield merged
            if merged.max() == labels.max():  # none fell short, and more pieces make larger classes
                return

    def _of_categories(self, x: Array | Coded, attribute: Confidential) -> Iterator[NDArray[np.int64]]:
        """Yield partitions within t for categories, whose distances are not those of ranks: classes of several sizes.

        [SC15] Section 7: categories are ranked by marginality; those of a taxonomy also in the order of its leaves.
        """
        from shoal.kernels.closeness.earth_mover import closeness
        from shoal.kernels.closeness.merge import merge_until_close
        from shoal.kernels.closeness.t_first import t_first
        from shoal.kernels.space.nearest_per_subset import class_size

        near, least = closeness((attribute,), self.t), class_size(len(x), self.k, self.t)
        orders = [by_marginality(attribute).codes, *([] if attribute.parents is None else [attribute.codes])]
        for codes in orders:
            order = spread_ranks(codes)
            for size in growing_sizes(least, len(x)):
                labels, _ = t_first(x, order, size, 1.0)
                merged = merge_until_close(x, labels, near)
                yield merged
                if merged.max() == labels.max():  # none fell short
                    break


def _ranks(attribute: Confidential) -> Array:
    """Return the rank of each record, of categories by marginality; equal values share their middle rank."""
    attribute = by_marginality(attribute)
    middle = np.cumsum(attribute.counts) - attribute.counts / 2
    return np.asarray(middle[attribute.codes])


def _shared(ranks: Array) -> Array:
    """Return the first principal component of ranks, each scaled to variance 1."""
    spread = ranks.std(axis=0)
    scaled = (ranks - ranks.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    axis = np.linalg.eigh(np.einsum("ij,ik->jk", scaled, scaled))[1][:, -1]
    return np.asarray(scaled @ (axis * np.sign(axis[np.argmax(np.abs(axis))])))


def _nested(ranks: list[Array], pieces: int) -> Array:
    """Return the order of records cut into pieces by the first ranks, each of these by the second, and so on.

    >>> _nested([np.array([1, 2, 3, 4]), np.array([9, 8, 6, 7])], 2).tolist()
    [1.0, 0.0, 2.0, 3.0]
    """
    n = len(ranks[0])
    group: NDArray[np.int64] = np.zeros(n, np.int64)
    place = np.empty(n, np.int64)
    for rank in ranks:
        place[np.lexsort((rank, group))] = np.arange(n)
        sizes = np.bincount(group)
        inside = place - (np.cumsum(sizes) - sizes)[group]
        group = (group * pieces + inside * pieces // sizes[group]).astype(np.int64)
    return place.astype(np.float64)
