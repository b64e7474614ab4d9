"""MAE: the mean absolute error of a value, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.kernels.arithmetic.sums import orderless_total
from shoal.types import Comparison, Measure, Reading


@dataclass(frozen=True)
class Mae(Measure):
    """Mean absolute difference between an original and a masked value, in units of the original's deviations."""

    quick: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    by_attribute: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the MAE of a masked table."""
        value = orderless_total(np.sqrt(comparison.squares).ravel()) / max(comparison.squares.size, 1)
        return self.reading(value, comparison.attributes)
