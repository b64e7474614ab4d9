"""Local search that moves all copies of a record together, so that equal records stay in one class.

With M records in a class of mean μ and g(x) = |x − μ|²: removing w copies of x lowers its SSE by M·w/(M−w)·g(x), adding
w copies raises it by M·w/(M+w)·g(x). Without w copies of x, the squared distance of y from the mean becomes
(M·g(y) − w·|x − y|²)/(M−w) + M·w·g(x)/(M−w)².
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.refine.class_state import apart, arrange, laid_out, move, numbered, refresh, release, to_mean
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.neighbours import neighbours
from shoal.types.coded import Coded, changes

_NEAR = 12  # neighbours whose classes are tried
_SWEEPS = 8
_GAIN = 1e-9  # least gain of a move, relative to the SSE of the units that it moves


@part
def _all(a, first, copies, u, c):
    """Move all copies of a unit to a class; means are not updated."""
    for i in range(first[u], first[u] + copies[u]):
        move(a, i, c)


@part
def _replaced(a, i, w, y, v, c, to_c, y_to_c):
    """Return the change of a class's SSE if its w copies of i are replaced by v copies of y.

    `to_c` and `y_to_c` are the squared distances of i and y from its mean.
    """
    m, rest = a.size[c], a.size[c] - w
    if rest == 0:
        return -to_c * m
    off = (m * y_to_c - w * apart(a, i, y)) / rest + m * w * to_c / (float(rest) * rest)
    return off * rest * v / (rest + v) - to_c * m * w / rest


@part
def _exchange(a, first, copies, u, partner, home, into):
    """Move a unit to another class, and a partner, if there is one, to the class that it leaves."""
    _all(a, first, copies, u, into)
    if partner >= 0:
        _all(a, first, copies, partner, home)
    refresh(a, into)
    if a.size[home] > 0:
        refresh(a, home)
    else:
        release(a, home)


@kernel
def _sweep(a, unit, first, copies, near, k, most, moved):
    """Try to shift each unit that is near a change, to exchange it for another, or to make it a class of its own."""
    made = 0
    for u in range(first.shape[0]):
        if not moved[u]:
            continue
        moved[u] = False
        i, w = first[u], copies[u]
        home = a.label[i]
        m, own = a.size[home], a.own[i]
        gone = own * m * w / (m - w) if m > w else 0.0
        best, into, partner = -_GAIN * own * w, -1, -1
        spares = m - w >= k or m == w
        if w >= k and m - w >= k and a.spare[0] > 0 and -gone < best:
            best, into = -gone, a.free[a.spare[0] - 1]
        for r in range(near.shape[1]):
            b = a.label[first[near[u, r]]]
            if b == home:
                continue
            mb, to_b = a.size[b], to_mean(a, i, b)
            if spares and mb + w <= most:
                change = to_b * mb * w / (mb + w) - gone
                if change < best:
                    best, into, partner = change, b, -1
            if m == w:
                continue
            for q in range(mb):
                y = a.member[b, q]
                t = unit[y]
                v = copies[t]
                if first[t] != y or m - w + v < k or mb - v + w < k or m - w + v > most or mb - v + w > most or v == mb:
                    continue
                change = _replaced(a, i, w, y, v, home, own, to_mean(a, y, home))
                change += _replaced(a, y, v, i, w, b, a.own[y], to_b)
                if change < best:
                    best, into, partner = change, b, t
        if into < 0:
            continue
        if a.size[into] == 0:
            a.spare[0] -= 1
        made += 1
        _exchange(a, first, copies, u, partner, home, into)
        for r in range(near.shape[1]):
            moved[near[u, r]] = True
        moved[u] = True
        for q in range(a.size[into]):
            moved[unit[a.member[into, q]]] = True
        for q in range(a.size[home]):
            moved[unit[a.member[home, q]]] = True
    return made


def settle(x: np.ndarray | Coded, labels: np.ndarray, k: int) -> np.ndarray:
    """Lower the SSE of a partition in which equal records share a class; the records must be sorted by value.

    Guarantee: equal records share a class, every class has at least k records, and the SSE does not rise. The classes
    depend on the records' values and on the given classes.

    Complexity: O(k·d) for a move, with a few moves for each distinct record.
    """
    unit = np.cumsum(np.concatenate(([False], changes(x))))
    first = np.flatnonzero(np.concatenate(([True], changes(x)))).astype(np.int64)
    copies = np.diff(np.append(first, len(x)))
    if int(labels.max()) == 0 or len(first) < 3:
        return labels
    announce(_sweep)
    near = neighbours(x[first], _NEAR)
    largest = int(np.bincount(labels).max())
    a = arrange(laid_out(x), labels, k, 2 * largest + 2 * k)  # an exchange needs room for both units for a moment
    moved = np.ones(len(first), np.bool_)
    for _ in range(_SWEEPS):
        if not _sweep(a, unit, first, copies, near, k, max(largest, 2 * k - 1), moved):
            break
    return numbered(a.label)
