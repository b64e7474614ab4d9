"""Means of classes: exact where members are equal, inside the range, no overflow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import class_means, class_means_of_integers
from shoal.kernels.arithmetic.sums import location_and_spread, place

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def classes(draw: st.DrawFn, values: st.SearchStrategy) -> tuple[np.ndarray, np.ndarray]:
    found = draw(st.lists(values, min_size=1, max_size=20))
    labels = draw(st.lists(st.integers(0, 3), min_size=len(found), max_size=len(found)))
    return np.array(found), np.unique(labels, return_inverse=True)[1].astype(np.int64)


@given(classes(FLOATS))
def test_means_lie_in_the_range_of_their_class(table: tuple[np.ndarray, np.ndarray]) -> None:
    values, labels = table
    means = class_means(values, labels)
    largest = np.abs(values).max()
    for c, mean in enumerate(means):
        members = values[labels == c]
        exact = sum(map(Fraction, members.tolist())) / len(members)
        assert members.min() <= mean <= members.max() or abs(mean) < 1e-300 * largest
        assert abs(Fraction(float(mean)) - exact) <= Fraction(2) ** -48 * Fraction(float(largest))


@given(FLOATS, st.integers(1, 9), FLOATS)
def test_equal_members_give_their_value(value: float, count: int, other: float) -> None:
    values = np.array([value] * count + [other])
    means = class_means(values, np.array([0] * count + [1]), weights=np.arange(1.0, count + 2))
    assert means.tolist() == [value, other]


@given(classes(st.integers(-(2**60), 2**60)), st.booleans())
def test_means_of_integers_are_rounded(table: tuple[np.ndarray, np.ndarray], weighted: bool) -> None:
    values, labels = table
    weights = np.ones(len(values)) * 3.5 if weighted else None
    means = class_means_of_integers(values, labels, weights)
    for c, mean in enumerate(means.tolist()):
        members = [Fraction(int(v)) for v in values[labels == c]]
        spread = max(members) - min(members)
        assert abs(mean - sum(members) / len(members)) <= Fraction(1, 2) + spread * Fraction(2) ** -48


def test_weights_of_zero_count_nothing_unless_all_are() -> None:
    values, labels = np.array([1.0, 5.0, 2.0, 4.0]), np.array([0, 0, 1, 1])
    assert class_means(values, labels, np.array([0.0, 2.0, 0.0, 0.0])).tolist() == [5.0, 3.0]


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300, 1.7e308])
def test_standardised_at_any_scale(scale: float) -> None:
    values = np.array([-1.0, -0.5, 0.25, 1.0]) * scale
    placed = place(values, *location_and_spread(values))
    assert placed.mean() == pytest.approx(0, abs=1e-12)
    assert placed.std() == pytest.approx(1, rel=1e-3)


@given(FLOATS, st.integers(1, 9))
def test_a_constant_column_has_no_spread(value: float, count: int) -> None:
    values = np.full(count, value)
    assert location_and_spread(values)[1] == 0.0
    assert place(values, *location_and_spread(values)).tolist() == [0.0] * count
