"""No bar, share, mean or correlation of a report stands for a few records."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.charts.histograms import histogram, marks_between, missing, shares
from shoal.report.sections.attributes import correlations, moments, variation
from shoal.types import Codes, Pair

ORACLE = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "bars.py"))

columns = st.lists(
    st.one_of(st.integers(-50, 50).map(float), st.floats(-1e6, 1e6), st.just(math.nan)), min_size=1, max_size=120
)


@given(columns, st.randoms(use_true_random=False), st.integers(2, 9), st.booleans(), st.booleans(), st.booleans())
def test_every_bar_stands_for_nobody_or_for_enough(values, random, least, whole, dated, masked_only) -> None:
    after = random.sample(values, len(values))
    pair = Pair(np.array(values), np.array(after))
    found = histogram(pair, least, whole=whole, dated=dated, masked_only=masked_only)
    if found is None:
        return
    drawn = [pair.after] if masked_only else list(pair)
    drawn = [column[np.isfinite(column)] for column in drawn]
    share = max(least / len(drawn[0]), 0.01)
    marks = marks_between(*np.quantile(drawn[0], [share, 1 - share]).tolist(), whole=whole, dated=dated)
    assert marks is not None
    assert np.all(np.diff(marks.edges) > 0)
    shown = [found.after] if masked_only else [found.before, found.after]
    assert (found.before is None) is masked_only
    places = [(a + found.left_out, b + found.left_out) for a, b in found.places]
    for column, bars in zip(drawn, shown, strict=True):
        counts = ORACLE["held"](column.tolist(), marks.edges.tolist(), places)
        assert ORACLE["allowed"](counts, least)
        assert sum(counts) == len(column)
        assert bars == pytest.approx([count / len(column) for count in counts])
    assert [a for a, _ in found.places[1:]] == [b for _, b in found.places[:-1]]


@given(st.lists(st.integers(-1, 30), min_size=1, max_size=200), st.integers(2, 9), st.booleans(), st.booleans())
def test_every_category_stands_for_nobody_or_for_enough(codes, least, ordered, masked_only) -> None:
    before = np.array(codes)
    after = np.where(before % 3 == 0, before, 1)
    names = tuple(f"c{code}" for code in range(31))
    found = shares(Codes(before, after, names, ordered), least, masked_only=masked_only)
    if found is None:
        return
    for column, bars in ((before, found.before), (after, found.after)):
        if bars is None:
            assert masked_only
            continue
        n = int((column >= 0).sum())
        assert ORACLE["allowed"]([round(share * n) for share in bars], least)
        assert sum(bars) == pytest.approx(1.0)
        for name, share in zip(found.names, bars, strict=True):
            if name:
                assert share == pytest.approx((column == names.index(name)).sum() / n)


def test_the_largest_value_opens_no_bar() -> None:
    values = np.r_[np.linspace(1000, 2000, 400), 987_654.0]
    found = histogram(Pair(values, values), 5, whole=False, dated=False)
    assert found is not None
    assert {written for _, written in found.ticks} <= {f"{edge:,}" for edge in range(1000, 2001, 50)}
    assert len(found.places) > 10


def test_an_empty_open_cell_is_not_drawn() -> None:
    minutes = np.r_[np.zeros(50), np.random.default_rng(0).integers(1, 90, 200).astype(float)]
    found = histogram(Pair(minutes, minutes), 5, whole=True, dated=False)
    assert found is not None
    assert found.before is not None
    assert found.places[0][0] == 0
    assert found.before[0] > 0  # no one travels for less than 0 minutes
    assert found.ticks[0] == (0.0, "0")
    assert sum(found.before) == pytest.approx(1)


@pytest.mark.parametrize("value", [0.0, 1e300, -1e308, 5e-324])
def test_what_does_not_vary_is_not_drawn(value: float) -> None:
    values = np.full(50, value)
    assert histogram(Pair(values, values), 5, whole=False, dated=False) is None


def test_extreme_numbers_are_no_obstacle() -> None:
    values = 1.7e308 * np.random.default_rng(0).uniform(-1, 1, 500)
    histogram(Pair(values, values), 5, whole=False, dated=False)
    moments(Pair(values, values), 5)
    correlations({"a": Pair(values, values), "b": Pair(-values, values)}, ("a", "b"), 5)


def test_missing_values_are_counted_only_if_they_are_many() -> None:
    column = np.r_[np.full(3, np.nan), np.arange(97.0)]
    assert missing(column, 5) == "fewer than 5 missing"
    assert missing(column, 3) == "3.0 % missing"
    assert missing(column[3:], 5) == ""


@given(st.integers(0, 2**32 - 1))
def test_correlations_equal_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(4, 40)) + rng.normal(size=40)
    columns[rng.random((4, 40)) < 0.1] = np.nan
    numbers = {"x": Pair(columns[0], columns[1]), "y": Pair(columns[2], columns[3])}
    before, after = correlations(numbers, ("x", "y"), 5)
    assert (before[0, 1], after[0, 1]) == pytest.approx(ORACLE["correlation"](*columns.tolist()))
    assert before[0, 0] == pytest.approx(1.0)


def test_a_mean_that_one_record_makes_is_not_shown() -> None:
    values = np.r_[np.arange(20.0), 1e6]
    found = moments(Pair(values, values), 5)
    assert np.isnan([*found.means, *found.deviations]).all()
    assert np.isnan(moments(Pair(values[:4], values[:4]), 5).means).all()
    even = moments(Pair(values[:20], values[:20] * 2), 5)
    assert even.means == (9.5, 19.0)
    assert even.deviation_change == pytest.approx(100.0)


def test_variation_leaves_out_what_is_missing() -> None:
    assert math.isnan(variation(Codes(np.array([-1]), np.array([0]), ("a",))))
    assert variation(Codes(np.array([0, 1, -1]), np.array([1, 1, 0]), ("a", "b"))) == 50.0
