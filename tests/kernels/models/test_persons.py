"""The rule on shares of persons: a class has no excess if and only if no person holds more than the bound."""

from __future__ import annotations

import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.models.demands import demands_of, hold
from shoal.kernels.models.rule_tables import subjects_by_place
from shoal.kernels.repair.repair import satisfy
from shoal.types import Points, Requirement

SHARE = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "dominance.py"))["share"]


def points(x: np.ndarray, bound: float, subjects: Any, weights: Any) -> Points:
    required = (Requirement("dominance", "", (("share", bound),)),)
    return Points(x, required=required, subjects=subjects, weights=weights)


def shares(labels: np.ndarray, subjects: Any, weights: Any) -> list[Fraction]:
    n = len(labels)
    persons = range(n) if subjects is None else subjects.tolist()
    weighed = [1] * n if weights is None else weights.tolist()
    return [SHARE(np.flatnonzero(labels == b).tolist(), persons, weighed) for b in range(labels.max() + 1)]


CASES = st.tuples(
    st.integers(0, 2**32),
    st.sampled_from([0.2, 0.3, 1 / 3, 0.5, 0.75]),
    st.sampled_from(["subjects", "weights", "both"]),
    st.sampled_from(["integers", "digits", "sparse"]),
)


def drawn(case: Any, n: int) -> tuple[Points, Any, Any]:
    seed, bound, what, kind = case
    rng = np.random.default_rng(seed)
    subjects = rng.geometric(0.15, n) if what != "weights" else None
    made = {
        "integers": rng.integers(0, 4, n).astype(float),
        "digits": np.exp(rng.normal(size=n) * 3),
        "sparse": np.where(rng.random(n) < 0.7, 0.0, rng.random(n)),
    }
    weights = made[kind] if what != "subjects" else None
    x = np.round(rng.normal(size=(n, 2)), 1)
    return points(x, bound, subjects, weights), subjects, weights


@given(CASES)
@settings(max_examples=60)
def test_no_excess_if_and_only_if_no_share_is_above_the_bound(case: Any) -> None:
    made, subjects, weights = drawn(case, 40)
    labels = np.arange(40) % 8
    bound = Fraction(str(case[1])) * (1 + Fraction(1, 10**13))  # a hair is allowed: exact ties must hold
    found = hold(demands_of(made, 1, None), labels)
    assert found.tolist() == [share <= bound for share in shares(labels, subjects, weights)]


@given(CASES)
@settings(max_examples=25)
def test_repair_bounds_every_share_if_the_table_can_and_keeps_k_persons(case: Any) -> None:
    made, subjects, weights = drawn(case, 60)
    demands = demands_of(made, 3, None)
    labels = satisfy(made.coordinates, np.arange(60) % 12, 3, demands)
    if not hold(demands, np.zeros(60, np.int64)).all():
        return  # refused before
    assert max(shares(labels, subjects, weights)) <= Fraction(str(case[1])) * (1 + Fraction(1, 10**12))
    for label in range(labels.max() + 1):
        inside = np.flatnonzero(labels == label)
        assert len(inside if subjects is None else set(subjects[inside].tolist())) >= 3


def test_zero_weights_of_a_whole_class_count_the_same() -> None:
    x, weights = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 0.0])
    demands = demands_of(points(x, 0.3, None, weights), 2, None)
    assert hold(demands, np.repeat([0, 1], 4)).tolist() == [True, False]


def test_subjects_are_numbered_by_place_whatever_the_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    x, whose, order = rng.normal(size=(30, 2)), rng.integers(0, 9, 30), rng.permutation(30)
    first = subjects_by_place(Points(x, subjects=whose))
    again = subjects_by_place(Points(x[order], subjects=8 - whose[order]))
    assert np.array_equal(first[order], again)


@pytest.mark.parametrize("bound", [1, 1.0])
def test_a_bound_of_one_asks_for_nothing(bound: float) -> None:
    demands = demands_of(points(np.zeros((4, 1)), bound, None, np.ones(4)), 2, None)
    assert hold(demands, np.array([0, 0, 0, 1])).all()
