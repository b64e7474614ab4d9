"""Algorithms 2 and 3 of [DS17]: classes around tuples that expire, of those that are nearest to them.

δ is `delay`, ω `weight`, the buffer ℬ the window.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.stream_window import Window, ask, gone, measure, push, window

_BLOCK = 256
_DROPPED = -2


def nearest(
    coordinates: NDArray[np.float64],
    positions: NDArray[np.int64],
    subjects: NDArray[np.int64] | None,
    rule: tuple[int, int, float],
    old: int,
    due: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each tuple (−1: waits, −2: dropped) and the position at which each class formed.

    `rule` is k, δ and ω. `subjects` are numbered from 0; None: all are different.
    """
    k, delay, weight = rule
    n, d = coordinates.shape
    labels, moments = np.full(n, -1, np.int64), np.empty(n // k + 1, np.int64)
    if not n:
        return labels, moments[:0]
    room = window(d, max(old, min(n, delay + 1)))
    near, slots = np.empty(k), np.empty(k, np.int64)
    given = (coordinates, positions, labels, moments)
    if subjects is None:
        announce(_nearest)
        classes = _nearest(room, given, near, slots, k, delay, weight, old, due)
    else:
        announce(_nearest_subjects)
        counts = np.zeros((2, int(subjects.max()) + 1), np.int64)
        heap = np.empty(len(room.row), np.int64)
        classes = _nearest_subjects(room, given, subjects, counts, heap, k, delay, weight, old, due)
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
            last = due - 1  # what must leave although nothing comes
        while w.ends[2] > 0 and positions[w.row[w.ends[0]]] <= last:  # line 2
            if w.ends[2] < k:
                labels[gone(w, w.ends[0])] = _DROPPED
                continue
            ask(w, w.ends[0])
            labels[gone(w, w.ends[0])] = classes
            _choose(w, near, slots, k - 1, weight)  # line a
            for c in range(k - 1):
                labels[gone(w, slots[c])] = classes  # line b
            moments[classes] = positions[min(i, n - 1)]
            classes += 1
    return classes


@part
def _choose(w, near, slots, most, weight):
    """Find the slots of the nearest ones; of those equally far the ones that came first."""
    distance, ends = w.distance, w.ends
    found, worst = 0, np.inf
    begin = ends[0]
    while begin < ends[1]:
        end = min(begin + _BLOCK, ends[1])
        measure(w, begin, end, weight)
        for s in range(begin, end):
            if distance[s] < worst:
                at = min(found, most - 1)
                while at > 0 and near[at - 1] > distance[s]:
                    near[at], slots[at] = near[at - 1], slots[at - 1]
                    at -= 1
                near[at], slots[at] = distance[s], s
                found = min(found + 1, most)
                if found == most:
                    worst = near[most - 1]
        begin = end


@kernel
def _nearest_subjects(
    w: Window, given: Any, subjects: Any, counts: Any, heap: Any, k: int, delay: int, weight: float, old: int, due: int
) -> int:
    """Do the same where subjects have several tuples ([DS17] Note 1)."""
    coordinates, positions, labels, moments = given
    waiting, held = counts[0], counts[1]  # tuples of each subject; the class that it was last in, from 1 on
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
        while w.ends[2] > 0 and positions[w.row[w.ends[0]]] <= last:
            first = w.ends[0]
            who = subjects[w.row[first]]
            waiting[who] -= 1
            if different < k:
                different -= waiting[who] == 0
                labels[gone(w, first)] = _DROPPED
                continue
            different -= waiting[who] == 0
            ask(w, first)
            labels[gone(w, first)] = classes
            held[who] = classes + 1
            size = _heap(w, heap, weight)
            has = 1
            while has < k:
                slot = _pop(w, heap, size)
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


@part
def _heap(w, heap, weight):
    """Order all that wait so that the nearest can be taken one after the other."""
    ends, size = w.ends, 0
    measure(w, ends[0], ends[1], weight)
    for s in range(ends[0], ends[1]):
        if w.row[s] >= 0:
            heap[size] = s
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sink(w, heap, at, size)
    return size


@part
def _pop(w, heap, size):
    top = heap[0]
    heap[0] = heap[size - 1]
    _sink(w, heap, 0, size - 1)
    return top


@part
def _sink(w, heap, at, size):
    distance = w.distance
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _before(distance, heap[child + 1], heap[child]):
            child += 1
        if not _before(distance, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@part
def _before(distance, a, b):
    return distance[a] < distance[b] or (distance[a] == distance[b] and a < b)
