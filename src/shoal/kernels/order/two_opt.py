"""Path shortening by 2-opt and Or-opt, on lists of near neighbours.

A move replaces two edges by two others (2-opt), or puts up to three consecutive records elsewhere, in either direction
(Or-opt), as long as that shortens the path. Only edges to near neighbours are tried, and only around records where
something changed.

The last stop is a dummy at distance 0 from every record. A round trip through it is an open path through the records,
whose ends are as free to change as anything else.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part

_FIRST, _LENGTH, _MEASURED, _LONGEST = range(4)  # `Trip.state`


class Trip(NamedTuple):
    """Round trip through n records and one dummy stop."""

    x: np.ndarray  # (n, d)
    near: np.ndarray  # (n, count) near neighbours, the nearest first
    stop: np.ndarray  # (n + 1,) the records in the order of the trip; n is the dummy
    place: np.ndarray  # (n + 1,) position of each record in the trip
    queue: np.ndarray  # (n + 1,) records around which to try, in a ring
    queued: np.ndarray  # (n + 1,) whether a record is in the queue
    state: np.ndarray  # (4,) first of the queue, its length, distances measured, most records reversed at once
    gained: np.ndarray  # (1,) total reduction of the trip's length


@part
def distance(trip, a, b):
    """Return the distance between two stops; 0 if one of them is the dummy."""
    x = trip.x
    if a == x.shape[0] or b == x.shape[0]:
        return 0.0
    total = 0.0
    for j in range(x.shape[1]):
        t = x[a, j] - x[b, j]
        total += t * t
    return math.sqrt(total)


@part
def following(trip, a, step):
    """Return the stop after a, or before it if the step is -1."""
    at = trip.place[a] + step
    size = trip.stop.shape[0]
    if at == size:
        at = 0
    elif at < 0:
        at = size - 1
    return np.int64(trip.stop[at])


@part
def _turn(trip, a, b):
    """Reverse the trip from record a to record b or, equivalently, the rest of the trip."""
    stop, place = trip.stop, trip.place
    size = stop.shape[0]
    i, j = place[a] + 0, place[b] + 0  # as 64 bits
    length = j - i + 1
    if length <= 0:
        length += size
    if 2 * length > size:
        i, j = j + 1, i - 1
        length = size - length
        if i == size:
            i = 0
        if j < 0:
            j = size - 1
    for _ in range(length // 2):
        u, v = stop[i], stop[j]
        stop[i], stop[j] = v, u
        place[v], place[u] = i, j
        i += 1
        if i == size:
            i = 0
        j -= 1
        if j < 0:
            j = size - 1


@part
def exchange(trip, a, b, c, d):
    """Replace the edges ab and cd by ac and bd; b follows a and d follows c, both forwards or both backwards."""
    if following(trip, a, 1) == b:
        _turn(trip, b, c)
    else:
        _turn(trip, c, b)


@part
def try_again(trip, a):
    """Queue a record, unless it is already queued or the dummy."""
    state, size = trip.state, trip.stop.shape[0]
    if trip.queued[a] or a == size - 1:
        return
    trip.queued[a] = True
    trip.queue[(state[_FIRST] + state[_LENGTH]) % size] = a
    state[_LENGTH] += 1


@part
def turned(trip, a, b):
    """Return the number of records that `_turn` would move."""
    size = trip.stop.shape[0]
    length = abs(np.int64(trip.place[a]) - np.int64(trip.place[b])) + 1
    return min(length, size - length)


_SEGMENT = 3  # most records moved as one segment
_TINY = 1e-12  # least gain, relative to all edges given up: below that, rounding decides, and moves may cycle
_TURNED = 25_000_000  # most records reversed at once, times n: so that large tables take linear time
_DISTANCES_PER_CALL = 10_000_000


@part
def _two_opt(trip, a, step):
    """Try to replace the edge from a in one direction, and another edge, by shorter ones."""
    b = following(trip, a, step)
    ab = distance(trip, a, b)
    for i in range(trip.near.shape[1]):
        c = np.int64(trip.near[a, i])
        ac = distance(trip, a, c)
        trip.state[_MEASURED] += 1
        if ac >= ab:
            break
        d = following(trip, c, step)
        cd = distance(trip, c, d)
        gain = ab - ac + cd - distance(trip, b, d)
        if gain > _TINY * (ab + cd) and turned(trip, b, c) <= trip.state[_LONGEST]:
            trip.gained[0] += gain
            exchange(trip, a, b, c, d)
            try_again(trip, a)
            try_again(trip, b)
            try_again(trip, c)
            try_again(trip, d)
            return True
    return False


@part
def _move(trip, segment, places, step):
    """Put the segment a … e between t and u, where u follows t; either e or a comes next to t."""
    (a, e, p, q), (c, d, side) = segment, places
    t, u = (c, d) if side == 0 else (d, c)
    exchange(trip, p, a, t, u)  # p t … q e … a u
    exchange(trip, p, t, q, e)  # p q … t e … a u
    if side == 0:
        exchange(trip, t, e, a, u)  # p q … t a … e u
    try_again(trip, a)
    try_again(trip, e)
    try_again(trip, p)
    try_again(trip, q)
    try_again(trip, c)
    try_again(trip, d)


@part
def _insert(trip, segment, length, given, away, step):
    """Try to put the segment a … e next to a near neighbour of a.

    Removing it gives up edges of total length `given`, and gains `away`.
    """
    a, e, p, q = segment
    for i in range(trip.near.shape[1]):
        c = np.int64(trip.near[a, i])
        ac = distance(trip, a, c)
        trip.state[_MEASURED] += 1
        if ac >= away:
            return False
        inside, m = False, a
        for _ in range(length):
            inside |= m == c
            m = following(trip, m, step)
        if inside:
            continue
        for side in range(2):
            if c == (p if side == 0 else q):
                continue  # that edge leads into the segment
            d = following(trip, c, step if side == 0 else -step)
            cd = distance(trip, c, d)
            gain = away - ac + cd - distance(trip, e, d)
            if gain > _TINY * (given + cd) and turned(trip, q, c) < trip.state[_LONGEST]:
                trip.gained[0] += gain
                _move(trip, segment, (c, d, side), step)
                return True
    return False


@part
def _or_opt(trip, a, step):
    """Try to move a, and up to two records that follow it in one direction, next to a near neighbour of a."""
    p, e = following(trip, a, -step), a
    pa = distance(trip, p, a)
    for length in range(1, _SEGMENT + 1):
        q = following(trip, e, step)
        if e == trip.stop.shape[0] - 1 or p in (e, q):
            return False
        given = pa + distance(trip, e, q)
        if _insert(trip, (a, e, p, q), length, given, given - distance(trip, p, q), step):
            return True
        e = q
    return False


@kernel
def shorten_steps(trip, budget):
    """Shorten the trip until no move is left to try, or `budget` distances were measured."""
    state, size = trip.state, trip.stop.shape[0]
    stop = state[_MEASURED] + budget
    while state[_LENGTH] > 0 and state[_MEASURED] < stop:
        a = np.int64(trip.queue[state[_FIRST]])
        state[_FIRST] = (state[_FIRST] + 1) % size
        state[_LENGTH] -= 1
        trip.queued[a] = False
        better = True
        while better:
            better = _two_opt(trip, a, 1) or _two_opt(trip, a, -1) or _or_opt(trip, a, 1) or _or_opt(trip, a, -1)


def shorten(x: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, float]:
    """Shorten a path through points in their order; return the shorter order, and the reduction, at least 0.

    `near` is (n, count) int32: near neighbours of every point, the nearest first.

    Guarantee: a permutation along which the path is never longer, up to rounding. Complexity: about linear.
    """
    n = x.shape[0]
    rows = np.arange(n + 1, dtype=np.int32)
    state = np.array([0, n, 0, max(_TURNED // max(n, 1), 1000)], dtype=np.int64)
    queued = np.ones(n + 1, dtype=np.bool_)
    trip = Trip(x, near, rows, rows.copy(), rows.copy(), queued, state, np.zeros(1))
    announce(shorten_steps)
    while state[_LENGTH] > 0:
        shorten_steps(trip, _DISTANCES_PER_CALL)
    nowhere = int(trip.place[n])
    return np.concatenate((trip.stop[nowhere + 1 :], trip.stop[:nowhere])), float(trip.gained[0])
