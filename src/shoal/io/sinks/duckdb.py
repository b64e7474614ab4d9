"""DuckDB table by URL: written in a transaction, audited, and only then given its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal.errors import DataError, ParameterError, raise_all
from shoal.io.databases.duckdb import Late, opened, said, what_is
from shoal.io.databases.tables import StagedTable, TableName, exists_already
from shoal.io.sinks._database import DatabaseSink
from shoal.locations import Url
from shoal.types import Dialect

_VIEW = "shoal_release"


@dataclass(frozen=True)
class Duckdb(DatabaseSink):
    """A table in a DuckDB database, with the types of the release.

    **Guarantee.** That of the sink `sql`: the table is complete, or the database is unchanged. A new database appears
    whole, as files do.
    """

    schemes: ClassVar[tuple[str, ...]] = ("duckdb",)

    def _check(self, url: Url, owner: Url, name: TableName, *, force: bool, both: bool = False) -> None:
        with opened(url, write=False) as connection:
            _check_free(connection, owner, name, force=force)

    @contextmanager
    def _held(self, url: Url, name: TableName, *, force: bool, file: Path | None) -> Iterator[StagedTable]:
        if file is not None:
            file.unlink()  # DuckDB considers an empty file damaged
        try:
            with Late(url, file) as late:  # closing rolls back uncommitted work
                table = StagedTable(url.scheme, url, late, name.hidden)
                yield table
                with said(url, "did not accept the table"):
                    _rename(table, name, force=force)
                    late.now.execute("COMMIT")
        finally:
            if file is not None:
                with suppress(OSError):
                    file.with_name(file.name + ".wal").unlink(missing_ok=True)

    def _rename(self, staged: StagedTable, name: TableName, *, force: bool) -> None:
        with said(staged.url, "did not accept the table"):
            _rename(staged, name, force=force)

    def write(self, table: pa.Table, staged: StagedTable, dialect: Dialect | None) -> None:
        """Write the table in the transaction, which begins with it."""
        table = _with_intervals(staged.url, table)
        kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in table.schema.types]
        typed = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
        with said(staged.url, "did not accept the table"):
            connection = staged.connection.now
            staged.connection.begin()
            connection.register(_VIEW, typed)
            connection.execute(f"CREATE TABLE {staged.table.quoted()} AS SELECT * FROM {_VIEW}")
            connection.unregister(_VIEW)


def _with_intervals(url: Url, table: pa.Table) -> pa.Table:
    """Return the table with durations in microseconds, as stored; the database would silently cut finer ones."""
    faults = []
    for at, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_duration(kind):
            try:
                table = table.set_column(at, field.name, table.column(at).cast(kind).cast(pa.duration("us")))
            except pa.ArrowInvalid:
                faults.append(
                    f"{url}: column {field.name!r} must have durations of whole microseconds, at most 292,000 years, "
                    "got others. Round them, or write Parquet."
                )
        elif _holds_durations(kind):
            faults.append(
                f"{url}: column {field.name!r} must not have durations inside lists or records, got some. "
                "Drop the column, or write Parquet."
            )
    raise_all(DataError, faults)
    return table


def _holds_durations(kind: pa.DataType) -> bool:
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return any(pa.types.is_duration(one) or _holds_durations(one) for one in inner)


def _rename(staged: StagedTable, name: TableName, *, force: bool) -> None:
    """Give the table its final name, replacing an existing one."""
    connection = staged.connection.now
    if _check_free(connection, staged.url, name, force=force):
        connection.execute(f"DROP TABLE {name.quoted()}")
    connection.execute(f"ALTER TABLE {staged.table.quoted()} RENAME TO {TableName(name.name).quoted()}")


def _check_free(connection: Any, url: Url, name: TableName, *, force: bool) -> bool:
    """Return whether an existing table may be replaced; raise if it may not."""
    there = what_is(connection, name)
    if there == "VIEW":
        raise ParameterError(f"{url}: must be a table, got a view. Choose another name.")
    if there is not None and not force:
        raise exists_already(url)
    return there is not None
