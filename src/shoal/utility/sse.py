"""SSE: the sum of squared errors over all records and attributes, standardised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Reading
from shoal.utility._columns import sse_of


@dataclass(frozen=True)
class Sse:
    """Sum of squared differences between original and masked values, in units of the original's deviations."""

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True
    goal: ClassVar[str] = "low"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the SSE of a masked table."""
        value = sse_of(comparison)
        return Reading("sse", value, self.goal, self.range, comparison.attributes)
