"""Apache Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import parquet

from shoal.errors import DataError
from shoal.io.sources._file import FileSource, damaged, unreadable


@dataclass(frozen=True)
class Parquet(FileSource):
    """Apache Parquet files, with their types and metadata."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def _table(self, path: Path) -> pa.Table:
        try:
            with path.open("rb") as file:
                table = parquet.ParquetFile(file).read()
            table.validate(full=True)
        except (pa.ArrowException, UnicodeDecodeError, EOFError):
            raise damaged(path, "Parquet") from None
        except OSError as error:
            if error.errno is None:  # Arrow's own error, about the contents of the file
                raise DataError(f"{path.name}: is damaged or truncated. Get a new copy.") from None
            raise DataError(unreadable(path, error)) from None
        return table

    def properties(self, path: Path) -> dict[str, str]:
        """Return the names of all entries in the file's footer."""
        return {f"footer:{key.decode(errors='replace')}": "" for key in parquet.read_metadata(path).metadata or {}}
