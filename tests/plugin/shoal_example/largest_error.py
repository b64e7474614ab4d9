"""Largest error: the value that moved farthest, in standard deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.types import Comparison, Reading


@dataclass(frozen=True)
class LargestError:
    """Largest difference between an original and a released value, in units of the original's deviations."""

    goal: ClassVar[str] = "low"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the largest error of a released table."""
        value = float(np.sqrt(comparison.squares.max(initial=0.0)))
        return Reading("largest_error", value, self.goal, self.range, comparison.attributes)
