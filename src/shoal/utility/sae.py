"""SAE: the sum of absolute errors over all records and attributes, standardised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import worst


@dataclass(frozen=True)
class Sae(Measure):
    """Sum of absolute differences between original and masked values, in units of the original's deviations.

    Part ``raw`` is the sum of [SD17] as printed: over the numeric attributes, each in its own unit, where values are
    present before and after. Then come the attributes' shares of the standardised sum.

    **Guarantee.** 0 if and only if nothing changed; MAE times records times attributes.

    **Complexity.** O(nd).

    **Departures.** [SD17] adds values as they are, so that the attribute with the largest numbers dominates. Here they
    are standardised, as in ``sse``; the sum of [SD17] is a part.

    References: [SD17].

    >>> x, y = np.array([[0.0], [1.0]]), np.array([[0.5], [0.5]])
    >>> Sae().measure(Comparison(x, y, ("age",))).value
    1.0
    """

    exchangeable: ClassVar[bool] = True
    adds_up: ClassVar[bool] = True

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the SAE of a masked table."""
        names = comparison.attributes
        shares = np.sqrt(comparison.squares).sum(axis=0)
        errors = [np.abs(np.subtract(*comparison.numbers[name])) for name in comparison.numeric]
        raw = [float(np.nansum(of_one)) for of_one in errors]
        gone = sum(int(np.isnan(of_one).sum()) for of_one in errors)
        parts = [("raw", math.fsum(raw))] if raw else []
        parts += worst([(name, float(share)) for name, share in zip(names, shares, strict=True)], 199)
        note = f"{gone:,} values are not part of raw, because they are missing before or after" if gone else ""
        value = float(shares.sum())
        return self.reading(value, names, tuple(parts), note)
