"""The stream of a program: what it takes, what it gives back, and what it refuses."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, GuaranteeError, ParameterError
from shoal.privacy.stream_gate.gate import fewest, hold
from shoal.stream import StreamAnonymizer, StreamRecipe

ORACLE = Path(__file__).parents[1] / "oracles" / "stream_nearest.py"
stream_nearest = runpy.run_path(str(ORACLE))["stream_nearest"]


WAYS = ["one", "dicts", "columns", "arrow"]


def rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {"name": f"n{at}", "age": int(a), "sex": str(s), "pay": float(p), "note": None if at % 3 else "x"}
        for at, (a, s, p) in enumerate(
            zip(rng.integers(0, 100, n), rng.choice(["f", "m"], n), rng.normal(size=n).round(3), strict=True)
        )
    ]


def anonymizer(**more: Any) -> StreamAnonymizer:
    said = {
        "quasi": ["age", "sex"],
        "bounds": {"age": (0, 100)},
        "categories": {"sex": ["f", "m"]},
        "k": 3,
        "delay": 10,
    }
    return StreamAnonymizer(**{**said, "identifier": ["name"], **more})


def test_the_contract() -> None:
    s = StreamAnonymizer(
        quasi=["a", "b"], bounds={"a": (0, 100), "b": (0, 1)}, k=10, delay=100, order_weight=0.0, subject=None
    )
    rng = np.random.default_rng(0)
    left = [one for _ in range(1005) for one in s.push({"a": rng.integers(0, 100), "b": rng.random(), "c": 1})]
    left += s.flush()
    assert len(left) + s.dropped == 1005
    assert s.dropped == 0
    sizes = np.bincount([one["class"] for one in left])
    assert sizes.min() >= 10
    assert len({(one["a"], one["b"], one["class"]) for one in left}) == len(sizes)
    assert all(set(one) == {"a", "b", "c", "class"} for one in left)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 80), st.lists(st.tuples(st.sampled_from(["one", "dicts", "columns", "arrow"]), st.integers(0, 30)))
)
def test_however_tuples_come_the_same_leave(n: int, steps: list[tuple[str, int]]) -> None:
    given_ = rows(n)
    plain = anonymizer()
    wanted = [one for row in given_ for one in plain.push(row)] + plain.flush()
    s, found, at = anonymizer(), [], 0
    for how, most in [*steps, ("dicts", n)]:
        part, at = given_[at : at + most], at + most
        if how == "one":
            found += [one for row in part for one in s.push(row)]
        elif how == "dicts" or not part:
            found += s.push_many(part).to_pylist()
        else:
            table = pa.Table.from_pylist(part, schema=pa.Table.from_pylist(given_).schema)
            found += s.push_many(
                table if how == "arrow" else {n: table[n].to_pylist() for n in table.column_names}
            ).to_pylist()
    found += s.flush()
    assert found == wanted
    assert s.tally == plain.tally or s.tally.lost == pytest.approx(plain.tally.lost)
    assert s.waiting == 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_give_tables(kind: str) -> None:
    frame: Any = pa.Table.from_pylist(rows(100))
    frame = {"pandas": pd.DataFrame, "polars": pl.from_arrow, "arrow": lambda x: x}[kind](
        frame.to_pandas() if kind == "pandas" else frame
    )
    s = anonymizer()
    many, rest = s.push_many(frame), s.flush_many()
    one = anonymizer()
    plain = [found for row in rows(100) for found in one.push(row)]
    table = many.to_table()
    assert table.column_names == ["age", "sex", "pay", "note", "class"]
    assert table.to_pylist() == plain == many.to_pylist()
    assert many.classes.tolist() == [found["class"] for found in plain]
    assert len(many) + len(rest) == 100


def test_released_values_are_those_of_the_class() -> None:
    given_ = rows(60)
    s = anonymizer()
    many = s.push_many(given_)
    for number in set(many.classes.tolist()):
        members = many.positions[many.classes == number]
        ages, sexes = [given_[p]["age"] for p in members], [given_[p]["sex"] for p in members]
        own = [one for one in many.to_pylist() if one["class"] == number]
        assert own[0]["age"] == pytest.approx(np.mean(ages))
        assert own[0]["sex"] == max(sorted(set(sexes)), key=sexes.count)
        assert [one["pay"] for one in own] == [given_[p]["pay"] for p in members]


def test_what_the_caller_does_with_its_values_afterwards_changes_nothing() -> None:
    a, b = anonymizer(), anonymizer()
    part = rows(9)
    columns = {name: np.array([row[name] for row in part]) for name in ("age", "sex", "pay", "name")}
    a.push_many(columns)
    columns["pay"][:] = 0
    columns["age"][:] = 0
    for row in part:
        fresh = {name: row[name] for name in ("age", "sex", "pay", "name")}
        b.push(fresh)
        fresh["age"] = fresh["pay"] = 0
    assert a.flush() == b.flush()


BAD = {
    "text for a number": ({"age": "old"}, "Column 'age': must be a finite number, got something else."),
    "nan": ({"age": float("nan")}, "Column 'age': must have a value, but is missing."),
    "nothing": ({"age": None}, "Column 'age': must have a value, but is missing."),
    "infinite": ({"age": float("inf")}, "Column 'age': must be a finite number, got something else."),
    "a truth": ({"age": True}, "Column 'age': must be a finite number, got something else."),
    "a list": ({"age": [4711]}, "Column 'age': must be a finite number, got something else."),
    "beyond all floats": ({"age": 10**400}, "Column 'age': must be a finite number, got something else."),
    "unknown category": ({"sex": "4711"}, "Column 'sex': must be in its categories, got something else."),
    "a table": ({"sex": {"4711": 1}}, "Column 'sex': must be in its categories, got something else."),
    "a class": (
        {"class": 4711},
        "StreamAnonymizer: a tuple must not have the field 'class', reserved for its class",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("many", [False, True])
def test_bad_tuples_are_refused_in_a_sentence_and_change_nothing(name: str, many: bool) -> None:
    change, sentence = BAD[name]
    s, plain = anonymizer(), anonymizer()
    good = rows(40)
    left, wanted = [], []
    for at, row in enumerate(good):
        if at % 4 == 0:
            with pytest.raises(DataError) as caught:
                s.push_many([row, row | change]) if many else s.push(row | change)
            assert sentence in str(caught.value)
            assert "4711" not in str(caught.value)
            assert "old" not in str(caught.value)
        left += s.push(row)
        wanted += plain.push(row)
    assert left + s.flush() == wanted + plain.flush()


def test_a_field_that_is_not_there() -> None:
    s = anonymizer()
    with pytest.raises(DataError, match="StreamAnonymizer: a tuple must have sex, but one does not"):
        s.push({"age": 3, "name": "Ann"})
    with pytest.raises(DataError, match="must be a table of names and values, got a list"):
        s.push([3, "f"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="got a int"):
        s.push_many(3)
    with pytest.raises(DataError, match="the same number of tuples"):
        s.push_many({"age": [1], "sex": ["f", "m"], "name": ["Ann"]})
    assert s.waiting == 0


def test_several_bad_tuples_are_counted() -> None:
    with pytest.raises(DataError, match=r"2 of 3 tuples are invalid, and none was accepted\. The first is number 2\."):
        anonymizer(identifier=()).push_many({"age": [1, None, "x"], "sex": ["f", "m", "f"]})


def test_subjects_do_not_leave_and_are_counted() -> None:
    rng = np.random.default_rng(2)
    s = StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, k=4, delay=30, subject="who")
    who = rng.integers(0, 9, 300)
    many = [s.push_many({"q": rng.random(300), "who": who, "at": np.arange(300)}), s.flush_many()]
    for part in many:
        for number in set(part.classes.tolist()):
            assert len(set(who[part.positions[part.classes == number]])) >= 4
        assert "who" not in part.to_table().column_names
    assert sum(map(len, many)) + s.dropped == 300


@pytest.mark.parametrize("how", ["text", "unsigned", "mixed"])
def test_subjects_of_any_kind_are_the_same_subjects(how: str) -> None:
    rng = np.random.default_rng(3)
    who, q = rng.integers(0, 6, 100), rng.random(100)
    found = []
    for kind in ("int", how):
        s = StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, k=3, delay=12, subject="who")
        cells: Any = {
            "int": who,
            "text": [f" {one}" for one in who],
            "unsigned": who.astype(np.uint8),
            "mixed": [int(one) if at % 2 else str(one) for at, one in enumerate(who)],
        }[kind]
        found.append([s.push_many({"q": q, "who": cells}).positions.tolist(), s.flush_many().positions.tolist()])
    assert found[0] == found[1]


def test_a_missing_subject_is_refused() -> None:
    s = StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, k=3, delay=12, subject="who")
    for missing in (None, "", "  ", float("nan")):
        with pytest.raises(DataError, match="Column 'who': must have a value"):
            s.push({"q": 0.5, "who": missing})


def test_seconds() -> None:
    s = StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, k=2, delay=100, delay_seconds=5)
    for at in range(3):
        assert s.push({"q": at / 2}, now=float(at)) == []
    assert s.tick(4.9) == []
    assert [one["class"] for one in s.tick(5.0)] == [0, 0]
    assert s.tick(6.9) == []
    assert s.dropped == 0
    assert s.tick(7.0) == []
    assert s.dropped == 1


def test_nothing_of_a_tuple_is_in_a_repr() -> None:
    s = anonymizer()
    many = s.push_many([{"name": "4711", "age": 47, "sex": "f", "pay": 4711, "note": "4711"}] * 12)
    assert "4711" not in repr(s) + repr(many) + repr(many.bodies)


def test_a_name_that_no_field_has() -> None:
    with pytest.raises(ParameterError, match=r"no field is called 'delai'.*Did you mean 'delay'"):
        StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, k=2, delay=3, delai=2)
    with pytest.raises(ParameterError, match="k must be given"):
        StreamAnonymizer(quasi=["q"], bounds={"q": (0, 1)}, delay=3)
    recipe = StreamRecipe(quasi=["q"], bounds={"q": (0, 1)}, k=2, delay=3)
    assert StreamAnonymizer(recipe).recipe == recipe


def test_what_is_wrong_does_not_leave() -> None:
    """The last look at classes shares nothing with what forms them."""
    with pytest.raises(GuaranteeError, match="a class of 2 subjects was formed, but k is 3"):
        hold(3, np.array([3, 3]), ["a", "b", "c", "a", "b", "a"], again=0)
    with pytest.raises(GuaranteeError, match="1 tuples would be released twice"):
        hold(2, np.array([3]), None, again=1)
    hold(3, np.array([], np.int64), None, again=0)
    assert fewest(np.array([3, 2]), np.array([7, 7, 8, 9, 8])) == 2


def test_a_class_that_is_too_small_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the method went wrong, the last look would see it."""
    s = anonymizer()
    monkeypatch.setattr(s._core, "_forming", Small())
    with pytest.raises(GuaranteeError):
        s.push_many(rows(20))


class Small:
    """A method that breaks classes."""

    def advance(self, waiting: Any, due: int) -> Any:
        labels = np.full(len(waiting.positions), -1)
        labels[:2] = 0
        return labels, np.zeros(1, np.int64)
