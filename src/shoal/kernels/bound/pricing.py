"""Pricing: all classes of k records whose records' prices add up to more than the class costs.

Symbols: u the prices, C a class of k records, v(C) = Σ_{i∈C} u_i − SSE(C) its profit.

SSE(C) is the sum of d²_ij / k over the pairs of C, so v(C) is the sum over its pairs of
w_ij = (u_i + u_j)/(k−1) − d²_ij/k. Take a set P of p ≥ 3 records, let W(P) be the sum of w over its pairs, and remove
the record with the least star, which is the sum of w from it to the others: at least (p−2)/p of W(P) remains. So every
class with v > 0 can be grown record by record from a pair with w > 0, through sets with W > 0, where the record added
has the least star. And if W(P ∪ {j}) > 0, then w_ij > −W(P)/p for some i in P: reading the lists of P is enough.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import kernel, part


class Lists(NamedTuple):
    """Promising partners of each record: those with w > −depth, the largest w first."""

    start: np.ndarray  # (n + 1,) int64
    record: np.ndarray  # int32
    weight: np.ndarray  # float64
    depth: np.ndarray  # (n,) float64


@kernel
def scaled_squares(x, factor, out):
    """Write the squared distances of all pairs times `factor`."""
    n, d = x.shape
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
        for c in range(d):
            a = x[i, c]
            for j in range(n):
                t = x[j, c] - a
                out[i, j] += t * t
        for j in range(n):
            out[i, j] *= factor


@part
def _sort(record, weight, begin, end):
    """Sort a list by descending weight (Shell's method)."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            r, w = record[i], weight[i]
            j = i
            while j >= begin + gap and weight[j - gap] < w:
                record[j], weight[j] = record[j - gap], weight[j - gap]
                j -= gap
            record[j], weight[j] = r, w
        gap //= 3


@kernel
def fill_lists(squares, half, reach, lists):
    """Write the lists of all records; return the room they need. If that exceeds the room there is, nothing is written.

    `half` is u/(k−1). The depth of a list is its largest w times `reach`, if that is positive.
    """
    n, used, room = squares.shape[0], 0, lists.record.shape[0]
    for i in range(n):
        row, h, best = squares[i], half[i], -np.inf
        for j in range(n):
            w = h + half[j] - row[j]
            if w > best and j != i:
                best = w
        depth = max(best * reach, 0.0)
        lists.depth[i], lists.start[i] = depth, used
        for j in range(n):
            w = h + half[j] - row[j]
            if w > -depth and j != i:
                if used < room:
                    lists.record[used], lists.weight[used] = j, w
                used += 1
        if used <= room:
            _sort(lists.record, lists.weight, lists.start[i], used)
    lists.start[n] = used
    return used


FOUND, GROWN = range(2)  #: `Found.counts`
_TIE = 1e-11  # stars that differ by less, relative to their terms, count as equal: both ways are grown


class Growth(NamedTuple):
    """Set being grown, with one level for each record added."""

    member: np.ndarray  # (k,) int64
    total: np.ndarray  # (k + 1,) W of the first p members
    star: np.ndarray  # (k + 1, k) star of each member within the first p
    anchor: np.ndarray  # (k + 1,) whose list is being read
    at: np.ndarray  # (k + 1,) position on that list
    weight: np.ndarray  # (k,) w from the candidate to each member


class Found(NamedTuple):
    """The classes with a profit."""

    members: np.ndarray  # (capacity, k) int32
    profit: np.ndarray  # (capacity,)
    counts: np.ndarray  # (2,) classes found, sets grown


@part
def _next(squares, half, lists, growth, p):
    """Return the next candidate for a set of p records, or −1; `growth.weight` then holds w to each member."""
    floor = -growth.total[p] / p
    n = squares.shape[0]
    while growth.anchor[p] < p:
        a = growth.anchor[p]
        i = growth.member[a]
        listed = -floor <= lists.depth[i]  # otherwise the list may be too short: scan all records
        while True:
            at = growth.at[p]
            growth.at[p] += 1
            if listed:
                at += lists.start[i]
                if at >= lists.start[i + 1] or lists.weight[at] <= floor:
                    break
                j, w = np.int64(lists.record[at]), lists.weight[at]
            else:
                if at >= n:
                    break
                j = at
                w = half[i] + half[j] - squares[i, j]
                if w <= floor:
                    continue
            if _admit(squares, half, growth, p, a, j, w):
                return j
        growth.anchor[p] += 1
        growth.at[p] = 0
    return -1


@part
def _admit(squares, half, growth, p, a, j, w):
    """Tell whether to add j, found on the list of member a, to a set of p records."""
    star, size = 0.0, abs(half[j])
    for b in range(p):
        i = growth.member[b]
        if i == j:
            return False
        size += abs(half[i])
        other = w if b == a else half[i] + half[j] - squares[i, j]
        if other > w or (other == w and b < a):  # found on that member's list
            return False
        growth.weight[b] = other
        star += other
    total = growth.total[p] + star
    if total <= 0.0:
        return False
    least = star - _TIE * (p + 1) * size  # where W > 0, this bounds the squares as well as the prices
    for b in range(p):
        if growth.star[p, b] + growth.weight[b] < least:
            return False
    return True


@part
def _add(growth, p, j):
    """Add j to a set of p records."""
    star = 0.0
    for b in range(p):
        growth.star[p + 1, b] = growth.star[p, b] + growth.weight[b]
        star += growth.weight[b]
    growth.star[p + 1, p] = star
    growth.member[p] = j
    growth.total[p + 1] = growth.total[p] + star
    growth.anchor[p + 1], growth.at[p + 1] = 0, 0


@part
def _grow_pair(squares, half, lists, growth, found, k, i, j, w, limit):
    """Find the classes with v > 0 that grow from the pair i, j; return False if the limit of candidates was hit."""
    counts = found.counts
    growth.member[0], growth.member[1] = i, j
    growth.star[2, 0] = growth.star[2, 1] = growth.total[2] = w
    growth.anchor[2], growth.at[2] = 0, 0
    p = 2
    while p >= 2:
        if p == k:
            for b in range(k):
                found.members[counts[FOUND], b] = growth.member[b]
            found.profit[counts[FOUND]] = growth.total[k]
            counts[FOUND] += 1
            p -= 1
            if counts[FOUND] == found.profit.shape[0]:
                return False
            continue
        counts[GROWN] += 1
        if counts[GROWN] > limit:
            return False
        j = _next(squares, half, lists, growth, p)
        if j < 0:
            p -= 1
        else:
            _add(growth, p, j)
            p += 1
    return True


@kernel
def grow_classes(squares, half, lists, growth, found, k, each):
    """Find all classes with v > 0; return for how many records the search was cut short.

    The search from a record stops once its pairs with later records have led to more than `each` sets.
    """
    n, counts, short = squares.shape[0], found.counts, 0
    counts[FOUND] = counts[GROWN] = 0
    for i in range(n):
        limit = counts[GROWN] + each
        for at in range(lists.start[i], lists.start[i + 1]):
            j, w = np.int64(lists.record[at]), lists.weight[at]
            if w <= 0.0:
                break
            if j > i and not _grow_pair(squares, half, lists, growth, found, k, i, j, w, limit):
                short += 1
                break
        if counts[FOUND] == found.profit.shape[0]:
            return n
    return short
