"""Files of statistical packages, read apart from this program, failing in sentences."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, ParameterError
from shoal.io.sources._file import check_table, unreadable
from shoal.io.sources._isolated_reader import Damaged, read_apart

if TYPE_CHECKING:
    import pyarrow as pa


_TRANSPORTED = 80  # bytes of a record of SAS transport files, which say nowhere how many rows they hold


def read_statfile(path: Path, package: str, reader: str, title: str, cells_per_byte: int) -> pa.Table:
    """Read a file with one of pyreadstat's readers.

    Parameters
    ----------
    path
        The file.
    package
        spss, stata or sas.
    reader
        Name of pyreadstat's function.
    title
        What the format is called in messages.
    cells_per_byte
        How many values a byte of the file can hold at most: a damaged file may claim more than any memory has.

    Raises
    ------
    DataError
        If the file cannot be read, is damaged, or has no rows or columns.
    ParameterError
        If pyreadstat is not installed.
    MemoryError
        If there is too little memory for the file.
    """
    try:
        with path.open("rb"):
            size = path.stat().st_size
    except OSError as error:
        raise DataError(unreadable(path, error)) from None
    _check_installed(path, title)
    if reader == "read_xport" and size % _TRANSPORTED:
        raise DataError(_damaged(path, title))
    try:
        table = read_apart(path, package, reader, size * cells_per_byte)
    except Damaged:
        raise DataError(_damaged(path, title)) from None
    return check_table(path.name, table)


def _damaged(path: Path, title: str) -> str:
    return f"{path.name}: is no {title} file, or is damaged or cut short. Fetch it again."


def _check_installed(path: Path, title: str) -> None:
    if find_spec("pyreadstat") is None:
        raise ParameterError(
            f"{path.name}: to read {title} files the package pyreadstat must be installed, it is not. "
            "Install it with pip install 'shoal[stats]'."
        )
