"""Mic1D equals its transcription; runs hold k values; it claims nothing about records."""

from __future__ import annotations

import importlib.util
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.order.projection import fixed_runs, mic1d, optimal_runs

_file = Path(__file__).parents[1] / "oracles" / "mic1d.py"
_spec = importlib.util.spec_from_file_location("oracle_mic1d", _file)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def released(X: np.ndarray, k: int, **more: object) -> np.ndarray:
    values = shoal.microaggregate(X, k, method="mic1d", **more).blocks[0].values
    assert values is not None
    return values


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 25),
    d=st.integers(1, 4),
    k=st.integers(2, 30),
    most=st.sampled_from([0, 3, 50]),
    small_last=st.booleans(),
)
def test_equals_the_transcription(seed: int, n: int, d: int, k: int, most: int, small_last: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, most, (n, d)).astype(float) if most else rng.normal(size=(n, d))
    k = min(k, n * d)
    if k < 2:
        return
    found, expected = released(X, k, small_last=small_last), np.array(oracle.mic1d(X.tolist(), k, small_last))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 10**6), n=st.integers(4, 40), d=st.integers(1, 3), k=st.integers(2, 9))
def test_values_stay_in_the_range_of_the_table_and_labels_tell_which_records_are_equal(
    seed: int, n: int, d: int, k: int
) -> None:
    X = np.random.default_rng(seed).normal(size=(n, d))
    for more in ({}, {"small_last": True}, {"cut": "optimal"}):
        block = shoal.microaggregate(X, min(k, n * d), method="mic1d", **more).blocks[0]
        assert block.values is not None
        assert X.min() <= block.values.min() <= block.values.max() <= X.max()
        equal = (block.values[:, None, :] == block.values[None, :, :]).all(axis=2)
        assert np.array_equal(equal, block.labels[:, None] == block.labels)


@pytest.mark.parametrize(
    ("n", "merged", "paper"), [(10, [5, 5], [5, 5]), (11, [5, 6], [5, 5, 1]), (14, [5, 9], [5, 5, 4])]
)
def test_the_last_run(n: int, merged: list[int], paper: list[int]) -> None:
    ordered = np.arange(float(n))
    assert np.diff(fixed_runs(5, small_last=False)(ordered)).tolist() == merged
    assert np.diff(fixed_runs(5, small_last=True)(ordered)).tolist() == paper


def test_a_value_alone_in_the_last_run_leaves_as_it_is_in_the_paper_only() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [77.0]])
    assert released(X, 4, small_last=True)[4, 0] == 77.0
    assert released(X, 4)[4, 0] != 77.0


def test_a_run_of_equal_values_leaves_as_they_are_and_one_run_as_its_mean() -> None:
    assert released(np.full((6, 2), 7.0), 4).tolist() == [[7.0, 7.0]] * 6
    X = np.arange(12.0).reshape(6, 2)
    assert released(X, 12) == pytest.approx(np.full((6, 2), 5.5))


def test_the_optimal_cut_can_lose_less_and_its_runs_hold_k() -> None:
    X = np.random.default_rng(2).lognormal(size=(200, 4))
    loss = {cut: ((X - released(X, 90, cut=cut)) ** 2).sum() for cut in ("fixed", "optimal")}
    assert loss["optimal"] < loss["fixed"]
    ordered = np.sort(X.ravel())
    assert np.diff(optimal_runs(90)(ordered)).min() >= 90


def test_the_largest_numbers_do_not_overflow() -> None:
    X = np.array([[-1.7e308, 1.7e308], [0.0, 1e308], [-1e308, 5.0]])
    values = mic1d(X, fixed_runs(2, small_last=False))
    assert np.isfinite(values).all()
    scaled = mic1d(X * 2.0**-30, fixed_runs(2, small_last=False))
    np.testing.assert_allclose(values * 2.0**-30, scaled, rtol=1e-12)


def test_k_counts_values_and_more_than_there_are_is_a_data_error() -> None:
    X = np.random.default_rng(3).normal(size=(10, 3))
    assert len(np.unique(released(X, 30))) == 1
    with pytest.raises(shoal.DataError, match=r"number of values, got k = 31 and 30 in the table\. Lower k"):
        released(X, 31)
    with pytest.raises(shoal.ParameterError, match="small_last must be false where cut is 'optimal'"):
        released(X, 5, cut="optimal", small_last=True)


@pytest.mark.parametrize("k", [2, 20, 150])
def test_it_claims_nothing_and_says_what_leaves_unchanged(k: int) -> None:
    n = 60
    rng = np.random.default_rng(9)
    frame = pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 1, n),
            "born": [date(1950, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 20_000, n)],
            "s": ["x", "y"] * (n // 2),
        }
    )
    recipe = {"quasi": ["age", "income", "born"], "k": k, "method": "mic1d", "set": {"round_integers": True}}
    done = shoal.protect(frame, recipe)
    audit = done.audit
    assert [(f.required, f.promised) for f in audit.findings if f.model == "k_anonymity"] == [(None, False)]
    assert audit.to_dict()["requirements"] == []
    assert "no k-anonymity of records is promised; k counts values" in audit.overall.note
    unchanged = int((done.partition.blocks[0].note.split("; ")[1].split()[0]).replace(",", ""))
    assert (unchanged > 60) is (k == 2)
    assert done.data["age"].type == frame["age"].type
    assert done.data["born"].type == frame["born"].type
    if k <= 90:
        strata = shoal.protect(frame, {**recipe, "strata": ["s"]})
        assert strata.partition.blocks[0].note.count("unchanged") == 1
        assert not strata.audit.overall.promised


def test_raw_values_are_taken_where_the_scale_is_none() -> None:
    X = np.random.default_rng(10).lognormal(3, 2, size=(50, 3))
    frame = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    recipe = {"quasi": ["a", "b", "c"], "k": 40, "method": "mic1d", "set": {"scale": "none"}}
    done = shoal.protect(frame, recipe).data
    assert np.column_stack([done[name].to_numpy() for name in "abc"]).tolist() == released(X, 40).tolist()
