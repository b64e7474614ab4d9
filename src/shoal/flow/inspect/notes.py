"""Sentences on single columns: free text, households, codes, and values that no setting reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from shoal.errors import listing
from shoal.schema.conventions import quoted
from shoal.schema.coordinates import axis_pairs
from shoal.schema.guess import DIFFER, FREE_TEXT, GROUP, HOUSEHOLDS, NUMBERED, Seen
from shoal.types import Dialect, Guess, Kind, Role

_AVERAGED = (Role.QUASI, Role.CONFIDENTIAL, Role.WEIGHT)
_FAR = (
    "Column {!r}: {} that often means a missing value, and is far from all others{}. If it means one, {}; otherwise it "
    "is averaged with the others."
)
_SPLIT = "group them"  # in the reasons for removing categories that differ too much
_CODED = "Column {!r} is removed: its numbers are likely codes, and too many differ. Group them to release them."
_CODES = (
    "The numbers in {} are likely codes, whose mean says nothing: they are declared nominal (kinds in the recipe), and "
    "classes get their most frequent code. If they are quantities, delete the declaration."
)
_FREE = (
    "Column {!r} holds free text: many of its values differ and have several words. It is removed, because text can "
    "name people. To release what it says, code it into categories first."
)
_TEXT = (
    "Column {!r} is removed: its cells have digits, but are read as text, and nearly all differ. If they are dates or "
    "numbers, {}; group codes to release them."
)
_SHAPED = "Column {!r} is {}: its cells look like {}, which cannot be read. To average them, {}."
_PADDED = (
    "Column {!r}: its numbers have leading zeros, and are read as codes. To average them, name it in quasi, and give "
    "--kind {}={}."
)
_AXES = (
    "Columns {!r} and {!r} may be coordinates of a place: their values differ for nearly everyone. If they are, name "
    "them in quasi, and degrees in coordinates, too."
)
_DIFFERENT = (
    "Column {!r} is removed: its whole numbers all differ, like those given to people. If they are amounts or times, "
    "move it from identifier to quasi."
)
_HOUSEHOLD = (
    "Column {0!r} identifies households, and is removed. To keep the members of a household in one class, and let k "
    "count households, write together = {0!r} instead of naming it as an identifier."
)


def column_notes(
    data: pa.Table,
    dialect: Dialect | None,
    columns: Sequence[Seen],
    guesses: Mapping[str, Guess],
    coded: Sequence[str],
) -> Iterator[str]:
    """Yield what the user should know about single columns; `coded` are numbers that are codes."""
    from shoal.schema.cells import is_text

    yield from (_FREE.format(one.name) for one in guesses.values() if one.reason == FREE_TEXT)
    yield from (_HOUSEHOLD.format(one.name) for one in guesses.values() if one.reason in HOUSEHOLDS[:-1])
    yield from (_CODED.format(name) for name in coded if _SPLIT in guesses[name].reason)
    if kept := [name for name in coded if guesses[name].role is not Role.IDENTIFIER]:
        yield _CODES.format(listing([repr(name) for name in kept]))
    for one in columns:
        if one.kind is not Kind.NOMINAL or is_text(data.column(one.name)):
            yield from _unread_values(one, guesses[one.name], data.column(one.name), dialect)
    far = [one for one in columns if one.far and guesses[one.name].role in _AVERAGED]
    codes = [*(() if dialect is None else dialect.missing), *(code for one in far for code in one.far_codes)]
    yield from (_far(one, codes) for one in far)
    others = [one for one in columns if guesses[one.name].role is Role.OTHER]
    yield from (_AXES.format(*pair) for pair in axis_pairs(others))


def _unread_values(seen: Seen, guess: Guess, cells: pa.ChunkedArray, dialect: Dialect | None) -> Iterator[str]:
    """Yield a sentence about values that may be numbers, dates or times, but are removed or count as categories."""
    apart = guess.role is Role.IDENTIFIER and guess.reason.endswith((GROUP, DIFFER))
    if guess.reason == NUMBERED and seen.high - seen.low >= 2 * seen.distinct:
        yield _DIFFERENT.format(guess.name)
    elif seen.shape is not None and (guess.role is not Role.IDENTIFIER or apart):
        what, remedy = seen.shape
        as_read = "read as categories" if guess.kind is Kind.NOMINAL else "read as numbers"
        yield _SHAPED.format(guess.name, "removed" if apart else as_read, what, remedy)
    elif seen.padded is not None and _is_quantity(seen):
        yield _PADDED.format(guess.name, quoted(guess.name), seen.padded)
    elif apart and _may_be_values(seen, guess, cells):
        remedy = "convert them" if dialect is None else "write them in a format that can be read, or give --datetime"
        yield _TEXT.format(guess.name, remedy)


def _is_quantity(seen: Seen) -> bool:
    """Tell whether the name of a column suggests an age, an amount, or another quantity."""
    said = f"{seen.like('quasi')} {seen.like('values')}"
    return any(one in said for one in ("an age", "an income", "an amount", "a measure of the body"))


def _far(seen: Seen, codes: Sequence[str]) -> str:
    """Return the sentence about codes that often stand for a missing value; `codes` are those of all columns."""
    found = "1 record holds a value" if seen.far == 1 else f"{seen.far:,} records hold a value"
    if not seen.far_codes:
        return _FAR.format(seen.name, found, "", "declare it missing in the file")
    option = quoted(",".join(code.replace(",", r"\,") for code in dict.fromkeys(codes)))
    own = ", ".join(seen.far_codes)
    return _FAR.format(seen.name, found, f": {own}", f"give --missing {option}, for all columns")


def _may_be_values(seen: Seen, guess: Guess, cells: pa.ChunkedArray) -> bool:
    """Tell whether texts that are removed because nearly all differ may be dates or numbers in an unknown format."""
    from shoal.schema.conventions import like_dates

    if not (guess.kind is Kind.NOMINAL and seen.apart and seen.given_out):
        return False
    return guess.reason.endswith(GROUP) or seen.valued or seen.like("values") is not None or like_dates(cells)
