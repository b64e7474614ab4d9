"""The nearest other records equal those of a plain sort, row for row."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.space import neighbours as module
from shoal.kernels.space.neighbours import neighbours


def _oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"near_{name}", Path(__file__).parents[2] / "oracles" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle, codes = _oracle("neighbours"), _oracle("coded_tables")


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 90),
    d=st.integers(1, 5),
    count=st.integers(0, 50),
    grid=st.sampled_from([0, 1, 2, 10]),
)
def test_equals_the_transcription(seed: int, n: int, d: int, count: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    before = X.copy()
    near = neighbours(X, count)
    assert near.dtype == np.int32
    assert near.shape == (n, min(count, n - 1))
    assert near.tolist() == oracle.neighbours(X.tolist(), min(count, n - 1))
    assert np.array_equal(X, before)


def by_sorting(X: np.ndarray, count: int) -> np.ndarray:
    distance = np.zeros((len(X), len(X)))
    for column in X.T:  # the same sum, in the same order
        distance += (column[:, None] - column) * (column[:, None] - column)
    np.fill_diagonal(distance, np.inf)
    return np.argsort(distance, axis=1, kind="stable")[:, :count]


@pytest.mark.parametrize("kind", ["scattered", "clumps", "grid", "copies"])
@pytest.mark.parametrize("d", [1, 2, 4, 13])
def test_a_tree_of_several_levels_finds_what_sorting_finds(kind: str, d: int) -> None:
    rng = np.random.default_rng(d)
    X = {
        "scattered": rng.normal(size=(2300, d)),
        "clumps": rng.normal(size=(2300, d)) * 0.01 + rng.integers(0, 5, (2300, 1)),
        "grid": rng.integers(0, 9, (2300, d)) * 0.1,
        "copies": np.tile(rng.normal(size=(115, d)), (20, 1)),
    }[kind]
    assert np.array_equal(neighbours(X, 17), by_sorting(X, 17))


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(3000, 3))
    at_once = neighbours(X, 8)
    monkeypatch.setattr(module, "_POINTS_PER_CALL", 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert np.array_equal(neighbours(X, 8), at_once)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    assert np.array_equal(neighbours(X, 8), at_once)


@pytest.mark.parametrize("numbers", [0, 1, 3])
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize(("n", "wide"), [(2, 5), (60, 5), (700, 200)])
def test_records_with_codes_find_what_sorting_finds(numbers: int, grid: bool, n: int, wide: int) -> None:
    x = codes.table(n, n, wide, numbers, grid)
    for count in (1, 17, n):
        assert np.array_equal(neighbours(x, count), codes.neighbours(x, min(count, n - 1)))


@pytest.mark.parametrize("coded", [False, True])
def test_some_records_find_what_they_find_among_all(coded: bool) -> None:
    rng = np.random.default_rng(4)
    x = codes.table(4, 700) if coded else np.round(rng.normal(size=(700, 2)), 1)
    for rows in (np.array([3]), rng.permutation(700)[:50], np.arange(0)):
        assert np.array_equal(neighbours(x, 6, rows), neighbours(x, 6)[rows])


def test_the_number_of_threads_changes_nothing_for_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    x = codes.table(1, 3000, 50)
    at_once = neighbours(x, 8)
    monkeypatch.setattr(module, "_POINTS_PER_CALL", 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert np.array_equal(neighbours(x, 8), at_once)


def test_far_from_all_ends_of_the_number_range() -> None:
    X = np.random.default_rng(2).normal(size=(50, 2))
    for scale in (2.0**-1000, 2.0**-600, 2.0**600, 2.0**1000):
        assert np.array_equal(neighbours(X * scale, 5), neighbours(X, 5))


def test_a_hundred_thousand_equal_records_take_no_longer_than_others() -> None:
    near = neighbours(np.zeros((100_000, 3)), 2)
    assert near[:4].tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert near[-1].tolist() == [0, 1]
