"""The audit of dominance against its definition in exact fractions, and what must not change the figure."""

from __future__ import annotations

import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy.dominance import Dominance
from shoal.types import Release, Schema

ORACLE = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "dominance.py"))["dominance"]
WEIGHTS = st.one_of(
    st.just(0.0),
    st.integers(0, 9).map(float),
    st.floats(0, 1e6, allow_subnormal=False),
    st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 1e-12, 1e12]),
)
ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", "d", None]), WEIGHTS), min_size=1)


def release(classes: Any, persons: Any = None, weights: Any = None) -> Release:
    return Release(
        pa.table({"q": pa.array(classes, pa.int64())}),
        Schema(()),
        subjects=None if persons is None else pa.chunked_array([pa.array(persons)]),
        weights=None if weights is None else np.array(weights, np.float64),
    )


@given(ROWS, st.booleans(), st.booleans())
def test_the_share_is_that_of_the_definition(rows: list[Any], with_persons: bool, with_weights: bool) -> None:
    classes, persons, weights = (list(column) for column in zip(*rows, strict=True))
    chosen = (persons if with_persons else None, weights if with_weights else None)
    found = Dominance().audit(release(classes, *chosen), ["q"])
    assert found.achieved == pytest.approx(float(ORACLE(classes, *chosen)), rel=1e-14)
    assert found.classes == len(set(classes))
    assert found.required is None
    assert found.holds


@given(ROWS, st.randoms(use_true_random=False))
def test_members_of_a_class_that_change_places_do_not_change_a_digit(rows: list[Any], rng: Any) -> None:
    before = Dominance().audit(release(*zip(*rows, strict=True)), ["q"]).achieved
    shuffled = rows.copy()
    rng.shuffle(shuffled)
    assert Dominance().audit(release(*zip(*shuffled, strict=True)), ["q"]).achieved == before


@given(ROWS, st.sampled_from([0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 0.9, 1.0]))
def test_a_bound_holds_if_and_only_if_no_share_is_above_it(rows: list[Any], bound: float) -> None:
    columns = list(zip(*rows, strict=True))
    found, exact = Dominance(bound).audit(release(*columns), ["q"]), ORACLE(*columns)
    if exact <= Fraction(bound):
        assert found.holds
    if exact > Fraction(bound) * (1 + Fraction(1, 10**11)):
        assert not found.holds
    assert found.holds is (found.achieved <= bound)


@pytest.mark.parametrize(
    ("persons", "weights", "share"),
    [
        (["a", "a", "b", "c"], None, 0.5),
        (["a", "a", "b", "c"], [1, 1, 5, 1], 0.625),
        (["a", " a ", "b", "c"], None, 0.5),
        ([None, "", "b", "c"], None, 0.5),
        (["a", "b", "c", "d"], [0, 0, 0, 0], 0.25),
        (["a", "a", "c", "d"], [0, 0, 0, 0], 0.5),
        (None, [1, 1, 1, float("nan")], 1 / 3),
        (None, [1e308, 1e308, 1e308, 1e308], 0.25),
        (None, [5e-324, 5e-324, 5e-324, 5e-324], 0.25),
        (None, [0, 0, 0, 7], 1.0),
        (None, None, 0.25),
    ],
)
def test_persons_and_weights(persons: Any, weights: Any, share: float) -> None:
    assert Dominance().audit(release([1, 1, 1, 1], persons, weights), ["q"]).achieved == pytest.approx(share, rel=1e-15)


@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [1e-5, 2e-5, 3e-5], [0.7, 0.1, 0.8]])
def test_what_is_exactly_at_the_bound_as_written_holds(weights: list[float]) -> None:
    found = Dominance(0.5).audit(release([1] * 3, None, weights), ["q"])
    assert (found.holds, found.achieved) == (True, 0.5)


def test_a_share_above_the_bound_by_a_billionth_does_not_hold() -> None:
    found = Dominance(0.5).audit(release([1, 1], None, [1 + 1e-9, 1]), ["q"])
    assert not found.holds
    assert found.achieved > 0.5


@pytest.mark.parametrize("odd", [-1.0, float("inf")])
def test_impossible_weights_are_refused(odd: float) -> None:
    with pytest.raises(shoal.DataError, match=r"dominance: weights must be numbers ≥ 0"):
        Dominance().audit(release([1, 1], None, [odd, 1]), ["q"])


def test_an_empty_table_has_no_share() -> None:
    assert Dominance(0.5).audit(release([], [], []), ["q"]).holds


def test_any_table_is_audited_with_its_own_subjects_and_weights() -> None:
    frame = pa.table({"age": [40] * 5, "id": list("aabcd"), "w": [1.0, 2.0, 1.0, 1.0, 1.0]})
    assert shoal.audit(frame, ["age"]).to_dict()["dominance"] == 0.2
    assert shoal.audit(frame, ["age"], subject="id").to_dict()["dominance"] == 0.4
    assert shoal.audit(frame, ["age"], weight="w").to_dict()["dominance"] == pytest.approx(1 / 3)
    found = shoal.audit(frame, ["age"], subject="id", weight="w", require={"dominance": 0.4})
    assert found.to_dict()["dominance"] == 0.5
    assert not found.holds
    assert found.to_dict()["requirements"][0]["level"] == "share"
