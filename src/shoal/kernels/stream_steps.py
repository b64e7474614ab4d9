"""Tuples come and expire, one after the other; classes form around those that expire, and hold what is demanded."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.stream_demands import mend
from shoal.kernels.stream_excess import Demanded, counted, excess, with_room
from shoal.kernels.stream_look_ahead import look_ahead, squared
from shoal.types.stream import Waiting

_DROPPED = -2


class Rule(NamedTuple):
    """How classes form; `reach` · k candidates are looked at, with 1 the nearest are taken."""

    k: int
    delay: int
    weight: float
    reach: int
    young: float = 0.0  #: part of its price that a tuple counts with when it comes
    old: float = 0.0  #: and when it expires
    more: float = 0.0  #: part of that for tuples beyond k


class _Given(NamedTuple):
    coordinates: np.ndarray
    positions: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    moments: np.ndarray


class _Room(NamedTuple):
    subjects: np.ndarray  #: of each row, numbered from 0
    held: np.ndarray  #: scratch for each subject
    waits: np.ndarray  #: rows that wait, oldest first
    far: np.ndarray  #: squared distance of each from the one that expires
    order: np.ndarray  #: places in `waits`, nearest first as far as they were looked at
    members: np.ndarray  #: places in `waits`; while candidates are compared, places in `order`
    inside: np.ndarray
    price: np.ndarray
    sums: np.ndarray
    near: np.ndarray
    between: np.ndarray


def steps(waiting: Waiting, rule: Rule, demanded: Demanded, due: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each tuple (−1: waits, −2: dropped) and the position at which each class formed."""
    n = len(waiting.positions)
    labels, moments = np.full(n, -1, np.int64), np.empty(n // rule.k + 1, np.int64)
    if not n:
        return labels, moments[:0]
    subjects = np.unique(waiting.subjects, return_inverse=True)[1].astype(np.int64)
    most = min(rule.reach * rule.k, n)
    few = most if rule.reach > 1 else 1
    room = _Room(
        subjects, np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64),
        np.empty(n + 1, np.int64), np.empty(n, np.bool_), np.empty(few), np.empty(few), np.empty(2 * rule.k),
        np.empty((few, few)),
    )  # fmt: skip
    coordinates = np.ascontiguousarray(waiting.coordinates)
    given = _Given(coordinates, waiting.positions, np.ascontiguousarray(waiting.values), labels, moments)
    announce(_steps)
    classes = _steps(given, room, rule, with_room(demanded, n), waiting.old, due)
    return labels, moments[: int(classes)]


@kernel
def _steps(given, room, rule, demanded, old, due):
    positions, waits = given.positions, room.waits
    n, m, classes = len(positions), 0, 0
    for i in range(n + 1):
        last = due - 1
        if i < n:
            waits[m] = i
            m += 1
            last = np.int64(-1)
            if i >= old:
                counted(demanded, given.values, i)
                last = positions[i] - rule.delay
        while m > 0 and positions[waits[0]] <= last:
            now = positions[min(i, n - 1)]
            s = _class(given, room, rule, demanded, m, now)
            if s == 0:
                given.labels[waits[0]] = _DROPPED
            else:
                for a in range(s):
                    given.labels[waits[room.members[a]]] = classes
                given.moments[classes] = now
                classes += 1
            left = 0
            for a in range(m):
                if given.labels[waits[a]] == -1:
                    waits[left] = waits[a]
                    left += 1
            m = left
    return classes


@part
def _class(given, room, rule, demanded, m, now):
    """Choose a class for the oldest; return its size, 0: there is none."""
    waits, far, order, members = room.waits, room.far, room.order, room.members
    for a in range(m):
        far[a] = squared(given, rule.weight, waits[0], waits[a])
        order[a] = a
        room.held[room.subjects[waits[a]]] = 0
    far[0] = -1.0
    for a in range(m // 2 - 1, -1, -1):
        _sift(order, far, a, m)
    whole, size, different = m, 0, 0  # the heap is order[:whole]; what was taken from it is kept in members
    while whole > 0 and different < rule.reach * rule.k:
        place = _pop(order, far, whole)
        whole -= 1
        who = room.subjects[waits[place]]
        if room.held[who] == 0 or rule.reach == 1:
            members[size] = place
            size += 1
        different += room.held[who] == 0
        room.held[who] = 1
    if different < rule.k:
        return 0
    if rule.reach > 1:
        for a in range(size):
            order[a] = members[a]
        size = look_ahead(given, room, rule, waits, m, order, size, now)
    if len(demanded.kind) > 0 and excess(demanded, given.values, waits, members, size) > 0.0:
        _sort(order, far, m)
        far[0] = 0.0
        size = mend(demanded, room, given.values, waits, m, order, size, rule.k)
    return size


@part
def _before(far, a, b):
    return far[a] < far[b] or (far[a] == far[b] and a < b)


@part
def _sift(heap, far, at, whole):
    """Let a place sink until none below it is nearer."""
    while True:
        first = at
        for child in range(2 * at + 1, min(2 * at + 3, whole)):
            if _before(far, heap[child], heap[first]):
                first = child
        if first == at:
            return
        heap[at], heap[first] = heap[first], heap[at]
        at = first


@part
def _pop(heap, far, whole):
    """Take the nearest; it stays behind the heap."""
    place = heap[0]
    heap[0], heap[whole - 1] = heap[whole - 1], place
    _sift(heap, far, 0, whole - 1)
    return place


@part
def _sort(order, far, m):
    """Sort all places, nearest first."""
    for a in range(m):
        order[a] = a
    for a in range(m // 2 - 1, -1, -1):
        _sift(order, far, a, m)
    for whole in range(m, 0, -1):
        _pop(order, far, whole)
    for a in range(m // 2):  # the nearest was put last
        order[a], order[m - 1 - a] = order[m - 1 - a], order[a]
