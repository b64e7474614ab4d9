"""Journalist risk: the chance of finding someone who may or may not be in the table, at worst."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.risk._class_risks import (
    NEAREST,
    ClassRiskMeasure,
    average_in_population,
    original_risks,
    population_risks,
    released_risks,
)
from shoal.types import Comparison, Reading

_NO_POPULATION = (
    "No table of the population is given, so the population counts as the table: the risk equals the prosecutor's, its "
    "upper bound. Where people outside the table have the same values it is lower: give the population to count them"
)


@dataclass(frozen=True)
class JournalistRisk(ClassRiskMeasure):
    """Highest risk of a released record in percent if the attacker does not know who is in the table.

    The journalist wants to find anyone. The risk of a record is 1 divided by the number of people in the *population*
    with its values. With a file of the population these are the population records that belong to its combination: the
    nearest one, as for k-map. Without a file the population is the table itself, and the risk equals that of the
    prosecutor. The reading says which. Parts are the highest and the average risk of the released records; with a
    population also the average risk of the people in it, which is the number of combinations divided by that of people,
    and without one the highest and the average risk of the original.

    **Guarantee.** Without a population, never below the risk with any larger one that includes the table. With one, at
    most 100 divided by the level of k-map. A combination that no population record belongs to counts as certain.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** [EE13] and ARX match generalised values exactly; released values are means here, so that the nearest
    combination matches instead. ARX gives the larger of both averages as its success rate; here each is a part.
    Without a population both are equal, and ARX, too, takes the table as the population.

    References: [EE13], [ED08], [PKLK14].

    >>> import numpy as np
    >>> masked = np.array([[1.0], [1.0], [4.0], [4.0], [4.0]])
    >>> JournalistRisk().measure(Comparison(masked, masked, ("x",))).value
    50.0
    >>> people = np.array([20, 20, 5, 5, 5])
    >>> JournalistRisk().measure(Comparison(masked, masked, ("x",), population=people)).parts
    (('highest', 20.0), ('average', 14.0), ('average in the population', 8.0))
    """

    def of_classes(self, comparison: Comparison) -> Reading:
        """Measure the risk in the population, or in the masked table and its original."""
        names = comparison.attributes
        if comparison.population is not None:
            found = population_risks(comparison)
            parts = (*found.parts()[:2], ("average in the population", average_in_population(comparison)))
            return self.reading(found.highest, names, parts, NEAREST)
        released, original = released_risks(comparison), original_risks(comparison)
        parts = (*released.parts()[:2], *original.parts("original, ")[:2])
        return self.reading(released.highest, names, parts, _NO_POPULATION)
