"""Persons as an attribute of records, for rules on how many of them a class has and what share each may hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.models.rules import DOMINANCE, SHARE
from shoal.kernels.refine.reblock import arranged
from shoal.types import Confidential, Points, Requirement

_FINEST = 2**31  # records times the finest fraction of a bound must be an integer of 64 bits


@dataclass(frozen=True, eq=False)
class Persons(Confidential):
    """Records as values of their own, in the order of their persons: `values` are weights, `of` the person of each."""

    of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)


def subjects_by_place(points: Points) -> NDArray[np.int64]:
    """Return the number of the subject of each record, counted by where their first records lie, not by rows."""
    assert points.subjects is not None
    order = arranged(points.coordinates, np.arange(len(points)))
    _, first, codes = np.unique(points.subjects[order], return_index=True, return_inverse=True)
    found = np.empty(len(points), np.int64)
    found[order] = np.argsort(np.argsort(first))[codes]
    return found


def persons_of(points: Points, name: str) -> Confidential:
    """Return the persons of records with what each record weighs, as an attribute of this name."""
    n = len(points)
    persons = np.arange(n) if points.subjects is None else subjects_by_place(points)
    if points.weights is None:
        return Confidential(name, persons, np.bincount(persons), ordered=False)
    order = np.lexsort((points.weights, persons))
    codes = np.empty(n, np.int64)
    codes[order] = np.arange(n)
    counts = np.ones(n, np.int64)
    return Persons(name, codes, counts, ordered=False, values=points.weights[order], of=persons[order])


def of_dominance(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    """Make the rule on the share of a class that one person may hold: of its records, or of its weight."""
    bound = Fraction(str(one.level("share")))
    if bound >= 1:
        return []
    size = least_persons(one)
    if not isinstance(a, Persons):
        fine = bound if bound.denominator < _FINEST else Fraction(math.floor(bound * (_FINEST - 1)), _FINEST - 1)
        return [{"kind": SHARE, "top": fine.numerator, "bottom": fine.denominator, "size": size}]
    return [{"kind": DOMINANCE, "level": float(bound), "number": a.values, "mark": a.of, "size": size}]


def least_persons(one: Requirement) -> int:
    """Return how many persons a class must have for none to hold more than the bound.

    >>> least_persons(Requirement("dominance", "", (("share", 0.3),)))
    4
    """
    bound = Fraction(str(one.level("share")))
    return math.ceil(1 / bound) if bound > 0 else 1
