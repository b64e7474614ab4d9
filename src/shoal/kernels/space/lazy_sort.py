"""Lazy sort: records in ascending order of a key, sorted only as far as requested.

Incremental quicksort: a stack holds the positions of pivots that are already in place. A request for the next record
partitions the range before the nearest pivot until a pivot lies at the requested position.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import part

_GIVEN, _PIVOTS = range(2)  # `LazyOrder.counts`
_FEW = 12  # ranges up to this size are sorted by insertion


class LazyOrder(NamedTuple):
    """Keys and slots; those already returned are in order."""

    key: np.ndarray
    slot: np.ndarray
    pivot: np.ndarray  # stack of positions that are in order
    counts: np.ndarray  # (2,) records returned, pivots


def lazy_order(capacity: int) -> LazyOrder:
    """Allocate room for `capacity` records."""
    return LazyOrder(
        np.empty(capacity),
        np.empty(capacity, np.int64),
        np.empty(capacity + 1, np.int64),
        np.zeros(2, np.int64),
    )


@part
def start(order, size):
    """Restart with the first `size` keys and slots; all slots must differ."""
    order.counts[_GIVEN], order.counts[_PIVOTS], order.pivot[0] = 0, 1, size


@part
def _before(key, slot, i, j):
    return key[i] < key[j] or (key[i] == key[j] and slot[i] < slot[j])


@part
def _swap(key, slot, i, j):
    key[i], key[j] = key[j], key[i]
    slot[i], slot[j] = slot[j], slot[i]


@part
def _cut(key, slot, begin, end):
    """Place the median of three records correctly between `begin` and `end`; return its position."""
    a, b, c = begin, (begin + end) // 2, end - 1
    if _before(key, slot, b, a):
        a, b = b, a
    if _before(key, slot, c, b):
        b = a if _before(key, slot, c, a) else c
    _swap(key, slot, b, end - 1)
    pivot, number, to = key[end - 1], slot[end - 1], begin
    for i in range(begin, end - 1):
        if key[i] < pivot or (key[i] == pivot and slot[i] < number):
            _swap(key, slot, i, to)
            to += 1
    _swap(key, slot, to, end - 1)
    return to


@part
def following(order):
    """Return the next slot by (key, slot), or -1 after the last."""
    key, slot, at = order.key, order.slot, order.counts[_GIVEN]
    if at == order.pivot[0]:
        return -1
    while order.pivot[order.counts[_PIVOTS] - 1] > at:
        end = order.pivot[order.counts[_PIVOTS] - 1]
        if end - at > _FEW:
            order.pivot[order.counts[_PIVOTS]] = _cut(key, slot, at, end)
            order.counts[_PIVOTS] += 1
            continue
        for i in range(at + 1, end):
            j = i
            while j > at and _before(key, slot, j, j - 1):
                _swap(key, slot, j, j - 1)
                j -= 1
        for i in range(end - 1, at - 1, -1):
            order.pivot[order.counts[_PIVOTS]] = i
            order.counts[_PIVOTS] += 1
    order.counts[_PIVOTS] -= 1
    order.counts[_GIVEN] += 1
    return slot[at]
