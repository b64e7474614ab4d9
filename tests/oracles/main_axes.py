"""Squared distances on the principal axes of points, by definition: the longest axes, one after the other."""

from __future__ import annotations

import numpy as np


def kept(points: np.ndarray, left_out: float) -> int:
    """Return how many axes hold all of the variance but so much."""
    lengths = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    count, total = 0, 0.0
    while total < (1.0 - left_out) * lengths.sum():
        total += lengths[count]
        count += 1
    return count


def squared_distances(points: np.ndarray, axes: int) -> np.ndarray:
    """Return the squared distances of all points from each other on this many axes."""
    directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:axes]
    out = np.zeros((len(points), len(points)))
    for direction in directions:
        along = [float(sum(a * b for a, b in zip(point, direction, strict=True))) for point in points]
        for i, here in enumerate(along):
            for j, there in enumerate(along):
                out[i, j] += (here - there) ** 2
    return out
