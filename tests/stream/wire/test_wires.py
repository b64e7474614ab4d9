"""Untouched fields are released unchanged, invalid records are reported, and no sentence holds a value."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import SchemaError
from shoal.stream.wire.csv import Csv
from shoal.stream.wire.jsonl import Jsonl, lookalike

SECRET = "31415926"


def jsonl() -> Jsonl:
    return Jsonl(["a", "b"], ["id"], "class")


def test_numbers_that_are_not_touched_keep_their_text() -> None:
    record = b'{"a": 1, "pay": 1.10, "id": 7, "big": 123456789012345678901234567890, "n": {"x": [1, 2.50]}, "b": null}'
    parsed = jsonl().parse([record])
    assert parsed.columns == {"a": [1], "b": [None]}
    assert jsonl().render(parsed.bodies, {"a": 0.5, "b": "x"}, "0-3") == [
        b'{"a":0.5,"pay":1.10,"big":123456789012345678901234567890,"n":{"x": [1, 2.50]},"b":"x","class":"0-3"}'
    ]


BAD = {
    b"": "not JSON",
    b"{": "not JSON",
    b'{"a": NaN}': "not JSON",
    b'{"a": Infinity}': "not JSON",
    b'{"a": 1}{"a": 2}': "not JSON",
    b'{"a": 1},{"a": 2}': "not JSON",
    b"[" * 100_000: "nested more than 256 levels deep",
    b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}": "nested more than 256 levels deep",
    b'{"x": ' + b'[{"y":' * 128 + b"0" + b"}]" * 128 + b"}": "nested more than 256 levels deep",
    b'{"a": 1e400}': "too large",
    b'{"a": 1, "ID": 31415926}': "differs from 'id'",
    b'{"a": 1, " \\u0049d": 31415926}': "differs from 'id'",
    b"[1, 2]": "must be a JSON object",
    b'"31415926"': "must be a JSON object",
    b'{"x": "\xff31415926"}': "not in UTF-8",
    b'{"class": 31415926}': "already",
    b'{"x\\"31415926": 1}': "name of a field",
    b'{"x\\n": 31415926}': "name of a field",
}


@pytest.mark.parametrize("record", BAD, ids=range(len(BAD)))
def test_what_is_no_tuple_is_said_and_others_are_read(record: bytes) -> None:
    parsed = jsonl().parse([b'{"a": 1}', record, b'{"a": 2, "b": "\xc3\xa4"}'])
    assert parsed.good.tolist() == [0, 2]
    assert parsed.columns == {"a": [1, 2], "b": [None, "ä"]}
    ((index, sentence),) = parsed.faults
    assert index == 1
    assert BAD[record] in sentence
    assert SECRET not in sentence


def test_what_is_deep_but_not_too_deep_is_read_also_between_others() -> None:
    deep = b'{"a":1,"b":2,"x":' + b"[" * 255 + b'"[[[' + b"[" * 300 + b'\\""' + b"]" * 255 + b"}"
    wire = jsonl()
    for _ in range(2):
        parsed = wire.parse([b'{"a":1,"b":2,"x":[]}', deep])
        assert parsed.good.tolist() == [0, 1]
    deeper = deep.replace(b"[]", b"[[]]").replace(b":[", b":[[").replace(b"]}", b"]]}")
    assert wire.parse([deeper]).faults[0][1].startswith("the record has lists")


def test_a_tuple_leaves_on_one_line_however_it_came() -> None:
    wire = jsonl()
    parsed = wire.parse([b'{"a": 1,\r\n "x": {\n"y": "1\\n",\r"z": 2}}', b'{"a": 1, "x": "in\na text"}'])
    assert parsed.good.tolist() == [0]
    assert wire.render(parsed.bodies, {"a": 2}, 0) == [b'{"a":2,"x":{ "y": "1\\n", "z": 2},"class":0}']


def test_of_a_name_that_is_there_twice_the_last_counts_and_leaves_alone() -> None:
    parsed = jsonl().parse([b'{"a": 1, "x": 1, "a": 2, "x": 3, "id": 1, "id": 2}'])
    assert parsed.columns["a"] == [2]
    assert jsonl().render(parsed.bodies, {"a": 9}, 0) == [b'{"a":9,"x":3,"class":0}']


values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
names = st.text(st.characters(min_codepoint=32, max_codepoint=9999, blacklist_characters='"\\'))
others = names.filter(lambda name: lookalike([name], ("a", "b", "id")) is None)
objects = st.dictionaries(others, values | st.lists(values) | st.dictionaries(st.text(), values))


@settings(max_examples=30)
@given(st.lists(objects, min_size=1, max_size=5), st.booleans())
def test_objects_leave_as_they_came_but_for_what_is_released(records: list[dict], spaced: bool) -> None:
    for record in records:
        record.pop("class", None)
    written = [json.dumps(one, indent=1 if spaced else None).replace("\n", " ").encode() for one in records]
    parsed = jsonl().parse(written)
    assert not parsed.faults
    assert parsed.columns["a"] == [one.get("a") for one in records]
    left = [json.loads(one) for one in jsonl().render(parsed.bodies, {"a": 1, "b": 2.5}, 4)]
    assert left == [{**{n: v for n, v in one.items() if n != "id"}, "a": 1, "b": 2.5, "class": 4} for one in records]


def test_what_is_read_and_leaves_keeps_its_text() -> None:
    wire = Jsonl(["a", "pay"], [], "class", kept=["pay"])
    parsed = wire.parse([b'{"a": 1, "pay": 1.10}', b'{"pay": 1e999, "a": 2}', b'{"pay": 2.50, "a": 3}', b'{"a": "%d"}'])
    assert parsed.columns == {"a": [1, 3, "%d"], "pay": [1.1, 2.5, None]}
    assert [index for index, _ in parsed.faults] == [1]
    assert wire.render(parsed.bodies, {"a": "%b"}, 0) == [
        b'{"a":"%b","pay":1.10,"class":0}',
        b'{"a":"%b","pay":2.50,"class":0}',
        b'{"a":"%b","class":0}',
    ]


def test_many_kinds_of_records_take_turns() -> None:
    records = [json.dumps({"a": i, f"x{i % 150}%": i, "b": None}).encode() for i in range(600)]
    parsed = jsonl().parse(records)
    assert parsed.columns["a"] == list(range(600))
    left = [json.loads(line) for line in jsonl().render(parsed.bodies, {"a": 1, "b": 2}, 3)]
    assert left == [{"a": 1, f"x{i % 150}%": i, "b": 2, "class": 3} for i in range(600)]


def of(header: bytes, **more: object) -> Csv:
    return Csv(header, ["a", "b"], ["id"], "class", numbers=["a"], **more)  # type: ignore[arg-type]


def test_cells_that_are_not_touched_keep_their_quotes() -> None:
    wire = of(b'\xef\xbb\xbfid,a,"x y",b,z')
    parsed = wire.parse([b'1,31,"p,q",u,007', b'2,"4.5","a ""b""\nc","v,w",', b"3,,x,,\xc3\xa4"])
    assert parsed.columns == {"a": [31, 4.5, None], "b": ["u", "v,w", None]}
    assert wire.head == b'a,"x y",b,z,class'
    assert wire.render(parsed.bodies, {"a": 2.0, "b": 'q,"'}, 1) == [
        b'2.0,"p,q","q,""",007,1',
        b'2.0,"a ""b""\nc","q,""",,1',
        b'2.0,x,"q,""",\xc3\xa4,1',
    ]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"1,2", "2 cells"),
        (b"1,2,3,4", "4 cells"),
        (b'1,"31415926,3', "quote"),
        (b'1,"3"1415926,3', "quote"),
        (b"1,2,3\r1415926", "line break"),
        (b"1,\xff31415926,3", "UTF-8"),
        (b"1,\xff31415926,3,4", "UTF-8"),
    ],
)
def test_lines_that_are_no_records(record: bytes, said: str) -> None:
    parsed = of(b"id,a,b").parse([b"1,2,x", record])
    assert parsed.columns == {"a": [2], "b": ["x"]}
    ((index, sentence),) = parsed.faults
    assert (index, said in sentence, SECRET in sentence) == (1, True, False)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "x", "1,5", "0x10"])
