"""Orders of records by a projection to one number, their optimal cut, blocks of correlated attributes, and Mic1D.

Nodes 0 … n lie between the records; an edge (i, j) with k ≤ j − i ≤ 2k−1 is the class of records i+1 … j, and its cost
the SSE of that class, over all coordinates. The shortest path from 0 to n is the cut with the least SSE. Along one
sorted coordinate no partition at all is better; along another order, no other cut of it is.

| [N14] | here |
|---|---|
| V, V_s | `vector`, and its `order` |
| P_m, r | runs between `bounds`; the size of the last |
| min_m, max_m | `low`, `high` |
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import class_means
from shoal.kernels.arithmetic.sums import in_range, location_and_spread, place
from shoal.kernels.runtime.jit import announce, kernel
from shoal.progress import report

_ADDITIONS_PER_CALL = 100_000_000  # about a tenth of a second between two progress reports


@kernel
def _shortest_paths(x, k, begin, end, least, last, sums):
    """Find the shortest paths to the nodes `begin` … `end` − 1, given those to all nodes before.

    The sums of an edge start from its last record and go backwards: S₁ of differences from that record, S₂ of their
    squares, and SSE = S₂ − S₁² / m. Since that record is a member, S₂ ≤ m · SSE, so at most a factor m of the precision
    cancels, wherever the records lie. Sums relative to the first record of the table would lose all precision where a
    class is narrow and far away.
    """
    d = x.shape[1]
    for j in range(begin, end):
        squares = 0.0
        for c in range(d):
            sums[c] = 0.0
        best, size = np.inf, 0
        for m in range(1, min(2 * k - 1, j) + 1):
            for c in range(d):
                t = x[j - m, c] - x[j - 1, c]
                sums[c] += t
                squares += t * t
            if m < k or 0 < j - m < k:
                continue
            across = 0.0
            for c in range(d):
                across += sums[c] * sums[c]
            cost = least[j - m] + max(squares - across / m, 0.0)
            if cost < best:  # among equally good ones, the smallest last class
                best, size = cost, m
        least[j], last[j] = best, size


def optimal_cut(ordered: np.ndarray, k: int) -> np.ndarray:
    """Cut records in the order given into classes of k … 2k−1, k ≥ 1, with the least SSE over all coordinates.

    Class c is ``ordered[bounds[c]:bounds[c + 1]]`` of the bounds returned.

    Guarantee: every class has k … 2k−1 records, and no cut into such runs has a lower SSE, up to rounding: each class's
    SSE is within about 4k² units in the last place of its true value. Among equally good cuts, the last class is the
    smallest, then the one before, and so on.

    Complexity: O(n·k·d) time; O(n) memory in addition to the points.

    >>> import numpy as np
    >>> optimal_cut(np.array([[0.0], [1.0], [2.0], [9.0], [10.0]]), 2)
    array([0, 3, 5])
    """
    announce(_shortest_paths)
    n, d = ordered.shape
    x = in_range(ordered)
    least, last = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    least[0] = 0.0
    sums = np.empty(d)
    step = max(_ADDITIONS_PER_CALL // (2 * k * d), 1)
    for begin in range(k, n + 1, step):
        end = min(begin + step, n + 1)
        _shortest_paths(x, k, begin, end, least, last, sums)
        report(end - 1, n)
    path = [n]
    while path[-1] > 0:
        path.append(path[-1] - int(last[path[-1]]))
    return np.array(path[::-1], np.int64)


def cut_labels(order: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the class of each row, for rows in a given order and the bounds of their classes along it.

    >>> cut_labels(np.array([2, 0, 1, 3]), np.array([0, 2, 4])).tolist()
    [0, 1, 0, 1]
    """
    labels = np.empty(order.shape[0], np.int64)
    labels[order] = np.repeat(np.arange(bounds.shape[0] - 1), np.diff(bounds))
    return labels


def standardised(points: np.ndarray) -> np.ndarray:
    """Return the z-scores of every coordinate: mean 0, population deviation 1; zeros where nothing varies.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return np.column_stack([place(column, *location_and_spread(column)) for column in points.T])


def z_score_sum(points: np.ndarray) -> np.ndarray:
    """Return the sum of the z-scores of each record's coordinates.

    Coordinates are added one by one, so that equal records have equal sums in any row.
    """
    return _combined(standardised(points), np.ones(points.shape[1]))


def principal_component(points: np.ndarray) -> np.ndarray:
    """Return each record's position along the axis on which the records vary most.

    Guarantee: the axis points in the direction in which its largest component (ties to the first) grows, so that the
    sign is well defined; equal records have equal positions. If nothing varies, all positions are 0.
    """
    x = in_range(points)
    centred = x - x.mean(axis=0)
    covariance = np.einsum("ij,ik->jk", centred, centred)  # too little work for the threads of a BLAS
    axis = np.linalg.eigh(covariance)[1][:, -1]
    axis = axis * np.copysign(1.0, axis[np.argmax(np.abs(axis))])
    return _combined(centred, axis)


def _combined(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = np.zeros(columns.shape[0])
    for j in range(columns.shape[1]):
        total += weights[j] * columns[:, j]
    return total


def projected_labels(points: np.ndarray, places: np.ndarray, k: int) -> np.ndarray:
    """Return the labels of the best cut of the records in the order of their positions, over all coordinates.

    Guarantee: classes of k … 2k−1 records, numbered along the projection; equal positions are in row order.
    Complexity: O(n log n + n·k·d).
    """
    order = np.argsort(places, kind="stable")
    return cut_labels(order, optimal_cut(np.ascontiguousarray(points[order]), k))


def correlations(points: np.ndarray, places: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the correlation of attributes: |r|, the largest over several coordinates; 0 where nothing varies."""
    z = standardised(points)
    r = np.abs(np.einsum("ij,ik->jk", z, z)) / points.shape[0]
    return np.array([[r[np.ix_(a, b)].max() for b in places] for a in places])


