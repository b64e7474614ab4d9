"""Moves between classes that must stay close to the table: what each changes in SSE and in closeness.

As in :mod:`shoal.kernels.moves`, but a class also has an *excess*: the work by which it misses t, over n · scale, added
up over the attributes; 0 if and only if it is close enough in all of them. A move is made if what it changes, SSE plus
`price` times excess, is no more than `limit`; else all is left as it was. Each returns the change, or infinity if it
was not made. A class keeps at least k records and at most as many as there is room for.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arrangement import Arrangement, enter, leave, refresh, release
from shoal.kernels.earth_mover import Closeness, most_work, work
from shoal.kernels.gap import gap
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


@part
def close_shift(a, r, i, b, k, price, limit):
    """Move record i to class b."""
    home = a.label[i]
    ma, mb = a.size[home], a.size[b]
    if ma <= k or mb >= a.member.shape[1]:
        return np.inf
    change = gap(a.x, i, a.mean, b) * mb / (mb + 1.0) - a.own[i] * ma / (ma - 1.0)
    change -= price * (r.excess[home] + r.excess[b])
    if change > limit:
        return np.inf
    without = excess_of(a, r, home, i, -1)
    change += price * without
    if change > limit:
        return np.inf
    having = excess_of(a, r, b, -1, i)
    change += price * having
    if change > limit:
        return np.inf
    transfer(a, r, i, b)
    r.excess[home], r.excess[b] = without, having
    refresh(a, home)
    refresh(a, b)
    return change


@part
def close_swap(a, r, i, y, price, limit):
    """Exchange records i and y."""
    home, b = a.label[i], a.label[y]
    w = 1.0 / a.size[home] + 1.0 / a.size[b]
    change = gap(a.x, y, a.mean, home) - a.own[i] + gap(a.x, i, a.mean, b) - a.own[y] - gap(a.x, i, a.x, y) * w
    change -= price * (r.excess[home] + r.excess[b])
    if change > limit:
        return np.inf
    ours = excess_of(a, r, home, i, y)
    change += price * ours
    if change > limit:
        return np.inf
    theirs = excess_of(a, r, b, y, i)
    change += price * theirs
    if change > limit:
        return np.inf
    depart(a, r, i)
    depart(a, r, y)
    arrive(a, r, i, b)
    arrive(a, r, y, home)
    r.excess[home], r.excess[b] = ours, theirs
    refresh(a, home)
    refresh(a, b)
    return change


@part
def close_rotate(a, r, i, y, z, price, limit):
    """Let i take the place of y, y that of z, and z that of i, in three different classes."""
    home, b, c = a.label[i], a.label[y], a.label[z]
    change = gap(a.x, i, a.mean, b) - a.own[y] - gap(a.x, i, a.x, y) / a.size[b]
    change += gap(a.x, y, a.mean, c) - a.own[z] - gap(a.x, y, a.x, z) / a.size[c]
    change += gap(a.x, z, a.mean, home) - a.own[i] - gap(a.x, z, a.x, i) / a.size[home]
    change -= price * (r.excess[home] + r.excess[b] + r.excess[c])
    if change > limit:
        return np.inf
    first = excess_of(a, r, home, i, z)
    second = excess_of(a, r, b, y, i)
    third = excess_of(a, r, c, z, y)
    change += price * (first + second + third)
    if change > limit:
        return np.inf
    depart(a, r, i)
    depart(a, r, y)
    depart(a, r, z)
    arrive(a, r, i, b)
    arrive(a, r, y, c)
    arrive(a, r, z, home)
    r.excess[home], r.excess[b], r.excess[c] = first, second, third
    refresh(a, home)
    refresh(a, b)
    refresh(a, c)
    return change


@part
def _between(a, b, c):
    """Return the squared distance between the means of two classes."""
    total = 0.0
    for j in range(a.x.shape[1]):
        total += (a.mean[b, j] - a.mean[c, j]) ** 2
    return total


@part
def close_join(a, r, c, b, price, limit):
    """Give all records of class c to class b. The excess does not rise: a union of close classes is close."""
    m, other = a.size[c], a.size[b]
    change = _between(a, c, b) * m * other / (m + other)
    if m + other > a.member.shape[1] or change > limit:
        return np.inf
    before = r.excess[b] + r.excess[c]
    for _ in range(m):
        transfer(a, r, a.member[c, 0], b)
    r.excess[b], r.excess[c] = excess_of(a, r, b, -1, -1), 0.0
    refresh(a, b)
    release(a, c)
    return change + price * (r.excess[b] - before)


@part
def close_split(a, r, at, c, i, k, price, limit):
    """Halve class c: of two members next to each other in value, the one nearer to i goes with it.

    Both halves then have nearly the same values as the whole.
    """
    m = a.size[c]
    if a.spare[0] == 0 or m < 2 * k:
        return np.inf
    far, most = -1, 0.0
    for q in range(m):
        apart = gap(a.x, a.member[c, q], a.x, i)
        if apart > most:
            far, most = a.member[c, q], apart
    if far < 0:
        return np.inf
    fresh, half, before = a.free[a.spare[0] - 1], 0, 0.0
    for q in range(0, m - 1, 2):
        x, y = r.record[at, c, q], r.record[at, c, q + 1]
        lean_x = gap(a.x, x, a.x, i) - gap(a.x, x, a.x, far)
        lean_y = gap(a.x, y, a.x, i) - gap(a.x, y, a.x, far)
        r.side[half] = x if lean_x <= lean_y else y
        half += 1
    for q in range(m):
        before += a.own[a.member[c, q]]
    excess = r.excess[c]
    for q in range(half):
        transfer(a, r, r.side[q], fresh)
    refresh(a, c)
    refresh(a, fresh)
    r.excess[c], r.excess[fresh] = excess_of(a, r, c, -1, -1), excess_of(a, r, fresh, -1, -1)
    change = price * (r.excess[c] + r.excess[fresh] - excess) - before
    for q in range(a.size[c]):
        change += a.own[a.member[c, q]]
    for q in range(a.size[fresh]):
        change += a.own[a.member[fresh, q]]
    if change <= limit:
        a.spare[0] -= 1
        return change
    for q in range(half):
        transfer(a, r, r.side[q], c)
    r.excess[c], r.excess[fresh] = excess, 0.0
    refresh(a, c)
    return np.inf
