"""Totals: how far the (weighted) total of a column moved, in percent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.sums import orderless_total
from shoal.types import Comparison, Measure, Pair, Reading

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Totals(Measure):
    """Largest change of the total of a numeric quasi-identifier, in percent of the original total.

    If the table has sampling weights, totals are weighted: before by the original weights, after by those that are
    released, or would be. Rounding changes totals, and so do weights that means do not use. Parts are the changes with
    their signs: of each quasi-identifier, the largest in any stratum, and of numeric confidential columns, whose values
    stay while their weights change.

    **Guarantee.** 0, up to 10⁻¹⁰, for a release by centroids with exact means.

    **Complexity.** O(nd).

    **Departures.** None: there is no paper.

    >>> numbers = {"pay": Pair(np.array([1.0, 3.0]), np.array([2.0, 3.0]))}
    >>> Totals().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("pay",), numbers)).value
    25.0
    """

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far totals moved."""
        if not comparison.numeric:
            return self.undefined("no attribute is a number")
        weights = comparison.weights or Pair(np.ones(len(comparison)), np.ones(len(comparison)))
        moved = {name: _change(comparison.numbers[name], weights) for name in comparison.numeric}
        parts = [*moved.items(), *_in_strata(comparison, weights), *_of_confidential(comparison, weights)]
        known = [abs(change) for change in moved.values() if math.isfinite(change)]
        return self.reading(
            max(known, default=math.nan),
            tuple(moved),
            tuple((name, change) for name, change in parts if math.isfinite(change)),
            "" if known else "the total of every attribute is 0",
        )


def _change(pair: Pair, weights: Pair, rows: NDArray[np.bool_] | slice = slice(None)) -> float:
    """Return the change of a total in percent; if the original total is 0, 0 if the other is too, else NaN."""
    there = np.isfinite(pair.before[rows]) & np.isfinite(pair.after[rows])
    before, after = (_total(x[rows][there], w[rows][there]) for x, w in zip(pair, weights, strict=True))
    if before == 0:
        return 0.0 if after == 0 else math.nan
    return 100 * (after - before) / abs(before)


def _total(values: Floats, weights: Floats) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = values * weights
        return orderless_total(weighted) if np.abs(weighted).sum() < math.inf else float(weighted.sum())


def _in_strata(comparison: Comparison, weights: Pair) -> Iterator[tuple[str, float]]:
    """Yield for each attribute the largest change of its total in any stratum."""
    if comparison.strata is None:
        return
    inside = [comparison.strata == stratum for stratum in np.unique(comparison.strata)]
    for name in comparison.numeric:
        found = [_change(comparison.numbers[name], weights, rows) for rows in inside]
        yield f"{name}, largest in any stratum", max(filter(math.isfinite, found), key=abs, default=math.nan)


def _of_confidential(comparison: Comparison, weights: Pair) -> Iterator[tuple[str, float]]:
    """Yield for each numeric confidential column the change of its weighted total."""
    if comparison.weights is None:
        return
    for column in comparison.confidential:
        if column.values is not None:
            values = column.values[column.codes]
            yield f"{column.name} (confidential)", _change(Pair(values, values), weights)
