"""Guess of the encoding of a text file that is not UTF-8 and has no byte order mark."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from shoal.errors import DataError
from shoal.io.sources._text_chunks import CHUNK, open_text

#: Encodings with one byte per character, the likelier first: Windows, old DOS programs, central Europe, and one that
#: reads any bytes.
_SINGLE_BYTE = ("cp1252", "cp850", "cp1250", "iso8859-2", "iso8859-1")
_SEPARATORS = "\u00a0\u202f\u2009\u2019"
_UNITS = ("m²", "m³")
_LOOKED_AT = 1 << 16


def guess_encoding(path: Path) -> str | None:
    """Return the likely encoding of a text file; None if it is UTF-8 or has a byte order mark.

    Of the encodings with one byte per character it is the one in which special characters are mostly letters next to
    other letters.
    """
    with open_text(path, None) as text:
        if text.encoding != "utf-8":  # by its mark
            return None
        head = text.read(_LOOKED_AT)
    if wide := _wide(head):
        return wide
    if _is_read(path, None):
        return None
    special = b"".join(_around_special(path))
    fitting = [one for one in _SINGLE_BYTE if _is_read(path, one)]
    return max(fitting, key=lambda one: _letters(special.decode(one, "replace")))


def _is_read(path: Path, encoding: str | None) -> bool:
    """Tell whether a whole file can be decoded; UTF-8 if no encoding is given."""
    check = codecs.getincrementaldecoder("utf-8")()
    try:
        with open_text(path, encoding) as text:
            while piece := text.read(CHUNK):
                check.decode(piece)
            check.decode(b"", final=True)
    except (DataError, UnicodeDecodeError):
        return False
    return True


def _around_special(path: Path) -> Iterator[bytes]:
    """Yield the first bytes above 127 with their neighbours."""
    with open_text(path, "iso8859-1") as text:
        sample = text.read(CHUNK).decode(errors="ignore").encode("iso8859-1")
    yield from (found.group() + b" " for found in re.finditer(rb"[\x00-\x7f]?[\x80-\xff]+[\x00-\x7f]?", sample))


def _letters(text: str) -> int:
    r"""Count special letters next to other letters, and separators of thousands next to digits.

    Special capitals after small letters, special letters next to digits, and other signs count against it.

    >>> [_letters(b"1\xa0234 1\x92234".decode(one)) for one in ("cp1252", "cp850")]
    [4, -4]
    """
    pairs = [(a, b) for a, b in pairwise(text) if not (a.isascii() and b.isascii())]
    return sum(_fits(a, b) - _strange(a, b) for a, b in pairs if a + b not in _UNITS)


def _fits(a: str, b: str) -> bool:
    """Tell whether two neighbours are letters, a sign before a letter, or a digit and a separator of thousands."""
    return (a.isalpha() and b.isalpha()) or (a in "¿¡" and b.isalpha()) or _separates(a, b) or _separates(b, a)


def _strange(a: str, b: str) -> bool:
    """Tell whether a special character is hardly found where it is."""
    beside_digit = (a.isdecimal() and b.isalpha()) or (a.isalpha() and b.isdecimal())
    power = a in "²³" and not b.isalpha()
    other = not (a.isascii() or a.isalpha() or power or a in "€£°" or _separates(a, b))
    return (a.islower() and b.isupper()) or beside_digit or (other and not _fits(a, b))


def _separates(sign: str, beside: str) -> bool:
    """Tell whether a character is a special separator of thousands, next to a digit."""
    return not sign.isascii() and sign in _SEPARATORS and beside.isdigit()


def _wide(head: bytes) -> str | None:
    """Return UTF-16 in the byte order of a text of mostly Latin letters without a byte order mark."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) // 4:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"
