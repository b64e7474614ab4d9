"""DuckDB table or query result by URL."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, ParameterError
from shoal.io.databases.duckdb import Late, opened, said, what_is
from shoal.io.databases.tables import TableName
from shoal.io.sources._database import DatabaseSource
from shoal.locations import Url


@dataclass(frozen=True)
class Duckdb(DatabaseSource):
    """A table in a DuckDB database, or the result of a query: ``duckdb:///people.duckdb?table=survey``.

    DuckDB returns Arrow, so types are its own. Intervals become durations, unless some have months or years: these have
    no fixed length, and the column stays unchanged. The file is opened read-only.
    """

    schemes: ClassVar[tuple[str, ...]] = ("duckdb",)

    def _opened(self, url: Url) -> AbstractContextManager[Any]:
        return opened(url, write=False)

    def _read(self, connection: Any, url: Url, name: TableName | None) -> pa.Table:
        if isinstance(connection, Late):
            connection = connection.now
        if name is not None and what_is(connection, name) is None:
            raise DataError(f"{url}: there is no such table. Check its name and its schema.")
        with said(url, "could not be read"):
            found = connection.sql(self.query if name is None else f"SELECT * FROM {name.quoted()}")
            if found is None:
                raise ParameterError(f"{url}: a query must select something. Write one that does.")
            return _with_durations(found)


def _with_durations(found: Any) -> pa.Table:
    """Return the found rows, with intervals of a fixed length as durations in microseconds.

    The database counts the microseconds: it returns nanoseconds, which overflow after 292 years.
    """
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
