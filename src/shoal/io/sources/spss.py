"""SPSS files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.io.sources._statistical import read_statfile
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Spss:
    """SPSS files, with labels, measures, formats and the values that they declare to be missing."""

    suffixes: ClassVar[tuple[str, ...]] = (".sav", ".zsav")

    def read(self, path: Path) -> tuple[pa.Table, Dialect | None]:
        """Return the file's table, and no dialect.

        Values that are declared to be missing stay values, with their declaration in the metadata of the column.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or has no rows or columns.
        ParameterError
            If pyreadstat is not installed.
        """
        # a value is at least a byte, and zlib makes at most 1,032 bytes of one, whatever the name ends in
        return read_statfile(path, "spss", "read_sav", "SPSS", cells_per_byte=1_032), None
