"""Sums over all records: no order of rows changes a bit of them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.arithmetic.total import orderless_total
from shoal.types import Comparison


def sse_of(comparison: Comparison) -> float:
    """Return the sum of squared differences between original and masked values."""
    if "sse" not in comparison.cache:
        comparison.cache["sse"] = orderless_total(comparison.squares.ravel())
    return float(comparison.cache["sse"])


def sst_of(comparison: Comparison) -> float:
    """Return the sum of squared differences between original values and their means."""
    if "sst" not in comparison.cache:
        columns = np.ascontiguousarray(comparison.original.T)
        sums = (orderless_total((column - orderless_total(column) / len(column)) ** 2) for column in columns)
        comparison.cache["sst"] = sum(sums)
    return comparison.cache["sst"]
