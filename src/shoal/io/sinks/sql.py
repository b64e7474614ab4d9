"""A table of any SQL database, by URL: written under another name, audited, and only then given its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal import progress
from shoal.errors import EngineError, ParameterError
from shoal.io.databases.mysql import is_mysql
from shoal.io.databases.sql import SCHEMES, connected, quoted, said
from shoal.io.databases.tables import StagedTable, TableName, exists_already
from shoal.io.sinks._atomic import atomic
from shoal.io.sinks._publish import publish, rename, undoes_tables
from shoal.io.sinks._sql_types import check_finite, plain, sql_type, values
from shoal.locations import Place, Url
from shoal.parameters import Checked, Param
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


_ROWS = 1 << 13
#: Texts keep all their letters, and two that differ in capitals or accents differ for the database too.
_MYSQL = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
_OPTIONS: dict[str, Any] = {
    f"{name}_{option}": value for name in ("mysql", "mariadb") for option, value in _MYSQL.items()
}


@dataclass(frozen=True)
class Sql(Checked):
    """A table of SQLite, PostgreSQL, MySQL or MariaDB; of Oracle and SQL Server too, which were never tried.

    **Guarantee.** If the block of :meth:`staged` ends normally, the table is there under its name, complete. If it ends
    with any exception, KeyboardInterrupt among them, no table has changed. Without `force` no table is ever replaced,
    not even one that somebody else makes meanwhile. In SQLite, PostgreSQL and SQL Server everything happens in one
    transaction, so that the database is as it was also if the program is killed. A database of SQLite that was not
    there appears whole, as files do.

    **Departures.** MySQL, MariaDB and Oracle make tables at once, whatever the transaction. There the table is made
    under a random name, ``shoal_…``, which others may see; its rows are in a transaction, and others see none. It gets
    its name in one step, in which the one that was there gets a random one and is dropped. If anything fails, what has
    a random name is dropped. If the program is killed, or the server does not answer, it may stay: a table without
    rows before the audit, with them after it, or the one that was there. Oracle renames one table at a time, so
    nothing is replaced there.

    **Complexity.** O(n) rows written and read once more; the transaction begins with the first row written, not
    before.
    """

    schemes: ClassVar[tuple[str, ...]] = SCHEMES
    textual: ClassVar[bool] = False  #: cells become values

    table: Annotated[str | None, Param("The table, or schema.table.")] = None

    @contextmanager
    def staged(self, url: Url, *, force: bool) -> Iterator[StagedTable]:
        """Give a table to write to; on leaving the block it gets its name.

        Raises
        ------
        ParameterError
            If the table is there and `force` is not given, or if it is a view.
        EngineError
            If the database cannot be reached, or does not take it.
        """
        name = TableName.read(url, self.table)
        if url.scheme == "sqlite" and not url.file.exists():
            with atomic(url.file, force=False) as hidden, self._held(url, name, force=force, file=hidden) as table:
                yield table
            return
        with connected(url, write=False) as connection, said(url, "could not be looked at"):
            _check_free(connection, url, name, force=force)
        with self._held(url, name, force=force, file=None) as table:
            yield table

    @contextmanager
    def staged_both(self, url: Url, other: Place, *, force: bool) -> Iterator[tuple[StagedTable, StagedTable]]:
        """Give two tables to write to, in one transaction; on leaving the block both get their names.

        Raises
        ------
        ParameterError
            If the database makes tables at once, whatever the transaction: one of the two could appear alone.
        """
        name, place = TableName.read(other, other.options.get("table")), other.at
        assert isinstance(place, Url)
        if url.scheme != "sqlite" or url.file.exists():
            with connected(url, write=False) as connection, said(place, "could not be looked at"):
                _refuse_at_once(connection, place)
                _check_free(connection, place, name, force=force)
        with self.staged(url, force=force) as first:
            second = replace(first, url=place, table=name.hidden)
            yield first, second
            with said(place, "did not take the table"):  # committed with the first
                rename(second, name, replacing=_check_free(first.connection, place, name, force=force))

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
        """Write the table; a dialect is for text files and has no say here.

        Raises
        ------
        DataError
            If a column is of a type that databases have not.
        EngineError
            If the database does not take it.
        """
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
        with said(staged.url, "did not take the table"):
            connection.execute(sa.schema.CreateTable(made))
            for start in range(0, table.num_rows, _ROWS):
                part = table.slice(start, _ROWS)
                cells = zip(*(values(column, database) for column in part.columns), strict=True)
                keys = [column.key for column in columns]
                connection.execute(made.insert(), [dict(zip(keys, row, strict=True)) for row in cells])


def _publish(staged: StagedTable, name: TableName, *, force: bool) -> TableName | None:
    """Give the table its name, and commit; return what the one that was there is called now, if it still is."""
    connection, url = staged.connection, staged.url
    try:
        with said(url, "did not take the table"):
            return publish(staged, name, replacing=_check_free(connection, url, name, force=force))
    finally:
        connection.rollback()  # of what is not committed


def _drop(url: Url, table: TableName) -> None:
    """Drop a table that has no name to be known by; through another connection, since the first may be in any state."""
    import sqlalchemy as sa

    try:
        with connected(url, write=True) as connection:
            if sa.inspect(connection).has_table(table.name, schema=table.schema):
                connection.exec_driver_sql(f"DROP TABLE {quoted(connection, table)}")
    except EngineError:
        progress.say(f"The table {table.name} could not be dropped and may be left in the database. Drop it.")


def _refuse_at_once(connection: Any, url: Url) -> None:
    """Refuse two tables where a transaction that is undone leaves them."""
    if not undoes_tables(connection.dialect):
        raise ParameterError(
            f"{url}: in this database two tables cannot appear both or neither. Write to files, SQLite, DuckDB or "
            f"PostgreSQL, or take a release of one table."
        )


def _check_free(connection: Any, url: Url, name: TableName, *, force: bool) -> bool:
    """Return whether a table is there that may be replaced; raise if it may not."""
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
    """Raise if names are longer than the database's: PostgreSQL would cut them silently."""
    most, unit, size = _longest(connection)
    if long := [i for i, name in enumerate(columns, 1) if size(name) > most]:
        raise ParameterError(
            f"{url}: names of columns must have at most {most} {unit}, column {long[0]} has more. Rename it."
        )


def _longest(connection: Any) -> tuple[int, str, Callable[[str], int]]:
    """Return how long a name may be, in which unit, and how that is counted."""
    if is_mysql(connection.dialect):
        return 64, "characters", len
    return connection.dialect.max_identifier_length, "bytes", lambda name: len(name.encode())
