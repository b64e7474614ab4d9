"""t-closeness first keeps its promise by definition, whatever the confidential values are like."""

from __future__ import annotations

import importlib.util
import pickle
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.partition.t_first import TFirst
from shoal.types import Confidential, Points


def oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}", Path(__file__).parents[1] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


emd, plain = oracle("earth_mover"), oracle("t_first")


def distance(inside: list[int], table: list[int], attribute: Confidential) -> Fraction:
    if attribute.parents is not None:
        return emd.hierarchical(inside, table, attribute.parents.tolist())
    return (emd.ordered if attribute.ordered else emd.equal)(inside, table)


def farthest(labels: np.ndarray, attributes: tuple[Confidential, ...]) -> Fraction:
    """The EMD of the class that is farthest from the table in any attribute."""
    return max(
        distance(a.codes[labels == label].tolist(), np.repeat(np.arange(len(a.counts)), a.counts).tolist(), a)
        for a in attributes
        for label in range(labels.max() + 1)
    )


def numeric(values: np.ndarray, name: str = "pay") -> Confidential:
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return Confidential(name, codes, np.bincount(codes))


def nominal(values: np.ndarray) -> Confidential:
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return Confidential("job", codes, np.bincount(codes), ordered=False)


def taxonomy(values: np.ndarray) -> Confidential:
    """Values 0 … 3 in two groups of two."""
    return Confidential("ill", values, np.bincount(values, minlength=4), False, np.array([4, 4, 5, 5, -1, -1]))


def partition(X: np.ndarray, attributes: tuple[Confidential, ...], k: int, t: float) -> np.ndarray:
    points = Points(np.ascontiguousarray(X, dtype=float), confidential=attributes)
    labels = TFirst(k=k, t=t).partition(points, np.random.default_rng(0)).labels
    sizes = np.bincount(labels)
    assert labels.dtype == np.int64
    assert sizes.min() >= k
    return labels


@pytest.mark.parametrize("t", [0, 0.004, 0.05, 0.1, 0.25, 0.3, 0.5, 1])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_class_is_within_t_by_definition(k: int, t: float) -> None:
    rng = np.random.default_rng(k)
    for n in (k, k + 1, 2 * k - 1, 2 * k, 3 * k + 1, 31, 64):
        X = rng.normal(size=(n, 2))
        for values in (rng.permutation(n), rng.integers(0, 3, n), np.zeros(n, int), X[:, 0], rng.integers(0, n, n)):
            attributes = (numeric(values),)
            labels = partition(X, attributes, k, t)
            assert farthest(labels, attributes) <= Fraction(str(t))


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=45
    ),
    k=st.integers(2, 4),
    t=st.sampled_from([0, 0.01, 0.05, 0.1, 0.2, 0.25, 0.4, 1]),
    which=st.sampled_from(["n", "t", "nn", "nt", "no", "to", "nto"]),
)
def test_several_attributes_of_all_kinds(rows: list[tuple[int, ...]], k: int, t: float, which: str) -> None:
    place, pay, ill, job = (np.array(column) for column in zip(*rows, strict=True))
    made = {"n": numeric(pay), "t": taxonomy(ill), "o": nominal(job)}
    attributes = tuple(made[letter] for letter in which)
    labels = partition(place[:, None], attributes, min(k, len(rows)), t)
    assert farthest(labels, attributes) <= Fraction(str(t))


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), k=st.integers(2, 6), t=st.sampled_from([0, 0.05, 0.2, 0.5, 1]))
def test_what_needs_no_repair_is_the_transcription(seed: int, n: int, k: int, t: float) -> None:
    rng = np.random.default_rng(seed)
    X, values, k = rng.normal(size=(n, 2)), rng.permutation(n), min(k, n)
    expected = plain.t_first(X.tolist(), values.tolist(), k, t)
    attributes = (numeric(values),)
    labels = partition(X, attributes, k, t)
    together = {tuple(np.flatnonzero(labels == label)) for label in range(labels.max() + 1)}
    formed = {tuple(np.flatnonzero(expected == label)) for label in range(expected.max() + 1)}
    if n % plain.cluster_size(n, k, t) == 0:  # then [SC15] Proposition 2 holds
        assert farthest(expected, attributes) <= Fraction(str(t))
    if farthest(expected, attributes) <= Fraction(str(t)):
        assert together == formed
    else:
        assert all(any(set(inner) <= set(outer) for outer in together) for inner in formed)


