"""Z-scores: records in the order of the sum of their z-scores, cut with the least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.partition._shared import Projected


@dataclass(frozen=True)
class Zscores(Projected):
    """Sum of z-scores: standardise each coordinate, add them up, sort, cut optimally.

    Classes are runs of k … 2k−1 records in the order of the sum. The cut minimises the SSE over all coordinates of the
    block, not that of the sum.

    **Guarantee.** n ≥ k → in each block every record in exactly one class of k … 2k−1 records, and no other cut of the
    records in this order has a lower SSE (up to rounding). With several blocks, k holds in each, not over all.

    **Complexity.** O(n·d + n log n + n·k·d) time, O(n·d) memory.

    **Departures.** None known: z-scores use the population deviation, which orders records as any other would. A
    constant coordinate adds nothing. Equal sums are in row order. [N14] uses blocks but does not say how to find them:
    here they are found greedily, see `group`.

    References: [N14] Algorithm 1 and Section 4.1, [NHT08].

    >>> from shoal.types import Points
    >>> points = Points(np.array([[0.0, 1.0], [9.0, 8.0], [1.0, 0.0], [8.0, 9.0]]))
    >>> Zscores(k=2).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 0, 1]
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    forms_blocks: ClassVar[bool] = True  #: if requested: k holds in each of them, not over all

    relative_cost: ClassVar[float] = 1.0  #: processor time in multiples of a partition by MDAV, measured

    @staticmethod
    def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of each record's z-scores."""
        from shoal.kernels.order.projection import z_score_sum

        return np.asarray(z_score_sum(points))
