"""What rules need to know of each value of a confidential attribute: which lie far enough apart, which are rare."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.errors import SchemaError
from shoal.kernels.closeness.earth_mover import closeness
from shoal.kernels.models.rules import EQUAL, NUMBERS, REACH, SPREAD, TREE
from shoal.types import Confidential, Requirement

_EXACT = 2.0**52  # integers below it are exact as floats, and so are their sums
_NEAR = 1e-14  # relative: sums of floats this near may be in either order
_FAR_OFF = 1e3  # times their range that numbers may lie from 0 before their differences are taken as fractions


def of_reach(a: Confidential, one: Requirement, rare_only: bool) -> list[dict[str, Any]]:
    """Make the rule of (k,e)-anonymity: for every value, the lowest that is higher by e or more."""
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
        reach[placed] = _first_beyond(numbers, e) + placed[0]  # those without a place stand before and after all others
    return [{"kind": REACH, "level": float(e), "number": a.values, "mark": reach, "size": 2}]


def _first_beyond(numbers: np.ndarray, e: Fraction) -> np.ndarray:
    """Return for each of ascending numbers where the first stands that is higher by e or more; exact."""
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
    """Make the rule of (k,p,q,r)-anonymity: rare values, and the variance that a class with one must have."""
    p, q, r = (Fraction(str(one.level(name))) for name in "pqr")
    n = int(a.counts.sum())
    rare = a.counts < math.ceil(q * n)  # count < q·n
    counts = np.where(rare, a.counts, 0) if rare_only else a.counts
    metric = TREE if a.parents is not None else NUMBERS if a.ordered else EQUAL
    number = np.zeros(len(a.counts))
    if metric == NUMBERS:
        number = np.arange(len(a.counts), dtype=np.float64) if a.values is None else _centred(a.values)
    base, level = _variance(a, counts, number, metric), float(r)
    if base == 0.0:  # the ratio is then 1, of every class
        base, level = 1.0, 0.0 if r <= 1 else float(r)
    least = math.ceil(p)
    rule = {"kind": SPREAD, "least": least, "level": level, "base": base, "metric": metric, "size": max(least, 2)}
    counted = np.arange(len(a.counts)) if a.alike is None else a.alike
    return [{**rule, "number": number, "mark": 2 * counted + rare}]


def _centred(values: np.ndarray) -> np.ndarray:
    """Return numbers about 0 and no larger than 1, which changes no ratio of variances; NaN stays NaN."""
    placed = np.flatnonzero(np.isfinite(values))
    out = np.full(len(values), np.nan)
    if not len(placed):
        return out
    low, high = (float(values[i]) for i in (placed[0], placed[-1]))
    half = (high / 2 - low / 2) or 1.0
    if max(abs(low), abs(high)) > _FAR_OFF * half:  # what is written after the point counts
        middle, unit = Fraction(repr(low)), Fraction(half)
        out[placed] = [float((Fraction(repr(float(one))) - middle) / unit) for one in values[placed]]
    else:
        out[placed] = values[placed] / half - low / half
    return out


def _variance(a: Confidential, counts: np.ndarray, number: np.ndarray, metric: int) -> float:
    """Return half the mean squared distance between two records, of which there are so many of each value."""
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
