"""Mic1D ([N14] Section 3), transcribed step by step. Obviously right, and slow."""

import math


def partitions(n, k, small_last):
    """Partitioning: the positions of P_0, P_1, …; what is left over is a partition of its own, or joins the last."""
    found = [list(range(begin, min(begin + k, n))) for begin in range(0, n, k)]
    if not small_last and len(found) > 1 and len(found[-1]) < k:
        found[-2:] = [found[-2] + found[-1]]
    return found


def mic1d(points, k, small_last):
    """The protected table, as lists."""
    # Vectorization: where each value came from, and the value
    vector = [((j, i), points[i][j]) for j in range(len(points[0])) for i in range(len(points))]
    undo = []
    for _ in range(2):
        vector = sorted(vector, key=lambda pair: pair[1])  # Sorting; Re-sorting
        normalised = []
        for positions in partitions(len(vector), k, small_last):
            values = [vector[position][1] for position in positions]
            low, high = min(values), max(values)
            undo.append(({vector[position][0] for position in positions}, low, high))
            for position in positions:  # Normalization; Re-normalization
                place, value = vector[position]
                normalised.append((place, (value - low) / (high - low) if high != low else 0.5))
        vector = normalised
    protected = {}
    for positions in partitions(len(vector), k, small_last):  # Mean value computation
        values = [vector[position][1] for position in positions]
        for position in positions:
            protected[vector[position][0]] = math.fsum(values) / len(values)
    for places, low, high in reversed(undo):
        for place in places:
            protected[place] = low + protected[place] * (high - low)
    return [[protected[(j, i)] for j in range(len(points[0]))] for i in range(len(points))]
