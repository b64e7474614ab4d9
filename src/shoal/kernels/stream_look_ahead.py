"""Classes around tuples that expire, of tuples that would not fare better otherwise.

Symbols: δ is `delay`, ω `weight`, m tuples wait. `pairs` is the sum of squared distances of all pairs in a class of s,
so that pairs / s is its SSE; `sums` are each candidate's squared distances from all members.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import part

_EXCHANGES = 20


@part
def squared(given, weight, a, b):
    """Return the squared distance of two rows, the position times ω as one more coordinate."""
    total = 0.0
    for j in range(given.coordinates.shape[1]):
        off = given.coordinates[a, j] - given.coordinates[b, j]
        total += off * off
    off = weight * (given.positions[a] - given.positions[b])
    return total + off * off


@part
def look_ahead(given, room, rule, waits, m, order, count, now):
    """Choose a class among the first `count` places of `order`, all of different subjects; return its size.

    The first is the tuple that expires. Each other has a price, about what it would lose in another class. The class
    takes whom it costs least over the price until it has k; then exchanges; then takes more where that pays.
    """
    k, members, inside, price, sums, between = rule.k, room.members, room.inside, room.price, room.sums, room.between
    for a in range(count):
        for b in range(a + 1, count):
            between[a, b] = squared(given, rule.weight, waits[order[a]], waits[order[b]])
            between[b, a] = between[a, b]
        between[a, a] = 0.0
        price[a] = _price(given, room, rule, waits, m, order[a], now) if a else 0.0
        inside[a], sums[a] = a == 0, between[a, 0]
    members[0] = 0
    s, pairs = 1, 0.0
    while s < 2 * k - 1:
        if s == k:
            pairs = _exchange(room, s, count, pairs)
        y = _next(room, s, count, pairs, 1.0 if s < k else rule.more, s >= k)
        if y < 0:
            break
        pairs += sums[y]
        members[s], inside[y] = y, True
        s += 1
        for z in range(count):
            sums[z] += between[z, y]
    for a in range(s):
        members[a] = order[members[a]]
    return s


@part
def _price(given, room, rule, waits, m, place, now):
    """Return what a tuple would lose in another class: its mean squared distance from the 2k − 1 nearest, in part.

    The longer it waited, the fewer will come that may be nearer, and the larger the part.
    """
    near, row = room.near, waits[place]
    most, found = min(2 * rule.k - 1, m - 2), 0
    for a in range(1, m):  # without the one that expires
        if a == place:
            continue
        far = squared(given, rule.weight, row, waits[a])
        if found < most or (most > 0 and far < near[most - 1]):
            at = min(found, most - 1)
            while at > 0 and near[at - 1] > far:
                near[at] = near[at - 1]
                at -= 1
            near[at] = far
            found = min(found + 1, most)
    total = 0.0
    for a in range(found):
        total += near[a]
    age = min((now - given.positions[row]) / rule.delay, 1.0)
    return total / (found + 1) * (rule.young + (rule.old - rule.young) * age)


@part
def _next(room, s, count, pairs, part_of, pays):
    """Return who costs least over its price; −1: nobody, or nobody who pays."""
    best, y = np.inf, -1
    for z in range(1, count):
        if not room.inside[z]:
            over = (pairs + room.sums[z]) / (s + 1) - pairs / s - part_of * room.price[z]
            if over < best and (over < 0.0 or not pays):
                best, y = over, z
    return y


@part
def _exchange(room, s, count, pairs):
    """Let members and others change places, the best two first, while that lowers the SSE less the prices."""
    members, inside, price, sums, between = room.members, room.inside, room.price, room.sums, room.between
    for _ in range(_EXCHANGES):
        best, x, y = 0.0, -1, -1
        for a in range(1, s):
            goes = members[a]
            for z in range(1, count):
                if not inside[z]:
                    over = (sums[z] - sums[goes] - between[goes, z]) / s - price[z] + price[goes]
                    if over < best:
                        best, x, y = over, a, z
        if x < 0:
            break
        goes = members[x]
        pairs += sums[y] - sums[goes] - between[goes, y]
        members[x], inside[y], inside[goes] = y, True, False
        for z in range(count):
            sums[z] += between[z, y] - between[z, goes]
    return pairs
