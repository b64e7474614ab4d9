"""Several threads find what one finds, record for record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.mdav import steps as brute_force
from shoal.kernels.mdav.mdav import Trace, mdav


def with_threads(points: np.ndarray, k: int, threads: int, worth: int = 1) -> tuple[np.ndarray, Trace]:
    """Run brute force; a part of a pass is worth a thread from `worth` coordinates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_THREADS", str(threads))
        patch.setattr(brute_force, "_WORTH_A_THREAD", worth)
        return mdav(points, k, path="brute")


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 120),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    grid=st.sampled_from([0, 2, 5]),
    threads=st.sampled_from([2, 3, 7]),
)
def test_equal_to_one_thread(seed: int, n: int, d: int, k: int, grid: int, threads: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    k = min(k, n)
    one, alone = with_threads(points, k, 1)
    many, shared = with_threads(points, k, threads)
    assert np.array_equal(one, many)
    assert alone.split_steps == 0
    assert shared.split_steps <= shared.brute_steps  # equal records share a place, and a single place is not split
    assert grid or shared.split_steps == shared.brute_steps
    assert (shared.brute_steps > 0) == (n >= 2 * k)


@pytest.mark.parametrize("threads", [2, 7])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_where_all_records_are_equally_far(k: int, threads: int) -> None:
    points = np.eye(14)
    one, _ = with_threads(points, k, 1)
    many, trace = with_threads(points, k, threads)
    assert np.array_equal(one, many)
    assert np.bincount(many).min() >= k
    assert trace.split_steps > 0


def test_a_long_pass_is_split_and_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_THREADS", "2")
    points = np.random.default_rng(0).normal(size=(3000, 800))
    _, trace = mdav(points, 100, path="brute")
    assert 0 < trace.split_steps < trace.brute_steps


def test_a_thread_more_needs_a_part_that_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    plain = brute_force._look_everywhere

    def look(*given: object) -> brute_force.Found:
        threads.append(given[-1])
        return plain(*given)

    monkeypatch.setattr(brute_force, "_look_everywhere", look)
    with_threads(np.random.default_rng(0).normal(size=(160, 2)), 5, 7, worth=64)
    assert set(threads) == {2, 3, 4, 5}
    assert threads == sorted(threads, reverse=True)
