"""Stata files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.io.sources._statistical import StatisticalFile


@dataclass(frozen=True)
class Stata(StatisticalFile):
    """Stata files of any version, with labels, formats and the letters of missing values.

    Missing values .a to .z become numbers that no value can be, with their declaration in the metadata of the column.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".dta",)
    package, reader, title = "stata", "read_dta", "Stata"
    cells_per_byte = 1
