"""Two cores find what one finds, record for record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.mdav import brute_force_two_threads as brute_halves
from shoal.kernels.mdav.mdav import mdav


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 120),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    grid=st.sampled_from([0, 2, 5]),
)
def test_equal_to_one_core(seed: int, n: int, d: int, k: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    k = min(k, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brute_halves, "_WORTH_IT", 2**60)
        one, alone = mdav(points, k, path="brute")
        patch.setattr(brute_halves, "_WORTH_IT", 0)
        two, together = mdav(points, k, path="brute")
    assert np.array_equal(one, two)
    assert alone.halved_steps == 0
    assert together.halved_steps == together.brute_steps
    assert (together.brute_steps > 0) == (n >= 2 * k)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_where_all_records_are_equally_far(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.eye(14)
    one, _ = mdav(points, k, path="brute")
    monkeypatch.setattr(brute_halves, "_WORTH_IT", 0)
    two, trace = mdav(points, k, path="brute")
    assert np.array_equal(one, two)
    assert np.bincount(two).min() >= k
    assert trace.halved_steps > 0


def test_a_large_pass_is_halved_and_a_small_one_is_not() -> None:
    points = np.random.default_rng(0).normal(size=(3000, 800))
    _, trace = mdav(points, 100, path="brute")
    assert 0 < trace.halved_steps < trace.brute_steps


def test_one_core_does_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(brute_halves, "_WORTH_IT", 0)
    _, trace = mdav(np.random.default_rng(0).normal(size=(90, 3)), 3, path="brute")
    assert trace.halved_steps == 0
