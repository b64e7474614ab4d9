"""Apache Arrow and Feather files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from shoal.errors import DataError
from shoal.io.sinks._file import FileSink
from shoal.scratch import writing


@dataclass(frozen=True)
class Arrow(FileSink):
    """Apache Arrow and Feather files: the IPC file format, with types and metadata, compressed."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def _write(self, table: pa.Table, path: Path) -> None:
        options = pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
        with writing(path), path.open("wb") as file:
            try:
                with pa.ipc.new_file(file, table.schema, options=options) as writer:
                    writer.write_table(table)
            except pa.ArrowException:
                raise DataError(
                    f"{path.name}: could not be written in Arrow's format. Choose Parquet or CSV."
                ) from None