def correlated_blocks(strength: np.ndarray, sizes: Sequence[int]) -> list[list[int]]:
    """Put correlated attributes into blocks of given sizes.

    Greedy: among the attributes left, the pair with the largest strength begins a block; the attribute with the largest
    mean strength to the block joins until it is full. Ties go to the first attribute. Strengths are compared to nine
    decimals, so that rounding decides nothing.

    >>> r = np.array([[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.3, 0.8], [0.9, 0.3, 1.0, 0.1], [0.2, 0.8, 0.1, 1.0]])
    >>> correlated_blocks(r, [2, 2])
    [[0, 2], [1, 3]]
    """
    r, left, blocks = np.round(strength, 9), list(range(len(strength))), []
    for size in sizes:
        block = [max(left, key=lambda a: max((r[a, b] for b in left if b != a), default=0.0))]
        left.remove(block[0])
        while len(block) < size:
            block.append(max(left, key=lambda a: float(r[a, block].mean())))
            left.remove(block[-1])
        blocks.append(sorted(block))
    return sorted(blocks)


def uncorrelated_blocks(strength: np.ndarray, count: int) -> list[list[int]]:
    """Spread correlated attributes over a number of blocks, so that the blocks are correlated.

    The j-th block takes the j-th attribute of each group of `count` correlated attributes ([N14] 4.1).

    >>> r = np.array([[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.3, 0.8], [0.9, 0.3, 1.0, 0.1], [0.2, 0.8, 0.1, 1.0]])
    >>> uncorrelated_blocks(r, 2)
    [[0, 1], [2, 3]]
    """
    d = len(strength)
    sizes = [count] * (d // count) + ([d % count] if d % count else [])
    groups = correlated_blocks(strength, sizes)
    return [sorted(group[j] for group in groups if j < len(group)) for j in range(count)]


Cut = Callable[[np.ndarray], np.ndarray]


class Round(NamedTuple):
    """One round of sorting, partitioning and normalising, with the values needed to undo it."""

    run: np.ndarray  # of each value
    low: np.ndarray  # of each value's run
    high: np.ndarray


def fixed_runs(k: int, *, small_last: bool) -> Cut:
    """Return the cut into runs of k; the remainder is a run of its own if `small_last`, else joins the last one."""

    def bounds(ordered: np.ndarray) -> np.ndarray:
        n = ordered.shape[0]
        inner = np.arange(0, n if small_last else n - k + 1, k)
        return np.append(inner, n)

    return bounds


def optimal_runs(k: int) -> Cut:
    """Return the cut into runs of k … 2k−1 with the least SSE."""
    return lambda ordered: optimal_cut(np.ascontiguousarray(ordered[:, None]), k)


def mic1d(points: np.ndarray, cut: Cut) -> np.ndarray:
    """Return the points as Mic1D releases them; `cut` gives the bounds of the runs of a sorted vector.

    Guarantee: in the last sorted vector, every run is released as one value, mapped back into the range of the run that
    each value had in the first. No released value lies outside that range. Equal values are sorted by attribute, then
    by row; values that normalising made equal keep their order.

    >>> mic1d(np.array([[0.0, 10.0], [2.0, 12.0]]), fixed_runs(2, small_last=False)).tolist()
    [[0.0, 10.0], [2.0, 12.0]]
    >>> mic1d(np.array([[0.0, 10.0], [2.0, 12.0]]), fixed_runs(4, small_last=False)).tolist()
    [[6.0, 6.0], [6.0, 6.0]]
    """
    exponent = max(int(np.frexp(np.max(np.abs(points)))[1]) - 1000, 0)  # differences must not overflow
    vector = np.ldexp(points.T.ravel(), -exponent)  # vectorization: attribute by attribute
    order = np.arange(vector.shape[0])
    rounds = []
    for _ in range(2):  # sorting, partitioning, normalization; re-sorting and re-normalization
        order = order[np.argsort(vector[order], kind="stable")]
        this = _round(vector, cut_labels(order, cut(vector[order])))
        rounds.append(this)
        vector = _normalised(vector, this)
    last = rounds[-1].run
    protected = class_means(vector, last)[last]  # mean value computation
    for this in reversed(rounds):
        inside = np.minimum(this.low + protected * (this.high - this.low), this.high)
        protected = np.where(protected < 1.0, inside, this.high)  # rounding must not miss the end of the range
    return np.ascontiguousarray(np.ldexp(protected, exponent).reshape(points.shape[::-1]).T)


def _round(vector: np.ndarray, run: np.ndarray) -> Round:
    runs = int(run.max()) + 1
    low, high = np.full(runs, np.inf), np.full(runs, -np.inf)
    np.minimum.at(low, run, vector)
    np.maximum.at(high, run, vector)
    return Round(run, low[run], high[run])


def _normalised(vector: np.ndarray, this: Round) -> np.ndarray:
    """Return each value's position in its run's range, from 0 to 1; ½ where the run has no range."""
    width = this.high - this.low
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(width > 0, (vector - this.low) / width, 0.5)
