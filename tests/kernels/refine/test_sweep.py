"""A local search never raises the loss, and ends where no record would rather be in another class."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.refine.reblock import swept


def loss(X: np.ndarray, labels: np.ndarray) -> float:
    return sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))


@given(seed=st.integers(0, 10**6), n=st.integers(4, 11), d=st.integers(1, 3), k=st.integers(2, 3))
def test_no_shift_and_no_exchange_is_left_that_would_help(seed: int, n: int, d: int, k: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, d))  # n ≤ 11: all others are among the ten nearest
    before, _ = mdav(X, k)
    labels = swept(X, before, k)
    found = loss(X, labels)
    assert np.bincount(labels).min() >= k
    assert np.bincount(labels).max() <= 2 * k - 1
    assert found <= loss(X, before) + 1e-12
    for i in range(n):
        for c in range(labels.max() + 1):
            shifted = labels.copy()
            shifted[i] = c
            sizes = np.bincount(shifted)
            if sizes.min() >= k and sizes.max() <= 2 * k - 1:
                assert loss(X, shifted) >= found * (1 - 1e-9)
        for j in range(i):
            exchanged = labels.copy()
            exchanged[[i, j]] = labels[[j, i]]
            assert loss(X, exchanged) >= found * (1 - 1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(4, 80), k=st.integers(2, 5), grid=st.sampled_from([1, 2, 5]))
def test_survives_ties(seed: int, n: int, k: int, grid: int) -> None:
    k = min(k, n)
    X = np.random.default_rng(seed).integers(0, grid, (n, 2)) / 10.0
    before, _ = mdav(X, k)
    labels = swept(X, before, k)
    assert np.bincount(labels).min() >= k
    assert loss(X, labels) <= loss(X, before) + 1e-12
