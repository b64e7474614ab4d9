"""Classes of least expected error are what trying every cut finds, and promise no k unless they are asked to."""

from __future__ import annotations

import importlib.util
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from expected_error import expected_error
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.order.least_error import (
    _least_errors,
    even_shares,
    least_error_cut,
    least_error_shares,
    noise_scales,
    run_sse,
    width_shares,
)
from shoal.partition.least_error import LeastError
from shoal.types import Footing, Partition, Points

_file = Path(__file__).parents[1] / "oracles" / "least_error.py"
_spec = importlib.util.spec_from_file_location("oracle_least_error", _file)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

SCALES = st.sampled_from([0.0, 0.3, 2.0, 15.0, 400.0])
RNG = np.random.default_rng(0)


def values(seed: int, n: int) -> np.ndarray:
    """Sorted values: many ties, none, or a long tail far from 0."""
    rng = np.random.default_rng(seed)
    kinds = (rng.integers(0, 6, n).astype(float), rng.normal(size=n), 1e6 + 100 * rng.lognormal(size=n))
    return np.sort(kinds[seed % 3])


def exact(x: np.ndarray, scale: float, bounds: np.ndarray) -> float:
    return float(oracle.cost(x.tolist(), scale, np.diff(bounds).tolist()))


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), k=st.integers(1, 4), scale=SCALES)
def test_no_cut_has_a_lower_error(seed: int, n: int, k: int, scale: float) -> None:
    x, k = values(seed, n), min(k, n)
    bounds = least_error_cut(x, scale, k)
    assert np.diff(bounds).min() >= k
    assert exact(x, scale, bounds) <= float(oracle.least_by_trying(x.tolist(), scale, k)) * (1 + 1e-13) + 1e-20
    assert _least_errors.signatures  # the compiled way ran


@given(seed=st.integers(0, 10**6), n=st.integers(13, 35), k=st.integers(1, 9), scale=SCALES)
def test_the_error_equals_that_of_the_slow_way(seed: int, n: int, k: int, scale: float) -> None:
    x = values(seed, n)
    found = exact(x, scale, least_error_cut(x, scale, k))
    assert found == pytest.approx(float(oracle.least(x.tolist(), scale, k)), rel=1e-13, abs=1e-20)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7), scale=SCALES)
def test_no_partition_in_any_order_has_a_lower_error(seed: int, n: int, scale: float) -> None:
    x = values(seed, n)
    best = float(oracle.least_partition(x.tolist(), scale))
    assert exact(x, scale, least_error_cut(x, scale)) == pytest.approx(best, rel=1e-13, abs=1e-20)


@given(seed=st.integers(0, 10**6), n=st.integers(3, 8), scale=SCALES)
def test_the_error_of_a_class_satisfies_the_quadrangle_inequality(seed: int, n: int, scale: float) -> None:
    x = [oracle.Fraction(v) for v in values(seed, n)]
    squared = oracle.Fraction(scale) ** 2

    def w(i: int, j: int) -> object:
        return oracle.error(x[i:j], squared)

    for a, b, c, d in combinations(range(n + 1), 4):
        assert w(a, c) + w(b, d) <= w(a, d) + w(b, c)  # type: ignore[operator]


def test_narrow_classes_far_away_lose_no_precision() -> None:
    steps = np.array([0.0, 1.0, 2.0, 40.0, 41.0, 42.0, 43.0, 80.0, 81.0, 82.0])
    x = np.concatenate([[-1e7, -1e7, -1e7], 1e7 + steps * 2.0**-20])
    assert np.diff(least_error_cut(x, 9 * 2.0**-20)).tolist() == [3, 3, 4, 3]


@pytest.mark.parametrize("shift", [-1040, -600, 0, 600, 1000])
def test_the_cut_does_not_depend_on_the_unit(shift: int) -> None:
    x = np.sort(np.random.default_rng(5).integers(0, 1000, 60)).astype(float)
    assert np.array_equal(least_error_cut(np.ldexp(x, shift), float(np.ldexp(128.0, shift))), least_error_cut(x, 128.0))


def test_a_second_call_goes_on_where_the_first_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.sort(np.random.default_rng(6).normal(size=500))
    at_once = least_error_cut(x, 0.3, 2)
    monkeypatch.setattr("shoal.kernels.order.least_error._VALUES_PER_CALL", 17)
    assert np.array_equal(least_error_cut(x, 0.3, 2), at_once)


