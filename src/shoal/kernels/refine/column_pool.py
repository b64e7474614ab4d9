"""Candidate classes of low reduced cost, which a better partition may consist of.

The linear relaxation gives each record a price (:mod:`shoal.kernels.bound.column_generation`). The reduced cost of a
class is its SSE minus the prices of its members. The reduced costs of a partition's classes add up to its gap, so a
better partition consists of classes with small reduced costs. Annealing meets many of them, but not all; pricing finds
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_costs import Classes, class_costs, classes_of
from shoal.kernels.bound.column_generation import Pricing, relaxation
from shoal.kernels.bound.lower_bound import unit_range
from shoal.kernels.refine.class_state import numbered

_MOST_RECORDS = 2_000  # tried up to about a thousand: the integer programme may take long beyond
_LARGEST_K = 3  # larger classes were not tried
_SETS = 3_000  # sets grown from one record before moving on to the next
_FIRST, _RATIO, _STEPS = 0.5, 1.5, 24  # allowances, in shares of the gap


class Priced(NamedTuple):
    """Classes of low reduced cost, and the records they consist of."""

    open: np.ndarray  #: (n,) bool: False for the records of classes that must stay as they are
    classes: Classes  #: of open records only; members ascend


class _Prices(NamedTuple):
    x: np.ndarray  # the open records
    values: np.ndarray  # their prices
    gap: float
    pricing: Pricing


def can_price(n: int, k: int) -> bool:
    """Tell whether a table and its classes are small enough."""
    return 2 * k <= n <= _MOST_RECORDS and k <= _LARGEST_K


def priced_classes(points: np.ndarray, labels: np.ndarray, k: int, count: int, power: float = 0.5) -> Priced | None:
    """Return about `count` classes of k or k + 1 records with the least reduced costs, relative to their allowances.

    `labels` are a good partition, and ``can_price(n, k)`` holds. A record's allowance is its price to this `power`: 0
    favours classes in dense regions, where costs differ little; 1 those in sparse regions. Returns None if the
    partition is as good as the relaxation, or the relaxation was not solved.

    Guarantee: classes are distinct, have k or k + 1 records, and hold no record of a class that stays. The same points
    and labels give the same classes. Complexity: that of column generation, once more for each class that stays.

    >>> x = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0], [4.0, 8.0], [5.0, 8.0]])
    >>> found = priced_classes(x, np.array([0, 1, 1, 2, 2, 0]), 2, 3)
    >>> sorted(part.tolist() for part in np.split(found.classes.members, found.classes.bounds[1:-1]))
    [[0, 1], [2, 3], [4, 5]]
    """
    x, _ = unit_range(points)
    opened = np.ones(len(x), np.bool_)
    while int(opened.sum()) >= 2 * k:
        prices, kept = _priced(np.ascontiguousarray(x[opened]), numbered(labels[opened]), k)
        if prices is None:
            return None
        if not kept.any():
            return Priced(opened, _least(prices, np.flatnonzero(opened), k, count, power))
        opened[opened] = ~kept
    return None


def _priced(x: np.ndarray, labels: np.ndarray, k: int) -> tuple[_Prices | None, np.ndarray]:
    """Return the prices, and which records are in a class that makes up more than half of the gap.

    Such a class lies in a sparse region: fractions of many classes would do better there, but no whole classes do. It
    hides possible gains elsewhere, and is left unchanged.
    """
    own = classes_of(x, labels)
    found = relaxation(x, k)
    if found.prices is None:
        return None, labels < 0
    reduced = own.costs - np.add.reduceat(found.prices[own.members], own.bounds[:-1])
    gap, total = float(reduced.sum()), float(own.costs.sum())
    if total == 0.0 or not gap > 1e-9 * total:
        return None, labels < 0
    return _Prices(x, found.prices, gap, found.pricing), (reduced > gap / 2)[labels]


def _least(prices: _Prices, rows: np.ndarray, k: int, count: int, power: float) -> Classes:
    """Raise the allowances until enough classes cost no more than prices plus allowances; return the cheapest."""
    weight = np.abs(prices.values)
    weight = np.maximum(weight, 1e-6 * weight.mean()) ** power if weight.any() else np.ones(len(weight))
    weight *= prices.gap / weight.sum()
    finders = (prices.pricing, Pricing(prices.x, k + 1))
    for step in range(_STEPS):
        raised = prices.values + _FIRST * _RATIO**step * weight
        found = [_distinct(finder.find(raised, _SETS)[0]) for finder in finders]
        if sum(map(len, found)) >= count:
            break
    both = Classes(*_laid_out(found), np.empty(0))
    both = both._replace(costs=class_costs(prices.x, both.members, both.bounds))
    priced, allowed = (np.add.reduceat(one[both.members], both.bounds[:-1]) for one in (prices.values, weight))
    few = np.argsort((both.costs - priced) / allowed, kind="stable")[:count]
    least = both.take(few)
    return least._replace(members=rows[least.members])


def _distinct(members: np.ndarray) -> np.ndarray:
    """Return each class once, its members ascending: with equal records, a class may be grown in several ways."""
    return np.unique(np.sort(members.astype(np.int64), axis=1), axis=0)


def _laid_out(blocks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return members and bounds of classes given as rows."""
    sizes = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
    return np.concatenate([block.ravel() for block in blocks]), np.concatenate(([0], np.cumsum(sizes)))
