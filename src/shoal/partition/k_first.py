"""k-anonymity-first: classes of near records, with exchanges until each class is close to the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.partition._shared import confidential
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class KFirst(Checked, Partitioner):
    """k-anonymity-first: Algorithm 2 of Soria-Comas et al. inside their Algorithm 1.

    The record x farthest from the centroid of the remaining records forms a class with its k−1 nearest. While the class
    is farther than t from the table, the next nearest record to x replaces the member whose removal brings the class
    closest to the table, if that brings it closer at all. The record farthest from x forms the next class in the same
    way, and so on; a remainder of fewer than 2k records forms one class. Classes that are still too far from the table
    are merged with their neighbours, as by `t_close_merge`.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records, within t of the table in every
    confidential attribute by the earth mover's distance between values; at worst one class holds all records. If strata
    are partitioned one by one, a stratum that is itself too far from the table becomes one class, and the audit reports
    it.

    **Complexity.** O(n²d/k) for distances, and up to n²/2k candidates: O(log n) each on one ordered confidential
    attribute, O(k) for each attribute otherwise. [SC15] state O(n³/k).

    **Departures.** With several confidential attributes, t holds for each, and the distance of a class is the largest
    over them, in exact fractions. Ties go to the lowest row, and among members to the one that joined first. The search
    stops once no class of k could be closer to the table, which does not change the result.

    References: [SC15] Section 6.

    >>> from shoal.types import Confidential
    >>> pay = Confidential("pay", np.array([0, 1, 4, 5, 2, 3]), np.ones(6, np.int64))
    >>> points = Points(np.array([[0.0], [1.0], [10.0], [11.0], [2.0], [12.0]]), confidential=(pay,))
    >>> KFirst(k=2, t=0.2).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 1, 2, 2, 0]
    """

    promises_k: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[float, Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1)]

    relative_cost: ClassVar[float] = 13.0  #: processor time in multiples of MDAV by brute force, measured
    quadratic: ClassVar[bool] = True

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes, exchange records as they form, and merge those still too far; nothing is random."""
        from shoal.kernels.closeness.earth_mover import closeness
        from shoal.kernels.closeness.k_first import k_first
        from shoal.kernels.closeness.merge import merge_until_close

        near = closeness(confidential(self, points), self.t)
        formed = k_first(points.x, self.k, near)
        labels = merge_until_close(points.x, formed, near)
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
