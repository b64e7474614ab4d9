"""The tuples that wait, sixteen side by side so that one pass goes over all of them; those that left are gaps.

Coordinate j of the tuple in slot s is ``x[s // 16, j, s % 16]``. A tuple that is gone is nowhere: NaN, which is near
to nothing. When too many are gone, the others move together; they stay in order.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import part

WIDTH = 16


class Window(NamedTuple):
    """Tuples that wait."""

    x: np.ndarray  # (blocks, d, WIDTH) float64
    row: np.ndarray  # (slots,) int64: which tuple of the call it is; −1: gone
    place: np.ndarray  # (slots,) float64: its position, counted from the first tuple of the call
    q: np.ndarray  # (d,) float64: the point that distances are from
    distance: np.ndarray  # (WIDTH,) float64: scratch
    ends: np.ndarray  # (3,) int64: first slot, slot after the last, tuples that wait


def window(d: int, most: int) -> Window:
    """Make room for so many tuples that wait at once."""
    blocks = 2 * (most // WIDTH + 2)
    return Window(
        np.full((blocks, d, WIDTH), np.nan),
        np.full(blocks * WIDTH, -1, np.int64),
        np.zeros(blocks * WIDTH),
        np.empty(d),
        np.empty(WIDTH),
        np.zeros(3, np.int64),
    )


@part
def push(w, coordinates, positions, i):
    """Let tuple i wait."""
    ends = w.ends
    if ends[1] == w.row.shape[0] or ends[1] - ends[0] > ends[2] + ends[2] // 4 + 2 * WIDTH:
        _close_ranks(w)
    at = ends[1]
    block, lane = at // WIDTH, at % WIDTH
    for j in range(coordinates.shape[1]):
        w.x[block, j, lane] = coordinates[i, j]
    w.place[at] = np.float64(positions[i] - positions[0])
    w.row[at] = i
    ends[1] += 1
    ends[2] += 1


@part
def _close_ranks(w):
    x, row, place, ends = w.x, w.row, w.place, w.ends
    to = 0
    for at in range(ends[0], ends[1]):
        if row[at] < 0:
            continue
        if at != to:
            for j in range(x.shape[1]):
                x[to // WIDTH, j, to % WIDTH] = x[at // WIDTH, j, at % WIDTH]
            row[to], place[to] = row[at], place[at]
        to += 1
    for at in range(to, ends[1]):
        x[at // WIDTH, 0, at % WIDTH] = np.nan
        row[at] = -1
    ends[0], ends[1] = 0, to


@part
def gone(w, slot):
    """Take a tuple away; return which one it was."""
    ends, i = w.ends, w.row[slot]
    w.row[slot] = -1
    w.x[slot // WIDTH, 0, slot % WIDTH] = np.nan
    ends[2] -= 1
    while ends[0] < ends[1] and w.row[ends[0]] < 0:
        ends[0] += 1
    return i


@part
def ask(w, slot):
    """Measure from the tuple in a slot."""
    for j in range(w.q.shape[0]):
        w.q[j] = w.x[slot // WIDTH, j, slot % WIDTH]


@part
def steered(squared, weight, apart):
    """Return a squared distance with that of the positions, which are so far apart ([DS17] Alg. 3)."""
    t = weight * apart
    return squared + t * t
