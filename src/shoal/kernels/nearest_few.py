"""The few nearest records met so far: a bounded max-heap ordered by (squared distance, row)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Nearest(NamedTuple):
    """Heap storage: the root, at 0, is the worst of the records kept."""

    distance: np.ndarray
    row: np.ndarray
    slot: np.ndarray


def nearest_few(capacity: int) -> Nearest:
    """Make room for `capacity` records."""
    return Nearest(np.empty(capacity), np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64))


@njit(cache=True, nogil=True)
def _worse(heap, i, distance, row):  # type: ignore[no-untyped-def]
    return heap.distance[i] > distance or (heap.distance[i] == distance and heap.row[i] > row)


@njit(cache=True, nogil=True)
def _put(heap, i, distance, row, slot):  # type: ignore[no-untyped-def]
    heap.distance[i] = distance
    heap.row[i] = row
    heap.slot[i] = slot


@njit(cache=True, nogil=True)
def _move(heap, i, j):  # type: ignore[no-untyped-def]
    _put(heap, i, heap.distance[j], heap.row[j], heap.slot[j])


@njit(cache=True, nogil=True)
def _append(heap, size, distance, row, slot):  # type: ignore[no-untyped-def]
    i = size
    while i > 0:
        parent = (i - 1) // 2
        if _worse(heap, parent, distance, row):
            break
        _move(heap, i, parent)
        i = parent
    _put(heap, i, distance, row, slot)


@njit(cache=True, nogil=True)
def _replace_root(heap, size, distance, row, slot):  # type: ignore[no-untyped-def]
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _worse(heap, child + 1, heap.distance[child], heap.row[child]):
            child += 1
        if not _worse(heap, child, distance, row):
            break
        _move(heap, i, child)
        i = child
    _put(heap, i, distance, row, slot)


@njit(cache=True, nogil=True)
def offer(heap, size, remaining, group, distance, slot):  # type: ignore[no-untyped-def]
    """Offer the remaining records of one group, all at `distance`; return how many records the heap holds.

    The group's rows ascend, so the first one refused ends it.
    """
    capacity = heap.distance.shape[0]
    for i in range(remaining.head[group], remaining.end[group]):
        row = remaining.members[i]
        if size < capacity:
            _append(heap, size, distance, row, slot)
            size += 1
        elif _worse(heap, 0, distance, row):
            _replace_root(heap, size, distance, row, slot)
        else:
            break
    return size
