"""SAS files and SAS transport files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.io.sources._statistical import StatisticalFile


@dataclass(frozen=True)
class Sas(StatisticalFile):
    """SAS files and transport files, with labels and formats; read-only."""

    suffixes: ClassVar[tuple[str, ...]] = (".sas7bdat", ".xpt")
    package, reader, title = "sas", "read_sas7bdat", "SAS"
    cells_per_byte = 2_048  # in a compressed file two bytes may encode a run of up to 4,096 equal bytes
