"""DR: disclosure risk, the mean of distance linkage and interval disclosure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Reading


@dataclass(frozen=True)
class DisclosureRisk:
    """0.5·DLD + 0.5·ID, in percent.

    Computed from other measures. If one of them has nothing to measure, there is no DR.

    References: [N14] Section 2.3.

    >>> DisclosureRisk().combine({"dld": 20.0, "id": 60.0}).value
    40.0
    """

    of: ClassVar[tuple[str, ...]] = ("dld", "id")
    short: ClassVar[str] = "dr"
    exchangeable: ClassVar[bool] = True
    goal: ClassVar[str] = "low"
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    def combine(self, values: Mapping[str, float]) -> Reading:
        """Combine the readings of DLD and ID, by name; NaN if one has no value."""
        lacking = [name for name in self.of if math.isnan(values[name])]
        return Reading(
            "disclosure_risk",
            0.5 * values["dld"] + 0.5 * values["id"],
            self.goal,
            self.range,
            unit=self.unit,
            parts=tuple((name, values[name]) for name in self.of if name not in lacking),
            note=f"There is no reading of {' and '.join(lacking)}." if lacking else "",
            short=self.short,
        )
