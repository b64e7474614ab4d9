"""Oracle and SQL Server: the statements that would be sent, without a server to try."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, oracle

import shoal
from shoal.io.databases.tables import StagedTable, TableName
from shoal.io.sinks._sql_tables import publish, sql_type
from shoal.locations import place

TYPES = [pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(12, 2), pa.bool_(), pa.string()]
TYPES += [pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]


class Said:
    """A connection that only remembers."""

    def __init__(self, dialect: Any) -> None:
        self.dialect, self.statements = dialect, []

    def exec_driver_sql(self, statement: str) -> None:
        self.statements.append(statement)

    def execute(self, statement: Any, parameters: dict[str, str]) -> None:
        self.statements.append((str(statement), parameters))

    def commit(self) -> None:
        self.statements.append("COMMIT")


def published(dialect: Any, name: TableName, *, replacing: bool) -> list[Any]:
    connection = Said(dialect)
    staged = StagedTable(dialect.name, place(f"{dialect.name}://h/d").at, connection, TableName("shoal_1", name.schema))
    publish(staged, name, replacing=replacing)
    return connection.statements


def declared(dialect: Any) -> list[str]:
    return [sql_type(kind, sqlite=False).compile(dialect=dialect) for kind in TYPES]


def test_types() -> None:
    numbers = ["SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE PRECISION", "NUMERIC(12, 2)", "BIT", "NVARCHAR(max)"]
    others = ["VARBINARY(max)", "DATE", "DATETIME2(6)", "DATETIMEOFFSET(6)"]
    server = mssql.dialect(deprecate_large_types=True)
    server.server_version_info = (16,)
    assert declared(server) == numbers + others
    numbers = ["SMALLINT", "INTEGER", "NUMBER(19)", "BINARY_FLOAT", "BINARY_DOUBLE", "NUMERIC(12, 2)", "BOOLEAN"]
    others = ["CLOB", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]
    assert declared(oracle.dialect()) == numbers + others


def test_sql_server_does_all_in_one_transaction() -> None:
    drop = ["DROP TABLE [x].[a]]b]", ("EXEC sp_rename :old, :new", {"old": "[x].[shoal_1]", "new": "a]b"}), "COMMIT"]
    assert published(mssql.dialect(), TableName("a]b", "x"), replacing=True) == drop
    assert published(mssql.dialect(), TableName("a]b", "x"), replacing=False) == drop[1:]


def test_oracle_replaces_nothing() -> None:
    rename = ['ALTER TABLE "x"."shoal_1" RENAME TO "a""b"', "COMMIT"]
    assert published(oracle.dialect(), TableName('a"b', "x"), replacing=False) == rename
    with pytest.raises(shoal.ParameterError, match="cannot replace a table in one step"):
        published(oracle.dialect(), TableName("a", "x"), replacing=True)


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("no", name="pyodbc")

    monkeypatch.setattr(sa, "create_engine", none)
    with pytest.raises(shoal.ParameterError, match=r"needs the driver pyodbc\. Install it with pip install pyodbc"):
        shoal.audit_file("mssql://ann:hunter2@host/db?table=t", ["age"])
