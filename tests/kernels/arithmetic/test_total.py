"""Totals that no order of values changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.arithmetic.sums import grids_for, on_grids, orderless_total, times_power, total_on

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


@given(
    values=st.lists(st.floats(-1e300, 1e300, allow_nan=False), min_size=1, max_size=60),
    seed=st.integers(0, 10**6),
    parts=st.integers(1, 7),
)
def test_sums_of_parts_add_up_to_the_bits_of_the_whole(values: list[float], seed: int, parts: int) -> None:
    column, rng = np.array(values), np.random.default_rng(seed)
    largest = float(np.abs(column).max())
    if largest == 0.0:
        return
    grids = grids_for(largest, len(column))
    home, sums = rng.integers(0, parts, len(column)), np.zeros(3)
    for part in rng.permutation(parts):
        sums += on_grids(rng.permutation(column[home == part]), grids)
    assert total_on(grids, sums).hex() == orderless_total(column).hex()


def test_sums_of_parts_of_a_long_column_add_up() -> None:
    column = np.random.default_rng(3).normal(size=100_001) * 10.0 ** np.random.default_rng(4).integers(-9, 9, 100_001)
    grids = grids_for(float(np.abs(column).max()), len(column))
    for size in (1, 7, 4_096, 100_001):
        some = column if size > 1 else column[:2_000]
        own = grids if size > 1 else grids_for(float(np.abs(some).max()), len(some))
        sums = sum((on_grids(some[at : at + size], own) for at in range(0, len(some), size)), np.zeros(3))
        assert total_on(own, sums) == orderless_total(some)


@pytest.mark.parametrize("exponent", [-1100, -1074, -1023, -1022, -60, 0, 3, 1023, 1024, 1100])
def test_times_power_equals_ldexp(exponent: int) -> None:
    """Bit for bit, also where results have few bits, or are zero or infinite."""
    rng = np.random.default_rng(1)
    values = np.concatenate([np.ldexp(rng.normal(size=50), e) for e in (-1060, -1020, -30, 0, 900, 1020)])
    values = np.concatenate((values, [0.0, -0.0, 5e-324, 1.7976931348623157e308]))
    with np.errstate(all="ignore"):
        assert times_power(values, exponent).tobytes() == np.ldexp(values, exponent).tobytes()
