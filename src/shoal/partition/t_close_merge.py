"""t-close merging: classes of any method; the farthest from the table is merged until all are close."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.partition._shared import confidential, formed_first, refuse_first
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class TCloseMerge(Checked, Partitioner):
    """Microaggregation and merging: Algorithm 1 of Soria-Comas et al.

    Another method forms classes. As long as some class is farther than t from the table in a confidential attribute,
    the farthest of them is merged with the class whose mean is nearest to its own.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records, within t of the table in every
    confidential attribute by the earth mover's distance between values; at worst one class holds all records. If strata
    are partitioned one by one, a stratum that is itself too far from the table becomes one class, and the audit reports
    it.

    **Complexity.** That of the first method, and O(n log n); O(s) more each time a class of s records must be measured,
    at worst for every merger. The nearest class is found through a tree, the farthest on a heap.

    **Departures.** [SC15] do not say how to combine the distances of several confidential attributes: here t holds for
    each, and the farthest class is the one with the largest distance in any. Classes that are close enough are never
    the farthest. Ties go to the class with the lowest row.

    References: [SC15] Section 5.

    >>> from shoal.types import Confidential
    >>> pay = Confidential("pay", np.array([0, 1, 2, 3, 4, 5]), np.ones(6, np.int64))
    >>> points = Points(np.array([[0.0], [1.0], [10.0], [11.0], [2.0], [12.0]]), confidential=(pay,))
    >>> TCloseMerge(k=2, t=0.1).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 0, 0, 0, 0, 0]
    """

    promises_k: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[float, Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1)]
    first: Annotated[str, Param("The method that forms the classes to be merged.")] = "mdav"

    relative_cost: ClassVar[float] = 2.0  #: processor time in multiples of a partition by MDAV, measured

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_first(type(self).__name__, self.first)

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the first method, then merge those that are too far from the table with their neighbours."""
        from shoal.kernels.closeness.earth_mover import closeness
        from shoal.kernels.closeness.merge import merge_until_close

        near = closeness(confidential(self, points), self.t)
        formed = formed_first(type(self).__name__, self.first, self.k, points, rng)
        block = formed.blocks[0]
        labels = merge_until_close(points.x, block.labels, near)
        return replace(formed, blocks=(replace(block, labels=labels, atoms=block.labels),))
