"""Look at all columns: the guess for each, and what free text, repeated keys and coordinates suggest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.flow.inspect.look import look_at
from shoal.schema.coordinates import coordinate_pairs
from shoal.schema.guess import DIFFER, FREE_TEXT, GROUP, HOUSEHOLDS, NUMBERED, Seen, role_of
from shoal.schema.repeats import A_PERSON, UNDECIDED, Repeats, repeats
from shoal.types import Dialect, Guess, Kind, Role

_NUMBERED = ("named like an identifier", "labelled like an identifier")
_ROLES = {
    True: (Role.IDENTIFIER, HOUSEHOLDS[-1]),
    False: (Role.SUBJECT, A_PERSON),
    None: (Role.IDENTIFIER, UNDECIDED),
}


@dataclass(frozen=True, slots=True)
class Looked:
    """Guesses of a table's columns, in the order of the columns."""

    guesses: tuple[Guess, ...]
    codes: Mapping[str, NDArray[np.int64]]  #: values as numbers from 0, of the columns that are counted later
    notes: tuple[str, ...]  #: sentences on unreadable cells, free text, repeated keys and coordinates
    refused: tuple[str, ...]  #: columns that could not be protected, because cells are not of their kind
    coordinates: tuple[tuple[str, str], ...]  #: pairs of latitude and longitude


def look(data: pa.Table, dialect: Dialect | None, unread: Mapping[str, str], k: int) -> Looked:
    """Guess the role of each column, first by itself, then by the others.

    `unread` names the columns of dates or numbers that the dialect does not read, and why.
    """
    columns: list[Seen] = []
    guesses: dict[str, Guess] = {}
    codes: dict[str, NDArray[np.int64]] = {}
    for at, name in enumerate(data.column_names):
        progress.report(at, data.num_columns)
        seen, found = look_at(data, name, dialect)
        otherwise = (Role.IDENTIFIER, unread[name]) if name in unread else None
        role, reason = otherwise or role_of(seen, k)
        guesses[name] = Guess(name, seen.kind, role, reason, seen.missing, seen.distinct, seen.label)
        columns.append(seen)
        if found is not None and (role is not Role.IDENTIFIER or not seen.apart):
            codes[name] = found
    misread = {} if dialect is None else _unreadable(data, dialect, guesses.values())
    notes = list(misread.values())
    notes += [_FREE.format(one.name) for one in guesses.values() if one.reason == FREE_TEXT]
    notes += [_HOUSEHOLD.format(one.name) for one in guesses.values() if one.reason in HOUSEHOLDS[:-1]]
    unread_values = [_unread_values(one, guesses[one.name], data.column(one.name), dialect) for one in columns]
    notes += filter(None, unread_values)
    far = [one for one in columns if one.far and guesses[one.name].role in _AVERAGED]
    codes_given = [*(() if dialect is None else dialect.missing), *(code for one in far for code in one.far_codes)]
    notes += [_far(one, codes_given) for one in far]
    for one in _repeated(columns, guesses, codes):
        role, reason = _ROLES[one.household]
        guesses[one.name] = replace(guesses[one.name], role=role, reason=reason)
        notes.append(one.sentence)
    pairs = [pair for pair in coordinate_pairs(columns) if all(name in codes for name in pair)]
    for north, east in pairs:
        for name, word, other in ((north, "latitude", east), (east, "longitude", north)):
            reason = f"{word} of a place, with {other!r} one attribute of two dimensions"
            guesses[name] = replace(guesses[name], role=Role.QUASI, reason=reason)
        notes.append(_PLACE.format(north, east))
    refused = tuple(name for name in misread if guesses[name].role not in (Role.OTHER, Role.IDENTIFIER))
    return Looked(tuple(guesses.values()), codes, tuple(notes), refused, tuple(pairs))


