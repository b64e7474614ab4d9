"""Rows of a text file in any encoding, as columns of text."""

from __future__ import annotations

import codecs
import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, ParameterError, listing

if TYPE_CHECKING:
    import pyarrow as pa


#: Byte order marks, the longer ones first because UTF-32's begins like UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNICODE = {
    "utf-8": "utf-8-sig",
    "utf-16-le": "utf-16",
    "utf-16-be": "utf-16",
    "utf-32-le": "utf-32",
    "utf-32-be": "utf-32",
}
GZIP = b"\x1f\x8b"


def codec(owner: str, encoding: str) -> str:
    """Return the canonical name of a text encoding.

    >>> codec("Csv", "Latin-1")
    'iso8859-1'
    """
    try:
        "a".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ParameterError(
            f"{owner}: encoding must be one that Python knows, such as utf-8, utf-16, latin-1 or cp1252, "
            f"got {encoding!r}. Correct its name."
        ) from None


def to_utf8(owner: str, raw: bytes, encoding: str | None) -> tuple[bytes, str]:
    """Return the text in UTF-8 without byte order mark, and its original encoding.

    Without a given encoding a byte order mark decides, else UTF-8 is assumed. UTF-8 is not checked here but while it is
    parsed, which is faster; see :func:`check_utf8`.

    >>> to_utf8("people.csv", b"\\xef\\xbb\\xbfage", None)
    (b'age', 'utf-8-sig')
    """
    raw = _unpacked(owner, raw)
    name = encoding_of(raw, encoding)
    if name in ("utf-8", "utf-8-sig"):
        marked = raw.startswith(codecs.BOM_UTF8)
        return (raw[len(codecs.BOM_UTF8) :], "utf-8-sig") if marked else (raw, "utf-8")
    text = _decoded(owner, raw, name)
    if text.startswith("\ufeff"):
        text, name = text[1:], name_of(name)
    return text.encode(), name


def encoding_of(raw: bytes, encoding: str | None) -> str:
    """Return the given encoding, or that of the byte order mark, else UTF-8."""
    return encoding or next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")


def name_of(encoding: str) -> str:
    """Return the name of an encoding that writes a byte order mark, for a text that began with one.

    >>> name_of("utf-16-le"), name_of("cp1252")
    ('utf-16', 'cp1252')
    """
    return _UNICODE.get(encoding, encoding)


