"""Points on fewer axes: as near as before, or a little nearer, and no table without need."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.closeness.merge import merge_until_close
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.models.demands import demands, hold
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.refine import CLOSE_EFFORTS, Effort
from shoal.kernels.repair import refine as close_refine
from shoal.kernels.repair.refine import refine_close, seconds_to_refine
from shoal.kernels.space.principal_axes import on_main_axes
from shoal.types import Confidential, Requirement

_spec = importlib.util.spec_from_file_location("oracle_axes", Path(__file__).parents[2] / "oracles" / "main_axes.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def categories(n: int, attributes: int, values: int, seed: int) -> np.ndarray:
    """A coordinate for each value of each attribute; some values are rare."""
    rng = np.random.default_rng(seed)
    shares = 0.5 ** np.arange(values)
    drawn = rng.choice(values, size=(n, attributes), p=shares / shares.sum())
    return np.concatenate([(drawn[:, [a]] == np.arange(values)) * np.sqrt(0.5) for a in range(attributes)], axis=1)


def apart(x: np.ndarray) -> np.ndarray:
    return np.asarray(((x[:, None] - x[None]) ** 2).sum(axis=2))


@settings(max_examples=20)
@given(st.integers(2, 60), st.integers(3, 6), st.integers(9, 14), st.integers(0, 99))
def test_distances_are_those_on_the_principal_axes(n: int, attributes: int, values: int, seed: int) -> None:
    x = categories(n, attributes, values, seed)
    before = x.copy()
    y = on_main_axes(x)
    assert np.array_equal(x, before)
    if y is x:
        assert oracle.kept(x, 0.005) > 2 / 3 * x.shape[1] or not np.ptp(x, axis=0).any()
        return
    assert y.flags.c_contiguous
    # where two axes are equally long either may come first: the distances of one more and one less bound ours
    assert abs(y.shape[1] - oracle.kept(x, 0.005)) <= 1
    low, high = (oracle.squared_distances(x, axes) for axes in (y.shape[1] - 1, y.shape[1] + 1))
    assert (apart(y) <= apart(x) + 1e-12).all()
    assert low.sum() - 1e-9 <= apart(y).sum() <= high.sum() + 1e-9
    equal = (x[:, None] == x[None]).all(axis=2)
    assert ((y[:, None] == y[None]).all(axis=2) >= equal).all()


def test_at_most_a_two_hundredth_of_the_variance_is_left_out() -> None:
    x = categories(4000, 6, 14, 1)
    y = on_main_axes(x)
    assert y.shape[1] < 0.6 * x.shape[1]
    assert ((y - y.mean(axis=0)) ** 2).sum() >= 0.994 * ((x - x.mean(axis=0)) ** 2).sum()


@pytest.mark.parametrize("shape", [(50, 1), (50, 13), (50, 24), (4, 600)])
def test_narrow_and_very_wide_tables_are_left_alone(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    assert on_main_axes(x) is x


def test_what_varies_in_all_directions_and_what_does_not_vary_are_left_alone() -> None:
    even, equal = np.random.default_rng(0).normal(size=(900, 40)), np.full((9, 40), 1e150)
    assert on_main_axes(even) is even
    assert on_main_axes(equal) is equal


@pytest.mark.parametrize("whole", [100, 1_000])
def test_refined_classes_of_a_wide_table_hold_and_lose_less(monkeypatch: pytest.MonkeyPatch, whole: int) -> None:
    monkeypatch.setattr(refining, "WHOLE", whole)
    monkeypatch.setattr(refining, "_BLOCK", 200)
    x, rng = categories(600, 5, 12, 3), np.random.default_rng(3)
    seen: list[int] = []

    def noted(points: np.ndarray) -> np.ndarray:
        seen.append(on_main_axes(points).shape[1])
        return on_main_axes(points)

    monkeypatch.setattr(close_refine, "on_main_axes", noted)
    codes = (x[:, 0] + rng.random(600) > 0.9).astype(np.int64)
    ill = Confidential("ill", codes, np.bincount(codes), ordered=False)
    d = demands([ill], [Requirement("t_closeness", "ill", (("t", 0.15),))])
    before = merge_until_close(x, mdav(x, 3)[0], d.c)
    after = refine_close(x, before, 3, d, Effort(2, 20_000, 400, 2, 50, 700), 0)
    assert seen == [on_main_axes(x).shape[1]]
    assert seen[0] < x.shape[1]
    assert hold(d, after).all()
    assert np.bincount(after).min() >= 3
    assert sse(x, after) < 0.9 * sse(x, before)


def test_more_axes_take_longer() -> None:
    few, many = (seconds_to_refine(CLOSE_EFFORTS["default"], 40_000, 5, axes) for axes in (3, 100))
    assert many > 1.3 * few
