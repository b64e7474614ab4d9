"""Members of classes sorted by confidential value, and the amount by which classes miss their demands.

The *excess* of a class is the amount by which it misses t and the rules, summed over the attributes; 0 if and only if
it meets all of them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.closeness.earth_mover import Closeness, most_work, work
from shoal.kernels.models.demands import Demands
from shoal.kernels.models.rules import Rules, rules_excess
from shoal.kernels.refine.class_state import Arrangement, enter, leave
from shoal.kernels.runtime.jit import kernel, part


class Roster(NamedTuple):
    """Members of each class sorted by confidential value, kept up to date while records move."""

    c: Closeness
    close: np.ndarray  #: (attributes,) bool: whether t applies
    rules: Rules | None  #: None: only t applies
    record: np.ndarray  #: (attributes, classes, most) int32, records by code
    code: np.ndarray  #: (attributes, classes, most) int32, their codes
    excess: np.ndarray  #: (classes,) float64
    trial: np.ndarray  #: (most + 1,) int32, codes of a trial class
    side: np.ndarray  #: (most + 1,) int32, members assigned to the other half of a class
    scratch: np.ndarray  #: scratch space of the rules
    each: float  #: excess per missing record of a rule


def roster_of(a: Arrangement, d: Demands, each: float = 1.0) -> Roster:
    """Sort the members of every class of an arrangement by each attribute."""
    classes, most = a.member.shape
    codes = d.c.codes
    shape = (len(codes), classes, most)
    r = Roster(
        d.c,
        d.close,
        d.rules if len(d.rules.whole) else None,
        np.zeros(shape, np.int32),
        np.zeros(shape, np.int32),
        np.zeros(classes),
        np.zeros(most + 1, np.int32),
        np.zeros(most + 1, np.int32),
        np.zeros(d.scratch, np.int64),
        float(each),
    )
    for at in range(len(codes)):
        order = np.lexsort((codes[at], a.label))
        label = a.label[order]
        place = np.arange(len(order)) - np.concatenate(([0], np.cumsum(a.size)))[label]
        r.record[at, label, place] = order
        r.code[at, label, place] = codes[at][order]
    _assess(a, r)
    return r


@kernel
def _assess(a, r):
    for b in range(a.size.shape[0]):
        r.excess[b] = excess_of(a, r, b, -1, -1) if a.size[b] > 0 else 0.0


@part
def _excess_in(r, at, s):
    """Return the excess in one attribute of the trial class, which must be small enough for exact work."""
    total = 0.0
    if r.close[at]:
        more = work(r.c, at, r.trial, s) - most_work(r.c, at, s)
        if more > 0:
            total += more / (float(r.c.n) * r.c.scale[at])
    return total + r.each * rules_excess(r.rules, r.c, at, r.trial, s, r.scratch)


@part
def excess_of(a, r, b, out, into):
    """Return the excess of class b if record `out` left it and record `into` joined; −1 means none."""
    total, m = 0.0, a.size[b]
    for at in range(r.code.shape[0]):
        s, gone, fresh = 0, out < 0, into < 0
        leaving = -1 if gone else r.c.codes[at, out]
        coming = -1 if fresh else r.c.codes[at, into]
        for q in range(m):
            code = r.code[at, b, q]
            if not gone and code == leaving:
                gone = True
                continue
            if not fresh and coming <= code:
                r.trial[s] = coming
                s += 1
                fresh = True
            r.trial[s] = code
            s += 1
        if not fresh:
            r.trial[s] = coming
            s += 1
        total += _excess_in(r, at, s)
    return total


@part
def excess_of_union(a, r, b, c):
    """Return the excess of the union of classes b and c; it must fit into the storage of a class."""
    total, m, other = 0.0, a.size[b], a.size[c]
    for at in range(r.code.shape[0]):
        i = j = 0
        for s in range(m + other):
            if j == other or (i < m and r.code[at, b, i] <= r.code[at, c, j]):
                r.trial[s] = r.code[at, b, i]
                i += 1
            else:
                r.trial[s] = r.code[at, c, j]
                j += 1
        total += _excess_in(r, at, m + other)
    return total


@part
def depart(a, r, x):
    """Remove record x from its class; mean and excess are not updated."""
    b = a.label[x]
    for at in range(r.code.shape[0]):
        q = 0
        while r.record[at, b, q] != x:
            q += 1
        for p in range(q, a.size[b] - 1):
            r.record[at, b, p] = r.record[at, b, p + 1]
            r.code[at, b, p] = r.code[at, b, p + 1]
    leave(a, x)


@part
def arrive(a, r, x, b):
    """Add record x to class b; mean and excess are not updated."""
    for at in range(r.code.shape[0]):
        code, p = r.c.codes[at, x], a.size[b]
        while p > 0 and r.code[at, b, p - 1] > code:
            r.record[at, b, p] = r.record[at, b, p - 1]
            r.code[at, b, p] = r.code[at, b, p - 1]
            p -= 1
        r.record[at, b, p], r.code[at, b, p] = x, code
    enter(a, x, b)


@part
def transfer(a, r, x, b):
    """Move record x to class b; means and excesses are not updated."""
    depart(a, r, x)
    arrive(a, r, x, b)


@part
def nearest_value(a, r, at, b, x):
    """Return the record of class b whose value is nearest to that of x, by rank in one attribute."""
    code, low, high = r.c.codes[at, x], 0, a.size[b]
    while low < high:
        middle = (low + high) // 2
        if r.code[at, b, middle] < code:
            low = middle + 1
        else:
            high = middle
    if low == a.size[b] or (low > 0 and code - r.code[at, b, low - 1] < r.code[at, b, low] - code):
        low -= 1
    return r.record[at, b, low]
