"""Values, levels and domains at the edge: what classes form by is never finer than what the witness sees."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError
from shoal.privacy.stream_gate.witness import _told
from shoal.stream import StreamAnonymizer, StreamRecipe
from shoal.stream.engine.demands import identities

SAID: dict[str, Any] = {"quasi": ["a"], "bounds": {"a": (0, 100)}, "k": 2, "delay": 2}
ASKED: dict[str, Any] = {**SAID, "confidential": ["c"]}
HUGE = 10**400
EQUAL = [
    ("nan", None), ("NaN", ""), (True, "True"), ("1_0", 10), (Decimal("1.1"), Decimal("1.10")), (np.int64(5), 5),
    (np.int64(5), "5.0"), (dt.date(2020, 1, 1), "2020-01-01"), ("inf", "Infinity"), (HUGE, str(HUGE)), (b"x", "b'x'"),
    (pd.NA, None), (Decimal("sNaN"), float("nan")), ("٣", 3), ({"x": 1, "y": 2}, {"y": 2, "x": 1}), (-0.0, "0"),
]  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.dates(), st.binary(max_size=3), st.text(),
    st.sampled_from([one for pair in EQUAL for one in pair]),
    st.from_regex(r"[+-]?[0-9_]{1,3}(\.[0-9]{0,2})?(e[+-]?[0-9]{1,3})?", fullmatch=True),
)  # fmt: skip
CELLS = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.text(max_size=1), SCALARS, max_size=2))


def left(rows: list[dict[str, Any]], **said: Any) -> tuple[list[dict[str, Any]], int]:
    s = StreamAnonymizer(**{**SAID, **said})
    return [one for row in rows for one in s.push(row)] + s.flush(), s.dropped


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=lambda value: str(value)[:12])
def test_what_reads_as_one_value_is_one(one: Any, other: Any) -> None:
    rows = [{"a": 1, "c": one}, {"a": 2, "c": other}]
    assert left(rows, confidential=["c"], require={"p": 2}) == ([], 2)


@given(CELLS, CELLS)
def test_classes_form_by_nothing_that_the_witness_does_not_see(one: Any, other: Any) -> None:
    if _told(one) == _told(other):
        assert len(set(identities([one, other]).tolist())) == 1


@pytest.mark.parametrize(
    "require", [{"l_recursive": (1e300, 2)}, {"l_recursive": (9e18, 2)}, {"l_recursive": (1e15, 2)}]
)
def test_a_level_that_all_classes_hold(require: dict[str, Any]) -> None:
    rows = [{"a": at, "c": at % 2} for at in range(4)]
    assert left(rows, confidential=["c"], require=require)[1] == 0


@pytest.mark.parametrize(
    "require", [{"p": 10**30}, {"l_distinct": 10**30}, {"l_entropy": 1e300}, {"l_recursive": (1.0, 10**30)}]
)
def test_a_level_that_no_class_holds(require: dict[str, Any]) -> None:
    rows = [{"a": at, "c": at} for at in range(4)]
    with pytest.raises(ParameterError, match=r"must be at most delay \+ 1 = 3, because no class holds more"):
        left(rows, confidential=["c"], require=require)


@pytest.mark.parametrize(
    "said",
    [
        {"bounds": {"a": (0, HUGE)}},
        {"attribute_weights": {"a": HUGE}},
        {"order_weight": HUGE},
        {"delay_seconds": HUGE},
        {"t": HUGE},
        {"t": 0.3, "reference": {"c": {"cuts": [HUGE]}}},
        {"t": 0.3, "reference": {"c": {"cuts": [2**53, 2**53 + 1]}}},
        {"t": 0.3, "reference": {"c": {"x": HUGE}}},
    ],
    ids=lambda said: next(reversed(said)),
)
def test_a_number_beyond_all_floats_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="StreamRecipe: ") as error:
        StreamRecipe(**{**ASKED, **said})
    assert len(str(error.value)) < 700


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            {"taxonomies": {"c": {"g": ["x", "y"]}}, "reference": {"c": {"x": 1, "z": 1}}},
            "names an unknown category",
        ),
        (
            {"orders": {"c": ["x", "y"]}, "categories": {"c": ["y", "x"]}},
            "is given in orders and in categories. Give it once",
        ),
        ({"categories": {"c": ["y", "y"]}}, "must be different, got one twice"),
        ({"categories": {"c": ["y", " "]}}, "must have names, got a blank"),
    ],
)
def test_the_domain_of_a_field_that_is_compared(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        StreamRecipe(**ASKED, t=0.3, **said)


def test_witness_and_classes_have_the_same_cuts() -> None:
    rows = [{"a": 1, "c": 2**53}, {"a": 2, "c": 2**53 + 2}, {"a": 3, "c": 2**53 - 1}, {"a": 4, "c": 2**53}]
    said = {"reference": {"c": {"cuts": [2**53 + 1], "shares": [1, 1]}}, "t": 0.1}
    assert len(left(rows, confidential=["c"], **said)[0]) == 2


def test_a_blank_is_no_category_whatever_comes_with_it() -> None:
    with pytest.raises(ParameterError, match="the categories of 'w' must have names, got a blank"):
        StreamRecipe(quasi=["w"], categories={"w": ["", "x"]}, k=2, delay=2)


@pytest.mark.parametrize("method", ["nearest", "look_ahead"])
@pytest.mark.parametrize("weight", [0.0, 1e-320, 1e-30, 1.0, 1e6])
def test_order_is_kept_however_little_attributes_count(method: str, weight: float) -> None:
    rng = np.random.default_rng(3)
    rows = [{"a": int(a), "s": int(s), "at": at} for at, (a, s) in enumerate(rng.integers(0, 9, (200, 2)))]
    said = {"attribute_weights": {"a": weight}, "order_weight": "keep", "subject": "s", "method": method, "delay": 9}
    out, dropped = left(rows, **said)
    assert dropped < 200
    assert [one["at"] for one in out] == sorted(one["at"] for one in out)


def test_what_other_fields_hold_does_not_stop_the_witness(tmp_path: Path) -> None:
    lines = [f'{{"a": {at}, "c": {at % 2}, "other": {"7" * 5000}}}' for at in range(6)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    recipe = {**ASKED, "require": {"p": 2}}
    done = shoal.run_stream(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), recipe)
    assert done.counts.tally.released == 6
    assert "7" * 5000 in (tmp_path / "out.jsonl").read_text()


def test_another_taxonomy_of_a_confidential_field_is_another_recipe(tmp_path: Path) -> None:
    said = {**ASKED, "t": 0.3}
    begun, other = (StreamRecipe(**said, taxonomies={"c": {"g": leaves}}) for leaves in (["x", "y"], ["x", "z"]))
    assert begun.fingerprint != other.fingerprint
    assert other.changed(begun.stored) == ("taxonomies",)
    (tmp_path / "c.csv").write_text("x,g\ny,g\n")
    assert StreamRecipe(**said, taxonomies={"c": str(tmp_path / "c.csv")}).changed(begun.stored) == ()


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"require": {"p": {}}}, "p_sensitivity is required of no column"),
        ({"require": {"p": {}, "l_distinct": 2}}, "p_sensitivity is required of no column"),
        ({"subject": ""}, "subject must hold field names, got an empty one"),
        ({"identifier": [""]}, "identifier must hold field names, got an empty one"),
        ({"bounds": {"a": ("0001-01-01T00:00+10:00", "2000-01-01T00:00Z")}}, "of the years 1 to 9999"),
        ({"bounds": {"a": (0, 2**63 - 1)}, "kinds": {"a": "integer"}}, "must be integers that floats hold exactly"),
    ],
)
def test_what_would_not_be_what_was_meant(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        StreamRecipe(**{**ASKED, **said})
