"""MAE: the mean absolute error of a value, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import absolute_of, cells_of


@dataclass(frozen=True)
class Mae(Measure):
    """Mean absolute difference between an original and a masked value, in units of the original's deviations."""

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the MAE of a masked table."""
        return self.reading(absolute_of(comparison) / cells_of(comparison), comparison.attributes)
