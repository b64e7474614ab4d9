"""IL: information loss, the share of the total variation that is lost, 100·SSE/SST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import sse_of, sst_of


@dataclass(frozen=True)
class IlSse(Measure):
    """100·SSE/SST in percent, standardised: 0 is the original, 100 is every record at the common mean.

    A release by centroids lies between the two; a table that is farther from the original than its mean exceeds 100. If
    nothing varies, nothing can be lost: 0.
    """

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True
    unit: ClassVar[str] = "%"

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the information loss of a masked table."""
        sse, sst = sse_of(comparison), sst_of(comparison)
        value = 100.0 * sse / sst if sst > 0 else 0.0 if sse == 0 else 100.0
        return self.reading(value, comparison.attributes)
