"""Attributes of households: one value per household, while persons are protected one by one."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.types import Block, Partition, Release, Schema

N = 120
RNG = np.random.default_rng(8)
HOUSE = np.sort(RNG.integers(0, 48, N))
FRAME = pa.table(
    {
        "house": [f"h{h}" for h in HOUSE],
        "region": np.array(["n", "s"])[HOUSE % 2],
        "rooms": HOUSE % 5,
        "dwelling": np.array(["flat", "house", "hut"])[HOUSE % 3],
        "age": RNG.integers(0, 90, N),
        "work": np.array(["a", "b", "c"])[RNG.integers(0, 3, N)],
        "w": RNG.uniform(1, 9, N),
    }
).take(pa.array(RNG.permutation(N)))
HOUSEHOLD, PERSON = ["rooms", "dwelling"], ["age", "work"]
RECIPE = {"quasi": ["age", "rooms", "work", "dwelling"], "together": "house", "household_level": HOUSEHOLD, "k": 4}


def households(before: pa.Table, after: pa.Table, names: list[str]) -> dict[tuple, set[str]]:
    """Return the households of each combination of values, as the table is written."""
    found = defaultdict(set)
    for house, *values in zip(before["house"].to_pylist(), *(after[n].to_pylist() for n in names), strict=True):
        found[tuple(values)].add(house)
    return found


@pytest.mark.parametrize("method", ["mdav", "v_mdav", "tour", "individual_ranking", "auto"])
def test_households_share_what_is_theirs_and_persons_do_not(method: str) -> None:
    more = {"by": "mdav"} if method == "individual_ranking" else {}
    done = shoal.protect(FRAME, {**RECIPE, "method": method, "set": more})
    for names in [list(block.attributes) for block in done.partition.blocks]:
        found = households(FRAME, done.data, names)
        assert min(map(len, found.values())) >= 4
        if set(names) <= set(HOUSEHOLD):  # every household once: one value for all its members
            assert sum(map(len, found.values())) == len(set(FRAME["house"].to_pylist()))
    ages = households(FRAME, done.data, ["age"])
    assert sum(map(len, ages.values())) > len(set(FRAME["house"].to_pylist()))


def test_what_is_promised_is_said() -> None:
    done = shoal.protect(FRAME, RECIPE)
    said = [(set(f.attributes), f.required, f.note) for f in done.audit.findings]
    assert said[:2] == [(set(HOUSEHOLD), 4, "counted in subjects"), (set(PERSON), 4, "counted in subjects")]
    assert said[2] == (set(RECIPE["quasi"]), 4, "counted in subjects")
    assert min(map(len, households(FRAME, done.data, RECIPE["quasi"]).values())) >= 4
    parted = shoal.protect(FRAME, {**RECIPE, "blocks": [HOUSEHOLD, PERSON]})
    last = parted.audit.findings[2]
    real = f"k′ = {len(FRAME) / last.classes:.2f}"
    assert (last.required, last.note) == (
        None,
        f"over all blocks together, which is not promised; real anonymity {real}",
    )
    whole = shoal.protect(FRAME, {**RECIPE, "household_level": []})
    assert parted.readings["il_sse"] < done.readings["il_sse"] < whole.readings["il_sse"]


@given(data=st.data(), k=st.integers(2, 3), n=st.integers(6, 30))
@settings(max_examples=25, deadline=None)
def test_blocks_are_those_of_each_way_on_its_own(data: st.DataObject, k: int, n: int) -> None:
    house = np.array([*range(3), *data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))])
    rooms = np.array(data.draw(st.lists(st.integers(0, 9), min_size=9, max_size=9)), float)[house]
    age = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n + 3, max_size=n + 3)), float)
    frame = pa.table({"house": house, "rooms": rooms, "age": age})
    recipe = {"quasi": ["rooms", "age"], "together": "house", "household_level": ["rooms"], "k": k}
    done = shoal.protect(frame, {**recipe, "blocks": [["rooms"], ["age"]]})
    one = shoal.protect(frame.select(["house", "rooms"]), {"quasi": ["rooms"], "together": "house", "k": k})
    other = shoal.protect(frame.select(["house", "age"]), {"quasi": ["age"], "subject": "house", "k": k})
    assert done.data["rooms"].equals(one.data["rooms"])
    assert done.data["age"].equals(other.data["age"])


@given(data=st.data(), k=st.integers(2, 3), n=st.integers(6, 40))
@settings(max_examples=25, deadline=None)
def test_k_holds_over_both_where_there_are_no_blocks(data: st.DataObject, k: int, n: int) -> None:
    house = np.array([*range(3), *data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))])
    rooms = np.array(data.draw(st.lists(st.integers(0, 9), min_size=13, max_size=13)))[house]
    age = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n + 3, max_size=n + 3)))
    frame = pa.table({"house": house, "rooms": rooms, "age": age})
    done = shoal.protect(frame, {"quasi": ["rooms", "age"], "together": "house", "household_level": ["rooms"], "k": k})
    assert min(map(len, households(frame, done.data, ["rooms", "age"]).values())) >= k
    assert sum(map(len, households(frame, done.data, ["rooms"]).values())) == len(set(house.tolist()))


def test_classes_of_households_have_room_for_several_of_persons() -> None:
    done = shoal.protect(FRAME, RECIPE)
    homes, persons = (block.labels for block in done.partition.blocks)
    assert len(set(homes)) < len(set(persons))
    assert len(set(zip(homes, persons, strict=True))) == len(set(persons))  # each within one


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_files_strata_weights_and_refinement(tmp_path: Path, end: str) -> None:
    shoal.write_table(FRAME, tmp_path / f"in.{end}")
    recipe = {**RECIPE, "strata": ["region"], "weight": "w", "effort": "fast"}
    done = shoal.protect_file(tmp_path / f"in.{end}", tmp_path / f"out.{end}", recipe)
    for names in (HOUSEHOLD, PERSON):
        assert min(map(len, households(FRAME, done.data, [*names, "region"]).values())) >= 4
    assert shoal.Recipe.from_toml(done.recipe.to_toml()) == done.recipe


def test_a_value_that_differs_in_a_household_is_refused() -> None:
    lacking = FRAME.set_column(
        2, "rooms", pa.array([None if i == 0 else r for i, r in enumerate(FRAME["rooms"].to_pylist())])
    )
    with pytest.raises(
        shoal.DataError, match=r"Column 'rooms': household_level must .* values differ in 1 of \d+ groups\."
    ):
        shoal.protect(lacking, RECIPE)
    with pytest.raises(
        shoal.DataError, match=r"Column 'age': household_level must name columns with one value per group"
    ):
        shoal.protect(FRAME, {**RECIPE, "household_level": ["age"]})


def test_recipes() -> None:
    for more, words in (
        ({"together": None}, "household_level needs together, got none"),
        ({"household_level": ["region"]}, "household_level must hold quasi-identifiers only; region is not one"),
        ({"household_level": "rooms"}, "household_level must be a list of column names"),
        ({"blocks": [["rooms", "age"], ["dwelling", "work"]]}, "a block must hold attributes of households or of"),
    ):
        with pytest.raises(shoal.ParameterError, match=words):
            shoal.Recipe.from_dict({**RECIPE, **more})
    made = shoal.Recipe.from_dict({**RECIPE, "blocks": [["rooms"], ["dwelling"], ["age", "work"]]})
    assert made.whole_blocks == (("rooms",), ("dwelling",))
    assert not made.nested
    assert shoal.Recipe.from_dict({**RECIPE, "household_level": RECIPE["quasi"]}).all_blocks == (made.quasi,)
    with pytest.raises(shoal.ParameterError, match="Swap: together is not possible"):
        shoal.protect(FRAME, {**RECIPE, "release": "swap"})


def test_the_gate_stops_a_household_with_two_values() -> None:
    recipe = shoal.Recipe(quasi=["rooms", "age"], together="house", household_level=["rooms"], k=2)
    whose = pa.chunked_array([["a", "b", "b", "c", "d", "a"]])
    for rooms, age, message in (
        ([1, 1, 1, 2, 2, 1], [0, 0, 0, 1, 1, 0], None),
        ([1, 1, 1, 2, 2, 2], [0, 0, 1, 1, 1, 0], "Records of 1 groups of 'house' must stay together"),
        ([1, 1, 1, 2, 2, 1], [0, 2, 2, 1, 1, 0], "over age requires 2 and achieves 1"),
        ([1, 1, 1, 2, 2, 1], [0, 0, 1, 1, 1, 0], "over rooms, age requires 2 and achieves 1"),
    ):
        release = Release(pa.table({"rooms": rooms, "age": age}), Schema(()), subjects=whose)
        partition = Partition((Block(("rooms",), np.array(rooms)), Block(("age",), np.array(age))))
        if message is None:
            assert gate(release, promise_of(recipe, partition)).holds
            continue
        with pytest.raises(shoal.GuaranteeError, match=message):
            gate(release, promise_of(recipe, partition))
