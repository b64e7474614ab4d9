"""Spellings of one person or one value: the rule for everything that forms classes.

The audit implements the same rule independently (`privacy/counting/spelling.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# Code points that Unicode lets programs ignore when they display text (Default_Ignorable_Code_Point), control
# characters other than blanks, annotation marks, and the blank Braille pattern.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?", re.ASCII)


def person(text: str) -> str:
    """Return the comparison key of a person or a group: equal for all spellings that probably denote one.

    >>> person("Ann") == person(" ANN\\u200b"), person("1") == person("01.0") == person("+1"), person("12E5")
    (True, True, '12e5')
    """
    key = text.strip().lower() if text.isascii() and text.isprintable() else _folded(text, "NFKC")
    return _number(key) if key[:1] in _FIRST else key


_FIRST = tuple("+-.0123456789")  # first characters of a number


def value(text: str) -> str:
    """Return the comparison key of a confidential value for counting; 01 and 1 can be different codes.

    >>> value("Flu") == value(" flu\\ufeff"), value("01") == value("1")
    (True, False)
    """
    return text.strip().lower() if text.isascii() and text.isprintable() else _folded(text, "NFC")


def written(number: float | Decimal) -> str:
    """Return a number as text without an exponent.

    >>> written(1e22), written(2.50), written(Decimal("1E-7"))
    ('10000000000000000000000', '2.5', '0.0000001')
    """
    exact = number if isinstance(number, Decimal) else Decimal(repr(float(number)))
    text = f"{exact:f}"
    return _number(text) if exact.is_finite() else text


def people(names: pa.Array) -> pa.Array:
    """Return `person` of each of many texts; blank text is missing.

    >>> import pyarrow as pa
    >>> people(pa.array(["007", "Ann", " ", "é", None])).to_pylist()
    ['7', 'ann', None, 'é', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = names.cast(pa.large_string())
    plain = pc.ascii_lower(pc.ascii_trim_whitespace(names))
    digits = pc.match_substring_regex(plain, r"^[0-9]+$")
    short = pc.ascii_ltrim(plain, "0")
    short = pc.if_else(pc.equal(short, ""), "0", short)
    found = pc.if_else(digits, short, plain)
    simple = pc.or_(digits, pc.match_substring_regex(names, r"^[ -~]*$"))
    signed = pc.match_substring_regex(plain, r"^[+\-.0-9]+$")
    hard = pc.fill_null(pc.or_(pc.invert(simple), pc.and_(signed, pc.invert(digits))), False)
    if pc.any(hard).as_py():
        found = pc.replace_with_mask(found, hard, pa.array(map(person, names.filter(hard).to_pylist()), found.type))
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, found.type), found)


def spelling_groups(values: Sequence[str]) -> list[int] | None:
    """Return for each of several distinct texts the first one with the same value; None: all differ.

    >>> spelling_groups(["flu", "gout", "Flu", " "]), spelling_groups(["flu", "gout"])
    ([0, 1, 0, 3], None)
    """
    first: dict[str, int] = {}
    found = [first.setdefault(value(text), at) for at, text in enumerate(values)]
    return found if len(first) < len(found) else None


def _folded(text: str, form: str) -> str:
    """Return text in a normal form, without case, invisible characters and surrounding blanks."""
    seen = unicodedata.normalize("NFD", _INVISIBLE.sub("", text)).casefold()
    again = unicodedata.normalize(form, unicodedata.normalize(form, seen).casefold())  # type: ignore[arg-type]
    return _INVISIBLE.sub("", again).strip()


def _number(key: str) -> str:
    """Strip the insignificant zeros of a plain number; return other text unchanged."""
    match = _NUMBER.fullmatch(key)
    if match is None or not (match[2] or match[3]):
        return key
    whole, rest = match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")
    sign = "-" if match[1] == "-" and (whole != "0" or rest) else ""
    return f"{sign}{whole}.{rest}" if rest else sign + whole
