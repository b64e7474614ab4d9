"""Individual risk: the chance of finding a sampled person in the population before release, by weights, at worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.risk._class_risks import original_classes
from shoal.types import Comparison, Measure, Reading

Floats = NDArray[np.float64]
_FORWARD = 30  # up to here the recurrence is used, above the series, which then converges within 60 terms
_TERMS = 60


@dataclass(frozen=True)
class IndividualRisk(Measure):
    """Highest risk of an original record in percent, before anything is changed: the expectation of 1/F.

    A survey is a sample. A record that is unique in it may have many equals in the population. Sampling weights
    estimate how many: if f records of the sample share their values and strata, the sum of their weights estimates the
    number F of people in the population who share them. The risk of each of these records is the mean of 1/F over the
    population sizes that are possible, given f (a negative binomial distribution with f successes, and p = f divided by
    the sum of weights).

    Parts are the mean risk and the expected number of people found, which is the sum of all risks. Where households, or
    people with several records, are known: the highest and the mean chance that at least one of their records is found,
    1 − Π(1 − r).

    **Guarantee.** 100/F or more, and at most 100/f; with weights of 1, exactly 100/f. A weight below 1 counts as 1.

    **Complexity.** O(n log n) for each attribute.

    **Departures.** Exact for every f, as `indivRisk` of sdcMicro with method "exact". Its `measure_risk` takes
    p/(f − (1 − p)) for f > 2, which is slightly higher. There, a missing value fits every value; here it is a value of
    its own. The mean of groups is over groups; `hier_risk` of sdcMicro is over records.

    References: [FP04], [TKM15], [BMW19].

    >>> from shoal.types import Pair
    >>> x = Pair(np.array([1.0, 2.0]), np.array([1.5, 1.5]))
    >>> bare = np.zeros((2, 1))
    >>> found = Comparison(bare, bare, ("x",), {"x": x}, sampling=np.array([17.0, 8.0]))
    >>> round(IndividualRisk().measure(found).value, 1)
    29.7
    """

    whole_table: ClassVar[bool] = True
    unpaired: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the risk of the original, from the quasi-identifiers and the weights before the release."""
        if not len(comparison):
            return self.undefined("there are no records")
        if comparison.sampling is None:
            return self.undefined("there are no sampling weights, so the table counts as the whole population")
        risk = individual_risks(original_classes(comparison), comparison.sampling)
        parts = [("mean", 100.0 * float(risk.mean())), ("people found", float(risk.sum()))]
        if comparison.people is not None:
            whole = group_risks(risk, comparison.people)
            parts += [
                ("highest of a group", 100.0 * float(whole.max())),
                ("mean of groups", 100.0 * float(whole.mean())),
            ]
        return self.reading(100.0 * float(risk.max()), comparison.attributes, tuple(parts))


def individual_risks(classes: NDArray[np.int64], weights: Floats) -> Floats:
    """Return the risk of each record.

    >>> individual_risks(np.array([0, 1, 1]), np.array([5.0, 1.0, 1.0])).round(4).tolist()
    [0.4024, 0.5, 0.5]
    """
    _, own, f = np.unique(classes, return_inverse=True, return_counts=True)
    people = np.bincount(own.reshape(-1), np.maximum(np.nan_to_num(weights, nan=1.0), 1.0))
    return np.asarray(_expectation(f.astype(np.float64), np.minimum(f / people, 1.0))[own.reshape(-1)])


def group_risks(risk: Floats, groups: NDArray[np.int64]) -> Floats:
    """Return for each group the chance that at least one of its records is found.

    >>> group_risks(np.array([0.1, 0.05, 0.01, 1.0]), np.array([0, 0, 0, 1])).round(5).tolist()
    [0.15355, 1.0]
    """
    _, own = np.unique(groups, return_inverse=True)
    with np.errstate(divide="ignore"):  # a certain record: log 0 is −∞, and the group is certain
        kept = np.bincount(own.reshape(-1), np.log1p(-np.minimum(risk, 1.0)))
    return np.asarray(-np.expm1(kept))


def _expectation(f: Floats, p: Floats) -> Floats:
    """Return E(1/F) of negative binomial F with f successes of probability p, for each pair.

    With a(f) = p ∫ v^(f−1) / (p + (1−p) v) dv over [0, 1], integration by parts gives
    a(f) = p/q · (1/(f−1) − a(f−1)) and a(1) = p/q · ln(1/p). Errors shrink by p/q in each step if p < 1/2. Otherwise,
    and for large f, the series p/f · Σ m! qᵐ / ((f+1) … (f+m)) converges quickly.
    """
    q = 1.0 - p
    found = _series(f, p)
    near = (p < 0.5) & (f <= _FORWARD)
    if near.any():
        odds, many = p[near] / q[near], f[near]
        step = odds * -np.log(p[near])
        value = step.copy()
        for j in range(2, int(many.max()) + 1):
            step = odds * (1.0 / (j - 1) - step)
            value = np.where(many == j, step, value)
        found[near] = value
    return found


def _series(f: Floats, p: Floats) -> Floats:
    q, term = 1.0 - p, np.ones_like(p)
    total = term.copy()
    for m in range(1, _TERMS + 1):
        term = term * (m * q / (f + m))
        total += term
    return p / f * total
