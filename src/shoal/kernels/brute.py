"""MDAV by looking at every remaining record: two or three passes over all of them for each pair of classes.

The baseline for the index, and the faster of the two where records are few or nothing prunes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.lanes import WIDTH, Lanes, erase, lay_out, read
from shoal.kernels.nearest_few import Nearest, nearest_few, offer
from shoal.kernels.remaining import NO_ROW, Remaining, centroid, close_class, first_row, take
from shoal.kernels.simd import lowest_bit, scan_points


class Brute(NamedTuple):
    """Everything the passes need: the points in lanes, room for the nearest, and scratch."""

    lanes: Lanes
    nearest: Nearest
    used: np.ndarray  # (1,) slots in use, the gone ones among them included
    q: np.ndarray  # (d,) the point distances are measured from
    distance: np.ndarray  # (WIDTH,)
    digits: np.ndarray  # scratch for the rounding of sums


def brute_force(points: np.ndarray, remaining: Remaining, k: int) -> Brute:
    """Lay out the groups that remain, in the order of their numbers."""
    order = np.flatnonzero(remaining.head < remaining.end)
    rows = remaining.members[remaining.head[order]]
    lanes = lay_out(points, order, rows, remaining.head.shape[0])
    used = np.array([order.shape[0]], dtype=np.int64)
    digits = np.empty(remaining.limbs.shape[1], dtype=np.int64)
    return Brute(lanes, nearest_few(k - 1), used, np.empty(points.shape[1]), np.empty(WIDTH), digits)


@njit(cache=True, nogil=True)
def _farthest(brute, remaining):  # type: ignore[no-untyped-def]
    """Slot of the record farthest from `q`; of several, the one with the lowest row."""
    lanes, distance = brute.lanes, brute.distance
    best, best_row, best_slot = -1.0, NO_ROW, -1
    for b in range((brute.used[0] + WIDTH - 1) // WIDTH):
        mask = scan_points(lanes.x, b, brute.q, -1.0, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            row = first_row(remaining, lanes.group[b * WIDTH + lane])
            if distance[lane] > best or (distance[lane] == best and row < best_row):
                best, best_row, best_slot = distance[lane], row, b * WIDTH + lane
    return best_slot


@njit(cache=True, nogil=True)
def _nearest(brute, remaining, best):  # type: ignore[no-untyped-def]
    """Fill the heap with the records nearest to `q`; on the way find the farthest, if that beats `best`.

    Returns the slot of the farthest record and its squared distance.
    """
    lanes, distance, heap = brute.lanes, brute.distance, brute.nearest
    size, bound = 0, np.inf
    best_row, best_slot = NO_ROW, -1
    for b in range((brute.used[0] + WIDTH - 1) // WIDTH):
        mask = scan_points(lanes.x, b, brute.q, bound, best, distance)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot = b * WIDTH + lane
            if distance[lane] <= bound:
                size = offer(heap, size, remaining, lanes.group[slot], distance[lane], slot)
                if size == heap.distance.shape[0]:
                    bound = heap.distance[0]
            if distance[lane] >= best:
                row = first_row(remaining, lanes.group[slot])
                if distance[lane] > best or row < best_row:
                    best, best_row, best_slot = distance[lane], row, slot
    return best_slot, best


@njit(cache=True, nogil=True)
def _take_slot(brute, remaining, slot):  # type: ignore[no-untyped-def]
    if take(remaining, brute.lanes.group[slot]):
        erase(brute.lanes, slot)


@njit(cache=True, nogil=True)
def _class_around(brute, remaining, slot, best):  # type: ignore[no-untyped-def]
    """Form the class of the record in `slot` and its k - 1 nearest; return as `_nearest` does."""
    read(brute.lanes, slot, brute.q)
    _take_slot(brute, remaining, slot)
    far, best = _nearest(brute, remaining, best)
    heap = brute.nearest
    if best == heap.distance[0]:
        far = -1  # the farthest may be in the class itself: all that remains is equally far
    for i in range(heap.distance.shape[0]):
        _take_slot(brute, remaining, heap.slot[i])
    close_class(remaining)
    return far


@njit(cache=True, nogil=True)
def _compact(brute):  # type: ignore[no-untyped-def]
    """Close the gaps that classes leave, keeping the order."""
    lanes = brute.lanes
    to = 0
    for slot in range(brute.used[0]):
        b, lane = slot // WIDTH, slot % WIDTH
        if np.isnan(lanes.x[b, 0, lane]):
            continue
        for j in range(lanes.x.shape[1]):
            lanes.x[to // WIDTH, j, to % WIDTH] = lanes.x[b, j, lane]
        lanes.group[to] = lanes.group[slot]
        lanes.slot[lanes.group[to]] = to
        to += 1
    for slot in range(to, (to + WIDTH - 1) // WIDTH * WIDTH):
        erase(lanes, slot)
    brute.used[0] = to


@njit(cache=True, nogil=True)
def brute_steps(brute, remaining, k, budget):  # type: ignore[no-untyped-def]
    """Form pairs of classes until fewer than 3k records remain or `budget` coordinates were read.

    Returns the number of pairs formed and of records looked at. The last class but one, when 2k to 3k - 1 records
    remain, counts as a pair.
    """
    steps, scanned = 0, 0
    d = brute.q.shape[0]
    while remaining.counts[0] >= 2 * k and scanned * d < budget:
        if brute.used[0] - remaining.counts[2] > brute.used[0] // 8:
            _compact(brute)
        pair = remaining.counts[0] >= 3 * k
        steps += 1
        scanned += brute.used[0] * (3 if pair else 2)
        centroid(remaining, brute.digits, brute.q)
        r = _farthest(brute, remaining)
        s = _class_around(brute, remaining, r, -1.0 if pair else np.inf)
        if not pair:
            break
        if s < 0:
            scanned += brute.used[0]
            s = _farthest(brute, remaining)
        _class_around(brute, remaining, s, np.inf)
    return steps, scanned
