"""MAE: the mean absolute error of a value, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import absolute_of, cells_of
from shoal.utility._per_record import per_record


@dataclass(frozen=True)
class Mae(Measure):
    """Mean absolute difference between an original and a masked value, in units of the original's deviations.

    Part ``ds17`` is the MAE of [DS17]: the mean Euclidean distance between an original and a masked record.

    **Guarantee.** 0 if and only if nothing changed.

    **Complexity.** O(nd).

    **Departures.** [DS17] averages the distances of whole records, here those of single values. It scales each
    attribute to 0–1 by its range instead of its deviation, and measures from the mean of the class, before rounding.
    The part is per record and scaled by ranges; it covers the numeric attributes, of records that have all of them.

    References: [DS17].

    >>> import numpy as np
    >>> from shoal.types import Pair
    >>> numbers = {"pay": Pair(np.array([0.0, 4.0]), np.array([2.0, 2.0]))}
    >>> Mae().measure(Comparison(np.zeros((2, 1)), np.zeros((2, 1)), ("pay",), numbers)).parts
    (('ds17', 0.5),)
    """

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the MAE of a masked table."""
        value = absolute_of(comparison) / cells_of(comparison)
        return self.reading(value, comparison.attributes, *per_record(comparison, "mae"))
