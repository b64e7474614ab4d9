"""Repair of a partition until every class meets its demands.

Classes first exchange records with their neighbours in small steps, the cheapest first
(:mod:`shoal.kernels.repair.steps`). A class that none of these helps searches farther, for the nearest records with a
value that it lacks. Classes that still fail are merged, one by one, with their nearest class. If neighbours have the
same values, that is expensive; then classes with values from the whole table are formed and repaired too, and the
better partition is kept.

Records are searched in an order that begins with values that are hard to find: the rarest, or the lowest and highest
if range or variance matters.

The classes with values from the whole table come from [SC15] Algorithm 3, with a class size at which nearly all of them
meet the demands.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.closeness.merge import merge_until_close
from shoal.kernels.closeness.t_first import t_first
from shoal.kernels.models.class_values import Roster, excess_of, roster_of
from shoal.kernels.models.demands import Demands, excesses, hold, least_size, rows_of
from shoal.kernels.models.rules import KIND, METRIC, NUMBERS, REACH, SPREAD, Rules
from shoal.kernels.refine.class_state import Arrangement, arrange, arranged, laid_out, numbered, to_mean
from shoal.kernels.repair.steps import no_step, repair_classes
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.neighbours import neighbours
from shoal.kernels.space.sparse_means import Centroids
from shoal.types.coded import Coded

FOUND = 16  #: number of classes found for each
_LOOKS = 16  # records examined per record of the table, over all classes, …
_LEAST_LOOKS, _MOST_LOOKS = 256, 1 << 14  # … and per class


def far_classes(a: Arrangement, r: Roster, broken: np.ndarray) -> np.ndarray:
    """Return for each given class other classes that can spare a record with a value it lacks, nearest first.

    Returns
    -------
    near : (classes, FOUND) int64
        −1 where there are no more.

    Complexity: O(n log n), then at most 16·n records are examined, or 256 for each class if that is more.
    """
    assert r.rules is not None  # mergers take care of t alone
    order = np.array([_hardest_first(r.c.codes[at], r.rules, at) for at in range(len(r.close))])
    looks = min(max(_LOOKS * order.shape[1] // len(broken), _LEAST_LOOKS), _MOST_LOOKS)
    near = np.full((len(broken), FOUND), -1, np.int64)
    _look(a, r, broken, order, looks, near, np.empty(FOUND))
    return near


def _hardest_first(codes: np.ndarray, rules: Rules, at: int) -> np.ndarray:
    """Return the records of an attribute in search order."""
    for q in range(rules.begin[at], rules.begin[at + 1]):
        kind, metric = rules.whole[q, KIND], rules.whole[q, METRIC]
        if kind == REACH or (kind == SPREAD and metric == NUMBERS):
            up = np.argsort(codes, kind="stable")
            return np.asarray(np.stack([up, up[::-1]], axis=1).ravel()[: len(up)], np.int32)  # from both ends
    return np.lexsort((codes, np.bincount(codes)[codes])).astype(np.int32)


@part
def _has(a, r, at, b, code):
    low, high = 0, a.size[b]
    while low < high:
        middle = (low + high) // 2
        if r.code[at, b, middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < a.size[b] and r.code[at, b, low] == code


@part
def _keep(near, apart, distance, c):
    """Insert a class among the nearest, once; tell whether there was room."""
    place = near.shape[0] - 1
    for p in range(near.shape[0]):
        if near[p] == c:
            if apart[p] <= distance:
                return
            place = p
            break
        if near[p] < 0:
            place = p
            break
    while place > 0 and apart[place - 1] > distance:
        near[place], apart[place] = near[place - 1], apart[place - 1]
        place -= 1
    near[place], apart[place] = c, distance


@kernel
def _look(a, r, broken, order, looks, near, apart):
    last = near.shape[1] - 1
    for q in range(broken.shape[0]):
        b = broken[q]
        for at in range(order.shape[0]):
            if r.rules.begin[at] == r.rules.begin[at + 1]:
                continue
            for p in range(min(looks, order.shape[1])):
                y = order[at, p]
                c = a.label[y]
                if c == b or _has(a, r, at, b, r.c.codes[at, y]):
                    continue
                distance = to_mean(a, y, b)
                if near[q, last] >= 0 and distance >= apart[last]:
                    continue
                if excess_of(a, r, c, y, -1) <= r.excess[c]:
                    _keep(near[q], apart, distance, c)


_GROWTH = 0.05  # growth of a large class before it is measured again
_FEW = 32  # up to this many classes, neighbours are found without an index
_NEAR_CLASSES = 8  # neighbours examined otherwise


def merge_until_held(x: np.ndarray | Coded, labels: np.ndarray, d: Demands) -> np.ndarray:
    """Merge every class that misses a demand with the class that raises the SSE least, the worst class first.

    Guarantee: every class is a union of given classes, and meets all demands, unless only one is left.

    Complexity: O(n log n) for a round in which every failing class is merged. A large class absorbs several neighbours
    before it is measured again, so that it grows by at least a twentieth.

    If a demand is not monotone, as kpqr, a union may fail although both parts pass: the nearest neighbour with which
    the excess does not rise is taken, if there is one.
    """
    excess = excesses(d, labels)
    while len(excess) > 1 and excess.any():
        labels, excess = _round(x, labels, d, excess)
    return numbered(labels)


def _round(x: np.ndarray | Coded, labels: np.ndarray, d: Demands, excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge every failing class once, unless its neighbour was just merged; measure the new classes."""
    centroids = Centroids(x, labels)
    sizes = centroids.sizes
    broken = np.flatnonzero(excess)
    broken = broken[np.argsort(-excess[broken], kind="stable")]
    near = centroids.near(_NEAR_CLASSES) if len(broken) > _FEW else None
    into, touched = np.arange(len(sizes)), np.zeros(len(sizes), np.bool_)
    members = _Members(labels)
    for b in broken.tolist():
        if touched[b]:
            continue
        others = np.delete(np.arange(len(sizes)), b) if near is None else near[b]
        others = others[~touched[others]]
        apart = centroids.apart(b, others)
        others = others[np.argsort(apart * sizes[others] / (sizes[others] + sizes[b]), kind="stable")]
        if not len(others):
            continue  # all were merged: their turn comes in the next round
        chosen = _enough(others, sizes, b) if d.monotone else _harmless(others, members, d, excess, b)
        into[chosen], touched[chosen], touched[b] = b, True, True
    return _measured(into[labels], touched, into, d, excess)


