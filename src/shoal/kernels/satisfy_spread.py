"""A partition to repair where neighbours have the same values: classes with values from all over the table.

[SC15] Algorithm 3, with a size of classes from which on nearly all of them hold the demands.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.demands import Demands, hold, least_size, rows_of
from shoal.kernels.t_first import t_first

_SAMPLE = 256  # classes drawn to see whether a size will do
_ENOUGH = 0.9  # share of them that must hold
_GROWTH = 1.25  # from one size to the next


def spread_start(x: np.ndarray, k: int, d: Demands) -> np.ndarray | None:
    """Partition points into classes that have one record of each of as many equal shares of the ordered values.

    Records are ordered by their values in the first attribute, those with equal ones by the second, and so on. The size
    is the least of a row that grows by a quarter at which nine of ten classes drawn at random, the same in every run,
    hold all demands. None: there is no such size below half of the table.

    Complexity: that of t-closeness first, and O(s) for each of 256 trial classes of s records.
    """
    n, codes = len(x), d.c.codes
    order = np.lexsort(codes[::-1])
    size = float(least_size(d, k))
    while 2 * int(size) <= n:
        rows = order[_drawn(n, int(size))]
        if hold(rows_of(d, rows.ravel()), np.repeat(np.arange(_SAMPLE), rows.shape[1])).mean() >= _ENOUGH:
            rank = np.empty(n)
            rank[order] = np.arange(n)
            return t_first(x, rank, int(size), 1.0)[0]
        size = max(size * _GROWTH, size + 1)
    return None


def _drawn(n: int, size: int) -> np.ndarray:
    """Draw one place of each of `size` equal runs of n, for every class of the sample."""
    edges = np.arange(size + 1) * n // size
    part = np.random.default_rng(0).random((_SAMPLE, size))
    return np.asarray(edges[:-1] + (part * np.diff(edges)).astype(np.int64))
