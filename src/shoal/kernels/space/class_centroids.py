"""Distances of single records from the centroids of classes, of numbers and of categories."""

from __future__ import annotations

import math

import numpy as np

from shoal.types.coded import Coded


def from_centroids(points: np.ndarray | Coded, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the squared distance of each of some rows from the centroid of each class, (rows, classes).

    Records labelled -1 are in no class. Distances are summed attribute by attribute; for categories, as in
    :mod:`shoal.kernels.space.coded_lanes`. A centroid is a correctly rounded sum, divided by the number of members.

    Complexity: O(n·d + n log n), and for each row O(classes · d).

    >>> from_centroids(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, -1]), np.array([2])).tolist()
    [[16.0]]
    """
    inside = np.flatnonzero(labels >= 0)
    inside = inside[np.argsort(labels[inside], kind="stable")]
    sizes = np.bincount(labels[inside])
    found = np.zeros((len(rows), len(sizes)))
    if not isinstance(points, Coded):
        for j in range(points.shape[1]):
            found += (points[rows, j][:, None] - _means(points[inside, j], sizes)) ** 2
        return found
    for place in points.layout.order.tolist():
        if place >= 0:
            column = points.numbers[:, place]
            found += (column[rows][:, None] - _means(column[inside], sizes)) ** 2
        else:
            found += _of_categories(points, ~place, labels, inside, sizes, rows)
    return found


_AT_ONCE = 1 << 24  # distances in memory


def nearest_class(points: np.ndarray | Coded, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the class with the nearest centroid for each of some rows, ties to the lowest."""
    step = max(_AT_ONCE // (int(labels.max()) + 1), 1)
    parts = [rows[at : at + step] for at in range(0, len(rows), step)]
    return np.concatenate([from_centroids(points, labels, part).argmin(axis=1) for part in parts])


def _means(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return np.array([math.fsum(part.tolist()) / len(part) for part in parts])


def _of_categories(
    points: Coded, a: int, labels: np.ndarray, inside: np.ndarray, sizes: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    column, height = points.column(a), int(points.layout.height[a])
    total = np.zeros((len(rows), len(sizes)), np.int64)
    for low, times in zip(column.low, column.times.tolist(), strict=True):
        groups = low[column.codes].astype(np.int64)
        wide = low.shape[0]
        keys, counts = np.unique(labels[inside] * wide + groups[inside], return_counts=True)
        squares = np.zeros(len(sizes), np.int64)
        np.add.at(squares, keys // wide, counts.astype(np.int64) ** 2)
        wanted = np.arange(len(sizes)) * wide + groups[rows][:, None]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        own = np.where(keys[at] == wanted, counts[at], 0)
        total += times * (sizes * sizes + squares - 2 * sizes * own)
    return np.asarray(points.layout.weight[a] * (total / (2.0 * height * sizes * sizes)))
