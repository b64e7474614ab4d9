"""V-MDAV, transcribed. Obviously right, and slow."""

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


def _centroid(points):
    return [math.fsum(column) / len(points) for column in zip(*points, strict=True)]


def _extend(points, members, unassigned, k, gamma):
    while len(members) < 2 * k - 1 and len(unassigned) > 1:

        def to_the_class(i):
            return min(_squared_distance(points[i], points[m]) for m in members)

        e = min(unassigned, key=lambda i: (to_the_class(i), i))
        d_out = min(_squared_distance(points[e], points[i]) for i in unassigned if i != e)
        if not to_the_class(e) < gamma * gamma * d_out:
            return
        members.append(e)
        unassigned.remove(e)


def v_mdav(points, k, gamma):
    """Labels of V-MDAV, classes numbered in the order they are formed."""
    points = _scaled([[float(x) for x in row] for row in points])
    c = _centroid(points)
    unassigned = list(range(len(points)))
    classes = []
    while len(unassigned) >= k:
        e = min(unassigned, key=lambda i: (-_squared_distance(points[i], c), i))
        unassigned.remove(e)
        near = sorted(unassigned, key=lambda i: (_squared_distance(points[i], points[e]), i))[: k - 1]
        for i in near:
            unassigned.remove(i)
        members = [e, *near]
        _extend(points, members, unassigned, k, gamma)
        classes.append(members)
    labels = np.full(len(points), -1, dtype=np.int64)
    centroids = [_centroid([points[i] for i in members]) for members in classes]
    for label, members in enumerate(classes):
        labels[members] = label
    for i in unassigned:
        labels[i] = min(range(len(classes)), key=lambda c: (_squared_distance(points[i], centroids[c]), c))
    return labels
