"""Which masked records are as near as the right one equals a count over all pairs, record for record."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.space import nearest_own as module
from shoal.kernels.space.nearest_own import as_near, different

oracle = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "linkage.py"))


def over_all_pairs(X: np.ndarray, Y: np.ndarray, columns: list[int]) -> np.ndarray:
    distance = np.zeros((len(X), len(Y)))
    for j in columns:  # the same sum, in the same order
        distance += (X[:, j, None] - Y[:, j]) * (X[:, j, None] - Y[:, j])
    nearest = distance.min(axis=1)
    return np.where(distance.diagonal() == nearest, (distance == nearest[:, None]).sum(axis=1), 0)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 70),
    d=st.integers(1, 5),
    k=st.integers(1, 9),
    grid=st.sampled_from([0, 1, 2, 10]),
    data=st.data(),
)
def test_equals_the_transcription(seed: int, n: int, d: int, k: int, grid: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    Y = np.round(X * 10 / k) * k / 10
    columns = data.draw(st.lists(st.integers(0, d - 1), min_size=1, unique=True).map(sorted))
    before = X.copy(), Y.copy()
    masked = different(Y)
    found = as_near(X, masked.of_row, masked, np.array(columns))
    assert found.tolist() == oracle["as_near"](X.tolist(), Y.tolist(), columns)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


@pytest.mark.parametrize("kind", ["classes", "noise", "grid", "one point"])
@pytest.mark.parametrize("d", [1, 2, 4, 13])
def test_a_tree_of_several_levels_counts_what_all_pairs_count(kind: str, d: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.integers(0, 9, (2300, d)) * 0.1 if kind == "grid" else rng.normal(size=(2300, d))
    order = np.argsort(X[:, 0])
    Y = {
        "classes": X.copy(),
        "noise": X + rng.normal(size=X.shape) * 0.05,
        "grid": X[rng.permutation(2300)],
        "one point": np.zeros_like(X),
    }[kind]
    if kind == "classes":
        for begin in range(0, 2300, 5):
            Y[order[begin : begin + 5]] = X[order[begin : begin + 5]].mean(axis=0)
    masked = different(Y)
    rows = np.sort(rng.choice(2300, 900, replace=False))
    for columns in ([0], list(range(d))):
        found = as_near(X[rows], masked.of_row[rows], masked, np.array(columns))
        assert np.array_equal(found, over_all_pairs(X, Y, columns)[rows])


def test_two_threads_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3))
    masked = different(np.round(X, 1))
    one = as_near(X, masked.of_row, masked, np.arange(3))
    monkeypatch.setattr(module, "_RECORDS_PER_CALL", 64)
    assert np.array_equal(as_near(X, masked.of_row, masked, np.arange(3)), one)


def test_masked_values_beyond_all_bounds_are_far_away() -> None:
    X = np.array([[0.0], [1.0]])
    masked = different(np.array([[1e308], [np.inf]]))
    assert masked.counts.tolist() == [2]
    assert as_near(X, masked.of_row, masked, np.array([0])).tolist() == [2, 2]


def test_values_in_reverse_link_nobody() -> None:
    masked = different(np.arange(5000.0)[::-1, None].copy())
    found = as_near(np.arange(5000.0)[:, None], masked.of_row, masked, np.array([0]))
    assert np.count_nonzero(found) == 0  # 5,000 is even: every record changes its value
