"""Paths: what joins them, what shortens them, and what the cut along them costs."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.order import two_opt as shortening
from shoal.kernels.order.tour import _cut, greedy_path, tour, tour_cut, tour_labels
from shoal.kernels.order.two_opt import shorten
from shoal.kernels.space.neighbours import neighbours

_spec = importlib.util.spec_from_file_location("oracle_tour", Path(__file__).parents[2] / "oracles" / "tour.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def is_permutation(order: np.ndarray, n: int) -> bool:
    return np.array_equal(np.sort(order), np.arange(n))


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), d=st.integers(1, 4))
def test_greedy_edges_equal_the_transcription_where_all_may_be_neighbours(seed: int, n: int, d: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, d))
    path = greedy_path(X, neighbours(X, n - 1)).tolist()
    assert {(min(e), max(e)) for e in itertools.pairwise(path)} == oracle.greedy_edges(X.tolist())


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 120),
    d=st.integers(1, 4),
    count=st.integers(1, 12),
    grid=st.sampled_from([0, 3]),
)
def test_shorter_by_exactly_what_the_moves_gained(seed: int, n: int, d: int, count: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    order, gained = shorten(X, neighbours(X, count))
    assert is_permutation(order, n)
    before, after = oracle.length(X.tolist(), range(n)), oracle.length(X.tolist(), order)
    assert gained >= 0
    assert after == pytest.approx(before - gained, abs=1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), d=st.integers(1, 3))
def test_short_paths_are_hardly_longer_than_the_shortest(seed: int, n: int, d: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, d))
    found, best = oracle.length(X.tolist(), tour(X)), oracle.shortest(X.tolist())
    assert best - 1e-9 <= found <= 1.35 * best + 1e-9


def test_shorter_than_greedy_edges_and_not_far_from_the_shortest_there_is() -> None:
    X = np.random.default_rng(1).random((3000, 2))
    greedy = greedy_path(X, neighbours(X, 8))
    length = oracle.length(X.tolist(), tour(X))
    assert length < 0.94 * oracle.length(X.tolist(), greedy)
    assert length < 1.08 * 0.7124 * np.sqrt(3000)  # the limit for the shortest of all, as n grows


def test_long_ways_are_not_turned_round_in_large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(2).random((4000, 2))
    monkeypatch.setattr(shortening, "_TURNED", 0)
    assert is_permutation(tour(X), 4000)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), d=st.integers(1, 3), grid=st.sampled_from([0, 2, 4]))
def test_equal_records_follow_one_another_and_rows_do_not_matter(seed: int, n: int, d: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    order = tour(X)
    assert is_permutation(order, n)
    runs = sum(not np.array_equal(X[a], X[b]) for a, b in itertools.pairwise(order)) + 1
    assert runs == len(np.unique(X, axis=0))
    shuffled = rng.permutation(n)
    assert np.array_equal(X[shuffled][tour(X[shuffled])], X[order])


@given(seed=st.integers(0, 10**6), n=st.integers(2, 150), d=st.integers(1, 4), k=st.integers(2, 9))
def test_the_cut_is_never_worse_than_that_of_the_plain_path(seed: int, n: int, d: int, k: int) -> None:
    k = min(k, n)
    X = np.random.default_rng(seed).normal(size=(n, d))
    cut, labels = tour_cut(X, k), tour_labels(X, k)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert cut.sse <= _cut(X, tour(X), k).sse
    sse = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(len(sizes)))
    assert cut.sse == pytest.approx(sse)


@pytest.mark.parametrize("k", [3, 5, 10])
def test_less_is_lost_than_by_mdav(k: int) -> None:
    X = np.random.default_rng(3).normal(size=(600, 3))
    labels, _ = mdav(X, k)
    sse = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(labels.max() + 1))
    assert tour_cut(X, k).sse < sse
