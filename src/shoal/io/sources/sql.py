"""SQL table or query result by URL."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from shoal.io.databases import sql as mysql
from shoal.io.databases.sql import connected, described, quoted, said
from shoal.io.databases.tables import TableName
from shoal.io.sources._cell_columns import column
from shoal.io.sources._database import DatabaseSource
from shoal.locations import Url

_DECLARED = re.compile(r"^\s*(?P<name>[A-Z0-9_ ]*[A-Z0-9_])\s*(?:\((?P<sizes>[^)]*)\))?\s*(?P<more>[A-Z ]*)$")
_NAMES = {
    pa.int16(): ("SMALLINT", "INT2", "TINYINT"),
    pa.int32(): ("INTEGER", "INT", "INT4", "MEDIUMINT", "SERIAL"),
    pa.int64(): ("BIGINT", "INT8", "BIGSERIAL"),
    pa.float32(): ("REAL", "FLOAT4"),
    pa.float64(): ("DOUBLE PRECISION", "DOUBLE", "FLOAT8", "FLOAT"),
    pa.bool_(): ("BOOLEAN", "BOOL"),
    pa.date32(): ("DATE",),
    pa.time64("us"): ("TIME",),
    pa.duration("us"): ("INTERVAL",),
    pa.string(): (
        "TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "CLOB", "CHARACTER VARYING", "CHARACTER", "LONGTEXT",
        "MEDIUMTEXT", "TINYTEXT",
    ),
    pa.binary(): ("BLOB", "BYTEA", "LONGBLOB", "VARBINARY", "BINARY", "MEDIUMBLOB", "TINYBLOB"),
}  # fmt: skip
_TYPES = {name: kind for kind, names in _NAMES.items() for name in names}
_DECIMALS = ("DECIMAL", "NUMERIC", "DECIMALTEXT", "NUMBER")


def arrow_type(declared: str, database: str) -> pa.DataType | None:
    """Return the Arrow type for a declared type, or None if only the values can tell.

    In SQLite an integer has 64 bits and a float is a double, whatever its name. `database` is SQLAlchemy's name.

    >>> arrow_type("NUMERIC(10, 2)", "postgresql")
    Decimal128Type(decimal128(10, 2))
    >>> arrow_type("timestamp with time zone", "postgresql")
    TimestampType(timestamp[us, tz=UTC])
    """
    if database in ("mysql", "mariadb") and (own := mysql.arrow_type(declared)) is not None:
        return own
    return _of_any(declared, sqlite=database == "sqlite")


def _of_any(declared: str, *, sqlite: bool) -> pa.DataType | None:
    found = _DECLARED.match(declared.upper())
    if found is None:
        return None
    name, more = found["name"], found["more"]
    sizes = [int(size) for size in re.findall(r"\d+", found["sizes"] or "")]
    if name in _DECIMALS:
        return _decimal(sizes)
    if name.startswith(("TIMESTAMP", "DATETIME")):
        zoned = "WITH TIME ZONE" in f"{name} {more}" or name == "TIMESTAMPTZ"
        return pa.timestamp("us", "UTC" if zoned else None)
    kind = _TYPES.get(name)
    if sqlite and name in _TYPES:
        kind = pa.int64() if pa.types.is_integer(kind) else pa.float64() if pa.types.is_floating(kind) else kind
    return kind


def _decimal(sizes: list[int]) -> pa.DataType | None:
    if not sizes or not 1 <= sizes[0] <= 76:
        return None
    scale = sizes[1] if len(sizes) > 1 else 0
    return pa.decimal128(sizes[0], scale) if sizes[0] <= 38 else pa.decimal256(sizes[0], scale)


@dataclass(frozen=True)
class Sql(DatabaseSource):
    """A table in any SQL database, or the result of a query: ``sqlite:///people.db?table=survey``.

    Columns have the types that the database declares: integers, floats, decimals, booleans, dates, times with and
    without a zone, text. Values that do not match their declaration (SQLite can store anything anywhere) keep their own
    type; a column with values of several kinds is refused. Other types, such as JSON, are read as text.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql")

    def _opened(self, url: Url) -> AbstractContextManager[Any]:
        return connected(url, write=False)

    def _read(self, connection: Any, url: Url, name: TableName | None) -> pa.Table:
        wrong = ("could not be read",) if self.query is None else ("the query could not be run", "Check the query")
        with said(url, *wrong):
            columns = [] if name is None else described(connection, url, name)
            if name is None:
                raw = {"no_parameters": True}  # a % in it is literal
                result = connection.exec_driver_sql(self.query, execution_options=raw)
            else:
                result = connection.exec_driver_sql(_select(connection, name, columns))
            names = [column for column, _ in columns] or list(result.keys())
            ours = mysql.is_mysql(connection.dialect)
            found = mysql.types_found(result.cursor) if ours else [None] * len(names)
            rows = result.fetchall()
        held: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        kinds = [arrow_type(text, connection.dialect.name) for _, text in columns] or found
        if ours:
            held = [mysql.values(url, *one) for one in zip(names, held, kinds, strict=True)]
        arrays = [column(url, title, cells, kind) for title, cells, kind in zip(names, held, kinds, strict=True)]
        return pa.Table.from_arrays(arrays, names=names)


def _select(connection: Any, name: TableName, columns: list[tuple[str, str]]) -> str:
    """Return the query for a table, with quoted names."""
    cells = [(quoted(connection, TableName(column)), declared) for column, declared in columns]
    if mysql.is_mysql(connection.dialect):
        cells = [(mysql.selected(cell, declared), declared) for cell, declared in cells]
    return f"SELECT {', '.join(cell for cell, _ in cells)} FROM {quoted(connection, name)}"
