"""Demands on confidential fields of a stream: they hold in every class, also after a restart, and a witness sees it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, GuaranteeError, ParameterError
from shoal.stream import StreamAnonymizer
from shoal.stream.engine.buffer import Core
from shoal.stream.engine.demands import witness_of
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Cursor, Formed

ILL = ["ague", "flu", "gout", "lues"]
DEMANDS: list[dict[str, Any]] = [
    {"require": {"p": {"ill": 3}}},
    {"require": {"l_entropy": {"ill": 2.2}, "l_distinct": {"pay": 3}}},
    {"require": {"l_recursive": {"ill": (2, 2)}}},
    {"require": {"t": {"ill": 0.4}}},
    {"require": {"t": {"pay": 0.15}}, "bounds": {"a": (0, 1), "pay": (0, 1000)}},
    {"require": {"t": {"pay": 0.2}}, "reference": {"pay": {"cuts": [100, 300], "shares": [0.3, 0.4, 0.3]}}},
    {"require": {"t": {"pay": 0.2}}, "reference": {"pay": {"cuts": [100, 300]}}},
    {"require": {"t": {"ill": 0.45}}, "reference": {"ill": {"ague": 1, "flu": 2, "gout": 1, "lues": 1}}},
    {"require": {"t": {"day": 0.25}}, "bounds": {"a": (0, 1), "day": ("1969-11-01", "1970-03-01")}},
    {"require": {"t": {"rank": 0.25}}, "orders": {"rank": ["low", "middle", "high"]}},
]


def a_recipe(demand: dict[str, Any], **other: Any) -> StreamRecipe:
    usual: dict[str, Any] = {
        "quasi": ["a"], "bounds": {"a": (0, 1)}, "k": 3, "delay": 20, "confidential": ["ill", "pay", "day", "rank"],
        "categories": {"ill": ILL},
    }  # fmt: skip
    return StreamRecipe(**{**usual, **demand, **other})


def tuples(seed: int, n: int, written: bool) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    days = np.datetime64("1969-12-01") + rng.integers(0, 60, n)
    found = {
        "a": rng.random(n).round(2).tolist(),
        "ill": rng.choice(ILL, n, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
        "pay": (rng.random(n) ** 2 * 500).round().tolist(),
        "day": [str(day) for day in days],
        "rank": rng.choice(["low", "middle", "high"], n).tolist(),
    }
    return {name: [str(cell) for cell in cells] for name, cells in found.items()} if written else found


def part(columns: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
    return {name: [cells[row] for row in rows] for name, cells in columns.items()}


def classes(formed: Formed) -> list[list[int]]:
    ends = np.cumsum(formed.sizes).tolist()
    return [formed.positions[end - size : end].tolist() for end, size in zip(ends, formed.sizes.tolist(), strict=True)]


@given(
    seed=st.integers(0, 10**6),
    demand=st.sampled_from(DEMANDS),
    method=st.sampled_from(["nearest", "look_ahead"]),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    written=st.booleans(),
)
@settings(max_examples=80)
def test_every_class_holds_what_is_demanded_also_after_a_restart(
    seed: int, demand: dict[str, Any], method: str, sizes: list[int], written: bool
) -> None:
    recipe = a_recipe(demand, method=method)
    n = 120
    columns = tuples(seed, n, written)
    whole = Core(recipe)
    expected = [*classes(whole.take(list(range(n)), columns)[0]), *classes(whole.flush())]
    cursor, done, found, read = Cursor(), set[int](), [], 0
    for size in [*sizes, n]:  # each time restarted, from the stored cursor
        core, witness = Core(recipe, cursor), witness_of(recipe, json.loads(json.dumps(cursor.memory)))
        assert witness is not None
        read = min(read + size, n)
        rows = [row for row in range(read) if row not in done]
        steps = [core.take(rows, part(columns, rows))[0]]
        steps += [core.flush()] if size == n else []
        witness.came(rows, part(columns, rows))
        for formed in steps:
            for members, moment in zip(classes(formed), formed.moments.tolist(), strict=True):
                witness.look(moment, part(columns, members))
                done |= set(members)
            found += classes(formed)
            done |= set(formed.dropped.tolist())
        cursor = Cursor(tally=core.tally, memory=core.memory)
    assert found == expected
    assert cursor.memory == whole.memory
    assert len(json.dumps(cursor.memory)) < 1500


@pytest.mark.parametrize("demand", DEMANDS)
def test_the_witness_fails_closed(demand: dict[str, Any]) -> None:
    columns = tuples(5, 60, False)
    witness = witness_of(a_recipe(demand))
    assert witness is not None
    witness.came(list(range(60)), columns)
    with pytest.raises(
        GuaranteeError, match=r"Stream: a class formed at tuple 59 does not reach .* It was not released\."
    ):
        witness.look(59, {"ill": ["lues"] * 3, "pay": [900] * 3, "day": ["1970-02-28"] * 3, "rank": ["high"] * 3})
    with pytest.raises(GuaranteeError):
        witness.look(59, {name: [] for name in columns})


def test_the_witness_refuses_what_it_cannot_read() -> None:
    witness = witness_of(a_recipe(DEMANDS[4]))
    assert witness is not None
    witness.came([0, 1], {"pay": [1, 2]})
    with pytest.raises(GuaranteeError, match="a released value of 'pay' is not in its domain"):
        witness.look(1, {"pay": [1, "much"]})


def test_a_tuple_without_a_value_to_count_is_a_bad_record() -> None:
    core = Core(a_recipe(DEMANDS[3]))
    columns = tuples(1, 3, False)
    columns["ill"][1] = "plague"
    faults = core.take([0, 1, 2], columns)[1]
    assert faults == [
        (1, "Column 'ill': must be in its categories, got something else. Add it there, or correct the record.")
    ]
    assert core.waiting.tolist() == [0, 2]


def test_a_cursor_of_another_recipe_is_refused() -> None:
    with pytest.raises(DataError, match="the stored state does not fit the recipe"):
        Core(a_recipe(DEMANDS[3]), Cursor(memory={"so_far": {"ill": [1, 2]}}))


def test_who_is_left_at_the_end_joins_only_a_class_that_still_holds() -> None:
    recipe = a_recipe({"require": {"p": {"ill": 2}}})
    cells = {name: cells[:5] for name, cells in tuples(1, 9, False).items()}
    core = Core(recipe)
    core.take(list(range(5)), {**cells, "ill": ["flu", "gout", "flu", "gout", "flu"]})
    assert [len(one) for one in classes(core.flush())] == [5]
    core = Core(a_recipe({"require": {"l_recursive": {"ill": (1.5, 2)}}}))
    core.take(list(range(4)), {**cells, "ill": ["flu", "gout", "gout", "gout"], "a": [0, 0.1, 0.2, 0.9]})
    assert core.flush().positions.tolist() == []
    assert core.tally.dropped == 4


@pytest.mark.parametrize(
    ("demand", "sentence"),
    [
        ({"require": {"k_e": {"pay": 3}}}, "classes of a stream support p_sensitivity"),
        ({"require": {"p": {"age": 3}}}, "p_sensitivity is required of 'age', which is not confidential"),
        ({"require": {"p": "many"}}, "p_sensitivity must be p, got 'many'"),
        ({"t": 0.2, "require": {"t": {"ill": 0.3}}}, "t is set and also required"),
        ({"require": {"t": {"pay": 0.2}}}, "t needs to know the domain of 'pay', got none"),
        ({"require": {"p": {"ill": 2}}, "method": "castle"}, "require cannot be met by the method castle"),
        ({"require": {"t": {"rank": 0.2}}, "kinds": {"rank": "ordinal"}}, "t needs to know the orders of 'rank'"),
        ({"reference": {"ill": {"flu": 1}}}, "reference names 'ill', for which t is not required"),
        ({"require": {"t": {"ill": 0.2}}, "reference": {"ill": {"plague": 1}}}, "an unknown category"),
        ({"require": {"t": {"ill": 0.2}}, "reference": {"ill": {"flu": -1}}}, "must be numbers ≥ 0, not all 0"),
        ({"require": {"t": {"ill": 0.2}}, "reference": {"ill": 3}}, "must be a table of shares, or of cuts"),
        ({"require": {"t": {"pay": 0.2}}, "reference": {"pay": {"cuts": [3, 2]}}}, "a list of ascending numbers"),
        ({"require": {"t": {"pay": 0.2}}, "reference": {"pay": {"cuts": [3], "shares": [1]}}}, "must be 2, one more"),
        ({"require": {"t": {"ill": 0.2}}, "categories": {"ill": list(range(101))}}, "at most 100 can be stored"),
        ({"t": 0.2, "order_weight": "keep"}, "order_weight 'keep' cannot be promised with t"),
    ],
)  # fmt: skip
def test_what_cannot_be_demanded_is_said(demand: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence) as refused:
        a_recipe(demand)
    assert str(refused.value).startswith("StreamRecipe: ")


@pytest.mark.parametrize("demand", DEMANDS)
def test_a_program_gets_classes_that_hold_one_by_one_and_in_columns(demand: dict[str, Any]) -> None:
    columns = tuples(3, 100, False)
    rows = [{name: cells[i] for name, cells in columns.items()} for i in range(100)]
    one, many = StreamAnonymizer(a_recipe(demand)), StreamAnonymizer(a_recipe(demand))
    left = [found for row in rows for found in one.push(row)] + one.flush()
    assert left == many.push_many(columns).to_pylist() + many.flush()
    assert len(left) + one.dropped == 100


def test_a_program_gets_nothing_of_a_class_that_misses_a_demand() -> None:
    s = StreamAnonymizer(a_recipe(DEMANDS[0]))
    columns = {**tuples(3, 40, False), "ill": ["flu"] * 40}
    s._core._demanding.take = lambda columns: (np.arange(40)[:, None], {})  # type: ignore[union-attr, method-assign]
    with pytest.raises(GuaranteeError, match="does not reach p_sensitivity of 'ill'"):
        s.push_many(columns)


def test_the_witness_does_not_grow_where_no_class_ever_forms() -> None:
    witness = witness_of(a_recipe(DEMANDS[3]))
    assert witness is not None
    for begin in range(0, 1000, 10):
        witness.came(list(range(begin, begin + 10)), tuples(begin, 10, False))
    assert len(witness._coming) == 10
    assert sum(witness._counts["ill"]) == 990
