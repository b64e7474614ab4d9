"""What MySQL and MariaDB have and others have not: tables that no transaction undoes, and types of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import progress
from shoal.flow.stages.write import open_sink
from shoal.io.databases import sql as mysql
from shoal.io.sinks._sql_tables import sql_type
from shoal.io.sources.sql import Sql
from shoal.locations import place

TABLE = pa.table({"age": pa.array(range(12), pa.int16()), "code": [f"0{i % 4}" for i in range(12)]})


def read(url: str) -> pa.Table:
    at = place(url)
    return Sql(**at.options).read(at.at)[0]


def made(database: Any, columns: str, *rows: str) -> str:
    database.ask(f"CREATE TABLE t ({columns})")
    for row in rows:
        database.ask(f"INSERT INTO t VALUES ({row})")
    return database.at("t")


def test_types(mariadb_database: Any) -> None:
    url = made(
        mariadb_database,
        "a DECIMAL(40,3), b BIGINT UNSIGNED, c INT(10) UNSIGNED, d TINYINT(1), e TINYINT, f BIT(1), g BIT(9), h YEAR, "
        "i FLOAT, j DOUBLE, k ENUM('x','y)'), l JSON, m SET('p','q'), n DATETIME(6), o TIMESTAMP NULL, p TIME, q DATE, "
        "r TINYTEXT, s VARBINARY(9), t MEDIUMINT, u SMALLINT UNSIGNED, v INET6, w POINT, x CHAR(4), y MEDIUMBLOB",
        "1234567890123456789012345678901234567.125, 18446744073709551615, 4294967295, 1, -128, b'1', b'100000001', "
        "2024, 16777215, 0.1, 'y)', '{\"a\": 1}', 'p,q', '2024-01-31 08:15:00.000001', '2024-01-31 08:15:00', "
        "'08:15:00', '1890-01-31', 'Ä', x'00ff', -8388608, 65535, '::1', POINT(1, 2), 'ab', x'01'",
        ", ".join(["NULL"] * 25),
    )
    found = read(url)
    kinds = dict(zip(found.column_names, map(str, found.schema.types), strict=True))
    numbers = ["decimal256(40, 3)", "uint64", "uint32", "bool", "int8", "bool", "uint64", "int16", "float", "double"]
    moments = ["timestamp[us]", "timestamp[us, tz=UTC]", "time64[us]", "date32[day]"]
    rest = ["string", "binary", "int32", "uint16", "string", "binary", "string", "binary"]
    assert list(kinds.values()) == [*numbers, "string", "string", "string", *moments, *rest]
    row = {name: found[name][0].as_py() for name in found.column_names}
    assert row["a"] == Decimal("1234567890123456789012345678901234567.125")
    assert (row["b"], row["c"], row["d"], row["e"], row["f"], row["g"]) == (2**64 - 1, 2**32 - 1, True, -128, True, 257)
    assert (row["h"], row["i"], row["j"], row["k"], row["m"]) == (2024, 16777215.0, 0.1, "y)", "p,q")
    assert (row["n"], row["p"], row["q"]) == (datetime(2024, 1, 31, 8, 15, 0, 1), time(8, 15), date(1890, 1, 31))
    assert (row["r"], row["s"], row["x"]) == ("Ä", b"\0\xff", "ab")
    assert all(found[name][1].as_py() is None for name in found.column_names)


@pytest.mark.parametrize(
    ("declared", "values", "kind"),
    [
        ("TINYINT(1)", ["0", "7"], "int64"),  # no truth values
        ("TIME", ["'-01:00:00'", "'100:00:00'"], "duration[us]"),  # no times of day
    ],
)
def test_declared_and_not_kept_is_what_it_is(mariadb_database: Any, declared: str, values: list, kind: str) -> None:
    assert str(read(made(mariadb_database, f"x {declared}", *values)).schema.types[0]) == kind


def test_a_query_has_the_types_of_a_table(mariadb_database: Any) -> None:
    columns = "d DATE, m DATETIME, z TIMESTAMP NULL, c TIME, s VARCHAR(9)"
    made(mariadb_database, columns, "'2024-01-31', '2024-01-31', '2024-01-31', '08:15:00', '5%'")
    found = read(f"{mariadb_database.url}?query=SELECT * FROM t WHERE s LIKE '5%25'")
    assert found.equals(read(mariadb_database.at("t")))


@pytest.mark.parametrize("query", [False, True])
@pytest.mark.parametrize("declared", ["DATE", "DATETIME"])
def test_zero_dates_are_neither_dates_nor_missing(mariadb_database: Any, declared: str, query: bool) -> None:
    url = made(mariadb_database, f"born {declared}", "'2024-01-31'", "'0000-00-00'", "NULL", "'2024-00-00'")
    with pytest.raises(shoal.DataError) as refused:
        read(f"{mariadb_database.url}?query=SELECT born FROM t" if query else url)
    assert str(refused.value).endswith(
        ": column 'born' holds dates that do not exist, such as those with year or month 0, in data rows 2, 4. "
        "Replace them by NULL, there or in a query."
    )


def test_values_that_are_alike_are_neither_merged_nor_split(mariadb_database: Any) -> None:
    """A collation that takes capitals, accents or blanks at the end for nothing has no say in classes."""
    words = ["ann", "Ann", "ann ", "änn", "ß", "ss", "😀", "", " ", "a\\b'c\"%s"] * 3
    url = made(mariadb_database, "age INT, word VARCHAR(20) COLLATE utf8mb4_general_ci")
    mariadb_database.ask("INSERT INTO t SELECT seq, '' FROM seq_0_to_29")
    shoal.write_table(pa.table({"age": range(30), "word": words}), mariadb_database.at("w"))
    mariadb_database.ask("UPDATE t JOIN w USING (age) SET t.word = w.word")
    assert read(url)["word"].to_pylist() == words
    done = shoal.protect_file(url, mariadb_database.at("safe"), {"quasi": ["word"], "k": 3, "method": "mdav"})
    assert done.audit.overall.achieved == 3
    counted = mariadb_database.ask("SELECT count(*) FROM safe GROUP BY BINARY word")
    assert [row[0] for row in counted] == [3] * 10
    assert read(mariadb_database.at("safe"))["word"].to_pylist() == words


def test_what_is_cut_silently_is_noticed(mariadb_database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a server that is not strict nor one column that is too short lets a changed release out."""
    import sqlalchemy as sa

    monkeypatch.setattr(mysql, "WRITING", ("SET SESSION sql_mode = ''",))
    pay = pa.array([i + 0.25 for i in range(12)])  # rounded to integers it would be as if cut by Arrow
    shoal.write_table(TABLE.append_column("pay", pay), mariadb_database.at("t"))
    short = {"string": sa.String(1), "double": sa.SmallInteger()}
    for kind, sql in short.items():
        usual = sql_type

        def cut(one: Any, *, sqlite: bool, kind: str = kind, sql: Any = sql, usual: Any = usual) -> Any:
            return sql if str(one) == kind else usual(one, sqlite=sqlite)

        with monkeypatch.context() as patch:
            patch.setattr("shoal.io.sinks.sql.sql_type", cut)
            with pytest.raises(shoal.GuaranteeError, match="changed on its way"):
                shoal.protect_file(mariadb_database.at("t"), mariadb_database.at("safe"), {"quasi": ["age"], "k": 5})
    assert mariadb_database.tables() == {"t"}


