"""CASTLE: clusters of pending tuples, each with the bounding box of its members.

Symbols: Γ are the non-empty clusters, in slots 0 … β − 1; τ is the mean loss of the last μ classes, whose losses are in
the ring buffer `losses`; `ring` counts all of them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.types.stream import Waiting

_LOSSES, _STAMP = range(2)  # `ring`: losses so far, an ever-growing stamp


@part
def loss(room, slot, row):
    """Return the information loss of a cluster, its mean range, with one more row unless `row` is negative."""
    total = 0.0
    for j in range(room.x.shape[1]):
        low, high = room.low[slot, j], room.high[slot, j]
        if row >= 0:
            low, high = min(low, room.x[row, j]), max(high, room.x[row, j])
        total += high - low
    return total / room.x.shape[1]


@part
def fit(room, slot, first, end):
    """Fit the box of a cluster to its members."""
    size = 0
    for row in range(first, end):
        if room.slots[row] == slot:
            for j in range(room.x.shape[1]):
                at = room.x[row, j]
                room.low[slot, j] = at if size == 0 else min(room.low[slot, j], at)
                room.high[slot, j] = at if size == 0 else max(room.high[slot, j], at)
            size += 1
    room.sizes[slot] = size


@part
def _tau(room):
    """Return the mean loss of the last μ classes."""
    count = min(room.ring[_LOSSES], len(room.losses))
    total = 0.0
    for a in range(count):
        total += room.losses[a]
    return total / count if count > 0 else 0.0


@part
def insert(room, rule, row):
    """Put a tuple into the cluster that it enlarges least, or into a new one (best_selection)."""
    least, tau = np.inf, _tau(room)
    clusters, free = 0, -1
    for slot in range(rule.beta):
        if room.sizes[slot] == 0:
            free = slot if free < 0 else free
        else:
            clusters += 1
            least = min(least, loss(room, slot, row) - loss(room, slot, -1))
    best, best_ok = -1, -1
    for slot in range(rule.beta):
        if room.sizes[slot] > 0 and loss(room, slot, row) - loss(room, slot, -1) == least:
            if best < 0 or room.sizes[slot] < room.sizes[best]:
                best = slot
            if loss(room, slot, row) <= tau and (best_ok < 0 or room.sizes[slot] < room.sizes[best_ok]):
                best_ok = slot
    slot = best_ok if best_ok >= 0 else best if clusters >= rule.beta else free
    for j in range(room.x.shape[1]):
        at = room.x[row, j]
        room.low[slot, j] = at if room.sizes[slot] == 0 else min(room.low[slot, j], at)
        room.high[slot, j] = at if room.sizes[slot] == 0 else max(room.high[slot, j], at)
    room.slots[row] = slot
    room.sizes[slot] += 1


@part
def split(room, k, slot, first, end, different):
    """Number the pieces of a class of 2k subjects or more from 0; return how many there are."""
    for row in range(first, end):
        if room.slots[row] == slot:
            room.part[row] = -1 if different >= 2 * k else 0
    if different < 2 * k:
        return 1
    pieces = 0
    while _left(room, slot, first, end) >= k:
        seed = first
        while room.slots[seed] != slot or room.part[seed] != -1:
            seed += 1
        room.ring[_STAMP] += 1
        room.part[seed] = pieces
        room.seen[room.subjects[seed]] = room.ring[_STAMP]
        for _ in range(k - 1):
            least, best = np.inf, -1
            for row in range(first, end):
                free = room.slots[row] == slot and room.part[row] == -1
                if free and room.seen[room.subjects[row]] != room.ring[_STAMP]:
                    far = 0.0
                    for j in range(room.x.shape[1]):
                        off = room.x[row, j] - room.x[seed, j]
                        far += off * off
                    if far < least:
                        least, best = far, row
            room.part[best] = pieces
            room.seen[room.subjects[best]] = room.ring[_STAMP]
        pieces += 1
    _spread(room, slot, first, end, pieces)
    return pieces


@part
def _left(room, slot, first, end):
    """Return how many subjects of a class have a tuple without a piece."""
    room.ring[_STAMP] += 1
    different = 0
    for row in range(first, end):
        if room.slots[row] == slot and room.part[row] == -1:
            different += room.seen[room.subjects[row]] != room.ring[_STAMP]
            room.seen[room.subjects[row]] = room.ring[_STAMP]
    return different


@part
def _spread(room, slot, first, end, pieces):
    """Assign each tuple without a piece to the piece whose initial members have the nearest centre."""
    d = room.x.shape[1]
    for row in range(first, end):
        if room.slots[row] == slot and room.part[row] == -1:
            room.part[row] = -2  # not a member yet, and no longer searched for
    for row in range(first, end):
        if room.slots[row] == slot and room.part[row] == -2:
            least, best = np.inf, 0
            for piece in range(pieces):
                far = 0.0
                for j in range(d):
                    total, size = 0.0, 0
                    for other in range(first, end):
                        if room.slots[other] == slot and room.part[other] == piece:
                            total += room.x[other, j]
                            size += 1
                    off = room.x[row, j] - total / size
                    far += off * off
                if far < least:
                    least, best = far, piece
            room.part[row] = -3 - best
    for row in range(first, end):
        if room.slots[row] == slot and room.part[row] <= -3:
            room.part[row] = -3 - room.part[row]


_DROPPED = -2
_NOWHERE = -1


class Castle(NamedTuple):
    """Parameters of CASTLE."""

    k: int
    delay: int
    weight: float
    beta: int
    drops: bool  #: whether to reject a tuple whose cluster is smaller than most


class _Room(NamedTuple):
    x: np.ndarray  #: (n, d) coordinates, with the position times ω where it has a weight
    positions: np.ndarray
    subjects: np.ndarray
    labels: np.ndarray
    moments: np.ndarray
    slots: np.ndarray  #: the cluster of each pending row; −1: not pending
    low: np.ndarray  #: (β, d)
    high: np.ndarray
    sizes: np.ndarray  #: (β,) tuples of each cluster, 0: free
    seen: np.ndarray  #: scratch for each subject
    part: np.ndarray  #: scratch for each row: the piece of a class that is split
    losses: np.ndarray  #: (μ,)
    ring: np.ndarray  #: (2,): number of losses; an ever-growing stamp


def castle(
    waiting: Waiting, rule: Castle, slots: np.ndarray, losses: np.ndarray, ring: np.ndarray, due: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, moments, and the clusters of tuples still pending; `slots` are those of the old ones."""
    n = len(waiting.positions)
    labels, moments = np.full(n, -1, np.int64), np.empty(n // rule.k + 1, np.int64)
    if not n:
        return labels, moments[:0], slots
    x = waiting.coordinates
    if rule.weight:
        x = np.column_stack((x, rule.weight * waiting.positions))
    subjects = np.unique(waiting.subjects, return_inverse=True)[1].astype(np.int64)
    own = np.full(n, _NOWHERE, np.int64)
    own[: len(slots)] = slots
    d = x.shape[1]
    room = _Room(
        np.ascontiguousarray(x), waiting.positions, subjects, labels, moments, own, np.empty((rule.beta, d)),
        np.empty((rule.beta, d)), np.zeros(rule.beta, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64),
        losses, np.concatenate((ring, [0])),
    )  # fmt: skip
    announce(_castle)
    classes = _castle(room, rule, waiting.old, due)
    ring[_LOSSES] = room.ring[_LOSSES]
    return labels, moments[: int(classes)], own[labels == -1]


@kernel
def _castle(room, rule, old, due):
    n, first, classes = len(room.positions), 0, 0
    for slot in range(rule.beta):
        fit(room, slot, 0, old)
    for i in range(n + 1):
        last = due - 1
        if i < n:
            last = np.int64(-1)
            if i >= old:
                insert(room, rule, i)
                last = room.positions[i] - rule.delay
        arrived = min(i + 1, n)
        while first < arrived and (room.slots[first] < 0 or room.positions[first] <= last):
            if room.slots[first] >= 0:
                classes = _delay_constraint(room, rule, first, arrived, classes)
            first += 1
    return classes


@part
def _subjects_of(room, slot, first, end):
    """Return the number of subjects in a cluster; slot −1: in all pending tuples."""
    room.ring[_STAMP] += 1
    different = 0
    for row in range(first, end):
        if room.slots[row] >= 0 and (slot < 0 or room.slots[row] == slot):
            different += room.seen[room.subjects[row]] != room.ring[_STAMP]
            room.seen[room.subjects[row]] = room.ring[_STAMP]
    return different


@part
def _delay_constraint(room, rule, row, end, classes):
    """Release the expiring tuple with its cluster, merged with others if it is too small; or reject it."""
    slot = room.slots[row]
    different = _subjects_of(room, slot, row, end)
    if different < rule.k:
        clusters, larger = 0, 0
        for other in range(rule.beta):
            clusters += room.sizes[other] > 0
            larger += room.sizes[other] > room.sizes[slot]
        if (rule.drops and 2 * larger > clusters) or _subjects_of(room, -1, row, end) < rule.k:
            room.labels[row], room.slots[row] = _DROPPED, _NOWHERE
            fit(room, slot, row, end)
            return classes
        while different < rule.k:
            _merge(room, rule, slot, row, end)
            different = _subjects_of(room, slot, row, end)
    pieces = split(room, rule.k, slot, row, end, different)
    now = room.positions[end - 1]
    for piece in range(pieces):
        _leave(room, slot, piece, row, end)
        room.moments[classes + piece] = now
    for other in range(row, end):
        if room.slots[other] == slot:
            room.labels[other], room.slots[other] = classes + room.part[other], _NOWHERE
    room.sizes[slot] = 0
    return classes + pieces


@part
def _merge(room, rule, slot, first, end):
    """Merge in the cluster whose box enlarges this one least."""
    d = room.x.shape[1]
    least, best, own = np.inf, -1, loss(room, slot, -1)
    for other in range(rule.beta):
        if other != slot and room.sizes[other] > 0:
            total = 0.0
            for j in range(d):
                total += max(room.high[slot, j], room.high[other, j]) - min(room.low[slot, j], room.low[other, j])
            enlarged = total / d - own
            if enlarged < least:
                least, best = enlarged, other
    for row in range(first, end):
        if room.slots[row] == best:
            room.slots[row] = slot
    for j in range(d):
        room.low[slot, j] = min(room.low[slot, j], room.low[best, j])
        room.high[slot, j] = max(room.high[slot, j], room.high[best, j])
    room.sizes[slot] += room.sizes[best]
    room.sizes[best] = 0


@part
def _leave(room, slot, piece, first, end):
    """Record the loss of a released class."""
    total = 0.0
    for j in range(room.x.shape[1]):
        low, high = np.inf, -np.inf
        for row in range(first, end):
            if room.slots[row] == slot and room.part[row] == piece:
                low, high = min(low, room.x[row, j]), max(high, room.x[row, j])
        total += high - low
    room.losses[room.ring[_LOSSES] % len(room.losses)] = total / room.x.shape[1]
    room.ring[_LOSSES] += 1
