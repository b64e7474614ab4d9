"""Lookup tables for rules on classes: rare and distant values, persons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.kernels.closeness.earth_mover import closeness
from shoal.kernels.models.rules import DOMINANCE, EQUAL, GAIN, NUMBERS, REACH, SHARE, SPREAD, TREE
from shoal.kernels.refine.class_state import arranged
from shoal.types import Confidential, Points, Requirement

_FINEST = 2**31  # records times the finest fraction of a bound must fit into 64 bits


@dataclass(frozen=True, eq=False)
class Persons(Confidential):
    """Records as values of their own, ordered by person: `values` are weights, `of` the person of each."""

    of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)


def subjects_by_place(points: Points) -> NDArray[np.int64]:
    """Return the subject number of each record, numbered by the coordinates of first records, not by rows."""
    assert points.subjects is not None
    order = arranged(points.x, np.arange(len(points)))
    _, first, codes = np.unique(points.subjects[order], return_index=True, return_inverse=True)
    found = np.empty(len(points), np.int64)
    found[order] = np.argsort(np.argsort(first))[codes]
    return found


def persons_of(points: Points, name: str) -> Confidential:
    """Return the persons and weights of records, as an attribute of this name."""
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
    """Make the rule on the largest share of a class that one person may hold: of its records, or of its weight."""
    bound = Fraction(str(one.level("share")))
    if bound >= 1:
        return []
    size = least_persons(one)
    if not isinstance(a, Persons):
        fine = bound if bound.denominator < _FINEST else Fraction(math.floor(bound * (_FINEST - 1)), _FINEST - 1)
        return [{"kind": SHARE, "top": fine.numerator, "bottom": fine.denominator, "size": size}]
    return [{"kind": DOMINANCE, "level": float(bound), "number": a.values, "mark": a.of, "size": size}]


def least_persons(one: Requirement) -> int:
    """Return how many persons a class needs so that none holds more than the bound.

    >>> least_persons(Requirement("dominance", "", (("share", 0.3),)))
    4
    """
    bound = Fraction(str(one.level("share")))
    return math.ceil(1 / bound) if bound > 0 else 1


def of_gain(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    """Make the rule of β-likeness: the largest share of each value, 1 + β times its share of the table."""
    beta, n = Fraction(str(one.level("beta"))), int(a.counts.sum())
    caps = float(1 + beta) * (a.counts / n)
    size = math.ceil(1 / min((1 + beta) * Fraction(int(a.counts.max()), n), Fraction(1)))
    return [{"kind": GAIN, "number": caps, "mark": np.zeros(len(caps), np.int32), "size": size}]


_EXACT = 2.0**52  # integers below it are exact as floats, and so are their sums
_NEAR = 1e-14  # relative: sums of floats this close may be in either order
_FAR_OFF = 1e3  # numbers farther from 0 than this many times their range have differences taken as fractions


def of_reach(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    """Make the rule of (k,e)-anonymity: for every value, the lowest value higher by at least e."""
    if a.values is None:
        raise SchemaError(
            f"k_e: column {a.name!r} must hold numbers or dates, for only they have a range. "
            f"Require another model of it, or give it another kind."
        )
    e = Fraction(str(one.level("e")))
    if e <= 0:
        return []
    reach = np.full(len(a.values), -1, np.int64)
    placed = np.flatnonzero(np.isfinite(a.values))
    numbers = a.values[placed]
    if len(placed):
        reach[placed] = _first_beyond(numbers, e) + placed[0]  # missing values come before and after all others
    return [{"kind": REACH, "level": float(e), "number": a.values, "mark": reach, "size": 2}]


def _first_beyond(numbers: np.ndarray, e: Fraction) -> np.ndarray:
    """Return for each of ascending numbers the position of the first that is higher by at least e; exact."""
    target = numbers + float(e)
    if e.denominator == 1 and (numbers == np.floor(numbers)).all() and np.abs(target).max() < _EXACT:
        return np.asarray(np.searchsorted(numbers, target))
    slack = _NEAR * (np.abs(numbers) + float(e))
    first, last = np.searchsorted(numbers, target - slack), np.searchsorted(numbers, target + slack, "right")
    for i in np.flatnonzero(first < last):
        wanted = Fraction(repr(float(numbers[i]))) + e
        while first[i] < last[i] and Fraction(repr(float(numbers[first[i]]))) < wanted:
            first[i] += 1
    return np.asarray(first)


def of_spread(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    """Make the rule of (k,p,q,r)-anonymity: rare values, and the minimum variance of a class with one."""
    p, q, r = (Fraction(str(one.level(name))) for name in "pqr")
    n = int(a.counts.sum())
    rare = a.counts < math.ceil(q * n)  # count < q·n
    counts = np.where(rare, a.counts, 0) if rare_only else a.counts
    metric = TREE if a.parents is not None else NUMBERS if a.ordered else EQUAL
    number = np.zeros(len(a.counts))
    if metric == NUMBERS:
        number = np.arange(len(a.counts), dtype=np.float64) if a.values is None else _centred(a.values)
    base, level = _variance(a, counts, number, metric), float(r)
    if base == 0.0:  # the ratio is then 1 for every class
        base, level = 1.0, 0.0 if r <= 1 else float(r)
    least = math.ceil(p)
    rule = {"kind": SPREAD, "least": least, "level": level, "base": base, "metric": metric, "size": max(least, 2)}
    counted = np.arange(len(a.counts)) if a.merged is None else a.merged
    return [{**rule, "number": number, "mark": 2 * counted + rare}]


def _centred(values: np.ndarray) -> np.ndarray:
    """Centre numbers at 0 and scale them to at most 1, which changes no ratio of variances; NaN stays NaN."""
    placed = np.flatnonzero(np.isfinite(values))
    out = np.full(len(values), np.nan)
    if not len(placed):
        return out
    low, high = (float(values[i]) for i in (placed[0], placed[-1]))
    half = (high / 2 - low / 2) or 1.0
    if max(abs(low), abs(high)) > _FAR_OFF * half:  # the decimals as written matter
        middle, unit = Fraction(repr(low)), Fraction(half)
        out[placed] = [float((Fraction(repr(float(one))) - middle) / unit) for one in values[placed]]
    else:
        out[placed] = values[placed] / half - low / half
    return out


def _variance(a: Confidential, counts: np.ndarray, number: np.ndarray, metric: int) -> float:
    """Return half the mean squared distance between two records, given how many records have each value."""
    n = float(counts.sum())
    if n == 0.0:
        return 0.0
    if metric == NUMBERS:
        inside = np.isfinite(number) & (counts > 0)
        if not inside.any():
            return 0.0
        mean = np.average(number[inside], weights=counts[inside])
        return float(np.average((number[inside] - mean) ** 2, weights=counts[inside]))
    if metric == EQUAL:
        return float((counts * (n - counts)).sum() / n**2)
    c = closeness([Confidential(a.name, a.codes[:0], counts, ordered=False, parents=a.parents)], 1.0)
    return float((c.length * c.below * (n - c.below)).sum() / n**2)
