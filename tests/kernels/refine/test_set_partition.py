"""The best choice from a pool of classes: equal to trying all, and never worse than what it was made from."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import class_costs, classes_of, labels_of
from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.refine.recombine import best_of_pool, components, pooled, recombine


def sse(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(float(((points[labels == c] - points[labels == c].mean(0)) ** 2).sum()) for c in np.unique(labels))


def random_partition(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    labels = np.empty(n, np.int64)
    labels[rng.permutation(n)] = np.minimum(np.arange(n) // k, n // k - 1)
    return labels


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray]]:
    """Points and partitions into pairs or triples that agree in places."""
    n, k, d = draw(st.integers(4, 14)), draw(st.integers(2, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([1.0, 1e-150, 1e150, 1e-9]))
    points = (rng.integers(0, 4, (n, d)) if draw(st.booleans()) else rng.normal(size=(n, d))) * scale
    return points, [random_partition(rng, n, k) for _ in range(draw(st.integers(1, 6)))]


def least_by_trying_all(points: np.ndarray, partitions: list[np.ndarray]) -> float:
    pool, _ = pooled(points, partitions)
    sets = [frozenset(pool.members[a:b].tolist()) for a, b in zip(pool.bounds[:-1], pool.bounds[1:], strict=True)]
    n = len(points)

    @cache
    def least(covered: frozenset[int]) -> float:
        if len(covered) == n:
            return 0.0
        first = min(set(range(n)) - covered)
        fits = [c for c, s in enumerate(sets) if first in s and not s & covered]
        return min((pool.costs[c] + least(covered | sets[c]) for c in fits), default=np.inf)

    return least(frozenset())


@settings(max_examples=60)
@given(tables())
def test_best_of_pool_equals_trying_all(table: tuple[np.ndarray, list[np.ndarray]]) -> None:
    points, partitions = table
    labels = best_of_pool(points, partitions)
    points = in_range(points)
    cost = classes_of(points, labels).costs.sum()
    assert np.isclose(cost, least_by_trying_all(points, partitions), rtol=1e-7, atol=0)
    assert cost <= min(classes_of(points, p).costs.sum() for p in partitions) * (1 + 1e-12)
    assert np.bincount(labels).min() >= min(np.bincount(p).min() for p in partitions)
    assert (labels == best_of_pool(points, partitions)).all()  # neither chance nor unit matters


@pytest.mark.parametrize("seed", range(12))
def test_all_triples_of_few_records(seed: int) -> None:
    """Nearly all classes there are: the relaxation is often fractional, so fixing and branching have to be right."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(15, 6))
    partitions = [random_partition(rng, 15, 3) for _ in range(150)]
    labels = best_of_pool(points, partitions)
    assert np.isclose(sse(points, labels), least_by_trying_all(points, partitions), rtol=1e-9, atol=0)


@given(tables())
def test_recombination_takes_the_better_side_of_each_component(table: tuple[np.ndarray, list[np.ndarray]]) -> None:
    points, partitions = table
    a, b = partitions[0], partitions[-1]
    labels = recombine(points, a, b)
    both, own = pooled(points, [a, b, labels])
    assert len(both.costs) == len(pooled(points, [a, b])[0].costs)  # no class but theirs
    component = components(len(points), both)
    for c in np.unique(component):
        sides = [both.costs[numbers[component[numbers] == c]].sum() for numbers in own]
        assert np.isclose(sides[2], min(sides[:2]), rtol=1e-12, atol=0)


def test_costs_are_sums_over_pairs() -> None:
    points = np.random.default_rng(1).normal(size=(7, 3)) + 1e6
    members = np.arange(7)
    pairs = sum(((points[i] - points[j]) ** 2).sum() for i, j in combinations(range(7), 2)) / 7
    assert np.isclose(class_costs(points, members, np.array([0, 7]))[0], pairs, rtol=1e-9)


def test_a_pool_of_good_partitions_gives_a_better_one() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2))
    partitions = [random_partition(rng, 60, 3) for _ in range(30)]
    best = best_of_pool(points, partitions)
    assert sse(points, best) < min(sse(points, p) for p in partitions)
    assert labels_of(60, classes_of(points, best)).tolist() == best.tolist()  # numbered by their first rows
