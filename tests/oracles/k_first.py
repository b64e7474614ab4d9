"""k-anonymity-first, transcribed. Obviously right, and slow.

[SC15] Algorithm 2. The distance of a class is the greatest over the confidential attributes, as a fraction. Ties: of
records equally far or near the lowest row; of records y' that would do equally well, the one that joined the class
first.
"""

import importlib.util
import math
from fractions import Fraction
from pathlib import Path

_spec = importlib.util.spec_from_file_location("oracle_merge", Path(__file__).with_name("t_close_merge.py"))
merging = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(merging)


def _squared_distance(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def _generate_cluster(x, left, points, attributes, k, t):
    if len(left) < 2 * k:
        return list(left)
    near = sorted(left, key=lambda i: (_squared_distance(points[i], points[x]), i))
    near.remove(x)
    near.insert(0, x)
    members, candidates = near[:k], near[k:]

    def far(rows):
        return max(merging.distances(rows, attributes))

    while far(members) > Fraction(str(t)) and candidates:
        y = candidates.pop(0)
        without = [[i for i in members if i != gone] + [y] for gone in members]
        best = min(without, key=far)  # the first of several: y' joined first
        if far(best) < far(members):
            members = best
    return members


def algorithm_2(points, attributes, k, t):
    """Labels of [SC15] Algorithm 2 alone, classes numbered in the order they are formed."""
    points = merging.scaled([[float(x) for x in row] for row in points])
    left, labels, formed = list(range(len(points))), [0] * len(points), 0

    def take(members):
        for i in members:
            left.remove(i)
            labels[i] = formed

    while left:
        average = [math.fsum(points[i][j] for i in left) / len(left) for j in range(len(points[0]))]
        x0 = min(left, key=lambda i: (-_squared_distance(points[i], average), i))
        take(_generate_cluster(x0, left, points, attributes, k, t))
        formed += 1
        if left:
            x1 = min(left, key=lambda i: (-_squared_distance(points[i], points[x0]), i))
            take(_generate_cluster(x1, left, points, attributes, k, t))
            formed += 1
    return labels


def k_first(points, attributes, k, t):
    """Labels of Algorithm 2 inside Algorithm 1, classes numbered by their first rows."""
    return merging.t_close_merge(points, algorithm_2(points, attributes, k, t), attributes, t)
