"""Prosecutor risk: the chance of finding someone who is known to be in the table, at worst."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.risk._class_risks import ClassRiskMeasure, original_risks, released_risks
from shoal.types import Comparison, Reading


@dataclass(frozen=True)
class ProsecutorRisk(ClassRiskMeasure):
    """Highest re-identification risk of a released record in percent: 100 divided by the size of the smallest class.

    The prosecutor looks for one person, knows that the person is in the table, and knows all compared attributes and,
    where they are declared, the strata. The risk of a record is 1 divided by the number of records that are equal to
    it. Parts are the highest and the average risk, the share of records whose risk is the highest and of unique ones;
    and the same of the original, before anything was changed. Where k counts people, people are counted instead of
    records; with pseudonyms, those whose records all together have the same combinations.

    **Guarantee.** At most 100/k in a release of one block that is k-anonymous in the compared attributes.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** [EE13] and ARX also give the share of records above a chosen threshold. Here the threshold is the
    highest risk, so that no choice hides it.

    References: [EE13], [PKLK14].

    >>> import numpy as np
    >>> original, masked = (np.array([[float(x)] for x in values]) for values in ((1, 2, 3, 4, 5), (1, 1, 4, 4, 4)))
    >>> dict(ProsecutorRisk().measure(Comparison(original, masked, ("x",))).parts)["average"]
    40.0
    """

    def of_classes(self, comparison: Comparison) -> Reading:
        """Measure the risk of a masked table and of its original."""
        released, original = released_risks(comparison), original_risks(comparison)
        parts = (*released.parts(), *original.parts("original, "))
        return self.reading(released.highest, comparison.attributes, parts)
