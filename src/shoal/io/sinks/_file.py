"""Base class of file sinks, and constant time stamps in files whose writers insert the current time."""

from __future__ import annotations

import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shoal.io.sinks._atomic import atomic, both
from shoal.locations import Place
from shoal.types import Dialect
from shoal.types.protocols import Sink

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


@contextmanager
def suppressed(close: Callable[[], object]) -> Iterator[None]:
    """Close something when the block ends; an error of closing does not replace that of the block."""
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # Arrow's errors are ValueErrors
            close()


#: The earliest time that a zip archive can hold. Dates in files must not reveal when a release was made, and writing a
#: release twice must give the same bytes.
MOMENT = (1980, 1, 1, 0, 0, 0)

#: SPSS, .sav and .zsav: magic number (4 bytes), product (60), five integers (20), compression bias (8), then the date
#: as "01 Jan 80" (9) and the time as "00:00:00" (8).
_SAV_DATE, _SAV = 92, b"01 Jan 8000:00:00"

#: Stata: 17 characters, in all versions.
_DTA = b"01 Jan 1980 00:00"
#: Stata 8 to 12 (formats 113 to 115): four bytes, number of variables (2) and of observations (4), label (81), date.
_DTA_DATE = 91


def undate_sav(path: Path) -> None:
    """Replace the date and time of creation in an SPSS file."""
    with path.open("r+b") as file:
        file.seek(_SAV_DATE)
        file.write(_SAV)


def undate_dta(path: Path) -> None:
    """Replace the time stamp of a Stata file."""
    with path.open("r+b") as file:
        file.seek(_dta_date(file))
        file.write(_DTA)


def _dta_date(file: BinaryIO) -> int:
    """Return where the time stamp of a Stata file begins.

    From Stata 13 on (formats 117 to 119) the header has tags: <release>, <byteorder>, <K>, <N>, <label>, whose length
    comes first, and <timestamp>, whose length is one byte.
    """
    head = file.read(4096)
    if not head.startswith(b"<stata_dta>"):
        return _DTA_DATE
    release = int(head[len(b"<stata_dta><header><release>") :][:3])
    variables, observations = {117: (2, 4), 118: (2, 8), 119: (4, 8)}[release]
    at = len(b"<stata_dta><header><release>117</release><byteorder>LSF</byteorder><K></K><N></N><label>")
    at += variables + observations
    if release == 117:
        length, at = head[at], at + 1
    else:
        (length,), at = struct.unpack_from("<H", head, at), at + 2
    at += length + len(b"</label><timestamp>") + 1
    assert head[at + len(_DTA) :].startswith(b"</timestamp>")
    return at


class UndatedZip(zipfile.ZipFile):
    """A compressed zip archive whose members all have the same date."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True)

    def writestr(self, name: Any, data: Any, *_: Any) -> None:
        """Write a text or bytes as a member."""
        super().writestr(_member(name), data, zipfile.ZIP_DEFLATED)

    def write(self, filename: Any, arcname: Any = None, *_: Any) -> None:
        """Write a file as a member."""
        with Path(filename).open("rb") as source, self.open(_member(arcname or filename), "w", force_zip64=True) as to:
            shutil.copyfileobj(source, to)


def _member(name: Any) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(str(name), MOMENT)
    found.compress_type = zipfile.ZIP_DEFLATED
    return found
