"""Order of records with coded attributes in which every aligned run of 16, 128, 1024, … records lies close together.

As :mod:`shoal.kernels.space.kd_order`, but a range is cut along the attribute that separates its two halves most: the
squared distance between their centroids, in a sample, is largest. The widest attribute would not do: a column of many
categories is as wide as any, and stays so however often it is cut.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.space.kd_order import select
from shoal.types.coded import Coded

_SAMPLE = 64
_WIDTH = 16


@part
def _sort(values, size):
    for i in range(1, size):
        value, at = values[i], i
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@part
def _apart_in_numbers(values, size):
    half = size // 2
    low, high = 0.0, 0.0
    for i in range(half):
        low += values[i]
    for i in range(half, size):
        high += values[i]
    gap = high / (size - half) - low / half
    return gap * gap


@part
def _apart_in_groups(g, a, codes, size):
    """Return the squared distance between the centroids of the lower and the upper half of sorted codes."""
    half, total = size // 2, 0.0
    for level in range(g.level[a], g.level[a + 1]):
        i = 0
        while i < size:
            group, low, high = g.low[g.at[level] + np.int64(codes[i])], 0, 0
            while i < size and g.low[g.at[level] + np.int64(codes[i])] == group:
                if i < half:
                    low += 1
                else:
                    high += 1
                i += 1
            share = low / half - high / (size - half)
            total += g.times[level] * share * share
    return g.weight[a] * total / (2.0 * g.height[a])


@part
def _best_cut(numbers, codes, g, order, begin, end, sample):
    """Return the summand of distances along which to cut ``order[begin:end]``."""
    stride = max((end - begin) // _SAMPLE, 1)
    best, chosen = -1.0, 0
    for i in range(g.order.shape[0]):
        j, size = g.order[i], 0
        for at in range(begin, end, stride):
            if size < _SAMPLE:
                sample[size] = numbers[order[at], j] if j >= 0 else float(codes[order[at], ~j])
                size += 1
        _sort(sample, size)
        apart = _apart_in_numbers(sample, size) if j >= 0 else _apart_in_groups(g, ~j, sample, size)
        if apart > best:
            best, chosen = apart, j
    return chosen


@kernel
def _cut_all(numbers, codes, g, order, keys, sample, stack):
    stack[0, 0], stack[0, 1] = 0, order.shape[0]
    top = 1
    while top > 0:
        top -= 1
        begin, end = stack[top, 0], stack[top, 1]
        if end - begin <= _WIDTH:
            continue
        half = _WIDTH
        while 2 * half < end - begin:
            half *= 2
        j = _best_cut(numbers, codes, g, order, begin, end, sample)
        for i in range(begin, end):
            keys[i - begin] = numbers[order[i], j] if j >= 0 else float(codes[order[i], ~j])
        select(keys, order, begin, 0, end - begin - 1, half)
        stack[top, 0], stack[top, 1] = begin, begin + half
        stack[top + 1, 0], stack[top + 1, 1] = begin + half, end
        top += 2


def coded_order(points: Coded) -> np.ndarray:
    """Return the order in which to lay out records.

    Guarantee: a permutation of 0 … len(points) - 1. Complexity: O(m log m) expected for m records, plus a sorted sample
    of 64 records and every attribute per cut.
    """
    m = len(points)
    order = np.arange(m, dtype=np.int32)
    stack = np.empty((96, 2), dtype=np.int64)
    _cut_all(points.numbers, points.codes, points.layout, order, np.empty(m), np.empty(_SAMPLE), stack)
    return order
