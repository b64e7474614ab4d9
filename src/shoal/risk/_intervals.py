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
    """Return the first and the last rank of values, from 0; between two ranks, the upper and the lower one."""
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
    reach = reach_of(percent, n)
    low, high = np.maximum(first - reach, 0), np.minimum(last + reach, n - 1)
    return np.asarray((sorted_values[low] <= x) & (x <= sorted_values[high]))


def near_in_rank(
    own: tuple[NDArray[np.int64], NDArray[np.int64]], place: tuple[NDArray[np.int64], NDArray[np.int64]], reach: int
) -> NDArray[np.bool_]:
    """Tell which values have a rank at most so many below the first, or above the last, rank of a place.

    Both are given by their first and last rank, as :func:`ranks_of` returns them.

    >>> x = np.arange(10.0)
    >>> near_in_rank(ranks_of(x, x), ranks_of(x, np.full(10, 4.5)), 1).nonzero()[0].tolist()
    [4, 5]
    """
    return np.asarray((own[1] >= place[0] - reach) & (own[0] <= place[1] + reach))


def reach_of(percent: float, n: int) -> int:
    """Return how many ranks so many percent of n are, rounded down."""
    return math.floor(percent * n / 100)
