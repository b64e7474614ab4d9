"""Distances and bounds by plain loops: the same functions, and the same bits, as by vector instructions.

Used where llvmlite or the processor lacks what :mod:`shoal.kernels.runtime.vector_lanes` needs, and with
``SHOAL_VECTOR=off``. Values are converted to the type of the array first, as the vector code does.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.runtime.jit import part


@part
def _add_square_of_excess(total, below, above):
    """Add the square of the larger of two excesses to `total` if it is positive; NaN adds nothing."""
    larger = below if below > above else above
    if larger > 0.0:
        return total + larger * larger
    return total


@part
def scan_points(x, block, q, low, high, out):
    """Write the squared distances from q to sixteen points; return the mask of those ≤ `low` or ≥ `high`."""
    near, far = out.dtype.type(low), out.dtype.type(high)
    for lane in range(16):
        out[lane] = 0.0
    for j in range(q.shape[0]):
        for lane in range(16):
            t = x[block, j, lane] - q[j]
            out[lane] += t * t
    mask = np.int64(0)
    for lane in range(16):
        if out[lane] <= near or out[lane] >= far:
            mask |= np.int64(1) << lane
    return mask


@part
def scan_queries(x, block, low, high, within):
    """Return the mask of the points among sixteen whose own entry of `within` reaches the box."""
    mask = np.int64(0)
    for lane in range(16):
        total = x.dtype.type(0.0)
        for j in range(low.shape[0]):
            total = _add_square_of_excess(total, low[j] - x[block, j, lane], x[block, j, lane] - high[j])
        if total <= within[lane]:
            mask |= np.int64(1) << lane
    return mask


@part
def scan_boxes(box, block, q, low, out):
    """Write the least squared distances from q to eight boxes; return the mask of those ≤ `low`."""
    return scan_apart(box, block, q, q, low, out)


@part
def scan_apart(box, block, low, high, within, out):
    """Write the least squared distances from one box to eight; return the mask of those ≤ `within`."""
    reach, mask = out.dtype.type(within), np.int64(0)
    for lane in range(8):
        total = out.dtype.type(0.0)
        for j in range(low.shape[0]):
            total = _add_square_of_excess(
                total, box[block, 2 * j, lane] - high[j], low[j] - box[block, 2 * j + 1, lane]
            )
        out[lane] = total
        if total <= reach:
            mask |= np.int64(1) << lane
    return mask


@part
def scan_reaches(box, reach, block, w, rest, high, out):
    """Write how far points in eight boxes may be; return the mask of those ≥ `high`."""
    more, far, mask = out.dtype.type(rest), out.dtype.type(high), np.int64(0)
    for lane in range(8):
        slopes = out.dtype.type(0.0)
        for j in range(w.shape[0]):
            face = 2 * j + 1 if w[j] > 0.0 else 2 * j
            slopes += box[block, face, lane] * w[j]
        out[lane] = slopes + (reach[block, lane] + more)
        if out[lane] >= far:
            mask |= np.int64(1) << lane
    return mask


@part
def lowest_bit(mask):
    """Return the position of the lowest bit of a mask that is not zero."""
    at = np.int64(0)
    while not (mask >> at) & 1:
        at += 1
    return at


# The order in which halves are folded onto each other; it decides between 0.0 and -0.0, which are equal.
_FOLD8 = (0, 4, 2, 6, 1, 5, 3, 7)
_FOLD16 = (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15)


def _fold(order: tuple[int, ...], least: bool) -> Any:
    """Make a function that reduces the lanes of one row to their minimum or maximum; NaN is never picked."""

    @part
    def fold(array, at, start):
        begin = array.dtype.type(start)
        found = begin
        for i, lane in enumerate(order):
            value = array.flat[at + lane]
            if least:
                value = value if value < begin else begin
                found = found if i > 0 and found < value else value
            else:
                value = value if value > begin else begin
                found = found if i > 0 and found > value else value
        return found

    return fold


least8, most8 = _fold(_FOLD8, True), _fold(_FOLD8, False)
least16, most16 = _fold(_FOLD16, True), _fold(_FOLD16, False)


@part
def gap(a, i, b, j):
    """Return the squared distance between row i of `a` and row j of `b`, both padded."""
    first = second = third = fourth = 0.0
    for c in range(0, a.shape[1], 4):
        t = a[i, c] - b[j, c]
        u = a[i, c + 1] - b[j, c + 1]
        v = a[i, c + 2] - b[j, c + 2]
        w = a[i, c + 3] - b[j, c + 3]
        first, second, third, fourth = first + t * t, second + u * u, third + v * v, fourth + w * w
    return (first + second) + (third + fourth)
