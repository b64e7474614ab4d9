"""Totals that no order of values changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.arithmetic.sums import orderless_total

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(st.one_of(FLOATS, st.floats(-1e3, 1e3)), max_size=60), st.randoms())
def test_no_order_changes_a_bit(values: list[float], random) -> None:
    total = orderless_total(np.array(values))
    random.shuffle(values)
    again = orderless_total(np.array(values))
    assert math.copysign(1, total) == math.copysign(1, again)
    assert total == again


@given(st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=60))
def test_it_is_as_exact_as_floats_are(values: list[float]) -> None:
    exact, most = math.fsum(values), max(map(abs, values))
    assert abs(orderless_total(np.array(values)) - exact) <= np.spacing(abs(exact)) + most * 2.0**-60


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 1e305])
def test_the_ends_of_the_range(scale: float) -> None:
    values = np.random.default_rng(3).uniform(-1, 1, 1000) * scale
    assert orderless_total(values) == pytest.approx(math.fsum(values), rel=1e-12)
    assert orderless_total(values) == orderless_total(values[::-1].copy())


def test_what_is_not_finite_stays_so() -> None:
    assert orderless_total(np.array([1.0, np.inf])) == np.inf
    assert math.isnan(orderless_total(np.array([1.0, np.nan])))
    assert orderless_total(np.array([])) == 0.0
