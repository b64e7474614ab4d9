"""The records not yet in a class: distinct points in lanes, the rows at each, and their exact sum.

Block b holds sixteen distinct points coordinate by coordinate, ``x[b, j, lane]``, so that distances are computed
side by side (:mod:`shoal.kernels.simd`). A point that is gone is NaN: no comparison with it is ever true, so scans
need no mask. The rows at a point are a queue in `members`, taken from the lowest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.exact_sum import exact_sums, mean, subtract
from shoal.kernels.jit import kernel

WIDTH = 16
NO_ROW = np.iinfo(np.int64).max


class Remaining(NamedTuple):
    """What remains of a table of n records in d coordinates."""

    x: np.ndarray  # (blocks, d, WIDTH) the points
    bits: np.ndarray  # the same memory as integers
    head: np.ndarray  # (blocks · WIDTH,) next member at each slot
    end: np.ndarray  # (blocks · WIDTH,) one past its last member
    members: np.ndarray  # (n,) rows, point after point
    label: np.ndarray  # (n,) class of each member, -1 while it remains
    limbs: np.ndarray  # exact column sums
    base: np.ndarray
    digits: np.ndarray  # scratch for the rounding of sums
    counts: np.ndarray  # records remaining, classes formed, points remaining, slots in use


def all_remaining(points: np.ndarray, members: np.ndarray, bounds: np.ndarray, order: np.ndarray) -> Remaining:
    """Start with every record of `points` remaining, groups of equal ones laid out in the given order."""
    n, d = points.shape
    limbs, base = exact_sums(points.view(np.int64))
    blocks = -(-order.shape[0] // WIDTH)
    head = np.zeros(blocks * WIDTH, dtype=np.int32)
    end = np.zeros(blocks * WIDTH, dtype=np.int32)
    head[: order.shape[0]] = bounds[:-1][order]
    end[: order.shape[0]] = bounds[1:][order]
    x = np.empty((blocks, d, WIDTH))
    _fill(points, members, head, order.shape[0], x)
    return Remaining(
        x,
        x.view(np.int64),
        head,
        end,
        members.astype(np.int32),
        np.full(n, -1, dtype=np.int32),
        limbs,
        base,
        np.empty(limbs.shape[1], dtype=np.int64),
        np.array([n, 0, order.shape[0], order.shape[0]], dtype=np.int64),
    )


@kernel
def _fill(points, members, head, used, x):  # type: ignore[no-untyped-def]
    for slot in range(head.shape[0]):
        b, lane = slot // WIDTH, slot % WIDTH
        for j in range(points.shape[1]):
            x[b, j, lane] = points[members[head[slot]], j] if slot < used else np.nan


@kernel
def read(remaining, slot, out):  # type: ignore[no-untyped-def]
    """Copy the point in `slot`."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(out.shape[0]):
        out[j] = remaining.x[b, j, lane]


@kernel
def erase(remaining, slot):  # type: ignore[no-untyped-def]
    """Make the point in `slot` invisible to every scan."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(remaining.x.shape[1]):
        remaining.x[b, j, lane] = np.nan


@kernel
def first_row(remaining, slot):  # type: ignore[no-untyped-def]
    """Lowest remaining row at `slot`."""
    return np.int64(remaining.members[remaining.head[slot]])


@kernel
def take(remaining, slot):  # type: ignore[no-untyped-def]
    """Move the first record at `slot` into the class being formed; tell whether it was the last one there."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(remaining.x.shape[1]):
        subtract(remaining.limbs, remaining.base, j, remaining.bits[b, j, lane])
    at = remaining.head[slot]
    remaining.head[slot] = at + 1
    remaining.label[at] = remaining.counts[1]
    remaining.counts[0] -= 1
    if at + 1 < remaining.end[slot]:
        return False
    remaining.counts[2] -= 1
    return True


@kernel
def centroid(remaining, out):  # type: ignore[no-untyped-def]
    """Write the centroid of the remaining records."""
    mean(remaining.limbs, remaining.base, remaining.counts[0], remaining.digits, out)


@kernel
def compact(remaining):  # type: ignore[no-untyped-def]
    """Close the gaps that classes leave, keeping the order of the points."""
    x, head, end, counts = remaining.x, remaining.head, remaining.end, remaining.counts
    to = 0
    for slot in range(counts[3]):
        if head[slot] == end[slot]:
            continue
        if to < slot:
            for j in range(x.shape[1]):
                x[to // WIDTH, j, to % WIDTH] = x[slot // WIDTH, j, slot % WIDTH]
            head[to], end[to] = head[slot], end[slot]
        to += 1
    for slot in range(to, (to + WIDTH - 1) // WIDTH * WIDTH):
        erase(remaining, slot)
    counts[3] = to


def scatter(remaining: Remaining) -> Remaining:
    """Lay the remaining points out anew, in an order that has nothing to do with where they are.

    A scan then meets a nearer record ever more rarely; in a sorted table each record might be nearer than the last.
    """
    used = int(remaining.counts[3])
    live = np.flatnonzero(remaining.head[:used] < remaining.end[:used])
    order = live[scattered(live.shape[0])]
    blocks = -(-order.shape[0] // WIDTH)
    d = remaining.x.shape[1]
    x = np.full((blocks * WIDTH, d), np.nan)
    x[: order.shape[0]] = remaining.x[order // WIDTH, :, order % WIDTH]
    x = np.ascontiguousarray(x.reshape(blocks, WIDTH, d).transpose(0, 2, 1))
    head = np.zeros(blocks * WIDTH, dtype=np.int32)
    end = np.zeros(blocks * WIDTH, dtype=np.int32)
    head[: order.shape[0]], end[: order.shape[0]] = remaining.head[order], remaining.end[order]
    remaining.counts[3] = order.shape[0]
    return remaining._replace(x=x, bits=x.view(np.int64), head=head, end=end)


def scattered(count: int) -> np.ndarray:
    """Return 0 … count - 1 in steps of the golden section, each once."""
    step = max(int(count * 0.6180339887498949), 1)
    while np.gcd(step, count) > 1:
        step += 1
    return np.arange(count) * step % max(count, 1)


def final_labels(remaining: Remaining) -> np.ndarray:
    """Make one class of all records that remain, if any do; return the class of every row."""
    remaining.label[remaining.label < 0] = remaining.counts[1]
    labels = np.empty(remaining.members.shape[0], dtype=np.int64)
    labels[remaining.members] = remaining.label
    return labels
