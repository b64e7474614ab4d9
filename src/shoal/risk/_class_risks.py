"""Re-identification risks of classes: the highest, the average, and the share at the highest."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
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
    unpaired: ClassVar[bool] = True
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
    return _of_sizes(sizes[sizes > 0])


def set_risks(classes: NDArray[np.int64], people: NDArray[np.int64]) -> ClassRisks:
    """Return the risks of people whose records are seen to be theirs: a class holds those with the same set of classes.

    >>> set_risks(np.array([0, 1, 1, 0, 1, 1]), people=np.array([7, 7, 8, 8, 9, 9]))._asdict()
    {'highest': 100.0, 'average': 66.66666666666667, 'at_highest': 33.333333333333336, 'unique': 33.333333333333336}
    """
    order = np.lexsort((classes, people))
    own = np.ascontiguousarray(classes[order])
    begins = np.flatnonzero(np.diff(people[order])) + 1
    return _of_sizes(np.array(list(Counter(some.tobytes() for some in np.split(own, begins)).values())))


def _of_sizes(sizes: NDArray[np.int64]) -> ClassRisks:
    """Return the risks of the members of classes of some sizes."""
    least, members = int(sizes.min()), int(sizes.sum())
    at = 100.0 * least * int((sizes == least).sum()) / members
    return ClassRisks(100.0 / least, 100.0 * len(sizes) / members, at, at if least == 1 else 0.0)


def released_risks(comparison: Comparison) -> ClassRisks:
    """Return the risks of the masked records that are equal in all attributes and strata; with pseudonyms, of people.

    Strata are released unchanged, so that an attacker tells them apart.

    >>> x = np.array([[1.0], [1.0], [1.0]])
    >>> released_risks(Comparison(x, x, ("x",), strata=np.array([0, 0, 1]))).highest
    100.0
    """
    classes = classes_of(comparison)
    return _risks(comparison, classes if comparison.strata is None else joined([classes, comparison.strata]))


def _risks(comparison: Comparison, classes: NDArray[np.int64]) -> ClassRisks:
    if comparison.pseudonyms and comparison.people is not None:
        return set_risks(classes, comparison.people)
    return class_risks(classes, comparison.people)


def population_risks(comparison: Comparison) -> ClassRisks:
    """Return the risks of the masked records in the population; `comparison.population` must be given.

    A member's risk is 1 divided by the number of population records with its combination, and 100 % if there are 0.

    >>> x = np.array([[1.0], [1.0], [4.0]])
    >>> population_risks(Comparison(x, x, ("x",), population=np.array([5, 5, 2])))[:2]
    (50.0, 30.0)
    """
    assert comparison.population is not None
    people = np.arange(len(comparison)) if comparison.people is None else comparison.people
    member = _combinations(comparison) * (int(people.max()) + 1) + people
    there = comparison.population[np.unique(member, return_index=True)[1]]
    counts, often = np.unique(np.maximum(there, 1), return_counts=True)  # ascending, so that no order of rows matters
    at = 100.0 * int(often[0]) / len(there)
    average = 100.0 * float((often / counts).sum()) / len(there)
    return ClassRisks(100.0 / int(counts[0]), average, at, at if counts[0] == 1 else 0.0)


def members_of(comparison: Comparison) -> int:
    """Return the number of records, or of the different people whose records they are."""
    return len(comparison) if comparison.people is None else len(np.unique(comparison.people))


def people_in_population(comparison: Comparison) -> int:
    """Return the number of population records that belong to any released combination."""
    assert comparison.population is not None
    _, first = np.unique(_combinations(comparison), return_index=True)
    return int(comparison.population[first].sum())


def average_in_population(comparison: Comparison) -> float:
    """Return the mean risk, in percent, of the population records that belong to a released combination.

    The mean of 1 divided by the population records of a combination, over these records, is the number of combinations
    divided by that of the records. A combination that no population record belongs to counts as one with a single
    record.

    >>> x = np.array([[1.0], [1.0], [4.0]])
    >>> average_in_population(Comparison(x, x, ("x",), population=np.array([6, 6, 2])))
    25.0
    """
    assert comparison.population is not None
    own = _combinations(comparison)
    people = np.maximum(comparison.population[np.unique(own, return_index=True)[1]], 1)
    return 100.0 * len(people) / int(people.sum())


def _combinations(comparison: Comparison) -> NDArray[np.int64]:
    """Return the combination that the population of each record was counted for: with strata, that of its stratum."""
    return classes_of(comparison) if comparison.combinations is None else comparison.combinations


def original_risks(comparison: Comparison) -> ClassRisks:
    """Return the risks of the original records that are equal in all attributes and strata, or of people."""
    return _risks(comparison, original_classes(comparison))


def original_classes(comparison: Comparison) -> NDArray[np.int64]:
    """Return for each original record a number; those equal in all attributes and strata share one."""
    strata = [] if comparison.strata is None else [comparison.strata]
    return joined([*(original_codes(comparison, name) for name in comparison.attributes), *strata])


def original_codes(comparison: Comparison, name: str) -> NDArray[np.int64]:
    """Return the original values of an attribute as codes from 0; a missing value is a value."""
    if name in comparison.categories:
        return comparison.categories[name].before + 1
    if name in comparison.numbers:
        return np.unique(comparison.numbers[name].before, return_inverse=True)[1].reshape(-1).astype(np.int64)
    keys = sort_keys(some_of(comparison.original, comparison.places[name]))
    return joined([np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64) for key in keys])
