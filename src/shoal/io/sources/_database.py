"""Base class of database sources."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa

from shoal.errors import ParameterError
from shoal.io.databases.tables import StagedTable, TableName
from shoal.io.sources._file import check_table
from shoal.locations import Url
from shoal.parameters import Checked, Param
from shoal.types import Dialect
from shoal.types.protocols import Source


@dataclass(frozen=True)
class DatabaseSource(Checked, Source):
    """A database table, by its exact name, or the result of a read-only query."""

    table: Annotated[str | None, Param("The table, or schema.table.")] = None
    query: Annotated[str | None, Param("A query in place of a table.")] = None

    def read(self, at: Url | StagedTable, *, names: Collection[str] = ()) -> tuple[pa.Table, Dialect | None]:
        """Return the table, and no dialect.

        Raises
        ------
        ParameterError
            If neither table nor query is named, or both are.
        DataError
            If there is no such file or table, it has no rows, or a column holds values of several kinds.
        EngineError
            If the database cannot be reached, is in use, or cannot execute the request.
        """
        if isinstance(at, StagedTable):
            return check_table(str(at.url), self._read(at.connection, at.url, at.table)), None
        if (self.table is None) == (self.query is None):
            raise ParameterError(
                f"{at}: must name either a table or a query. Add ?table=name, or ?query=SELECT… with %20 for blanks."
            )
        name = None if self.table is None else TableName.read(at, self.table)
        with self._opened(at) as connection:
            return check_table(str(at), self._read(connection, at, name)), None

    def _opened(self, url: Url) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _read(self, connection: Any, url: Url, name: TableName | None) -> pa.Table:
        raise NotImplementedError  # without a name, read the query
