"""Text files read in chunks: in UTF-8, each ending with a whole row."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shoal.errors import DataError, ParameterError
from shoal.io.sources._file import unreadable
from shoal.io.sources._text_rows import GZIP, Rows, compressed, encoding_of, invalid, lines_in, name_of

#: Bytes of a chunk, and the longest row, in bytes: an unclosed quote would otherwise swallow the rest of the file.
CHUNK = 1 << 23
LONGEST = 1 << 27


class Utf8Text:
    """The text of a file in UTF-8 without byte order mark, read piece by piece.

    Attributes
    ----------
    encoding
        The file's own encoding, as `to_utf8` reports it.
    """

    def __init__(self, path: Path, file: BinaryIO | gzip.GzipFile, encoding: str | None) -> None:
        self._path, self._file = path, file
        first = self._bytes(max(CHUNK, 16))  # holds the byte order mark
        self.encoding = encoding_of(first, encoding)
        self._decoder: Any = None
        self._lines = 0
        self._ended_in_return = False
        if self.encoding in ("utf-8", "utf-8-sig"):
            marked = first.startswith(codecs.BOM_UTF8)
            self.encoding = "utf-8-sig" if marked else "utf-8"
            self._ahead = first[len(codecs.BOM_UTF8) :] if marked else first
            return
        try:
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
        except LookupError:
            raise ParameterError(
                f"{path.name}: {self.encoding} can only be read into memory as a whole. Convert the file to UTF-8."
            ) from None
        text = self._decoded(first)
        if text.startswith("\ufeff"):
            text, self.encoding = text[1:], name_of(self.encoding)
        self._ahead = text.encode()

    def read(self, size: int) -> bytes:
        """Return about `size` bytes, and none only at the end or if none are asked for."""
        if size <= 0:
            return b""
        if self._ahead:
            found, self._ahead = self._ahead[:size], self._ahead[size:]
            return found
        raw = self._bytes(size)
        if self._decoder is None:
            return raw
        text = self._decoded(raw)
        while raw and not text:
            raw = self._bytes(size)
            text = self._decoded(raw)
        return text.encode()

    def _bytes(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise compressed(self._path.name) from None
        except OSError as error:
            raise DataError(unreadable(self._path, error)) from None

    def _decoded(self, raw: bytes) -> str:
        try:
            text: str = self._decoder.decode(raw, final=not raw)
        except UnicodeError as error:
            done = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            encoding = error.encoding if isinstance(error, UnicodeDecodeError) else self.encoding
        else:
            joined = self._ended_in_return and text.startswith("\n")  # one line end, in two pieces
            self._lines += lines_in(text.encode()) - joined
            self._ended_in_return = text.endswith("\r") if text else self._ended_in_return
            return text
        raise invalid(self._path.name, self.encoding, self._lines + lines_in(done.decode(encoding, "replace").encode()))


@contextmanager
def open_text(path: Path, encoding: str | None) -> Iterator[Utf8Text]:
    """Open a text file, compressed or not, in any encoding that can be decoded piece by piece."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(unreadable(path, error)) from None
    with file:
        try:
            packed = file.read(len(GZIP)) == GZIP
            file.seek(0)
        except OSError as error:
            raise DataError(unreadable(path, error)) from None
        with gzip.GzipFile(fileobj=file) if packed else file as plain:
            yield Utf8Text(path, plain, encoding)


def whole_rows(text: Utf8Text, delimiter: str | None, quote: str) -> Iterator[bytes]:
    """Yield the rest of a text in chunks that end with whole rows; the last may lack a line end.

    A chunk that is longer than `LONGEST` is yielded although its row is not complete, as the last one.
    """
    rest = b""
    while more := text.read(max(CHUNK, len(rest))):
        rest += more
        end = end_of_rows(rest, delimiter, quote)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST:
            break
    if rest:
        yield rest


def skip(text: Utf8Text, size: int) -> None:
    """Read over the beginning of a text."""
    while more := text.read(size):
        size -= len(more)


def refuse_long(part: Rows) -> None:
    """Raise if a chunk is an incomplete row, because no row end was found for so long."""
    if len(part.text) > LONGEST and not end_of_rows(part.text, part.delimiter, part.quote):
        raise DataError(
            f"{part.owner}: row {part.before + 1:,} is longer than {LONGEST >> 20} MB, or a quote that opens in it is "
            "never closed. Close it, or name another quote character."
        )


def end_of_rows(text: bytes, delimiter: str | None, quote: str) -> int:
    r"""Return where the last complete row of a text ends that begins with a row; 0 if none is complete.

    As in Arrow's parser, a quote opens a quoted cell only at the beginning of a cell, a doubled quote inside it does
    not close it, and text after the closing quote belongs to the cell. A line end is LF, CR LF or CR.

    >>> end_of_rows(b'1,"a\nb"\n2,"c', ",", '"')
    8
    """
    whole = len(text) - text.endswith(b"\r")  # LF may follow
    mark = quote.encode()
    if mark not in text:
        return _line_end(text, 0, whole)
    codes = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(codes == ord(quote))
    opening = quotes[::2]
    before = codes[opening[opening > 0] - 1]
    begins = np.frombuffer((delimiter or "").encode() + b"\r\n" + mark, np.uint8)
    if not np.isin(before, begins).all():  # a quote inside a cell that is not quoted
        return _end_of_odd_rows(text, delimiter, mark, whole)
    while end := _line_end(text, 0, whole):
        inside = int(np.searchsorted(quotes, end))  # quotes open and close alternately
        if inside % 2 == 0:
            return end
        whole = int(quotes[inside - 1])
    return 0


def _line_end(text: bytes, start: int, end: int) -> int:
    """Return the position after the last line end in a part of a text; 0 if it has no line end."""
    return max(text.rfind(b"\n", start, end), text.rfind(b"\r", start, end)) + 1


def _end_of_odd_rows(text: bytes, delimiter: str | None, mark: bytes, whole: int) -> int:
    """Return where the last complete row ends, by following every quoted cell."""
    begins = re.escape((delimiter or "").encode()) + rb"\r\n"
    opening = re.compile(rb"(?:\A|(?<=[" + begins + rb"]))" + re.escape(mark))
    end = at = 0
    while True:
        found = opening.search(text, at)
        end = _line_end(text, at, whole if found is None else min(found.start(), whole)) or end
        if found is None:
            return end
        close = text.find(mark, found.end())
        while close >= 0 and text.startswith(mark, close + 1):
            close = text.find(mark, close + 2)
        if close < 0:
            return end
        at = close + 1
