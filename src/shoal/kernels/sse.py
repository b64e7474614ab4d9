"""The sum of squared errors of a partition: what a release by class means loses."""

from __future__ import annotations

import numpy as np

from shoal.kernels.overlay import classes_of


def sse(points: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum over all records of squared distances to the means of their classes.

    >>> sse(np.array([[0.0], [2.0], [9.0], [9.0]]), np.array([0, 0, 1, 1]))
    2.0
    """
    return float(classes_of(points, labels).costs.sum())
