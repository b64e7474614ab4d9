"""The certificate through the façade: sums over strata and blocks, percentages, refusals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.types import Certificate


def table(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({"a": rng.normal(size=n), "b": rng.normal(size=n), "s": ["x", "y", "y"] * (n // 3)})


def test_it_is_made_only_when_asked_for() -> None:
    assert shoal.protect(table(), {"quasi": ["a", "b"], "k": 3}).certificate is None


def test_reached_and_bound_are_on_the_same_footing_as_the_reading() -> None:
    done = shoal.protect(table(), {"quasi": ["a", "b"], "k": 3}, certify=True)
    certificate = done.certificate
    assert certificate is not None
    assert certificate.sse == pytest.approx(done.readings["sse"], rel=1e-9)
    assert certificate.il == pytest.approx(done.readings["il_sse"], rel=1e-9)
    assert certificate.il_bound < certificate.il
    assert 0 < certificate.gap < 100
    assert certificate.how == ("column generation",)


def test_strata_and_blocks_add_up() -> None:
    whole = table()
    standard = {name: np.asarray(whole[name]) for name in "ab"}
    standard = {name: (values - values.mean()) / values.std() for name, values in standard.items()}
    points, strata = np.column_stack(list(standard.values())), np.asarray(whole["s"])
    by_strata = shoal.protect(whole, {"quasi": ["a", "b"], "strata": ["s"], "k": 3}, certify=True).certificate
    wanted = sum(shoal.lower_bound(points[strata == s], 3).bound for s in "xy")
    assert by_strata is not None
    assert by_strata.bound == pytest.approx(wanted, rel=1e-9)
    assert by_strata.bound >= shoal.lower_bound(points, 3).bound  # fewer partitions to choose from
    by_block = shoal.protect(whole, {"quasi": ["a", "b"], "blocks": [["a"], ["b"]], "k": 3}, certify=True).certificate
    assert by_block is not None
    assert by_block.how == ("optimal cut",)
    assert by_block.bound == pytest.approx(sum(shoal.lower_bound(c, 3).bound for c in standard.values()), rel=1e-9)


def test_the_optimal_cut_has_no_gap() -> None:
    recipe = {"quasi": ["a"], "k": 3, "method": "optimal_univariate"}
    certificate = shoal.protect(table(), recipe, certify=True).certificate
    assert certificate is not None
    assert certificate.gap == pytest.approx(0.0, abs=1e-9)


def test_labels_are_compared_with_the_bound() -> None:
    points = np.random.default_rng(0).normal(size=(50, 2))
    labels = shoal.microaggregate(points, 4).labels
    certificate = shoal.lower_bound(points, 4, labels)
    assert certificate.sse is not None
    assert certificate.bound < certificate.sse < certificate.sst
    assert shoal.lower_bound(points, 4).sse is None
    assert shoal.lower_bound(points, 4).gap is None


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1.0, 1e150, 1e153])
def test_scale_changes_neither_percentages_nor_gap(scale: float) -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    plain = shoal.lower_bound(points, 3, shoal.microaggregate(points, 3).labels)
    other = shoal.lower_bound(points * scale, 3, shoal.microaggregate(points, 3).labels)
    if scale > 1e-160:
        assert other.gap == pytest.approx(plain.gap, rel=1e-4)
        assert other.il_bound == pytest.approx(plain.il_bound, rel=1e-4)
    assert other.bound <= other.sse


def test_equal_points_lose_nothing() -> None:
    certificate = shoal.lower_bound(np.ones((9, 2)), 3, np.repeat([0, 1, 2], 3))
    assert certificate.to_dict() == {
        "k": 3, "sse": 0.0, "sse_bound": 0.0, "il": 0.0, "il_bound": 0.0, "gap": 0.0, "how": ["one class"],
    }  # fmt: skip
    assert isinstance(certificate, Certificate)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (([[1.0], [2.0]], 1), shoal.ParameterError, "lower_bound: k must be an integer ≥ 2, got 1."),
        (([[1.0], [2.0]], 3), shoal.DataError, "lower_bound: k must be at most the number of records"),
        (([[1.0], [np.nan]], 2), shoal.DataError, "lower_bound: X must be finite"),
        (([[1.0], [2.0]], 2, [0]), shoal.DataError, "lower_bound: labels must be one integer for each of the 2"),
        (([[1.0], [2.0]], 2, [0, 1]), shoal.DataError, "lower_bound: every class must have at least k = 2 records"),
    ],
)
def test_refusals(arguments: tuple, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence.replace("(", r"\(")):
        shoal.lower_bound(*arguments)
