"""Released values as multiples of a step, within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

_EXACT = 2**53  # integers up to it are floats


@dataclass(frozen=True, slots=True)
class Steps:
    """Multiples of a step, which is top / bottom: from `lowest` times to `highest` times.

    **Guarantee.** A value is the float nearest to a multiple of the step as it is written, 0.1 being one tenth, and
    lies within the bounds.

    >>> Steps.between(0.1, 0, 1).round(np.array([0.26, 0.34, 0.96])).tolist()
    [0.3, 0.3, 1.0]
    """

    top: int
    bottom: int
    lowest: int
    highest: int

    @classmethod
    def between(cls, step: float, low: float, high: float) -> Steps:
        """Return the multiples of a step between two bounds, all numbers as they are written."""
        exact = Fraction(str(step))
        first, last = (Fraction(str(end)) / exact for end in (low, high))
        return cls(exact.numerator, exact.denominator, ceil(first), floor(last))

    @property
    def fault(self) -> str | None:
        """Say why there are no such values, or None."""
        if self.lowest > self.highest:
            return "no multiple of it lies between the bounds. Lower it, or widen the bounds."
        if max(abs(self.lowest), abs(self.highest)) * self.top > _EXACT or self.bottom > _EXACT:
            return "it is finer than floats between the bounds. Raise it."
        return None

    def round(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest multiples; of two the even one."""
        times = np.rint(values * self.bottom / self.top)
        return np.asarray(np.clip(times, self.lowest, self.highest) * self.top / self.bottom + 0.0)