def test_ties_that_break_the_printed_algorithm_are_repaired() -> None:
    values = np.array([0] * 9 + [1] + [2] * 10)
    X = np.random.default_rng(3).normal(size=(20, 1))
    attributes = (numeric(values),)
    for t in (0.2, 0.25, 0.3):
        assert farthest(plain.t_first(X.tolist(), values.tolist(), 2, t), attributes) <= Fraction(1, 2)
        assert farthest(partition(X, attributes, 2, t), attributes) <= Fraction(str(t))


def test_a_stratum_is_close_to_the_table_if_it_can_be() -> None:
    rng = np.random.default_rng(5)
    X, whole = rng.normal(size=(200, 2)), numeric(rng.integers(0, 30, 200))
    inside = (whole.rows(np.arange(0, 200, 2)),)
    labels = partition(X[::2], inside, 4, 0.2)
    assert farthest(labels, inside) <= Fraction(1, 5)
    assert labels.max() > 5


def test_a_stratum_unlike_the_table_becomes_one_class() -> None:
    whole = numeric(np.arange(40))
    labels = partition(np.arange(10.0)[:, None], (whole.rows(np.arange(10)),), 2, 0.05)
    assert set(labels.tolist()) == {0}


def test_several_attributes_do_not_collapse_into_one_class() -> None:
    """Subsets of one attribute alone, or of what both share, end in a single class here; cuts within cuts do not."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 2))
    attributes = (numeric(X[:, 0] + 0.1 * rng.normal(size=600)), numeric(X[:, 1] + 0.1 * rng.normal(size=600), "debt"))
    labels = partition(X, attributes, 3, 0.05)
    assert farthest(labels, attributes) <= Fraction(1, 20)
    assert labels.max() > 0


def test_through_the_facade_and_a_recipe() -> None:
    rng = np.random.default_rng(0)
    X, pay = rng.normal(size=(300, 2)), rng.integers(0, 50, 300)
    part = shoal.microaggregate(X, 3, method="t_first", confidential=pay, t=0.1)
    assert farthest(part.labels, (numeric(pay),)) <= Fraction(1, 10)
    frame = pa.table({"a": X[:, 0], "b": X[:, 1], "pay": pay})
    recipe = {"quasi": ["a", "b"], "confidential": ["pay"], "k": 3, "t": 0.1, "method": "t_first"}
    done = shoal.protect(frame, recipe)
    assert farthest(done.partition.labels, (numeric(pay),)) <= Fraction(1, 10)


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(TFirst(k=3, t=0.2))) == TFirst(k=3, t=0.2)


@pytest.mark.parametrize("t", [-0.1, 1.5, "x"])
def test_t_out_of_range_is_refused(t: object) -> None:
    with pytest.raises(shoal.ParameterError, match=r"TFirst: t must be a number ≥ 0 and ≤ 1"):
        shoal.microaggregate(np.zeros((5, 1)), 2, method="t_first", confidential=np.arange(5), t=t)


def test_no_confidential_attribute_is_refused() -> None:
    with pytest.raises(shoal.DataError, match=r"TFirst: at least one confidential attribute .* --confidential"):
        shoal.microaggregate(np.zeros((5, 1)), 2, method="t_first", t=0.2)


def test_beside_one_that_has_ranks_a_nominal_attribute_is_kept_within_t_too() -> None:
    rng = np.random.default_rng(9)
    attributes = (nominal(rng.integers(0, 4, 120)), numeric(rng.integers(0, 9, 120)))
    labels = partition(rng.normal(size=(120, 2)), attributes, 3, 0.25)
    assert farthest(labels, attributes) <= Fraction(1, 4)
