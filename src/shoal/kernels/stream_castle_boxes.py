"""CASTLE keeps clusters in boxes: how much a tuple enlarges one, and into which one it goes."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import part


@part
def loss(room, slot, row):
    """Return the information loss of a cluster, with one more row if it is not negative: its mean range."""
    total = 0.0
    for j in range(room.x.shape[1]):
        low, high = room.low[slot, j], room.high[slot, j]
        if row >= 0:
            low, high = min(low, room.x[row, j]), max(high, room.x[row, j])
        total += high - low
    return total / room.x.shape[1]


@part
def fit(room, slot, first, end):
    """Let the box of a cluster be that of its members."""
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
    count = min(room.ring[0], len(room.losses))
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
