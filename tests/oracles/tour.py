"""Paths through points in plain Python: their length, the shortest by trying all, and greedy edges. Slow."""

import itertools
import math


def length(points, order):
    """The length of a path."""
    return sum(math.dist(points[a], points[b]) for a, b in itertools.pairwise(order))


def shortest(points):
    """The length of the shortest path."""
    return min(length(points, order) for order in itertools.permutations(range(len(points))))


def greedy_edges(points):
    """The edges of the greedy path: the shortest first, unless it would branch or close a circle."""
    rows = range(len(points))
    fragment, degree, edges = list(rows), [0] * len(points), set()

    def squared(edge):
        return sum((a - b) ** 2 for a, b in zip(points[edge[0]], points[edge[1]], strict=True))

    for a, b in sorted(itertools.combinations(rows, 2), key=lambda edge: (squared(edge), edge)):
        if degree[a] < 2 and degree[b] < 2 and fragment[a] != fragment[b]:
            edges.add((a, b))
            degree[a], degree[b] = degree[a] + 1, degree[b] + 1
            old, new = fragment[b], fragment[a]
            fragment = [new if f == old else f for f in fragment]
    return edges
