"""p-sensitive k-anonymity by microaggregation from random records, transcribed. Obviously right, and slow.

`attributes` are lists of confidential values, one list for each attribute; `order` is the order in which records get
their turn to start a class. Ties go to the lowest row, and among classes to the first.
"""

import math


def scaled(points):
    """Points whose squares neither overflow nor vanish."""
    points = [[float(x) for x in row] for row in points]
    largest = max(abs(x) for row in points for x in row)
    if largest == 0 or 2.0**-500 <= largest <= 2.0**500:
        return points
    exponent = math.frexp(largest)[1]
    return [[math.ldexp(x, -exponent) for x in row] for row in points]


def squared_distance(x, y):
    """Sum of squared differences, in the order of coordinates."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def nearest(points, x, rows):
    """The row nearest to x; None without rows."""
    return min(rows, key=lambda row: (squared_distance(points[row], x), row), default=None)


def join_nearest(points, classes, rows):
    """Let each of some records join the class whose centroid, without them, is nearest to it."""
    if not classes:
        return [sorted(rows)]
    centroids = [
        [sum(column) / len(c) for column in zip(*(points[i] for i in sorted(c)), strict=True)] for c in classes
    ]
    joined = [list(c) for c in classes]
    for row in sorted(rows):
        joined[nearest(centroids, points[row], range(len(classes)))].append(row)
    return joined


def labelled(classes, n):
    """The number of the class of each record."""
    labels = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            labels[row] = number
    return labels


def p_sensitive(points, attributes, k, p, order):
    """Labels; classes are numbered in the order they are formed."""
    points = scaled(points)
    left, classes = set(range(len(points))), []

    def values(rows):
        return [{attribute[row] for row in rows} for attribute in attributes]

    while len(left) >= k and all(len(found) >= p for found in values(left)):
        start = next(row for row in order if row in left)
        members = [start]
        left.remove(start)
        while any(len(found) < p for found in values(members)):  # new values first …
            inside = values(members)
            new = [
                row
                for row in left
                if any(len(v) < p and a[row] not in v for a, v in zip(attributes, inside, strict=True))
            ]
            members.append(nearest(points, points[start], new))
            left.remove(members[-1])
        while len(members) < k:  # … then whoever is near
            members.append(nearest(points, points[start], left))
            left.remove(members[-1])
        classes.append(members)
    return labelled(join_nearest(points, classes, left) if left else classes, len(points))
