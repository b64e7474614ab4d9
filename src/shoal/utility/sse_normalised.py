"""Normalised SSE: the mean squared error of a value, in units of the range of its attribute ([SC15] eq. (5))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import missing, worst
from shoal.utility._per_record import in_ranges


@dataclass(frozen=True)
class SseNormalised(Measure):
    """1/n · Σ over records 1/m · Σ over attributes of NED(x, x′)², the normalised SSE of [SC15] eq. (5).

    NED is the distance between an original and a masked value, divided by the range of the attribute in the original:
    for numbers, dates and times that of their values, for ordered categories that of their ranks. Other categories are
    at distance 1, or at the distance of their taxonomy. Parts are the means of the attributes.

    **Guarantee.** 0 if and only if nothing changed; at most 1 if masked values stay within the original's ranges.

    **Complexity.** O(nd).

    **Departures.** [SC15] does not say how distances are normalised; "independent of the ranges of attribute values" is
    taken to mean by ranges. A value missing before or after is left out; the paper has no missing values. If nothing
    varies, an error counts in the column's own unit.

    References: [SC15].

    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([0.0, 4.0]), np.array([2.0, 2.0]))}
    >>> SseNormalised().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("pay",), numbers)).value
    0.25
    """

    exchangeable: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the normalised SSE of a masked table."""
        found = {name: _errors(name, comparison) for name in comparison.attributes}
        looked = sum(len(errors) for errors in found.values())
        if not looked:
            return self.undefined("no value is present both before and after")
        value = sum(float(errors.sum()) for errors in found.values()) / looked
        parts = worst([(name, float(errors.mean())) for name, errors in found.items() if len(errors)])
        gone = len(comparison) * len(found) - looked
        note = missing(gone, "value")
        return self.reading(value, tuple(found), parts=parts, note=note)


def _errors(name: str, comparison: Comparison) -> NDArray[np.float64]:
    """Return the squared normalised distances of an attribute, where both values are present."""
    if name in comparison.numbers:
        before, after = comparison.numbers[name]
        there = ~(np.isnan(before) | np.isnan(after))
    elif name in comparison.categories:
        codes = comparison.categories[name]
        there = (codes.before >= 0) & (codes.after >= 0)
        if not codes.ordered:
            return np.asarray(comparison.squares[there, comparison.attributes.index(name)])
        before, after = (np.where(side >= 0, side, np.nan) for side in (codes.before, codes.after))
    else:  # bare coordinates
        return np.asarray(comparison.squares[:, comparison.attributes.index(name)])
    return np.asarray(in_ranges(before, after)[there] ** 2)
