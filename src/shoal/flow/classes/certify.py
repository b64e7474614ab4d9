"""Points + Partition → Certificate: an upper bound on how far the partition is from the optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.types import Certificate, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def certify(
    tables: Sequence[Points], labels: Sequence[NDArray[np.int64]] | None, strata: NDArray[np.int64] | None, k: int
) -> Certificate:
    """Bound the SSE of tables that are partitioned separately, stratum by stratum where there are strata.

    `tables` are the blocks of attributes, `labels` the partition of each. A sum of lower bounds is a lower bound
    of the sum.
    """
    import numpy as np

    from shoal.kernels.arithmetic.class_costs import classes_of
    from shoal.kernels.bound.lower_bound import Bound, lower_bound, rescaled, unit_range

    _, exponent = unit_range(np.concatenate([points.coordinates.ravel() for points in tables]))
    bounds: list[Bound] = []
    sst: list[float] = []
    sse: list[float] = []
    for at, points in enumerate(tables):
        whole = np.ldexp(points.coordinates, -exponent)
        sst += classes_of(whole, np.zeros(len(whole), np.int64)).costs.tolist()
        sse += [] if labels is None else classes_of(whole, labels[at]).costs.tolist()
        groups = [whole] if strata is None else [whole[strata == s] for s in range(int(strata.max()) + 1)]
        bounds += [lower_bound(group, k) for group in groups]
    how = tuple(dict.fromkeys(bound.how for bound in bounds))
    least = max(math.nextafter(math.fsum(bound.value for bound in bounds), 0.0), 0.0)
    totals = [rescaled(math.fsum(values), exponent) for values in ([least], sst, sse)]
    return Certificate(k, totals[0], how, totals[1], None if labels is None else totals[2])
