"""The few nearest records met so far: a bounded max-heap ordered by (squared distance, row)."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import part


class Nearest(NamedTuple):
    """Heap storage: the root, at 0, is the worst of the records kept."""

    distance: np.ndarray
    row: np.ndarray
    slot: np.ndarray


def nearest_few(capacity: int) -> Nearest:
    """Make room for `capacity` records."""
    return Nearest(np.empty(capacity), np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64))


@part
def _rise(distances, rows, slots, i, distance, row, slot):
    """Put a record at i or, while it is worse than its parent, above."""
    while i > 0:
        p = (i - 1) >> 1
        if distances[p] > distance or (distances[p] == distance and rows[p] > row):
            break
        distances[i], rows[i], slots[i] = distances[p], rows[p], slots[p]
        i = p
    distances[i], rows[i], slots[i] = distance, row, slot


@part
def sink(distances, rows, slots, distance, row, slot):
    """Put a record in the place of the root or, while a child is worse, below."""
    size = distances.shape[0]
    i, c = 0, 1
    while c < size:
        e = c + 1
        if e < size and (distances[e] > distances[c] or (distances[e] == distances[c] and rows[e] > rows[c])):
            c = e
        if distances[c] < distance or (distances[c] == distance and rows[c] < row):
            break
        distances[i], rows[i], slots[i] = distances[c], rows[c], slots[c]
        i = c
        c = 2 * i + 1
    distances[i], rows[i], slots[i] = distance, row, slot


@part
def offer(nearest, size, remaining, slot, distance):
    """Offer the remaining records at one point, all at `distance`; return how many records the heap holds.

    Rows at a point ascend, so the first one refused ends it.
    """
    distances, rows, slots = nearest.distance, nearest.row, nearest.slot
    for at in range(remaining.head[slot], remaining.end[slot]):
        row = remaining.members[at]
        if size < distances.shape[0]:
            _rise(distances, rows, slots, size, distance, row, slot)
            size += 1
        elif distance < distances[0] or (distance == distances[0] and row < rows[0]):
            sink(distances, rows, slots, distance, row, slot)
        else:
            break
    return size
