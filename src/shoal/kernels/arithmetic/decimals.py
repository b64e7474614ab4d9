"""Decimals of numbers: how many each value of a column needs."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import kernel, part

_EXACT = 2.0**53  # beyond this all floats are integers
_USUAL = 4  # decimals; most columns have no more


@part
def _fits(value, power):
    """Tell whether a value has no digits beyond those of a power of ten, or no bits for them."""
    scaled = value * power
    return np.rint(scaled) / power == value or abs(scaled) >= _EXACT


@kernel
def _count(values, powers, counts):
    most = powers.shape[0]
    for i in range(values.shape[0]):
        value = values[i]
        if value == 0.0:
            continue
        low, high = 0, most
        while low < _USUAL and not _fits(value, powers[low]):
            low += 1
        if low == _USUAL:  # by bisection: a value that fits some decimals fits more
            while low < high:
                middle = (low + high) // 2
                if _fits(value, powers[middle]):
                    high = middle
                else:
                    low = middle + 1
        counts[low] += 1


def count_decimals(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Count the values that need 0, 1, … `most` decimals, and last those that need more; zeros do not count.

    >>> count_decimals(np.array([12.5, 0.25, 0.0, 3.0]), 17)[:4].tolist()
    [1, 1, 1, 0]
    """
    counts = np.zeros(most + 2, np.int64)
    _count(np.ascontiguousarray(values, np.float64), 10.0 ** np.arange(most + 1), counts)
    return counts
