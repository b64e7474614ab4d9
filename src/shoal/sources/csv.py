"""Text files with a delimiter: comma, semicolon, tab or another, found by looking."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from shoal.errors import DataError, ParameterError, raise_all
from shoal.parameters import Checked, Param
from shoal.sources._file import check_names, read_bytes
from shoal.sources._rows import Rows
from shoal.sources._sniff import find_delimiter, in_header, read_header
from shoal.sources._text import codec, to_utf8
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

_TAB_SUFFIXES = (".tsv", ".tab")


@dataclass(frozen=True)
class Csv(Checked):
    """Text files with a delimiter: comma, semicolon, tab or another, found by looking.

    Every column is text, every cell exactly as the file has it, so that ``007`` and ``1.50`` survive. An
    empty cell is null, an empty cell in quotes is the empty text. Cells that `missing` lists stay as they are:
    the dialect tells those who interpret cells. Rows are counted from 1, the header not counted. Blank lines
    hold no record; only in a file of one column a blank line is a row whose cell is null.

    Parameters
    ----------
    delimiter
        One ASCII character; None to find it by looking.
    quote
        One ASCII character; stands around cells that hold delimiters, line ends or (doubled) quotes.
    encoding
        None for what the byte order mark says, or else UTF-8.
    decimal
        ``.`` or ``,``.
    missing
        Further cells that mean "no value".
    datetime
        How dates and times are written, as in ``strptime``; None for ISO 8601.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt", ".tab", ".data", ".csv.gz", ".tsv.gz")
    textual: ClassVar[bool] = True  #: cells come as they are written

    delimiter: Annotated[str | None, Param("What separates the cells; none: found by looking.")] = None
    quote: Annotated[str, Param("What stands around cells that hold a delimiter.")] = '"'
    encoding: Annotated[str | None, Param("The encoding; none: UTF-8, or what the byte order mark says.")] = None
    decimal: Annotated[str, Param("The decimal sign.")] = "."
    missing: Annotated[tuple[str, ...] | list[str], Param("Cells that mean no value, besides the empty one.")] = ()
    datetime: Annotated[str | None, Param("How dates and times are written; none: ISO 8601.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = []
        for field, value in (("delimiter", self.delimiter), ("quote", self.quote)):
            if value is not None and not (len(value) == 1 and value.isascii() and value not in "\r\n\0"):
                faults.append(f"Csv: {field} must be one ASCII character, got {value!r}. Give a single one.")
        if self.decimal not in (".", ","):
            faults.append(f"Csv: decimal must be '.' or ',', got {self.decimal!r}. Give one of the two.")
        if self.quote in (self.delimiter, self.decimal):
            faults.append(f"Csv: quote must differ from delimiter and decimal, got {self.quote!r}. Change one of them.")
        if not all(isinstance(text, str) for text in self.missing):
            faults.append('Csv: missing must be a list of texts, got something else. Write for example ["NA", "-9"].')
        if self.datetime is not None and not _reads_back(self.datetime):
            faults.append(
                f"Csv: datetime must be a format that reads back what it writes, got {self.datetime!r}. "
                "Write for example %d.%m.%Y; zones are understood only in ISO 8601."
            )
        raise_all(ParameterError, faults)
        if self.encoding is not None:
            codec("Csv", self.encoding)

    @classmethod
    def of(cls, dialect: Dialect) -> Csv:
        """Return the source that reads what was written in this dialect, without looking for anything.

        >>> Csv.of(Dialect(delimiter=";", decimal=",")).delimiter
        ';'
        """
        return cls(**{f.name: getattr(dialect, f.name) for f in fields(cls)})

    def dialect(self) -> Dialect:
        """Return how to write a file as this source would read it."""
        delimiter = self.delimiter or (";" if self.decimal == "," else ",")
        missing = tuple(self.missing)
        return Dialect(delimiter, self.quote, self.encoding or "utf-8", self.decimal, "\n", missing, self.datetime)

    def read(self, path: Path, *, names: Collection[str] = ()) -> tuple[pa.Table, Dialect | None]:
        """Return the file's cells as text, and how to write them again.

        With `names` of columns, the delimiter is found in the header alone: it parts the header into these names.

        Raises
        ------
        DataError
            If the file cannot be read or parsed, or has no rows.
        SchemaError
            If names in the header are empty or there twice.
        """
        name = path.name
        encoding = None if self.encoding is None else codec("Csv", self.encoding)
        text, encoding = to_utf8(name, read_bytes(path), encoding)
        first = "\t" if path.name.lower().removesuffix(".gz").endswith(_TAB_SUFFIXES) else None
        found = self.delimiter or (in_header(text, names, self.quote) if names else None)
        found = found or find_delimiter(text, self.quote, decimal=self.decimal, first=first)
        header = read_header(name, text, found or _absent(text), self.quote)
        check_names(name, header.names)
        rows = Rows(name, text, header.end, header.names, found or _absent(text), self.quote)
        if not text[header.end : header.end + 1] or (table := rows.read()).num_rows == 0:
            raise DataError(
                f"{name}: must hold at least one row below the header, got none. "
                "Check that it is the right file, and that the quotes in its header are closed."
            )
        written = self.dialect()
        return table, replace(written, delimiter=found or written.delimiter, encoding=encoding, newline=header.newline)


def _reads_back(pattern: str) -> bool:
    """Tell whether a format of dates reads the date it writes."""
    moment = dt.datetime(2001, 2, 3, 14, 5, 6)
    try:
        return dt.datetime.strptime(moment.strftime(pattern), pattern).date() == moment.date()
    except ValueError:
        return False


def _absent(text: bytes) -> str:
    """Return a delimiter that the text does not hold, for a file of one column."""
    return next((mark for mark in map(chr, range(1, 32)) if mark not in "\r\n" and mark.encode() not in text), "\t")
