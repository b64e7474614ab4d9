"""DuckDB connections, with errors as sentences that hold no value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.errors import DataError, EngineError, ShoalError
from shoal.io.databases.tables import TableName
from shoal.locations import Url
from shoal.registry import package


@contextmanager
def opened(url: Url, *, write: bool, file: Path | None = None) -> Iterator[Any]:
    """Yield a connection to the file of a URL, or to another file that does not exist yet.

    Raises
    ------
    DataError
        If there is no such file, or it is not a database.
    EngineError
        If another program has it open.
    """
    duckdb = package("duckdb", "duckdb", url)
    path = file or url.file
    if file is None and not path.is_file():
        raise DataError(
            f"{path}: must be a file, got a folder. Name a file in it."
            if path.exists()
            else f"{path}: there is no such file. Check the path."
        )
    try:
        connection = duckdb.connect(str(path), read_only=not write)
    except duckdb.Error as error:
        if isinstance(error, duckdb.ConnectionException) or "lock" in str(error).lower():  # DuckDB has no error codes
            raise EngineError(f"{url}: is in use by another program. Try again when it has finished.") from None
        raise DataError(f"{url}: is not a DuckDB database, or is damaged. Get a new copy.") from None
    with closing(connection):
        # a query must not see this program's environment variables
        connection.execute("SET python_enable_replacements = false")
        yield connection


class Late(ExitStack):
    """A connection for writing, opened on first use: DuckDB admits one program at a time."""

    def __init__(self, url: Url, file: Path | None) -> None:
        super().__init__()
        self._url, self._file = url, file
        self._begun = False

    @cached_property
    def now(self) -> Any:
        """The connection."""
        return self.enter_context(opened(self._url, write=True, file=self._file))

    def begin(self) -> None:
        """Begin the only transaction, unless it has begun."""
        if not self._begun:
            self.now.execute("BEGIN")
            self._begun = True


@contextmanager
def said(url: Url, what: str) -> Iterator[None]:
    """Turn database errors inside the block into sentences; their own text may contain values."""
    import duckdb

    try:
        yield
    except ShoalError:
        raise
    except duckdb.Error as error:
        raise EngineError(
            f"{url}: {what} ({type(error).__name__}). Check the names in the URL, and the disk."
        ) from None


def what_is(connection: Any, table: TableName) -> str | None:
    """Return whether a name denotes a table (BASE TABLE), a view (VIEW) or nothing."""
    rows = connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE lower(table_name) = lower(?) "
        "AND lower(table_schema) = lower(coalesce(?, current_schema())) AND table_catalog = current_database()",
        [table.name, table.schema],
    ).fetchall()
    return str(rows[0][0]) if rows else None
