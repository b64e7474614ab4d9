"""A table of an SQL database, by URL: written in a transaction, audited, and only then given its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.databases.sql import code, connected, said
from shoal.databases.tables import StagedTable, TableName, exists_already
from shoal.errors import ParameterError
from shoal.parameters import Checked, Param
from shoal.places import Place, Url
from shoal.sinks._inherited import inherit
from shoal.sinks._sql_types import plain, sql_type, values
from shoal.sinks.atomic import atomic
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 13
_TAKEN = ("42P07", "23505", "42710")  # PostgreSQL, when somebody else was faster


@dataclass(frozen=True)
class Sql(Checked):
    """A table of a database whose transactions hold the making of tables too: SQLite and PostgreSQL.

    **Guarantee.** If the block of :meth:`staged` ends normally, the table is there under its name, complete. If it ends
    with any exception, KeyboardInterrupt among them, or if the program is killed, the database is as it was: everything
    happens in one transaction. A database of SQLite that was not there appears whole, as files do. Without `force` no
    table is ever replaced, not even one that somebody else makes meanwhile.

    **Complexity.** O(n) rows written and read once more; the transaction begins with the first row written, not
    before.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite", "postgresql", "postgres")
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
        """Give two tables to write to, in one transaction; on leaving the block both get their names."""
        name, place = TableName.read(other, other.options.get("table")), other.at
        assert isinstance(place, Url)
        if url.scheme != "sqlite" or url.file.exists():
            with connected(url, write=False) as connection, said(place, "could not be looked at"):
                _check_free(connection, place, name, force=force)
        with self.staged(url, force=force) as first:
            second = replace(first, url=place, table=name.hidden)
            yield first, second
            with said(place, "did not take the table"):
                _rename(second, name, force=force)  # committed with the first

    @contextmanager
    def _held(self, url: Url, name: TableName, *, force: bool, file: Path | None) -> Iterator[StagedTable]:
        with connected(url, write=True, file=file) as connection:
            table = StagedTable(url.scheme, url, connection, name.hidden)
            yield table
            _publish(table, name, force=force)

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
        sqlite = staged.scheme == "sqlite"
        columns = [
            sa.Column(field.name, sql_type(field.type, sqlite=sqlite), key=f"c{i}")
            for i, field in enumerate(table.schema)
        ]
        made = sa.Table(staged.table.name, sa.MetaData(), *columns, schema=staged.table.schema, quote=True)
        with said(staged.url, "did not take the table"):
            connection.execute(sa.schema.CreateTable(made))
            for start in range(0, table.num_rows, _ROWS):
                part = table.slice(start, _ROWS)
                cells = zip(*(values(column, sqlite=sqlite) for column in part.columns), strict=True)
                keys = [column.key for column in columns]
                connection.execute(made.insert(), [dict(zip(keys, row, strict=True)) for row in cells])


def _publish(staged: StagedTable, name: TableName, *, force: bool) -> None:
    """Give the table its name, in place of one that was there, and commit."""
    connection, url = staged.connection, staged.url
    try:
        with said(url, "did not take the table"), _if_taken(url):
            _rename(staged, name, force=force)
            connection.commit()
    finally:
        connection.rollback()  # of what is not committed


def _rename(staged: StagedTable, name: TableName, *, force: bool) -> None:
    """Give the table its name, in place of one that was there."""
    connection, url = staged.connection, staged.url
    there = _check_free(connection, url, name, force=force)
    if there:
        inherit(connection, url, name, staged.table)
        connection.exec_driver_sql(f"DROP TABLE {name.quoted()}")
    with _if_taken(url):
        connection.exec_driver_sql(f"ALTER TABLE {staged.table.quoted()} RENAME TO {TableName(name.name).quoted()}")


@contextmanager
def _if_taken(url: Url) -> Iterator[None]:
    """Say so if somebody else made a table of that name meanwhile."""
    import sqlalchemy as sa

    try:
        yield
    except sa.exc.DBAPIError as error:
        if code(error.orig) in _TAKEN:
            raise exists_already(url) from None
        raise


def _check_free(connection: Any, url: Url, name: TableName, *, force: bool) -> bool:
    """Return whether a table is there that may be replaced; raise if it may not."""
    import sqlalchemy as sa

    inspector, most = sa.inspect(connection), connection.dialect.max_identifier_length
    if len(name.name.encode()) > most:
        raise ParameterError(f"{url}: the name of a table must have at most {most} bytes. Choose a shorter one.")
    if name.name in inspector.get_view_names(schema=name.schema):
        raise ParameterError(f"{url}: must be a table, got a view. Choose another name.")
    there = bool(inspector.has_table(name.name, schema=name.schema))
    if there and not force:
        raise exists_already(url)
    return there


def _check_names(connection: Any, url: Url, columns: list[str]) -> None:
    """Raise if names are longer than the database's: PostgreSQL would cut them silently."""
    most = connection.dialect.max_identifier_length
    if long := [i for i, name in enumerate(columns, 1) if len(name.encode()) > most]:
        raise ParameterError(
            f"{url}: names of columns must have at most {most} bytes, column {long[0]} has more. Rename it."
        )
