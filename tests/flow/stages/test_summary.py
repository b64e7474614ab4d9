"""Summaries of the parts of a table add up to the summary of the whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError
from shoal.flow.plan.components import required_in
from shoal.flow.plan.feasibility import refuse_infeasible
from shoal.flow.plan.plan import make_plan
from shoal.flow.stages import summary as module
from shoal.flow.stages.read import schema_for
from shoal.flow.stages.summary import Summary, Tally, summarise
from shoal.types import Table

N = 60
RNG = np.random.default_rng(3)
HOUSES = np.sort(RNG.integers(0, 15, N))
PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 90, N),
        "pay": np.round(RNG.lognormal(9, 1, N), 2),
        "job": RNG.choice(["nurse", "clerk", "smith"], N),
        "ill": RNG.choice(list("abcd"), N),
        "cost": np.round(RNG.lognormal(5, 1, N), 1),
        "region": np.where(HOUSES % 2, "north", "south"),
        "house": [f"H{number}" for number in HOUSES],
        "rooms": HOUSES % 5,
        "w": RNG.uniform(1, 9, N),
    }
)
RECIPE = {
    "quasi": ["age", "pay", "job", "rooms"],
    "confidential": ["ill", "cost"],
    "strata": ["region"],
    "weight": "w",
    "k": 3,
}
REQUIRED = {**RECIPE, "subject": "house", "t": 0.4, "require": {"p": 2, "dominance": 0.9}}
HOUSEHOLDS = {**RECIPE, "together": "house", "household_level": ["rooms"]}


def table_of(data: pa.Table, recipe: shoal.Recipe) -> Table:
    return Table(data, schema_for(data, recipe, None))


def counted(tally: Tally) -> list[tuple[Any, ...]]:
    weights = [0.0] * len(tally.counts) if tally.weights is None else np.round(tally.weights, 9).tolist()
    rows = [tuple(row.values()) for row in tally.rows.to_pylist()]
    return sorted(zip(rows, tally.counts.tolist(), weights, strict=True), key=str)


def same(one: Summary, other: Summary) -> None:
    assert one.records == other.records
    assert one.columns == other.columns
    assert one.ungrouped == other.ungrouped
    assert one.unit == other.unit
    for mine, theirs in ((one.values, other.values), (one.by_group, other.by_group)):
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert counted(mine[name]) == counted(theirs[name])
    assert counted(one.strata) == counted(other.strata)
    assert counted(one.people) == counted(other.people)


@given(st.lists(st.integers(1, N - 1), max_size=4), st.sampled_from([REQUIRED, HOUSEHOLDS]))
def test_parts_add_up_to_the_whole(cuts: list[int], fields: dict) -> None:
    recipe = shoal.Recipe(**fields)
    ends = sorted({0, N, *cuts})
    parts = [summarise(table_of(PEOPLE.slice(a, b - a), recipe), recipe) for a, b in pairwise(ends)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merged(part)
    same(merged, summarise(table_of(PEOPLE, recipe), recipe))


def test_the_summary_is_what_the_table_holds() -> None:
    recipe = shoal.Recipe(**REQUIRED)
    found = summarise(table_of(PEOPLE, recipe), recipe)
    assert found.records == N
    assert found.columns["age"].low == min(PEOPLE["age"].to_pylist())
    assert found.columns["pay"].decimals.total() == N
    assert max(found.columns["pay"].decimals) == 2
    assert found.columns["job"].categories["nurse"] == PEOPLE["job"].to_pylist().count("nurse")
    assert found.strata is not None
    assert sorted(found.strata.counts.tolist()) == sorted(
        PEOPLE["region"].to_pylist().count(name) for name in ("north", "south")
    )
    assert found.people is not None
    assert found.people.weights is not None
    assert found.people.weights.sum() * found.unit == pytest.approx(sum(PEOPLE["w"].to_pylist()))
    assert int(found.values["ill"].counts.sum()) == N


def test_a_plan_can_be_made_from_merged_parts_alone() -> None:
    recipe = shoal.Recipe(**{**REQUIRED, "t": 0.9, "require": {}})
    half = [summarise(table_of(PEOPLE.slice(a, N // 2), recipe), recipe) for a in (0, N // 2)]
    schema = table_of(PEOPLE, recipe).schema
    plan = make_plan(recipe, schema, half[0].merged(half[1]))
    assert plan.method.k == 3
    strict = shoal.Recipe(**{**REQUIRED, "k": 5, "require": {"p": 5}})
    with pytest.raises(DataError, match="p_sensitivity of column 'ill': p must be at most 4, got 5"):
        refuse_infeasible(half[0].merged(half[1]), strict, schema, required_in(strict))


def test_columns_that_cannot_be_read_are_all_named() -> None:
    data = pa.table({"a": ["1", "x"], "b": [[1], [2]], "c": [1.0, -2.0]})
    recipe = shoal.Recipe(quasi=["a"], confidential=["b"], weight="c", kinds={"a": "integer"}, k=2)
    faults = [str(error) for error in summarise(table_of(data, recipe), recipe).faults]
    assert len(faults) == 3
    assert [name for name in "abc" for fault in faults if f"'{name}'" in fault] == list("abc")


def test_nothing_is_counted_that_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("people and values are counted for nothing")

    monkeypatch.setattr(module, "people_tally", never)
    monkeypatch.setattr(module, "value_tallies", never)
    recipe = shoal.Recipe(quasi=["age"], confidential=["ill"], k=3)
    found = summarise(table_of(PEOPLE, recipe), recipe)
    assert found.people is None
    assert found.values == {}