def test_little_noise_leaves_values_alone_and_infinite_noise_makes_one_class() -> None:
    x = np.arange(20.0)
    assert len(least_error_cut(x, 1e-9)) == 21
    assert least_error_cut(x, float("inf")).tolist() == [0, 20]
    assert least_error_cut(np.ones(9), 0.0).tolist() == [0, 9]


def total(x: list[np.ndarray], widths: np.ndarray, shares: np.ndarray, epsilon: float) -> float:
    error = 0.0
    for column, scale in zip(x, noise_scales(widths, shares * epsilon), strict=True):
        bounds = least_error_cut(column, float(scale))
        error += run_sse(column, bounds) + float(scale) ** 2 * (1 / np.diff(bounds)).sum()
    return error


@given(seed=st.integers(0, 10**6), m=st.integers(1, 4), epsilon=st.sampled_from([0.1, 1.0, 10.0]))
def test_shares_of_least_error_are_never_worse_than_the_others(seed: int, m: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    x = [np.sort(rng.lognormal(0, 1, 80)) * 10.0 ** rng.integers(-1, 3) for _ in range(m)]
    widths = np.array([2 * column[-1] for column in x])
    shares = least_error_shares(x, widths, epsilon)
    assert shares.sum() == pytest.approx(1)
    assert shares.min() >= 0.0099 / m
    least = total(x, widths, shares, epsilon)
    for other in (even_shares(m), width_shares(widths)):
        assert least <= total(x, widths, other, epsilon) * (1 + 1e-9)


def test_shares_of_least_error_are_near_the_best_of_a_fine_grid() -> None:
    rng = np.random.default_rng(4)
    x = [np.sort(rng.lognormal(size=200)), np.sort(30 * rng.random(200))]
    widths = np.array([60.0, 40.0])
    grid = min(total(x, widths, np.array([a, 1 - a]), 1.0) for a in np.linspace(0.01, 0.99, 197))
    assert total(x, widths, least_error_shares(x, widths, 1.0), 1.0) <= grid * 1.001


def test_expression_1_is_about_widths_in_the_columns_own_units() -> None:
    X = np.random.default_rng(1).normal(size=(30, 2))
    points = Points(X, ("a", "b"), footings=(Footing(5.0, 2.0, 0), Footing(0.0, 1.0, 3)), widths=np.array([3.0, 3.0]))
    blocks = LeastError(k=2, split="expression1").partition(points, RNG).blocks
    assert [block.share for block in blocks] == [0.2, 0.8]  # widths 6 and 24


@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from([0.3, 3.0]))
def test_the_least_split_is_never_worse_than_expression_1_in_the_columns_own_units(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    X, spread = rng.lognormal(size=(60, 3)), 10.0 ** rng.integers(-2, 3, 3)
    points = Points(X, footings=tuple(Footing(0.0, float(s), 0) for s in spread), widths=2 * X.max(axis=0))
    found = {}
    for split in ("even", "expression1", "least"):
        params = {"epsilon": epsilon, "split": split}
        (found[split],) = expected_error(points, epsilon, [2], "least_error", params=params)
    assert found["least"].total <= min(error.total for error in found.values()) * (1 + 1e-9)


@pytest.mark.parametrize("split", ["even", "expression1", "least"])
def test_classes_are_the_best_cuts_for_their_shares(split: str) -> None:
    X = np.random.default_rng(2).lognormal(size=(60, 3)) * [1, 10, 100]
    widths = 1.5 * X.max(axis=0)
    blocks = LeastError(k=4, epsilon=2.0, split=split).partition(Points(X, widths=widths), RNG).blocks
    shares = [block.share or 0.0 for block in blocks]
    assert sum(shares) == pytest.approx(1)
    for j, (block, share) in enumerate(zip(blocks, shares, strict=True)):
        order, scale = np.argsort(X[:, j]), np.sqrt(2) * widths[j] / (2.0 * share)
        assert (np.diff(block.labels[order]) >= 0).all()
        found = float(oracle.cost(X[order, j].tolist(), scale, block.sizes.tolist()))
        assert found == pytest.approx(float(oracle.least(X[order, j].tolist(), scale, 1)), rel=1e-12)


def test_no_k_is_promised_unless_it_is_asked_for() -> None:
    frame = pa.table({"a": np.random.default_rng(4).lognormal(size=200)})
    recipe = {"quasi": ["a"], "k": 90, "method": "least_error"}
    free = shoal.protect(frame, recipe)
    assert free.partition.sizes.min() < 90
    assert "not_promised" in free.audit.to_dict()
    assert "only noise protects it" in free.audit.findings[0].note
    kept = shoal.protect(frame, {**recipe, "set": {"at_least_k": True}})
    assert kept.partition.sizes.min() >= 90
    assert kept.audit.findings[0].required == 90
    sizes = shoal.microaggregate([0, 0.1, 0.2, 5, 9, 9.1, 9.2, 9.3], 3, method="least_error", epsilon=100.0).sizes
    assert sizes.min() == 1


def test_strata_may_be_smaller_than_a_k_that_nobody_asked_for() -> None:
    frame = pa.table({"a": np.arange(9.0), "region": ["north"] * 7 + ["south"] * 2})
    recipe = {"quasi": ["a"], "strata": ["region"], "k": 3, "method": "least_error"}
    assert shoal.protect(frame, recipe).data.num_rows == 9
    with pytest.raises(shoal.DataError, match="LeastError: k must be at most the number of records, got k = 3 and 2"):
        shoal.protect(frame, {**recipe, "set": {"at_least_k": True}})


def test_k_counts_records_so_subjects_are_refused() -> None:
    frame = pa.table({"a": np.arange(9.0), "who": [0, 0, 1, 1, 2, 2, 3, 3, 4]})
    recipe = {"quasi": ["a"], "subject": "who", "k": 3, "method": "least_error", "set": {"at_least_k": True}}
    with pytest.raises(shoal.ParameterError, match="at_least_k must be false where k counts subjects"):
        shoal.protect(frame, recipe)


def test_without_bounds_it_is_said_that_the_range_of_the_data_was_taken() -> None:
    X = np.random.default_rng(3).normal(size=(30, 2))
    bare = shoal.microaggregate(X, 3, method="least_error")
    assert "range of the data" in bare.note
    given_ = LeastError(k=3).partition(Points(X, widths=np.ptp(X, axis=0)), RNG)
    assert given_.note == ""
    assert np.array_equal(given_.labels, bare.labels)


def test_an_attribute_of_several_coordinates_is_refused() -> None:
    points = Points(np.random.default_rng(1).normal(size=(20, 3)), ("work", "work", "age"))
    with pytest.raises(shoal.DataError, match=r"'work' has 2\. Give it another role"):
        LeastError(k=3).partition(points, RNG)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1"])
def test_epsilon_must_be_a_positive_number(epsilon: object) -> None:
    with pytest.raises(shoal.ParameterError, match="LeastError: epsilon must be a number ≥ 1e-06"):
        shoal.microaggregate(np.eye(9), 3, method="least_error", epsilon=epsilon)


def test_epsilon_of_each_attribute_may_be_given() -> None:
    X = np.random.default_rng(2).lognormal(size=(60, 2))
    points = Points(X, ("a", "b"), widths=1.5 * X.max(axis=0))
    blocks = LeastError(k=2, epsilon={"b": 3.0, "a": 1.0}).partition(points, RNG).blocks
    assert [block.share for block in blocks] == [0.25, 0.75]
    for block, epsilon in zip(blocks, (1.0, 3.0), strict=True):
        alone = LeastError(k=2, epsilon=epsilon).partition(points.only(block.attributes), RNG)
        assert np.array_equal(alone.labels, block.labels)
    with pytest.raises(shoal.ParameterError, match="one for each attribute; missing for b"):
        LeastError(k=2, epsilon={"a": 1.0}).partition(points, RNG)
    with pytest.raises(shoal.ParameterError, match="1e-06 and ≤ 1e\\+06, or one for each attribute, got a dict"):
        LeastError(k=2, epsilon={"a": 1.0, "b": 0.0})


def test_parts_of_a_table_keep_a_share_only_if_it_is_the_same() -> None:
    X = np.random.default_rng(8).lognormal(size=(40, 2))
    rows = [np.arange(20), np.arange(20, 40)]
    for split, kept in (("even", True), ("least", False)):
        method = LeastError(k=2, split=split)
        parts = [method.partition(Points(X[where]), RNG) for where in rows]
        joined = Partition.joined(parts, rows)
        assert all((block.share is not None) is kept for block in joined.blocks)
