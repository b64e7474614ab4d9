"""Apache Arrow and Feather files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.errors import DataError
from shoal.io.sinks._atomic import writing
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Arrow:
    """Apache Arrow and Feather files: the IPC file format, with types and metadata, compressed."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    textual: ClassVar[bool] = False  #: cells become values

    def write(self, table: pa.Table, path: Path, dialect: Dialect | None) -> None:
        """Write the table; a dialect is for text files and has no say here.

        Raises
        ------
        DataError
            If Arrow cannot write the table down.
        EngineError
            If the disk does not take it.
        """
        import pyarrow as pa

        options = pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
        with writing(path), path.open("wb") as file:
            try:
                with pa.ipc.new_file(file, table.schema, options=options) as writer:
                    writer.write_table(table)
            except pa.ArrowException:
                raise DataError(
                    f"{path.name}: could not be written in Arrow's format. Choose Parquet or CSV."
                ) from None
