"""Stata files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.io.sources._statistical import read_statfile
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Stata:
    """Stata files of any version, with labels, formats and the letters of missing values."""

    suffixes: ClassVar[tuple[str, ...]] = (".dta",)

    def read(self, path: Path) -> tuple[pa.Table, Dialect | None]:
        """Return the file's table, and no dialect.

        Missing values .a to .z are numbers that no value can be, with their declaration in the metadata of the column.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or has no rows or columns.
        ParameterError
            If pyreadstat is not installed.
        """
        return read_statfile(path, "stata", "read_dta", "Stata", cells_per_byte=1), None
