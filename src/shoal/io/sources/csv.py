"""Delimited text files: comma, semicolon, tab or another delimiter, detected from the text."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from shoal.errors import DataError, ParameterError, SchemaError, raise_all
from shoal.io.sources._file import check_header, check_names, no_rows, read_bytes
from shoal.io.sources._text_chunks import Utf8Text, open_text, refuse_long, skip, whole_rows
from shoal.io.sources._text_rows import Rows, check_utf8, codec, lines_in, ragged, to_utf8
from shoal.parameters import Checked, Param
from shoal.types import Dialect
from shoal.types.protocols import Source

if TYPE_CHECKING:
    import pyarrow as pa


#: Possible delimiters, likelier first where two fit equally well: commas also occur inside numbers.
DELIMITERS = ("\t", ";", "|", ",")
#: Thousands separators: a blank stands for every kind of blank, an apostrophe for the typographic one as well.
THOUSANDS = (".", ",", " ", "'")
_SAMPLE = 1 << 16
_RECORDS = 200


@dataclass(frozen=True)
class Header:
    """The first record of a text file: its cells as written, where the rows begin, and its line end."""

    written: tuple[str, ...]
    end: int
    newline: str
    trim: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: the cells, without surrounding blanks if these are removed."""
        return tuple(cell.strip() if self.trim else cell for cell in self.written)

    @property
    def trimmed(self) -> tuple[str, ...]:
        """The names that were written with surrounding blanks."""
        return tuple(name for name, cell in zip(self.names, self.written, strict=True) if name != cell)


def find_delimiter(text: bytes, quote: str, *, decimal: str = ".", first: str | None = None) -> str | None:
    """Return the delimiter that splits the first records into equally many cells, or None for a single column.

    Parameters
    ----------
    text
        The file in UTF-8.
    quote
        The quote character around cells that contain a delimiter.
    decimal
        The decimal mark, which is never taken for a delimiter.
    first
        The delimiter suggested by the file's name: taken if it occurs in the header.

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
            agreement = sum(count == header for count in rows) / max(len(rows), 1)
            found.append((agreement, header, delimiter))
    return max(found, key=lambda one: one[:2])[2] if found else None


def in_header(text: bytes, names: Collection[str], quote: str) -> str | None:
    """Return the delimiter that splits the header into cells that include all names; None if no delimiter does.

    Only the header is read, so no record can change the answer.

    >>> in_header(b"age;income\\n31,1;5,2\\n44,3;2,5\\n", ["age", "income"], '"')
    ';'
    """
    line = next((line for line in text[:_SAMPLE].splitlines() if line.strip()), b"").decode("utf-8", errors="replace")
    for delimiter in DELIMITERS:
        if delimiter == quote:
            continue
        header = next(csv.reader([line], delimiter=delimiter, quotechar=quote), [])
        if len(header) > 1 and set(names) <= {*header, *(cell.strip() for cell in header)}:
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
        If the file has no header, or is not in UTF-8.
    SchemaError
        If a cell of it is too long for a name.
    """
    lines = _Lines(text)
    names = None
    try:
        names = next((r for r in csv.reader(lines, delimiter=delimiter, quotechar=quote) if r), None)
    except UnicodeDecodeError:  # the error holds the bytes, so nothing may be raised from here
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
    """The lines of a text, with a count of the bytes read."""

    def __init__(self, text: bytes) -> None:
        self._lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
        self.read = 0
        self.last = ""
        self.valid = True

    def __next__(self) -> str:
        self.last = next(self._lines)
        self.read += len(self.last.encode())
        return self.last


_TAB_SUFFIXES = (".tsv", ".tab")


