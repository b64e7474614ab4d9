"""Fast t-closeness first must give the oracle's labels, record for record, on every path."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.closeness.t_first import t_first
from shoal.kernels.space.nearest_per_subset import class_size, subset_of_rows
from shoal.progress import listening

_file = Path(__file__).parents[2] / "oracles" / "t_first.py"
_spec = importlib.util.spec_from_file_location("t_first_oracle", _file)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

PATHS = ["brute", "index", None]


def assert_exact(points, values, k, t):
    points = np.ascontiguousarray(points, dtype=np.float64)
    before = points.copy()
    expected = oracle.t_first(points, values, k, t)
    for path in PATHS:
        labels, trace = t_first(points, np.asarray(values), k, t, path=path)
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(labels, expected, err_msg=f"{path}: {trace}")
        assert trace.path == "one class" or path is None or trace.path == path
        if trace.path != "one class":
            assert np.bincount(labels).min() == trace.size
            assert np.bincount(labels).max() <= trace.size + 1
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


def mixed_magnitudes(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 150, size=(n, d))


def correlated(rng, n, d):
    return rng.normal(size=(n, 1)) @ rng.normal(size=(1, d)) + 1e-3 * rng.normal(size=(n, d))


def two_values(rng, n, d):
    return rng.integers(0, 2, size=(n, d)) * 0.3


def independent(rng, points):
    return rng.permutation(len(points))


def few(rng, points):
    return rng.integers(0, 4, len(points))


def constant(rng, points):
    return np.zeros(len(points), dtype=np.int64)


def determined(rng, points):
    return points[:, 0]


KINDS = [
    normal, integer_grid, decimal_grid, every_row_three_times, all_equal, mixed_magnitudes, correlated, two_values,
]  # fmt: skip


RANKED = [independent, few, constant, determined]
SETTINGS = [(300, 2, 3, 0.1), (151, 4, 2, 0.25), (203, 1, 4, 0.06), (250, 3, 2, 0.004)]  # n, d, k and t, pairwise


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("ranked", RANKED, ids=lambda ranked: ranked.__name__)
def test_labels_equal_the_oracle(kind, ranked):
    rng = np.random.default_rng(7)
    n, d, k, t = SETTINGS[(KINDS.index(kind) + RANKED.index(ranked)) % len(SETTINGS)]
    points = kind(rng, n, d)
    assert_exact(points, ranked(rng, points), k, t)


@pytest.mark.parametrize("ranked", [independent, determined], ids=lambda ranked: ranked.__name__)
@pytest.mark.parametrize("kind", [normal, decimal_grid], ids=lambda kind: kind.__name__)
def test_labels_equal_the_oracle_in_a_deep_tree(kind, ranked):
    """Enough leaves for three levels of nodes, and several rebuilds."""
    rng = np.random.default_rng(1)
    points = kind(rng, 1500, 4)
    assert_exact(points, ranked(rng, points), 3, 0.1)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("t", [0, 0.03, 0.1, 0.25, 0.5, 1])
def test_every_small_size(k, t):
    rng = np.random.default_rng(k)
    for n in range(k, 6 * k + 3):
        for kind in (normal, integer_grid, all_equal):
            points = kind(rng, n, 2)
            assert_exact(points, few(rng, points), k, t)


@pytest.mark.parametrize("ranked", [independent, determined], ids=lambda ranked: ranked.__name__)
def test_more_subsets_than_a_node_has_bits(ranked):
    rng = np.random.default_rng(2)
    points = normal(rng, 1000, 2)
    assert class_size(1000, 2, 0.005) > 64
    assert_exact(points, ranked(rng, points), 2, 0.005)


def rows_of(d):
    row = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.0]), min_size=d, max_size=d)
    return st.lists(st.tuples(row, st.integers(0, 5)), min_size=5, max_size=60)


@given(st.integers(1, 3).flatmap(rows_of), st.integers(2, 5), st.sampled_from([0, 0.01, 0.05, 0.1, 0.2, 0.5, 1]))
@settings(max_examples=150)
def test_small_grids_full_of_ties(rows, k, t):
    assert_exact([row for row, _ in rows], [value for _, value in rows], k, t)


@given(st.lists(st.floats(-1e300, 1e300), min_size=6, max_size=40), st.integers(2, 3))
@settings(max_examples=60)
def test_any_finite_numbers(values, k):
    assert_exact(np.array(values)[:, None], values[::-1], k, 0.2)


@pytest.mark.parametrize("scale", [1e308, 1e-308, 5e-324, 1e200, 1e-170])
def test_squares_that_would_overflow_or_vanish(scale):
    rng = np.random.default_rng(1)
    points = rng.integers(-9, 10, size=(120, 3)) / 10 * scale
    assert_exact(points, independent(rng, points), 3, 0.2)


@given(st.integers(2, 400), st.integers(2, 40), st.sampled_from([0, 1e-9, 0.001, 0.01, 0.1, 0.13, 0.25, 1 / 3, 1]))
def test_sizes_and_subsets_are_those_of_the_oracle(n, k, t):
    k = min(k, n)
    size = class_size(n, k, t)
    assert size == oracle.cluster_size(n, k, t) >= k
    assert n % size < n // size
    values = np.random.default_rng(n).integers(0, max(n // 2, 1), n)
    parts = oracle.subsets(values.tolist(), size)
    found = subset_of_rows(values, size)
    assert [sorted(part) for part in parts] == [np.flatnonzero(found == i).tolist() for i in range(size)]


@pytest.mark.parametrize(
    ("kind", "ranked", "n", "d", "k", "t"),
    [
        (normal, independent, 20_000, 4, 5, 0.1),
        (normal, determined, 20_003, 2, 4, 0.1),
        (decimal_grid, few, 30_000, 3, 2, 0.25),
        (correlated, determined, 20_000, 8, 3, 0.05),
        (every_row_three_times, independent, 20_001, 3, 2, 0.01),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_index_equals_brute_force(kind, ranked, n, d, k, t):
    rng = np.random.default_rng(n + d)
    points = np.ascontiguousarray(kind(rng, n, d), dtype=np.float64)
    values = ranked(rng, points)
    brute, by_brute = t_first(points, values, k, t, path="brute")
    index, by_index = t_first(points, values, k, t, path="index")
    np.testing.assert_array_equal(index, brute)
    np.testing.assert_array_equal(t_first(points, values, k, t)[0], brute)
    steps = n // by_index.size // 2
    assert (by_brute.index_steps, by_index.brute_steps) == (0, 0)
    assert by_brute.brute_steps == by_index.index_steps == steps
    assert by_index.rebuilds > 3
    assert 0 < by_index.leaves_visited < by_brute.brute_steps * by_brute.distinct / 16


def test_the_cheaper_path_is_taken():
    rng = np.random.default_rng(3)
    assert t_first(rng.normal(size=(500, 4)), rng.random(500), 3, 0.2)[1].path == "brute"
    low = t_first(rng.normal(size=(20_000, 3)), rng.random(20_000), 3, 0.2)[1]
    assert low.index_steps > low.brute_steps


def test_changing_from_index_to_brute_force_on_the_way_changes_no_label():
    rng = np.random.default_rng(4)
    points, values = rng.normal(size=(12_000, 13)), rng.random(12_000)
    labels, trace = t_first(points, values, 3, 0.2)
    assert trace.path == "index, then brute"
    assert min(trace.index_steps, trace.brute_steps) > 0
    np.testing.assert_array_equal(labels, t_first(points, values, 3, 0.2, path="brute")[0])


def test_progress_is_reported_and_ends_at_the_total():
    heard = []

    class Listener:
        def stage(self, name): ...

        def say(self, text): ...

        def report(self, done, total):
            assert total == 20_000
            heard.append(done)

    rng = np.random.default_rng(5)
    with listening(Listener()):
        t_first(rng.normal(size=(20_000, 3)), rng.random(20_000), 3, 0.2)
    assert heard == sorted(heard)
    assert heard[-1] == 20_000
