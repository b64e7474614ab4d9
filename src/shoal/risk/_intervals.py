"""Intervals of ranks around values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def within_ranks(
    sorted_values: NDArray[np.float64], around: NDArray[np.float64], x: NDArray[np.float64], percent: float
) -> NDArray[np.bool_]:
    """Tell which x lie in the interval of ranks around a value.

    The interval reaches from the value that stands so many percent of all ranks (rounded down) below `around` to the
    one that stands so many above; ends included. Equal values have all their ranks: the interval reaches from below the
    first to above the last of them. Beyond the least and the largest value there is no rank, and so no interval.

    >>> within_ranks(np.arange(10.0), np.array([4.0, 9.0]), np.array([3.0, 9.5]), 10).tolist()
    [True, False]
    """
    first, last = ranks_of(sorted_values, around)
    return in_reach(sorted_values, first, last, x, percent)


def ranks_of(
    sorted_values: NDArray[np.float64], around: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last rank of values, from 0."""
    return np.searchsorted(sorted_values, around, "left"), np.searchsorted(sorted_values, around, "right") - 1


def in_reach(
    sorted_values: NDArray[np.float64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    x: NDArray[np.float64],
    percent: float,
) -> NDArray[np.bool_]:
    """Tell which x lie in the interval that reaches so many percent of ranks below `first` and above `last`."""
    n = len(sorted_values)
    reach = math.floor(percent * n / 100)
    low, high = np.maximum(first - reach, 0), np.minimum(last + reach, n - 1)
    return np.asarray((sorted_values[low] <= x) & (x <= sorted_values[high]))
