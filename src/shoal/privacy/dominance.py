"""Dominance: the largest share of a class's weight that one person holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import Classes, classes_of, people_of
from shoal.privacy.counting.numbers import worst
from shoal.types import Finding, Release, TableModel

_EQUAL = 1e-12  # relative: a share this close to the bound counts as equal, because weights are rounded to 53 bits
_BITS = 31  # of each of the two integers that a weight is split into


@dataclass(frozen=True)
class Dominance(Checked, TableModel):
    """The largest share of the weight of a class that belongs to one person.

    A class is released with the mean of its records. If one person holds most of its weight, that mean is close to the
    person's own values, however many others share it: k = 5 can hold while one person has more than half of a class.

    A person is a subject; where whole groups such as households are kept together, a group; and else a record. Records
    without a subject count as one person, and so do the spellings of a name that k-anonymity takes for one. Weights are
    those that means are weighted by; without any, every record weighs 1. A missing weight counts as 0, and in a class
    whose weights are all 0 every record weighs 1. Classes are those of k-anonymity, and nothing is dropped.

    **Guarantee.** Weights are added as integers of 62 bits, scaled by the largest of the class, so that the order of
    the members of a class cannot change a digit. A share within 10⁻¹² (relative) of the bound counts as equal to it:
    no bound fails because of rounding.

    **Complexity.** O(n) for n records, O(n log n) with subjects.

    **What it does not promise.** That two people who know their own values cannot infer those of a third. That the
    confidential values of a class differ.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> people = pa.chunked_array([["ann", "ann", "bea", "cem"]])
    >>> release = Release(pa.table({"age": [40, 40, 40, 40]}), Schema(()), subjects=people)
    >>> Dominance(0.4).audit(release, ["age"]).achieved
    0.5
    """

    short: ClassVar[str] = "dominance"
    level: ClassVar[str] = "share"
    reported: ClassVar[bool] = True
    of_persons: ClassVar[bool] = True
    mergeable: ClassVar[bool] = True
    more_is_worse: ClassVar[bool] = True
    example: ClassVar[str] = "0.5"

    share: Annotated[
        float | None,
        Param("Largest share of a class's weight that one person may hold; none: only report.", low=0, high=1),
    ] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the largest share of any person in any class over some columns."""
        names = tuple(attributes)
        classes = classes_of(release, names)
        shares = _largest_shares(release, classes)
        achieved = float(shares.max(initial=0.0))
        holds = self.share is None or achieved <= self.share * (1 + _EQUAL)
        return self.finding(
            names,
            achieved if self.share is None or not holds else min(achieved, float(self.share)),
            self.share,
            len(shares),
            tuple((number, -level) for number, level in worst(-shares, classes)) if len(shares) else (),
            holds=holds,
            note=_counted(release),
        )


def _counted(release: Release) -> str:
    """State what shares refer to, unless every record is a person and weighs the same."""
    if release.weights is None:
        return "" if release.subjects is None else "shares of records, by subject"
    return f"shares of weight, by {'record' if release.subjects is None else 'subject'}"


def _largest_shares(release: Release, classes: Classes) -> NDArray[np.float64]:
    """Return for each class the largest share that one person holds of its weight."""
    if (release.weights is None and release.subjects is None) or not len(classes.sizes):
        return 1.0 / classes.sizes
    owner = np.repeat(np.arange(len(classes.sizes)), classes.sizes)
    rows, first = classes.rows, np.arange(len(owner))
    if release.subjects is not None:
        persons = _persons(release)[rows]
        order = np.lexsort((persons, owner))  # classes keep their positions
        rows, persons = rows[order], persons[order]
        first = np.flatnonzero(np.concatenate(([True], (persons[1:] != persons[:-1]) | (owner[1:] != owner[:-1]))))
    high, low = _integers(_weights(release)[rows], owner, classes.begins)
    of_persons, of_classes = _sums(high, low, first), _sums(high, low, classes.begins)
    return np.asarray(np.maximum.reduceat(of_persons, np.searchsorted(first, classes.begins)) / of_classes)


def _persons(release: Release) -> NDArray[np.int64]:
    """Return a number for the person of each record; records without a person count as one person."""
    return people_of(release).codes


def _weights(release: Release) -> NDArray[np.float64]:
    """Return the weight of each record; 0 if missing."""
    if release.weights is None:
        return np.ones(release.data.num_rows)
    weights = np.where(np.isnan(release.weights), 0.0, release.weights)
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise DataError("dominance: weights must be numbers ≥ 0, and some are negative or infinite. Correct them.")
    return weights


def _integers(
    weights: NDArray[np.float64], owner: NDArray[np.int64], begins: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split weights, scaled by the largest of their class, into two integers: sums of them are exact."""
    largest = np.maximum.reduceat(weights, begins)
    weights = np.where(largest[owner] > 0, weights, 1.0)  # if all are 0, all weigh the same
    exponent = np.frexp(np.where(largest > 0, largest, 1.0))[1]
    scaled = np.ldexp(weights, _BITS - exponent[owner])
    high = np.floor(scaled)
    return high.astype(np.int64), np.floor(np.ldexp(scaled - high, _BITS)).astype(np.int64)


def _sums(high: NDArray[np.int64], low: NDArray[np.int64], begins: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.add.reduceat(high, begins) + np.ldexp(np.add.reduceat(low, begins), -_BITS))
