"""PCP: records in the order of their first principal component, cut with the least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.partition._shared import Projected


@dataclass(frozen=True)
class Pcp(Projected):
    """Principal component projection: project to the axis on which records vary most, sort, cut optimally.

    Classes are runs of k … 2k−1 records along the axis. The cut minimises the SSE over all coordinates of the block,
    not that of the projection.

    **Guarantee.** n ≥ k → in each block every record in exactly one class of k … 2k−1 records, and no other cut of the
    records in this order has a lower SSE (up to rounding). With several blocks, k holds in each, not over all.

    **Complexity.** O(n·d² + n log n + n·k·d) time, O(n·d) memory.

    **Departures.** The axis is that of the points as given: for standardised points, as shoal makes them, it is that of
    the correlation matrix. The paper does not specify which. An axis has no sign of its own: it is oriented so that its
    largest component is positive. Equal positions are in row order. [N14] uses blocks but does not say how to find
    them: here they are found greedily, see `group`.

    References: [N14] Algorithm 1 and Section 4.1, [NHT08].

    >>> from shoal.types import Points
    >>> points = Points(np.array([[0.0, 1.0], [9.0, 8.0], [1.0, 0.0], [8.0, 9.0]]))
    >>> Pcp(k=2).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 1, 0, 1]
    """

    promises_k: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    forms_blocks: ClassVar[bool] = True  #: if requested: k holds in each of them, not over all

    relative_cost: ClassVar[float] = 1.0  #: processor time in multiples of a partition by MDAV, measured

    @staticmethod
    def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each record's first principal component."""
        from shoal.kernels.order.projection import principal_component

        return np.asarray(principal_component(points))
