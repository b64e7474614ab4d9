"""DR: disclosure risk, the mean of distance linkage and interval disclosure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from shoal.types import CombinedMeasure


@dataclass(frozen=True)
class DisclosureRisk(CombinedMeasure):
    """0.5·DLD + 0.5·ID, in percent.

    Computed from other measures. If one of them has nothing to measure, there is no DR.

    References: [N14] Section 2.3.

    >>> DisclosureRisk().combine({"dld": 20.0, "id": 60.0}).value
    40.0
    """

    of: ClassVar[tuple[str, ...]] = ("dld", "id")
    short: ClassVar[str] = "dr"
    exchangeable: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    def value(self, values: Mapping[str, float]) -> float:
        """Return the disclosure risk from DLD and ID, by name."""
        return 0.5 * values["dld"] + 0.5 * values["id"]
