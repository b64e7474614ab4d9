"""k-anonymity-first ([SC15] Algorithm 2): classes of k nearest records, exchanged until they are close to the table.

Symbols of the paper: x the record a class is formed around, X' the remaining records, y a candidate to join the class,
y' the member it would replace. Remaining points lie coordinate by coordinate in the order of rows; a removed one is
NaN. `s` is the state of the partition, `e` the confidential attributes of the class
(:mod:`shoal.kernels.closeness.swap_distance`).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import exact_sums, in_range, mean, subtract
from shoal.kernels.closeness.earth_mover import Closeness
from shoal.kernels.closeness.swap_distance import (
    close_enough,
    count_in,
    exchange,
    farther,
    helpful,
    helps_on_line,
    settle,
    work_after,
)
from shoal.kernels.mdav.v_mdav import CLASSES, REMAINING, SLOTS, compact, measure
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.coded_lanes import CodedRows, aim_at_mean_of_rows, coded_rows, count_row_out
from shoal.kernels.space.nearest_first import LazyOrder, following, lazy_order, start
from shoal.kernels.space.remaining import numbers_of, with_number
from shoal.progress import report
from shoal.types.coded import Coded

LOOKED_AT = 3  #: index in the counts of the state
_CHEAPER = 16  # finding a record by value is this many times cheaper than sorting it by distance


@part
def _replaced(c, s, e, y):
    """Find the member y' whose exchange for y brings the class closest to the table; -1 if none brings it closer."""
    row, attributes, best_at = s.row[y], e.work.shape[0], 0
    for at in range(1, attributes):
        if farther(c, at, e.work[at], best_at, e.work[best_at]):
            best_at = at
    best, found = e.work[best_at], -1
    if attributes == 1 and c.line[0] and not helps_on_line(c, e, 0, np.int64(c.codes[0, row])):
        return found
    for i in range(e.code.shape[1]):
        most_at, most = 0, np.int64(-1)
        for at in range(attributes):
            here = work_after(c, e, at, i, np.int64(c.codes[at, row]))
            if not farther(c, best_at, best, at, here):
                most = np.int64(-1)
                break
            if most < 0 or farther(c, at, here, most_at, most):
                most_at, most = at, here
        if most >= 0:
            best_at, best, found = most_at, most, i
    return found


@part
def join(c, s, e, i, slot, gone):
    """Put a record at position i of the class; subtract the codes of the record `gone`, if any."""
    s.member[i] = slot
    for at in range(e.work.shape[0]):
        code = np.int64(c.codes[at, s.row[slot]])
        if gone >= 0 and not c.line[at]:
            count_in(c, e, at, np.int64(c.codes[at, s.row[gone]]), -1)
        e.code[at, i] = code
        if not c.line[at]:
            count_in(c, e, at, code, 1)


@part
def swap(c, s, e, i, y):
    """Replace member i by y; members that joined after it move up."""
    k, gone = s.member.shape[0], s.member[i]
    for p in range(i, k - 1):
        s.member[p] = s.member[p + 1]
        for at in range(e.work.shape[0]):
            e.code[at, p] = e.code[at, p + 1]
    join(c, s, e, k - 1, y, gone)
    for at in range(e.work.shape[0]):
        settle(c, e, at)


@part
def _after(s, y, other):
    """Tell whether a record is farther from x than another, or equally far and in a higher row."""
    return s.distance[y] > s.distance[other] or (s.distance[y] == s.distance[other] and y > other)


