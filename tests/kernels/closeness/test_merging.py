"""Merging through a heap and a tree equals the plain transcription, class for class; every class ends up close."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.closeness import merge as merging
from shoal.kernels.closeness.earth_mover import closeness
from shoal.kernels.closeness.merge import merge_steps, merge_until_close
from shoal.types import Confidential

ORACLES = Path(__file__).parents[2] / "oracles"
_spec = importlib.util.spec_from_file_location("oracle_t_close_merge", ORACLES / "t_close_merge.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

TREE = [8, 8, 8, 9, 9, 10, 10, 10, 11, 11, -1, -1]


def attribute(kind: str, n: int, values: int, rng: np.random.Generator) -> Confidential:
    """A confidential attribute of random values: ordered, nominal, or the leaves of a tree."""
    if kind == "tree":
        codes = rng.integers(0, 8, n)
        return Confidential("c", codes, np.bincount(codes, minlength=8), False, np.array(TREE))
    codes = np.unique(rng.integers(0, values, n), return_inverse=True)[1]
    return Confidential("c", codes, np.bincount(codes), kind == "ordered")


def checked(X: np.ndarray, labels: np.ndarray, attributes: list[Confidential], t: float) -> np.ndarray:
    """The labels found, which equal those of the oracle and are close by the definition."""
    found = merge_until_close(X, labels, closeness(attributes, t))
    assert found.tolist() == oracle.t_close_merge(X.tolist(), labels.tolist(), attributes, t)
    with_bins = merge_until_close(X, labels, closeness(attributes, t), large=2)
    assert np.array_equal(with_bins, found)  # bounds from bins decide the same
    for number in range(int(found.max()) + 1):
        far = max(oracle.distances(np.flatnonzero(found == number).tolist(), attributes))
        assert far <= Fraction(str(t)) or found.max() == 0
    return found


KINDS = st.lists(st.sampled_from(["ordered", "nominal", "tree"]), min_size=1, max_size=3)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(1, 4),
    kinds=KINDS,
    values=st.sampled_from([1, 2, 5, 1000]),
    t=st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 1.0]),
    grid=st.sampled_from([0, 1, 4]),
)
def test_equals_the_transcription(
    seed: int, n: int, d: int, kinds: list[str], values: int, t: float, grid: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    labels = np.unique(rng.integers(0, int(rng.integers(1, n)), n), return_inverse=True)[1]
    checked(X, labels, [attribute(kind, n, values, rng) for kind in kinds], t)


@pytest.mark.parametrize(("n", "t"), [(300, 0.15), (300, 0.0), (400, 0.25)])
def test_equals_the_transcription_where_the_tree_is_laid_out_anew(n: int, t: float) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    order = np.argsort(X[:, 0])
    labels = np.empty(n, np.int64)
    labels[order] = np.arange(n) // 3
    codes = np.argsort(np.argsort(X[:, 0] + rng.normal(size=n)))
    checked(X, labels, [Confidential("c", codes, np.ones(n, np.int64))], t)
    assert merge_steps.signatures  # the compiled way ran


@pytest.mark.parametrize("places", [1, 3])
def test_of_many_classes_equally_near_the_lowest_row_counts(places: int) -> None:
    rng = np.random.default_rng(places)
    labels = np.repeat(np.arange(80), 3)[rng.permutation(240)]
    X = (labels % places)[:, None] * np.ones(2)  # the means of all classes lie in few places
    checked(X, labels, [attribute("ordered", 240, 10**6, rng)], 0.12)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_at_the_ends_of_the_number_range(scale: float) -> None:
    rng = np.random.default_rng(3)
    checked(rng.normal(size=(50, 3)) * scale, np.arange(50) // 2, [attribute("ordered", 50, 99, rng)], 0.2)


def test_bounds_alone_decide_nothing_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    # one class that swallows all others: it is measured only now and then
    n = 200
    X = np.arange(n, dtype=float)[:, None] ** 2
    codes = np.r_[np.zeros(n // 2, np.int64), np.arange(1, n // 2 + 1)]
    for t in (0.0, 0.1, 0.2, 0.3):
        checked(X, np.arange(n) // 3, [Confidential("c", codes, np.bincount(codes))], t)
    monkeypatch.setattr(merging, "_FEW", 4)
    checked(X, np.arange(n) // 3, [Confidential("c", codes, np.bincount(codes))], 0.1)


def test_a_stratum_is_held_against_the_whole_table() -> None:
    rng = np.random.default_rng(8)
    whole = attribute("ordered", 120, 40, rng)
    rows = np.sort(rng.choice(120, 50, replace=False))
    checked(rng.normal(size=(50, 2)), np.arange(50) // 4, [whole.rows(rows)], 0.15)


def test_classes_too_large_for_exact_work_are_on_the_safe_side() -> None:
    rng = np.random.default_rng(9)
    inside = attribute("ordered", 80, 60, rng)
    c = closeness([inside], 0.12)
    labels = merge_until_close(rng.normal(size=(80, 2)), np.arange(80) // 3, c._replace(exact=np.zeros(1, np.int64)))
    for number in range(int(labels.max()) + 1):
        assert oracle.distances(np.flatnonzero(labels == number).tolist(), [inside])[0] <= Fraction("0.12")


def test_input_is_left_as_it_is() -> None:
    rng = np.random.default_rng(10)
    X, labels, inside = rng.normal(size=(40, 2)), np.arange(40) % 9, attribute("ordered", 40, 30, rng)
    c = closeness([inside], 0.1)
    before = X.copy(), labels.copy(), c.codes.copy()
    merge_until_close(X, labels, c)
    assert all(np.array_equal(a, b) for a, b in zip((X, labels, c.codes), before, strict=True))
