"""Bytes of a text file in any encoding → UTF-8, and the name of the encoding to write them again."""

from __future__ import annotations

import codecs
import gzip
import zlib
from typing import TYPE_CHECKING

from shoal.errors import DataError, ParameterError

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
_GZIP = b"\x1f\x8b"


def codec(owner: str, encoding: str) -> str:
    """Return the usual name of an encoding of text.

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
    """Return the text in UTF-8 without byte order mark, and the encoding it came in.

    A byte order mark decides if no encoding is given, else it is UTF-8. UTF-8 is not checked here but while
    it is parsed, which is faster; see :func:`check_utf8`.

    >>> to_utf8("people.csv", b"\\xef\\xbb\\xbfage", None)
    (b'age', 'utf-8-sig')
    """
    raw = _unpacked(owner, raw)
    name = encoding or next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    if name in ("utf-8", "utf-8-sig"):
        marked = raw.startswith(codecs.BOM_UTF8)
        return (raw[len(codecs.BOM_UTF8) :], "utf-8-sig") if marked else (raw, "utf-8")
    text = _decoded(owner, raw, name)
    if text.startswith("\ufeff"):
        text, name = text[1:], _UNICODE.get(name, name)
    return text.encode(), name


def arrow_buffer(*parts: bytes | memoryview) -> pa.Buffer:
    """Return the parts one after the other, in memory of Arrow.

    Arrow's threads may hold the buffer longer than a read that has failed. Memory of Python would be released by such a
    thread, which aborts the program if it is just ending.

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


def check_utf8(owner: str, text: bytes) -> None:
    """Raise if the text is not UTF-8, saying in which line."""
    _decoded(owner, text, "utf-8")


def _decoded(owner: str, raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", len(raw))
    before = raw[:start].decode(encoding, errors="replace")
    line = 1 + before.count("\n") + before.count("\r") - before.count("\r\n")
    raise DataError(
        f"{owner}: line {line:,} is not valid {encoding}. Give the file's encoding, "
        "for example --encoding cp1252 for files saved by older programs on Windows."
    )


def _unpacked(owner: str, raw: bytes) -> bytes:
    if not raw.startswith(_GZIP):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        raise DataError(f"{owner}: is compressed, and damaged or cut short. Fetch it again.") from None
