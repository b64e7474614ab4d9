"""MDAV by looking at every remaining record: three passes over all of them for each pair of classes.

The baseline for the index, and the faster of the two where records are few or nothing prunes. Here on one core;
:mod:`shoal.kernels.brute_halves` does the same on two where a pass is long enough.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import kernel, part
from shoal.kernels.nearest_few import Nearest, nearest_few, offer
from shoal.kernels.remaining import NO_ROW, WIDTH, centroid, compact, erase, first_row, read, take
from shoal.kernels.simd import lowest_bit, scan_points


class Pass(NamedTuple):
    """What a pass over all records needs."""

    q: np.ndarray  # (d,) the point distances are measured from
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)


def pass_space(d: int, k: int) -> Pass:
    """Allocate what passes over points of `d` coordinates need for classes of `k`."""
    return Pass(np.empty(d), nearest_few(k - 1), np.empty(WIDTH))


@part
def look(space, remaining, capacity, best, first, last):
    """Pass over blocks `first` … `last` - 1: keep the `capacity` nearest to q, find the farthest if it beats `best`.

    Returns the slot of the farthest record, of several the one with the lowest row, its squared distance, and how many
    records were kept.
    """
    x, q, distance, nearest = remaining.x, space.q, space.distance, space.nearest
    size = np.int64(0)
    bound = np.inf if capacity > 0 else -1.0
    best_row, best_slot = NO_ROW, -1
    for b in range(first, last):
        mask = scan_points(x, b, q, bound, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot = b * WIDTH + lane
            if distance[lane] <= bound:
                size = offer(nearest, size, remaining, slot, distance[lane])
                if size == capacity:
                    bound = nearest.distance[0]
            if distance[lane] >= best:
                row = first_row(remaining, slot)
                if distance[lane] > best or row < best_row:
                    best, best_row, best_slot = distance[lane], row, slot
    return best_slot, best, size


@part
def _blocks(remaining):
    return (remaining.counts[3] + WIDTH - 1) // WIDTH


@part
def _class_around(space, remaining, slot, best):
    """Form the class of the record in `slot` and its k - 1 nearest.

    Returns the slot of the record farthest from it, or -1 where that must be searched anew: when all that remains
    is equally far, records of the class itself are among the farthest.
    """
    nearest = space.nearest
    read(remaining, slot, space.q)
    if take(remaining, slot):
        erase(remaining, slot)
    far, best, _ = look(space, remaining, nearest.distance.shape[0], best, 0, _blocks(remaining))
    if best == nearest.distance[0]:
        far = -1
    for i in range(nearest.slot.shape[0]):
        if take(remaining, nearest.slot[i]):
            erase(remaining, nearest.slot[i])
    remaining.counts[1] += 1
    return far


@kernel
def brute_steps(space, remaining, k, budget):
    """Form pairs of classes until fewer than 2k records remain or `budget` coordinates were read.

    Returns the number of pairs formed and of points looked at. A single class, formed when 2k to 3k - 1 records
    remain, counts as a pair.
    """
    steps, scanned, nobody = 0, 0, np.int64(0)
    counts, d = remaining.counts, space.q.shape[0]
    while counts[0] >= 2 * k and scanned * d < budget:
        if counts[3] - counts[2] > counts[3] // 8:
            compact(remaining)
        pair = counts[0] >= 3 * k
        steps += 1
        centroid(remaining, space.q)
        slot = -1
        for turn in range(2 if pair else 1):  # r, farthest from c; then s, farthest from r
            if slot < 0:
                scanned += counts[3]
                slot, _, _ = look(space, remaining, nobody, -1.0, 0, _blocks(remaining))
            scanned += counts[3]
            slot = _class_around(space, remaining, slot, -1.0 if pair and turn == 0 else np.inf)
    return steps, scanned