def arrow_buffer(*parts: bytes | memoryview) -> pa.Buffer:
    """Return the concatenated parts, in Arrow memory.

    Arrow's threads may hold the buffer longer than a failed read. Such a thread would release Python memory, which
    aborts the program if it is just ending.

    >>> arrow_buffer(b"a,", b"b").to_pybytes()
    b'a,b'
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(sum(map(len, parts)))
    free = memoryview(buffer).cast("B")
    for part in parts:
        free[: len(part)] = part
        free = free[len(part) :]
    return buffer


def check_utf8(owner: str, text: bytes, lines: int = 0) -> None:
    """Raise if the text is not UTF-8, naming the line, if `lines` come before the text."""
    _decoded(owner, text, "utf-8", lines)


def _decoded(owner: str, raw: bytes, encoding: str, lines: int = 0) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", len(raw))
    raise invalid(owner, encoding, lines + lines_in(raw[:start].decode(encoding, errors="replace").encode()))


def lines_in(text: bytes) -> int:
    """Return the number of line ends: LF, CR LF or CR.

    >>> lines_in(b"a\\nb\\r\\nc\\r")
    3
    """
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def invalid(owner: str, encoding: str, lines: int) -> DataError:
    """Return the error for a text that is not in its encoding; `lines` is the number of valid lines before."""
    return DataError(
        f"{owner}: line {lines + 1:,} is not valid {encoding}. Give the file's encoding, "
        "for example --encoding cp1252 for files saved by older programs on Windows."
    )


def compressed(owner: str) -> DataError:
    """Return the error for a compressed file that cannot be unpacked."""
    return DataError(f"{owner}: is compressed, and damaged or truncated. Get a new copy.")


def _unpacked(owner: str, raw: bytes) -> bytes:
    if not raw.startswith(GZIP):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        raise compressed(owner) from None


_BLOCK = 1 << 22
_LARGEST_BLOCK = (1 << 31) - 1
_ROWS_IN_BLOCK = 512
_MARK = "."
_SHOWN = 10


@dataclass(frozen=True)
class Rows:
    """The rows after the header.

    Attributes
    ----------
    owner
        The file's name, for messages.
    text
        The file in UTF-8.
    start
        Where the rows begin in it.
    names
        The names of the columns.
    before, lines
        The number of rows and of lines before the text, for messages.
    columns
        Those to convert, the last column among them; None: all.
    """

    owner: str
    text: bytes = field(repr=False)
    start: int
    names: Sequence[str]
    delimiter: str
    quote: str
    before: int = 0
    lines: int = 0
    columns: Sequence[str] | None = None

    def read(self) -> pa.Table:
        """Return every cell as written; a cell with nothing in it, not even quotes, is null.

        Raises
        ------
        DataError
            If rows do not have as many cells as the header, a quote is never closed, or the text is not UTF-8.
        """
        table, bad = self.parse()
        if bad:
            raise DataError(ragged(self.owner, len(bad), bad, len(self.names)))
        return table

    def parse(self) -> tuple[pa.Table, list[int]]:
        """Return the rows with as many cells as the header, and the numbers of the others."""
        import pyarrow as pa

        quoted = self.text.find(self.quote.encode(), self.start) >= 0
        data = self._data(quoted)
        for block in self._blocks(len(data)):
            with suppress(pa.ArrowException):  # a row that does not fit or exceeds the block, or invalid UTF-8
                table = self._parse(data, block, quoted)
                return (self._unmarked(table, 0) if quoted else table), []
        check_utf8(self.owner, self.text, self.lines)
        for block in self._blocks(len(data)):
            bad: list[int | None] = []
            with suppress(pa.ArrowException):
                table = self._parse(data, block, quoted, bad)
                table = self._unmarked(table, len(bad)) if quoted else table
                return table, [self.before + (number or 0) for number in bad]
        raise DataError(f"{self.owner}: could not be parsed. Check its delimiter and quotes, and save it again.")

    def _parse(self, data: pa.Buffer, block: int, quoted: bool, bad: list[int | None] | None = None) -> pa.Table:
        """Parse the rows, in threads; with a list, skip rows that do not fit and note their numbers, in this thread.

        Arrow's threads continue for a while after one of them has failed. If they called Python then, and the program
        ended, it would be aborted: so only a single thread does.
        """
        import pyarrow as pa
        from pyarrow import csv

        def skip(row: Any) -> str:
            assert bad is not None
            bad.append(row.number)
            return "skip"

        source: Any = pa.BufferReader(data)
        handler: Any = None if bad is None else skip
        threads = bad is None
        return csv.read_csv(
            source,
            read_options=csv.ReadOptions(column_names=list(self.names), block_size=block, use_threads=threads),
            parse_options=csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote,
                newlines_in_values=quoted,  # slower, so only if there are quotes
                ignore_empty_lines=len(self.names) > 1,
                invalid_row_handler=handler,
            ),
            convert_options=csv.ConvertOptions(
                include_columns=self.columns or [],
                column_types=dict.fromkeys(self.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _blocks(self, size: int) -> Iterator[int]:
        """Yield block sizes to try, up to one block for everything: a row must fit into its block."""
        block = min(max(_BLOCK, _ROWS_IN_BLOCK * self.start), _LARGEST_BLOCK)
        yield block
        while block < min(size, _LARGEST_BLOCK):
            block = min(block * 16, _LARGEST_BLOCK)
            yield block

    def _data(self, quoted: bool) -> pa.Buffer:
        """Return the text after the header, for Arrow to parse.

        If there are quotes it ends with one more row, which an unclosed quote would swallow. If the first cell begins
        with U+FEFF, another one is put before it, which Arrow takes for a byte order mark.
        """
        lead = BOM_UTF8 if self.text.startswith(BOM_UTF8, self.start) else b""
        ended = self.text.endswith((b"\n", b"\r"))
        mark = self.delimiter.join([_MARK] * len(self.names)) + "\n" if quoted else ""
        end = b"" if ended or not quoted else b"\n"
        return arrow_buffer(lead, memoryview(self.text)[self.start :], end, mark.encode())

    def _unmarked(self, table: pa.Table, bad: int) -> pa.Table:
        """Return the table without the added last row."""
        if table.num_rows and table.column(table.num_columns - 1)[-1].as_py() == _MARK:
            return table.slice(0, table.num_rows - 1)
        raise DataError(
            f"{self.owner}: a quote that opens in row {self.before + table.num_rows + bad:,} is never closed. "
            "Close it, or name another quote character."
        )


def ragged(owner: str, count: int, first: Sequence[int], columns: int) -> str:
    """Return the sentence about `count` rows with more or fewer cells than the header; `first` are the first ones."""
    rows, do = ("row", "does") if count == 1 else ("rows", "do")
    which = listing(first[:_SHOWN]) + (f" and {count - _SHOWN:,} more" if count > _SHOWN else "")
    return (
        f"{owner}: {count:,} {rows} {do} not have the header's {columns:,} "
        f"column{'s' * (columns != 1)}: {rows} {which}. Correct the {rows}, or name the delimiter."
    )
