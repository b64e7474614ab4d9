"""Insensitive: classes of k along an order of the domain, not of the data; one record changes little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked, Param
from shoal.types import Axis, Block, Partition, Points
from shoal.types.protocols import Partitioner

_ROUNDING = 2.0**-40  # cells are cut in floats: some are wider than 1/s by a few units in the last place
_SWEEPS = 4


def axes_of(points: Points) -> tuple[Axis, ...]:
    """Return the domains of the coordinates: their bounds, or the range of the points without bounds."""
    if points.axes:
        return points.axes
    quarters = points.coordinates / 4  # the width of a range must not overflow
    if points.widths is None or points.lows is None:
        lows, widths = quarters.min(axis=0), np.ptp(quarters, axis=0)
    else:
        lows, widths = points.lows / 4, points.widths / 4
    places = np.clip((quarters - lows) / np.where(widths > 0, widths, 1.0), 0.0, 1.0)
    return numbers(places)


def numbers(places: NDArray[np.float64]) -> tuple[Axis, ...]:
    """Return the axes of numbers between 0 and 1, one per column."""
    return tuple(Axis(str(j), column) for j, column in enumerate(places.T))


def snake_order(axes: Sequence[Axis], strips: Sequence[int]) -> NDArray[np.int64]:
    """Return the rows in cell order, alternating direction from strip to strip (boustrophedon)."""
    last = axes[-1].places
    odd = np.zeros(len(last), np.bool_)  # whether the cell of the axes so far has an odd number
    keys: list[NDArray[np.float64]] = []
    for axis, count in zip(axes[:-1], strips, strict=False):
        cell = axis.cells(count)
        step = np.where(odd, count - 1 - cell, cell)
        keys.append(step)
        # the number of the cell is (number so far) · count + step: from here on, only its parity matters
        odd = ((odd & (count % 2 == 1)) ^ (step % 2 == 1)).astype(np.bool_)
    keys.append(np.where(odd, -last, last))
    keys += [axis.places for axis in axes[:-1]]
    return np.asarray(np.lexsort(keys[::-1]), np.int64)


def moves(classes: int, strips: Sequence[int], axes: Sequence[Axis] = ()) -> tuple[float, ...]:
    """Return for each axis the largest total distance that records changing classes move; without axes, of numbers.

    >>> [round(step, 6) for step in moves(100, (10, 1))]
    [10.9, 10.0]
    """
    axes = axes or numbers(np.empty((0, len(strips))))
    found, before = [], 1
    for axis, count in zip(axes[:-1], strips, strict=False):
        within, between, _ = axis.cut(count)
        found.append(min(float(classes), classes * within + before * between))
        before *= count
    found.append(min(float(classes), before * axes[-1].span))
    return tuple(step * (1.0 + _ROUNDING) for step in found)


def least_noise(classes: int, axes: Sequence[Axis]) -> tuple[int, ...]:
    """Return the strips of each axis that make the sum of squared `moves` small, from sizes and domains alone.

    >>> least_noise(100, numbers(np.empty((0, 2)))), least_noise(7, numbers(np.empty((0, 1))))
    ((10, 1), (1,))
    """
    strips = [1] * len(axes)
    best = sum(step * step for step in moves(classes, strips, axes))
    for _ in range(_SWEEPS):
        before = list(strips)
        for j, axis in enumerate(axes[:-1]):
            for count in axis.counts(int(classes**0.5) + 1):
                tried = [*strips[:j], count, *strips[j + 1 :]]
                cost = sum(step * step for step in moves(classes, tried, axes))
                if cost < best:
                    best, strips = cost, tried
        if strips == before:
            break
    return tuple(strips)


@dataclass(frozen=True)
class Insensitive(Checked, Partitioner):
    """Insensitive microaggregation: a total order of the domain, and classes of k consecutive records in it.

    Categories come before numbers. The domain of every coordinate but the last is cut into strips, or into the groups
    of a taxonomy. Cells are visited in boustrophedon order: along one strip and back along the next. Within a cell the
    last coordinate alternately goes up and down; remaining ties are broken by the other coordinates. Records of one
    rank are equal, so the classes do not depend on the order of rows.

    **Guarantee.** n ≥ k → every record in exactly one class; all classes have k records, except the last, which has k …
    2k−1. With bounds, changing one record changes each class by at most one record, and the list of class means by at
    most `moves` widths of the domain in each coordinate.

    **Proof.** Let G classes have sizes of at least c, let D′ be D with record x replaced by y, and let x come before y
    in the order (otherwise exchange their roles). In D′ the records between x and y have moved up by one place. So the
    class of x loses x and gains the first record z₁ of the next class, that one loses z₁ and gains the first record z₂
    of the one after, and so on, until the class of y gains y. No other class changes. With z₀ = x and z_m = y the means
    of coordinate j change by |z_{i+1,j} − z_{i,j}| / (size of the class), i = 0 … m−1, m ≤ G, and z₀ ≤ z₁ ≤ … ≤ z_m in
    the order. Added up:

    - one coordinate: the order is that of the values, and Σ (z_{i+1} − z_i) = y − x ≤ 1 width: it **telescopes**;
    - a coordinate j that is cut into s_j strips, with P_j cells of the coordinates before it: a step within a strip is
      at most 1/s_j, one over q strips at most (q + 1)/s_j, and the walk crosses s_j − 1 strips P_j times, without
      jumps: Σ ≤ (m + P_j (s_j − 1)) / s_j;
    - the last coordinate runs through its domain once for every cell: Σ ≤ P_d.

    **Categories** with a taxonomy are arranged in a line: its leaves, with those of a group next to each other. The
    distance of two is the height of their lowest common group over the height of the tree. The lowest common group of
    two leaves holds all that lie between them in the line, so their distance is the largest of the steps from leaf to
    leaf between them, and at most their sum. The line is cut by the s_j groups of one depth; let w_j be the largest
    distance of two leaves of a group, and b_j the sum of the steps from group to group. Then a step of the walk within
    a group is at most w_j, and one across the borders of groups at most the sum of the widths of these borders, so that
    Σ ≤ m·w_j + P_j·b_j; strips of numbers are the case w_j = 1/s_j, b_j = (s_j − 1)/s_j. As the last coordinate, the
    line is traversed from leaf to leaf: Σ ≤ P_d times the sum of all steps. The score of a category is minus its mean
    distance to the members of a class. By the triangle inequality, the scores of a class change by at most the distance
    from z_i to z_{i+1} over its size: summed over the classes, this is the same sum.

    No step is longer than 1, so each sum is also at most m. Divide by c. ∎ The plain bound of insensitive
    microaggregation is m in every coordinate; in d coordinates this one is of the order of m^(1 − 1/d). For leading
    categories with a cell each, the bound does not depend on the number of classes at all.

    **Complexity.** O(nd + n log n); with categories, plus the processing of their taxonomy.

    **Departures.** [SD14] leave the order open, and use distances to a reference point; the strips are ours, and need
    less noise. Without bounds the domain is the range of the points: then the order depends on the data, and nothing is
    known about the effect of one record. Cited from memory.

    References: [SD14], [SD17] Section 4.1 (INS).

    >>> points = Points(np.array([[0.1], [0.9], [0.2], [0.7]]), widths=np.ones(1), lows=np.zeros(1))
    >>> part = Insensitive(k=2).partition(points, np.random.default_rng(0))
    >>> part.labels.tolist(), round(part.blocks[0].moves[0], 6)
    ([0, 1, 0, 1], 0.5)
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    insensitive: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    strips: Annotated[
        int | None,
        Param("Strips that the domain of each coordinate but the last is cut into; none: for the least noise.", low=1),
    ] = None

    relative_cost: ClassVar[float] = 0.0
    cost_of_cell: ClassVar[float] = 5e-7  #: seconds to sort one coordinate of a record

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of k records along the order; nothing is random."""
        n, axes = len(points), axes_of(points)
        classes = n // self.k
        strips = least_noise(classes, axes)
        if self.strips is not None:
            strips = (*(axis.nearest(self.strips) for axis in axes[:-1]), 1)
        labels = np.empty(n, np.int64)
        labels[snake_order(axes, strips)] = np.minimum(np.arange(n) // self.k, classes - 1)
        size = n if classes == 1 else self.k
        known = bool(points.axes) or (points.widths is not None and points.lows is not None)
        moved = tuple(step / size for step in moves(classes, strips, axes)) if known else None
        names = tuple(axis.name for axis in points.axes) or tuple(dict.fromkeys(points.owners))
        return Partition((Block(names, labels, moves=moved, strips=strips),))
