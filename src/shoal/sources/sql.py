"""A table of any SQL database, or what a query finds in it, by URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.databases.declared import arrow_type
from shoal.databases.sql import SCHEMES, connected, described, said
from shoal.databases.tables import StagedTable, TableName
from shoal.errors import ParameterError
from shoal.parameters import Checked, Param
from shoal.places import Url
from shoal.sources._columns import column
from shoal.sources._file import check_table
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Sql(Checked):
    """A table of any SQL database, or what a query finds in it: ``sqlite:///people.db?table=survey``.

    Columns have the types that the database declares: integers, floats, decimals, truth values, dates, times with and
    without a zone, text. What is declared but not kept (SQLite lets anything be stored) is taken as the values are; a
    column of values of several kinds is refused. Other types, such as JSON, are read as text.

    Parameters
    ----------
    table
        ``name`` or ``schema.name``, as the database writes it.
    query
        A query in place of a table. The database is asked to let it change nothing.
    """

    schemes: ClassVar[tuple[str, ...]] = SCHEMES

    table: Annotated[str | None, Param("The table, or schema.table.")] = None
    query: Annotated[str | None, Param("A query in place of a table.")] = None

    def read(self, at: Url | StagedTable) -> tuple[pa.Table, Dialect | None]:
        """Return the table, and no dialect.

        Raises
        ------
        ParameterError
            If neither table nor query is named, or both are.
        DataError
            If there is no such table, it has no rows, or a column holds values of several kinds.
        EngineError
            If the database cannot be reached, or cannot do what it is asked.
        """
        if isinstance(at, StagedTable):
            return self._read(at.connection, at.url, at.table), None
        if (self.table is None) == (self.query is None):
            raise ParameterError(
                f"{at}: must name either a table or a query. Add ?table=name, or ?query=SELECT… with %20 for blanks."
            )
        name = None if self.table is None else TableName.read(at, self.table)
        with connected(at, write=False) as connection:
            return self._read(connection, at, name), None

    def _read(self, connection: Any, url: Url, name: TableName | None) -> pa.Table:
        import pyarrow as pa

        wrong = ("could not be read",) if self.query is None else ("the query could not be run", "Check the query")
        with said(url, *wrong):
            columns = [] if name is None else described(connection, url, name)
            statement = self.query if name is None else _select(connection, name, [column for column, _ in columns])
            plain = connection.execution_options(no_parameters=True)  # a % in it is a %
            result = plain.exec_driver_sql(statement)
            names = list(result.keys())
            rows = result.fetchall()
        values = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        declared = [arrow_type(text, sqlite=url.scheme == "sqlite") for _, text in columns] or [None] * len(names)
        arrays = [column(url, title, held, kind) for title, held, kind in zip(names, values, declared, strict=True)]
        return check_table(str(url), pa.Table.from_arrays(arrays, names=names))


def _select(connection: Any, name: TableName, columns: list[str]) -> str:
    quote = connection.dialect.identifier_preparer.quote_identifier
    table = ".".join(quote(part) for part in (name.schema, name.name) if part is not None)
    return f"SELECT {', '.join(map(quote, columns))} FROM {table}"
