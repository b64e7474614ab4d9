"""Records not yet in a class: distinct points in lanes, the rows at each, and their exact sum.

Block b holds sixteen distinct points coordinate by coordinate, ``x[b, j, lane]``, so that distances are computed side
by side (:mod:`shoal.kernels.runtime.lanes`). A removed point is NaN: no comparison with it is ever true, so scans need
no mask. The rows at a point are a queue in `members`, taken from the lowest.

Coded attributes lie beside the numbers (:mod:`shoal.kernels.space.coded_lanes`). Without any, `coded` is None, and the
compiler drops whatever depends on it. A table without numbers has one column of zeros, for the NaN.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import exact_sums, mean, subtract
from shoal.kernels.runtime.jit import inlined, kernel, part
from shoal.kernels.runtime.lanes import scan_points
from shoal.kernels.space.coded_lanes import (
    Aim,
    CodedLanes,
    aim_at_codes,
    aim_at_mean,
    aim_for,
    coded_lanes,
    count_out,
    move_codes,
    scan_coded,
)
from shoal.types.coded import Coded


class Nearest(NamedTuple):
    """Heap storage: the root, at 0, is the worst of the records kept."""

    distance: np.ndarray
    row: np.ndarray
    slot: np.ndarray


def nearest_few(capacity: int) -> Nearest:
    """Allocate room for `capacity` records."""
    return Nearest(np.empty(capacity), np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64))


@part
def _rise(distances, rows, slots, i, distance, row, slot):
    """Put a record at i, or above it while it is worse than its parent."""
    while i > 0:
        p = (i - 1) >> 1
        if distances[p] > distance or (distances[p] == distance and rows[p] > row):
            break
        distances[i], rows[i], slots[i] = distances[p], rows[p], slots[p]
        i = p
    distances[i], rows[i], slots[i] = distance, row, slot


@part
def sink(distances, rows, slots, distance, row, slot):
    """Put a record in the place of the root, or below it while a child is worse."""
    size = distances.shape[0]
    i, c = 0, 1
    while c < size:
        e = c + 1
        if e < size and (distances[e] > distances[c] or (distances[e] == distances[c] and rows[e] > rows[c])):
            c = e
        if distances[c] < distance or (distances[c] == distance and rows[c] < row):
            break
        distances[i], rows[i], slots[i] = distances[c], rows[c], slots[c]
        i = c
        c = 2 * i + 1
    distances[i], rows[i], slots[i] = distance, row, slot


@part
def offer(nearest, size, remaining, slot, distance):
    """Offer the remaining records at one point, all at `distance`; return how many records the heap holds.

    Rows at a point ascend, so the first one rejected ends the loop.
    """
    distances, rows, slots = nearest.distance, nearest.row, nearest.slot
    for at in range(remaining.head[slot], remaining.end[slot]):
        row = remaining.members[at]
        if size < distances.shape[0]:
            _rise(distances, rows, slots, size, distance, row, slot)
            size += 1
        elif distance < distances[0] or (distance == distances[0] and row < rows[0]):
            sink(distances, rows, slots, distance, row, slot)
        else:
            break
    return size


REMAINING, CLASSES, POINTS, SLOTS = range(4)  #: `Remaining.counts`
WIDTH = 16
NO_ROW = np.iinfo(np.int64).max


class Remaining(NamedTuple):
    """Remaining records of a table of n records in d coordinates."""

    x: np.ndarray  # (blocks, d, WIDTH) the points
    bits: np.ndarray  # the same memory as integers
    head: np.ndarray  # (blocks · WIDTH,) next member at each slot
    end: np.ndarray  # (blocks · WIDTH,) one past its last member
    members: np.ndarray  # (n,) rows grouped by point
    label: np.ndarray  # (n,) class of each member, -1 while it remains
    limbs: np.ndarray  # exact column sums
    base: np.ndarray
    digits: np.ndarray  # scratch for the rounding of sums
    counts: np.ndarray  # (4,) records in no class yet, classes formed, points that remain, slots in use
    coded: CodedLanes | None = None


@kernel
def _put_in_lanes(points, rows, x):
    for slot in range(x.shape[0] * WIDTH):
        b, lane = slot // WIDTH, slot % WIDTH
        for j in range(points.shape[1]):
            x[b, j, lane] = points[rows[slot], j] if slot < rows.shape[0] else np.nan


def in_lanes(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Lay out ``points[rows]`` in blocks of lanes, the last one padded with NaN."""
    x = np.empty((-(-rows.shape[0] // WIDTH), points.shape[1], WIDTH), dtype=points.dtype)
    _put_in_lanes(points, rows, x)
    return x


def with_number(points: Coded) -> Coded:
    """Return points with at least one column of numbers: zeros if there was none."""
    return points if points.numbers.shape[1] else points.beside(np.zeros((len(points), 1)))


def numbers_of(points: np.ndarray | Coded) -> np.ndarray:
    """Return the numbers of the points, at least one of each."""
    return with_number(points).numbers if isinstance(points, Coded) else points


def aim_of(points: np.ndarray | Coded) -> Aim | None:
    """Allocate the table of a query, if there are coded attributes."""
    return aim_for(points) if isinstance(points, Coded) else None


def all_remaining(points: np.ndarray | Coded, members: np.ndarray, bounds: np.ndarray) -> Remaining:
    """Start with every record of `points` remaining; groups of equal records keep the order given."""
    groups = bounds.shape[0] - 1
    coded = coded_lanes(with_number(points), members[bounds[:-1]]) if isinstance(points, Coded) else None
    points = numbers_of(points)
    limbs, base = exact_sums(points.view(np.int64))
    x = in_lanes(points, members[bounds[:-1]])
    head = np.zeros(x.shape[0] * WIDTH, dtype=np.int32)
    end = np.zeros(x.shape[0] * WIDTH, dtype=np.int32)
    head[:groups], end[:groups] = bounds[:-1], bounds[1:]
    return Remaining(
        x,
        x.view(np.int64),
        head,
        end,
        members.astype(np.int32),
        np.full(points.shape[0], -1, dtype=np.int32),
        limbs,
        base,
        np.empty(limbs.shape[1], dtype=np.int64),
        np.array([points.shape[0], 0, groups, groups], dtype=np.int64),
        coded,
    )


@part
def read(remaining, slot, out):
    """Copy the numbers of the point in `slot`."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(out.shape[0]):
        out[j] = remaining.x[b, j, lane]


@part
def aim_at(remaining, slot, q, aim):
    """Measure from the point in `slot`."""
    read(remaining, slot, q)
    aim_at_codes(remaining.coded, aim, slot)


@part
def aim_at_centroid(remaining, q, aim):
    """Measure from the centroid of the remaining records."""
    centroid(remaining, q)
    aim_at_mean(remaining.coded, aim, remaining.counts[REMAINING])


@inlined
def scan(x, coded, block, q, aim, low, high, out):
    """Write the squared distances from a query to sixteen points; return the mask of those ≤ `low` or ≥ `high`."""
    if coded is None:
        return scan_points(x, block, q, low, high, out)
    return scan_coded(x, coded, block, q, aim, low, high, out)


@part
def erase(remaining, slot):
    """Make the point in `slot` invisible to every scan."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(remaining.x.shape[1]):
        remaining.x[b, j, lane] = np.nan


@part
def first_row(remaining, slot):
    """Return the lowest remaining row at `slot`."""
    return np.int64(remaining.members[remaining.head[slot]])


@part
def take(remaining, slot):
    """Move the first record at `slot` into the class being formed; tell whether it was the last at that slot."""
    b, lane = slot // WIDTH, slot % WIDTH
    for j in range(remaining.x.shape[1]):
        subtract(remaining.limbs, remaining.base, j, remaining.bits[b, j, lane])
    count_out(remaining.coded, slot)
    at = remaining.head[slot]
    remaining.head[slot] = at + 1
    remaining.label[at] = remaining.counts[CLASSES]
    remaining.counts[REMAINING] -= 1
    if at + 1 < remaining.end[slot]:
        return False
    remaining.counts[POINTS] -= 1
    return True


@part
def centroid(remaining, out):
    """Write the numbers of the centroid of the remaining records."""
    mean(remaining.limbs, remaining.base, remaining.counts[REMAINING], remaining.digits, out)


@part
def compact(remaining):
    """Close the gaps that classes leave, keeping the order of the points."""
    x, head, end, counts = remaining.x, remaining.head, remaining.end, remaining.counts
    to = 0
    for slot in range(counts[SLOTS]):
        if head[slot] == end[slot]:
            continue
        if to < slot:
            for j in range(x.shape[1]):
                x[to // WIDTH, j, to % WIDTH] = x[slot // WIDTH, j, slot % WIDTH]
            move_codes(remaining.coded, slot, to)
            head[to], end[to] = head[slot], end[slot]
        to += 1
    for slot in range(to, (to + WIDTH - 1) // WIDTH * WIDTH):
        erase(remaining, slot)
    counts[SLOTS] = to


def scattered(count: int) -> np.ndarray:
    """Return 0 … count - 1 in steps of the golden section.

    In this order a scan meets a nearer record ever more rarely; in a sorted table, each record may be nearer than the
    one before.
    """
    step = max(int(count * 0.6180339887498949), 1)
    while math.gcd(step, count) > 1:
        step += 1
    return np.arange(count) * step % max(count, 1)


def scatter(remaining: Remaining, of_member: np.ndarray | None = None) -> Remaining:
    """Lay out the remaining points again, in scattered order; if members are in parts, one part after the other."""
    used = int(remaining.counts[SLOTS])
    slots = np.flatnonzero(remaining.head[:used] < remaining.end[:used])
    slots = slots[scattered(slots.shape[0])]
    if of_member is not None:
        slots = slots[np.argsort(of_member[remaining.head[slots]], kind="stable")]
    x = in_lanes(remaining.x[slots // WIDTH, :, slots % WIDTH], np.arange(slots.shape[0]))
    head = np.zeros(x.shape[0] * WIDTH, dtype=np.int32)
    end = np.zeros(x.shape[0] * WIDTH, dtype=np.int32)
    head[: slots.shape[0]], end[: slots.shape[0]] = remaining.head[slots], remaining.end[slots]
    remaining.counts[SLOTS] = slots.shape[0]
    coded = remaining.coded
    if coded is not None:
        codes = np.zeros((x.shape[0], coded.codes.shape[1], WIDTH), np.int32)
        at = np.arange(slots.shape[0])
        codes[at // WIDTH, :, at % WIDTH] = coded.codes[slots // WIDTH, :, slots % WIDTH]
        coded = coded._replace(codes=codes)
    return remaining._replace(x=x, bits=x.view(np.int64), head=head, end=end, coded=coded)


def final_labels(remaining: Remaining) -> np.ndarray:
    """Make one class of all remaining records, if any; return the class of every row."""
    remaining.label[remaining.label < 0] = remaining.counts[CLASSES]
    labels = np.empty(remaining.members.shape[0], dtype=np.int64)
    labels[remaining.members] = remaining.label
    return labels
