"""Totals that no order of values changes, by rounding all values to the same grids before they are added.

Adding a large power of two to a value and taking it away again leaves the value rounded to a multiple of a fixed unit.
Sums of such multiples are exact, so their order does not matter. What was rounded off goes to a finer grid, and what
the third grid leaves is dropped: it is far below the last bit of the total.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import kernel

_BITS = 52  # of a float, after the leading one
_TOP, _BOTTOM = 1000, 800  # beyond 2¹⁰⁰⁰ a grid may overflow, below 2⁻⁸⁰⁰ the third may have no bits: scale first


def orderless_total(values: NDArray[np.float64]) -> float:
    """Return the sum of a column: no order of its values changes a bit of it.

    With values that are infinite or NaN, the sum is.

    **Guarantee.** The error is at most one unit in the last place of the total, and 2⁻⁶⁰ of the largest value.

    >>> orderless_total(np.array([1e16, 1.0, -1e16]))
    1.0
    """
    column = np.ascontiguousarray(values, np.float64)
    largest = float(np.max(np.abs(column), initial=0.0))
    if not largest < math.inf:
        return float(np.sum(column))
    if largest == 0.0:
        return 0.0
    spare = math.frexp(len(column))[1] + 1  # bits that a sum of so many may grow by
    exponent = math.frexp(largest)[1] + spare
    if exponent > _TOP:
        with np.errstate(over="ignore"):  # the total may be larger than any float
            return float(np.ldexp(orderless_total(np.ldexp(column, -64)), 64))
    if exponent < -_BOTTOM:
        return float(np.ldexp(orderless_total(np.ldexp(column, 256)), -256))
    step = _BITS - spare
    grids = [math.ldexp(1.5, exponent - level * step) for level in range(3)]
    return float(_total(column, *grids))


@kernel
def _total(values, first, second, third):
    """Add up the values on three grids, each finer than the one before."""
    high, middle, low = 0.0, 0.0, 0.0
    for i in range(values.shape[0]):
        on_grid = (first + values[i]) - first
        rest = values[i] - on_grid
        high += on_grid
        on_grid = (second + rest) - second
        rest -= on_grid
        middle += on_grid
        low += (third + rest) - third
    return high + (middle + low)
