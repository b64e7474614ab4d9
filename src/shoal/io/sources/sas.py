"""SAS files and SAS transport files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.io.sources._statistical import read_statfile
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Sas:
    """SAS files and transport files, with labels and formats; they are read, and not written."""

    suffixes: ClassVar[tuple[str, ...]] = (".sas7bdat", ".xpt")

    def read(self, path: Path) -> tuple[pa.Table, Dialect | None]:
        """Return the file's table, and no dialect.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or has no rows or columns.
        ParameterError
            If pyreadstat is not installed.
        """
        reader = "read_xport" if path.name.lower().endswith(".xpt") else "read_sas7bdat"
        # runs of up to 4,096 equal bytes are two bytes where a file is compressed
        return read_statfile(path, "sas", reader, "SAS", cells_per_byte=2_048), None
