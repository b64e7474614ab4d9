"""SQL table by URL: written under another name, audited, and only then given its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal import progress
from shoal.errors import EngineError, ParameterError
from shoal.io.databases.sql import connected, is_mysql, quoted, said
from shoal.io.databases.tables import StagedTable, TableName, exists_already
from shoal.io.sinks._database import DatabaseSink
from shoal.io.sinks._sql_tables import check_finite, plain, publish, rename, sql_type, undoes_tables, values
from shoal.locations import Url
from shoal.types import Dialect

_ROWS = 1 << 13
#: Texts keep all their characters, and the database distinguishes case and accents.
_MYSQL = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
_OPTIONS: dict[str, Any] = {
    f"{name}_{option}": value for name in ("mysql", "mariadb") for option, value in _MYSQL.items()
}


@dataclass(frozen=True)
class Sql(DatabaseSink):
    """A table in SQLite, PostgreSQL, MySQL or MariaDB; also in Oracle and SQL Server, which are untested.

    **Guarantee.** If the block of :meth:`staged` ends normally, the table exists under its name, complete. If it ends
    with any exception, including KeyboardInterrupt, no table has changed. Without `force` no table is ever replaced,
    not even one that another session creates in the meantime. In SQLite, PostgreSQL and SQL Server everything happens
    in one transaction, so the database is unchanged even if the program is killed. A new SQLite database appears whole,
    as files do.

    **Departures.** MySQL, MariaDB and Oracle create tables outside transactions. There the table is created under a
    random name, ``shoal_…``, which others may see; its rows are in a transaction, so others see none. It gets its name
    in one step, in which an existing table gets a random name and is then dropped. If anything fails, tables with
    random names are dropped. If the program is killed, or the server does not answer, one may remain: a table without
    rows before the audit, with rows after it, or the previous table. Oracle renames one table at a time, so nothing is
    replaced there.

    **Complexity.** O(n) rows, written once and read once; the transaction begins with the first row written, not
    before.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql")

    def _check(self, url: Url, owner: Url, name: TableName, *, force: bool, both: bool = False) -> None:
        with connected(url, write=False) as connection, said(owner, "could not be read"):
            if both and not undoes_tables(connection.dialect):
                raise ParameterError(
                    f"{owner}: this database cannot create two tables in one step. Write to files, SQLite, DuckDB or "
                    "PostgreSQL, or use a release of one table."
                )
            _check_free(connection, owner, name, force=force)

    def _rename(self, staged: StagedTable, name: TableName, *, force: bool) -> None:
        with said(staged.url, "did not accept the table"):
            rename(staged, name, replacing=_check_free(staged.connection, staged.url, name, force=force))

    @contextmanager
    def _held(self, url: Url, name: TableName, *, force: bool, file: Path | None) -> Iterator[StagedTable]:
        hidden, lasting, before = name.hidden, False, None
        try:
            with connected(url, write=True, file=file) as connection:
                lasting = not undoes_tables(connection.dialect)
                table = StagedTable(url.scheme, url, connection, hidden)
                yield table
                before = _publish(table, name, force=force)
        except BaseException:
            if lasting:
                _drop(url, hidden)
            raise
        if before is not None:
            _drop(url, before)

    def write(self, table: pa.Table, staged: StagedTable, dialect: Dialect | None) -> None:
        """Create the table and write its rows in batches."""
        import sqlalchemy as sa

        table, connection = plain(staged.url, table), staged.connection
        _check_names(connection, staged.url, table.column_names)
        database = connection.dialect.name
        if is_mysql(connection.dialect):
            check_finite(staged.url, table)
        columns = [
            sa.Column(field.name, sql_type(field.type, sqlite=database == "sqlite"), key=f"c{i}")
            for i, field in enumerate(table.schema)
        ]
        made = sa.Table(staged.table.name, sa.MetaData(), *columns, schema=staged.table.schema, quote=True, **_OPTIONS)
        with said(staged.url, "did not accept the table"):
            connection.execute(sa.schema.CreateTable(made))
            for start in range(0, table.num_rows, _ROWS):
                part = table.slice(start, _ROWS)
                cells = zip(*(values(column, database) for column in part.columns), strict=True)
                keys = [column.key for column in columns]
                connection.execute(made.insert(), [dict(zip(keys, row, strict=True)) for row in cells])


def _publish(staged: StagedTable, name: TableName, *, force: bool) -> TableName | None:
    """Give the table its name, and commit; return the new name of the previous table, if it still exists."""
    connection, url = staged.connection, staged.url
    try:
        with said(url, "did not accept the table"):
            return publish(staged, name, replacing=_check_free(connection, url, name, force=force))
    finally:
        connection.rollback()  # of uncommitted work


def _drop(url: Url, table: TableName) -> None:
    """Drop a table with a random name; through another connection, since the first may be in any state."""
    import sqlalchemy as sa

    try:
        with connected(url, write=True) as connection:
            if sa.inspect(connection).has_table(table.name, schema=table.schema):
                connection.exec_driver_sql(f"DROP TABLE {quoted(connection, table)}")
    except EngineError:
        progress.say(f"The table {table.name} could not be dropped and may be left in the database. Drop it.")


def _check_free(connection: Any, url: Url, name: TableName, *, force: bool) -> bool:
    """Return whether an existing table may be replaced; raise if it may not."""
    import sqlalchemy as sa

    inspector, (most, unit, size) = sa.inspect(connection), _longest(connection)
    if size(name.name) > most:
        raise ParameterError(f"{url}: the name of a table must have at most {most} {unit}. Choose a shorter one.")
    if name.name in inspector.get_view_names(schema=name.schema):
        raise ParameterError(f"{url}: must be a table, got a view. Choose another name.")
    there = bool(inspector.has_table(name.name, schema=name.schema))
    if there and not force:
        raise exists_already(url)
    return there


def _check_names(connection: Any, url: Url, columns: list[str]) -> None:
    """Raise if names are too long for the database: PostgreSQL would silently truncate them."""
    most, unit, size = _longest(connection)
    if long := [i for i, name in enumerate(columns, 1) if size(name) > most]:
        raise ParameterError(
            f"{url}: names of columns must have at most {most} {unit}; column {long[0]} has more. Rename it."
        )


def _longest(connection: Any) -> tuple[int, str, Callable[[str], int]]:
    """Return the maximum length of a name, its unit, and a function that counts it."""
    if is_mysql(connection.dialect):
        return 64, "characters", len
    return connection.dialect.max_identifier_length, "bytes", lambda name: len(name.encode())
