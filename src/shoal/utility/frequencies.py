"""Frequencies: how much of the distribution of a category moved (total variation distance)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import missing, worst


@dataclass(frozen=True)
class Frequencies(Measure):
    """Largest total variation distance of a categorical attribute: ½ · Σ |share after − share before|.

    It is the share of records that would have to change their category to restore the original's frequencies. Parts are
    the distances of the attributes.

    **Guarantee.** 0 if and only if every category is as frequent as before; 1 if no original category is left.

    **Complexity.** O(nd).

    **Departures.** None: there is no paper. Records with the category missing before or after are left out.

    >>> from shoal.types import Codes
    >>> work = Codes(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), ("a", "b"))
    >>> Frequencies().measure(Comparison(np.zeros((4, 1)), np.zeros((4, 1)), ("work",), {}, {"work": work})).value
    0.25
    """

    exchangeable: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far frequencies moved."""
        names = [name for name in comparison.attributes if name in comparison.categories]
        found: list[tuple[str, float]] = []
        gone = 0
        for name in names:
            codes = comparison.categories[name]
            there = (codes.before >= 0) & (codes.after >= 0)
            gone += len(there) - int(there.sum())
            if there.any():
                found.append((name, _distance(codes.before[there], codes.after[there])))
        if not found:
            return self.undefined("no attribute is a category")
        note = missing(gone, "value")
        value = max(distance for _, distance in found)
        return self.reading(value, tuple(names), parts=worst(found), note=note)


def _distance(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    most = int(max(before.max(), after.max())) + 1
    changed = np.bincount(after, minlength=most) - np.bincount(before, minlength=most)
    return float(np.abs(changed).sum() / (2 * len(before)))
