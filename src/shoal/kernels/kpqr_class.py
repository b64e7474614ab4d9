"""A class with rare values, formed step by step as [DSS08] Section 4 says; letters of steps are the paper's."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.around import begin, complete, few, join, join_row, more
from shoal.kernels.by_value import ByValue, come_back, leave, nearest_of_value
from shoal.kernels.jit import kernel, part
from shoal.kernels.remaining import NO_ROW
from shoal.kernels.spread import Spread, put_in, take_out, varies, would_increase, would_vary

_ANY, _KEEPS, _INCREASES, _NEW, _NEW_AND_INCREASES = range(5)


class Heuristic(NamedTuple):
    """Values of the records, and of those in Y and in the class."""

    x: ByValue  # the records in X
    rare: np.ndarray  # (values,) bool
    inside: np.ndarray  # (values,) records in C
    counted: (
        np.ndarray
    )  # (values,) the number by which a value is counted: spellings of one value, neighbours, share it
    members: np.ndarray  # (numbers,) records in C by that number
    waiting: np.ndarray  # (numbers,) records in Y by that number
    c: Spread
    y: Spread
    needed: np.ndarray  # what MinVar asks of groups of any size
    order: np.ndarray  # (n,) rows in the order in which they may start a class
    counts: np.ndarray  # place in `order`; values in C; values in Y; whether those that increase the variance go first


@part
def _add(a, h, row):
    """Count a record that joined C out of X and Y."""
    code = h.x.code[row]
    value = h.counted[code]
    h.counts[1] += h.members[value] == 0
    h.members[value] += 1
    h.inside[code] += 1
    leave(h.x, row)
    put_in(h.c, code)
    if h.rare[code]:
        take_out(h.y, code)
        h.waiting[value] -= 1
        h.counts[2] -= h.waiting[value] == 0


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
    """Let the record of X nearest to x_s that fits join C, of the few that do."""
    best, row = np.inf, NO_ROW
    for code in range(h.rare.shape[0]):
        if h.x.left[code] > 0 and _fits(h, code, wish):
            best, row = nearest_of_value(a, h.x, code, best, row)
    join_row(a, row)
    _add(a, h, row)


@part
def _nearest(a, h, wish):
    """Let the record of X nearest to x_s that fits join C; tell whether there was one."""
    i = 0
    while True:
        while i < a.counts[0]:
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
    """4(g)iv: return to X the members whose values are not rare, unless that would undo k or p."""
    kept, values, last = 0, 0, np.int64(-1)
    for i in range(a.counts[1]):
        kept += h.rare[h.x.code[a.member[i]]]
    for code in range(h.rare.shape[0]):
        if h.rare[code] and h.inside[code] > 0 and h.counted[code] != last:
            values, last = values + 1, h.counted[code]
    if kept < k or values < p:
        return
    to = 0
    for i in range(a.counts[1]):
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
    a.counts[1] = to


@part
def _take_all(a, h, k, p):
    """4(g): if what is left in Y cannot be a class, let it join C."""
    if h.counts[2] == 0 or (varies(h.y, h.needed) and h.counts[2] >= p):
        return
    for i in range(h.counts[0], h.order.shape[0]):
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
    while h.counts[1] < p:  # (d)
        if not (h.counts[3] and _nearest(a, h, _NEW_AND_INCREASES)) and not _nearest(a, h, _NEW):
            break  # no record brings a new value
    while not varies(h.c, h.needed):  # (e)
        if not _nearest(a, h, _INCREASES):
            break  # no record increases the variance
    while a.counts[1] < k:  # (f)
        if not _nearest(a, h, _KEEPS) and not _nearest(a, h, _ANY):  # none keeps the variance: k comes first
            break  # X is empty
    _take_all(a, h, k, p)
    for i in range(a.counts[1]):
        code = h.x.code[a.member[i]]
        h.inside[code] = 0
        h.members[h.counted[code]] = 0
        take_out(h.c, code)
    h.counts[1] = 0
    h.c.sums[:] = 0.0
    complete(a)  # (h)


@kernel
def kpqr_steps(a, h, k, p, budget):
    """Form classes until Y is empty or `budget` blocks were looked at; tell whether it is empty."""
    work = a.finder.search.work
    stop = work[0] + work[1] + budget
    while h.counts[2] > 0:
        if work[0] + work[1] >= stop:
            return False
        at = h.counts[0]
        while a.gone[h.order[at]] or not h.rare[h.x.code[h.order[at]]]:
            at += 1
        h.counts[0] = at
        _form(a, h, h.order[at], k, p)
    return True
