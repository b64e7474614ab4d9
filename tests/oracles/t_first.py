"""t-closeness first ([SC15] Algorithm 3), transcribed. Obviously right, and slow."""

import math
from fractions import Fraction

import numpy as np


def _scaled(points):
    largest = max(abs(x) for row in points for x in row)
    if largest == 0 or 2.0**-500 <= largest <= 2.0**500:
        return points
    exponent = math.frexp(largest)[1]
    return [[math.ldexp(x, -exponent) for x in row] for row in points]


def _squared_distance(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def _average(points, remaining):
    columns = zip(*(points[i] for i in remaining), strict=True)
    return [math.fsum(column) / len(remaining) for column in columns]


def _most_distant(points, remaining, q):
    """Most distant from q; of several, the lowest row."""
    return min(remaining, key=lambda i: (-_squared_distance(points[i], q), i))


def _closest(points, subset, q):
    """Closest to q; of several, the lowest row."""
    return min(subset, key=lambda i: (_squared_distance(points[i], q), i))


def cluster_size(n, k, t):
    """Eq. (3), then eq. (4) with the floor; `t` is taken as it is written."""
    k = max(k, math.ceil(n / (2 * (n - 1) * Fraction(str(t)) + 1)))
    return k + (n % k) // (n // k)


def subsets(values, k):
    """S_1 … S_k: ⌊n/k⌋ records each in ascending order of (value, row); the central ones take what remains."""
    n = len(values)
    sizes = [n // k] * k
    if k % 2 == 1:
        sizes[(k + 1) // 2 - 1] += n % k
    else:
        sizes[k // 2 - 1] += (n % k + 1) // 2
        sizes[k // 2] += (n % k) // 2
    rows = sorted(range(n), key=lambda i: (values[i], i))
    ends = [sum(sizes[: i + 1]) for i in range(k)]
    return [rows[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def t_first(points, values, k, t):
    """Labels of Algorithm 3, classes numbered in the order they are formed."""
    points = _scaled([[float(x) for x in row] for row in points])
    n = len(points)
    k = cluster_size(n, k, t)
    remaining = list(range(n))
    parts = subsets(list(values), k)
    classes, in_all = [], n // k

    def form(x):
        formed = []
        for i in range(k):
            nearest = _closest(points, parts[i], points[x])
            formed.append(nearest)
            parts[i].remove(nearest)
            if len(parts[i]) > in_all - len(classes) - 1 and len(formed) == i + 1:
                nearest = _closest(points, parts[i], points[x])
                formed.append(nearest)
                parts[i].remove(nearest)
        for row in formed:
            remaining.remove(row)
        classes.append(formed)

    while remaining:
        x0 = _most_distant(points, remaining, _average(points, remaining))
        form(x0)
        if remaining:
            x1 = _most_distant(points, remaining, points[x0])
            form(x1)
    labels = np.full(n, -1, dtype=np.int64)
    for label, members in enumerate(classes):
        labels[members] = label
    return labels
