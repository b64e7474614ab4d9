"""The tuples that wait in the order of their distances, as far as somebody asks: a heap of their slots."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import part
from shoal.kernels.simd import lowest_bit, scan_points
from shoal.kernels.stream_window import WIDTH, steered


@part
def ordered(w, away, heap, weight, here):
    """Order all that wait so that the nearest can be taken one after the other."""
    ends, size = w.ends, 0
    for block in range(ends[0] // WIDTH, (ends[1] + WIDTH - 1) // WIDTH):
        mask = scan_points(w.x, block, w.q, np.inf, np.inf, w.distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot = block * WIDTH + lane
            away[slot] = w.distance[lane]
            if weight > 0.0:
                away[slot] = steered(away[slot], weight, w.place[slot] - here)
            heap[size] = slot
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sink(away, heap, at, size)
    return size


@part
def next_of(away, heap, size):
    """Take the nearest out of a heap of so many slots."""
    top = heap[0]
    heap[0] = heap[size - 1]
    _sink(away, heap, 0, size - 1)
    return top


@part
def _sink(away, heap, at, size):
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _before(away, heap[child + 1], heap[child]):
            child += 1
        if not _before(away, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@part
def _before(away, a, b):
    return away[a] < away[b] or (away[a] == away[b] and a < b)
