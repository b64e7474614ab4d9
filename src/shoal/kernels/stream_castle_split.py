"""CASTLE splits a cluster of 2k subjects or more: classes of k around its oldest tuples, the rest to the nearest."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import part


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
        room.ring[1] += 1
        room.part[seed] = pieces
        room.seen[room.subjects[seed]] = room.ring[1]
        for _ in range(k - 1):
            least, best = np.inf, -1
            for row in range(first, end):
                free = room.slots[row] == slot and room.part[row] == -1
                if free and room.seen[room.subjects[row]] != room.ring[1]:
                    far = 0.0
                    for j in range(room.x.shape[1]):
                        off = room.x[row, j] - room.x[seed, j]
                        far += off * off
                    if far < least:
                        least, best = far, row
            room.part[best] = pieces
            room.seen[room.subjects[best]] = room.ring[1]
        pieces += 1
    _spread(room, slot, first, end, pieces)
    return pieces


@part
def _left(room, slot, first, end):
    """Return how many subjects of a class have a tuple that is in no piece."""
    room.ring[1] += 1
    different = 0
    for row in range(first, end):
        if room.slots[row] == slot and room.part[row] == -1:
            different += room.seen[room.subjects[row]] != room.ring[1]
            room.seen[room.subjects[row]] = room.ring[1]
    return different


@part
def _spread(room, slot, first, end, pieces):
    """Let each tuple that is in no piece go to the one whose first members' centre is nearest."""
    d = room.x.shape[1]
    for row in range(first, end):
        if room.slots[row] == slot and room.part[row] == -1:
            room.part[row] = -2  # not a member yet, and looked for no more
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
