"""k-anonymity-first ([SC15] Algorithm 2): classes of k nearest records, exchanged for others while that brings them
closer to the table.

Symbols of the paper: x the record a class is formed around, X' the remaining records, y a candidate to join the class,
y' the member it would replace. Remaining points lie coordinate by coordinate in the order of rows; one that is gone is
NaN.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.earth_mover import Closeness
from shoal.kernels.exact_sum import exact_sums, mean, subtract
from shoal.kernels.exchange import (
    close_enough,
    count_in,
    exchange,
    farther,
    least_on_line,
    settle,
    work_after,
)
from shoal.kernels.jit import announce, kernel, part
from shoal.kernels.lazy_order import LazyOrder, following, lazy_order, start
from shoal.kernels.mdav import in_range
from shoal.progress import report

_RECORDS_PER_CALL = 20_000_000  # some seconds at most between two reports


class _State(NamedTuple):
    x: np.ndarray  # (d, n) points, NaN where they are gone
    row: np.ndarray  # (n,) row of each slot
    label: np.ndarray  # (n,) class of each row, -1 while it remains
    bits: np.ndarray  # (n, d) the points as integers
    limbs: np.ndarray  # exact column sums of what remains
    base: np.ndarray
    digits: np.ndarray
    q: np.ndarray  # (d,) distances are measured from here
    distance: np.ndarray  # (n,) of each slot
    order: LazyOrder
    member: np.ndarray  # (k,) slots of the class, in the order in which they joined
    counts: np.ndarray  # records remaining; classes formed; slots in use; records looked at


@part
def _measure(s):
    """Compute the squared distance of every slot from q."""
    used = s.counts[2]
    s.counts[3] += used
    for i in range(used):
        s.distance[i] = 0.0
    for j in range(s.x.shape[0]):
        for i in range(used):
            gap = s.x[j, i] - s.q[j]
            s.distance[i] += gap * gap


@part
def _farthest(s):
    best, at = -1.0, 0
    for i in range(s.counts[2]):
        if s.distance[i] > best:
            best, at = s.distance[i], i
    return at


@part
def _take(s, slot):
    row = s.row[slot]
    s.label[row] = s.counts[1]
    s.counts[0] -= 1
    for j in range(s.x.shape[0]):
        subtract(s.limbs, s.base, j, s.bits[row, j])
        s.x[j, slot] = np.nan
    s.distance[slot] = np.nan


@part
def _compact(s):
    to = 0
    for i in range(s.counts[2]):
        if s.label[s.row[i]] >= 0:
            continue
        for j in range(s.x.shape[0]):
            s.x[j, to] = s.x[j, i]
        s.row[to] = s.row[i]
        to += 1
    s.counts[2] = to


@part
def _replaced(c, s, e, y):
    """Find the member y' whose exchange for y brings the class closest to the table; -1 if none brings it closer."""
    row, attributes, best_at = s.row[y], e.work.shape[0], 0
    for at in range(1, attributes):
        if farther(c, at, e.work[at], best_at, e.work[best_at]):
            best_at = at
    best, found = e.work[best_at], -1
    if attributes == 1 and c.line[0] and least_on_line(c, e, 0, np.int64(c.codes[0, row])) >= best:
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
def _join(c, s, e, i, slot, gone):
    """Let a record take place i of the class; the codes of another that is `gone` are counted out."""
    s.member[i] = slot
    for at in range(e.work.shape[0]):
        code = np.int64(c.codes[at, s.row[slot]])
        if gone >= 0 and not c.line[at]:
            count_in(c, e, at, np.int64(c.codes[at, s.row[gone]]), -1)
        e.code[at, i] = code
        if not c.line[at]:
            count_in(c, e, at, code, 1)


