"""Apache Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import parquet

from shoal.errors import DataError, listing
from shoal.io.sinks._file import FileSink, suppressed
from shoal.scratch import writing
from shoal.types import Dialect
from shoal.types.protocols import Fresh
from shoal.types.released import released

#: Rows of a row group, with and without columns of text, and cells in wider tables: none may depend on values.
_ROWS, _ROWS_OF_TEXT = 1 << 20, 1 << 16
_CELLS = 1 << 23


@dataclass(frozen=True)
class Parquet(FileSink):
    """Apache Parquet files, with the table's types and metadata, compressed with zstd."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    batched: ClassVar[bool] = True

    def _write(self, table: pa.Table, path: Path) -> None:
        with _typed(path, table.schema), path.open("wb") as file:
            parquet.write_table(table, file, compression="zstd")

    @contextmanager
    def writer(
        self, path: Path, schema: pa.Schema, dialect: Dialect | None, fresh: Fresh | None = None
    ) -> Iterator[ParquetWriter]:
        """Open a file to be written in batches; its row groups depend on the number of rows and columns only.

        **Guarantee.** Every row group goes through `fresh` separately: its dictionaries hold the categories that occur
        in it, or the same complete list in all of them if `fresh` has one. Ordered categories need that list, because
        readers unite the dictionaries of row groups in the order of the rows.

        Raises
        ------
        DataError
            If a column has a type that the format lacks.
        EngineError
            If the disk rejects it.
        """
        fresh = fresh or partial(released, unchanged=())
        with _typed(path, schema):
            file = path.open("wb")
        with suppressed(file.close):
            with _typed(path, schema):
                into = parquet.ParquetWriter(file, fresh(schema.empty_table()).schema, compression="zstd")
            with suppressed(into.close):
                made = ParquetWriter(path, into, fresh)
                yield made
                with _typed(path, schema):
                    made.finish()
                    into.close()
                    file.close()


class ParquetWriter:
    """A Parquet file that is written in batches; rows are collected until they fill a row group."""

    def __init__(self, path: Path, into: parquet.ParquetWriter, fresh: Fresh) -> None:
        self._path, self._into, self._fresh = path, into, fresh
        most = _ROWS if all(map(_is_bounded, into.schema.types)) else min(_ROWS, _ROWS_OF_TEXT)
        self._rows = max(1, min(most, _CELLS // max(1, len(into.schema))))
        self._waiting: list[pa.Table] = []
        self._count = 0

    def write(self, table: pa.Table) -> None:
        """Append a table with the columns of the schema."""
        start = 0
        while start < table.num_rows:
            part = table.slice(start, self._rows - self._count)
            self._waiting.append(part)
            self._count += part.num_rows
            start += part.num_rows
            if self._count == self._rows:
                self._flush()

    def finish(self) -> None:
        """Write the rows of the last row group."""
        if self._count:
            self._flush()

    def _flush(self) -> None:
        group = pa.concat_tables(self._waiting)
        self._waiting, self._count = [], 0
        with _typed(self._path, group.schema):
            self._into.write_table(self._fresh(group), row_group_size=self._rows)


def _is_bounded(kind: pa.DataType) -> bool:
    """Tell whether cells of a type take few bytes, whatever their values; categories are stored once."""
    if pa.types.is_dictionary(kind):
        return True
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


@contextmanager
def _typed(path: Path, schema: pa.Schema) -> Iterator[None]:
    """Turn errors of the disk and about types inside the block into sentences."""
    with writing(path):
        try:
            yield
        except pa.ArrowException:
            raise DataError(
                f"{path.name}: the columns must be of types that Parquet has, got "
                f"{listing(sorted({str(kind) for kind in schema.types}))}. Drop some, or write Arrow."
            ) from None
