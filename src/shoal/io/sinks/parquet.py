"""Apache Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import parquet

from shoal.errors import DataError, listing
from shoal.io.sinks._atomic import writing
from shoal.io.sinks._file import FileSink


@dataclass(frozen=True)
class Parquet(FileSink):
    """Apache Parquet files, with the table's types and metadata, compressed with zstd."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def _write(self, table: pa.Table, path: Path) -> None:
        with writing(path), path.open("wb") as file:
            try:
                parquet.write_table(table, file, compression="zstd")
            except pa.ArrowException:
                raise DataError(
                    f"{path.name}: the columns must be of types that Parquet has, got "
                    f"{listing(sorted({str(kind) for kind in table.schema.types}))}. Drop some, or write Arrow."
                ) from None
