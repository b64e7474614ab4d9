"""SSE, MSE and MAE as [DS17] defines them: distances between whole records, each attribute scaled to 0–1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import orderless_total
from shoal.types import Comparison
from shoal.utility._columns import Parts, missing

PART = "ds17"  #: name of the part


def in_ranges(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the error of each value in units of the original's range; NaN where either value is missing.

    An error in a constant column counts in the column's own unit.

    >>> in_ranges(np.array([0.0, 4.0, np.nan]), np.array([2.0, 4.0, 1.0])).tolist()
    [0.5, 0.0, nan]
    """
    known = before[~np.isnan(before)]
    exponent = int(np.frexp(np.max(np.abs(known), initial=0.0))[1])  # so that a range does not overflow
    scaled = np.ldexp(known, -exponent)
    width = float(np.max(scaled) - np.min(scaled)) if len(known) else 0.0
    errors = np.ldexp(after, -exponent) - np.ldexp(before, -exponent)
    return np.asarray(errors / (width or np.ldexp(1.0, -exponent)))


def per_record(comparison: Comparison, measure: str) -> tuple[Parts, str]:
    """Return `measure` of [DS17] as a part, and a note on the records that it omits; no part without numbers.

    With d(x, x′) the Euclidean distance between an original and a masked record, over the numeric attributes: ``sse``
    is Σ d², ``mse`` is Σ d² / n, and ``mae`` is Σ d / n. Records with a missing number are omitted.
    """
    if not comparison.numeric:
        return (), ""
    errors = [in_ranges(*comparison.numbers[name]) for name in comparison.numeric]
    squares = np.sum([one * one for one in errors], axis=0)
    squares = squares[~np.isnan(squares)]
    note = missing(len(comparison) - len(squares), "record")
    note = f"{PART}: {note}" if note else ""
    if not len(squares):
        return (), note
    total = orderless_total(np.sqrt(squares) if measure == "mae" else squares)
    return ((PART, float(total if measure == "sse" else total / len(squares))),), note
