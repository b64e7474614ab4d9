"""Anneal: the lowest loss, by simulated annealing that moves records between neighbouring classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.parameters import Checked, Param
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class Anneal(Checked, Partitioner):
    """Simulated annealing of the classes that MDAV forms, from several seeds, recombining the best classes.

    A record moves to the class of a near neighbour, two records change places, three rotate, or a class is dissolved or
    created. Moves that lower the SSE are made; a move that raises it by Δ is made with probability exp(−Δ/(T·h)), where
    T falls from hot to cold and h is the scale of distances around the record. The classes found from several seeds are
    pooled; recombination and integer programming search for the cheapest choice that contains every record once.

    **Guarantee.** n ≥ k → every record in exactly one class of k … 2k−1 records. The SSE is at most that of MDAV
    (beyond 200,000 records, of MDAV in blocks). The same seed gives the same classes, unless a deadline passed.
    For distinct records, the classes depend on coordinates, not on rows.

    **Complexity.** O(k·d) for a move. The number of moves follows from the effort and the counts of the table: `fast`
    and `default` cost about one and three times as much as MDAV, or half a second and two seconds if that is more;
    `best` takes a thousand million moves, beyond 30,000 records thousands per record. All threads are used.

    **Departures.** None: there is no paper. [KGV83] is simulated annealing; the heat of each record is our own.

    References: [KGV83].

    >>> points = Points(np.array([[0.0, 0.0], [5.0, 5.1], [0.1, 0.0], [5.0, 5.0], [0.0, 0.2], [5.2, 5.0]]))
    >>> Anneal(k=3, effort="fast").partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 0, 1, 0, 1]
    """

    promises_k: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in a class.", low=2)]
    effort: Annotated[Literal["fast", "default", "best"], Param("Effort of the search.")] = "default"

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form classes of k to 2k−1 records."""
        from shoal.kernels.refine.refine import effort_for, quick_start, refine

        x = points.x
        seed = int(rng.integers(1 << 60))
        labels = refine(x, quick_start(x, self.k), self.k, effort_for(self.effort, x, self.k), seed)
        return Partition.of(labels, tuple(dict.fromkeys(points.owners)))
