"""Look at all columns: the guess for each, and what free text, repeated keys and coordinates suggest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.flow.inspect.look import look_at
from shoal.flow.inspect.notes import column_notes
from shoal.schema.coordinates import coordinate_pairs
from shoal.schema.guess import HOUSEHOLDS, Seen, role_of
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
    coded: tuple[str, ...] = ()  #: columns of numbers that are codes, to be declared nominal


def look(data: pa.Table, dialect: Dialect | None, unread: Mapping[str, str], k: int) -> Looked:
    """Guess the role of each column, first by itself, then by the others.

    `unread` names the columns of dates or numbers that the dialect does not read, and why.
    """
    columns: list[Seen] = []
    guesses: dict[str, Guess] = {}
    codes: dict[str, NDArray[np.int64]] = {}
    coded: tuple[str, ...] = ()
    for at, name in enumerate(data.column_names):
        progress.report(at, data.num_columns)
        seen, found = look_at(data, name, dialect)
        if seen.coded:
            seen, coded = replace(seen, kind=Kind.NOMINAL), (*coded, name)
        otherwise = (Role.IDENTIFIER, unread[name]) if name in unread else None
        role, reason = otherwise or role_of(seen, k)
        guesses[name] = Guess(name, seen.kind, role, reason, seen.missing, seen.distinct, seen.label)
        columns.append(seen)
        if found is not None and (role is not Role.IDENTIFIER or not seen.apart):
            codes[name] = found
    misread = {} if dialect is None else _unreadable(data, dialect, guesses.values())
    notes = list(misread.values())
    notes += column_notes(data, dialect, columns, guesses, coded)
    coded = tuple(name for name in coded if guesses[name].role is not Role.IDENTIFIER)
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
    return Looked(tuple(guesses.values()), codes, tuple(notes), refused, tuple(pairs), coded)


_PLACE = (
    "Columns {!r} and {!r} are latitude and longitude: one attribute of two dimensions, with one scale, weight and "
    "resolution (coordinates in the recipe)."
)


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
