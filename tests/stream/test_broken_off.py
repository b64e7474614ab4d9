"""What a program may do wrong with a stream, and what must not happen then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, GuaranteeError, ParameterError, SchemaError
from shoal.stream import StreamAnonymizer, StreamRecipe
from shoal.stream.engine.buffer import Core
from shoal.stream.wire.jsonl import Jsonl
from shoal.types.stream import Incoming, Leaving, Letter

SAID: dict[str, Any] = {"quasi": ["a"], "bounds": {"a": (0, 100)}, "k": 2, "delay": 2}


def stream(**said: Any) -> StreamAnonymizer:
    return StreamAnonymizer(**{**SAID, **said})


@pytest.mark.parametrize("field", ["nmae", "Name"])
def test_an_identifier_that_is_no_field_is_refused(field: str) -> None:
    s = stream(identifier=["name"])
    for push in (s.push, lambda one: s.push_many([one]), lambda one: s.push_many({n: [x] for n, x in one.items()})):
        with pytest.raises(DataError, match="a tuple must have name, but one does not"):
            push({"a": 1, field: "Ann"})
    assert s.waiting == 0
    s.push({"a": 1, "name": None})  # a name is optional


def test_an_identifier_that_is_no_field_of_a_json_object_is_refused(tmp_path: Path) -> None:
    lines = [f'{{"a": {at}, "{name}": "Ann"}}' for at, name in enumerate(["name", "Name", "name", "nmae", "name"])]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, '{"a": 7, "name": null}']) + "\n")
    made, dead = tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    done = shoal.run_stream(tmp_path / "in.jsonl", made, {**SAID, "identifier": ["name"]}, dead=dead)
    assert (done.counts.tally.released, done.counts.tally.dead) == (4, 2)
    assert "Ann" not in made.read_text()
    for reason in (
        "must have the field 'name', which is removed, but lacks it",
        "differs from 'name' only in spelling, such as upper and lower case",
    ):
        assert dead.read_text().count(reason) == 1


def test_after_a_step_that_was_broken_off_nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    s = stream()
    s.push_many([{"a": 1}, {"a": 2}])
    with monkeypatch.context() as broken:
        broken.setattr(s._core, "_formed", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            s.push({"a": 3})
    for go_on in (lambda: s.push({"a": 4}), lambda: s.push_many([{"a": 4}]), s.tick, s.flush, s.flush_many):
        with pytest.raises(GuaranteeError, match="an earlier step was interrupted"):
            go_on()


def test_what_the_witness_stopped_does_not_leave_later() -> None:
    s = stream(k=3)
    object.__setattr__(s._core._forming, "k", 2)
    with pytest.raises(GuaranteeError, match="a class of 2 subjects was formed, but k is 3"):
        s.push_many([{"a": 1}, {"a": 2}, {"a": 3}])
    with pytest.raises(GuaranteeError, match="was interrupted"):
        s.flush()


def test_a_clock_that_goes_back_holds_nobody() -> None:
    s = stream(delay=50, delay_seconds=10)
    for now in (100.0, 100.0, 5.0):
        s.push({"a": 1}, now=now)
    assert len(s.tick(now=14.0)) == 0
    assert len(s.tick(now=16.0)) == 3  # the first two came before the third, which joins their class
    assert s.dropped == 0


@pytest.mark.parametrize("now", [float("nan"), float("inf"), "soon", True, 10**400])
def test_a_moment_is_a_number(now: Any) -> None:
    s = stream(delay_seconds=1)
    for call in (s.tick, lambda now: s.push({"a": 1}, now=now), lambda now: s.push_many([{"a": 1}], now=now)):
        with pytest.raises(ParameterError, match="StreamAnonymizer: now must be a finite number of seconds"):
            call(now=now)
    assert s.waiting == 0


@pytest.mark.parametrize(
    "columns",
    [
        {"a": 5},
        {"a": "12"},
        {"a": np.zeros((3, 2))},
        {"a": [1], 1: [1], "1": [2]},
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
    ids=["number", "text", "two dimensions", "one name twice", "pandas", "arrow"],
)
def test_what_is_no_column(columns: Any) -> None:
    with pytest.raises(DataError, match=r"StreamAnonymizer: column(s| names) must "):
        stream().push_many(columns)


def test_what_a_mask_hides_does_not_leave() -> None:
    s = stream(quasi=["a"], subject="s")
    hidden = np.ma.array([1, 2, 99], mask=[False, False, True])
    with pytest.raises(DataError, match="1 of 3 tuples are invalid"):
        s.push_many({"a": hidden, "s": [1, 2, 3]})
    with pytest.raises(DataError, match="1 of 3 tuples are invalid"):
        s.push_many({"a": [1, 2, 3], "s": hidden})
    s.push_many({"a": [1, 2, 3], "s": [1, 2, 3], "other": hidden})
    assert 99 not in [one["other"] for one in s.flush()]


def test_fields_that_not_all_tuples_have_are_columns_too() -> None:
    s = stream()
    left = s.push_many([{"a": 1, "x": 7}, {"a": 50, "y": 8}, {"a": 2, "z": 9}])
    assert left.to_table().to_pylist() == [
        {"a": 1.5, "x": 7, "z": None, "class": 0},
        {"a": 1.5, "x": None, "z": 9, "class": 0},
    ]


def test_no_cell_is_in_the_error_of_a_table() -> None:
    s = stream()
    left = s.push_many([{"a": 1, "x": 7}, {"a": 50, "x": 8}, {"a": 2, "x": "secret"}])
    with pytest.raises(SchemaError, match="Released: a field mixes types that no column can hold") as error:
        left.to_table()
    assert "secret" not in str(error.value)
    assert [one["x"] for one in left.to_pylist()] == [7, "secret"]


@pytest.mark.parametrize("cell", [2**70, "\ud800", 1j], ids=["integer", "text", "complex"])
def test_what_no_column_can_hold_leaves_as_a_dict(cell: Any) -> None:
    s = stream()
    with pytest.raises(SchemaError, match="StreamAnonymizer: a column mixes types that no column can hold"):
        s.push_many({"a": [1, 2, 3], "x": [cell] * 3})
    left = s.push_many([{"a": at, "x": cell} for at in range(3)])
    with pytest.raises(SchemaError, match="Released: a field mixes types that no column can hold"):
        left.to_table()
    assert [one["x"] for one in left.to_pylist()] == [cell, cell]


@pytest.mark.parametrize(
    "index", [["Ann", "Bob", "Cyd"], pd.Index([7, 8, 9], name="pid"), pd.Index([0, 0, 0])], ids=range(3)
)
def test_the_index_of_a_frame_is_no_field_and_does_not_leave(index: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2, 50], "x": [1, 2, 3]}, index=index)
    s = stream()
    left = s.push_many(frame)
    assert left.to_table().column_names == ["a", "x", "class"]
    assert left.to_pylist() == [{"a": 1.5, "x": 1, "class": 0}, {"a": 1.5, "x": 2, "class": 0}]
    assert list(frame.index) == list(index)


def test_categories_of_others_do_not_leave_in_a_dictionary() -> None:
    frame = pd.DataFrame({"a": [1, 2, 50], "x": pd.Categorical(["p", "q", "secret"])})
    for table in (frame, pa.Table.from_pandas(frame)):
        left = stream().push_many(table).to_table()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, left.schema) as writer:
            writer.write_table(left)
        assert left.column("x").to_pylist() == ["p", "q"]
        assert b"secret" not in sink.getvalue().to_pybytes()


def test_no_cell_is_in_any_repr() -> None:
    recipe = StreamRecipe(**SAID, categories={"x": ["secret"]}, confidential=["x"])
    core = Core(recipe)
    encoded = core.encode({"a": [41.5], "x": ["secret"]})
    formed, _ = core.take(range(3), {"a": [41.5] * 3, "x": ["secret"] * 3})
    parsed = Jsonl(["a"], [], "class").parse([b'{"a": 41.5}'])
    taken = core.domain.attributes[0].take([41.5])
    record = b"41.5"
    made = [Incoming("", [record], [0], 1), Letter(0, 0, "not a tuple", record), Leaving(0, [record], [0], [record])]
    for one in (encoded, formed, parsed, taken, *made):
        assert "41.5" not in repr(one)
