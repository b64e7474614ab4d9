"""Equal records taken together, so that exact duplicates never multiply the work.

Records that are equal in every coordinate are at the same distance from everything. MDAV takes them in the order of
their rows, so a *group* is a queue: its rows ascending, a head that advances as they are taken.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel

_MULTIPLIER = -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed integer


@kernel
def _hashes(patterns, out):
    for i in range(patterns.shape[0]):
        h = np.int64(0)
        for j in range(patterns.shape[1]):
            bits = patterns[i, j]
            if bits & 0x7FFFFFFFFFFFFFFF == 0:
                bits = 0  # -0.0 and 0.0 are the same coordinate
            h = (h ^ bits) * _MULTIPLIER
            h ^= (h >> 29) & 0x7FFFFFFFF
        out[i] = h


@kernel
def _mark_first(points, members, first):
    """Mark where, along `members`, the coordinates change."""
    first[0] = True
    for i in range(1, members.shape[0]):
        a, b = members[i - 1], members[i]
        first[i] = False
        for j in range(points.shape[1]):
            if points[a, j] != points[b, j]:
                first[i] = True
                break


def regroup(members: np.ndarray, bounds: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put groups into another order, keeping the order inside each."""
    if members.shape[0] == order.shape[0]:
        return members[order], bounds
    sizes = np.diff(bounds)[order]
    moved = np.concatenate(([0], np.cumsum(sizes)))
    source = np.repeat(bounds[:-1][order] - moved[:-1], sizes) + np.arange(members.shape[0])
    return members[source], moved


def equal_records(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of an (n, d) table.

    Returns
    -------
    members : (n,) int64
        Row positions, group after group, ascending inside each group.
    bounds : (m + 1,) int64
        Group g is ``members[bounds[g]:bounds[g + 1]]``. Groups are ordered by their first rows.

    Guarantee: rows of one group are equal, and ascending. Should two different records share a 64-bit hash, some
    equal rows may fall into two groups; that costs time and changes no result.
    Complexity: O(n·d + n log n).
    """
    n = points.shape[0]
    hashes = np.empty(n, dtype=np.int64)
    _hashes(points.view(np.int64), hashes)
    members = np.argsort(hashes, kind="stable")
    first = np.empty(n, dtype=np.bool_)
    _mark_first(points, members, first)
    starts = np.flatnonzero(first)
    if starts.shape[0] == n:
        return np.arange(n), np.arange(n + 1)
    return regroup(members, np.append(starts, n), np.argsort(members[starts]))
