"""Points in blocks of sixteen lanes, so that distances are computed side by side.

Block b holds sixteen distinct points coordinate by coordinate, ``x[b, j, lane]``. The sum of squares of each point is
formed in coordinate order, as a plain loop would form it; only different points share an instruction. A point that
is gone is NaN: no comparison with it is ever true, so scans need no mask.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

WIDTH = 16


class Lanes(NamedTuple):
    """Distinct points laid out in blocks."""

    x: np.ndarray  # (blocks, d, WIDTH)
    group: np.ndarray  # (blocks · WIDTH,) group in each slot; -1 in the padding of the last block
    slot: np.ndarray  # (m,) slot of each group


def lay_out(points: np.ndarray, order: np.ndarray, rows: np.ndarray, groups: int) -> Lanes:
    """Lay out the groups of `order`, whose coordinates are ``points[rows]``, in that order."""
    blocks = -(-order.shape[0] // WIDTH)
    x = np.full((blocks, points.shape[1], WIDTH), np.nan)
    group = np.full(blocks * WIDTH, -1, dtype=np.int64)
    slot = np.full(groups, -1, dtype=np.int64)
    _fill(points, order, rows, x, group, slot)
    return Lanes(x, group, slot)


@njit(cache=True, nogil=True)
def _fill(points, order, rows, x, group, slot):  # type: ignore[no-untyped-def]
    for i in range(order.shape[0]):
        group[i] = order[i]
        slot[order[i]] = i
        for j in range(points.shape[1]):
            x[i // WIDTH, j, i % WIDTH] = points[rows[i], j]


@njit(cache=True, nogil=True)
def read(lanes, slot, out):  # type: ignore[no-untyped-def]
    """Copy the point in `slot`."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(out.shape[0]):
        out[j] = lanes.x[b, j, lane]


@njit(cache=True, nogil=True)
def erase(lanes, slot):  # type: ignore[no-untyped-def]
    """Make the point in `slot` invisible to every scan."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(lanes.x.shape[1]):
        lanes.x[b, j, lane] = np.nan
