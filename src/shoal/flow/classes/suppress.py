"""Suppression: the people or households that would cost the most.

Only quasi-identifiers, strata and counts decide, before any class is formed; people at the same cost are dropped
together or not at all. So the rows that remain are the same if members of a class exchange their quasi-identifiers, and
no one is dropped because of a confidential value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.flow.classes.households import means_of
from shoal.flow.classes.improve import by_value
from shoal.flow.classes.profiles import profile_groups
from shoal.flow.plan.release_traits import bounded
from shoal.flow.stages.encode import encode
from shoal.flow.stages.values import strata_of, subjects_of
from shoal.parameters import build, declarations
from shoal.recipe.recipe import Recipe
from shoal.types import Coded, Points, Role, Table, distances, sort_keys

_CELLS = 1 << 24  # neighbours that are looked up at a time


def suppressed(table: Table, recipe: Recipe) -> NDArray[np.bool_]:
    """Tell for each record whether the recipe suppresses it."""
    points = _points(table, recipe)
    known = subjects_of(table, exact=recipe.subject_exact)
    people = np.arange(len(table)) if known is None else known
    merged = recipe.small_strata == "merge"
    strata = None if merged else strata_of(table)
    if recipe.pseudonym is not None:  # people are hidden among those with equally many records
        strata = profile_groups(people, strata)[people]
    strata = np.zeros(len(table), np.int64) if strata is None else strata
    if recipe.together is None:
        costs = costs_of_people(points, people, strata, recipe.k)
    else:
        costs = costs_of_groups(points, people, strata, recipe.k)
    most, equal = int(recipe.suppress * len(costs) + 1e-9), True
    if recipe.attacker == "table" and known is None and not recipe.strata:
        method = registry.load("partition", recipe.method)
        fitting = (d for d in range(most, -1, -1) if method.leaves_none_over(len(table) - d, recipe.k, recipe.t))
        if (count := next(fitting, None)) is not None:
            most, equal = count, False
    drops = costliest(costs, people, strata, recipe.k, most, int(recipe.suppress * len(table) + 1e-9), equal=equal)
    return np.asarray(drops[people], np.bool_)


def _points(table: Table, recipe: Recipe) -> Points:
    """Return the records as points, on the scale on which classes are formed."""
    from shoal.kernels.arithmetic.sums import in_range
    from shoal.points.encoding import Encoding

    missing = "fill" if recipe.when_missing == "fill" else "category"
    typed, attributes = encode(table, table.schema.names(Role.QUASI), missing=missing)
    given = {one.name: recipe.set[one.name] for one in declarations(Encoding) if one.name in recipe.set}
    points = bounded(
        build(Encoding, given).encode(attributes, recipe.attribute_weights, recipe.coordinates), recipe, typed
    )
    return replace(points, x=in_range(points.x))


def costs_of_people(
    points: Points, people: NDArray[np.int64], strata: NDArray[np.int64], k: int
) -> NDArray[np.float64]:
    """Return the cost of each person: the mean over their records of the cost of a record.

    The cost of a record is the sum of its squared distances from the k - 1 nearest records of others in its stratum,
    divided by k; infinite, if the stratum holds fewer than k people. The result is the same for any order of records.

    >>> points = Points(np.array([[0.0], [1.0], [1.0], [5.0]]))
    >>> costs_of_people(points, np.arange(4), np.zeros(4, np.int64), 2).tolist()
    [0.5, 0.0, 0.0, 8.0]
    """
    order, costs = by_value(sort_keys(points.x), len(points)), np.empty(len(points))
    order = order[np.argsort(strata[order], kind="stable")]
    for rows in np.split(order, np.cumsum(np.bincount(strata))[:-1]):
        costs[rows] = _from_neighbours(points.x[rows], people[rows], k)
    order = np.lexsort((costs, people))  # sums must not depend on the order of rows
    return np.asarray(np.bincount(people[order], costs[order]) / np.bincount(people), np.float64)


def costs_of_groups(
    points: Points, groups: NDArray[np.int64], strata: NDArray[np.int64], k: int
) -> NDArray[np.float64]:
    """Return the cost of each group: that of its mean point among the others', and the spread of its members."""
    of_groups = np.empty(int(groups.max()) + 1, np.int64)
    of_groups[groups] = strata
    means = means_of(replace(points, required=()), groups)
    return costs_of_people(means, np.arange(len(means)), of_groups, k) + _spread(points, groups)


