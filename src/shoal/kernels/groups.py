"""Equal records taken together, so that exact duplicates never multiply the work.

Records that are equal in every coordinate are at the same distance from everything. MDAV takes them in the order of
their rows, so a *group* is a queue: its rows ascending, a head that advances as they are taken.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_MULTIPLIER = -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed integer


@njit(cache=True, nogil=True)
def _hashes(patterns, out):  # type: ignore[no-untyped-def]
    for i in range(patterns.shape[0]):
        h = np.int64(0)
        for j in range(patterns.shape[1]):
            bits = patterns[i, j]
            if bits == -0x8000000000000000:
                bits = 0  # -0.0 and 0.0 are the same coordinate
            h = (h ^ bits) * _MULTIPLIER
            h ^= (h >> 29) & 0x7FFFFFFFF
        out[i] = h


@njit(cache=True, nogil=True)
def _first_of_group(points, members):  # type: ignore[no-untyped-def]
    """Mark where, along `members`, the coordinates change."""
    first = np.zeros(members.shape[0], dtype=np.bool_)
    first[0] = True
    for i in range(1, members.shape[0]):
        a, b = members[i - 1], members[i]
        for j in range(points.shape[1]):
            if points[a, j] != points[b, j]:
                first[i] = True
                break
    return first


def equal_records(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of an (n, d) table.

    Returns
    -------
    members : (n,) int64
        Row positions, group after group, ascending inside each group.
    bounds : (m + 1,) int64
        Group g is ``members[bounds[g]:bounds[g + 1]]``.

    Guarantee: rows of one group are equal, and ascending. Should two different records share a 64-bit hash, some
    equal rows may fall into two groups; that costs time and changes no result. Groups come in the order of their
    hashes, which is as good as random, and the same in every run.
    Complexity: O(n·d + n log n).
    """
    hashes = np.empty(points.shape[0], dtype=np.int64)
    _hashes(points.view(np.int64), hashes)
    members = np.argsort(hashes, kind="stable")
    bounds = np.append(np.flatnonzero(_first_of_group(points, members)), points.shape[0])
    return members, bounds
