"""A path made shorter by 2-opt and Or-opt, on lists of near neighbours.

Two edges are replaced by two others (2-opt), or up to three records in a row are put elsewhere, either way round
(Or-opt), as long as that shortens it. Only edges to near neighbours are tried, and only around records where
something changed.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.trip import Trip, distance, exchange, following, try_again, turned

_SEGMENT = 3  # records moved together at most
_TINY = 1e-12  # least gain, as a share of all edges that are given up: below that rounding decides, and without end
_TURNED = 25_000_000  # records turned round at a time times n, at most: so that large tables take linear time
_DISTANCES_PER_CALL = 10_000_000


@part
def _two_opt(trip, a, step):
    """Try to replace the edge from a in one direction, and another, by shorter ones."""
    b = following(trip, a, step)
    ab = distance(trip, a, b)
    for i in range(trip.near.shape[1]):
        c = np.int64(trip.near[a, i])
        ac = distance(trip, a, c)
        trip.state[2] += 1
        if ac >= ab:
            break
        d = following(trip, c, step)
        cd = distance(trip, c, d)
        gain = ab - ac + cd - distance(trip, b, d)
        if gain > _TINY * (ab + cd) and turned(trip, b, c) <= trip.state[3]:
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
    """Put the segment a … e between t and u, where u follows t; e next to t, or a."""
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

    To take it away gives up edges as long as `given`, and gains `away`.
    """
    a, e, p, q = segment
    for i in range(trip.near.shape[1]):
        c = np.int64(trip.near[a, i])
        ac = distance(trip, a, c)
        trip.state[2] += 1
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
            if gain > _TINY * (given + cd) and turned(trip, q, c) < trip.state[3]:
                trip.gained[0] += gain
                _move(trip, segment, (c, d, side), step)
                return True
    return False


@part
def _or_opt(trip, a, step):
    """Try to move a, and up to two that follow it in one direction, next to a near neighbour of a."""
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
    """Shorten the trip until nothing is left to try, or `budget` distances were measured."""
    state, size = trip.state, trip.stop.shape[0]
    stop = state[2] + budget
    while state[1] > 0 and state[2] < stop:
        a = np.int64(trip.queue[state[0]])
        state[0] = (state[0] + 1) % size
        state[1] -= 1
        trip.queued[a] = False
        better = True
        while better:
            better = _two_opt(trip, a, 1) or _two_opt(trip, a, -1) or _or_opt(trip, a, 1) or _or_opt(trip, a, -1)


def shorten(x: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, float]:
    """Shorten a path through points.

    Parameters
    ----------
    x : (n, d) float64
        The points, in the order of the path.
    near : (n, count) int32
        Near neighbours of every point, the nearest first.

    Returns
    -------
    order : (n,) int32
        The points in the order of the shorter path.
    gained : float
        By how much it is shorter; at least 0.

    Guarantee: a permutation, along which the path is never longer, but for rounding. Complexity: about linear.
    """
    n = x.shape[0]
    rows = np.arange(n + 1, dtype=np.int32)
    state = np.array([0, n, 0, max(_TURNED // max(n, 1), 1000)], dtype=np.int64)
    queued = np.ones(n + 1, dtype=np.bool_)
    trip = Trip(x, near, rows, rows.copy(), rows.copy(), queued, state, np.zeros(1))
    announce(shorten_steps)
    while state[1] > 0:
        shorten_steps(trip, _DISTANCES_PER_CALL)
    nowhere = int(trip.place[n])
    return np.concatenate((trip.stop[nowhere + 1 :], trip.stop[:nowhere])), float(trip.gained[0])
