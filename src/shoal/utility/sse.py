"""SSE: the sum of squared errors over all records and attributes, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import sse_of
from shoal.utility._per_record import per_record


@dataclass(frozen=True)
class Sse(Measure):
    """Sum of squared differences between original and masked values, in units of the original's deviations.

    Part ``ds17`` is the SSE of [DS17]: the sum of squared Euclidean distances between original and masked records.

    **Guarantee.** 0 if and only if nothing changed.

    **Complexity.** O(nd).

    **Departures.** [DS17] scales each attribute to 0–1 by its range instead of its deviation, and measures from the
    mean of the class, before rounding. The part is scaled by ranges; it covers the numeric attributes, of records that
    have all of them.

    References: [DS17].

    >>> import numpy as np
    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([0.0, 4.0]), np.array([2.0, 2.0]))}
    >>> Sse().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("pay",), numbers)).parts
    (('ds17', 0.5),)
    """

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the SSE of a masked table."""
        return self.reading(sse_of(comparison), comparison.attributes, *per_record(comparison, "sse"))
