"""Repair a partition until every class holds what is demanded of it.

First by small steps with neighbouring classes, the cheapest first (:mod:`shoal.kernels.satisfy_steps`). A class that
none of these helps looks farther, for the nearest records with a value that it lacks. What is then still wrong is
merged, class by class, with what is nearest. Where neighbours have the same values that is dear; then classes with
values from all over the table are formed and repaired too, and the better partition is kept.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrangement import Arrangement, arrange, numbered
from shoal.kernels.demands import Demands, hold, least_size, rows_of
from shoal.kernels.gap import padded
from shoal.kernels.in_range import in_range
from shoal.kernels.jit import announce
from shoal.kernels.merging import merge_until_close
from shoal.kernels.neighbours import neighbours
from shoal.kernels.roster import Roster, roster_of
from shoal.kernels.satisfy_far import far_classes
from shoal.kernels.satisfy_merging import merge_until_held
from shoal.kernels.satisfy_spread import spread_start
from shoal.kernels.satisfy_steps import mend, no_step
from shoal.kernels.sse import sse
from shoal.kernels.whole_classes import arranged

_NEAR = (12, 36)  # neighbouring classes that are looked at, round after round
_ROOM = 4  # how much larger than need be a class may grow by steps
_LEAST_ROOM = 16
_BUDGET, _PER_RECORD = 20_000_000, 100  # exchanges that may be tried in a round, or so many for each record
_DEAR = 1.5  # times the SSE that a repair may cost before another beginning is tried


def satisfy(points: np.ndarray, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Repair a partition until every class holds all demands.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, n < 2³⁰. Left as they are.
    labels : (n,) int64
        A partition into classes of at least k.
    k : int
        Least size of a class, at least 2.
    d : Demands
        What classes must hold. Where that is t alone, classes are merged as in [SC15] Algorithm 1.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class has at least k records. If all records together hold the demands, so does every class. What
    held before is returned as it came.

    It ends: a step lowers the excess of all classes together by a least amount, or the number of classes; when one is
    left it is the whole table.

    Complexity: O(n log n), and for each class that misses something O(m·s²) trial exchanges with its m neighbours of s
    records, each O(s); in all no more than so many for each record. Then that of t-closeness first, if another
    beginning is tried. Mergers of large classes take O(n log n) each, and their size grows geometrically.
    """
    labels, x = numbered(labels), in_range(points)
    if len(d.rules.whole) == 0 and d.close.any():
        return merge_until_close(points, labels, d.c)
    if hold(d, labels).all():
        return labels
    order = arranged(x, np.arange(len(x)))  # so that nothing depends on the order of rows
    out = np.empty(len(x), np.int64)
    out[order] = _repaired(np.ascontiguousarray(x[order]), numbered(labels[order]), k, rows_of(d, order))
    return numbered(out)


def _repaired(x: np.ndarray, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Repair a partition, or form another one and repair that, if this is dear."""
    first = merge_until_held(x, _by_steps(x, labels, k, d), d)
    if sse(x, first) <= _DEAR * sse(x, labels):
        return first
    start = spread_start(x, k, d)
    if start is None:
        return first
    other = merge_until_held(x, _by_steps(x, numbered(start), k, d), d)
    return min(first, other, key=lambda one: sse(x, one))


def _by_steps(x: np.ndarray, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Repair what can be repaired by steps. Classes for which there is no room are left out."""
    announce(mend)
    sizes = np.bincount(labels)
    room = max(_ROOM * least_size(d, k), 2 * int(sizes.min()), _LEAST_ROOM)
    rows = np.flatnonzero(sizes[labels] <= room)
    few, own = np.unique(labels[rows], return_inverse=True)
    a = arrange(padded(np.ascontiguousarray(x[rows])), own, k, room)
    r = roster_of(a, rows_of(d, rows))
    _rounds(a, r, x.shape[1], k)
    out = labels.copy()
    out[rows] = few[a.label]
    return numbered(out)


def _rounds(a: Arrangement, r: Roster, dimensions: int, k: int) -> None:
    """Work on the classes that miss something, with ever more neighbours, and with farther ones in the end."""
    best, budget = no_step(), max(_BUDGET, _PER_RECORD * len(a.label))
    for count in _NEAR:
        broken, there = _worst_first(a, r), np.flatnonzero(a.size)
        if not len(broken):
            return
        near = neighbours(np.ascontiguousarray(a.mean[there, :dimensions]), count)
        place = np.empty(len(a.size), np.int64)
        place[there] = np.arange(len(there))
        mend(a, r, best, broken, there[near[place[broken]]], k, budget)
    broken = _worst_first(a, r)
    if len(broken):
        mend(a, r, best, broken, far_classes(a, r, broken), k, budget)


def _worst_first(a: Arrangement, r: Roster) -> np.ndarray:
    broken = np.flatnonzero((a.size > 0) & (r.excess > 0.0))
    return broken[np.argsort(-r.excess[broken], kind="stable")]
