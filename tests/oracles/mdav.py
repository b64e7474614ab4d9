"""MDAV-generic, transcribed. Obviously right, and slow."""

import math

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


def _centroid(points, remaining):
    columns = zip(*(points[i] for i in remaining), strict=True)
    return [math.fsum(column) / len(remaining) for column in columns]


def _farthest(points, remaining, q):
    """Farthest from q; of several, the lowest row."""
    return min(remaining, key=lambda i: (-_squared_distance(points[i], q), i))


def _class_around(points, remaining, r, k):
    """r and the k - 1 nearest to it, taken out of `remaining`."""
    others = [i for i in remaining if i != r]
    others.sort(key=lambda i: (_squared_distance(points[i], points[r]), i))
    members = [r, *others[: k - 1]]
    for i in members:
        remaining.remove(i)
    return members


def mdav(points, k):
    """Labels of MDAV-generic, classes numbered in the order they are formed."""
    points = _scaled([[float(x) for x in row] for row in points])
    remaining = list(range(len(points)))
    classes = []
    while len(remaining) >= 3 * k:
        r = _farthest(points, remaining, _centroid(points, remaining))
        classes.append(_class_around(points, remaining, r, k))
        s = _farthest(points, remaining, points[r])
        classes.append(_class_around(points, remaining, s, k))
    if len(remaining) >= 2 * k:
        r = _farthest(points, remaining, _centroid(points, remaining))
        classes.append(_class_around(points, remaining, r, k))
    if remaining:
        classes.append(remaining)
    labels = np.full(len(points), -1, dtype=np.int64)
    for label, members in enumerate(classes):
        labels[members] = label
    return labels
