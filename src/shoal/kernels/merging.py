"""Merge classes with their neighbours until all are close to the table ([SC15] Algorithm 1)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrangement import numbered
from shoal.kernels.earth_mover import Closeness, distances


def merge_until_close(points: np.ndarray, labels: np.ndarray, c: Closeness) -> np.ndarray:
    """Merge the class farthest from the table with the class whose mean is nearest, until every class is within t.

    Parameters
    ----------
    points : (n, d) float64
        Finite coordinates.
    labels : (n,) int64
        A partition, classes numbered from 0 without gaps.
    c : Closeness
        What classes must be close to, and how close.

    Returns
    -------
    labels : (n,) int64
        Classes numbered by their first rows.

    Guarantee: every class is a union of classes given, and within t of the table in every attribute, unless only one
    is left.
    """
    labels = numbered(labels)
    while True:
        far, close = distances(c, labels)
        if close.all() or close.shape[1] == 1:
            return numbered(labels)
        worst = int(np.argmax(np.where(close.all(axis=0), -1.0, far.max(axis=0))))
        sums = np.zeros((close.shape[1], points.shape[1]))
        np.add.at(sums, labels, points)
        means = sums / np.bincount(labels)[:, None]
        apart = ((means - means[worst]) ** 2).sum(axis=1)
        apart[worst] = np.inf
        labels = numbered(np.where(labels == worst, int(np.argmin(apart)), labels))
