"""Values of every plain type become the text that people expect."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.io.sinks._text_cells import to_text
from shoal.types import Dialect

MOMENT = dt.datetime(2020, 7, 1, 12, 30, 5, 120_000)


def text(values: list[Any], kind: Any, dialect: Dialect | None = None) -> list[str | None]:
    column = to_text(pa.table({"x": pa.array(values, kind)}), dialect or Dialect())["x"]
    assert column.type == pa.string()
    return column.to_pylist()


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (
            [1.0, 0.1, -0.0, None, 1.5e10, 1e15, 12345678901.25],
            pa.float64(),
            "1 0.1 0 - 15000000000 1000000000000000 12345678901.25",
        ),
        ([1e16, 1e300, 1e-7, -2.5], pa.float64(), "1e+16 1e+300 1e-7 -2.5"),
        ([0.1, -0.0, 1e10], pa.float32(), "0.1 0 1e+10"),
        ([1.5, -0.0], pa.float16(), "1.5 0"),
        ([math.nan, math.inf], pa.float64(), "nan inf"),
        ([1, -5, None], pa.int8(), "1 -5 -"),
        ([2**64 - 1], pa.uint64(), "18446744073709551615"),
        ([True, False, None], pa.bool_(), "true false -"),
        ([dt.date(2020, 1, 2), None], pa.date32(), "2020-01-02 -"),
        ([dt.date(2020, 1, 2)], pa.date64(), "2020-01-02"),
        (
            [MOMENT, MOMENT.replace(microsecond=0)],
            pa.timestamp("ns"),
            "2020-07-01T12:30:05.12 2020-07-01T12:30:05",
        ),
        ([MOMENT.replace(microsecond=7)], pa.timestamp("us"), "2020-07-01T12:30:05.000007"),
        ([MOMENT.replace(microsecond=0), None], pa.timestamp("s"), "2020-07-01T12:30:05 -"),
        ([MOMENT], pa.timestamp("us", "UTC"), "2020-07-01T12:30:05.12Z"),
        ([MOMENT], pa.timestamp("us", "Europe/Madrid"), "2020-07-01T14:30:05.12+02:00"),
        ([MOMENT.replace(microsecond=0)], pa.timestamp("s", "America/New_York"), "2020-07-01T08:30:05-04:00"),
        ([MOMENT.replace(month=1)], pa.timestamp("ms", "Europe/London"), "2020-01-01T12:30:05.12Z"),
        ([dt.time(1, 2, 3, 500_000), dt.time(1)], pa.time64("us"), "01:02:03.5 01:00:00"),
        ([decimal.Decimal("1.50"), None], pa.decimal128(10, 2), "1.50 -"),
        ([None], pa.null(), "-"),
        (["a"], pa.large_string(), "a"),
        (["a"], pa.string_view(), "a"),
        (["a", None, "a"], pa.dictionary(pa.int8(), pa.string()), "a - a"),
    ],
)
def test_types(values: list[Any], kind: Any, expected: str) -> None:
    assert text(values, kind) == [None if cell == "-" else cell for cell in expected.split()]


def test_decimal_comma() -> None:
    comma = Dialect(delimiter=";", decimal=",")
    assert text([1.5, 2.0, 12345678901.25], pa.float64(), comma) == ["1,5", "2", "12345678901,25"]
    assert text([decimal.Decimal("1.50")], pa.decimal128(10, 2), comma) == ["1,50"]
    assert text(["1.5"], pa.string(), comma) == ["1.5"]


def test_format_of_dates() -> None:
    dialect = Dialect(datetime="%d/%m/%Y")
    assert text([dt.date(2020, 1, 2), None], pa.date32(), dialect) == ["02/01/2020", None]
    assert text([MOMENT], pa.timestamp("us"), dialect) == ["01/07/2020"]


@given(st.lists(st.floats() | st.none(), min_size=1))
def test_floats_read_back_as_the_same_number(values: list[float | None]) -> None:
    for value, cell in zip(values, text(values, pa.float64()), strict=True):
        assert (cell is None) == (value is None)
        if cell is not None and value is not None:
            assert float(cell) == value or math.isnan(value)
            assert not (value == 0 and cell != "0")


def test_chunks() -> None:
    column = pa.chunked_array([[1e10, None], [], [2.5, 3e10]], pa.float64()).slice(1)
    assert to_text(pa.table({"x": column}), Dialect())["x"].to_pylist() == [None, "2.5", "30000000000"]


def test_nested_columns_are_named_all_at_once() -> None:
    table = pa.table({"a": [1], "tags": [["s3cr3t"]], "who": [{"x": "s3cr3t"}], "raw": [b"s3cr3t"]})
    with pytest.raises(DataError) as caught:
        to_text(table, Dialect())
    message = str(caught.value)
    assert all(f"column {name!r}" in message for name in ("tags", "who", "raw"))
    assert "s3cr3t" not in message
    assert "'a'" not in message


def test_no_columns() -> None:
    with pytest.raises(DataError, match="at least one column"):
        to_text(pa.table({}), Dialect())
