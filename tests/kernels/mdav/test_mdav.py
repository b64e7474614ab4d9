"""Fast MDAV must give the oracle's labels, record for record, on every path."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.mdav.mdav import mdav
from shoal.progress import listening

_file = Path(__file__).parents[2] / "oracles" / "mdav.py"
_spec = importlib.util.spec_from_file_location("mdav_oracle", _file)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

PATHS = ["brute", "index", None]


def assert_exact(points, k, paths=PATHS):
    points = np.ascontiguousarray(points, dtype=np.float64)
    before = points.copy()
    expected = oracle.mdav(points, k)
    for path in paths:
        labels, trace = mdav(points, k, path=path)
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(labels, expected, err_msg=f"{path}: {trace}")
        assert path is None or trace.path == path
    np.testing.assert_array_equal(points, before)


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def integer_grid(rng, n, d):
    return rng.integers(0, 4, size=(n, d))


def decimal_grid(rng, n, d):
    return rng.integers(0, 12, size=(n, d)) * 0.1


def every_row_three_times(rng, n, d):
    return rng.permutation(np.repeat(rng.normal(size=(n // 3 + 1, d)), 3, axis=0)[:n])


def all_equal(rng, n, d):
    return np.full((n, d), 0.1)


def constant_columns(rng, n, d):
    points = rng.normal(size=(n, d))
    points[:, ::2] = 1 / 3
    return points


def mixed_magnitudes(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 150, size=(n, d))


def heavy_tails(rng, n, d):
    return np.exp(4.0 * rng.normal(size=(n, d)))


def correlated(rng, n, d):
    return rng.normal(size=(n, 1)) @ rng.normal(size=(1, d)) + 1e-3 * rng.normal(size=(n, d))


def far_from_the_origin(rng, n, d):
    return 1e6 + rng.integers(0, 30, size=(n, d)) * 0.1


def sorted_line(rng, n, d):
    return np.arange(n)[:, None] * np.ones(d)


def two_values(rng, n, d):
    return rng.integers(0, 2, size=(n, d)) * 0.3


KINDS = [
    normal, integer_grid, decimal_grid, every_row_three_times, all_equal, constant_columns, mixed_magnitudes,
    heavy_tails, correlated, far_from_the_origin, sorted_line, two_values,
]  # fmt: skip


DIMENSIONS = [1, 2, 3, 4, 5, 8, 13]
SIZES = [(300, 3), (150, 2), (101, 7)]  # each with every kind and every d, but not with every pair of these


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_labels_equal_the_oracle(kind, d):
    n, k = SIZES[(KINDS.index(kind) + DIMENSIONS.index(d)) % len(SIZES)]
    assert_exact(kind(np.random.default_rng(d), n, d), k)


@pytest.mark.parametrize("kind", [normal, decimal_grid, correlated], ids=lambda kind: kind.__name__)
def test_labels_equal_the_oracle_in_a_deep_tree(kind):
    """Enough leaves for three levels of nodes and several rebuilds."""
    assert_exact(kind(np.random.default_rng(0), 1500, 4), 3)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_small_size(k):
    rng = np.random.default_rng(k)
    for n in range(k, 6 * k + 2):
        for kind in (normal, integer_grid, all_equal):
            assert_exact(kind(rng, n, 2), k)


def rows_of(d):
    row = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.0]), min_size=d, max_size=d)
    return st.lists(row, min_size=6, max_size=60)


@given(st.integers(1, 3).flatmap(rows_of), st.integers(2, 5))
@settings(max_examples=150, deadline=None)
def test_small_grids_full_of_ties(rows, k):
    assert_exact(rows, k)


@given(st.lists(st.floats(-1e300, 1e300), min_size=6, max_size=40), st.integers(2, 3))
@settings(max_examples=60, deadline=None)
def test_any_finite_numbers(values, k):
    assert_exact(np.array(values)[:, None], k)


@pytest.mark.parametrize("scale", [1e308, 1e-308, 5e-324, 1e200, 1e-170])
def test_squares_that_would_overflow_or_vanish(scale):
    rng = np.random.default_rng(1)
    points = rng.integers(-9, 10, size=(120, 3)) / 10 * scale
    assert np.all(np.isfinite(points))
    assert_exact(points, 3)


def test_scaling_by_a_power_of_two_changes_nothing():
    points = np.random.default_rng(2).normal(size=(200, 3))
    expected, _ = mdav(points, 3)
    for exponent in (900, -900, 40, -40):
        np.testing.assert_array_equal(mdav(np.ldexp(points, exponent), 3)[0], expected)
    assert in_range(points) is points
    assert 0.5 <= np.abs(in_range(np.ldexp(points, 1000))).max() < 1


@pytest.mark.parametrize(
    ("kind", "n", "d", "k"),
    [
        (normal, 20_000, 4, 3),
        (normal, 20_000, 2, 10),
        (decimal_grid, 30_000, 5, 3),
        (correlated, 20_000, 13, 3),
        (heavy_tails, 20_000, 4, 5),
        (normal, 4_000, 13, 3),
        (every_row_three_times, 30_000, 3, 4),
        (mixed_magnitudes, 10_000, 3, 3),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_index_equals_brute_force(kind, n, d, k):
    points = np.ascontiguousarray(kind(np.random.default_rng(n + d), n, d), dtype=np.float64)
    brute, by_brute = mdav(points, k, path="brute")
    index, by_index = mdav(points, k, path="index")
    chosen, _ = mdav(points, k)
    np.testing.assert_array_equal(index, brute)
    np.testing.assert_array_equal(chosen, brute)
    steps = math.ceil((n // k - 1) / 2)
    assert (by_brute.index_steps, by_index.brute_steps) == (0, 0)
    assert by_brute.brute_steps == by_index.index_steps == steps
    assert by_index.leaves_visited > 0
    assert by_index.boxes_visited > 0
    assert by_index.rebuilds > 3
    if kind is not mixed_magnitudes:  # too wide a range for the frame: exact all the same, and not the path chosen
        assert by_index.records_scanned < by_brute.records_scanned / 10


def test_the_cheaper_path_is_taken():
    rng = np.random.default_rng(3)
    assert mdav(rng.normal(size=(500, 4)), 3)[1].path == "brute"
    low = mdav(rng.normal(size=(20_000, 3)), 3)[1]
    assert low.index_steps > low.brute_steps
    high = mdav(rng.random(size=(8_000, 40)), 3)[1]
    assert high.brute_steps > high.index_steps
    few = mdav(rng.integers(0, 3, size=(20_000, 3)) * 1.0, 3)[1]
    assert (few.path, few.distinct) == ("brute", 27)


def test_changing_from_index_to_brute_force_on_the_way_changes_no_label():
    points = np.random.default_rng(4).normal(size=(12_000, 13))
    labels, trace = mdav(points, 3)
    assert trace.path == "index, then brute"
    assert trace.index_steps > 0
    assert trace.brute_steps > 0
    np.testing.assert_array_equal(labels, mdav(points, 3, path="brute")[0])


def test_progress_is_reported_and_ends_at_the_total():
    heard = []

    class Listener:
        def stage(self, name): ...

        def say(self, text): ...

        def report(self, done, total):
            assert total == 20_000
            heard.append(done)

    with listening(Listener()):
        mdav(np.random.default_rng(5).normal(size=(20_000, 3)), 3)
    assert heard == sorted(heard)
    assert heard[-1] == 20_000
