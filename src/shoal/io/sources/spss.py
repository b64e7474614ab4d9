"""SPSS files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.io.sources._statistical import StatisticalFile


@dataclass(frozen=True)
class Spss(StatisticalFile):
    """SPSS files, with labels, measures, formats and declared missing values.

    Declared missing values stay values, with their declaration in the metadata of the column.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    package, reader, title = "spss", "read_sav", "SPSS"
    cells_per_byte = 1_032  # a value is at least a byte, and zlib expands one to at most 1,032, whatever the suffix
