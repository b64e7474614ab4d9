"""Means: how far the mean of an attribute moved, in standard deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import read_changes, sizes_of


@dataclass(frozen=True)
class Means(Measure):
    """Largest change of the mean of an attribute, in units of its standard deviation in the original table.

    Parts are the changes with their signs: of each attribute, and of each attribute in each stratum, also in units of
    the table's deviation. If nothing varies, a change counts in the column's own unit.

    **Guarantee.** 0 if and only if all means are preserved, up to rounding. A release by centroids preserves them.

    **Complexity.** O(nd), with strata O(d · n log n).

    **Departures.** None: there is no paper.

    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([1.0, 3.0]), np.array([2.0, 3.0]))}
    >>> Means().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("pay",), numbers)).value
    0.5
    """

    exchangeable: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far means moved."""
        return read_changes(self, comparison, _change)


def _change(
    before: NDArray[np.float64], after: NDArray[np.float64], begins: NDArray[np.int64], spread: float
) -> Mapping[str, NDArray[np.float64]]:
    sizes = sizes_of(begins, len(before))
    return {"": np.add.reduceat(after - before, begins) / sizes / spread}
