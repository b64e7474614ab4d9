"""Optimal univariate microaggregation: the partition of one attribute with the least possible loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import DataError, listing
from shoal.parameters import Checked, Param
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class OptimalUnivariate(Checked, Partitioner):
    """Sort one coordinate and cut it where the SSE is least, by Hansen and Mukherjee's shortest path.

    **Guarantee.** n ≥ k and one coordinate → every record in exactly one class of k … 2k−1 records, and no partition
    into classes of at least k has a lower SSE (up to rounding). Classes are numbered from the lowest values to the
    highest.

    **Complexity.** O(n log n + nk) time, O(n) memory.

    **Departures.** The path is found node by node in record order, not by Dijkstra's algorithm: the graph has no
    cycles. [N14] prints the class of edge (g_i, g_j) as v_i … v_j; it is v_{i+1} … v_j, or classes would share records.
    Equal values are sorted by row; among several optimal cuts, the one with the smallest last class is taken, then the
    smallest before it.

    References: [HM03], [N14] Section 2.2, [DM02].

    >>> points = Points(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]))
    >>> OptimalUnivariate(k=2).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 0, 1, 0]
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    dimensions: ClassVar[int] = 1

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    relative_cost: ClassVar[float] = 1.0  #: processor time in multiples of a partition by MDAV, measured
    cost_of_cut: ClassVar[float] = 3.5e-9  #: seconds to examine one possible position of an optimal cut

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form the classes with the least SSE; nothing is random."""
        from shoal.kernels.order.projection import cut_labels, optimal_cut

        owners = tuple(dict.fromkeys(points.owners))
        d = sum(map(len, points.places.values()))
        if d != self.dimensions:
            whose = f" of {listing([repr(name) for name in owners])}" if owners else ""
            raise DataError(
                f"OptimalUnivariate: points must have exactly 1 coordinate, got {d}{whose}. Give each attribute its "
                "own block, or choose another method."
            )
        # [N14] 2.2: sort, then the shortest path from g_0 to g_n
        order = np.argsort(points.coordinates[:, 0], kind="stable")
        bounds = optimal_cut(points.coordinates[order], self.k)
        return Partition.of(cut_labels(order, bounds), owners)
