"""Score: half information loss, half disclosure risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from shoal.types import CombinedMeasure


@dataclass(frozen=True)
class Score(CombinedMeasure):
    """0.5·IL + 0.25·(DLD + ID): one number to compare methods by, the lower the better.

    Computed from other measures: IL is that of [N14], not 100·SSE/SST. If one of them has nothing to measure, there is
    no score.

    References: [N14] Section 2.3.

    >>> Score().combine({"il": 30.0, "dld": 20.0, "id": 60.0}).value
    35.0
    """

    of: ClassVar[tuple[str, ...]] = ("il", "dld", "id")
    exchangeable: ClassVar[bool] = True

    def value(self, values: Mapping[str, float]) -> float:
        """Return the score from IL, DLD and ID, by name."""
        return 0.5 * values["il"] + 0.25 * (values["dld"] + values["id"])
