"""Largest error: the value that moved farthest, in standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.types import Comparison, Reading
from shoal.types.protocols import Measure


@dataclass(frozen=True)
class LargestError(Measure):
    """Largest difference between an original and a released value, in units of the original's deviations."""

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the largest error of a released table."""
        return self.reading(float(np.sqrt(comparison.squares.max(initial=0.0))), comparison.attributes)
