"""Variances: how much of the variance of an attribute was lost or added, relative to the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import read_changes, sizes_of


@dataclass(frozen=True)
class Variances(Measure):
    """Largest change of the variance of an attribute, as a share of its variance in the original table.

    Parts are the changes with their signs: −0.09 means that 9 % are lost. Those of a stratum are also shares of the
    table's variance, so that a stratum in which nothing varied has a change. If nothing varies in the table, a change
    counts in the column's own unit.

    **Guarantee.** 0 if and only if all variances are preserved, up to rounding. A release by centroids lowers them.

    **Complexity.** O(nd), with strata O(d · n log n).

    **Departures.** None: there is no paper.

    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 1.5, 3.5, 3.5]))}
    >>> round(Variances().measure(Comparison(np.zeros((4, 1)), np.zeros((4, 1)), ("pay",), numbers)).value, 12)
    0.2
    """

    exchangeable: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far variances moved."""
        return read_changes(self, comparison, _change)


def _change(
    before: NDArray[np.float64], after: NDArray[np.float64], begins: NDArray[np.int64], spread: float
) -> Mapping[str, NDArray[np.float64]]:
    found = [_variances(values / spread, begins) for values in (before, after)]
    return {"": found[1] - found[0]}


def _variances(values: NDArray[np.float64], begins: NDArray[np.int64]) -> NDArray[np.float64]:
    sizes = sizes_of(begins, len(values))
    offsets = values - np.repeat(values[begins], sizes)  # from the first of each group: exact if nothing varies
    means = np.add.reduceat(offsets, begins) / sizes
    return np.asarray(np.add.reduceat((offsets - np.repeat(means, sizes)) ** 2, begins) / sizes)
