"""Lower bounds: never above the least SSE there is, in exact arithmetic; equal where the relaxation is integral."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.bound.column_generation import Pricing, column_bound, repaired
from shoal.kernels.bound.lower_bound import COLUMNS, NEIGHBOURS, ONE_CLASS, OPTIMAL_CUT, lower_bound, neighbour_bound

ORACLE = run_path(str(Path(__file__).parents[2] / "oracles" / "lower_bound.py"))
optimum, paying = ORACLE["optimum"], ORACLE["paying"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Few points: on a grid with ties and equal rows, or anywhere; constant columns; huge, tiny and mixed scales."""
    k, d = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    n = draw(st.integers(k, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["grid", "normal", "heavy"]))
    points = {
        "grid": lambda: rng.integers(0, 3, (n, d)).astype(float),
        "normal": lambda: rng.normal(size=(n, d)),
        "heavy": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 8, (n, 1)),
    }[kind]()
    if draw(st.booleans()):
        points = np.column_stack((points, np.full(n, draw(st.sampled_from([0.0, 7.0])))))
    return points * draw(st.sampled_from([1.0, 1e-9, 1e9, 1e-140, 1e140])), k


@given(tables())
def test_no_partition_is_below_the_bound(table: tuple[np.ndarray, int]) -> None:
    points, k = table
    least = optimum(points.tolist(), k)
    bound = lower_bound(points, k)
    assert 0 <= Fraction(bound.value) <= least
    if bound.how in (ONE_CLASS, OPTIMAL_CUT):
        assert Fraction(bound.value) >= least * Fraction(1 - 1e-9)


@settings(max_examples=60)
@given(tables())
def test_each_way_holds_on_its_own(table: tuple[np.ndarray, int]) -> None:
    points, k = table
    if len(points) < 2 * k or not 1e-100 < np.abs(points).max() < 1e100:
        return
    least = optimum(points.tolist(), k)
    columns, _ = column_bound(points, k)
    near, nearer = (neighbour_bound(points, k, steps) for steps in (0, 40))
    assert max(Fraction(columns), Fraction(nearer)) <= least
    assert near <= nearer
    distances = np.sort(((points[:, None] - points[None]) ** 2).sum(2), axis=1)[:, 1:k]
    assert near == pytest.approx(distances.sum() / (2 * k), rel=1e-9)


@given(tables(), st.integers(0, 2**32))
def test_pricing_finds_every_class_that_pays(table: tuple[np.ndarray, int], seed: int) -> None:
    points, k = table
    if not 1e-100 < np.abs(points).max() < 1e100:
        return
    rng = np.random.default_rng(seed)
    spread = float(((points - points.mean(0)) ** 2).sum()) / len(points)
    prices = spread * rng.normal(0.5, 0.7, len(points))
    members, profit, every = Pricing(points, k).find(prices, 100_000)
    found = {tuple(sorted(rows)): value for rows, value in zip(members.tolist(), profit.tolist(), strict=True)}
    wanted = paying(points.tolist(), k, prices.tolist())
    assert every
    assert wanted.keys() <= found.keys()
    tolerance = 1e-9 * (float(np.abs(prices).sum()) + spread)
    assert all(abs(found[rows] - float(value)) <= tolerance for rows, value in wanted.items())
    assert all(found[rows] <= tolerance for rows in found.keys() - wanted.keys())
    assert not paying(points.tolist(), k, repaired(prices, members, profit).tolist())  # in exact arithmetic


def test_a_search_that_is_cut_short_says_so() -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    pricing = Pricing(points, 4)
    assert not pricing.find(np.full(40, 1.0), 3)[2]
    assert pricing.find(np.full(40, -1.0), 3)[2]


def test_clumps_of_k_are_certified_as_optimal() -> None:
    rng = np.random.default_rng(3)
    points = np.repeat(rng.normal(size=(20, 3)) * 100, 3, axis=0) + rng.normal(size=(60, 3))
    clumps = points.reshape(20, 3, 3)
    sse = float(((clumps - clumps.mean(1, keepdims=True)) ** 2).sum())
    bound = lower_bound(points, 3)
    assert bound.how == COLUMNS
    assert sse * (1 - 1e-5) <= bound.value <= sse


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_ways_agree_in_their_order(k: int) -> None:
    points = np.random.default_rng(k).normal(size=(120, 3))
    columns, optimal = column_bound(points, k)
    assert optimal
    assert neighbour_bound(points, k, 0) < neighbour_bound(points, k, 150) <= columns


def test_an_unfinished_column_generation_still_holds_or_claims_nothing() -> None:
    points = np.random.default_rng(1).normal(size=(90, 2))
    full, _ = column_bound(points, 3)
    for rounds in (1, 2, 3):
        value, optimal = column_bound(points, 3, rounds)
        assert value == -math.inf or value <= full * (1 + 1e-6)
        assert optimal or value < full


def test_other_ways_for_other_sizes() -> None:
    points = np.random.default_rng(2).normal(size=(40, 2))
    assert lower_bound(points, 7).how == NEIGHBOURS
    assert lower_bound(points, 21).how == ONE_CLASS
    assert lower_bound(points[:, :1], 3).how == OPTIMAL_CUT
    assert lower_bound(np.column_stack((points[:, 0], np.ones(40))), 3).how == OPTIMAL_CUT
    assert lower_bound(np.ones((40, 2)), 3).value == 0.0
    assert lower_bound(points, 3) == lower_bound(points, 3)
