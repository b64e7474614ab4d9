"""SSE: the sum of squared errors over all records and attributes, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import sse_of


@dataclass(frozen=True)
class Sse(Measure):
    """Sum of squared differences between original and masked values, in units of the original's deviations."""

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the SSE of a masked table."""
        return self.reading(sse_of(comparison), comparison.attributes)
