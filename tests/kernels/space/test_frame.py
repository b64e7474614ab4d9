"""The frame of points that the index gets before it is built."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.space.principal_axes import clumped


def clusters(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return 3.0 * rng.normal(size=(40, d))[rng.integers(40, size=n)] + 0.3 * rng.normal(size=(n, d))


@pytest.mark.parametrize("d", [20, 60, 200])
def test_clumps_are_seen_and_an_even_spread_is_not_taken_for_them(d: int) -> None:
    assert clumped(clusters(5000, d))
    assert not clumped(np.random.default_rng(0).random((5000, d)))


def test_few_points_huge_points_and_equal_points_can_be_asked_about() -> None:
    for points in (np.zeros((1, 3)), np.ones((9, 2)), np.full((300, 2), 1e300), np.array([[1e200], [-1e200]])):
        assert clumped(points) in (True, False)


def test_a_wide_table_of_clumps_goes_through_the_index() -> None:
    points = clusters(20_000, 40)
    labels, trace = mdav(points, 3)
    assert trace.index_steps > 0
    assert np.bincount(labels).min() >= 3
