"""Order of points in which every aligned run of 16, 128, 1024, … points lies close together.

This is the recursion of a kd-tree without the tree: a range of points is cut at a multiple of a power of two blocks, so
that all blocks but the last are full and a node's children are found by counting.

Records that are equal in every coordinate have the same distance to everything. MDAV takes them in row order, so a
*group* is a queue: its rows ascending, with a head that advances as they are taken.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.space.remaining import WIDTH

_MULTIPLIER = -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed integer


@kernel
def _hashes(patterns, out):
    for i in range(patterns.shape[0]):
        h = np.int64(0)
        for j in range(patterns.shape[1]):
            bits = patterns[i, j]
            if bits & 0x7FFFFFFFFFFFFFFF == 0:
                bits = 0  # -0.0 and 0.0 are the same coordinate
            h = (h ^ bits) * _MULTIPLIER
            h ^= (h >> 29) & 0x7FFFFFFFF
        out[i] = h


@kernel
def _mark_first(points, members, first):
    """Mark where, along `members`, the coordinates change."""
    first[0] = True
    for i in range(1, members.shape[0]):
        a, b = members[i - 1], members[i]
        first[i] = False
        for j in range(points.shape[1]):
            if points[a, j] != points[b, j]:
                first[i] = True
                break


def regroup(members: np.ndarray, bounds: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reorder groups, keeping the order inside each."""
    if members.shape[0] == order.shape[0]:
        return members[order], bounds
    sizes = np.diff(bounds)[order]
    moved = np.concatenate(([0], np.cumsum(sizes)))
    source = np.repeat(bounds[:-1][order] - moved[:-1], sizes) + np.arange(members.shape[0])
    return members[source], moved


def equal_records(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of an (n, d) table.

    Returns
    -------
    members : (n,) int64
        Row positions, group after group, ascending inside each group.
    bounds : (m + 1,) int64
        Group g is ``members[bounds[g]:bounds[g + 1]]``. Groups are ordered by their first rows.

    Guarantee: rows of one group are equal, and ascending. If two different records share a 64-bit hash, some equal rows
    may fall into two groups, which costs time and changes no result.
    Complexity: O(n·d + n log n).
    """
    n = points.shape[0]
    hashes = np.empty(n, dtype=np.int64)
    _hashes(points.view(np.int64), hashes)
    members = np.argsort(hashes, kind="stable")
    first = np.empty(n, dtype=np.bool_)
    _mark_first(points, members, first)
    starts = np.flatnonzero(first)
    if starts.shape[0] == n:
        return np.arange(n), np.arange(n + 1)
    return regroup(members, np.append(starts, n), np.argsort(members[starts]))


_SAMPLE = 64


@part
def _widest(points, order, start, end):
    """Return the coordinate with the widest range in a sample of ``order[start:end]``."""
    stride = max((end - start) // _SAMPLE, 1)
    widest, best = -1.0, 0
    for j in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(start, end, stride):
            value = points[order[i], j]
            low, high = min(low, value), max(high, value)
        if high - low > widest:
            widest, best = high - low, j
    return best


@part
def _select(keys, order, offset, low, high, target):
    """Run Hoare's selection on ``keys[low..high]``, moving `order` along: no key before `target` is larger."""
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[offset + i], order[offset + j] = order[offset + j], order[offset + i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@kernel
def _cut_all(points, order, keys, stack):
    stack[0, 0], stack[0, 1] = 0, order.shape[0]
    top = 1
    while top > 0:
        top -= 1
        start, end = stack[top, 0], stack[top, 1]
        if end - start <= WIDTH:
            continue
        half = WIDTH
        while 2 * half < end - start:
            half *= 2
        j = _widest(points, order, start, end)
        for i in range(start, end):
            keys[i - start] = points[order[i], j]
        _select(keys, order, start, 0, end - start - 1, half)
        stack[top, 0], stack[top, 1] = start, start + half
        stack[top + 1, 0], stack[top + 1, 1] = start + half, end
        top += 2


def kd_order(points: np.ndarray) -> np.ndarray:
    """Return the order in which to lay out points.

    Guarantee: a permutation of 0 … len(points) - 1. Complexity: O(m log m) expected for m points, plus a sample of 64
    points per cut to choose the coordinate.
    """
    m = points.shape[0]
    order = np.arange(m, dtype=np.int32)
    _cut_all(points, order, np.empty(m, dtype=points.dtype), np.empty((96, 2), dtype=np.int64))
    return order
