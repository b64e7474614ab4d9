"""k-anonymity-first ([SC15] Algorithm 2): classes of k nearest records, exchanged for others while that brings them
closer to the table.

Symbols of the paper: x the record a class is formed around, X' the remaining records, y a candidate to join the class,
y' the member it would replace. Remaining points lie as in :mod:`shoal.kernels.mdav.v_mdav`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.exact_sum import exact_sums, mean, subtract
from shoal.kernels.arithmetic.in_range import in_range
from shoal.kernels.closeness.earth_mover import Closeness
from shoal.kernels.closeness.k_first_class import LOOKED_AT, join, refine
from shoal.kernels.closeness.swap_distance import count_in, exchange, settle
from shoal.kernels.mdav.v_mdav import CLASSES, REMAINING, SLOTS, compact, measure
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.lazy_sort import LazyOrder, following, lazy_order, start
from shoal.progress import report

_LOOK = 32
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
    slot: np.ndarray  # (n,) slot of each row
    by_value: np.ndarray  # (n,) rows by their value on a single line, which has …
    first: np.ndarray  # (values + 1,) … its first row here; empty where there is no single line
    member: np.ndarray  # (k,) slots of the class, in the order in which they joined
    counts: np.ndarray  # (4,) records in no class yet, classes formed, slots in use, records looked at


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
    """Form classes, two at a time, until none remains or `budget` records were looked at.

    With a negative `look` no records are exchanged.
    """
    s.counts[LOOKED_AT] = 0
    while s.counts[REMAINING] > 0 and s.counts[LOOKED_AT] < budget:
        compact(s)
        mean(s.limbs, s.base, s.counts[REMAINING], s.digits, s.q)
        measure(s, np.int64(-1))
        s.counts[LOOKED_AT] += s.counts[SLOTS]
        _generate_cluster(c, s, e, _farthest(s), look)
        if s.counts[REMAINING] > 0:
            _generate_cluster(c, s, e, _farthest(s), look)  # distances are still those from x_0


def k_first(points: np.ndarray, k: int, c: Closeness, *, look: int = _LOOK) -> np.ndarray:
    """Partition points by [SC15] Algorithm 2; classes may still be too far from the table.

    Classes are numbered in the order they are formed. After `look` candidates in a row that do not help, those that do
    are sought by value; that changes the time only. Distances from the table are compared as integers; where n · k · (m
    - 1) is beyond 2⁶² for m different values, no records are exchanged: merging must do.
    """
    announce(k_first_steps)
    points = np.ascontiguousarray(in_range(points))
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
    )
    room, look = exchange(c, k), look if k <= c.exact.min() else -1
    while s.counts[REMAINING] > 0:
        k_first_steps(c, s, room, look, _RECORDS_PER_CALL)
        report(n - int(s.counts[REMAINING]), n)
    return s.label
