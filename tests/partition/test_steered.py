"""Steered equals its transcription, and its classes are close to the table whatever the table is."""

from __future__ import annotations

import importlib.util
import math
import pickle
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.kernels.closeness.buckets import _match, bucket_numbers, in_unit_ranges, least_size
from shoal.kernels.refine.class_state import numbered
from shoal.partition.steered import Steered
from shoal.types import Confidential, Partition, Points


def _oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}_s", Path(__file__).parents[1] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle, emd = _oracle("steered"), _oracle("earth_mover")


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Points and confidential numbers with and without ties, k and t."""
    n, d = draw(st.integers(2, 45)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(0, 4, (n, d)) / 4.0 if draw(st.booleans()) else rng.normal(size=(n, d))
    values = draw(st.sampled_from(["distinct", "few", "equal", "correlated"]))
    C = {
        "distinct": rng.permutation(n),
        "few": rng.integers(0, draw(st.integers(2, 6)), n),
        "equal": np.zeros(n, int),
        "correlated": np.argsort(np.argsort(X[:, 0], kind="stable")),
    }[values]
    t = draw(st.sampled_from([0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.9, 1]))
    return X, C, min(draw(st.integers(2, 6)), n), t


def rank(C: np.ndarray) -> np.ndarray:
    return np.unique(C, return_inverse=True)[1]


def all_close(labels: np.ndarray, C: np.ndarray, t: float, measure: str = "ordered") -> bool:
    distances = (getattr(emd, measure)(C[labels == c].tolist(), C.tolist()) for c in range(labels.max() + 1))
    return all(distance <= Fraction(str(t)) for distance in distances)


@given(table=tables(), weight=st.sampled_from([0, 0.5, 1, 3, 10, 1000]))
def test_equals_the_transcription(table: tuple, weight: float) -> None:
    X, C, k, t = table
    number, partner, b = oracle.bucket_attribute(
        oracle.normalised(X.tolist()), rank(C).tolist(), oracle.bucket_count(len(X), k, t)
    )
    fast = bucket_numbers(in_unit_ranges(X), rank(C), least_size(len(X), k, t))
    assert (fast.number.tolist(), fast.buckets) == (number, b)
    assert fast.partner.tolist() == [-1 if p is None else p for p in partner]
    plain = oracle.steered(X.tolist(), rank(C).tolist(), k, t, weight)
    part = shoal.microaggregate(X, k, method="steered", confidential=C, t=t, weight=weight)
    if part.note or all_close(np.array(plain), C, t):  # else it was repaired
        assert part.labels.tolist() == plain
    assert _match.signatures  # the compiled way ran


@pytest.mark.parametrize("grid", [0, 3, 20])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_numbers_of_larger_buckets_equal_the_transcription(grid: int, d: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.integers(0, grid, (401, d)) / 10.0 if grid else rng.normal(size=(401, d))
    C = rng.integers(0, 60, 401)
    number, partner, _ = oracle.bucket_attribute(oracle.normalised(X.tolist()), C.tolist(), 3)
    fast = bucket_numbers(in_unit_ranges(X), C, 3)
    assert fast.number.tolist() == number
    assert fast.partner.tolist() == [-1 if p is None else p for p in partner]


@settings(max_examples=300)
@given(table=tables())
def test_every_class_is_close_and_has_k_records(table: tuple) -> None:
    X, C, k, t = table
    part = shoal.microaggregate(X, k, method="steered", confidential=C, t=t)
    assert part.sizes.min() >= k
    assert part.blocks[0].promised_t
    assert part.note == ""
    assert all_close(part.labels, C, t)


@given(table=tables())
def test_with_the_default_weight_numbers_are_classes(table: tuple) -> None:
    X, C, k, t = table
    b = least_size(len(X), k, t)
    q = len(X) // b
    weight = (q - 1) * math.sqrt(X.shape[1]) * 1.001
    labels = np.array(oracle.steered(X.tolist(), rank(C).tolist(), k, t, weight))
    assert len(set(labels.tolist())) == q
    assert numbered(bucket_numbers(in_unit_ranges(X), rank(C), b).number).tolist() == labels.tolist()


@given(table=tables())
def test_distinct_values_and_equal_buckets_need_no_mending(table: tuple) -> None:
    X, C, k, t = table
    b = least_size(len(X), k, t)
    n = len(X) // b * b
    X, C = X[:n], np.random.default_rng(n).permutation(n)
    if least_size(n, k, t) == b:  # [SC15] Proposition 2
        part = shoal.microaggregate(X, k, method="steered", confidential=C, t=t)
        assert part.sizes.tolist() == [b] * (n // b)


@given(seed=st.integers(0, 10**6), b=st.integers(2, 5), q=st.integers(1, 9))
def test_weight_0_is_the_method_on_points_scaled_by_their_ranges(seed: int, b: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    X, C = rng.normal(size=(b * q, 2)), rng.permutation(b * q)
    steered = shoal.microaggregate(X, b, method="steered", confidential=C, t=1, weight=0)
    plain = shoal.microaggregate(in_unit_ranges(X), b)
    assert numbered(steered.labels).tolist() == numbered(plain.labels).tolist()


@given(table=tables(), first=st.sampled_from(["v_mdav", "tour", "pcp"]))
def test_any_method_can_be_steered(table: tuple, first: str) -> None:
    X, C, k, t = table
    part = shoal.microaggregate(X, k, method="steered", confidential=C, t=t, first=first)
    assert part.sizes.min() >= k
    assert all_close(part.labels, C, t)


@given(table=tables(), other=st.sampled_from(["ordered", "equal"]), turned=st.booleans())
def test_several_confidential_attributes(table: tuple, other: str, turned: bool) -> None:
    X, C, k, t = table
    D = np.random.default_rng(len(X)).integers(0, 3, len(X))
    inside = [
        Confidential("c", rank(C), np.bincount(rank(C))),
        Confidential("d", rank(D), np.bincount(rank(D)), ordered=other == "ordered"),
    ]
    points = Points(X, confidential=tuple(reversed(inside) if turned else inside))
    labels = Steered(k=k, t=float(t)).partition(points, np.random.default_rng(0)).labels
    assert all_close(labels, rank(C), t)
    assert all_close(labels, rank(D), t, other)


def test_a_stratum_is_compared_with_the_table() -> None:
    C = np.arange(40)
    points = Points(
        np.random.default_rng(0).normal(size=(40, 2)), confidential=(Confidential("c", C, np.ones(40, int)),)
    )
    half = points.rows(np.arange(0, 40, 2))
    labels = Steered(k=2, t=0.2).partition(half, np.random.default_rng(0)).labels
    assert len(labels) == 20
    assert labels.max() > 0
    assert all(
        emd.ordered(C[::2][labels == c].tolist(), C.tolist()) <= Fraction("0.2") for c in range(labels.max() + 1)
    )


class TestALowerWeight:
    X, C = np.arange(100.0), np.arange(100)

    def part(self, weight: float) -> Partition:
        return shoal.microaggregate(self.X, 2, method="steered", confidential=self.C, t=0.1, weight=weight)

    def test_promises_nothing_and_says_what_it_achieved(self) -> None:
        part = self.part(3)
        largest = max(float(emd.ordered(self.C[part.labels == c].tolist(), self.C.tolist())) for c in range(len(part)))
        assert not part.blocks[0].promised_t
        assert part.note == f"steered with weight 3 of 19: the largest EMD is {largest:.3g}, t = 0.1 is not promised"

    def test_a_higher_one_than_the_bound_promises(self) -> None:
        assert self.part(19.5).blocks[0].promised_t
        assert not self.part(19).blocks[0].promised_t
        assert self.part(19).note.endswith("t = 0.1 holds, but is not promised")

    def test_a_promise_is_lost_when_one_part_makes_none(self) -> None:
        rows = [np.arange(100), np.arange(100, 200)]
        joined = Partition.joined([self.part(3), self.part(30)], rows)
        assert not joined.blocks[0].promised_t
        assert Partition.joined([self.part(30), self.part(30)], rows).blocks[0].promised_t


class TestRefuses:
    def test_no_confidential_attribute(self) -> None:
        with pytest.raises(shoal.DataError, match="Steered: at least one confidential attribute must be given"):
            shoal.microaggregate(np.zeros((9, 1)), 3, method="steered", t=0.1)

    @pytest.mark.parametrize("t", [-0.1, 1.5, "0.1", None])
    def test_t_that_is_none(self, t: object) -> None:
        with pytest.raises(shoal.ParameterError, match="t must be a number ≥ 0 and ≤ 1"):
            shoal.microaggregate(np.zeros((9, 1)), 3, method="steered", t=t, confidential=np.arange(9))

    @pytest.mark.parametrize("first", ["mic1d", "steered"])
    def test_a_method_that_cannot_be_steered(self, first: str) -> None:
        with pytest.raises(shoal.ParameterError, match=f"Steered: first must be .*, got '{first}'. Use mdav"):
            Steered(k=3, t=0.1, first=first)

    def test_a_method_of_several_blocks(self) -> None:
        with pytest.raises(shoal.ParameterError, match="one block of attributes, got 'individual_ranking'"):
            shoal.microaggregate(
                np.eye(9), 3, method="steered", t=0.1, confidential=np.arange(9), first="individual_ranking"
            )

    def test_a_method_that_is_not_known(self) -> None:
        with pytest.raises(shoal.ParameterError, match=r"no method \(first\) is called 'mdva'.*mean 'mdav'"):
            Steered(k=3, t=0.1, first="mdva")


@pytest.mark.parametrize("n", [3, 4, 5, 6, 8, 9, 10, 50])
@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300, 1.7e307])
def test_extreme_coordinates(n: int, scale: float) -> None:
    X, C = np.random.default_rng(n).normal(size=(n, 2)) * [scale, 1.0], np.random.default_rng(1).normal(size=n)
    part = shoal.microaggregate(X, 3, method="steered", confidential=C, t=0.3)
    assert part.sizes.min() >= 3
    assert all_close(part.labels, rank(C), 0.3)


def test_pickles_and_gives_the_same_again() -> None:
    made = Steered(k=3, t=0.1, weight=2.0)
    assert pickle.loads(pickle.dumps(made)) == made


def test_through_a_recipe() -> None:
    survey = shoal.survey(600)
    recipe = {"quasi": ["birth", "income"], "confidential": ["commute_minutes"], "k": 3, "t": 0.15, "method": "steered"}
    done = shoal.protect(survey, recipe)
    C = rank(survey["commute_minutes"].to_numpy())
    assert done.partition.blocks[0].attributes == ("birth", "income")
    assert all_close(done.partition.labels, C, 0.15)
    lower = shoal.protect(survey, {**recipe, "set": {"weight": 1.0}})
    assert "t = 0.15 is not promised" in lower.partition.note
    assert not lower.partition.blocks[0].promised_t
    assert lower.readings["il_sse"] < done.readings["il_sse"]
    assert isinstance(done.data, pa.Table)
