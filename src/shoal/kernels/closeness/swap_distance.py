"""Distance of a class of k records from the table after one record is exchanged for another: exact, in O(1).

On a line let c₁ ≤ … ≤ c_k be the codes of the class, and F_j(a, b) the work over the values from a to b if j records of
the class lie at or below them. With v in place of c_i, the values between the two have one record fewer (v > c_i) or
one more below them; the work changes by sums of F_{j∓1} − F_j over the gaps between them, which are prefix sums.

In a tree, the nodes above exactly one of the two codes have one record fewer or more.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.closeness.earth_mover import Closeness, most_work, work
from shoal.kernels.runtime.jit import part


class Exchange(NamedTuple):
    """Confidential attributes of a class of k."""

    code: np.ndarray  # (attributes, k) codes of the members, in the order they joined
    ascending: np.ndarray  # (attributes, k)
    fewer: np.ndarray  # (attributes, k) line: prefix sums of F_{j-1} - F_j over the gaps
    more: np.ndarray  # (attributes, k) line: prefix sums of F_{j+1} - F_j
    highest: np.ndarray  # (attributes, k) line: largest of `fewer` so far
    lowest: np.ndarray  # (attributes, k) line: smallest of `more` from here on
    cross: np.ndarray  # (attributes, k + 1) line: the first value with at least j/k of the table at or below it
    inside: np.ndarray  # (nodes,) tree: members below each node
    work: np.ndarray  # (attributes,)
    floor: int  # no class of k has less work; -1 if unknown


def exchange(c: Closeness, k: int) -> Exchange:
    """Allocate room for classes of k."""
    rows = np.zeros((6, len(c.line), k), np.int64)
    need = (c.n * np.arange(k + 1) + k - 1) // k
    cross = np.where(need > 0, c.rank[:, np.maximum(need - 1, 0)], 0).astype(np.int64)
    floor = -1
    if len(c.line) == 1 and c.line[0]:
        beyond = k * c.below[:-1] % c.n
        floor = int(np.minimum(beyond, c.n - beyond).sum())
    return Exchange(
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        rows[4],
        rows[5],
        cross,
        np.zeros(len(c.below), np.int64),
        np.zeros(len(c.line), np.int64),
        floor,
    )


@part
def _gap(c, e, at, j, a, b):
    """Return F_j(a, b): the work over the values from a to b - 1."""
    begin, k = c.first[at], np.int64(e.code.shape[1])
    x = min(max(e.cross[at, j], a), b)
    below = c.area[begin + x] - c.area[begin + a]
    above = c.area[begin + b] - c.area[begin + x]
    return c.n * j * (x - a) - k * below + k * above - c.n * j * (b - x)


@part
def settle(c, e, at):
    """Update the tables of an attribute from the codes of the members."""
    k, code, up = e.code.shape[1], e.code[at], e.ascending[at]
    for i in range(k):
        value, j = code[i], i
        while j > 0 and up[j - 1] > value:
            up[j] = up[j - 1]
            j -= 1
        up[j] = value
    e.work[at] = work(c, at, up, k)
    if not c.line[at]:
        return
    fewer, more = e.fewer[at], e.more[at]
    fewer[0], more[0], e.highest[at, 0] = 0, 0, 0
    for j in range(1, k):
        here = _gap(c, e, at, j, up[j - 1], up[j])
        fewer[j] = fewer[j - 1] + _gap(c, e, at, j - 1, up[j - 1], up[j]) - here
        more[j] = more[j - 1] + _gap(c, e, at, j + 1, up[j - 1], up[j]) - here
        e.highest[at, j] = max(e.highest[at, j - 1], fewer[j])
    e.lowest[at, k - 1] = more[k - 1]
    for j in range(k - 2, -1, -1):
        e.lowest[at, j] = min(e.lowest[at, j + 1], more[j])


@part
def count_in(c, e, at, code, by):
    """Add a member to, or remove it from, the counts of all nodes above its code."""
    node = code
    while node >= 0:
        e.inside[c.first[at] + node] += by
        node = c.parent[c.first[at] + node]


@part
def _at_or_below(up, v):
    """Return how many of the ascending codes are at most v."""
    low, high = 0, up.shape[0]
    while low < high:
        middle = (low + high) // 2
        if up[middle] <= v:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _side(c, e, at, p, higher, v):
    """Return the least work with v, which has p codes at or below it, in place of a lower or a higher member."""
    up = e.ascending[at]
    if higher:
        change = _gap(c, e, at, p + 1, v, up[p]) - _gap(c, e, at, p, v, up[p])
        return e.work[at] + change + e.lowest[at, p] - e.more[at, p]
    change = _gap(c, e, at, p - 1, up[p - 1], v) - _gap(c, e, at, p, up[p - 1], v)
    return e.work[at] + e.fewer[at, p - 1] - e.highest[at, p - 1] + change


@part
def helps_on_line(c, e, at, v):
    """Tell whether replacing some member by v would bring the class closer to the table."""
    p = _at_or_below(e.ascending[at], v)
    if p > 0 and _side(c, e, at, p, False, v) < e.work[at]:
        return True
    return p < e.code.shape[1] and _side(c, e, at, p, True, v) < e.work[at]


@part
def helpful(c, e, at, p, higher):
    """Return the first value, and the one after the last, that help with p codes at or below them.

    Between two neighbouring codes the work is a convex function of v, because the shares of the table below v ascend.
    Its minimum is where it stops falling, and the values with less than the present work form one interval around it.
    """
    up, k = e.ascending[at], e.code.shape[1]
    if p == (k if higher else 0):
        return np.int64(0), np.int64(0)
    begin = up[p - 1] if p > 0 else np.int64(0)
    end = up[p] if p < k else c.first[at + 1] - c.first[at]
    if begin >= end:
        return begin, begin
    low, high = begin, end - 1
    while low < high:
        middle = (low + high) // 2
        if _side(c, e, at, p, higher, middle + 1) >= _side(c, e, at, p, higher, middle):
            high = middle
        else:
            low = middle + 1
    least = low
    if _side(c, e, at, p, higher, least) >= e.work[at]:
        return begin, begin
    low, high = begin, least
    while low < high:
        middle = (low + high) // 2
        if _side(c, e, at, p, higher, middle) < e.work[at]:
            high = middle
        else:
            low = middle + 1
    begin, low, high = low, least, end - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _side(c, e, at, p, higher, middle) < e.work[at]:
            low = middle
        else:
            high = middle - 1
    return begin, low + 1


@part
def _on_line(c, e, at, u, v):
    up = e.ascending[at]
    p = _at_or_below(up, v)
    i = _at_or_below(up, u) - 1  # the last of equal codes: any will do
    if i < p:
        change = _gap(c, e, at, p - 1, up[p - 1], v) - _gap(c, e, at, p, up[p - 1], v)
        return e.work[at] + e.fewer[at, p - 1] - e.fewer[at, i] + change
    change = _gap(c, e, at, p + 1, v, up[p]) - _gap(c, e, at, p, v, up[p])
    return e.work[at] + change + e.more[at, i] - e.more[at, p]


@part
def _in_tree(c, e, at, u, v):
    begin, k = c.first[at], np.int64(e.code.shape[1])
    total = e.work[at]
    for by in (-1, 1):
        node, other = (u, v) if by < 0 else (v, u)
        while node >= 0 and not c.low[begin + node] <= other < c.high[begin + node]:
            there, here = k * c.below[begin + node], c.n * e.inside[begin + node]
            total += c.length[begin + node] * (abs(here + by * c.n - there) - abs(here - there))
            node = c.parent[begin + node]
    return total


@part
def work_after(c, e, at, member, v):
    """Return the work of the class with v in place of a member."""
    if c.line[at]:
        return _on_line(c, e, at, e.code[at, member], v)
    return _in_tree(c, e, at, e.code[at, member], v)


@part
def farther(c, at, one, other, two):
    """Tell whether a class with work `one` in attribute `at` is farther than with work `two` in attribute `other`."""
    if at == other:
        return one > two
    a, b = c.scale[at], c.scale[other]
    if one // a != two // b:
        return one // a > two // b
    return one % a * b > two % b * a


@part
def close_enough(c, e):
    """Tell whether the class is within t of the table in every attribute."""
    for at in range(e.work.shape[0]):
        if e.work[at] > most_work(c, at, e.code.shape[1]):
            return False
    return True
