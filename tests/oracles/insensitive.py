"""Insensitive microaggregation, transcribed in exact fractions. Obviously right, and slow."""

from fractions import Fraction
from math import floor


def cells(strips):
    """All cells of all coordinates but the last, in the order in which an ox ploughs them."""
    if not strips:
        return [()]
    inner = cells(strips[:-1])
    found = []
    for number, cell in enumerate(inner):
        there = range(strips[-1])
        found += [(*cell, c) for c in (there if number % 2 == 0 else reversed(there))]
    return found


def in_order(points, strips):
    """Rows in the order of the domain, which is [0, 1] in every coordinate."""
    visited = {cell: number for number, cell in enumerate(cells(strips[:-1]))}

    def place(row):
        point = [Fraction(value) for value in points[row]]
        cell = tuple(min(floor(v * s), s - 1) for v, s in zip(point, strips[:-1], strict=False))
        up = visited[cell] % 2 == 0
        return visited[cell], point[-1] if up else -point[-1], point[:-1], row

    return sorted(range(len(points)), key=place)


def insensitive(points, k, strips):
    """Labels: k consecutive records a class, the last takes the rest."""
    rows, labels, label = in_order(points, strips), [0] * len(points), 0
    while rows:
        run = rows if len(rows) < 2 * k else rows[:k]
        for row in run:
            labels[row] = label
        rows, label = rows[len(run) :], label + 1
    return labels


def means(points, k, strips):
    """The list of class means, as fractions: the release before noise."""
    labels = insensitive(points, k, strips)
    found = []
    for label in range(max(labels) + 1):
        own = [points[row] for row in range(len(points)) if labels[row] == label]
        found.append([sum(map(Fraction, column)) / len(own) for column in zip(*own, strict=True)])
    return found
