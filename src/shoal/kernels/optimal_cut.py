"""The best cut of records in a given order into runs of k … 2k−1: a shortest path.

Nodes 0 … n stand between the records; an edge (i, j) with k ≤ j − i ≤ 2k−1 is the class of records i+1 … j, and its
cost the SSE of that class, over all coordinates. The shortest path from 0 to n is the cut with the least SSE. Along
one sorted coordinate no partition at all is better; along another order no other cut of it is.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.in_range import in_range
from shoal.kernels.jit import announce, kernel
from shoal.progress import report

_ADDITIONS_PER_CALL = 100_000_000  # about a tenth of a second between two reports


@kernel
def _shortest_paths(x, k, begin, end, least, last, sums):
    """Find the shortest paths to the nodes `begin` … `end` − 1, given those to all nodes before.

    The sums of an edge are taken from its last record, backwards: S₁ of differences from that record, S₂ of their
    squares, and SSE = S₂ − S₁² / m. Since that record is a member, S₂ ≤ m · SSE, so that at most a factor m of the
    precision cancels, wherever the records lie. Sums from the first record of all would lose everything where a
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
            if cost < best:  # of several as good, the smallest last class
                best, size = cost, m
        least[j], last[j] = best, size


def optimal_cut(ordered: np.ndarray, k: int) -> np.ndarray:
    """Cut records in the order given into classes of k … 2k−1 with the least SSE over all coordinates.

    Parameters
    ----------
    ordered : (n, d) float64, C-contiguous
        Finite coordinates of the records, in the order along which to cut; n ≥ k, d ≥ 1. Left as they are.
    k : int
        Least size of a class, at least 1.

    Returns
    -------
    bounds : (classes + 1,) int64
        Class c is ``ordered[bounds[c]:bounds[c + 1]]``.

    Guarantee: every class has k … 2k−1 records, and no cut into such runs has a lower SSE, but for rounding: each
    class's SSE is within about 4k² units in the last place of its true value. Of cuts that come out equally good,
    the last class is the smallest, then the one before, and so on.

    Complexity: O(n·k·d) time; O(n) memory besides the points.

    Examples
    --------
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
    """Return the class of each row, for rows in some order and the bounds of their classes along it.

    >>> cut_labels(np.array([2, 0, 1, 3]), np.array([0, 2, 4])).tolist()
    [0, 1, 0, 1]
    """
    labels = np.empty(order.shape[0], np.int64)
    labels[order] = np.repeat(np.arange(bounds.shape[0] - 1), np.diff(bounds))
    return labels