@pytest.fixture
def lax(mariadb_database: Any) -> Iterator[None]:
    """A server that is not strict."""
    (usual,) = mariadb_database.ask("SELECT @@global.sql_mode")
    mariadb_database.ask("SET GLOBAL sql_mode = ''")
    yield
    mariadb_database.ask(f"SET GLOBAL sql_mode = '{usual[0]}'")


@pytest.mark.usefixtures("lax")
def test_a_strict_session_refuses_what_does_not_fit(mariadb_database: Any) -> None:
    early = pa.table({"a": pa.array([datetime(1900, 1, 1)], pa.timestamp("us", "UTC"))})
    with pytest.raises(shoal.EngineError, match="times with a zone from 1970 to 2038 only"):
        shoal.write_table(early, mariadb_database.at("t"))
    with pytest.raises(shoal.DataError, match="column 'a' must hold finite numbers"):
        shoal.write_table(pa.table({"a": [1.0, float("inf"), None]}), mariadb_database.at("t"))
    with pytest.raises(shoal.EngineError, match="differ by more than upper and lower case"):
        shoal.write_table(pa.table({"a": [1], "A": [2]}), mariadb_database.at("t"))
    with pytest.raises(shoal.ParameterError, match="at most 64 characters; column 1 has more"):
        shoal.write_table(pa.table({"a" * 65: [1]}), mariadb_database.at("t"))
    assert mariadb_database.tables() == set()


