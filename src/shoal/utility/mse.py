"""MSE: the mean squared error of a value, standardised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.types import Comparison, Reading


@dataclass(frozen=True)
class Mse:
    """Mean squared difference between an original and a masked value, in units of the original's variances."""

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    goal: ClassVar[str] = "low"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def measure(self, comparison: Comparison) -> Reading:
        """Read the MSE of a masked table."""
        value = float(np.mean(comparison.squares))
        return Reading("mse", value, self.goal, self.range, comparison.attributes)
