"""A table of a DuckDB database, or what a query finds in it, by URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.errors import DataError, ParameterError
from shoal.io.databases.duckdb import opened, said, what_is
from shoal.io.databases.tables import StagedTable, TableName
from shoal.io.sources._file import check_table
from shoal.locations import Url
from shoal.parameters import Checked, Param
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Duckdb(Checked):
    """A table of a DuckDB database, or what a query finds in it: ``duckdb:///people.duckdb?table=survey``.

    DuckDB hands over Arrow, so types are its own. Intervals are durations, unless some have months or years: these
    have no fixed length, and the column stays as it is. The file is opened for reading only.

    Parameters
    ----------
    table
        ``name`` or ``schema.name``.
    query
        A query in place of a table.
    """

    schemes: ClassVar[tuple[str, ...]] = ("duckdb",)

    table: Annotated[str | None, Param("The table, or schema.table.")] = None
    query: Annotated[str | None, Param("A query in place of a table.")] = None

    def read(self, at: Url | StagedTable) -> tuple[pa.Table, Dialect | None]:
        """Return the table, and no dialect.

        Raises
        ------
        ParameterError
            If neither table nor query is named, or both are.
        DataError
            If there is no such file or table, or it has no rows.
        EngineError
            If the database is in use, or cannot do what it is asked.
        """
        if isinstance(at, StagedTable):
            return _read(at.connection.now, at.url, f"SELECT * FROM {at.table.quoted()}"), None
        if (self.table is None) == (self.query is None):
            raise ParameterError(
                f"{at}: must name either a table or a query. Add ?table=name, or ?query=SELECT… with %20 for blanks."
            )
        name = None if self.table is None else TableName.read(at, self.table)
        with opened(at, write=False) as connection:
            if name is not None and what_is(connection, name) is None:
                raise DataError(f"{at}: there is no such table. Check its name and its schema.")
            return _read(connection, at, str(self.query) if name is None else f"SELECT * FROM {name.quoted()}"), None


def _read(connection: Any, url: Url, statement: str) -> pa.Table:
    with said(url, "could not be read"):
        found = connection.sql(statement)
        if found is None:
            raise ParameterError(f"{url}: a query must select something. Write one that does.")
        return check_table(str(url), _with_durations(found))


def _with_durations(found: Any) -> pa.Table:
    """Return the rows that were found, with intervals of a fixed length as durations in microseconds.

    Microseconds are counted in the database: what it hands over has nanoseconds, which overflow after 292 years.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = list(found.columns)
    places = [at for at, kind in enumerate(found.types) if str(kind) == "INTERVAL"]
    if not places:
        return found.to_arrow_table()
    parts = []
    for at in places:
        name = '"' + names[at].replace('"', '""') + '"'
        parts += [f"try(epoch_us({name}))", f"12 * date_part('year', {name}) + date_part('month', {name})"]
    whole = found.project(", ".join(["*", *parts])).to_arrow_table()
    table = whole.select(range(len(names)))
    for number, at in enumerate(places):
        lengths, months = (whole.column(len(names) + 2 * number + part) for part in (0, 1))
        if lengths.null_count == months.null_count and not pc.any(pc.not_equal(months, 0)).as_py():
            table = table.set_column(at, names[at], lengths.cast(pa.int64()).cast(pa.duration("us")))
    return table
