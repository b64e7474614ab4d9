"""Repair a partition until every class holds what is demanded of it."""

from __future__ import annotations

import numpy as np

from shoal.kernels.demands import Demands
from shoal.kernels.merging import merge_until_close


def satisfy(points: np.ndarray, labels: np.ndarray, k: int, d: Demands) -> np.ndarray:
    """Merge classes until all are close to the table, where that is all that is demanded."""
    return merge_until_close(points, labels, d.c)
