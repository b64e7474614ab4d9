"""Spellings that an audit takes for one person, or for one value.

The code that forms classes has its own rule. The audit implements it independently, character by character.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_IGNORED = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x2800, 0x2800),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF),
)  # fmt: skip
#: Visible format characters: signs of Arabic, Syriac and Kaithi, and joiners of hieroglyphs.
_SEEN = ((0x0600, 0x0605), (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2), (0x110BD, 0x110CD),
         (0x13430, 0x1345F))  # fmt: skip
_LETTERS = r"^[ -~]*[^ -~]"  # anything that is not printable ASCII


@lru_cache(maxsize=4096)
def _invisible(character: str) -> bool:
    point = ord(character)
    if any(low <= point <= high for low, high in _IGNORED):
        return True
    if unicodedata.category(character) == "Cc":
        return not character.isspace()
    return unicodedata.category(character) == "Cf" and not any(low <= point <= high for low, high in _SEEN)


def same_person(text: str) -> str:
    """Return a text that is the same for all spellings of one person.

    >>> same_person("ＡＮＮ ") == same_person("ann"), same_person("-0.50"), same_person("1e3")
    (True, '-0.5', '1e3')
    """
    key = _one_case(text, "NFKC")
    sign, digits = (key[0], key[1:]) if key[:1] in ("+", "-") else ("", key)
    whole, _, rest = digits.partition(".")
    if not (whole + rest).isdecimal() or not digits.isascii():
        return key
    while whole.startswith("0"):
        whole = whole[1:]
    while rest.endswith("0"):
        rest = rest[:-1]
    number = (whole or "0") + (f".{rest}" if rest else "")
    return f"-{number}" if sign == "-" and number != "0" else number


def same_value(text: str) -> str:
    """Return a text that is the same for all spellings of one confidential value.

    >>> same_value("Flu") == same_value("flu "), same_value("01")
    (True, '01')
    """
    return _one_case(text, "NFC")


def _one_case(text: str, form: str) -> str:
    if text.isascii() and text.isprintable():
        return text.lower().strip()
    visible = "".join(one for one in text if not _invisible(one))
    for step in ("NFD", form):
        visible = unicodedata.normalize(step, visible).casefold()  # type: ignore[arg-type]
    visible = unicodedata.normalize(form, visible)  # type: ignore[arg-type]
    return "".join(one for one in visible if not _invisible(one)).strip()


def person_of(cell: Any, *, exact: bool = False) -> str | None:
    """Return a key for the person named in a cell; None if the cell names no person.

    >>> person_of(7) == person_of("007") == person_of(7.0), person_of(float("nan")), person_of(" ")
    (True, None, None)
    """
    if type(cell) is int:
        return str(cell)
    try:
        if cell is None or cell != cell:  # noqa: PLR0124  NaN
            return None
    except (TypeError, ArithmeticError):  # NA, for which equality to itself is unknown
        return None
    text = str(cell)
    if isinstance(cell, (float, np.floating)) and np.isfinite(float(cell)):
        text = format(Decimal(text), "f")
    elif isinstance(cell, Decimal) and cell.is_finite():
        text = format(cell, "f")
    if not text.strip():
        return None
    return text if exact and isinstance(cell, str) else same_person(text)


def people_in(column: pa.ChunkedArray, *, exact: bool) -> tuple[NDArray[np.int64], int]:
    """Return the number of the person of each cell, and how many spellings were taken for another one.

    Cells that name no person share one number.
    """
    found = _as_text(column, exact=exact).combine_chunks().dictionary_encode(null_encoding="encode")
    names, codes = found.dictionary, np.asarray(found.indices.to_numpy(zero_copy_only=False), np.int64)
    if not pa.types.is_large_string(names.type):
        return codes, 0
    keys = pc.fill_null(names, "")
    keys = pc.if_else(pc.equal(pc.utf8_trim_whitespace(keys), ""), "", keys) if exact else _keys(keys)
    keys = keys.dictionary_encode()
    there = len(names) - names.null_count
    blank = pc.sum(pc.equal(pc.utf8_trim_whitespace(names), "")).as_py() or 0
    told = len(keys.dictionary) - bool(pc.any(pc.equal(keys.dictionary, "")).as_py())
    return np.asarray(keys.indices.to_numpy(), np.int64)[codes], max(there - blank - told, 0)


def _as_text(column: pa.ChunkedArray, *, exact: bool) -> pa.ChunkedArray:
    """Return text as one type, even if stored as bytes; numbers with NaN as missing and −0 as 0.

    Each cell is text or not by itself. Other bytes, such as digests, stay as they are where spellings do not matter.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        plain = pc.add(column, pa.scalar(0.0, kind))
        return pc.if_else(pc.is_nan(plain), pa.scalar(None, kind), plain)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        try:
            return column.cast(pa.large_string())
        except pa.ArrowException:  # some bytes are not text
            return column if exact else _decoded(column)
    return column


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    cells = column.combine_chunks().dictionary_encode()
    texts = [None if one is None else one.decode("utf-8", "backslashreplace") for one in cells.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.large_string()).take(cells.indices)])


def _keys(names: pa.Array) -> pa.Array:
    """Return `same_person` of many names; most are lower-cased and trimmed in bulk."""
    numbers = pc.match_substring_regex(names, r"^\s*[+-]?[0-9]*\.?[0-9]*\s*$")
    whole = pc.match_substring_regex(names, r"^[1-9][0-9]*$")
    padded = pc.match_substring_regex(names, r"^0+[1-9][0-9]*$")
    odd = pc.or_(pc.match_substring_regex(names, _LETTERS), pc.and_not(numbers, pc.or_(whole, padded)))
    keys = pc.utf8_trim_whitespace(pc.utf8_lower(names))
    keys = pc.if_else(padded, pc.utf8_ltrim(keys, "0"), keys)
    if not pc.any(odd).as_py():
        return keys
    return pc.replace_with_mask(keys, odd, pa.array([same_person(n) for n in names.filter(odd).to_pylist()], keys.type))


def merged(values: pa.Array) -> NDArray[np.int64] | None:
    """Return for each distinct value the number of the first spelling of the same value; None if all differ."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    seen: dict[str, int] = {}
    found = np.array([seen.setdefault(same_value(text), at) for at, text in enumerate(values.to_pylist())], np.int64)
    return found if len(seen) < len(found) else None
