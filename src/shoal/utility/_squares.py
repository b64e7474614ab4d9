"""Sums over all records, correctly rounded: no order of rows changes a bit of them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.exact_sum import exact_total
from shoal.types import Comparison


def sse_of(comparison: Comparison) -> float:
    """Return the sum of squared differences between original and masked values."""
    if "sse" not in comparison.cache:
        comparison.cache["sse"] = exact_total(comparison.squares.ravel())
    return float(comparison.cache["sse"])


def sst_of(comparison: Comparison) -> float:
    """Return the sum of squared differences between original values and their means."""
    total = 0.0
    for column in np.ascontiguousarray(comparison.original.T):
        total += exact_total((column - exact_total(column) / len(column)) ** 2)
    return total