def _spread(points: Points, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean squared distance of the members of each group from their mean point."""
    from shoal.kernels.arithmetic.class_statistics import class_means

    total = np.zeros(len(groups))
    for column in points.numbers.T:
        total += (column - class_means(np.ascontiguousarray(column), groups, None)[groups]) ** 2
    if isinstance(points.x, Coded):
        for a in range(points.x.codes.shape[1]):
            total += points.x.from_means(a, groups)
    order = np.lexsort((total, groups))
    return np.asarray(np.bincount(groups[order], total[order]) / np.bincount(groups), np.float64)


def _from_neighbours(x: NDArray[np.float64] | Coded, people: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Return the cost of each record of a stratum; records must be in order of value."""
    from shoal.kernels.space.neighbours import neighbours

    records = np.unique(people, return_counts=True)[1]
    if len(records) < k:
        return np.full(len(x), np.inf)
    window = k - 1 + int(records.max()) - 1  # own records may be among the nearest
    costs, step = np.empty(len(x)), max(_CELLS // window, 1)
    for begin in range(0, len(x), step):
        rows = np.arange(begin, min(begin + step, len(x)))
        near, total, found = neighbours(x, window, rows), np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        for other in near.T:
            counts = (people[other] != people[rows]) & (found < k - 1)
            total += np.where(counts, distances(x[rows], x[other]).sum(axis=1), 0.0)
            found += counts
        costs[rows] = total / k
    return costs


def costliest(
    costs: NDArray[np.float64],
    people: NDArray[np.int64],
    strata: NDArray[np.int64],
    k: int,
    most: int,
    most_records: int,
    *,
    equal: bool = True,
) -> NDArray[np.bool_]:
    """Tell for each person whether to drop them, from the costliest down.

    People who cost the same are dropped together or not at all, where `equal`; otherwise one by one. Those who do not
    fit are passed over: into the number of people or records, or because a stratum of k or more would fall below k.

    >>> records = np.zeros(4, np.int64)
    >>> costliest(np.array([0.5, 0.0, 2.0, 2.0]), np.arange(4), records, 2, 1, 1).tolist()
    [True, False, False, False]
    """
    drops, records = np.zeros(len(costs), np.bool_), np.bincount(people)
    pairs = np.unique(np.column_stack((people, strata)), axis=0)
    begins, inside = np.searchsorted(pairs[:, 0], np.arange(len(costs) + 1)), np.bincount(pairs[:, 1])
    small = inside < k
    for some in _from_the_top(costs, equal=equal):
        if not most:
            break
        if len(some) > most or int(records[some].sum()) > most_records:
            continue
        where = np.concatenate([pairs[begins[one] : begins[one + 1], 1] for one in some])
        left = inside - np.bincount(where, minlength=len(inside))
        if ((left < k) & ~small).any():
            continue
        drops[some], inside = True, left
        most, most_records = most - len(some), most_records - int(records[some].sum())
    return drops


def _from_the_top(costs: NDArray[np.float64], *, equal: bool) -> Iterator[NDArray[np.int64]]:
    """Yield people by decreasing cost, ties together if `equal`; people who cost nothing are left out."""
    order = np.argsort(-costs, kind="stable")
    order = order[costs[order] > 0]
    costs, begin = costs[order], 0
    ends = np.flatnonzero(costs[1:] != costs[:-1]) + 1 if equal else np.arange(1, len(order))
    for end in (*ends.tolist(), len(order)) if len(order) else ():
        yield order[begin:end]
        begin = end
