"""Blocks of whole classes, cut along other directions in every turn, so that no seam stays where it was."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.cuts import cut_blocks
from shoal.kernels.jit import kernel


def arranged(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sort rows by where they lie, so that what is done with them does not depend on their numbers."""
    first = x[rows, 0]
    order = np.argsort(first, kind="stable")
    first = first[order]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort((rows, *x[rows].T[::-1]))
    return np.asarray(rows[order])


@kernel
def _sort_by_class(labels, starts, members):
    """Counting sort: `starts` holds the sizes of the classes on entry, and where each ends on return."""
    total = 0
    for c in range(starts.shape[0]):
        size = starts[c]
        starts[c] = total
        total += size
    for row in range(labels.shape[0]):
        members[starts[labels[row]]] = row
        starts[labels[row]] += 1


@kernel
def _mean_of_each(x, members, ends, out):
    begin = 0
    for c in range(ends.shape[0]):
        for j in range(x.shape[1]):
            total = 0.0
            for at in range(begin, ends[c]):
                total += x[members[at], j]
            out[c, j] = total / (ends[c] - begin)
        begin = ends[c]


@kernel
def _spread(members, ends, chosen, order):
    """Write the rows of the chosen classes one after the other; `chosen` becomes where each ends."""
    at = 0
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for m in range(ends[c - 1] if c > 0 else 0, ends[c]):
            order[at] = members[m]
            at += 1
        chosen[i] = at


def whole_classes(
    x: np.ndarray, labels: np.ndarray, classes: int, count: int, turn: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cut space into blocks of whole classes, along directions of this turn.

    Parameters
    ----------
    x : (n, d) float64
        Finite coordinates.
    labels : (n,) int32
        Class of each record; no number below `classes` is left out.
    classes : int
        Number of classes.
    count : int
        Number of blocks, at least 1; with more than there are classes, as many as these.
    turn : int
        At least 0. Other turns, other directions; the same in every run.

    Returns
    -------
    order : (n,) int32
        Rows, block after block.
    bounds : (blocks + 1,) int64
        Block b is ``order[bounds[b]:bounds[b + 1]]``.

    Guarantee: all records of a class are in one block; blocks have equally many classes, or one more or less.
    Complexity: O(n·d + c·d² + c·d log count) for c classes.

    Examples
    --------
    >>> whole_classes(np.array([[0.0], [9.0], [1.0], [8.0]]), np.array([0, 1, 0, 1], np.int32), 2, 2, 1)[1].tolist()
    [0, 2, 4]
    """
    n, d = x.shape
    ends = np.bincount(labels, minlength=classes).astype(np.int32)
    members = np.empty(n, dtype=np.int32)
    _sort_by_class(labels, ends, members)
    centroids = np.empty((classes, d))
    _mean_of_each(x, members, ends, centroids)
    for begin in range(0, classes, 1 << 16):  # a piece at a time: a second copy of all would be large
        piece = slice(begin, begin + (1 << 16))
        centroids[piece] = np.einsum("ij,jl->il", centroids[piece], _directions(d, turn))
    count = min(count, classes)
    chosen, bounds = cut_blocks(centroids, count)
    del centroids
    order = np.empty(n, dtype=np.int32)
    _spread(members, ends, chosen, order)
    return order, np.concatenate(([0], chosen[bounds[1:] - 1])).astype(np.int64)


def _directions(d: int, turn: int) -> np.ndarray:
    """Return d directions at right angles, other ones in every turn, the same in every run."""
    return np.asarray(np.linalg.qr(np.random.default_rng(turn).normal(size=(d, d)))[0])
