"""What SQLite lets happen: values that are not what was declared, files that are no databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.io.sources.sql import Sql
from shoal.locations import place


def made(file: Path, *statements: str) -> str:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return f"sqlite:///{file}"


def read(url: str, table: str = "t") -> pa.Table:
    return Sql(table=table).read(place(f"{url}?table={table}").at)[0]


def test_declared_and_kept(tmp_path: Path) -> None:
    url = made(
        tmp_path / "a.db",
        "CREATE TABLE t (i INT, n NUMERIC(8,2), b BOOLEAN, d DATE, m DATETIME, z TIMESTAMP WITH TIME ZONE, x, "
        "v VARCHAR(9))",
        "INSERT INTO t VALUES (1, 1.1, 1, '2024-01-31', '2024-01-31 08:15:00', '2024-01-31T09:15:00+01:00', 2, '007')",
        "INSERT INTO t VALUES (9007199254740993, 2, 0, NULL, '2024-01-31', NULL, 2.5, NULL)",
    )
    found = read(url)
    kinds = [str(kind) for kind in found.schema.types]
    assert kinds[:4] == ["int64", "decimal128(8, 2)", "bool", "date32[day]"]
    assert kinds[4:] == ["timestamp[us]", "timestamp[us, tz=UTC]", "double", "string"]
    assert found["i"][1].as_py() == 9007199254740993
    assert str(found["n"][0].as_py()) == "1.10"
    assert found["z"][0].as_py().hour == 8


@pytest.mark.parametrize(
    ("declared", "values", "kind"),
    [
        ("DATE", "('31.01.2024'), ('1.2.2024')", "string"),
        ("DATE", "(1706659200), (1706659201)", "int64"),
        ("DATE", "('2024-01-31 08:15:00')", "string"),
        ("BOOLEAN", "(1), (2)", "int64"),
        ("TIMESTAMP", "('2024-01-31T08:15:00Z')", "string"),
        ("TIMESTAMP", "('2024-01-31T08:15:00.123456789')", "string"),
        ("DECIMAL(4,2)", "(123456.789)", "double"),
        ("INTEGER", "(NULL)", "int64"),
        ("REAL", "(1), (2)", "double"),
        ("BLOB", "(x'00ff')", "binary"),
    ],
)
def test_declared_and_not_kept_is_what_it_is(tmp_path: Path, declared: str, values: str, kind: str) -> None:
    url = made(tmp_path / "a.db", f"CREATE TABLE t (x {declared})", f"INSERT INTO t VALUES {values}")
    assert str(read(url).schema.types[0]) == kind


def test_several_kinds_in_one_column_are_refused(tmp_path: Path) -> None:
    url = made(tmp_path / "a.db", "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2), ('31415926x'), (4)")
    with pytest.raises(shoal.DataError) as refused:
        read(url)
    assert str(refused.value).endswith(
        "a.db?table=t: column 'x' must hold values of one kind, got integers (3), texts (1); the last in data row 3. "
        "Make them one kind."
    )


def test_damaged_text_shows_no_value(tmp_path: Path) -> None:
    url = made(tmp_path / "a.db", "CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES (CAST(x'33313431ff' AS TEXT))")
    with pytest.raises(shoal.EngineError, match="could not be read") as refused:
        read(url)
    assert "3141" not in str(refused.value)


def test_what_is_no_database(tmp_path: Path, run: Callable) -> None:
    (tmp_path / "a.db").write_text("hello" * 100)
    (tmp_path / "x.csv").write_text("a\n1\n2\n")
    url = f"sqlite:///{tmp_path}/a.db?table=t"
    for ran in (run("audit", url, "--quasi", "a"), run("protect", tmp_path / "x.csv", "-o", url, "--quasi", "a")):
        assert ran.code == 5
        assert "is not a SQLite database, or is damaged" in ran.err
    assert (tmp_path / "a.db").read_text() == "hello" * 100
    ran = run("audit", f"sqlite:///{tmp_path}?table=t", "--quasi", "a")
    assert (ran.code, "got a folder" in ran.err) == (3, True)


def test_nanoseconds_and_lists_are_refused(tmp_path: Path) -> None:
    fine = pa.table({"a": pa.array([1], pa.timestamp("ns")), "b": pa.array([[1]])})
    with pytest.raises(shoal.DataError) as refused:
        shoal.write_table(fine, f"sqlite:///{tmp_path}/a.db?table=t")
    assert "column 'a' has times finer than a microsecond" in str(refused.value)
    assert "column 'b' must hold numbers, text, booleans, dates or times, got list<" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


VALUES = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    "bool": st.booleans(),
    "date32[day]": st.dates(),
    "timestamp[us]": st.datetimes(),
}
TYPES = dict(
    zip(
        VALUES,
        (pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us")),
        strict=True,
    )
)


@given(data=st.data(), kind=st.sampled_from(sorted(VALUES)))
def test_what_is_written_is_read(data: st.DataObject, kind: str, tmp_path: Path) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=8))
    table = pa.table({"x": pa.array(values, TYPES[kind])})
    url = f"sqlite:///{tmp_path}/a.db?table=t"
    shoal.write_table(table, url, force=True)
    back = Sql(table="t").read(place(url).at)[0]
    assert back["x"].cast(TYPES[kind]).equals(table["x"])