_AVERAGED = (Role.QUASI, Role.CONFIDENTIAL, Role.WEIGHT)
_FAR = (
    "Column {!r}: {} that often means a missing value, and is far from all others{}. If it means one, {}; otherwise it "
    "is averaged with the others."
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
_DIFFERENT = (
    "Column {!r} is removed: its whole numbers all differ, like those given to people. If they are amounts or times, "
    "move it from identifier to quasi."
)
_HOUSEHOLD = (
    "Column {0!r} identifies households, and is removed. To keep the members of a household in one class, and let k "
    "count households, write together = {0!r} instead of naming it as an identifier."
)
_PLACE = (
    "Columns {!r} and {!r} are latitude and longitude: one attribute of two dimensions, with one scale, weight and "
    "resolution (coordinates in the recipe)."
)


def _unread_values(seen: Seen, guess: Guess, cells: pa.ChunkedArray, dialect: Dialect | None) -> str:
    """Return the sentence about values that may be numbers, dates or times, but are removed or count as categories."""
    if guess.reason == NUMBERED and seen.high - seen.low >= 2 * seen.distinct:
        return _DIFFERENT.format(guess.name)
    if guess.kind is Kind.DATETIME or guess.reason == FREE_TEXT:
        return ""
    if seen.shape is not None and (guess.role is not Role.IDENTIFIER or guess.reason.endswith((GROUP, DIFFER))):
        what, remedy = seen.shape
        as_read = "read as categories" if guess.kind is Kind.NOMINAL else "read as numbers"
        outcome = "removed" if guess.role is Role.IDENTIFIER else as_read
        return _SHAPED.format(guess.name, outcome, what, remedy)
    if not _may_be_values(seen, guess, cells):
        return ""
    return _TEXT.format(
        guess.name, "convert them" if dialect is None else "write them in a format that can be read, or give --datetime"
    )


def _far(seen: Seen, codes: Sequence[str]) -> str:
    """Return the sentence about codes that often stand for a missing value; `codes` are those of all columns."""
    from shoal.schema.conventions import quoted

    found = "1 record holds a value" if seen.far == 1 else f"{seen.far:,} records hold a value"
    if not seen.far_codes:
        return _FAR.format(seen.name, found, "", "declare it missing in the file")
    option = quoted(",".join(code.replace(",", r"\,") for code in dict.fromkeys(codes)))
    own = ", ".join(seen.far_codes)
    return _FAR.format(seen.name, found, f": {own}", f"give --missing {option}, for all columns")


def _may_be_values(seen: Seen, guess: Guess, cells: pa.ChunkedArray) -> bool:
    """Tell whether texts that are removed because nearly all differ may be dates or numbers in an unknown format."""
    from shoal.schema.conventions import like_dates

    if not (guess.kind is Kind.NOMINAL and seen.apart and seen.given_out and guess.reason.endswith((GROUP, DIFFER))):
        return False
    return guess.reason.endswith(GROUP) or seen.valued or seen.like("values") is not None or like_dates(cells)


def _unreadable(data: pa.Table, dialect: Dialect, guesses: Iterable[Guess]) -> dict[str, str]:
    """Return a sentence for each column with cells that are not of its kind."""
    from shoal.schema.cells import is_text, misfits

    read = [one for one in guesses if one.role is not Role.IDENTIFIER and is_text(data.column(one.name))]
    found = {one.name: misfits(data.column(one.name), one.name, one.kind, dialect) for one in read}
    return {name: said for name, said in found.items() if said}


def _repeated(
    columns: Sequence[Seen], guesses: Mapping[str, Guess], codes: Mapping[str, NDArray[np.int64]]
) -> list[Repeats]:
    """Return the columns that repeat like a key, though neither name nor label says what they identify."""
    own = [one.name for one in columns if one.name in codes and one.like("of_one_person")]
    found = []
    for seen in columns:
        guess = guesses[seen.name]
        unnamed = guess.role is Role.OTHER or guess.reason in _NUMBERED
        if not (unnamed and seen.given_out and seen.may_number and seen.name in codes):
            continue
        others = {name: one for name, one in codes.items() if name != seen.name}
        if (one := repeats(seen.name, codes[seen.name], seen.distinct, others, own)) is not None:
            found.append(one)
    return found
