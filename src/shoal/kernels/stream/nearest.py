"""Algorithms 2 and 3 of [DS17]: classes of an expiring tuple and the pending tuples nearest to it.

δ is `delay`, ω `weight`, the buffer ℬ the window.

Coordinate j of the tuple in slot s is ``x[s // 16, j, s % 16]``. A removed tuple is NaN, which is near to nothing. When
too many are removed, the others close ranks, in order. The last coordinates may be codes: tuples that differ in one are
a step apart, see :class:`shoal.types.stream.Waiting`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.runtime.lanes import lowest_bit, scan_points

FIRST, END, WAITING = range(3)  #: `ends` of a window
WIDTH = 16


class Window(NamedTuple):
    """Pending tuples."""

    x: np.ndarray  # (blocks, p, WIDTH) float64: numbers, at least one
    codes: np.ndarray  # (blocks, c, WIDTH) float64
    steps: np.ndarray  # (c,) float64
    row: np.ndarray  # (slots,) int64: index of the tuple within the call; −1: removed
    place: np.ndarray  # (slots,) float64: its position, counted from the first tuple of the call
    q: np.ndarray  # (p,) float64: the query point
    own: np.ndarray  # (c,) float64: its codes
    distance: np.ndarray  # (WIDTH,) float64: scratch
    ends: np.ndarray  # (3,) int64: first slot, slot after the last, pending tuples


def window(p: int, steps: Sequence[float], most: int) -> Window:
    """Allocate room for `most` pending tuples of p numbers, and codes, at a time."""
    blocks = 2 * (most // WIDTH + 2)
    return Window(
        np.full((blocks, p, WIDTH), np.nan),
        np.zeros((blocks, len(steps), WIDTH)),
        np.array(steps, np.float64),
        np.full(blocks * WIDTH, -1, np.int64),
        np.zeros(blocks * WIDTH),
        np.empty(p),
        np.empty(len(steps)),
        np.empty(WIDTH),
        np.zeros(3, np.int64),
    )


@part
def push(w, coordinates, positions, i):
    """Add tuple i to the window."""
    ends = w.ends
    if ends[END] == w.row.shape[0] or ends[END] - ends[FIRST] > ends[WAITING] + ends[WAITING] // 4 + 2 * WIDTH:
        _close_ranks(w)
    at = ends[END]
    block, lane = at // WIDTH, at % WIDTH
    p = w.x.shape[1]
    for j in range(p):
        w.x[block, j, lane] = coordinates[i, j]
    for j in range(w.steps.shape[0]):
        w.codes[block, j, lane] = coordinates[i, p + j]
    w.place[at] = np.float64(positions[i] - positions[0])
    w.row[at] = i
    ends[END] += 1
    ends[WAITING] += 1


@part
def _close_ranks(w):
    x, row, place, ends = w.x, w.row, w.place, w.ends
    to = 0
    for at in range(ends[FIRST], ends[END]):
        if row[at] < 0:
            continue
        if at != to:
            for j in range(x.shape[1]):
                x[to // WIDTH, j, to % WIDTH] = x[at // WIDTH, j, at % WIDTH]
            for j in range(w.steps.shape[0]):
                w.codes[to // WIDTH, j, to % WIDTH] = w.codes[at // WIDTH, j, at % WIDTH]
            row[to], place[to] = row[at], place[at]
        to += 1
    for at in range(to, ends[END]):
        x[at // WIDTH, 0, at % WIDTH] = np.nan
        row[at] = -1
    ends[FIRST], ends[END] = 0, to


@part
def gone(w, slot):
    """Remove a tuple; return which one it was."""
    ends, i = w.ends, w.row[slot]
    w.row[slot] = -1
    w.x[slot // WIDTH, 0, slot % WIDTH] = np.nan
    ends[WAITING] -= 1
    while ends[FIRST] < ends[END] and w.row[ends[FIRST]] < 0:
        ends[FIRST] += 1
    return i


@part
def ask(w, slot):
    """Measure distances from the tuple in a slot."""
    for j in range(w.q.shape[0]):
        w.q[j] = w.x[slot // WIDTH, j, slot % WIDTH]
    for j in range(w.own.shape[0]):
        w.own[j] = w.codes[slot // WIDTH, j, slot % WIDTH]


@part
def _scan(w, block, within):
    """Write the squared distances of sixteen tuples; return the mask of those ≤ `within`."""
    mask = scan_points(w.x, block, w.q, within, np.inf, w.distance)
    if w.steps.shape[0] == 0 or mask == 0:  # codes only add to a distance
        return mask
    for j in range(w.steps.shape[0]):
        for lane in range(WIDTH):
            w.distance[lane] += 0.0 if w.codes[block, j, lane] == w.own[j] else w.steps[j]
    mask = np.int64(0)
    for lane in range(WIDTH):
        if w.distance[lane] <= within:
            mask |= np.int64(1) << lane
    return mask


@part
def steered(squared, weight, apart):
    """Add the squared weighted distance of positions to a squared distance ([DS17] Alg. 3)."""
    t = weight * apart
    return squared + t * t


@part
def ordered(w, away, heap, weight, here):
    """Arrange all pending tuples in a heap, so that the nearest can be taken one after the other."""
    ends, size = w.ends, 0
    for block in range(ends[FIRST] // WIDTH, (ends[END] + WIDTH - 1) // WIDTH):
        mask = _scan(w, block, np.inf)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot = block * WIDTH + lane
            away[slot] = w.distance[lane]
            if weight > 0.0:
                away[slot] = steered(away[slot], weight, w.place[slot] - here)
            heap[size] = slot
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sink(away, heap, at, size)
    return size


@part
def next_of(away, heap, size):
    """Take the nearest from a heap of `size` entries; it is stored behind the heap."""
    top = heap[0]
    heap[0], heap[size - 1] = heap[size - 1], top
    sink(away, heap, 0, size - 1)
    return top


@part
def sink(away, heap, at, size):
    """Sink an entry until none below it is nearer, or equally near and lower."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _before(away, heap[child + 1], heap[child]):
            child += 1
        if not _before(away, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@part
def _before(away, a, b):
    return away[a] < away[b] or (away[a] == away[b] and a < b)


_DROPPED = -2


def nearest(
    points: NDArray[np.float64],
    steps: Sequence[float],
    positions: NDArray[np.int64],
    subjects: NDArray[np.int64] | None,
    rule: tuple[int, int, float],
    old: int,
    due: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each tuple (−1: pending, −2: rejected) and the position at which each class formed.

    `points` are numbers, then codes with their `steps`. `rule` is k, δ and ω. `subjects` are numbered from 0; None: all
    are different.
    """
    k, delay, weight = rule
    if points.shape[1] == len(steps):  # a number marks removed tuples
        points = np.column_stack((np.zeros(len(points)), points))
    n, p = len(points), points.shape[1] - len(steps)
    labels, moments = np.full(n, -1, np.int64), np.empty(n // k + 1, np.int64)
    if not n:
        return labels, moments[:0]
    room = window(p, steps, max(old, min(n, delay + 1)))
    most = k if subjects is None else 2 * k
    near, slots = np.empty(most), np.empty(most, np.int64)
    given = (points, positions, labels, moments)
    if subjects is None:
        announce(_nearest)
        classes = _nearest(room, given, near, slots, k, delay, weight, old, due)
    else:
        announce(_nearest_subjects)
        counts = np.zeros((2, int(subjects.max()) + 1), np.int64)
        away, heap = np.empty(len(room.row)), np.empty(len(room.row), np.int64)
        classes = _nearest_subjects(
            room, given, (subjects, counts, near, slots, away, heap), k, delay, weight, old, due
        )
    return labels, moments[: int(classes)]


@kernel
def _nearest(
    w: Window, given: Any, near: Any, slots: Any, k: int, delay: int, weight: float, old: int, due: int
) -> int:
    coordinates, positions, labels, moments = given
    classes = 0
    n = len(positions)
    for i in range(n + 1):
        if i < n:
            push(w, coordinates, positions, i)  # [DS17] Alg. 2, line 1
            last = positions[i] - delay if i >= old else np.int64(-1)
        else:
            last = due - 1  # tuples that must be released although no new one arrives
        while w.ends[WAITING] > 0 and positions[w.row[w.ends[FIRST]]] <= last:  # line 2
            if w.ends[WAITING] < k:
                labels[gone(w, w.ends[FIRST])] = _DROPPED
                continue
            ask(w, w.ends[FIRST])
            here = w.place[w.ends[FIRST]]
            labels[gone(w, w.ends[FIRST])] = classes
            _choose(w, near, slots, k - 1, weight, here)  # line a
            for c in range(k - 1):
                labels[gone(w, slots[c])] = classes  # line b
            moments[classes] = positions[min(i, n - 1)]
            classes += 1
    return classes


@part
def _choose(w, near, slots, most, weight, here):
    """Find the slots of the nearest tuples, ties to those that arrived first."""
    ends, found, worst = w.ends, 0, np.inf
    for block in range(ends[FIRST] // WIDTH, (ends[END] + WIDTH - 1) // WIDTH):
        # all tuples from here on arrived later: if the position alone is too far, so are they
        begin = block * WIDTH
        if weight > 0.0 and begin >= ends[FIRST] and steered(0.0, weight, w.place[begin] - here) >= worst:
            break
        mask = _scan(w, block, worst)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            slot, away = block * WIDTH + lane, w.distance[lane]
            if weight > 0.0:
                away = steered(away, weight, w.place[slot] - here)
            if away < worst:
                at = min(found, most - 1)
                while at > 0 and near[at - 1] > away:
                    near[at], slots[at] = near[at - 1], slots[at - 1]
                    at -= 1
                near[at], slots[at] = away, slot
                found = min(found + 1, most)
                if found == most:
                    worst = near[most - 1]
    return found


@kernel
def _nearest_subjects(w: Window, given: Any, of: Any, k: int, delay: int, weight: float, old: int, due: int) -> int:
    """Do the same for subjects with several tuples ([DS17] Note 1)."""
    coordinates, positions, labels, moments = given
    subjects, counts, near, slots, away, heap = of
    waiting, held = counts[0], counts[1]  # tuples of each subject; the class it was last in, from 1
    different, classes = 0, 0
    n = len(positions)
    for i in range(n + 1):
        if i < n:
            push(w, coordinates, positions, i)
            different += waiting[subjects[i]] == 0
            waiting[subjects[i]] += 1
            last = positions[i] - delay if i >= old else np.int64(-1)
        else:
            last = due - 1
        while w.ends[WAITING] > 0 and positions[w.row[w.ends[FIRST]]] <= last:
            first = w.ends[FIRST]
            who = subjects[w.row[first]]
            waiting[who] -= 1
            if different < k:
                different -= waiting[who] == 0
                labels[gone(w, first)] = _DROPPED
                continue
            different -= waiting[who] == 0
            ask(w, first)
            here = w.place[first]
            labels[gone(w, first)] = classes
            held[who] = classes + 1
            has, at, size = 1, 0, -1
            few = _choose(w, near, slots, len(slots), weight, here)
            while has < k:
                if at < few:  # a few of the nearest usually suffice; otherwise all are sorted
                    slot = slots[at]
                    at += 1
                else:
                    if size < 0:
                        size = ordered(w, away, heap, weight, here)
                    slot = next_of(away, heap, size)
                    size -= 1
                who = subjects[w.row[slot]]
                has += held[who] != classes + 1
                held[who] = classes + 1
                waiting[who] -= 1
                different -= waiting[who] == 0
                labels[gone(w, slot)] = classes
            moments[classes] = positions[min(i, n - 1)]
            classes += 1
    return classes
