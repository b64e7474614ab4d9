"""Insensitive: classes of k along an order of the domain, not of the data; one record moves little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.partition._ploughed import axes_of, least_noise, moves, ploughed
from shoal.types import Block, Partition, Points


@dataclass(frozen=True)
class Insensitive(Checked):
    """Insensitive microaggregation: a total order of the domain, and classes of k consecutive records in it.

    Categories come before numbers. The domain of every coordinate but the last is cut into strips, or into the groups
    of a taxonomy. Cells are visited as an ox ploughs: along one strip and back along the next. Within a cell the last
    coordinate goes up or down in turn; what is left of ties is broken by the other coordinates. Records of one rank are
    equal, so the classes do not depend on the order of rows.

    **Guarantee.** n ≥ k → every record in exactly one class; all classes have k records, but for the last, which
    has k … 2k−1. With bounds, changing one record changes each class by at most one record, and the list of class
    means by at most `moves` widths of the domain in each coordinate.

    **Proof.** Let G classes have sizes of at least c, let D′ be D with record x made y, and let x come before y in
    the order (else change roles). In D′ the records between x and y have moved up by one place. So the class of x loses
    x and gains the first record z₁ of the next class, that one loses z₁ and gains the first z₂ of the one after, and so
    on, until the class of y gains y. No other class changes. With z₀ = x and z_m = y the means of coordinate j change
    by |z_{i+1,j} − z_{i,j}| / (size of the class), i = 0 … m−1, m ≤ G, and z₀ ≤ z₁ ≤ … ≤ z_m in the order. Added up:

    - one coordinate: the order is that of the values, and Σ (z_{i+1} − z_i) = y − x ≤ 1 width: it **telescopes**;
    - a coordinate j that is cut into s_j strips, with P_j cells of the coordinates before it: a step within a strip is
      at most 1/s_j, one over q strips at most (q + 1)/s_j, and the ploughing goes over s_j − 1 strips P_j times, never
      jumping: Σ ≤ (m + P_j (s_j − 1)) / s_j;
    - the last coordinate goes through its domain once for every cell: Σ ≤ P_d.

    **Categories** with a taxonomy are put in line: its leaves, those of a group side by side. Two are as far apart
    as their lowest common group is high, over the height of the tree. The lowest common group of two leaves holds
    all that lie between them in line, so their distance is the largest of the steps from leaf to leaf on the way, and
    at most their sum. The line is cut by the groups of one depth, of which s_j there are; let no two leaves of a group
    be farther apart than w_j, and let the steps from group to group add up to b_j. Then a step of the walk within a
    group is at most w_j, and one over the borders of groups at most the sum of what these are wide, so that
    Σ ≤ m·w_j + P_j·b_j; strips of numbers are the case w_j = 1/s_j, b_j = (s_j − 1)/s_j. As the last coordinate the
    line is gone through from leaf to leaf: Σ ≤ P_d times the sum of all steps. The score of a category is minus its
    mean distance to the members of a class. By the triangle inequality the scores of a class change by at most the
    distance from z_i to z_{i+1} over its size: added up over the classes it is the same sum.

    No step is longer than 1, so each sum is also at most m. Divide by c. ∎ The plain bound of insensitive
    microaggregation is m in every coordinate; in d coordinates this is of the order of m^(1 − 1/d). With categories
    in front, each a cell of its own, the number of classes does not matter at all for them.

    **Complexity.** O(nd + n log n); with categories also what their taxonomy takes.

    **Departures.** [SD14] leave the order open, and take distances to a reference point; the strips are ours, and need
    less noise. Without bounds the domain is the range of the points: then the order depends on the data, and nothing is
    known of what one record moves. Cited from memory.

    References: [SD14], [SD17] Section 4.1 (INS).

    >>> points = Points(np.array([[0.1], [0.9], [0.2], [0.7]]), widths=np.ones(1), lows=np.zeros(1))
    >>> part = Insensitive(k=2).partition(points, np.random.default_rng(0))
    >>> part.labels.tolist(), round(part.blocks[0].moves[0], 6)
    ([0, 1, 0, 1], 0.5)
    """

    insensitive: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    strips: Annotated[
        int | None,
        Param("Strips that the domain of each coordinate but the last is cut into; none: for the least noise.", low=1),
    ] = None

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of k records along the order; nothing is random."""
        n, axes = len(points), axes_of(points)
        classes = n // self.k
        strips = least_noise(classes, axes)
        if self.strips is not None:
            strips = (*(axis.nearest(self.strips) for axis in axes[:-1]), 1)
        labels = np.empty(n, np.int64)
        labels[ploughed(axes, strips)] = np.minimum(np.arange(n) // self.k, classes - 1)
        size = n if classes == 1 else self.k
        known = bool(points.axes) or (points.widths is not None and points.lows is not None)
        moved = tuple(step / size for step in moves(classes, strips, axes)) if known else None
        names = tuple(axis.name for axis in points.axes) or tuple(dict.fromkeys(points.owners))
        return Partition((Block(names, labels, moves=moved, strips=strips),))
