"""k-anonymity-first equals the plain transcription, record for record; every class is close by the definition."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.kernels.closeness.earth_mover import closeness
from shoal.kernels.closeness.k_first import k_first, k_first_steps
from shoal.partition.k_first import KFirst
from shoal.types import Confidential, Points

ORACLES = Path(__file__).parents[1] / "oracles"
_spec = importlib.util.spec_from_file_location("oracle_k_first", ORACLES / "k_first.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

TREE = [8, 8, 8, 9, 9, 10, 10, 10, 11, 11, -1, -1]
KINDS = st.lists(st.sampled_from(["ordered", "nominal", "tree"]), min_size=1, max_size=3)
LEVELS = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0]


def attribute(kind: str, n: int, values: int, rng: np.random.Generator) -> Confidential:
    if kind == "tree":
        codes = rng.integers(0, 8, n)
        return Confidential("c", codes, np.bincount(codes, minlength=8), False, np.array(TREE))
    codes = np.unique(rng.integers(0, values, n), return_inverse=True)[1]
    return Confidential("c", codes, np.bincount(codes), kind == "ordered")


def checked(X: np.ndarray, attributes: list[Confidential], k: int, t: float) -> None:
    """The labels found equal those of the oracle, and every class is close by the definition."""
    before = k_first(X, k, closeness(attributes, t))
    assert before.tolist() == oracle.algorithm_2(X.tolist(), attributes, k, t)
    assert np.array_equal(k_first(X, k, closeness(attributes, t), look=0), before)  # sought by value
    points = Points(X, confidential=tuple(attributes))
    part = KFirst(k, t).partition(points, np.random.default_rng(0))
    assert part.labels.tolist() == oracle.k_first(X.tolist(), attributes, k, t)
    assert part.sizes.min() >= k
    for number in range(len(part)):
        inside = np.flatnonzero(part.labels == number).tolist()
        assert max(oracle.merging.distances(inside, attributes)) <= Fraction(str(t))
    assert k_first_steps.signatures  # the compiled way ran


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 24),
    d=st.integers(1, 3),
    k=st.integers(2, 6),
    kinds=KINDS,
    values=st.sampled_from([1, 2, 5, 1000]),
    t=st.sampled_from(LEVELS),
    grid=st.sampled_from([0, 1, 4]),
)
def test_equals_the_transcription(
    seed: int, n: int, d: int, k: int, kinds: list[str], values: int, t: float, grid: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))
    checked(X, [attribute(kind, n, values, rng) for kind in kinds], min(k, n), t)


@pytest.mark.parametrize("kinds", [["ordered"], ["tree"], ["ordered", "nominal"]])
@pytest.mark.parametrize(("n", "k", "t"), [(37, 2, 0.05), (37, 2, 0.14), (40, 5, 0.06), (38, 12, 0.03)])
def test_equals_the_transcription_on_larger_tables(n: int, k: int, t: float, kinds: list[str]) -> None:
    rng = np.random.default_rng(n)
    checked(rng.normal(size=(n, 2)), [attribute(kind, n, 10 * n, rng) for kind in kinds], k, t)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_equals_the_transcription_at_the_ends_of_the_number_range(scale: float) -> None:
    rng = np.random.default_rng(3)
    checked(rng.normal(size=(30, 3)) * scale, [attribute("ordered", 30, 99, rng)], 3, 0.1)


@pytest.mark.parametrize(("k", "t"), [(2, 0.05), (2, 0.13), (5, 0.05), (9, 0.02)])
@pytest.mark.parametrize("values", [40, 10**6])
def test_searching_by_value_changes_nothing(k: int, t: float, values: int) -> None:
    rng = np.random.default_rng(k)
    X, c = rng.normal(size=(1500, 2)), closeness([attribute("ordered", 1500, values, rng)], t)
    in_order = k_first(X, k, c, look=10**9)
    assert np.array_equal(k_first(X, k, c), in_order)
    assert np.array_equal(k_first(X, k, c, look=1), in_order)


def test_a_stratum_is_held_against_the_whole_table() -> None:
    rng = np.random.default_rng(8)
    whole = attribute("ordered", 90, 40, rng)
    rows = np.sort(rng.choice(90, 40, replace=False))
    X = rng.normal(size=(40, 2))
    inside = [whole.rows(rows)]
    assert k_first(X, 3, closeness(inside, 0.1)).tolist() == oracle.algorithm_2(X.tolist(), inside, 3, 0.1)


def test_a_second_call_goes_on_where_the_first_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    X, secret = rng.normal(size=(200, 3)), rng.normal(size=200)
    at_once = shoal.microaggregate(X, 4, method="k_first", confidential=secret, t=0.1).labels
    monkeypatch.setattr("shoal.kernels.closeness.k_first._RECORDS_PER_CALL", 1)
    assert np.array_equal(shoal.microaggregate(X, 4, method="k_first", confidential=secret, t=0.1).labels, at_once)


def test_classes_too_large_for_exact_work_are_left_to_merging() -> None:
    rng = np.random.default_rng(7)
    X, inside = rng.normal(size=(40, 2)), attribute("ordered", 40, 99, rng)
    c = closeness([inside], 0.01)
    plain = k_first(X, 3, c._replace(exact=np.zeros(1, np.int64)))
    assert plain.tolist() == oracle.algorithm_2(X.tolist(), [inside], 3, 1.0)


def test_loses_less_than_merging_alone_where_merging_must_do_much() -> None:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(600, 2))
    secret = X[:, 0] + rng.normal(size=600)
    alone, first = (
        shoal.microaggregate(X, 3, method=method, confidential=secret, t=0.15)
        for method in ("t_close_merge", "k_first")
    )
    assert len(first) > 2 * len(alone)
