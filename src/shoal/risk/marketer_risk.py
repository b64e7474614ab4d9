"""Marketer risk: the share of records that are linked correctly if everyone is linked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.risk._class_risks import original_risks, released_risks
from shoal.types import Comparison, Measure, Reading


@dataclass(frozen=True)
class MarketerRisk(Measure):
    """Expected percentage of correct links if every record is linked at random within its class: classes / records.

    The marketer links the whole table with another one about the same people, and does not mind some wrong links. Where
    k counts people, people are counted instead of records. The part `original` is the same before anything was changed.

    **Guarantee.** At most 100/k in a release of one block that is k-anonymous in the compared attributes; never above
    the prosecutor risk.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** [DE10] divide the size of each class by its size in the population. Without a table of the
    population, everyone is in the table, and the sum is the number of classes.

    References: [DE10], [EE13], [PKLK14].

    >>> import numpy as np
    >>> original, masked = (np.array([[float(x)] for x in values]) for values in ((1, 2, 3, 4, 5), (1, 1, 4, 4, 4)))
    >>> MarketerRisk().measure(Comparison(original, masked, ("x",))).value
    40.0
    """

    exchangeable: ClassVar[bool] = True
    whole_table: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the risk of a masked table and of its original."""
        if not len(comparison):
            return self.undefined("there are no records")
        released, original = released_risks(comparison), original_risks(comparison)
        return self.reading(released.average, comparison.attributes, (("original", original.average),))
