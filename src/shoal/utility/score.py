"""Score: half information loss, half disclosure risk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Reading


@dataclass(frozen=True)
class Score:
    """0.5·IL + 0.25·(DLD + ID): one number to compare methods by, the lower the better.

    Computed from other measures: IL is that of [N14], not 100·SSE/SST. If one of them has nothing to measure, there is
    no score.

    References: [N14] Section 2.3.

    >>> Score().combine({"il": 30.0, "dld": 20.0, "id": 60.0}).value
    35.0
    """

    of: ClassVar[tuple[str, ...]] = ("il", "dld", "id")
    exchangeable: ClassVar[bool] = True
    goal: ClassVar[str] = "low"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def combine(self, values: Mapping[str, float]) -> Reading:
        """Combine the readings of IL, DLD and ID, by name; NaN if one has no value."""
        lacking = [name for name in self.of if math.isnan(values[name])]
        return Reading(
            "score",
            0.5 * values["il"] + 0.25 * (values["dld"] + values["id"]),
            self.goal,
            self.range,
            parts=tuple((name, values[name]) for name in self.of if name not in lacking),
            note=f"There is no reading of {' and '.join(lacking)}." if lacking else "",
        )
