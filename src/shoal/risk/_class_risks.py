"""Re-identification risks of classes: the highest, the average, and the share at the highest."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.risk._attacker import classes_of, joined
from shoal.types import Comparison, Measure, Reading, some_of, sort_keys

NEAREST = "Population records belong to the nearest released combination"  #: how they were counted, in words


class ClassRisks(NamedTuple):
    """Risks of the members of classes in percent, where a member's risk is 1 divided by the members of the class.

    Members are records, or the different people in a class if it is known whose records they are.
    """

    highest: float
    average: float
    at_highest: float  #: share of the members whose risk is the highest
    unique: float  #: share of the members that are unique

    def parts(self, prefix: str = "") -> tuple[tuple[str, float], ...]:
        """Return the figures with their names."""
        return tuple(
            (f"{prefix}{name}", value)
            for name, value in (
                ("highest", self.highest),
                ("average", self.average),
                ("at the highest", self.at_highest),
                ("unique", self.unique),
            )
        )


class ClassRiskMeasure(Measure):
    """Base of the measures of an attacker who knows all attributes of everyone: a risk for each class, in percent."""

    exchangeable: ClassVar[bool] = True
    whole_table: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the risk of a masked table and of its original."""
        if not len(comparison):
            return self.undefined("there are no records")
        return self.of_classes(comparison)

    @abstractmethod
    def of_classes(self, comparison: Comparison) -> Reading:
        """Measure the risk of a table with at least one record."""


def class_risks(classes: NDArray[np.int64], people: NDArray[np.int64] | None = None) -> ClassRisks:
    """Return the risks of the classes of some records.

    >>> class_risks(np.array([0, 0, 1, 1, 1, 2]))._asdict()
    {'highest': 100.0, 'average': 50.0, 'at_highest': 16.666666666666668, 'unique': 16.666666666666668}
    >>> class_risks(np.array([0, 0, 0]), people=np.array([7, 7, 8])).highest
    50.0
    """
    if people is not None:
        most = int(people.max(initial=0)) + 1
        classes = np.unique(classes * most + people) // most
    sizes = np.bincount(classes)
    sizes = sizes[sizes > 0]
    least, members = int(sizes.min()), int(sizes.sum())
    at = 100.0 * least * int((sizes == least).sum()) / members
    return ClassRisks(100.0 / least, 100.0 * len(sizes) / members, at, at if least == 1 else 0.0)


def released_risks(comparison: Comparison) -> ClassRisks:
    """Return the risks of the masked records that are equal in all attributes."""
    return class_risks(classes_of(comparison), comparison.people)


def population_risks(comparison: Comparison) -> ClassRisks:
    """Return the risks of the masked records in the population; `comparison.population` must be given.

    A member's risk is 1 divided by the population records of its combination; it is certain if there is none.

    >>> x = np.array([[1.0], [1.0], [4.0]])
    >>> population_risks(Comparison(x, x, ("x",), population=np.array([5, 5, 2])))[:2]
    (50.0, 30.0)
    """
    assert comparison.population is not None
    people = np.arange(len(comparison)) if comparison.people is None else comparison.people
    member = classes_of(comparison) * (int(people.max()) + 1) + people
    there = comparison.population[np.unique(member, return_index=True)[1]]
    counts, often = np.unique(np.maximum(there, 1), return_counts=True)  # ascending, so that no order of rows matters
    at = 100.0 * int(often[0]) / len(there)
    average = 100.0 * float((often / counts).sum()) / len(there)
    return ClassRisks(100.0 / int(counts[0]), average, at, at if counts[0] == 1 else 0.0)


def original_risks(comparison: Comparison) -> ClassRisks:
    """Return the risks of the original records that are equal in all attributes."""
    return class_risks(original_classes(comparison), comparison.people)


def original_classes(comparison: Comparison) -> NDArray[np.int64]:
    """Return for each original record a number; those equal in all attributes share one."""
    return joined([original_codes(comparison, name) for name in comparison.attributes])


def original_codes(comparison: Comparison, name: str) -> NDArray[np.int64]:
    """Return the original values of an attribute as codes from 0; a missing value is a value."""
    if name in comparison.categories:
        return comparison.categories[name].before + 1
    if name in comparison.numbers:
        return np.unique(comparison.numbers[name].before, return_inverse=True)[1].reshape(-1).astype(np.int64)
    keys = sort_keys(some_of(comparison.original, comparison.places[name]))
    return joined([np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64) for key in keys])
