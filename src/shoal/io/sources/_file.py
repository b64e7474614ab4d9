"""Base class of file sources: opening a file, and checking that it holds a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, SchemaError, listing, raise_all
from shoal.types import Dialect, plain
from shoal.types.protocols import Source

if TYPE_CHECKING:
    import pyarrow as pa


class FileSource(Source):
    """A file that holds one table; a format defines `_table`."""

    def read(self, path: Path, *, names: Collection[str] = ()) -> tuple[pa.Table, Dialect | None]:
        """Return the file's table, and no dialect: only text files have one.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, has content that its format does not allow, or no rows or
            columns.
        SchemaError
            If column names are empty or duplicated.
        ParameterError
            If the package that reads the format is not installed, or a named part of the file does not exist.
        """
        return check_table(path.name, self._table(path)), None

    def _table(self, path: Path) -> pa.Table:
        """Return the contents of the file, not yet checked."""
        raise NotImplementedError


def damaged(path: Path, title: str) -> DataError:
    """Return the error for a file that is not of its format."""
    return DataError(f"{path.name}: is not a valid {title} file, or is damaged or truncated. Get a new copy.")


def read_bytes(path: Path) -> bytes:
    """Return all bytes of a file, or say why it cannot be read.

    Raises
    ------
    DataError
        If the file does not exist, is a folder, or may not or cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(unreadable(path, error)) from None


def unreadable(path: object, error: Exception, do: str = "Check the disk it is on") -> str:
    """Return the sentence that says why a file cannot be opened, with the remedy `do` for an unusual reason.

    >>> unreadable("people.csv", FileNotFoundError())
    'people.csv: there is no such file. Check the path.'
    """
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{path}: there is no such file. Check the path."
    if isinstance(error, IsADirectoryError):
        return f"{path}: must be a file, got a folder. Name a file in it."
    if isinstance(error, PermissionError):
        return f"{path}: may not be read by this user. Ask its owner for permission to read it."
    return f"{path}: could not be read ({getattr(error, 'strerror', None) or type(error).__name__}). {do}."


def check_names(owner: str, names: Sequence[object]) -> None:
    """Raise one error about all column names that are empty, not text, or duplicated.

    >>> check_names("people.csv", ["age", "", "age"])
    Traceback (most recent call last):
    ...
    shoal.errors.SchemaError: - people.csv: every column must have a name; column 2 is unnamed. Name it.
    - people.csv: column names must be unique; duplicates: 'age'. Rename all but one of each.
    """
    faults = []
    if names and isinstance(names[0], str) and names[0].lower().startswith("sep="):
        raise SchemaError(
            f"{owner}: the first line must hold the names of columns; it names the delimiter, as Excel writes it. "
            "Delete that line."
        )
    if odd := [i for i, name in enumerate(names, 1) if not isinstance(name, str)]:
        faults.append(
            f"{owner}: the names of columns must be text; those of columns {listing(odd)} are not. "
            "Rename them, for example with df.columns = df.columns.map(str)."
        )
    if empty := [i for i, name in enumerate(names, 1) if isinstance(name, str) and not name.strip()]:
        which, remedy = f"column {empty[0]} is", "Name it."
        if len(empty) > 1:
            which, remedy = f"columns {listing(empty)} are", "Name them; if the first line is a title, delete it."
        faults.append(f"{owner}: every column must have a name; {which} unnamed. {remedy}")
    named = Counter(name for name in names if not (isinstance(name, str) and not name.strip()))
    twice = [name for name, count in named.items() if count > 1]
    if any(isinstance(name, str) and not any(map(str.isalpha, name)) for name in twice):  # values rather than names
        places = [i for i, name in enumerate(names, 1) if name in twice]
        faults.append(
            f"{owner}: column names must be unique; those of columns {listing(places)} are not, and look like "
            "values. Does the first row hold the names?"
        )
    elif twice:
        faults.append(
            f"{owner}: column names must be unique; duplicates: {listing([repr(n) for n in twice])}. Rename all but "
            "one of each."
        )
    raise_all(SchemaError, faults)


def check_header(owner: str, cells: Sequence[str]) -> None:
    """Raise one error about all names in a header that are empty, or duplicated once their blanks are removed.

    >>> check_header("people.csv", ["age", " age "])
    Traceback (most recent call last):
    ...
    shoal.errors.SchemaError: people.csv: column names must be unique without surrounding blanks, which are removed; \
duplicates: 'age'. Rename all but one of each.
    """
    names = [cell.strip() for cell in cells]
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice and len(set(cells)) == len(cells):
        raise SchemaError(
            f"{owner}: column names must be unique without surrounding blanks, which are removed; duplicates: "
            f"{listing([repr(name) for name in twice])}. Rename all but one of each."
        )
    check_names(owner, names)


def check_columns(owner: str, names: Sequence[str]) -> None:
    """Raise unless there are columns, with distinct names."""
    if not names:
        raise DataError(f"{owner}: must have at least one column, got none. Check that it is the right file.")
    check_names(owner, names)


def no_rows(owner: str, *, textual: bool = False) -> DataError:
    """Return the error for a file without rows."""
    if textual:
        return DataError(
            f"{owner}: must hold at least one row below the header, got none. "
            "Check that it is the right file, and that the quotes in its header are closed."
        )
    return DataError(f"{owner}: must have at least one row, got none. Check that it is the right file.")


def check_table(owner: str, table: pa.Table) -> pa.Table:
    """Return the table if it has rows, and columns with distinct names; raise otherwise."""
    check_columns(owner, table.column_names)
    if table.num_rows == 0:
        raise no_rows(owner)
    return plain(table)
