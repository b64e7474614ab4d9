"""Optimal univariate microaggregation in fractions, by trying every cut. Obviously right, and slow."""

from fractions import Fraction

import numpy as np


def sse(points):
    """The exact SSE of one class over all coordinates."""
    total = Fraction(0)
    for column in zip(*points, strict=True):
        values = [Fraction(x) for x in column]
        mean = sum(values) / len(values)
        total += sum((x - mean) ** 2 for x in values)
    return total


def cuts(n, k):
    """Every way to cut n records in a row into runs of at least k: the sizes, from the first to the last."""
    if n == 0:
        yield []
    for last in range(k, n + 1):
        for before in cuts(n - last, k):
            yield [*before, last]


def cost(ordered, sizes):
    """The exact SSE of a cut."""
    total, begin = Fraction(0), 0
    for size in sizes:
        total += sse(ordered[begin : begin + size])
        begin += size
    return total


def optimal_cut(ordered, k):
    """The sizes of the best cut; of several, the smallest last class, then the smallest before it."""
    return min(cuts(len(ordered), k), key=lambda sizes: (cost(ordered, sizes), sizes[::-1]))


def optimal_univariate(points, k):
    """Labels, classes numbered from the lowest values to the highest."""
    order = sorted(range(len(points)), key=lambda row: (points[row][0], row))
    labels = np.full(len(points), -1, dtype=np.int64)
    begin = 0
    for label, size in enumerate(optimal_cut([points[row] for row in order], k)):
        labels[order[begin : begin + size]] = label
        begin += size
    return labels
