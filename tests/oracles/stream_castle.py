"""CASTLE, transcribed from its procedures. Obviously right, and slow."""

import numpy as np


def _loss(members, rows):
    """The mean range of a cluster's box."""
    d = len(rows[0])
    return sum(max(rows[i][j] for i in members) - min(rows[i][j] for i in members) for j in range(d)) / d


def castle(waiting, k, delay, weight, due=0, beta=50, mu=100, drops=False):
    """Labels (−1: waits, −2: dropped) and moments of a stream that begins here."""
    positions, who = waiting.positions.tolist(), waiting.subjects.tolist()
    rows = waiting.coordinates.tolist()
    if weight:
        rows = [[*row, weight * p] for row, p in zip(rows, positions, strict=True)]
    labels, moments, losses = [-1] * len(rows), [], []
    gamma = [[] for _ in range(beta)]  # clusters, empty ones are free

    def subjects(members):
        return len({who[i] for i in members})

    def tau():
        return sum(losses_in_ring()) / min(len(losses), mu) if losses else 0.0

    def losses_in_ring():
        ring = [0.0] * min(len(losses), mu)
        for at, loss in enumerate(losses):
            ring[at % mu] = loss
        return ring

    def best_selection(t):
        clusters = [c for c in gamma if c]
        enlargement = {id(c): _loss([*c, t], rows) - _loss(c, rows) for c in clusters}
        least = min(enlargement.values(), default=None)
        smallest = [c for c in clusters if enlargement[id(c)] == least]
        fine = [c for c in smallest if _loss([*c, t], rows) <= tau()]
        if fine:
            return min(fine, key=len)
        if len(clusters) >= beta:
            return min(smallest, key=len)
        return next(c for c in gamma if not c)

    def delay_constraint(t, now):
        cluster = next(c for c in gamma if t in c)
        if subjects(cluster) < k:
            clusters = [c for c in gamma if c]
            larger = sum(len(c) > len(cluster) for c in clusters)
            if (drops and larger > len(clusters) / 2) or subjects([i for c in clusters for i in c]) < k:
                labels[t] = -2
                cluster.remove(t)
                return
            while subjects(cluster) < k:
                own, others = _loss(cluster, rows), [c for c in gamma if c and c is not cluster]
                other = min(others, key=lambda c: _loss([*cluster, *c], rows) - own)
                cluster += other
                other.clear()
        for members in _split(sorted(cluster), rows, who, k):
            losses.append(_loss(members, rows))
            for i in members:
                labels[i] = len(moments)
            moments.append(now)
        cluster.clear()

    def expire(last, now, end):
        for t in range(end):
            if labels[t] == -1 and positions[t] <= last:
                delay_constraint(t, now)

    for t, position in enumerate(positions):
        best_selection(t).append(t)
        expire(position - delay, position, t + 1)
    if positions:
        expire(due - 1, positions[-1], len(positions))
    return np.array(labels, np.int64), np.array(moments, np.int64)


def _squared(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def _split(members, rows, who, k):
    if len({who[i] for i in members}) < 2 * k:
        return [members]
    left, pieces = list(members), []
    while len({who[i] for i in left}) >= k:
        seed = left.pop(0)
        piece = [seed]
        for _ in range(k - 1):
            others = [i for i in left if who[i] not in {who[j] for j in piece}]
            piece.append(min(others, key=lambda i: (_squared(rows[i], rows[seed]), i)))
            left.remove(piece[-1])
        pieces.append(piece)
    d = len(rows[0])
    centres = []
    for piece in pieces:
        centre = []
        for j in range(d):
            total = 0.0
            for i in sorted(piece):
                total += rows[i][j]
            centre.append(total / len(piece))
        centres.append(centre)
    where = {i: min(range(len(pieces)), key=lambda p: _squared(rows[i], centres[p])) for i in left}
    return [piece + [i for i in left if where[i] == p] for p, piece in enumerate(pieces)]
