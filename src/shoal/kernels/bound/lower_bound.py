"""Lower bounds on the SSE of any partition, for tables of any size.

Small tables use column generation. For others, the nearest neighbours of each record give a bound, as follows.

Symbols: d_ij the distance of two records, m the size of a class C. SSE(C) is the sum of d²_ij / 2m over i and j in C.
Replace d²_ij by c_ij = d²_ij + λ_ij with λ_ij = −λ_ji: no sum over a class changes. Let A_i be the sum of the k−1
smallest c_ij of record i. The m−1 others in its class cost at least (m−1)/(k−1)·A_i, so SSE(C) is at least the sum over
C of A_i·(m−1)/(2m(k−1)), and hence of A_i/2k or, where A_i < 0, of A_i/(2k−1).

With λ = 0 this is the sum of the squared distances to the k−1 nearest, divided by 2k. Subgradient steps improve it:
they raise λ_ij where i picks j as a neighbour and j does not pick i.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import classes_of
from shoal.kernels.bound.column_generation import column_bound
from shoal.kernels.order.projection import cut_labels, optimal_cut
from shoal.kernels.runtime.jit import announce, kernel
from shoal.kernels.space.neighbours import neighbours
from shoal.progress import report

_TARGET = 1.25  # the steps aim at this multiple of the bound for λ = 0
_PATIENCE = 8  # steps without a better bound before they are shortened


class _Pairs(NamedTuple):
    """Pairs {i, j}, i < j, where one is among the nearest of the other; λ is λ_ij."""

    start: np.ndarray  # (n + 1,) position of a record's first pair in `pair`
    pair: np.ndarray  # numbers of pairs: +e + 1 where the record is i, −e − 1 where it is j
    square: np.ndarray  # (pairs,) d², lowered by more than rounding could have raised it
    shift: np.ndarray  # (pairs,) λ
    wish: np.ndarray  # (pairs,) int8: how often i picks j, minus how often j picks i
    scale: np.ndarray  # (pairs,) step length of λ: records far from all others need longer steps
    reach: np.ndarray  # (n,) least d² from each record to any record it has no pair with


@kernel
def _squares(x, first, second, factor, out):
    for e in range(out.shape[0]):
        total = 0.0
        for c in range(x.shape[1]):
            t = x[first[e], c] - x[second[e], c]
            total += t * t
        out[e] = total * factor


@kernel
def _least_sums(pairs, k, slack, least, chosen, out):
    """Write the contribution of each record to the bound, and mark the k−1 neighbours that it picks."""
    wish = pairs.wish
    for e in range(wish.shape[0]):
        wish[e] = 0
    for i in range(out.shape[0]):
        size = 0
        for at in range(pairs.start[i], pairs.start[i + 1]):
            number = pairs.pair[at]
            e = abs(number) - 1
            shift = pairs.shift[e] if number > 0 else -pairs.shift[e]
            cost = pairs.square[e] + shift - slack * abs(shift)
            if cost >= pairs.reach[i] or (size == k - 1 and cost >= least[k - 2]):
                continue
            to = min(size, k - 2)
            while to > 0 and least[to - 1] > cost:
                least[to], chosen[to] = least[to - 1], chosen[to - 1]
                to -= 1
            least[to], chosen[to] = cost, number
            size = min(size + 1, k - 1)
        total, large = 0.0, 0.0
        for at in range(size):
            total += least[at]
            large += abs(least[at])
            wish[abs(chosen[at]) - 1] += 1 if chosen[at] > 0 else -1
        if size < k - 1:
            total += (k - 1 - size) * pairs.reach[i]
            large += total
        total -= slack * large
        out[i] = total / (2 * k) if total >= 0.0 else total / (2 * k - 1)


def neighbour_bound(x: np.ndarray, k: int, steps: int) -> float:
    """Return a lower bound on the SSE of any partition, after `steps` subgradient steps.

    Squares of `x` neither overflow nor vanish, and n ≥ 2k.

    Guarantee: holds in exact arithmetic, and is never below Σ of the squared distances to the k−1 nearest / 2k (up to
    rounding). Complexity: the search for neighbours, then O(steps·n·k).

    >>> round(neighbour_bound(np.array([[0.0], [1.0], [5.0], [6.0]]), 2, 0), 9)
    1.0
    """
    announce(_least_sums)
    n, d = x.shape
    slack = 8 * (d + 2 * k + 16) * 2.0**-53
    pairs = _pairs(x, k, slack)
    least, chosen, out = np.empty(k - 1), np.empty(k - 1, np.int64), np.empty(n)
    best, first, length, idle = -np.inf, 0.0, 1.0, 0
    for step in range(steps + 1):
        _least_sums(pairs, k, slack, least, chosen, out)
        value = float(out.sum() - 2.0**-40 * np.abs(out).sum())  # far more than the rounding of numpy's pairwise sum
        first = value if step == 0 else first
        idle = 0 if value > best else idle + 1
        best = max(best, value)
        if idle > _PATIENCE:
            length, idle = 0.7 * length, 0
        report(step, steps)
        slope = float(pairs.scale[pairs.wish != 0].sum())
        if slope == 0.0 or step == steps:
            break
        stride = length * max(_TARGET * first - value, 0.02 * first) * 2 * k / slope
        pairs.shift[:] += pairs.wish * pairs.scale * stride
    return best


def _pairs(x: np.ndarray, k: int, slack: float) -> _Pairs:
    """Pair each record with its nearest, and with the records that have it among their nearest."""
    n = len(x)
    near = neighbours(x, 3 * k + 6)
    i = np.repeat(np.arange(n, dtype=np.int64), near.shape[1])
    j = near.ravel().astype(np.int64)
    first, second = np.divmod(np.unique(np.minimum(i, j) * n + np.maximum(i, j)), n)
    square = np.empty(len(first))
    _squares(x, first, second, 1.0 - slack, square)
    reach = np.full(n, np.inf)
    if near.shape[1] < n - 1:
        _squares(x, np.arange(n), near[:, -1].astype(np.int64), 1.0 - slack, reach)
    local = np.empty(n)
    _squares(x, np.arange(n), near[:, k - 2].astype(np.int64), 1.0, local)
    scale = np.minimum(local[first], local[second])
    numbers = np.arange(1, len(first) + 1)
    owner = np.concatenate((first, second))
    order = np.argsort(owner, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))
    pair = np.concatenate((numbers, -numbers))[order]
    return _Pairs(start, pair, square, np.zeros(len(first)), np.zeros(len(first), np.int8), scale, reach)


_MOST_RECORDS = 5_000  # for column generation, which holds the distances of all pairs
_LARGEST_K = 6  # beyond this, pricing has too many sets to grow
_MOST_WORK = 40_000  # n·(k−2)²: beyond this, the linear programmes become slow
_STEPS = 150

ONE_CLASS, OPTIMAL_CUT = "one class", "optimal cut"
COLUMNS, COLUMNS_STOPPED, NEIGHBOURS = "column generation", "column generation, stopped", "nearest neighbours"


class Bound(NamedTuple):
    """A lower bound, and how it was obtained."""

    value: float
    how: str


def lower_bound(points: np.ndarray, k: int) -> Bound:
    """Return a lower bound on the SSE of any partition of the points into classes of at least k records.

    `how` names the source: "one class" (n < 2k) and "optimal cut" (one coordinate varies) are the optimum itself, up to
    rounding; "column generation" is the value of the linear relaxation; "column generation, stopped" is below it;
    "nearest neighbours" is the weakest, and works for any size.

    Guarantee: no partition whose classes all have at least k records has a lower SSE, in exact arithmetic on the points
    as given.

    Complexity: column generation takes O(n²) memory and about ten linear programmes, and is tried for n ≤ 5,000, k ≤ 6
    and n(k−2)² ≤ 40,000; otherwise the search for neighbours, and O(n·k) for each of 150 steps.

    >>> lower_bound(np.array([[0.0], [1.0], [5.0], [7.0]]), 2).how
    'optimal cut'
    """
    n = len(points)
    x, exponent = unit_range(np.ascontiguousarray(points[:, np.ptp(points, axis=0) > 0]))
    if n < 2 * k or x.shape[1] == 0:
        return Bound(rescaled(_partition_cost(x, np.zeros(n, np.int64)), exponent), ONE_CLASS)
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0], kind="stable")
        return Bound(rescaled(_partition_cost(x, cut_labels(order, optimal_cut(x[order], k))), exponent), OPTIMAL_CUT)
    value, how = -math.inf, COLUMNS
    if n <= _MOST_RECORDS and k <= _LARGEST_K and n * (k - 2) ** 2 <= _MOST_WORK:
        value, optimal = column_bound(x, k)
        how = COLUMNS if optimal else COLUMNS_STOPPED
    if how != COLUMNS or value == -math.inf:
        other = neighbour_bound(x, k, _STEPS)
        value, how = (other, NEIGHBOURS) if other > value else (value, how)
    return Bound(rescaled(value, exponent), how)


def unit_range(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Return x·2⁻ᵉ and e, which is 0 unless squares would overflow or vanish.

    >>> unit_range(np.array([[2.0**900]]))
    (array([[0.5]]), 901)
    """
    exponent = int(np.frexp(max(float(x.max()), -float(x.min())))[1]) if x.size else 0
    return (x, 0) if -200 < exponent < 400 else (np.ldexp(x, -exponent), exponent)


def rescaled(value: float, exponent: int) -> float:
    """Convert a lower bound from the unit of x·2⁻ᵉ to the unit of x, rounded down."""
    try:
        value = math.ldexp(max(value, 0.0), 2 * exponent)
    except OverflowError:
        return sys.float_info.max
    return value if value > 1e-290 else math.nextafter(value, 0.0)


def _partition_cost(x: np.ndarray, labels: np.ndarray) -> float:
    """Return the SSE of a partition, lowered by more than rounding can have added or the cut can have missed."""
    if x.shape[1] == 0:
        return 0.0
    cost = math.fsum(classes_of(x, labels).costs.tolist())
    largest = int(np.bincount(labels).max())
    return cost * (1.0 - 64 * (largest + 1) ** 2 * 2.0**-53)
