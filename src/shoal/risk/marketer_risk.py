"""Marketer risk: the share of records that are linked correctly if everyone is linked."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.risk._class_risks import NEAREST, ClassRiskMeasure, original_risks, population_risks, released_risks
from shoal.types import Comparison, Reading


@dataclass(frozen=True)
class MarketerRisk(ClassRiskMeasure):
    """Expected percentage of correct links if every record is linked at random within its class: classes / records.

    The marketer links the whole table with another one about the same people, and does not mind some wrong links. Where
    k counts people, people are counted instead of records; strata tell classes apart; with pseudonyms, a class is those
    whose records all together have the same combinations. The part `original` is the same before anything was changed.
    With a file of the population, each record counts 1 divided by the population records of its combination.

    **Guarantee.** At most 100/k in a release of one block that is k-anonymous in the compared attributes; never above
    the prosecutor risk.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** [DE10] divide the size of each class by its size in the population, and so does the figure with a
    population, whose records belong to the nearest combination. Without one everyone is in the table, and the sum is
    the number of classes.

    References: [DE10], [EE13], [PKLK14].

    >>> import numpy as np
    >>> original, masked = (np.array([[float(x)] for x in values]) for values in ((1, 2, 3, 4, 5), (1, 1, 4, 4, 4)))
    >>> MarketerRisk().measure(Comparison(original, masked, ("x",))).value
    40.0
    """

    def of_classes(self, comparison: Comparison) -> Reading:
        """Measure the risk of a masked table and of its original."""
        if comparison.population is not None:
            return self.reading(population_risks(comparison).average, comparison.attributes, note=NEAREST)
        released, original = released_risks(comparison), original_risks(comparison)
        return self.reading(released.average, comparison.attributes, (("original", original.average),))
