"""Find out how a text file is written: its delimiter, its header, its line ends."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from shoal.errors import DataError, SchemaError
from shoal.sources._text import check_utf8

#: What may part cells, likelier first where two part them equally well: commas also occur inside numbers.
DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE = 1 << 16
_RECORDS = 200


@dataclass(frozen=True)
class Header:
    """The first record of a text file: its cells, where the rows begin, and how its line ends."""

    names: tuple[str, ...]
    end: int
    newline: str


def find_delimiter(text: bytes, quote: str, *, decimal: str = ".", first: str | None = None) -> str | None:
    """Return the delimiter that parts the first records into equally many cells, or None for a single column.

    Parameters
    ----------
    text
        The file in UTF-8.
    quote
        What stands around cells that hold a delimiter.
    decimal
        The decimal mark, which is not taken for a delimiter.
    first
        The delimiter that the file's name speaks for: taken if it is in the header at all.

    >>> find_delimiter(b"age;income\\n31;1,5\\n44;2,5\\n", '"')
    ';'
    """
    found: list[tuple[float, int, str]] = []
    for delimiter in DELIMITERS:
        if delimiter in (decimal, quote):
            continue
        header, *rows = _counts(text, delimiter, quote) or [0]
        if header > 1 and delimiter == first:
            return first
        if header > 1 and (not rows or max(rows) > 1):
            alike = sum(count == header for count in rows) / max(len(rows), 1)
            found.append((alike, header, delimiter))
    return max(found, key=lambda one: one[:2])[2] if found else None


def in_header(text: bytes, names: Collection[str], quote: str) -> str | None:
    """Return the delimiter that parts the header into cells among which all names are; None if there is none.

    No record is looked at, so none can change the answer.

    >>> in_header(b"age;income\\n31,1;5,2\\n44,3;2,5\\n", ["age", "income"], '"')
    ';'
    """
    line = next((line for line in text[:_SAMPLE].splitlines() if line.strip()), b"").decode("utf-8", errors="replace")
    for delimiter in DELIMITERS:
        if delimiter == quote:
            continue
        header = next(csv.reader([line], delimiter=delimiter, quotechar=quote), [])
        if len(header) > 1 and set(names) <= set(header):
            return delimiter
    return None


def _counts(text: bytes, delimiter: str, quote: str) -> list[int]:
    """Return the number of cells of each of the first records."""
    sample = text[:_SAMPLE].decode("utf-8", errors="replace")
    lines = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
    counts = [len(record) for record in islice(lines, _RECORDS) if record]
    if len(text) > _SAMPLE and 1 < len(counts) < _RECORDS:
        counts.pop()  # the sample ends inside it
    return counts


def read_header(owner: str, text: bytes, delimiter: str, quote: str) -> Header:
    """Return the first record that is not blank.

    Raises
    ------
    DataError
        If there is none, or if the file is not in UTF-8.
    SchemaError
        If a cell of it is too long for a name.
    """
    lines = _Lines(text)
    names = None
    try:
        names = next((r for r in csv.reader(lines, delimiter=delimiter, quotechar=quote) if r), None)
    except UnicodeDecodeError:  # the error holds the bytes, so what follows must not be raised from here
        lines.valid = False
    except csv.Error:
        raise SchemaError(
            f"{owner}: a name in the header is longer than {csv.field_size_limit():,} characters. "
            "Check that its quotes are closed."
        ) from None
    if not lines.valid:
        check_utf8(owner, text)
    if names is None:
        raise DataError(f"{owner}: must hold a header and rows, got an empty file. Check that it is the right one.")
    if any("\0" in name for name in names):
        raise DataError(
            f"{owner}: the header holds NUL characters. Give the file's encoding, for example --encoding utf-16-le."
        )
    return Header(tuple(names), lines.read, "\r\n" if lines.last.endswith("\r\n") else "\n")


class _Lines(Iterator[str]):
    """The lines of a text, counting the bytes that were taken."""

    def __init__(self, text: bytes) -> None:
        self._lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
        self.read = 0
        self.last = ""
        self.valid = True

    def __next__(self) -> str:
        self.last = next(self._lines)
        self.read += len(self.last.encode())
        return self.last
