"""Sorted runs: records in the order of their coordinates, cut into runs of k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class SortedRuns(Checked, Partitioner):
    """Sort on the first coordinate, then on the next ones, and cut runs of k; the last run takes the rest.

    **Guarantee.** n ≥ k → every record in exactly one class of k … 2k−1 records.
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records; nothing is random."""
        n = len(points)
        order = np.lexsort(points.coordinates.T[::-1])
        labels = np.empty(n, np.int64)
        labels[order] = np.minimum(np.arange(n) // self.k, n // self.k - 1)
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
