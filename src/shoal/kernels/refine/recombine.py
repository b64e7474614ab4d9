"""Recombination of partitions: the best partition that can be made from a pool of candidate classes.

Two records are connected if some class holds both. In a connected component, every partition that the classes came
from covers the same records, so components can be solved one by one, and their minima add up to the overall minimum.

Set partitioning minimises Σ cost(C)·x_C over x_C ∈ {0, 1} so that every record lies in exactly one chosen class. In
each component, the linear relaxation and a good known partition rule out classes that cannot be in a better one: those
whose reduced cost exceeds the gap. The rest splits into smaller components, which branch and bound solves.

The linear relaxation gives each record a price (:mod:`shoal.kernels.bound.column_generation`). The reduced cost of a
class is its SSE minus the prices of its members. The reduced costs of a partition's classes add up to its gap, so a
better partition consists of classes with small reduced costs. Annealing meets many of them, but not all; pricing finds
them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.class_statistics import Classes, class_costs, classes_of, labels_of, root
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.bound.column_generation import Pricing, choose, relax, relaxation
from shoal.kernels.bound.lower_bound import unit_range
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.runtime.jit import announce, kernel
from shoal.types.coded import Coded

_LARGEST_RELAXATION = 400_000  # most classes of a component for which the relaxation is solved


def best_of_pool(
    points: np.ndarray | Coded, partitions: Sequence[np.ndarray], nodes: int = 200, largest: int = 6_000
) -> np.ndarray:
    """Return the best partition made of classes of the given partitions; equal classes count once.

    Branch and bound visits at most `nodes` nodes per component, and chooses among at most `largest` classes at once; at
    the limit, the best found so far is used.

    Guarantee: every class comes from the pool, so a property of each class of all partitions (its size) holds here too;
    the SSE is at most the least of the given partitions, and of their recombination. If no limit was hit, no choice
    from the pool is better, up to the solver's tolerance. The same pool gives the same labels: limits are counts, never
    a clock.

    Complexity: that of set partitioning, which is exponential at worst; linear relaxations are mostly integral here, so
    little branching is needed.

    >>> x = np.array([[0.0], [1.0], [9.0], [8.0], [20.0], [29.0], [21.0], [28.0]])
    >>> best_of_pool(x, [np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 0, 2, 3, 2, 3])]).tolist()
    [0, 0, 1, 1, 2, 3, 2, 3]
    """
    pool, own = pooled(points, partitions)
    order = np.argsort([pool.costs[numbers].sum() for numbers in own], kind="stable")
    best = partitions[order[0]]
    for at in order[1:]:
        best = recombine(points, best, partitions[at])
    incumbent = np.zeros(len(pool.costs), np.bool_)
    incumbent[pooled(points, [*partitions, best])[1][-1]] = True  # all its classes are in the pool
    return labels_of(len(best), pool.take(least_cover(len(best), pool, incumbent, nodes, largest)))


def best_with(
    points: np.ndarray | Coded,
    partitions: Sequence[np.ndarray],
    extra: Classes,
    opened: np.ndarray,
    largest: int = 6_000,
) -> np.ndarray:
    """Return a partition at least as good as the first, made of classes of the partitions and of extra classes.

    `extra` are further classes of open records, members ascending. `opened`, (n,) bool, tells whether a record may
    change its class: all or none of the records of a class of the first partition. Branch and bound chooses among
    `largest` classes in addition to those of the first partition.

    Guarantee: the classes of records that are not open stay; all others are given classes. The SSE is at most that of
    the first partition.

    >>> x = np.array([[0.0], [9.0], [1.0], [8.0], [50.0], [60.0]])
    >>> extra = Classes(np.array([0, 2, 1, 3]), np.array([0, 2, 4]), np.array([0.5, 0.5]))
    >>> best_with(x, [np.array([0, 0, 1, 1, 2, 2])], extra, np.array([True] * 4 + [False] * 2)).tolist()
    [0, 1, 0, 1, 2, 2]
    """
    pool, own = pooled(points, partitions, extra)
    incumbent = np.zeros(len(pool.costs), np.bool_)
    incumbent[own[0]] = True
    inside = np.logical_and.reduceat(opened[pool.members], pool.bounds[:-1])
    numbers, place = np.flatnonzero(inside), np.cumsum(opened) - 1
    offered = pool.take(numbers)
    offered = offered._replace(members=place[offered.members])
    chosen = least_cover(int(opened.sum()), offered, incumbent[numbers], largest=largest)
    kept = np.flatnonzero(incumbent & ~inside)
    return labels_of(len(points), pool.take(np.concatenate((kept, numbers[chosen]))))


def least_cover(n: int, pool: Classes, incumbent: np.ndarray, nodes: int = 200, largest: int = 6_000) -> np.ndarray:
    """Return the numbers of disjoint classes that cover all n records at the least cost.

    `incumbent` marks the classes of one such choice; the result is never worse.
    """
    chosen = incumbent.copy()
    component = components(n, pool)
    for numbers in _grouped(component):
        if len(numbers) > 1 and not incumbent[numbers].all():
            chosen[numbers] = _component(pool.take(numbers), incumbent[numbers], nodes, largest)
    return np.flatnonzero(chosen)


def _grouped(component: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(component, kind="stable")
    return np.split(order, np.cumsum(np.bincount(component))[:-1])


def _component(pool: Classes, incumbent: np.ndarray, nodes: int, largest: int) -> np.ndarray:
    """Improve the incumbent of one component."""
    if len(pool.costs) > _LARGEST_RELAXATION:
        return incumbent
    rows, members = np.unique(pool.members, return_inverse=True)
    pool = pool._replace(members=members)
    upper = float(pool.costs[incumbent].sum())
    value, reduced = relax(len(rows), pool)
    if reduced is None:
        return incumbent
    hopeful = incumbent | (reduced <= upper - value + 1e-9 * upper)
    numbers = np.flatnonzero(hopeful)
    kept = pool.take(numbers)
    best = incumbent.copy()
    for inside in _grouped(components(len(rows), kept)):
        group = numbers[inside]
        if not incumbent[group].all():
            best[group] = _decide(pool.take(group), incumbent[group], reduced[group], nodes, largest)
    return best


def _decide(pool: Classes, incumbent: np.ndarray, reduced: np.ndarray, nodes: int, largest: int) -> np.ndarray:
    """Solve by branch and bound, restricted to the classes of least reduced cost if there are too many."""
    ranked = np.argsort(np.where(incumbent, -np.inf, reduced), kind="stable")
    few = np.sort(ranked[: int(incumbent.sum()) + largest])
    rows, members = np.unique(pool.members, return_inverse=True)
    offered = pool._replace(members=members).take(few)
    chosen = np.zeros(len(incumbent), np.bool_)
    chosen[few] = choose(len(rows), offered, incumbent[few], nodes)
    covered = np.bincount(members[np.repeat(chosen, np.diff(pool.bounds))], minlength=len(rows))
    better = pool.costs[chosen].sum() < pool.costs[incumbent].sum()
    return chosen if better and (covered == 1).all() else incumbent  # whatever the solver reports


@kernel
def _unite(members, bounds, parent):
    """Join the records of each class; a root is the lowest row of its component."""
    for c in range(bounds.shape[0] - 1):
        a = root(parent, members[bounds[c]])
        for at in range(bounds[c] + 1, bounds[c + 1]):
            b = root(parent, members[at])
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
                a = b
    for i in range(parent.shape[0]):
        parent[i] = root(parent, i)


def pooled(
    points: np.ndarray | Coded, partitions: Sequence[np.ndarray], extra: Classes | None = None
) -> tuple[Classes, list[np.ndarray]]:
    """Return the distinct classes of several partitions, and for each partition which of them are its own.

    Further classes come last; their costs are recomputed.
    """
    points = in_range(points)
    number: dict[bytes, int] = {}
    kept: list[Classes] = []
    own = []
    given = [classes_of(points, labels) for labels in partitions]
    if extra is not None:
        given.append(extra._replace(costs=class_costs(points, extra.members, extra.bounds)))
    for classes in given:
        keys = [classes.members[begin:end].tobytes() for begin, end in pairwise(classes.bounds)]
        before = len(number)
        numbers = np.array([number.setdefault(key, len(number)) for key in keys])
        kept.append(classes.take(np.flatnonzero(numbers >= before)))
        own.append(numbers)
    sizes = np.concatenate([np.diff(part.bounds) for part in kept])
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    costs = np.concatenate([part.costs for part in kept])
    return Classes(np.concatenate([part.members for part in kept]), bounds, costs), own[: len(partitions)]


def components(n: int, classes: Classes) -> np.ndarray:
    """Return for each class the number of its connected component, in the order of their lowest rows."""
    announce(_unite)
    parent = np.arange(n)
    _unite(classes.members, classes.bounds, parent)
    roots = parent[classes.members[classes.bounds[:-1]]]
    return np.unique(roots, return_inverse=True)[1]


def recombine(points: np.ndarray | Coded, labels_a: np.ndarray, labels_b: np.ndarray) -> np.ndarray:
    """Return the better of two partitions in each connected component of their overlay.

    Guarantee: every class comes from A or B, and no partition made of such components is better, so the SSE is at most
    the lower of the two. If both cost the same, A's classes are kept. Complexity: O(n log n + n·d).

    >>> x = np.array([[0.0], [1.0], [9.0], [8.0], [20.0], [29.0], [21.0], [28.0]])
    >>> recombine(x, np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 0, 2, 3, 2, 3])).tolist()
    [0, 0, 1, 1, 2, 3, 2, 3]
    """
    points = in_range(points)
    a, b = classes_of(points, labels_a), classes_of(points, labels_b)
    both = Classes(
        np.concatenate((a.members, b.members)),
        np.concatenate((a.bounds, b.bounds[1:] + a.bounds[-1])),
        np.concatenate((a.costs, b.costs)),
    )
    component = components(len(labels_a), both)
    of_a = np.arange(len(both.costs)) < len(a.costs)
    width = int(component.max()) + 1
    sums = [np.bincount(component[side], both.costs[side], width) for side in (of_a, ~of_a)]
    from_a = sums[0] <= sums[1]
    return labels_of(len(labels_a), both.take(np.flatnonzero(from_a[component] == of_a)))


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
