"""Earth mover's distance: how far the confidential values of a class are from those of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import worst


@dataclass(frozen=True)
class EarthMover(Measure):
    """Largest EMD of any class in any confidential column; parts are the largest and the average of each column.

    Classes are masked records that are equal in all compared attributes. The bins are the distinct values; the distance
    of ordered values is that of their ranks, that of others 1 or given by their taxonomy. The average is over classes.
    A low distance means that little is learnt about confidential values, a high one that relations were preserved:
    neither direction is better.

    **Guarantee.** The value is t of the masked table over the compared attributes: it is t-close for this t, and for no
    smaller one. The audit of t-closeness computes the same with independent code.

    **Complexity.** O(n log n) for each confidential column.

    **Departures.** None.

    References: [LLV07], [SC15].

    >>> import numpy as np
    >>> from shoal.types import Confidential
    >>> pay = Confidential("pay", np.arange(4), np.ones(4, np.int64))
    >>> x, classes = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> EarthMover().measure(Comparison(x, x, ("age",), classes=classes, confidential=(pay,))).value
    0.3333333333333333
    """

    unpaired: ClassVar[bool] = True
    goal: ClassVar[str] = ""
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure how far classes are from the table."""
        columns = comparison.confidential
        if not columns or comparison.classes is None or not len(comparison):
            return self.undefined("no confidential column was named")
        from shoal.kernels.closeness.earth_mover import closeness, distances

        found, _ = distances(closeness(columns, 1.0), comparison.classes)
        parts = []
        for column, of_classes in zip(columns, found, strict=True):
            parts += [(f"{column.name}, largest", float(of_classes.max()))]
            parts += [(f"{column.name}, average", float(of_classes.mean()))]
        names = tuple(column.name for column in columns)
        return self.reading(float(found.max()), names, parts=worst(parts))
