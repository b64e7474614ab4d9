"""Classes found by prices: equal to listing all and sorting them; of use to a partition that lacks them."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import Classes, sse
from shoal.kernels.bound.column_generation import column_bound, relaxation
from shoal.kernels.refine import recombine as pricing_classes
from shoal.kernels.refine.recombine import best_with, can_price, priced_classes
from shoal.kernels.refine.refine import Effort, effort_for, refine

_spec = importlib.util.spec_from_file_location(
    "oracle_priced", Path(__file__).parents[2] / "oracles" / "priced_classes.py"
)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

HARDLY = Effort(1, 1, 1, 1, 0, 700)  # next to no annealing


def random_partition(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    labels = np.empty(n, np.int64)
    labels[rng.permutation(n)] = np.minimum(np.arange(n) // k, n // k - 1)
    return labels


def listed(classes: Classes) -> list[tuple[int, ...]]:
    return [tuple(classes.members[a:b].tolist()) for a, b in pairwise(classes.bounds)]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(6, 12),
    d=st.integers(1, 4),
    k=st.integers(2, 3),
    count=st.integers(1, 30),
    power=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=40)
def test_the_least_of_all_classes(seed: int, n: int, d: int, k: int, count: int, power: float) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    solved = relaxation(x, k)
    assert solved.prices is not None
    gap = 0.1 * float(np.abs(solved.prices).sum())
    prices = np.where(np.abs(solved.prices) < 1e-3, 1e-3, solved.prices)  # or the root of rounding errors is compared
    found = pricing_classes._least(
        pricing_classes._Prices(x, prices, gap, solved.pricing), np.arange(n), k, count, power
    )
    every = oracle.ranked(x.tolist(), prices.tolist(), gap, k, power)
    rank = {rows: value for value, rows in every}
    here = listed(found)
    assert len(set(here)) == len(here) == count
    assert np.allclose([rank[rows] for rows in here], [value for value, _ in every[:count]], rtol=1e-7, atol=1e-9)


def test_a_class_that_hides_the_rest_stays() -> None:
    rng = np.random.default_rng(3)
    far = 40.0 * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    x = np.concatenate((rng.normal(size=(60, 3)), far))
    labels = np.append(
        refine(x[:60], random_partition(rng, 60, 3), 3, effort_for("fast", x[:60], 3), 0), [20, 20, 20, 20]
    )
    labels = np.unique(labels, return_inverse=True)[1]
    found = priced_classes(x, labels, 3, 200)
    assert found is not None
    assert not found.open[60:].any()
    assert found.open.sum() >= 50
    assert found.open[found.classes.members].all()


def test_rows_of_a_partition_that_cannot_be_better() -> None:
    x = np.repeat(np.arange(4.0), 3)[:, None] * np.ones((1, 2))
    assert priced_classes(x, np.repeat(np.arange(4), 3), 3, 10) is None
    bad = np.tile(np.arange(4), 3)
    found = priced_classes(x, bad, 3, 10)  # all prices are 0
    assert found is not None
    assert sse(x, best_with(x, [bad], found.classes, found.open)) == 0.0


def test_what_is_left_out() -> None:
    assert can_price(6, 3)
    assert can_price(2_000, 2)
    assert not can_price(5, 3)
    assert not can_price(2_001, 3)
    assert not can_price(100, 4)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e150])
def test_the_optimum_with_all_classes_to_choose_from(scale: float) -> None:
    """What next to no annealing leaves is made good: the choice is among all triples and quadruples."""
    better = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, start = rng.normal(size=(24, 2)), random_partition(rng, 24, 3)
        plain = refine(x * scale, start, 3, HARDLY, seed)
        priced = refine(x * scale, start, 3, HARDLY._replace(priced=2_000), seed)
        assert np.array_equal(priced, refine(x * scale, start, 3, HARDLY._replace(priced=2_000), seed))
        assert np.bincount(priced).min() >= 3
        assert np.bincount(priced).max() <= 5
        assert sse(x, priced) <= sse(x, plain)
        assert sse(x, priced) >= column_bound(x, 3)[0]
        better += sse(x, priced) < 0.8 * sse(x, plain)
    assert better >= 5


@given(seed=st.integers(0, 10**6), n=st.integers(6, 16), closed=st.booleans())
@settings(max_examples=40)
def test_never_worse_and_what_is_closed_stays(seed: int, n: int, closed: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    partitions = [random_partition(rng, n, 3) for _ in range(3)]
    first = partitions[0]
    opened = ~np.isin(first, [0]) if closed else np.ones(n, np.bool_)
    rows = [np.sort(rng.choice(np.flatnonzero(opened), 3, replace=False)) for _ in range(20) if opened.sum() >= 3]
    extra = Classes(np.concatenate(rows), np.arange(0, 3 * len(rows) + 1, 3), np.zeros(len(rows)))
    found = best_with(x, partitions, extra, opened)
    assert sse(x, found) <= sse(x, first) * (1 + 1e-12)
    allowed = {tuple(np.flatnonzero(p == c)) for p in partitions for c in range(p.max() + 1)} | set(map(tuple, rows))
    mine = {tuple(np.flatnonzero(found == c)) for c in range(found.max() + 1)}
    assert mine <= allowed
    assert not closed or tuple(np.flatnonzero(first == 0)) in mine
