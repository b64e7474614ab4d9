"""t-close merging: classes of any method; the farthest from the table is merged until all are close."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import Checked, Param, build, unknown
from shoal.partition._shared import confidential
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

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    t: Annotated[float, Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1)]
    first: Annotated[str, Param("The method that forms the classes to be merged.")] = "mdav"

    relative_cost: ClassVar[float] = 5.0  #: processor time in multiples of a first partition by MDAV, measured

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first not in registry.keys("partition"):
            raise ParameterError(unknown("TCloseMerge", "method", self.first, registry.keys("partition")))
        method = registry.load("partition", self.first)
        if method.promises_t:
            raise ParameterError(
                f"TCloseMerge: first must be a method that does not enforce t, got {self.first!r}, which does. Use "
                f"{self.first!r} alone, or choose another first."
            )
        if method.promises:
            raise ParameterError(
                f"TCloseMerge: first must be a method that needs only k, got {self.first!r}, which enforces another "
                f"model. Use {self.first!r} alone, with --t, or choose another first."
            )
        if not method.promises_k:
            raise ParameterError(
                f"TCloseMerge: first must form classes of at least k records, got {self.first!r}, which does not "
                "promise them. Choose another first."
            )

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes by the first method, then merge those that are too far from the table with their neighbours."""
        from shoal.kernels.closeness.earth_mover import closeness
        from shoal.kernels.closeness.merge import merge_until_close

        near = closeness(confidential(self, points), self.t)
        method = build(registry.load("partition", self.first), {"k": self.k})
        formed = method.partition(points, rng)
        if len(formed.blocks) > 1:
            raise ParameterError(
                f"TCloseMerge: first must partition all attributes together, got {self.first!r}, which forms "
                f"{len(formed.blocks)} blocks. Choose another first."
            )
        block = formed.blocks[0]
        labels = merge_until_close(points.coordinates, block.labels, near)
        return replace(formed, blocks=(replace(block, labels=labels),))
