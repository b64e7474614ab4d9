"""Apache Parquet files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import parquet

from shoal.errors import DataError
from shoal.io.sources._file import FileSource, check_columns, damaged, unreadable
from shoal.types import Dialect, plain

#: Bytes of a column that are read at a time. Arrow would otherwise load the columns of a whole row group.
_BUFFER = 1 << 18


@dataclass(frozen=True)
class Parquet(FileSource):
    """Apache Parquet files, with their types and metadata."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    batched: ClassVar[bool] = True

    def _table(self, path: Path) -> pa.Table:
        with reading(path):
            with pa.OSFile(str(path)) as file:  # a Python file would copy all bytes once more
                table = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER).read()
            table.validate(full=True)
        return table

    def open(self, path: Path, *, names: Collection[str] = ()) -> ParquetBatches:
        """Open a file to be read in batches; only its footer is read now.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or has no columns.
        SchemaError
            If column names are empty or duplicated.
        """
        with reading(path), pa.OSFile(str(path)) as file:
            found = parquet.ParquetFile(file)
            records, schema = found.metadata.num_rows, found.schema_arrow
        check_columns(path.name, schema.names)
        return ParquetBatches(path, plain(schema.empty_table()).schema, records)

    def properties(self, path: Path) -> dict[str, str]:
        """Return the names of all entries in the file's footer."""
        return {f"footer:{key.decode(errors='replace')}": "" for key in parquet.read_metadata(path).metadata or {}}


@dataclass(frozen=True)
class ParquetBatches:
    """A Parquet file that is read in batches, page by page: a row group may be larger than memory."""

    path: Path
    arrow: pa.Schema = field(repr=False)
    records: int
    dialect: Dialect | None = None

    def read(self, columns: Sequence[str] | None, rows: int) -> Iterator[pa.Table]:
        """Yield tables of at most `rows` rows, with all columns or some, in this order.

        Raises
        ------
        DataError
            If the file cannot be read or is damaged.
        """
        wanted = self.arrow.names if columns is None else list(columns)
        with reading(self.path), pa.OSFile(str(self.path)) as file:
            found = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
            seen = 0
            # columns of structures are chosen by a path with dots, so names with dots may bring others along
            for batch in found.iter_batches(batch_size=rows, columns=wanted):
                table = pa.Table.from_batches([batch]).select(wanted)
                table.validate(full=True)
                seen += table.num_rows
                yield plain(table)
            if seen != self.records:
                raise damaged(self.path, "Parquet")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of Arrow and of the disk inside the block into sentences."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, EOFError):
        raise damaged(path, "Parquet") from None
    except OSError as error:
        if error.errno is not None:
            raise DataError(unreadable(path, error)) from None
        if path.is_dir():
            raise DataError(unreadable(path, IsADirectoryError())) from None
        raise DataError(f"{path.name}: is damaged or truncated. Get a new copy.") from None  # Arrow's own error
