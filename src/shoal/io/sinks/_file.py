"""What all formats of files have in common as sinks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


class FileSink:
    """A format of files; one whose cells are values defines `_write`."""

    textual: ClassVar[bool] = False  #: whether cells are written as the text that they came as

    def write(self, table: pa.Table, path: Path, dialect: Dialect | None) -> None:
        """Write the table; a dialect is for text files, and other formats ignore it.

        Raises
        ------
        DataError
            If a column is of a type, or holds values, that the format has not; the message never holds a value.
        SchemaError
            If names of columns are such that the format has not.
        EngineError
            If the disk does not take it.
        """
        self._write(table, path)

    def _write(self, table: pa.Table, path: Path) -> None:
        raise NotImplementedError
