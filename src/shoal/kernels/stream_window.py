"""The tuples that wait, side by side in memory so that one pass goes over all of them; those that left are gaps.

Coordinate j of the tuple in slot s is ``x[j, s]``; the last row is its position, counted from the first tuple of the
call. A tuple that is gone is infinitely far away. When too many are gone, the others move together; they stay in order.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import part

_BLOCK = 256


class Window(NamedTuple):
    """Tuples that wait."""

    x: np.ndarray  # (d + 1, slots) float64
    row: np.ndarray  # (slots,) int64: which tuple of the call it is; −1: gone
    q: np.ndarray  # (d + 1,) float64: the point that distances are from
    distance: np.ndarray  # (slots,) float64
    ends: np.ndarray  # (3,) int64: first slot, slot after the last, tuples that wait


def window(d: int, most: int) -> Window:
    """Make room for so many tuples that wait at once."""
    slots = 2 * most + _BLOCK
    return Window(
        np.empty((d + 1, slots)),
        np.empty(slots, np.int64),
        np.empty(d + 1),
        np.empty(slots),
        np.zeros(3, np.int64),
    )


@part
def push(w, coordinates, positions, i):
    """Let tuple i wait."""
    x, ends, d = w.x, w.ends, coordinates.shape[1]
    if ends[1] == w.row.shape[0] or ends[1] - ends[0] > 2 * ends[2] + 32:
        _close_ranks(w)
    at = ends[1]
    for j in range(d):
        x[j, at] = coordinates[i, j]
    x[d, at] = np.float64(positions[i] - positions[0])
    w.row[at] = i
    ends[1] += 1
    ends[2] += 1


@part
def _close_ranks(w):
    x, row, ends = w.x, w.row, w.ends
    to = 0
    for at in range(ends[0], ends[1]):
        if row[at] >= 0:
            if at != to:
                for j in range(x.shape[0]):
                    x[j, to] = x[j, at]
                row[to] = row[at]
            to += 1
    ends[0], ends[1] = 0, to


@part
def gone(w, slot):
    """Take a tuple away; return which one it was."""
    i = w.row[slot]
    w.row[slot] = -1
    w.x[0, slot] = np.inf
    w.ends[2] -= 1
    ends = w.ends
    while ends[0] < ends[1] and w.row[ends[0]] < 0:
        ends[0] += 1
    return i


@part
def ask(w, slot):
    """Measure from the tuple in a slot."""
    for j in range(w.q.shape[0]):
        w.q[j] = w.x[j, slot]


@part
def measure(w, begin, end, weight):
    """Write the squared distances of the tuples in some slots: coordinate by coordinate, then the position."""
    x, q, distance = w.x, w.q, w.distance
    d = x.shape[0] - 1
    q0 = q[0]
    for s in range(begin, end):
        t = x[0, s] - q0
        distance[s] = t * t
    for j in range(1, d):
        qj = q[j]
        for s in range(begin, end):
            t = x[j, s] - qj
            distance[s] += t * t
    if weight > 0.0:
        qd = q[d]
        for s in range(begin, end):
            t = weight * (x[d, s] - qd)
            distance[s] += t * t
