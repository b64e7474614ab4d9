"""The best partition that can be put together from a pool of candidate classes: set partitioning.

Minimise Σ cost(C)·x_C over x_C ∈ {0, 1} so that every record lies in exactly one chosen class. Connected components
of the pool are decided one by one. In each, the value of the linear relaxation with a partition known to be good
tells which classes cannot be in a better one: those whose reduced cost exceeds the gap. What is left falls apart into
smaller components, which branch and bound decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels.arithmetic.overlay import Classes, components, labels_of, pooled, recombine
from shoal.kernels.bound.milp import choose, relax

_LARGEST_RELAXATION = 400_000  # classes of a component whose relaxation is still solved


def best_of_pool(
    points: np.ndarray, partitions: Sequence[np.ndarray], nodes: int = 200, largest: int = 6_000
) -> np.ndarray:
    """Return the best partition made of classes of the partitions given, of which equal ones count once.

    Branch and bound visits at most `nodes` per component, and chooses among at most `largest` classes at once; then the
    best found so far counts.

    Guarantee: every class is one of the pool, so that what holds for each class of all partitions (its size) holds
    here; the SSE is at most the least of the partitions given, and of their recombination. Where no limit was met no
    choice from the pool is better, but for the solver's tolerance. The same pool gives the same labels: limits are
    counts, never a clock.

    Complexity: that of set partitioning, which is exponential at worst; linear relaxations are mostly integral here, so
    that little branching is needed.

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
    incumbent[pooled(points, [*partitions, best])[1][-1]] = True  # its classes are all in the pool
    return labels_of(len(best), pool.take(least_cover(len(best), pool, incumbent, nodes, largest)))


def best_with(
    points: np.ndarray, partitions: Sequence[np.ndarray], extra: Classes, opened: np.ndarray, largest: int = 6_000
) -> np.ndarray:
    """Return a partition at least as good as the first, made of classes of the partitions and of further ones.

    `extra` are further classes, of records that are open, members ascending. `opened`, (n,) bool, says whether a record
    may change its class: all or none of a class of the first partition. Branch and bound chooses among `largest`
    classes besides those of the first partition.

    Guarantee: the classes of records that are not open stay; all others are classes given. The SSE is at most that of
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
    """Let branch and bound choose, among the classes of least reduced cost if there are too many."""
    ranked = np.argsort(np.where(incumbent, -np.inf, reduced), kind="stable")
    few = np.sort(ranked[: int(incumbent.sum()) + largest])
    rows, members = np.unique(pool.members, return_inverse=True)
    offered = pool._replace(members=members).take(few)
    chosen = np.zeros(len(incumbent), np.bool_)
    chosen[few] = choose(len(rows), offered, incumbent[few], nodes)
    covered = np.bincount(members[np.repeat(chosen, np.diff(pool.bounds))], minlength=len(rows))
    better = pool.costs[chosen].sum() < pool.costs[incumbent].sum()
    return chosen if better and (covered == 1).all() else incumbent  # whatever the solver says
