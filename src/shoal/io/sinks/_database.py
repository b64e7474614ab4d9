"""Base class of database sinks: two ways to stage tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from shoal.io.databases.tables import StagedTable, TableName
from shoal.io.sinks._atomic import atomic
from shoal.locations import Place, Url
from shoal.parameters import Checked, Param
from shoal.types import Dialect
from shoal.types.protocols import Sink


@dataclass(frozen=True)
class DatabaseSink(Checked, Sink):
    """A database table, staged under another name until it is complete.

    A database defines `_check`, which tests before writing whether a name is free (messages are about `owner`);
    `_held`, which yields a table to write to, in a new file or the existing database, and when the block ends gives it
    its name and commits; and `_rename`, which does so for the second of two tables.
    """

    table: Annotated[str | None, Param("The table, or schema.table.")] = None

    @contextmanager
    def staged(self, url: Url, *, force: bool) -> Iterator[StagedTable]:
        """Yield a table to write to; when the block ends it gets its name.

        Raises
        ------
        ParameterError
            If the table exists and `force` is not given, or if it is a view.
        EngineError
            If the database cannot be reached, is in use, or rejects it.
        """
        name = TableName.read(url, self.table)
        if _is_new(url):
            with atomic(url.file, force=False) as hidden, self._held(url, name, force=force, file=hidden) as table:
                yield table
            return
        self._check(url, url, name, force=force)
        with self._held(url, name, force=force, file=None) as table:
            yield table

    @contextmanager
    def staged_both(self, url: Url, other: Place, *, force: bool) -> Iterator[tuple[StagedTable, StagedTable]]:
        """Yield two tables to write to, in one transaction; when the block ends both get their names.

        Raises
        ------
        ParameterError
            If the database creates tables outside transactions: one of the two could appear without the other.
        """
        name, place = TableName.read(other, other.options.get("table")), other.at
        assert isinstance(place, Url)
        if not _is_new(url):
            self._check(url, place, name, force=force, both=True)
        with self.staged(url, force=force) as first:
            second = replace(first, url=place, table=name.hidden)
            yield first, second
            self._rename(second, name, force=force)

    def write(self, table: pa.Table, staged: StagedTable, dialect: Dialect | None) -> None:
        """Write the table; the dialect is for text files, and ignored here.

        Raises
        ------
        DataError
            If a column has a type, or values, that the database does not store exactly.
        EngineError
            If the database rejects it.
        """
        raise NotImplementedError

    def _check(self, url: Url, owner: Url, name: TableName, *, force: bool, both: bool = False) -> None:
        raise NotImplementedError

    def _held(self, url: Url, name: TableName, *, force: bool, file: Path | None) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _rename(self, staged: StagedTable, name: TableName, *, force: bool) -> None:
        raise NotImplementedError


def _is_new(url: Url) -> bool:
    """Tell whether a database is a file that does not exist yet; then it appears whole, as files do."""
    return url.scheme in ("sqlite", "duckdb") and not url.file.exists()
