"""Journalist risk: the chance to find someone who may or may not be in the table, at worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.risk._class_risks import original_risks, released_risks
from shoal.types import Comparison, Measure, Reading

_NO_POPULATION = (
    "No table of the population is given, so the population counts as the table: the risk equals the prosecutor's, its "
    "upper bound. Where people outside the table have the same values it is lower; k_map with a population counts them"
)


@dataclass(frozen=True)
class JournalistRisk(Measure):
    """Highest risk of a released record in percent if the attacker does not know who is in the table.

    The journalist wants to find anyone. The risk of a record is 1 divided by the number of people in the *population*
    with its values. A comparison has no table of the population: then the population is the table itself, and the
    risk equals that of the prosecutor. The reading says so.

    **Guarantee.** Never below the risk with any larger population that includes the table.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** ARX does the same where it is given no population.

    References: [EE13], [PKLK14].

    >>> import numpy as np
    >>> masked = np.array([[1.0], [1.0], [4.0], [4.0], [4.0]])
    >>> JournalistRisk().measure(Comparison(masked, masked, ("x",))).value
    50.0
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
        parts = (*released.parts()[:2], *original.parts("original, ")[:2])
        return self.reading(released.highest, comparison.attributes, parts, _NO_POPULATION)
