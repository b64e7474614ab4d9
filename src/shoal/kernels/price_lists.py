"""For each record the records it goes well with, for given prices: what pricing grows classes from.

Symbols: u the prices, w_ij = (u_i + u_j)/(k−1) − d²_ij/k, as in :mod:`shoal.kernels.pricing`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import kernel, part


class Lists(NamedTuple):
    """For each record the records it goes well with: w > −depth, the largest w first."""

    start: np.ndarray  # (n + 1,) int64
    record: np.ndarray  # int32
    weight: np.ndarray  # float64
    depth: np.ndarray  # (n,) float64


@kernel
def scaled_squares(x, factor, out):
    """Write the squared distances of all pairs times `factor`."""
    n, d = x.shape
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
        for c in range(d):
            a = x[i, c]
            for j in range(n):
                t = x[j, c] - a
                out[i, j] += t * t
        for j in range(n):
            out[i, j] *= factor


@part
def _sort(record, weight, begin, end):
    """Sort a list by descending weight (Shell's method)."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            r, w = record[i], weight[i]
            j = i
            while j >= begin + gap and weight[j - gap] < w:
                record[j], weight[j] = record[j - gap], weight[j - gap]
                j -= gap
            record[j], weight[j] = r, w
        gap //= 3


@kernel
def fill_lists(squares, half, reach, lists):
    """Write the lists of all records; return the room they take, more than there is if they were not written.

    `half` is u/(k−1). The depth of a list is its largest w times `reach`, if that is positive.
    """
    n, used, room = squares.shape[0], 0, lists.record.shape[0]
    for i in range(n):
        row, h, best = squares[i], half[i], -np.inf
        for j in range(n):
            w = h + half[j] - row[j]
            if w > best and j != i:
                best = w
        depth = max(best * reach, 0.0)
        lists.depth[i], lists.start[i] = depth, used
        for j in range(n):
            w = h + half[j] - row[j]
            if w > -depth and j != i:
                if used < room:
                    lists.record[used], lists.weight[used] = j, w
                used += 1
        if used <= room:
            _sort(lists.record, lists.weight, lists.start[i], used)
    lists.start[n] = used
    return used
