"""Quantiles: how far the median, the quartiles and the 5 % and 95 % points of an attribute moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import read_changes, sizes_of

PERCENTS = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class Quantiles(Measure):
    """Largest change of the 5, 25, 50, 75 and 95 % quantiles of an attribute, in units of its standard deviation.

    The p % quantile is the lowest value that at least p % of the records do not exceed: a value that occurs, even in
    small strata. Parts are the changes with their signs, in strata also in units of the table's deviation.

    **Guarantee.** 0 if and only if the five quantiles of all attributes are preserved.

    **Complexity.** O(d · n log n).

    **Departures.** None: there is no paper.

    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([1.0, 3.0]), np.array([2.0, 3.0]))}
    >>> Quantiles().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("pay",), numbers)).parts[2]
    ('pay, 50 %', 1.0)
    """

    exchangeable: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far quantiles moved."""
        return read_changes(self, comparison, _change)


def _change(
    before: NDArray[np.float64], after: NDArray[np.float64], begins: NDArray[np.int64], spread: float
) -> Mapping[str, NDArray[np.float64]]:
    sizes = sizes_of(begins, len(before))
    group = np.repeat(np.arange(len(begins)), sizes)
    ordered = [_sorted(values, group, len(begins)) for values in (before, after)]
    found = {}
    for percent in PERCENTS:
        at = begins + (percent * sizes + 99) // 100 - 1  # integers: rounding does not decide which record it is
        found[f", {percent} %"] = (ordered[1][at] - ordered[0][at]) / spread
    return found


def _sorted(values: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Sort values within their groups."""
    if groups == 1:
        return np.sort(values)
    order = np.argsort(values)
    small = group.astype(np.uint16 if groups <= 1 << 16 else np.int64)  # short integers are radix-sorted
    return np.asarray(values[order[np.argsort(small[order], kind="stable")]])
