"""MDAV by looking at every remaining record, one half of them on each of two cores.

The threads are Python's: a kernel lets go of the interpreter's lock, so two run side by side, and nothing is left over
that a fork or another thread could stumble on. Handing a half to the other thread takes some 50 µs, so that it pays
only where a pass takes longer.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from shoal.kernels.brute import Pass, look, pass_space
from shoal.kernels.jit import kernel
from shoal.kernels.remaining import WIDTH, Remaining, centroid, compact, erase, read, take
from shoal.kernels.together import cores

_WORTH_IT = 2_000_000  # coordinates in a pass: below that handing over costs what it gains


class Found(NamedTuple):
    """What a pass over all records found."""

    slot: int  # of the farthest
    distance: float
    nearest: np.ndarray  # slots of the nearest, of a point once for each record taken there
    reach: float  # squared distance of the last of them


class Halves(NamedTuple):
    """Two passes that measure from the same point."""

    first: Pass
    second: Pass
    pool: ThreadPoolExecutor


def worth_halving(remaining: Remaining) -> bool:
    """Tell whether there is a second core, and enough for both to do."""
    return cores() > 1 and int(remaining.counts[3]) * remaining.x.shape[1] >= _WORTH_IT


def halves(d: int, k: int, pool: ThreadPoolExecutor) -> Halves:
    """Allocate what passes over points of `d` coordinates need for classes of `k`."""
    first = pass_space(d, k)
    return Halves(first, pass_space(d, k)._replace(q=first.q), pool)


@kernel
def _scan(space, remaining, capacity, best, first, last):
    return look(space, remaining, capacity, best, first, last)


@kernel
def _begin(space, remaining):
    """Close gaps where there are many, and measure from the centroid."""
    if remaining.counts[3] - remaining.counts[2] > remaining.counts[3] // 8:
        compact(remaining)
    centroid(remaining, space.q)


@kernel
def _open_class(space, remaining, slot):
    """Take the record that a class is formed around, and measure from it."""
    read(remaining, slot, space.q)
    if take(remaining, slot):
        erase(remaining, slot)


@kernel
def _close_class(remaining, slots):
    """Take the nearest records into the class."""
    for i in range(slots.shape[0]):
        if take(remaining, slots[i]):
            erase(remaining, slots[i])
    remaining.counts[1] += 1


def _look_twice(space: Halves, remaining: Remaining, capacity: int, best: float) -> Found:
    """Pass over all records, half of them in the other thread, and put together what was found."""
    blocks = -(-int(remaining.counts[3]) // WIDTH)
    other = space.pool.submit(_scan, space.second, remaining, capacity, best, blocks // 2, blocks)
    one = _scan(space.first, remaining, capacity, best, 0, blocks // 2)
    two = other.result()
    row = [remaining.members[remaining.head[slot]] if slot >= 0 else -1 for slot, _, _ in (one, two)]
    second_is_farther = two[1] > one[1] or (two[1] == one[1] and two[0] >= 0 and (one[0] < 0 or row[1] < row[0]))
    slot, distance, _ = two if second_is_farther else one
    heaps = ((space.first.nearest, one[2]), (space.second.nearest, two[2]))
    distances, rows, slots = (np.concatenate([heap[i][:size] for heap, size in heaps]) for i in range(3))
    order = np.lexsort((rows, distances))[:capacity]
    return Found(slot, distance, slots[order], float(distances[order[-1]]) if capacity else -1.0)


def halved_steps(space: Halves, remaining: Remaining, k: int, budget: int) -> tuple[int, int]:
    """Form pairs of classes as :func:`shoal.kernels.brute.brute_steps` does, while it is worth halving."""
    steps, scanned, d = 0, 0, remaining.x.shape[1]
    while remaining.counts[0] >= 2 * k and scanned * d < budget and worth_halving(remaining):
        pair = remaining.counts[0] >= 3 * k
        steps += 1
        _begin(space.first, remaining)
        slot = -1
        for turn in range(2 if pair else 1):  # r, farthest from c; then s, farthest from r
            if slot < 0:
                scanned += int(remaining.counts[3])
                slot = _look_twice(space, remaining, 0, -1.0).slot
            scanned += int(remaining.counts[3])
            _open_class(space.first, remaining, slot)
            found = _look_twice(space, remaining, k - 1, -1.0 if pair and turn == 0 else np.inf)
            _close_class(remaining, found.nearest)
            slot = -1 if found.distance == found.reach else found.slot
    return steps, scanned
