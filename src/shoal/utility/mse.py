"""MSE: the mean squared error of a value, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import cells_of, sse_of


@dataclass(frozen=True)
class Mse(Measure):
    """Mean squared difference between an original and a masked value, in units of the original's variances."""

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the MSE of a masked table."""
        value = sse_of(comparison) / cells_of(comparison)
        return self.reading(value, comparison.attributes)
