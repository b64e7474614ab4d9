"""The gate fails closed: whatever is changed in a class of exactly k, it is not released."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable

import pytest

from shoal.errors import GuaranteeError
from shoal.privacy.stream_gate.gate import Gate
from shoal.privacy.stream_gate.read_back import CsvReader, JsonlReader
from shoal.types.stream import Leaving

SECRET = 31415926


def rows() -> list[dict]:
    return [{"age": 30.5, "city": "a,b", "pay": SECRET + i, "class": 0} for i in range(3)]


def as_jsonl(records: list[dict]) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


def as_csv(records: list[dict]) -> list[bytes]:
    return [f'{r["age"]},"{r["city"]}",{r["pay"]},{r["class"]}'.encode() for r in records]


def gate(form: str, k: int = 3) -> tuple[Gate, Callable[[list[dict]], list[bytes]]]:
    if form == "jsonl":
        return Gate(JsonlReader(["age", "city"], ["name", "pid"], "class"), k), as_jsonl
    reader = CsvReader(
        b"pid,age,city,pay,name", b'age,city,pay,"class"', ["age", "city"], ["name", "pid"], "class", ",", '"'
    )
    return Gate(reader, k), as_csv


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_is_as_promised_passes(form: str) -> None:
    check, write = gate(form)
    check.check(Leaving(0, write(rows()), [0, 1, 2]), 0, ["x", "y", 7])
    check.check(Leaving(1, write([{**row, "class": 1} for row in rows()]), [3, 4, 5]), 1)


CHANGES = {
    "a quasi-identifier": lambda records: records[1].update(age=30.6),
    "another": lambda records: records[2].update(city="c"),
    "one tuple less": lambda records: records.pop(),
    "the class of one": lambda records: records[1].update({"class": 7}),
    "the class of all": lambda records: [record.update({"class": 7}) for record in records],
}


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@pytest.mark.parametrize("change", CHANGES)
def test_one_change_and_it_stays(form: str, change: str) -> None:
    check, write = gate(form)
    records = rows()
    CHANGES[change](records)
    with pytest.raises(GuaranteeError, match="Nothing of this step was written") as caught:
        check.check(Leaving(0, write(records), [0, 1, 2]), 0)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"[]",
        b'{"age":30.5}',
        b'{"age":30.5,"city":"a,b","class":0,"pid":1}',
        b'{"age":30.50,"city":"a,b","class":0}',
        b'{"age":31,"age":30.5,"city":"a,b","class":0}',
        b'{"\\u0061ge":31,"age":30.5,"city":"a,b","class":0}',
        b'{"age":30.5,"city":"a,b","class":0,"\\u0063lass":0}',
        b'{"age":30.5,"city":"a,b","x":{\n},"class":0}',
        b'{"age":30.5,"city":"a,b","x":"\xff","class":0}',
        b'{"age":30.5,"city":"a,b","class":0}\n',
    ],
)
def test_text_counts_and_what_must_not_leave_does_not(record: bytes) -> None:
    check, write = gate("jsonl")
    with pytest.raises(GuaranteeError):
        check.check(Leaving(0, [*write(rows())[:2], record], [0, 1, 2]), 0)
    if b"30.50" not in record:
        with pytest.raises(GuaranteeError):
            check.check(Leaving(0, [record] * 3, [0, 1, 2]), 0)


@pytest.mark.parametrize(
    "line", [b'30.5,"a,b",1', b'30.5,"a,b",1,0,5', b'30.5,"a,b,1,0', b'30.5,"a,b",\xff,0', b'30.5,"a,b","1\n2",0\n']
)
def test_lines_that_are_no_tuples(line: bytes) -> None:
    check, write = gate("csv")
    with pytest.raises(GuaranteeError):
        check.check(Leaving(0, [*write(rows())[:2], line], [0, 1, 2]), 0)


def test_a_header_with_a_field_that_must_not_leave() -> None:
    with pytest.raises(GuaranteeError, match="pid"):
        CsvReader(b"age,pid", b"age,pid,class", ["age"], ["pid"], "class", ",", '"')


@pytest.mark.parametrize(
    "subjects", [[1, 2, 2], [1, 1.0, 2], [1, "1", " 1 "], [1, 2, None], [1, 2, float("nan")], [1, 2], ["", 1, 2]]
)
def test_k_counts_subjects(subjects: list) -> None:
    check, write = gate("jsonl")
    with pytest.raises(GuaranteeError):
        check.check(Leaving(0, write(rows()), [0, 1, 2]), 0, subjects)


@pytest.mark.parametrize("record", [b'{"pid":0}', b'["age","pid"]', b'"pid"', b'"\\\\age"', b"9" * 5000])
def test_values_may_say_what_fields_are_called(record: bytes) -> None:
    check, _ = gate("jsonl")
    line = b'{"age":30.5,"city":"a,b","x":%b,"class":0}' % record
    leaving = Leaving(0, [line] * 3, [0, 1, 2])
    check.check(leaving, 0)
    assert check.fields(leaving, ["age", "no"]) == {"age": [30.5] * 3, "no": [None] * 3}
    if len(record) < 1000:
        assert check.fields(leaving, ["x"]) == {"x": [json.loads(record)] * 3}


def test_cells_may_be_long() -> None:
    check, write = gate("csv")
    leaving = Leaving(0, [line.replace(b"3141", b"3" * 200_000) for line in write(rows())], [0, 1, 2])
    before = csv.field_size_limit()
    check.check(leaving, 0)
    assert len(check.fields(leaving, ["pay"])["pay"][0]) > 200_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([0, 1, 1], "one record"),
        ([0, 1], "one record"),
        ([7, 8, 12], "already released"),
        ([3, 8, 9], "already released"),
    ],
)
def test_no_record_leaves_twice(places: list[int], said: str) -> None:
    check, write = gate("jsonl")
    check.check(Leaving(0, write(rows()), [10, 12, 14]), 0)
    check.settle(4)
    again = [{**row, "class": 1} for row in rows()]
    with pytest.raises(GuaranteeError, match=said):
        check.check(Leaving(1, write(again), places), 1)
    check.check(Leaving(1, write(again), [4, 11, 13]), 1)


def test_what_was_done_before_a_restart_does_not_leave() -> None:
    for positions in ([5, 6, 7], [6, 7, 9], [6, 7, 14]):
        check = Gate(JsonlReader(["age", "city"], [], "class"), 3, begin=6, done=b"\x08\x01")  # 9 and 14
        with pytest.raises(GuaranteeError, match="already released"):
            check.check(Leaving(0, as_jsonl(rows()), [60, 70, 80]), 0, positions=positions)
    check.check(Leaving(0, as_jsonl(rows()), [60, 70, 80]), 0, positions=[6, 13, 15])


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_one_tuple_in_the_place_of_another(form: str) -> None:
    came = [{"pid": i, "age": 30 + i, "city": "a,b", "pay": i, "name": f"n{i}"} for i in range(3)]
    records = as_jsonl(came) if form == "jsonl" else [f'{i},{30 + i},"a,b",{i},n{i}'.encode() for i in range(3)]
    check, write = gate(form)
    with pytest.raises(GuaranteeError, match="one record"):
        check.check(Leaving(0, write([rows()[0]] * 3), [0, 1, 2]), 0, records=records)
    equal = [
        record.replace(b'"pay": %d' % i, b'"pay": 7').replace(b",%d,n" % i, b",7,n") for i, record in enumerate(records)
    ]
    check.check(Leaving(0, write([rows()[0]] * 3), [0, 1, 2]), 0, records=equal)


def test_what_is_over_is_not_remembered_for_long() -> None:
    check, _ = gate("jsonl", k=1)
    for number in range(70_000):
        check.check(Leaving(number, [b'{"age":1,"city":"x","class":%d}' % number], [number]), number)
        check.settle(number + 1)
    assert len(check._left) < 66_000
    with pytest.raises(GuaranteeError, match="already released"):
        check.check(Leaving(70_000, [b'{"age":1,"city":"x","class":70000}'], [5]), 70_000)


@pytest.mark.parametrize("number", [1, -1, 5])
def test_numbers_follow_one_another(number: int) -> None:
    check, write = gate("jsonl")
    with pytest.raises(GuaranteeError, match="number"):
        check.check(Leaving(number, write([{**row, "class": number} for row in rows()]), [0, 1, 2]), number)
    check.check(Leaving(0, write(rows()), [0, 1, 2]), 0)
    with pytest.raises(GuaranteeError, match="number"):
        check.check(Leaving(0, write(rows()), [0, 1, 2]), 0)
