"""The optimal cut is what trying every cut finds: the same labels where sums are exact, the same loss everywhere."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.order.projection import _shortest_paths, optimal_cut

_file = Path(__file__).parents[1] / "oracles" / "optimal_univariate.py"
_spec = importlib.util.spec_from_file_location("oracle_optimal_univariate", _file)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def whole(k: int) -> int:
    """A number such that the SSE of any class of multiples of it is an integer."""
    return math.lcm(*range(1, 2 * k))


def exact_loss(X: np.ndarray, sizes: np.ndarray) -> float:
    return float(oracle.cost(X.tolist(), sizes.tolist()))


@given(seed=st.integers(0, 10**6), n=st.integers(2, 13), k=st.integers(2, 4), most=st.sampled_from([2, 4, 50]))
def test_equals_the_transcription_where_sums_are_exact(seed: int, n: int, k: int, most: int) -> None:
    k = min(k, n)
    X = np.random.default_rng(seed).integers(0, most, (n, 1)).astype(float) * whole(k)
    found = shoal.microaggregate(X, k, method="optimal_univariate").labels
    assert found.tolist() == oracle.optimal_univariate(X.tolist(), k).tolist()
    assert _shortest_paths.signatures  # the compiled way ran


@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), d=st.integers(2, 4), k=st.integers(2, 3))
def test_a_cut_over_several_coordinates_equals_the_transcription(seed: int, n: int, d: int, k: int) -> None:
    k = min(k, n)
    X = np.random.default_rng(seed).integers(-3, 4, (n, d)).astype(float) * whole(k)
    assert np.diff(optimal_cut(X, k)).tolist() == oracle.optimal_cut(X.tolist(), k)


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=3, max_size=12),
    k=st.integers(2, 3),
)
def test_no_cut_of_any_numbers_is_better(values: list[float], k: int) -> None:
    X = np.sort(np.array(values))[:, None]
    found = exact_loss(X, np.diff(optimal_cut(X, k)))
    best = float(oracle.cost(X.tolist(), oracle.optimal_cut(X.tolist(), k)))
    assert found <= best * (1 + 1e-13)


def test_narrow_classes_far_away_lose_no_precision() -> None:
    steps = np.array([0.0, 1.0, 2.0, 40.0, 41.0, 42.0, 43.0, 80.0, 81.0, 82.0])
    X = np.concatenate([[-1e9, -1e9, -1e9], 1e9 + steps * 2.0**-20])[:, None]
    assert np.diff(optimal_cut(X, 3)).tolist() == [3, 3, 4, 3]


@pytest.mark.parametrize("shift", [-1060, -600, 0, 600, 1000])
def test_the_cut_does_not_depend_on_the_unit(shift: int) -> None:
    X = np.sort(np.random.default_rng(5).integers(0, 1000, (60, 1)), axis=0).astype(float)
    assert np.array_equal(optimal_cut(np.ldexp(X, shift), 3), optimal_cut(X, 3))


def test_a_second_call_goes_on_where_the_first_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.sort(np.random.default_rng(6).normal(size=(500, 1)), axis=0)
    at_once = optimal_cut(X, 4)
    monkeypatch.setattr("shoal.kernels.order.projection._ADDITIONS_PER_CALL", 8 * 17)
    assert np.array_equal(optimal_cut(X, 4), at_once)


def test_classes_hold_k_to_2k_minus_1_and_the_loss_is_below_that_of_mdav() -> None:
    X = np.random.default_rng(7).lognormal(size=(400, 1))
    loss = {}
    for method in ("mdav", "optimal_univariate"):
        part = shoal.microaggregate(X, 5, method=method)
        loss[method] = sum(((X[part.labels == c] - X[part.labels == c].mean()) ** 2).sum() for c in range(len(part)))
        assert part.sizes.min() >= 5
        assert part.sizes.max() <= 9
    assert loss["optimal_univariate"] < loss["mdav"]


def test_several_coordinates_are_refused_with_the_way_out() -> None:
    with pytest.raises(shoal.DataError, match=r"exactly 1 coordinate, got 2\. Give each attribute its own block"):
        shoal.microaggregate(np.ones((9, 2)), 3, method="optimal_univariate")
    table = pa.table({"age": np.arange(9.0), "income": np.arange(9.0) ** 2})
    recipe = {"quasi": ["age", "income"], "k": 3, "method": "optimal_univariate"}
    with pytest.raises(shoal.DataError, match="got 2 of 'age', 'income'"):
        shoal.protect(table, recipe)
    done = shoal.protect(table, {**recipe, "blocks": [["age"], ["income"]]})
    assert [block.sizes.min() for block in done.partition.blocks] == [3, 3]
