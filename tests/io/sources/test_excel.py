"""Workbooks: cells are what Excel says they are, and what could be read in two ways is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.io.sinks import excel as sink
from shoal.io.sources.excel import Excel

openpyxl = pytest.importorskip("openpyxl")


def book(path: Path, *rows: list[Any], change: Callable[[Any], None] = lambda sheet: None, title: str = "Data") -> Path:
    made = openpyxl.Workbook()
    made.active.title = title
    for row in rows:
        made.active.append(row)
    change(made.active)
    made.save(path)
    return path


def read(path: Path, sheet: str | None = None) -> pa.Table:
    table, dialect = Excel(sheet=sheet).read(path)
    assert dialect is None
    return table


def test_kinds_of_cells(tmp_path: Path) -> None:
    path = book(
        tmp_path / "a.xlsx",
        ["code", "age", "pay", "born", "seen", "at", "sick", 2024, "none"],
        ["007", 31, 1, date(1990, 1, 31), datetime(2024, 1, 31, 8, 15, 30, 250000), time(8, 15), True, 1.5, None],
        [None, 44, 2.5, None, datetime(2024, 2, 1), None, False, None, None],
        ["", None, None, date(1991, 1, 1), None, None, None, None, None],
    )
    found = read(path)
    kinds = {field.name: str(field.type) for field in found.schema}
    assert kinds == {
        "code": "string",
        "age": "int64",
        "pay": "double",
        "born": "date32[day]",
        "seen": "timestamp[ms]",
        "at": "time64[us]",
        "sick": "bool",
        "2024": "double",
        "none": "string",
    }
    assert found["code"].to_pylist()[0] == "007"
    assert found["seen"].to_pylist()[0] == datetime(2024, 1, 31, 8, 15, 30, 250000)
    assert found["age"].to_pylist() == [31, 44, None]


def test_midnight_is_a_time_where_it_is_shown_as_one(tmp_path: Path) -> None:
    def show(sheet: Any) -> None:
        sheet["A2"].number_format = "yyyy-mm-dd hh:mm"

    path = book(tmp_path / "a.xlsx", ["seen"], [datetime(2024, 1, 31)], change=show)
    assert str(read(path).schema.types[0]) == "timestamp[ms]"


def test_what_is_empty_at_the_edges_is_not_read(tmp_path: Path) -> None:
    def style(sheet: Any) -> None:
        sheet["D9"].font = openpyxl.styles.Font(bold=True)

    found = read(book(tmp_path / "a.xlsx", ["a", "b"], [1, 2], [3, None], [None, None], change=style))
    assert found.to_pydict() == {"a": [1, 3], "b": [2, None]}


def formula(sheet: Any) -> None:
    sheet["B3"] = "=A3*2"


def error(sheet: Any) -> None:
    sheet["B3"] = "#DIV/0!"


def merged(sheet: Any) -> None:
    sheet.merge_cells("A1:B1")


ROWS = [["a", "b"], [1, 2], [3, 4], [5, 6]]
REFUSED = {
    "a.xlsx: every formula must have a computed value; not computed: 1. Open the workbook in Excel, and "
    "save it again.": (
        ROWS,
        formula,
    ),
    "a.xlsx: column 'b' holds Excel errors (1), in data row 2. Correct these cells, or clear them if the "
    "values are missing.": (ROWS, error),
    "a.xlsx: the sheet must have no merged cells, got 1 merged ranges. Unmerge them, and give every column one name "
    "in the first row.": (ROWS, merged),
    "a.xlsx: column 'b' must hold values of one kind, got integers (2), texts (1); the last in data row 3. Make them "
    "one kind.": ([*ROWS[:3], [5, "31415926"]], lambda sheet: None),
    "a.xlsx: every row must hold a record; 2 are empty: data rows 2, 4. Delete them.": (
        [*ROWS[:2], [], ROWS[2], [None, None], ROWS[3]],
        lambda sheet: None,
    ),
    "a.xlsx: every column must have a name; column 2 is unnamed. Name it.": ([["a"], [1, 2]], lambda sheet: None),
    "a.xlsx: must have at least one row, got none. Check that it is the right file.": (
        [["a", "b"]],
        lambda sheet: None,
    ),
    "a.xlsx: must hold a header and rows, got an empty sheet. Check that it is the right one.": (
        [],
        lambda sheet: None,
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused(tmp_path: Path, sentence: str) -> None:
    rows, change = REFUSED[sentence]
    path = book(tmp_path / "a.xlsx", *rows, change=change)
    with pytest.raises(shoal.ShoalError) as refused:
        read(path)
    assert str(refused.value) == sentence


def test_a_formula_counts_as_its_value(tmp_path: Path) -> None:
    import zipfile

    path = book(tmp_path / "a.xlsx", *ROWS, change=formula)
    other = tmp_path / "b.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith("sheet1.xml"):
                assert b"<v />" in text or b"<v/>" in text
                text = text.replace(b"<v />", b"<v>6</v>").replace(b"<v/>", b"<v>6</v>")
            new.writestr(name, text)
    assert read(other).to_pydict() == {"a": [1, 3, 5], "b": [2, 6, 6]}


def test_several_sheets(tmp_path: Path, run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = openpyxl.Workbook()
    made.active.title = "Notes & more"
    made.active.append(["read me"])
    made.create_sheet("Data").append(["a"])
    for i in range(6):
        made["Data"].append([i])
    made.save("a.xlsx")
    ran = run("protect", "a.xlsx", "-o", "b.xlsx", "--quasi", "a", "--k", "3")
    assert ran.code == 2
    assert "the sheet must be named; there are Notes & more, Data." in ran.err
    assert run("audit", "a.xlsx?sheet=Dat", "--quasi", "a").code == 2
    assert run("audit", "a.xlsx?sheets=Data", "--quasi", "a").code == 2
    assert run("protect", "a.xlsx?sheet=Data", "-o", "b.xlsx?sheet=Safe", "--quasi", "a", "--k", "3").code == 0
    assert openpyxl.load_workbook("b.xlsx").sheetnames == ["Safe"]
    assert run("audit", "b.xlsx?sheet=Safe", "--quasi", "a", "--require", "k=3").code == 0
    assert run("compare", "a.xlsx?sheet=Data", "b.xlsx", "--columns", "a").code == 0


def test_what_is_no_workbook(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("hello")
    whole = book(tmp_path / "b.xlsx", *ROWS).read_bytes()
    (tmp_path / "c.xlsx").write_bytes(whole[: len(whole) // 2])
    for name in ("a.xlsx", "c.xlsx"):
        with pytest.raises(shoal.DataError, match="is not an Excel workbook, is damaged, or has a password"):
            read(tmp_path / name)
    with pytest.raises(shoal.DataError, match="there is no such file"):
        read(tmp_path / "none.xlsx")


LIMITS = {
    "text of at most 32,767 characters": pa.array(["a", "x" * 32_768]),
    "text that is not empty, because a sheet shows empty text as missing": pa.array(["a", ""]),
    "text without line breaks and control characters": pa.array(["a", "x\r\ny"]),
    "integers of at most 15 digits": pa.array([1, 2**53 + 1]),
    "decimals of at most 15 digits": pa.array([None, Decimal("1.5")], pa.decimal128(20, 1)),
    "finite numbers": pa.array([1.0, float("inf")]),
    "days from 1 March 1900 on": pa.array([date(1950, 1, 1), date(1899, 12, 31)]),
    "times of whole milliseconds": pa.array([0, 10**15 + 1], pa.timestamp("us")).cast(pa.timestamp("ns")),
}


@pytest.mark.parametrize("allowed", LIMITS)
def test_limits(tmp_path: Path, allowed: str) -> None:
    column = LIMITS[allowed]
    if "moments" in allowed:
        column = pa.array([10**15, 10**15 + 1], pa.timestamp("us"))
    with pytest.raises(shoal.DataError) as refused:
        shoal.write_table(pa.table({"x": column}), tmp_path / "a.xlsx")
    assert f"in Excel column 'x' must hold {allowed}; 1 are not, in data row 2." in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_would_be_blank_are_not_written(tmp_path: Path) -> None:
    for columns, message in (
        ({"x": [1, None, 3, None], "y": ["a", None, None, None]}, "2 are empty, in data rows 2, 4"),
        ({"x": [1, None, 3, None]}, "1 are empty, in data row 4"),
        ({"x": pa.nulls(2, pa.string())}, "2 are empty, in data rows 1, 2"),
    ):
        with pytest.raises(shoal.DataError, match=message):
            shoal.write_table(pa.table(columns), tmp_path / "a.xlsx")
    shoal.write_table(pa.table({"x": [1, None, 3]}), tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx")["x"].to_pylist() == [1, None, 3]


def test_zones_and_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(shoal.DataError, match="has a time zone, which Excel does not support"):
        shoal.write_table(pa.table({"x": pa.array([0], pa.timestamp("s", "UTC"))}), tmp_path / "a.xlsx")
    monkeypatch.setattr(sink, "_ROWS", 4)
    shoal.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "a.xlsx")
    with pytest.raises(shoal.DataError, match=r"at most 3 rows below the header and 16,384 columns, got 4 and 1\."):
        shoal.write_table(pa.table({"x": [1, 2, 3, 4]}), tmp_path / "b.xlsx")
    with pytest.raises(shoal.ParameterError, match="sheet must have 1 to 31 characters"):
        shoal.write_table(pa.table({"x": [1]}), f"{tmp_path}/b.xlsx?sheet=a/b")


TEXT = st.text(
    st.characters(codec="utf-8", min_codepoint=32, exclude_characters="\ufffe\uffff\x7f"), min_size=1, max_size=9
)
DAYS = st.dates(date(1900, 3, 1))
MOMENTS = st.datetimes(datetime(1900, 3, 1), datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


@settings(max_examples=30)
@given(
    texts=st.lists(TEXT | st.none(), min_size=4, max_size=4),
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4),
    days=st.lists(DAYS, min_size=4, max_size=4),
    moments=st.lists(MOMENTS, min_size=4, max_size=4),
)
def test_what_is_written_is_read(texts: Any, numbers: Any, days: Any, moments: Any, tmp_path: Path) -> None:
    table = pa.table(
        {
            "t": pa.array(texts, pa.string()),
            "n": numbers,
            "d": days,
            "m": pa.array(moments, pa.timestamp("ms")),
            "=A1": ["=1+1", "#N/A", "00", "1"],
        }
    )
    shoal.write_table(table, tmp_path / "a.xlsx", force=True)
    back = read(tmp_path / "a.xlsx")
    assert back["n"].cast(pa.float64(), safe=False).equals(table["n"])  # whole numbers come back as integers
    assert back.drop_columns("n").equals(table.drop_columns("n"))
