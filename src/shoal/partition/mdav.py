"""MDAV: maximum distance to average vector; fixed-size classes, exact and fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class Mdav(Checked, Partitioner):
    """MDAV-generic of Domingo-Ferrer and Torra.

    While at least 3k records remain, the record r farthest from their centroid forms a class with its k−1 nearest, and
    the record s farthest from r forms another with its k−1 nearest. When 2k … 3k−1 remain, the farthest from the
    centroid forms a class with its k−1 nearest, and the rest is the last class.

    **Guarantee.** n ≥ k → every record in exactly one class; all classes have k records, except the last, which has
    k … 2k−1.

    **Complexity.** Brute force O(n²d/k); through the index about O(n log n) where d is small.

    **Departures.** None: labels equal a plain transcription, ties to the lowest row. s is searched after r's class is
    removed, as in MDAV-generic.

    References: [DT05], [SC15] Section 2.2.

    >>> import numpy as np
    >>> points = Points(np.array([[0.0], [0.1], [5.0], [5.5], [0.2], [5.1]]))
    >>> Mdav(k=3).partition(points, np.random.default_rng(0)).labels.tolist()
    [1, 1, 0, 0, 1, 0]
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    relative_cost: ClassVar[float] = 1.0  #: processor time in multiples of a partition by MDAV, measured

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of at least k records; nothing is random."""
        from shoal.kernels.mdav.mdav import mdav

        labels, _ = mdav(points.x, self.k)
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
