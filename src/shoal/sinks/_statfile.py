"""Fitted columns → the frame and the metadata that pyreadstat writes."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, ParameterError
from shoal.sinks._disk import unwritable, writing
from shoal.types.clock import Clock
from shoal.types.statfile import FileNotes, Variable

if TYPE_CHECKING:
    import pyarrow as pa


def writer(path: Path, title: str) -> tuple[Any, Any]:
    """Return pyreadstat's writer and polars, in whose frames it takes columns.

    The writer is the one behind `write_sav` and `write_dta`, for these do not pass on how columns are aligned.
    """
    try:
        import polars
        from pyreadstat._readstat_writer import writer_entry_point
    except ImportError:
        raise ParameterError(
            f"{path.name}: to write {title} files the packages pyreadstat and polars must be installed, they are not. "
            "Install them with pip install 'shoal[stats]'."
        ) from None
    return writer_entry_point, polars


@contextmanager
def readstat(path: Path, title: str) -> Iterator[None]:
    """Say in a sentence what goes wrong while pyreadstat writes."""
    with writing(path), path.open("wb"):
        pass  # it cannot say itself why a file does not open
    try:
        yield
    except Exception as error:  # its messages may hold a value, unless they come from the library below it
        if type(error).__name__ != "ReadstatError":
            raise DataError(f"{path.name}: could not be written as a {title} file. Write Parquet instead.") from None
        said = str(error)
        if "write" in said.lower():
            raise unwritable(path, OSError(errno.ENOSPC, said)) from None
        why = f"{said[:1].lower()}{said[1:]}"
        raise DataError(f"{path.name}: is no {title} file that can be: {why}. Write Parquet instead.") from None


def variables_of(table: pa.Table) -> dict[str, Variable]:
    """Return what is known of each column of a fitted table."""
    return {field.name: Variable.of(field) for field in table.schema}  # type: ignore[misc]


def notes_of(table: pa.Table, package: str) -> FileNotes:
    """Return what is known of the table."""
    return FileNotes.of(table.schema) or FileNotes(package)


def numbers_of(column: pa.ChunkedArray, variable: Variable) -> pa.ChunkedArray:
    """Return a column as the file holds it: moments as numbers."""
    clock = Clock.of(variable.package, variable.format)
    return clock.numbers(column) if clock is not None else column


def padded(column: pa.ChunkedArray, width: int) -> pa.ChunkedArray:
    """Return texts with "" for those that are missing, and the first as wide as the variable is.

    The widest text decides how wide the variable is written. It ends at its first NUL, so nothing is added to it.
    """
    import pyarrow as pa

    first = (column[0].as_py() or "") if len(column) else ""
    wide = first + "\0" * (width - len(first.encode()))
    rest = column.slice(1).fill_null("")
    return pa.chunked_array([pa.array([wide], pa.string()), *rest.chunks], pa.string())


def cut(text: str | None, most: int, *, characters: bool = False) -> str | None:
    """Return a label no longer than the format allows.

    >>> cut("größe", 4), cut("größe", 4, characters=True)
    ('grö', 'größ')
    """
    if text is None or characters:
        return text and text[:most]
    return text.encode()[:most].decode(errors="ignore")