def test_what_is_no_number_stays_text(text: str) -> None:
    cell = f'"{text}"'.encode()
    assert of(b"id,a,b").parse([b"1,2.5,x", b"1," + cell + b",x"]).columns["a"] == [2.5, text]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"id,b", "no column is called 'a'"),
        (b"a,b", "no column is called 'id'"),
        (b"id,a,b,a", "duplicates: 'a'"),
        (b"id,a,b,class", "class"),
        (b"id,a,b,\xff", "not in UTF-8"),
        (b"id,a,b,Id", "differs from 'id' only"),
        (b"Id,a,b", "there are Id, a, b"),
        (b'id,a,"b', "quote"),
    ],
)
def test_headers_that_do_not_fit(header: bytes, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        of(header)


cells = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))


@settings(max_examples=30)
@given(st.lists(st.tuples(cells, st.integers(), cells, cells), min_size=1, max_size=5), st.sampled_from(";,\t"))
def test_lines_leave_as_they_came_but_for_what_is_released(rows: list[tuple], delimiter: str) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\0", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([["id", "a", "b", "rest"], *rows])
    head, *records = text.getvalue().encode().split(b"\0")[:-1]
    wire = of(head, delimiter=delimiter)
    parsed = wire.parse(records)
    assert not parsed.faults
    assert parsed.columns == {"a": [row[1] for row in rows], "b": [row[2] for row in rows]}
    left = [wire.head, *wire.render(parsed.bodies, {"a": math.pi, "b": delimiter}, 4)]
    read = list(csv.reader(io.StringIO(b"\n".join(left).decode(), newline=""), delimiter=delimiter))
    assert read == [["a", "b", "rest", "class"], *([str(math.pi), delimiter, row[3], "4"] for row in rows)]


@pytest.mark.parametrize("other", [b"1.5", b'"31"', b"nan", b"x", b""])
def test_an_integer_beyond_all_floats_stops_nothing(other: bytes) -> None:
    wire = Csv(b"a,x", ["a"], [], "class", numbers=["a"])
    parsed = wire.parse([b"9" * 400 + b",u", other + b",v"])
    assert parsed.good.tolist() == [0, 1]
    assert parsed.columns["a"][0] == int("9" * 400)