@part
def _records_that_help(c, s, e):
    """Return how many records of the table, taken or not, have a value that would bring the class closer to it."""
    count = 0
    for side in range(2 * e.code.shape[1] + 2):
        begin, end = helpful(c, e, 0, side // 2, side % 2 == 1)
        count += s.first[end] - s.first[begin]
    return count


@part
def _next_that_helps(c, s, e, x, last):
    """Return the record nearest to x, among those after `last`, that would bring the class closer; -1 if none would."""
    found = -1
    for side in range(2 * e.code.shape[1] + 2):
        begin, end = helpful(c, e, 0, side // 2, side % 2 == 1)
        for place in range(s.first[begin], s.first[end]):
            row = s.by_value[place]
            y = s.slot[row]
            s.counts[LOOKED_AT] += 1
            if s.label[row] >= 0 or y == x or not _after(s, y, last):
                continue
            if found < 0 or _after(s, found, y):
                found = y
    return found


@part
def refine(c, s, e, x, look):
    """Exchange members for other records, nearest to x first, until the class is close enough or no exchange helps.

    After many candidates in a row that did not help, the search switches from distances to values: the next candidate
    is the same either way. This pays once the wasted effort equals the cost of the search by value.
    """
    line, waited, last, by_value, enough = s.first.shape[0] > 0, 0, np.int64(-1), False, look
    while not close_enough(c, e) and e.work[0] != e.floor:
        if line and not by_value and waited >= enough and last >= 0:
            few = _records_that_help(c, s, e) // _CHEAPER
            by_value, enough = few <= waited, few
        y = _next_that_helps(c, s, e, x, last) if by_value else following(s.order)
        if y < 0:
            break
        waited, last = waited + 1, y
        s.counts[LOOKED_AT] += 1
        i = _replaced(c, s, e, y)
        if i >= 0:
            swap(c, s, e, i, y)
            waited, enough = 0, look


_LOOK = 32
_RECORDS_PER_CALL = 20_000_000  # at most a few seconds between two progress reports


class _State(NamedTuple):
    x: np.ndarray  # (d, n) points, NaN where removed
    row: np.ndarray  # (n,) row of each slot
    label: np.ndarray  # (n,) class of each row, -1 while it remains
    bits: np.ndarray  # (n, d) the points as integers
    limbs: np.ndarray  # exact column sums of the remaining records
    base: np.ndarray
    digits: np.ndarray
    q: np.ndarray  # (d,) the query point
    distance: np.ndarray  # (n,) of each slot
    order: LazyOrder
    slot: np.ndarray  # (n,) slot of each row
    by_value: np.ndarray  # (n,) rows by value on a single line; each value has …
    first: np.ndarray  # (values + 1,) … its first row here; empty unless there is a single line
    member: np.ndarray  # (k,) slots of the class, in the order in which they joined
    counts: np.ndarray  # (4,) records without a class, classes formed, slots in use, records scanned
    coded: CodedRows | None


@part
def _farthest(s):
    best, at = -1.0, 0
    for i in range(s.counts[SLOTS]):
        if s.distance[i] > best:
            best, at = s.distance[i], i
    return at


@part
def _take(s, slot):
    row = s.row[slot]
    s.label[row] = s.counts[CLASSES]
    s.counts[REMAINING] -= 1
    for j in range(s.x.shape[0]):
        subtract(s.limbs, s.base, j, s.bits[row, j])
        s.x[j, slot] = np.nan
    count_row_out(s.coded, slot)
    s.distance[slot] = np.nan


@part
def _generate_cluster(c, s, e, x, look):
    """[SC15] Alg. 2, GenerateCluster."""
    k, used = s.member.shape[0], s.counts[SLOTS]
    if s.counts[REMAINING] < 2 * k:
        for i in range(used):
            if s.label[s.row[i]] < 0:
                _take(s, i)
        s.counts[CLASSES] += 1
        return
    measure(s, x)
    s.counts[LOOKED_AT] += used
    size = 0
    for i in range(used):
        if i != x and s.label[s.row[i]] < 0:
            s.order.key[size], s.order.slot[size] = s.distance[i], i
            size += 1
    start(s.order, size)
    for i in range(k):
        join(c, s, e, i, x if i == 0 else following(s.order), -1)
    for at in range(e.work.shape[0]):
        settle(c, e, at)
    if look >= 0:
        refine(c, s, e, x, look)
    for i in range(k):
        for at in range(e.work.shape[0]):
            if not c.line[at]:
                count_in(c, e, at, e.code[at, i], -1)
        _take(s, s.member[i])
    s.counts[CLASSES] += 1


@kernel
def k_first_steps(c, s, e, look, budget):
    """Form classes, two at a time, until no record remains or `budget` records were scanned.

    With a negative `look`, no records are exchanged.
    """
    s.counts[LOOKED_AT] = 0
    while s.counts[REMAINING] > 0 and s.counts[LOOKED_AT] < budget:
        compact(s)
        mean(s.limbs, s.base, s.counts[REMAINING], s.digits, s.q)
        aim_at_mean_of_rows(s.coded, s.counts[REMAINING])
        measure(s, np.int64(-1))
        s.counts[LOOKED_AT] += s.counts[SLOTS]
        _generate_cluster(c, s, e, _farthest(s), look)
        if s.counts[REMAINING] > 0:
            _generate_cluster(c, s, e, _farthest(s), look)  # distances are still those from x_0


def k_first(points: np.ndarray | Coded, k: int, c: Closeness, *, look: int = _LOOK) -> np.ndarray:
    """Partition points by [SC15] Algorithm 2; classes may still be too far from the table.

    Classes are numbered in the order they are formed. After `look` candidates in a row that do not help, the search
    goes by value; this changes only the running time. Distances from the table are compared as integers; if n · k · (m
    - 1) exceeds 2⁶² for m distinct values, no records are exchanged, and merging alone must reach t.
    """
    announce(k_first_steps)
    places = in_range(points)
    places = with_number(places) if isinstance(places, Coded) else places
    points = np.ascontiguousarray(numbers_of(places))
    n, d = points.shape
    limbs, base = exact_sums(points.view(np.int64))
    line = len(c.line) == 1 and c.line[0]
    values = np.arange(len(c.below) + 1 if line else 0)
    by_value = np.argsort(c.codes[0], kind="stable")
    s = _State(
        points.T.copy(),
        np.arange(n),
        np.full(n, -1),
        points.view(np.int64),
        limbs,
        base,
        np.empty(limbs.shape[1], np.int64),
        np.empty(d),
        np.empty(n),
        lazy_order(n),
        np.arange(n),
        by_value,
        np.searchsorted(c.codes[0][by_value], values),
        np.empty(k, np.int64),
        np.array([n, 0, n, 0]),
        coded_rows(places),
    )
    room, look = exchange(c, k), look if k <= c.exact.min() else -1
    while s.counts[REMAINING] > 0:
        k_first_steps(c, s, room, look, _RECORDS_PER_CALL)
        report(n - int(s.counts[REMAINING]), n)
    return s.label