@part
def _exchange(c, s, e, i, y):
    """Let y join in the place of member i; those who joined after that member move up."""
    k, gone = s.member.shape[0], s.member[i]
    for p in range(i, k - 1):
        s.member[p] = s.member[p + 1]
        for at in range(e.work.shape[0]):
            e.code[at, p] = e.code[at, p + 1]
    _join(c, s, e, k - 1, y, gone)
    for at in range(e.work.shape[0]):
        settle(c, e, at)


@part
def _generate_cluster(c, s, e, x, swap):
    """[SC15] Alg. 2, GenerateCluster."""
    k, used = s.member.shape[0], s.counts[2]
    if s.counts[0] < 2 * k:
        for i in range(used):
            if s.label[s.row[i]] < 0:
                _take(s, i)
        s.counts[1] += 1
        return
    for j in range(s.q.shape[0]):
        s.q[j] = s.x[j, x]
    _measure(s)
    size = 0
    for i in range(used):
        if i != x and s.label[s.row[i]] < 0:
            s.order.key[size], s.order.slot[size] = s.distance[i], i
            size += 1
    start(s.order, size)
    for i in range(k):
        _join(c, s, e, i, x if i == 0 else following(s.order), -1)
    for at in range(e.work.shape[0]):
        settle(c, e, at)
    while swap and not close_enough(c, e) and e.work[0] != e.floor:
        y = following(s.order)  # the record in X' that is closest to x
        if y < 0:
            break
        s.counts[3] += 1
        i = _replaced(c, s, e, y)
        if i >= 0:
            _exchange(c, s, e, i, y)
    for i in range(k):
        for at in range(e.work.shape[0]):
            if not c.line[at]:
                count_in(c, e, at, e.code[at, i], -1)
        _take(s, s.member[i])
    s.counts[1] += 1


@kernel
def k_first_steps(c, s, e, swap, budget):
    """Form classes, two at a time, until none remains or `budget` records were looked at."""
    s.counts[3] = 0
    while s.counts[0] > 0 and s.counts[3] < budget:
        if s.counts[2] - s.counts[0] > s.counts[2] // 8:
            _compact(s)
        mean(s.limbs, s.base, s.counts[0], s.digits, s.q)
        _measure(s)
        _generate_cluster(c, s, e, _farthest(s), swap)
        if s.counts[0] > 0:
            _generate_cluster(c, s, e, _farthest(s), swap)  # distances are still those from x_0


def k_first(points: np.ndarray, k: int, c: Closeness) -> np.ndarray:
    """Partition points by [SC15] Algorithm 2; classes may still be too far from the table.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, n ≥ k, d ≥ 1. Left as they are.
    k : int
        Least size of a class, at least 2.
    c : Closeness
        What classes should be close to, and how close.

    Returns
    -------
    labels : (n,) int64
        Class of each record; classes are numbered in the order they are formed.

    Guarantee: every class has k records, but for the last, which has k to 2k - 1. Labels are those of the definition:
    squared distances are sums of (xⱼ - qⱼ)² in float64 in coordinate order, the average is the correctly rounded sum
    divided by the number of records, distances from the table are compared as integers; ties go to the lowest row,
    and among members to the one that joined first.

    Complexity: O(n²·d/k) for distances. Up to n²/2k candidates, each O(log n) for its place in the order; O(log k) to
    see that it cannot help on one ordered attribute, else O(k) for each attribute, times the height of a tree. O(n·d)
    memory.

    Departures: where n · k · (m - 1) is beyond 2⁶² for m different values, no records are exchanged: merging must do.
    """
    announce(k_first_steps)
    points = np.ascontiguousarray(in_range(points))
    n, d = points.shape
    limbs, base = exact_sums(points.view(np.int64))
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
        np.empty(k, np.int64),
        np.array([n, 0, n, 0]),
    )
    room, swap = exchange(c, k), bool(k <= c.exact.min())
    while s.counts[0] > 0:
        k_first_steps(c, s, room, swap, _RECORDS_PER_CALL)
        report(n - int(s.counts[0]), n)
    return s.label
