"""A table of any SQL database, or what a query finds in it, by URL."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from shoal.io.databases import mysql
from shoal.io.databases.arrow_types import arrow_type
from shoal.io.databases.sql import connected, described, quoted, said
from shoal.io.databases.tables import TableName
from shoal.io.sources._cell_columns import column
from shoal.io.sources._database import DatabaseSource
from shoal.locations import Url


@dataclass(frozen=True)
class Sql(DatabaseSource):
    """A table of any SQL database, or what a query finds in it: ``sqlite:///people.db?table=survey``.

    Columns have the types that the database declares: integers, floats, decimals, truth values, dates, times with and
    without a zone, text. What is declared but not kept (SQLite lets anything be stored) is taken as the values are; a
    column of values of several kinds is refused. Other types, such as JSON, are read as text.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql")

    def _opened(self, url: Url) -> AbstractContextManager[Any]:
        return connected(url, write=False)

    def _read(self, connection: Any, url: Url, name: TableName | None) -> pa.Table:
        wrong = ("could not be read",) if self.query is None else ("the query could not be run", "Check the query")
        with said(url, *wrong):
            columns = [] if name is None else described(connection, url, name)
            if name is None:
                raw = {"no_parameters": True}  # a % in it is a %
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
    """Return the query for a table, with the names as the database writes them."""
    cells = [(quoted(connection, TableName(column)), declared) for column, declared in columns]
    if mysql.is_mysql(connection.dialect):
        cells = [(mysql.selected(cell, declared), declared) for cell, declared in cells]
    return f"SELECT {', '.join(cell for cell, _ in cells)} FROM {quoted(connection, name)}"
