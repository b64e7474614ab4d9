"""Tour: a short path through all records, cut where the loss is least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.partition._shared import few_coordinates
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class Tour(Checked, Partitioner):
    """Put the records in an order in which neighbours are near, and cut it into classes of k … 2k−1.

    The order is a short path, as of a travelling salesman who need not return: greedy edges, shortened by 2-opt and
    Or-opt. Paths are drawn through the records, and through the centroids of small classes at several scales. The path
    whose optimal cut has the least SSE is kept, and then redrawn through the centroids of its classes as long as that
    pays.

    **Guarantee.** n ≥ k → every record in exactly one class of k … 2k−1 records; no other cut of the path has a lower
    SSE (up to rounding). For distinct records, the classes depend on coordinates, not on rows. Classes are numbered
    along the path.

    **Complexity.** That of finding near neighbours of every record, O(n log n) where d is small and O(n²d) at worst;
    about linear beyond that, and O(nkd) for a cut.

    **Departures.** [DMMS06] cut paths made by simpler rules, such as nearest point next, and [HM03] give the cut. Here
    the path is shortened first, and drawn at several scales.

    References: [HM03], [DMMS06], [BEN92].

    >>> points = Points(np.array([[0.0, 0.0], [5.0, 5.1], [0.1, 0.0], [5.0, 5.0], [0.0, 0.2], [5.2, 5.0]]))
    >>> Tour(k=3).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 0, 1, 0, 1]
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

    relative_cost: ClassVar[float] = 8.0  #: processor time in multiples of a partition by MDAV, measured

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of k to 2k−1 records; nothing is random."""
        from shoal.kernels.order.tour import tour_labels

        labels = tour_labels(few_coordinates(self, points), self.k)
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
