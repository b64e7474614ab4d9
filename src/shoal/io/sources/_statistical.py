"""Base class of statistical-package sources, read in a separate process."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.io.sources._file import FileSource, damaged, unreadable
from shoal.io.sources._isolated_reader import Damaged, read_apart

_TRANSPORTED = 80  # bytes per record of SAS transport files, which do not store their number of rows


class StatisticalFile(FileSource):
    """A file that pyreadstat reads."""

    package: ClassVar[str]  #: spss, stata or sas
    reader: ClassVar[str]  #: name of pyreadstat's function; SAS transport files have their own
    title: ClassVar[str]  #: name of the format in messages
    #: Maximum number of values per byte of the file: a damaged file may claim more than fits in memory.
    cells_per_byte: ClassVar[int]

    def _table(self, path: Path) -> pa.Table:
        try:
            with path.open("rb"):
                size = path.stat().st_size
        except OSError as error:
            raise DataError(unreadable(path, error)) from None
        if find_spec("pyreadstat") is None:
            raise ParameterError(
                f"{path.name}: reading {self.title} files needs the package pyreadstat. Install it with pip install "
                "'shoal[stats]'."
            )
        transport = path.name.lower().endswith(".xpt")
        if transport and size % _TRANSPORTED:
            raise damaged(path, self.title)
        try:
            return read_apart(
                path, self.package, "read_xport" if transport else self.reader, size * self.cells_per_byte
            )
        except Damaged:
            raise damaged(path, self.title) from None
