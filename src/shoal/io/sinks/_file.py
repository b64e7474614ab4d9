"""Base class of file sinks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


class FileSink:
    """A file format; one whose cells are values defines `_write`."""

    textual: ClassVar[bool] = False  #: whether cells are written as the text that they came as

    def write(self, table: pa.Table, path: Path, dialect: Dialect | None) -> None:
        """Write the table; the dialect is for text files, and ignored by other formats.

        Raises
        ------
        DataError
            If a column has a type, or values, that the format lacks; the message never holds a value.
        SchemaError
            If column names are not allowed in the format.
        EngineError
            If the disk rejects it.
        """
        self._write(table, path)

    def _write(self, table: pa.Table, path: Path) -> None:
        raise NotImplementedError
