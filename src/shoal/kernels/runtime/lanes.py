"""Distances and bounds of sixteen points or eight boxes at once, by vector instructions or by plain loops.

Every function works on all lanes of one block of a C-contiguous (blocks, d, lanes) array of floats, one coordinate
after the other. A *mask* is an integer with one bit per lane. No operation is reordered or contracted, so that vector
instructions and plain loops return the same bits on every machine (but NaN may be any NaN).

- ``scan_points(x, block, q, low, high, out)``: squared distances from q to sixteen points.
- ``scan_queries(x, block, low, high, within)``: which of sixteen points have a box near enough.
- ``scan_boxes(box, block, q, low, out)``: the least squared distance from q to anything in eight boxes.
- ``scan_apart(box, block, low, high, within, out)``: the least squared distance from one box to each of eight.
- ``scan_reaches(box, reach, block, w, rest, high, out)``: how far points in eight boxes may be.
- ``least8``, ``most8``, ``least16``, ``most16`` ``(array, at, start)``: reduce `start` and the 8 or 16 values from flat
  position `at`.
- ``gap(a, i, b, j)``: squared distance between row i of `a` and row j of `b`, both padded.
- ``lowest_bit(mask)``: position of the lowest bit of a mask that is not zero.

For `gap`, the order of additions is fixed: coordinates 0, 4, 8 … are added in the first lane, 1, 5, 9 … in the second
and so on; then (first + second) + (third + fourth).

`scan_apart` and `scan_queries` give lower bounds that hold in spite of rounding: subtracting, squaring and adding round
monotonically, so a bound computed in the same order as a distance is never larger than the distance.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.runtime.jit import vector_code

if vector_code():
    from shoal.kernels.runtime.vector_lanes import (
        gap,
        least8,
        least16,
        lowest_bit,
        most8,
        most16,
        scan_apart,
        scan_boxes,
        scan_points,
        scan_queries,
        scan_reaches,
    )
else:
    from shoal.kernels.runtime.plain_lanes import (
        gap,
        least8,
        least16,
        lowest_bit,
        most8,
        most16,
        scan_apart,
        scan_boxes,
        scan_points,
        scan_queries,
        scan_reaches,
    )

__all__ = [
    "gap",
    "least8",
    "least16",
    "lowest_bit",
    "most8",
    "most16",
    "padded",
    "scan_apart",
    "scan_boxes",
    "scan_points",
    "scan_queries",
    "scan_reaches",
]


def padded(x: np.ndarray) -> np.ndarray:
    """Return the points, padded with zero coordinates up to a multiple of four, for `gap`.

    >>> padded(np.ones((1, 3))).tolist()
    [[1.0, 1.0, 1.0, 0.0]]
    """
    n, d = x.shape
    out = np.zeros((n, -(-d // 4) * 4))
    out[:, :d] = x
    return out
