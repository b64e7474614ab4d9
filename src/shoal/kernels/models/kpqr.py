"""Heuristic of [DSS08] Section 4 for (k,p,q,r)-anonymity.

X are the records without a class, Y those of them with a rare value, C is the class being formed around x_s, MinVar
the minimum variance of a class, all as in the paper.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.mdav import BLOCKS_PER_CALL, mdav
from shoal.kernels.models.running_variance import (
    Spread,
    least_sums,
    put_all_in,
    put_in,
    scale_of,
    spread_of,
    table_variance,
    take_out,
    varies,
    would_increase,
    would_vary,
)
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.nearest_first import (
    LISTED,
    MEMBERS,
    Around,
    ByValue,
    around,
    begin,
    by_value,
    come_back,
    complete,
    few,
    join,
    join_nearest,
    join_row,
    labels_so_far,
    leave,
    more,
    nearest_of_value,
)
from shoal.kernels.space.remaining import NO_ROW, REMAINING
from shoal.kernels.space.tree import blocks_near
from shoal.progress import report
from shoal.types import Confidential
from shoal.types.coded import Coded

_PLACE, _VALUES, _VALUES_LEFT, _VARIANCE_FIRST = range(4)  # counts of the heuristic
_ANY, _KEEPS, _INCREASES, _NEW, _NEW_AND_INCREASES = range(5)


class Heuristic(NamedTuple):
    """Values of the records, and of those in Y and in the class."""

    x: ByValue  # the records in X
    rare: np.ndarray  # (values,) bool
    inside: np.ndarray  # (values,) records in C
    counted: (
        np.ndarray
    )  # (values,) the number under which a value is counted: neighbouring spellings of one value share it
    members: np.ndarray  # (numbers,) records in C by that number
    waiting: np.ndarray  # (numbers,) records in Y by that number
    c: Spread
    y: Spread
    needed: np.ndarray  # least sums that MinVar requires of groups of each size
    order: np.ndarray  # (n,) rows in the order in which they may start a class
    counts: np.ndarray  # (4,) place in `order`, values in C, values in Y, whether a larger variance goes first


@part
def _add(a, h, row):
    """Move a record that joined C out of the counts of X and Y."""
    code = h.x.code[row]
    value = h.counted[code]
    h.counts[_VALUES] += h.members[value] == 0
    h.members[value] += 1
    h.inside[code] += 1
    leave(h.x, row)
    put_in(h.c, code)
    if h.rare[code]:
        take_out(h.y, code)
        h.waiting[value] -= 1
        h.counts[_VALUES_LEFT] -= h.waiting[value] == 0


@part
def _fits(h, code, wish):
    if wish == _ANY:
        return True
    if wish == _KEEPS:
        return would_vary(h.c, code, h.needed)
    if wish >= _NEW and h.members[h.counted[code]] > 0:
        return False
    return wish == _NEW or would_increase(h.c, code)


@part
def _fitting(h, wish):
    """Return how many records in X fit."""
    count = 0
    for code in range(h.rare.shape[0]):
        if h.x.left[code] > 0 and _fits(h, code, wish):
            count += h.x.left[code]
    return count


@part
def _nearest_by_value(a, h, wish):
    """Add to C the fitting record of X nearest to x_s, when few fit."""
    best, row = np.inf, NO_ROW
    for code in range(h.rare.shape[0]):
        if h.x.left[code] > 0 and _fits(h, code, wish):
            best, row = nearest_of_value(a, h.x, code, best, row)
    join_row(a, row)
    _add(a, h, row)


@part
def _nearest(a, h, wish):
    """Add to C the fitting record of X nearest to x_s; tell whether there was one."""
    i = 0
    while True:
        while i < a.counts[LISTED]:
            if not a.used[i] and _fits(h, h.x.code[a.row[i]], wish):
                join(a, i)
                _add(a, h, a.row[i])
                return True
            i += 1
        fitting = _fitting(h, wish)
        if few(a, fitting):
            if fitting > 0:
                _nearest_by_value(a, h, wish)
            return fitting > 0
        more(a)


@part
def _give_back(a, h, k, p):
    """4(g)iv: return to X the members whose values are not rare, unless that would violate k or p."""
    kept, values, last = 0, 0, np.int64(-1)
    for i in range(a.counts[MEMBERS]):
        kept += h.rare[h.x.code[a.member[i]]]
    for code in range(h.rare.shape[0]):
        if h.rare[code] and h.inside[code] > 0 and h.counted[code] != last:
            values, last = values + 1, h.counted[code]
    if kept < k or values < p:
        return
    to = 0
    for i in range(a.counts[MEMBERS]):
        row = a.member[i]
        if h.rare[h.x.code[row]]:
            a.member[to] = row
            to += 1
        else:
            a.gone[row] = False
            come_back(h.x, row)
            h.inside[h.x.code[row]] -= 1
            h.members[h.counted[h.x.code[row]]] -= 1
            take_out(h.c, h.x.code[row])
    a.counts[MEMBERS] = to


@part
def _take_all(a, h, k, p):
    """4(g): if the rest of Y cannot form a class, add it to C."""
    if h.counts[_VALUES_LEFT] == 0 or (varies(h.y, h.needed) and h.counts[_VALUES_LEFT] >= p):
        return
    for i in range(h.counts[_PLACE], h.order.shape[0]):
        row = h.order[i]
        if not a.gone[row] and h.rare[h.x.code[row]]:
            join_row(a, row)
            _add(a, h, row)
    if not varies(h.c, h.needed):
        _give_back(a, h, k, p)


@part
def _form(a, h, start, k, p):
    begin(a, start, 2 * k + 16)  # (b), (c)
    _add(a, h, start)
    while h.counts[_VALUES] < p:  # (d)
        if not (h.counts[_VARIANCE_FIRST] and _nearest(a, h, _NEW_AND_INCREASES)) and not _nearest(a, h, _NEW):
            break  # no record brings a new value
    while not varies(h.c, h.needed):  # (e)
        if not _nearest(a, h, _INCREASES):
            break  # no record increases the variance
    while a.counts[MEMBERS] < k:  # (f)
        if not _nearest(a, h, _KEEPS) and not _nearest(a, h, _ANY):  # none keeps the variance: k has priority
            break  # X is empty
    _take_all(a, h, k, p)
    for i in range(a.counts[MEMBERS]):
        code = h.x.code[a.member[i]]
        h.inside[code] = 0
        h.members[h.counted[code]] = 0
        take_out(h.c, code)
    h.counts[_VALUES] = 0
    h.c.sums[:] = 0.0
    complete(a)  # (h)


@kernel
def kpqr_steps(a, h, k, p, budget):
    """Form classes until Y is empty or `budget` blocks were visited; tell whether it is empty."""
    work = a.work
    stop = blocks_near(work) + budget
    while h.counts[_VALUES_LEFT] > 0:
        if blocks_near(work) >= stop:
            return False
        at = h.counts[_PLACE]
        while a.gone[h.order[at]] or not h.rare[h.x.code[h.order[at]]]:
            at += 1
        h.counts[_PLACE] = at
        _form(a, h, h.order[at], k, p)
    return True


def rare_values(counts: np.ndarray, q: float) -> np.ndarray:
    """Tell which values are rare: those of fewer than q·n records of the whole table, with q as written.

    >>> rare_values(np.array([2, 3, 5]), 0.3).tolist()
    [True, False, False]
    """
    share = Fraction(str(q))
    return np.asarray(counts * share.denominator < share.numerator * int(counts.sum()), np.bool_)


def kpqr(
    points: np.ndarray | Coded,
    attribute: Confidential,
    k: int,
    p: int,
    q: float,
    r: float,
    order: np.ndarray,
    *,
    prefer_variance: bool = False,
) -> tuple[np.ndarray, Around | None]:
    """Partition points by the heuristic for (k,p,q,r)-anonymity.

    The counts of `attribute`, which decide what is rare, are those of the whole table. `order`, a permutation of the
    rows, gives the order in which rare records without a class start one. Classes are numbered in the order they are
    formed. Also returns a trace for the classes with rare values, or None if there are no such classes.

    The labels are those of a plain transcription of the paper, record for record, as long as variances are computed
    exactly: values of at most nine decimals, and m²·T below 2⁵³ for a class of m records.
    """
    points, n = in_range(points), points.shape[0]
    rare, code = rare_values(attribute.counts, q), np.asarray(attribute.codes, np.int64)
    labels, a = np.full(n, -1, np.int64), None
    if rare[code].any():
        announce(kpqr_steps)
        a, h = around(points), _heuristic(attribute, code, rare, r, order, prefer_variance)
        while not kpqr_steps(a, h, k, p, BLOCKS_PER_CALL):
            report(n - int(a.remaining.counts[REMAINING]), n)
        labels = labels_so_far(a)
    return _with_the_rest(points, labels, k), a


def _heuristic(
    attribute: Confidential, code: np.ndarray, rare: np.ndarray, r: float, order: np.ndarray, prefer: bool
) -> Heuristic:
    scale = scale_of(attribute)
    least = Fraction(str(r)) * table_variance(scale, np.where(rare, attribute.counts, 0))  # steps 2, 3: MinVar
    y = spread_of(scale)
    put_all_in(y, code[rare[code]])
    x = by_value(code, rare.shape[0])
    counted = np.arange(rare.shape[0]) if attribute.merged is None else np.asarray(attribute.merged, np.int64)
    waiting = np.bincount(counted, weights=np.where(rare, x.left, 0)).astype(np.int64)
    return Heuristic(
        x,
        rare,
        np.zeros_like(x.left),
        counted,
        np.zeros_like(waiting),
        waiting,
        spread_of(scale),
        y,
        least_sums(scale, least),
        order.astype(np.int64),
        np.array([0, 0, (waiting > 0).sum(), prefer], np.int64),
    )


def _with_the_rest(points: np.ndarray | Coded, labels: np.ndarray, k: int) -> np.ndarray:
    """Assign the records in X: by MDAV if there are at least k, else to the nearest class."""
    formed = int(labels.max()) + 1
    if formed > 0 and (labels == formed - 1).sum() < k:  # X was exhausted in 4(f)
        labels[labels == formed - 1] = -1
        formed -= 1
    rest = np.flatnonzero(labels < 0)
    if rest.shape[0] >= k:  # step 5
        labels[rest] = formed + mdav(points[rest], k)[0]
    return join_nearest(points, labels)