def test_nobody_sees_rows_before_the_audit(mariadb_database: Any) -> None:
    target = place(mariadb_database.at("safe"))
    sink = open_sink(target)
    with sink.staged(target.at, force=False) as hidden:
        sink.write(TABLE, hidden, None)
        (name,) = mariadb_database.tables()
        assert name.startswith("shoal_")
        assert mariadb_database.ask(f"SELECT count(*) FROM {name}") == [(0,)]
        assert Sql().read(hidden)[0].num_rows == 12
    assert mariadb_database.tables() == {"safe"}
    assert mariadb_database.ask("SELECT count(*) FROM safe") == [(12,)]


@pytest.mark.parametrize("scheme", ["mariadb", "mysql+pymysql", "mariadb+pymysql"])
def test_all_its_names(mariadb_database: Any, scheme: str) -> None:
    url = mariadb_database.at("safe").replace("mysql:", f"{scheme}:")
    fine = pa.table({"at": pa.array([datetime(2024, 1, 1, 0, 0, 0, 1)]), "word": ["Ä" * 70_000]})
    for force in (False, True):
        shoal.write_table(fine, url, force=force)
        assert read(url).equals(fine)
    ((collation,),) = mariadb_database.ask(
        "SELECT table_collation FROM information_schema.tables WHERE table_name = 'safe'"
    )
    assert collation == "utf8mb4_bin"
    assert mariadb_database.tables() == {"safe"}


def test_rights_and_views_are_of_the_name(mariadb_database: Any) -> None:
    shoal.write_table(TABLE, mariadb_database.at("safe"))
    mariadb_database.ask("CREATE VIEW seen AS SELECT age FROM safe")
    role = "r" + mariadb_database.url[-12:]
    mariadb_database.ask(f"CREATE ROLE {role}")
    mariadb_database.ask(f"GRANT SELECT ON safe TO {role}")
    shoal.write_table(TABLE.slice(0, 5), mariadb_database.at("safe"), force=True)
    assert mariadb_database.ask("SELECT count(*) FROM seen") == [(5,)]
    assert any("`safe`" in row[0] for row in mariadb_database.ask(f"SHOW GRANTS FOR {role}"))
    assert mariadb_database.tables() == {"safe", "seen"}
    with pytest.raises(shoal.ParameterError, match="got a view"):
        shoal.write_table(TABLE, mariadb_database.at("seen"), force=True)
    mariadb_database.ask(f"DROP ROLE {role}")


def test_keys_of_other_tables(mariadb_database: Any) -> None:
    mariadb_database.ask("CREATE TABLE safe (age INT PRIMARY KEY)")
    mariadb_database.ask("CREATE TABLE other (age INT, FOREIGN KEY (age) REFERENCES safe (age))")
    with pytest.raises(shoal.ParameterError, match="because keys of other tables refer to it"):
        shoal.write_table(TABLE, mariadb_database.at("safe"), force=True)
    assert mariadb_database.tables() == {"safe", "other"}


