"""Ranks of numbers, with sorts that do not have to carry positions along: these are several times as fast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def ranks_of(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the ranks from 0 of numbers, none of them NaN, equal ones the same, and the different numbers, ascending.

    >>> ranks_of(np.array([0.5, -2.0, 0.5, 7.0]))[0].tolist()
    [1, 0, 1, 2]
    """
    n = len(numbers)
    whole = numbers.dtype.kind in "iu" and n > 0
    if whole and int(numbers.max()) - int(numbers.min()) < 2 * n:  # few enough to have a place for each
        least = numbers.min()
        above = (numbers - least).astype(np.int64)
        places = np.bincount(above) > 0
        return np.asarray((np.cumsum(places) - 1)[above]), _above(least, places)
    order, rising = _ordered(numbers)
    ranks = np.empty(n, np.int64)
    new = np.ones(n, np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=new[1:])
    ranks[order] = np.cumsum(new) - 1
    return ranks, rising if bool(new.all()) else rising[new]


def _above(least: Any, places: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the numbers that have a place, counted from the least; beyond 2⁶³ they have no sign."""
    found = np.flatnonzero(places)
    return found.astype(np.uint64) + least if int(least) + len(places) > 2**63 else found + int(least)


def _ordered(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return positions in ascending order of their numbers, and the numbers; equal ones in any order."""
    n = len(numbers)
    shift = max(n - 1, 1).bit_length()
    if numbers.dtype != np.float64 or n < 1000:
        order = np.argsort(numbers)
        return order, numbers[order]
    # as bits, floats are in order, if the others are turned round where the sign is set
    keys = (numbers + 0.0).view(np.int64)
    if int(keys.min()) < 0:
        turned = keys >> 63
        turned &= _ALL_BUT_SIGN
        keys ^= turned
    keys >>= shift  # the lowest bits make place for the position
    keys <<= shift
    keys |= np.arange(n)
    keys.sort()
    order = keys & ((1 << shift) - 1)
    rising = numbers[order]
    wrong = np.flatnonzero(rising[1:] < rising[:-1])  # numbers that only differ in their lowest bits
    if len(wrong) > n // 100:
        order = np.argsort(numbers)
        return order, numbers[order]
    ends = np.flatnonzero(np.diff(keys >> shift)) + 1 if len(wrong) else wrong
    for at in np.unique(np.searchsorted(ends, wrong, side="right")).tolist():
        same = slice(int(ends[at - 1]) if at else 0, int(ends[at]) if at < len(ends) else n)
        order[same] = order[same][np.argsort(rising[same])]
        rising[same] = numbers[order[same]]
    return np.asarray(order), rising
