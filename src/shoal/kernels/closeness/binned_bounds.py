"""How the confidential values of large classes are spread, in bins: bounds of their distance that merging keeps up.

A bin is a run of neighbouring values. Of each bin of a class it is known how many of its codes are in it, and for how
many values of the bin, added up over these codes, a code lies at or below the value. From both follows the sum of
n · records of C − s · records of T over the values of the bin; unless the sign may change inside, that is its work.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.closeness.earth_mover import Closeness
from shoal.kernels.runtime.jit import part

BINS = 2048
LARGE = 2048  # records; smaller classes are measured as quickly
_SLACK = 1e-12  # of a distance, more than rounding can do


class Coarse(NamedTuple):
    """Bins of the ordered attributes, and what large classes have in them."""

    edge: np.ndarray  # (attributes, BINS + 1) the first value of each bin
    place: np.ndarray  # (values of all attributes,) where a value belongs, -1 for the last value
    inside: np.ndarray  # (attributes, rooms, BINS) codes of a class
    reach: np.ndarray  # (attributes, rooms, BINS) values of the bin at or above them, added up
    room: np.ndarray  # (pieces,) where what is known of a class lies, -1: nowhere
    free: np.ndarray  # stack of rooms that no class has
    spare: np.ndarray  # (1,) how many


def coarse(c: Closeness, pieces: int, large: int = LARGE) -> Coarse:
    """Make room for all classes of at least `large` records that there can be at a time."""
    rooms = c.codes.shape[1] // large + 1
    edge = np.zeros((len(c.line), BINS + 1), np.int64)
    of_value = np.full(len(c.below), -1)
    for at in np.flatnonzero(c.line):
        begin, end = c.first[at], c.first[at + 1]
        edge[at] = (end - begin - 1) * np.arange(BINS + 1) // BINS
        of_value[begin : end - 1] = np.searchsorted(edge[at], np.arange(end - begin - 1), "right") - 1
    shape = (len(c.line), rooms, BINS)
    free = np.arange(rooms)
    return Coarse(
        edge, of_value, np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(pieces, -1), free, free[-1:] + 1
    )


@part
def _count(c, k, classes, room, a):
    """Add the codes of a class to what lies in a room."""
    for at in range(c.line.shape[0]):
        if not c.line[at]:
            continue
        piece = a
        while piece >= 0:
            for i in range(classes.bounds[piece], classes.bounds[piece + 1]):
                code = classes.codes[at, i]
                b = k.place[c.first[at] + code]
                if b >= 0:
                    k.inside[at, room, b] += 1
                    k.reach[at, room, b] += k.edge[at, b + 1] - code
            piece = classes.after[piece]


@part
def note_join(c, k, classes, a, b, large):
    """Put what is known of two classes together, before b is merged into a; begin to know it if they are large now."""
    if classes.size[a] + classes.size[b] < large:
        return
    one, two = k.room[a], k.room[b]
    if one >= 0 and two >= 0:
        for at in range(c.line.shape[0]):
            for i in range(BINS):
                k.inside[at, one, i] += k.inside[at, two, i]
                k.reach[at, one, i] += k.reach[at, two, i]
        k.free[k.spare[0]] = two
        k.spare[0] += 1
    elif one >= 0:
        _count(c, k, classes, one, b)
    elif two >= 0:
        _count(c, k, classes, two, a)
        one = two
    else:
        k.spare[0] -= 1
        one = k.free[k.spare[0]]
        k.inside[:, one, :] = 0
        k.reach[:, one, :] = 0
        _count(c, k, classes, one, a)
        _count(c, k, classes, one, b)
    k.room[a], k.room[b] = one, -1


@part
def bounds_of(c, k, room, at, size):
    """Return bounds of size · EMD of a class in an ordered attribute."""
    begin, n, s = c.first[at], float(c.n), float(size)
    low = high = before = 0.0
    for b in range(BINS):
        first, after = k.edge[at, b], k.edge[at, b + 1]
        width, inside = float(after - first), float(k.inside[at, room, b])
        if after == first:
            continue
        table = float(c.area[begin + after] - c.area[begin + first])
        total = abs(n * (before * width + k.reach[at, room, b]) - s * table)
        most = n * (before + inside) - s * c.below[begin + first]
        least = n * before - s * c.below[begin + after - 1]
        before += inside
        low += total
        if width > 1.0 and least < 0.0 < most:
            total = min(width * max(most, -least), total + 2.0 * width * min(most, -least))
        high += total
    whole = n * c.scale[at]
    return low / whole - _SLACK * s, high / whole + _SLACK * s
