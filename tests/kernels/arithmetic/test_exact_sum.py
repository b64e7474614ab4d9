"""Sums must equal math.fsum, bit for bit, however many values have been taken out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from shoal.kernels.arithmetic.sums import exact_sums, rounded, subtract


@njit
def _take(limbs, base, patterns, row):
    for j in range(patterns.shape[1]):
        subtract(limbs, base, j, patterns[row, j])


@njit
def _round(limbs, base, digits, out):
    for j in range(out.shape[0]):
        out[j] = rounded(limbs[j], base[j], digits)


def assert_exact_under_removal(table):
    patterns = table.view(np.int64)
    limbs, base = exact_sums(patterns)
    digits, out = np.empty(limbs.shape[1], dtype=np.int64), np.empty(table.shape[1])
    for row in range(table.shape[0]):
        _round(limbs, base, digits, out)
        expected = [math.fsum(column) for column in table[row:].T]
        assert out.tolist() == expected
        _take(limbs, base, patterns, row)
    assert not limbs.any()


finite = st.floats(-(2.0**970), 2.0**970)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_values(rows):
    assert_exact_under_removal(np.array(rows))


@given(st.lists(st.integers(-40, 40).map(lambda i: i * 0.1), min_size=1, max_size=60))
@settings(max_examples=100, deadline=None)
def test_decimal_grids(values):
    assert_exact_under_removal(np.array(values)[:, None])


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-110, 110)), min_size=1, max_size=30))
@settings(max_examples=300, deadline=None)
def test_halfway_cases(terms):
    """Sums of a few scattered bits: ties, and ties broken by a bit far below."""
    assert_exact_under_removal(np.array([[math.ldexp(m, e)] for m, e in terms]))


@pytest.mark.parametrize("values", [[0.0], [-0.0, 0.0], [5e-324, -5e-324], [5e-324] * 3, [2.0**-1022, -5e-324]])
def test_edges(values):
    assert_exact_under_removal(np.array(values)[:, None])


def test_many_values():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200_000, 2)) * 10.0 ** rng.integers(-30, 30, size=(200_000, 2))
    limbs, base = exact_sums(table.view(np.int64))
    out = np.empty(2)
    _round(limbs, base, np.empty(limbs.shape[1], dtype=np.int64), out)
    assert out.tolist() == [math.fsum(column) for column in table.T]