@dataclass(frozen=True)
class Csv(Checked, Source):
    """Delimited text files: comma, semicolon, tab or another delimiter, detected from the text.

    Every column is text, every cell exactly as in the file, so that ``007`` and ``1.50`` survive. An empty cell is
    null, an empty cell in quotes is the empty text. Cells that `missing` lists stay unchanged: the dialect passes them
    to later stages. Rows are counted from 1, without the header. Blank lines hold no record; only in a file of one
    column is a blank line a row whose cell is null.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt", ".tab", ".data", ".csv.gz", ".tsv.gz")
    textual: ClassVar[bool] = True
    batched: ClassVar[bool] = True

    delimiter: Annotated[str | None, Param("Delimiter of cells; none: detected.")] = None
    quote: Annotated[str, Param("Quote character.")] = '"'
    encoding: Annotated[str | None, Param("Encoding; none: UTF-8, or by the byte order mark.")] = None
    decimal: Annotated[str, Param("Decimal sign.")] = "."
    missing: Annotated[
        tuple[str, ...],
        Param(
            "Cells that mean a missing value, in addition to empty ones.",
            words="a list of texts",
            example='["NA", "-9"]',
        ),
    ] = ()
    datetime: Annotated[str | None, Param("Format of dates and times; none: ISO 8601.")] = None
    thousands: Annotated[str | None, Param("Thousands separator; none: numbers are not grouped.")] = None
    trim: Annotated[bool, Param("Remove blanks around the names of columns.")] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = []
        for field, value in (("delimiter", self.delimiter), ("quote", self.quote)):
            if value is not None and not (len(value) == 1 and value.isascii() and value not in "\r\n\0"):
                faults.append(f"Csv: {field} must be one ASCII character, got {value!r}. Give a single one.")
        if self.decimal not in (".", ","):
            faults.append(f"Csv: decimal must be '.' or ',', got {self.decimal!r}. Give one of the two.")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            faults.append(
                f"Csv: thousands must be '.', ',', a blank or an apostrophe, got {self.thousands!r}. Give one of them."
            )
        if self.thousands == self.decimal:
            other = "','" if self.decimal == "." else "'.'"
            faults.append(
                f"Csv: thousands must differ from decimal; both are {self.decimal!r}. Add --decimal {other}, or leave "
                "out thousands."
            )
        if self.quote in (self.delimiter, self.decimal):
            faults.append(f"Csv: quote must differ from delimiter and decimal, got {self.quote!r}. Change one of them.")
        if self.datetime is not None and not _reads_back(self.datetime):
            faults.append(
                f"Csv: datetime must be a format that reads back what it writes, got {self.datetime!r}. "
                "Write for example %d.%m.%Y; zones are understood only in ISO 8601."
            )
        raise_all(ParameterError, faults)
        if self.encoding is not None:
            codec("Csv", self.encoding)

    @classmethod
    def of(cls, dialect: Dialect) -> Self:
        """Return the source that reads text written in this dialect, without detection.

        Names are read as written, unless blanks around them were removed before.

        >>> Csv.of(Dialect(delimiter=";", decimal=",")).delimiter
        ';'
        """
        return cls(
            **{f.name: getattr(dialect, f.name) for f in fields(cls) if f.name != "trim"}, trim=bool(dialect.trimmed)
        )

    def dialect(self) -> Dialect:
        """Return the dialect for writing a file that this source would read."""
        delimiter = self.delimiter or (";" if self.decimal == "," else ",")
        missing = tuple(self.missing)
        return Dialect(
            delimiter,
            self.quote,
            self.encoding or "utf-8",
            self.decimal,
            missing=missing,
            datetime=self.datetime,
            thousands=self.thousands,
        )

    def read(self, path: Path, *, names: Collection[str] = ()) -> tuple[pa.Table, Dialect | None]:
        """Return the file's cells as text, and the dialect to write them again.

        With column `names`, the delimiter is found in the header alone: it splits the header into these names.

        Raises
        ------
        DataError
            If the file cannot be read or parsed, or has no rows.
        SchemaError
            If names in the header are empty or duplicated.
        """
        name = path.name
        encoding = None if self.encoding is None else codec("Csv", self.encoding)
        text, encoding = to_utf8(name, read_bytes(path), encoding)
        found = self._delimiter(path, text, names)
        header = self._checked(name, read_header(name, text, found or _absent(text), self.quote))
        rows = Rows(name, text, header.end, header.names, found or _absent(text), self.quote)
        if not text[header.end : header.end + 1] or (table := rows.read()).num_rows == 0:
            raise no_rows(name, textual=True)
        return table, self._written(found, encoding, header)

    def open(self, path: Path, *, names: Collection[str] = ()) -> CsvBatches:
        """Open a file to be read in batches, with the cells and the dialect that :meth:`read` returns.

        Raises
        ------
        DataError
            If the file cannot be read, or has no header.
        SchemaError
            If names in the header are empty or duplicated.
        """
        encoding = None if self.encoding is None else codec("Csv", self.encoding)
        with open_text(path, encoding) as text:
            head = b""
            while more := text.read(_SAMPLE + 1 - len(head)):
                head += more
            found = self._delimiter(path, head, names)
            header, head = _header_of(path.name, text, head, found, self.quote)
            header = self._checked(path.name, header)
            written = self._written(found, text.encoding, header)
        return CsvBatches(path, header, found, encoding, written, lines_in(head[: header.end]))

    def _checked(self, owner: str, header: Header) -> Header:
        """Return a header with valid names."""
        (check_header if self.trim else check_names)(owner, header.written)
        return replace(header, trim=self.trim)

    def _delimiter(self, path: Path, text: bytes, names: Collection[str]) -> str | None:
        """Return the delimiter, from the beginning of a text; None: there is a single column."""
        first = "\t" if path.name.lower().removesuffix(".gz").endswith(_TAB_SUFFIXES) else None
        found = self.delimiter or (in_header(text, names, self.quote) if names else None)
        return found or find_delimiter(text, self.quote, decimal=self.decimal, first=first)

    def _written(self, delimiter: str | None, encoding: str, header: Header) -> Dialect:
        written = self.dialect()
        return replace(
            written,
            delimiter=delimiter or written.delimiter,
            encoding=encoding,
            newline=header.newline,
            trimmed=header.trimmed,
        )


@dataclass(frozen=True)
class CsvBatches:
    """A text file that is read in batches.

    Attributes
    ----------
    delimiter
        The delimiter; None: there is a single column.
    encoding
        The encoding that was given.
    lines
        The number of lines of the header.
    """

    path: Path
    header: Header
    delimiter: str | None
    encoding: str | None
    dialect: Dialect
    lines: int
    records: int | None = None

    @property
    def arrow(self) -> pa.Schema:
        """The columns, all of them text."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self.header.names])

    def read(self, columns: Sequence[str] | None, rows: int) -> Iterator[pa.Table]:
        """Yield tables, one for each chunk of the file, with all columns or some, in this order.

        Raises
        ------
        DataError
            If the file cannot be read, or does not parse. If rows do not have as many cells as the header, the rest of
            the file is searched for others first, so that the message is about all of them.
        """
        names, quote = self.header.names, self.dialect.quote
        wanted = names if columns is None else columns
        before, lines = 0, self.lines
        odd, first = 0, list[int]()
        with open_text(self.path, self.encoding) as text:
            skip(text, self.header.end)
            for chunk in whole_rows(text, self.delimiter, quote):
                mark = self.delimiter or _absent(chunk)
                read = None if columns is None else list(dict.fromkeys([*columns, names[-1]]))
                part = Rows(self.path.name, chunk, 0, names, mark, quote, before, lines, read)
                refuse_long(part)
                table, bad = part.parse()
                before, lines = before + table.num_rows + len(bad), lines + lines_in(chunk)
                odd, first = odd + len(bad), [*first, *bad][:10]
                if not odd and table.num_rows:
                    yield table.select(wanted)
        if odd:
            raise DataError(ragged(self.path.name, odd, first, len(names)))


def _header_of(owner: str, text: Utf8Text, head: bytes, delimiter: str | None, quote: str) -> tuple[Header, bytes]:
    """Return the header of a text, and as much of its beginning as was read to find its end."""
    while True:
        more = text.read(len(head) or 1)
        whole = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] if more else head  # not half a character
        if whole or not more:
            header = read_header(owner, whole, delimiter or _absent(head), quote)
            if header.end < len(whole) or not more:
                return header, whole
        head += more


def _reads_back(pattern: str) -> bool:
    """Tell whether a date format parses the date it writes."""
    moment = dt.datetime(2001, 2, 3, 14, 5, 6)
    try:
        return dt.datetime.strptime(moment.strftime(pattern), pattern).date() == moment.date()
    except ValueError:
        return False


def _absent(text: bytes) -> str:
    """Return a delimiter that the text does not contain, for a file of one column."""
    return next((mark for mark in map(chr, range(1, 32)) if mark not in "\r\n" and mark.encode() not in text), "\t")
