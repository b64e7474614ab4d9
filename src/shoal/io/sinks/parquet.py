"""Apache Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.errors import DataError, listing
from shoal.io.sinks._atomic import writing
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Parquet:
    """Apache Parquet files, with the table's types and metadata, compressed with zstd."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    textual: ClassVar[bool] = False  #: cells become values

    def write(self, table: pa.Table, path: Path, dialect: Dialect | None) -> None:
        """Write the table; a dialect is for text files and has no say here.

        Raises
        ------
        DataError
            If a column is of a type that Parquet has not.
        EngineError
            If the disk does not take it.
        """
        import pyarrow as pa
        from pyarrow import parquet

        with writing(path), path.open("wb") as file:
            try:
                parquet.write_table(table, file, compression="zstd")
            except pa.ArrowException:
                raise DataError(
                    f"{path.name}: the columns must be of types that Parquet has, got "
                    f"{listing(sorted({str(kind) for kind in table.schema.types}))}. Drop some, or write Arrow."
                ) from None
