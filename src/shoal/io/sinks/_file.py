"""Base class of file sinks."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.io.sinks._atomic import atomic, both
from shoal.locations import Place
from shoal.types import Dialect
from shoal.types.contracts.components import Sink

if TYPE_CHECKING:
    import pyarrow as pa


class FileSink(Sink):
    """A file format; one whose cells are values defines `_write`."""

    def staged(self, path: Path, *, force: bool) -> AbstractContextManager[Path]:
        """Yield a hidden file to write to; it gets its name when the block ends."""
        return atomic(path, force=force)

    def staged_both(self, path: Path, other: Place, *, force: bool) -> AbstractContextManager[tuple[Path, Path]]:
        """Yield two hidden files to write to; when the block ends both get their names, or neither does."""
        assert isinstance(other.at, Path)  # it is next to the first
        return both(path, other.at, force=force)

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
