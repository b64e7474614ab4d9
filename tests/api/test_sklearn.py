"""Microaggregator as scikit-learn expects it, but for `transform`, which refuses."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import shoal
from shoal.sklearn import EXPECTED_FAILED_CHECKS, Microaggregator

X = np.random.default_rng(0).normal(size=(60, 3))


def test_checks_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        found = check_estimator(Microaggregator(k=2), expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail="raise")
    assert {one["check_name"] for one in found if one["status"] == "xfail"} == set(EXPECTED_FAILED_CHECKS)


def test_what_comes_out_was_audited() -> None:
    grouped = Microaggregator(k=5)
    released = grouped.fit_transform(X)
    assert released.shape == X.shape
    counts = np.unique(released, axis=0, return_counts=True)[1]
    assert counts.min() == grouped.audit_.overall.achieved >= 5
    assert grouped.audit_.holds
    assert np.bincount(grouped.labels_).min() >= 5
    for label in np.unique(grouped.labels_):
        rows = grouped.labels_ == label
        assert np.allclose(released[rows], X[rows].mean(axis=0), atol=1e-6)


def test_equal_to_protect() -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    done = shoal.protect(table, quasi=["a", "b", "c"], k=5, method="mdav")
    assert np.array_equal(Microaggregator(k=5, method="mdav").fit_transform(X), done.data.to_numpy())


def test_pandas_in_and_out() -> None:
    grouped = Microaggregator(k=5, effort="fast").set_output(transform="pandas")
    table = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(60) + 7)
    released = grouped.fit_transform(table)
    assert isinstance(released, pd.DataFrame)
    assert released.columns.tolist() == grouped.get_feature_names_out().tolist() == ["a", "b", "c"]


def test_clones_have_the_parameters() -> None:
    assert clone(Microaggregator(k=7, seed=3)).get_params() == {"k": 7, "method": "auto", "effort": None, "seed": 3}


@pytest.mark.parametrize("fitted", [False, True])
def test_transform_refuses(fitted: bool) -> None:
    grouped = Microaggregator(k=5)
    if fitted:
        grouped.fit(X)
    with pytest.raises(shoal.ParameterError, match=r"transform must not be called.*Call fit_transform"):
        grouped.transform(X)


def test_too_few_records() -> None:
    with pytest.raises(shoal.ShoalError, match="k must be at most the number of records"):
        Microaggregator(k=61).fit_transform(X)


def test_without_scikit_learn_it_says_how_to_install_it() -> None:
    script = "import sys; sys.modules['sklearn'] = None; import shoal.sklearn"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Microaggregator: needs the package sklearn. Install it with pip install 'shoal[sklearn]'." in ran.stderr


def test_dates_are_refused_beside_numbers() -> None:
    table = pd.DataFrame({"age": np.arange(30), "seen": pd.date_range("2020-01-01", periods=30)})
    with pytest.raises(shoal.DataError, match="must hold numbers, 'seen' does not"):
        Microaggregator(k=5).fit_transform(table)


@pytest.mark.parametrize("frame", [True, False])
def test_text_is_refused_without_its_cells(frame: bool) -> None:
    table = pd.DataFrame({"age": np.arange(30), "school": ["Bachelors", "Masters"] * 15})
    said = "'school'" if frame else "column 1"
    with pytest.raises(shoal.DataError, match=f"must hold numbers, {said} does not") as refused:
        Microaggregator(k=5).fit_transform(table if frame else table.to_numpy())
    assert "Bachelors" not in str(refused.value)
    assert refused.value.__suppress_context__