def test_what_cannot_be_dropped_is_said(mariadb_database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.write_table(TABLE, mariadb_database.at("t"))
    monkeypatch.setattr("shoal.flow.protect.protect.gate", lambda *_: (_ for _ in ()).throw(shoal.GuaranteeError("no")))
    monkeypatch.setattr("shoal.io.sinks.sql.quoted", lambda *_: "`not there`")
    heard = Mock()
    with progress.listening(heard), pytest.raises(shoal.GuaranteeError):
        shoal.protect_file(
            mariadb_database.at("t"), mariadb_database.at("safe"), {"quasi": ["age"], "k": 3, "method": "mdav"}
        )
    (left,) = mariadb_database.tables() - {"t"}
    heard.say.assert_called_once_with(
        f"The table {left} could not be dropped and may be left in the database. Drop it."
    )


def test_schemas_and_odd_names(mariadb_database: Any) -> None:
    other = mariadb_database.url.rpartition("/")[2] + "x"
    mariadb_database.ask(f"CREATE DATABASE {other}")
    odd = TABLE.rename_columns(['50% `of` "it"', "ä:b"])
    for name in (f"{other}.survey", '"a.b"', '"100%25 `x` ""y"""'):
        shoal.write_table(odd, mariadb_database.at(name))
        shoal.write_table(odd, mariadb_database.at(name), force=True)
        assert read(mariadb_database.at(name)).equals(odd)
    assert mariadb_database.tables() == {"a.b", '100% `x` "y"'}
    mariadb_database.ask(f"DROP DATABASE {other}")
    with pytest.raises(shoal.EngineError, match="there is no such database"):
        shoal.write_table(TABLE, mariadb_database.at(f"{other}.survey"))


def test_in_use_by_somebody_else(mariadb_database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pymysql
    from sqlalchemy import make_url

    monkeypatch.setattr(mysql, "SESSION", (*mysql.SESSION, "SET SESSION lock_wait_timeout = 1"))
    shoal.write_table(TABLE.select(["age"]), mariadb_database.at("safe"))
    url = make_url(mariadb_database.url)
    login = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    with pymysql.connect(**login, database=url.database) as reader:
        reader.cursor().execute("SELECT * FROM safe")
        with pytest.raises(shoal.EngineError, match="is in use by another program"):
            shoal.write_table(TABLE, mariadb_database.at("safe"), force=True)
    assert mariadb_database.tables() == {"safe"}
    assert read(mariadb_database.at("safe")).column_names == ["age"]


def test_passwords_are_never_shown(mariadb_database: Any, run: Callable, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("age\n1\n2\n")
    wrong = mariadb_database.at("safe").replace("hunter2", "31415926")
    for command in (["audit", wrong, "--quasi", "age"], ["protect", table, "-o", wrong, "--quasi", "age"]):
        ran = run(*command)
        assert (ran.code, "31415926" in ran.out + ran.err, "Traceback" in ran.err) == (5, False, False)


VALUES = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(st.characters(codec="utf-8")),
    "binary": st.binary(),
    "bool": st.booleans(),
    "date32[day]": st.dates(),
    "timestamp[us]": st.datetimes(),
    "time64[us]": st.times(),
    "decimal128(38, 20)": st.decimals(-(10**17), 10**17, places=20),
}
TYPES = [pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.date32(), pa.timestamp("us")]
TYPES += [pa.time64("us"), pa.decimal128(38, 20)]


@given(data=st.data())
@settings(max_examples=12)
def test_what_is_written_is_read(data: st.DataObject, mariadb_database: Any) -> None:
    columns = [data.draw(st.lists(st.none() | VALUES[str(kind)], min_size=8, max_size=8)) for kind in TYPES]
    table = pa.table([pa.array(x, kind) for x, kind in zip(columns, TYPES, strict=True)], names=list(VALUES))
    shoal.write_table(table, mariadb_database.at("t"), force=True)
    back = read(mariadb_database.at("t"))
    for name, kind in zip(table.column_names, TYPES, strict=True):
        assert back[name].cast(kind).equals(table[name]), name
