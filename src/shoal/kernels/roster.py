"""The members of classes in the order of their confidential values, and by how much classes miss t.

A class has an *excess*: the work by which it misses t, over n · scale, added up over the attributes; 0 if and only if
it is close enough in all of them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arrangement import Arrangement, enter, leave
from shoal.kernels.earth_mover import Closeness, most_work, work
from shoal.kernels.jit import kernel, part


class Roster(NamedTuple):
    """The members of each class in the order of their confidential values, kept up to date while records move."""

    c: Closeness
    record: np.ndarray  #: (attributes, classes, most) int32, records by code
    code: np.ndarray  #: (attributes, classes, most) int32, their codes
    excess: np.ndarray  #: (classes,) float64
    trial: np.ndarray  #: (most + 1,) int32, codes of a class as it would be
    side: np.ndarray  #: (most + 1,) int32, members that go to the other half of a class


def roster_of(a: Arrangement, c: Closeness) -> Roster:
    """Sort the members of every class of an arrangement by each attribute."""
    classes, most = a.member.shape
    shape = (len(c.line), classes, most)
    r = Roster(
        c,
        np.zeros(shape, np.int32),
        np.zeros(shape, np.int32),
        np.zeros(classes),
        np.zeros(most + 1, np.int32),
        np.zeros(most + 1, np.int32),
    )
    for at in range(len(c.line)):
        order = np.lexsort((c.codes[at], a.label))
        label = a.label[order]
        place = np.arange(len(order)) - np.concatenate(([0], np.cumsum(a.size)))[label]
        r.record[at, label, place] = order
        r.code[at, label, place] = c.codes[at][order]
    _assess(a, r)
    return r


@kernel
def _assess(a, r):
    for b in range(a.size.shape[0]):
        r.excess[b] = excess_of(a, r, b, -1, -1) if a.size[b] > 0 else 0.0


@part
def excess_of(a, r, b, out, into):
    """Return the excess of class b if record `out` left it and record `into` came; −1 stands for none."""
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
        over = work(r.c, at, r.trial, s) - most_work(r.c, at, s)
        if over > 0:
            total += over / (float(r.c.n) * r.c.scale[at])
    return total


@part
def depart(a, r, x):
    """Take record x out of its class; mean and excess are not touched."""
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
    """Put record x into class b; mean and excess are not touched."""
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
    """Move record x to class b; means and excesses are not touched."""
    depart(a, r, x)
    arrive(a, r, x, b)


@part
def likest(a, r, at, b, x):
    """Return the record of class b whose value is nearest to that of x by rank in one attribute."""
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
