"""Position: how far from its place in the input a record of a stream was released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.types import Comparison, Measure, Reading

_PERCENTS = (50, 90, 95, 99)


@dataclass(frozen=True)
class Position(Measure):
    """Average of |position in the output − position in the input|; parts are the largest and some percentiles.

    The p % percentile is the lowest difference that at least p % of the records do not exceed. Records that were not
    released are left out, and counted in the note.

    **Guarantee.** 0 if and only if records were released in the order in which they arrived.

    **Complexity.** O(n log n).

    **Departures.** [DS17] Figure 3 shows the largest and the average, but does not define a position once tuples are
    rejected: here it is the rank among the released ones.

    References: [DS17].

    >>> x = np.zeros((3, 1))
    >>> Position().measure(Comparison(x, x, ("age",), positions=np.array([2, 0, 1]))).parts[0]
    ('largest', 2.0)
    """

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far records moved."""
        positions = comparison.positions
        if positions is None:
            return self.undefined("records are compared row by row; name a key that both tables have")
        left = positions >= 0
        n = int(left.sum())
        if not n:
            return self.undefined("no record was released")
        apart = np.sort(np.abs(positions - np.arange(len(positions)))[left])
        parts = [("largest", float(apart[-1]))]
        parts += [(f"{percent} %", float(apart[(percent * n + 99) // 100 - 1])) for percent in _PERCENTS]
        gone = len(positions) - n
        note = f"{gone:,} records were not released" if gone else ""
        return self.reading(float(apart.mean()), parts=tuple(parts), note=note)
