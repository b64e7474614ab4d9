"""Records without a class join the class whose centroid is nearest."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.frame import frame_of
from shoal.kernels.in_range import in_range
from shoal.kernels.index import rebuild, spatial_index
from shoal.kernels.jit import kernel
from shoal.kernels.nearest import find_nearest

_FEW = 64  # centroids that are looked at one by one
_BEYOND = 2.0**20  # times farther out than any centroid: too far for the frame of an index of them


@kernel
def _find_all(index, remaining, points, rows, out):
    """Write for each of some rows which of the places in the index is nearest."""
    search, start = index.search, np.int64(0)
    rebuild(index, remaining)
    for i in range(rows.shape[0]):
        for j in range(points.shape[1]):
            search.q[j] = points[rows[i], j]
        find_nearest(index.tree, search, remaining, start)
        out[i] = search.nearest.row[0]


@kernel
def _scan_all(places, points, rows, out):
    """Write for each of some rows which of the places is nearest, by looking at all."""
    for i in range(rows.shape[0]):
        best = np.inf
        out[i] = 0
        for place in range(places.shape[0]):
            total = 0.0
            for j in range(points.shape[1]):
                t = places[place, j] - points[rows[i], j]
                total += t * t
            if total < best:
                best = total
                out[i] = place


def join_nearest(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Let every record labelled -1 join the class whose centroid, without such records, is nearest to it.

    Guarantee: other labels stay; ties go to the lowest class; without any class all are one. A centroid is the plain
    sum of its members in the order of rows, divided by their number. Complexity: O(log m) blocks for each record where
    d is small, m / 16 at worst, m being the number of classes.

    >>> join_nearest(np.array([[0.0], [1.0], [8.0], [9.0], [3.0]]), np.array([0, 0, 1, 1, -1])).tolist()
    [0, 0, 1, 1, 0]
    """
    rows = np.flatnonzero(labels < 0)
    if rows.shape[0] in (0, labels.shape[0]):
        return np.asarray(np.maximum(labels, 0))
    points = in_range(points)
    inside = labels >= 0
    sizes = np.bincount(labels[inside])
    sums = [np.bincount(labels[inside], weights=column) for column in points[inside].T]
    centroids = np.ascontiguousarray(np.column_stack(sums) / sizes[:, None])
    found, m = np.empty(rows.shape[0], np.int64), centroids.shape[0]
    middle = centroids.mean(axis=0)
    if m <= _FEW or np.abs(points[rows] - middle).max() > _BEYOND * np.abs(centroids - middle).max():
        _scan_all(centroids, points, rows, found)
    else:
        index, remaining = spatial_index(centroids, np.arange(m), np.arange(m + 1), frame_of(centroids), 2)
        _find_all(index, remaining, points, rows, found)
    joined = labels.copy()
    joined[rows] = found
    return joined