def _enough(others: np.ndarray, sizes: np.ndarray, b: int) -> np.ndarray:
    """Return the first, and further ones until the class has grown by a twentieth."""
    grown = np.cumsum(sizes[others])
    return others[: 1 + int(np.searchsorted(grown, _GROWTH * sizes[b]))]


class _Members:
    """Rows of each class, looked up on demand."""

    def __init__(self, labels: np.ndarray) -> None:
        self.order = np.argsort(labels, kind="stable")
        self.bounds = np.concatenate(([0], np.cumsum(np.bincount(labels))))

    def of(self, b: int) -> np.ndarray:
        return self.order[self.bounds[b] : self.bounds[b + 1]]


def _harmless(others: np.ndarray, members: _Members, d: Demands, excess: np.ndarray, b: int) -> np.ndarray:
    """Return the first of a few classes with which the excess does not rise, or else the first."""
    for at, c in enumerate(others[:_NEAR_CLASSES]):
        rows = np.concatenate((members.of(b), members.of(int(c))))
        if excesses(rows_of(d, rows), np.zeros(len(rows), np.int64))[0] <= excess[b] + excess[c]:
            return others[at : at + 1]
    return others[:1]


def _measured(
    labels: np.ndarray, touched: np.ndarray, into: np.ndarray, d: Demands, excess: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Renumber the remaining classes, and measure the new ones."""
    left = np.flatnonzero(into == np.arange(len(into)))
    number = np.empty(len(into), np.int64)
    number[left] = np.arange(len(left))
    after = excess[left]
    fresh = np.flatnonzero(touched[left])
    labels = number[labels]
    rows = np.flatnonzero(touched[left][labels])
    inside = np.searchsorted(fresh, labels[rows])
    after[fresh] = excesses(rows_of(d, rows), inside)
    return labels, after


_SAMPLE = 256  # classes drawn to test whether a size suffices
_ENOUGH = 0.9  # share of them that must meet the demands
_SPREAD_GROWTH = 1.25  # ratio of one size to the next


def spread_start(x: np.ndarray | Coded, k: int, d: Demands) -> np.ndarray | None:
    """Partition points into classes with one record from each of as many equal shares of the ordered values.

    Records are ordered by their values in the first attribute, those with equal values by the second, and so on. Sizes
    that grow by a quarter are tried; the first at which nine of ten classes, drawn at random but the same in every run,
    meet all demands is used. Returns None if there is no such size below half of the table.

    Complexity: that of t-closeness first, and O(s) for each of 256 trial classes of s records.
    """
    n, codes = len(x), d.c.codes
    order = np.lexsort(codes[::-1])
    size = float(least_size(d, k))
    while 2 * int(size) <= n:
        rows = order[_drawn(n, int(size))]
        if hold(rows_of(d, rows.ravel()), np.repeat(np.arange(_SAMPLE), rows.shape[1])).mean() >= _ENOUGH:
            rank = np.empty(n)
            rank[order] = np.arange(n)
            return t_first(x, rank, int(size), 1.0)[0]
        size = max(size * _SPREAD_GROWTH, size + 1)
    return None


def _drawn(n: int, size: int) -> np.ndarray:
    """Draw one position from each of `size` equal runs of n, for every class of the sample."""
    edges = np.arange(size + 1) * n // size
    part = np.random.default_rng(0).random((_SAMPLE, size))
    return np.asarray(edges[:-1] + (part * np.diff(edges)).astype(np.int64))


_NEAR = (12, 36)  # neighbouring classes examined, round after round
_ROOM = 4  # how much larger than necessary a class may grow by steps
_LEAST_ROOM = 16
_BUDGET, _PER_RECORD = 20_000_000, 100  # exchanges tried in a round at most, or this many for each record
_DEAR = 1.5  # ratio of the repaired SSE to the original above which another start is tried


def satisfy(points: np.ndarray | Coded, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Repair a partition until every class meets all demands; for t alone, merge as in [SC15] Algorithm 1.

    Guarantee: every class has at least k records. If the table as one class meets the demands, so does every class. A
    partition that meets them already is returned unchanged.

    It terminates: a step lowers the total excess of all classes by a minimum amount, or the number of classes; the last
    class left is the whole table.

    Complexity: O(n log n), and for each failing class O(m·s²) trial exchanges with its m neighbours of s records, each
    O(s), up to a total limit per record. Then that of t-closeness first, if another start is tried. Mergers of large
    classes take O(n log n) each, and their size grows geometrically.
    """
    labels, x = numbered(labels), in_range(points)
    if len(d.rules.whole) == 0 and d.close.any():
        return merge_until_close(points, labels, d.c)
    if hold(d, labels).all():
        return labels
    order = arranged(x, np.arange(len(x)))  # so that nothing depends on row order
    out = np.empty(len(x), np.int64)
    out[order] = _repaired(x[order], numbered(labels[order]), k, rows_of(d, order))
    return numbered(out)


def _repaired(x: np.ndarray | Coded, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Repair a partition or, if that is expensive, form another one and repair it."""
    first = merge_until_held(x, _by_steps(x, labels, k, d), d)
    if sse(x, first) <= _DEAR * sse(x, labels):
        return first
    start = spread_start(x, k, d)
    if start is None:
        return first
    other = merge_until_held(x, _by_steps(x, numbered(start), k, d), d)
    return min(first, other, key=lambda one: sse(x, one))


def _by_steps(x: np.ndarray | Coded, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Repair what steps can repair, leaving out classes too large for the storage."""
    announce(repair_classes)
    sizes = np.bincount(labels)
    room = max(_ROOM * least_size(d, k), 2 * int(sizes.min()), _LEAST_ROOM)
    rows = np.flatnonzero(sizes[labels] <= room)
    few, own = np.unique(labels[rows], return_inverse=True)
    inside = x[rows]
    a = arrange(laid_out(inside), own, k, room)
    r = roster_of(a, rows_of(d, rows))
    _rounds(inside, a, r, k)
    out = labels.copy()
    out[rows] = few[a.label]
    return numbered(out)


def _rounds(x: np.ndarray | Coded, a: Arrangement, r: Roster, k: int) -> None:
    """Work on the failing classes, with ever more neighbours, and in the end with farther ones."""
    best, budget = no_step(), max(_BUDGET, _PER_RECORD * len(a.label))
    for count in _NEAR:
        broken, (there, inside) = _worst_first(a, r), np.unique(a.label, return_inverse=True)
        if not len(broken):
            return
        near = _near(x, a, there, inside, count)
        place = np.empty(len(a.size), np.int64)
        place[there] = np.arange(len(there))
        repair_classes(a, r, best, broken, there[near[place[broken]]], k, budget)
    broken = _worst_first(a, r)
    if len(broken):
        repair_classes(a, r, best, broken, far_classes(a, r, broken), k, budget)


def _near(x: np.ndarray | Coded, a: Arrangement, there: np.ndarray, inside: np.ndarray, count: int) -> np.ndarray:
    """Return the nearest other classes of each class."""
    if isinstance(x, Coded):
        return Centroids(x, inside).near(count)
    return neighbours(np.ascontiguousarray(a.mean[there, : x.shape[1]]), count)


def _worst_first(a: Arrangement, r: Roster) -> np.ndarray:
    broken = np.flatnonzero((a.size > 0) & (r.excess > 0.0))
    return broken[np.argsort(-r.excess[broken], kind="stable")]
