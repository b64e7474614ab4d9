"""A round trip as an array of stops, in which the shorter side is turned round.

One stop, the last, is nowhere: it is at distance 0 from every record. A round trip through it is an open path through
the records, and its ends are as free to change as anything else.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import part


class Trip(NamedTuple):
    """A round trip through n records and one stop that is nowhere."""

    x: np.ndarray  # (n, d)
    near: np.ndarray  # (n, count) near neighbours, the nearest first
    stop: np.ndarray  # (n + 1,) the records in the order of the trip; n is nowhere
    place: np.ndarray  # (n + 1,) where in the trip each record is
    queue: np.ndarray  # (n + 1,) records around which to try, in a ring
    queued: np.ndarray  # (n + 1,) whether a record is in the queue
    state: np.ndarray  # first of the queue, its length, distances measured, records that may be turned round at most
    gained: np.ndarray  # (1,) by how much the trip became shorter


@part
def distance(trip, a, b):
    """Return the distance between two stops; 0 if one of them is nowhere."""
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
    """Turn the way from record a on to record b round; or, what comes to the same, the rest of the trip."""
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
    """Queue a record, unless it is queued or nowhere."""
    state, size = trip.state, trip.stop.shape[0]
    if trip.queued[a] or a == size - 1:
        return
    trip.queued[a] = True
    trip.queue[(state[0] + state[1]) % size] = a
    state[1] += 1


@part
def turned(trip, a, b):
    """Number of records that `_turn` would move."""
    size = trip.stop.shape[0]
    length = abs(np.int64(trip.place[a]) - np.int64(trip.place[b])) + 1
    return min(length, size - length)
