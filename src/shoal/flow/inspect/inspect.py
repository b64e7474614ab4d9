"""Inspection of a table: guessed roles, uniqueness, and a commented recipe to start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import ParameterError, SchemaError, raise_all
from shoal.flow.inspect.columns import look
from shoal.flow.inspect.layout import layout_notes
from shoal.flow.inspect.settle import settled
from shoal.flow.inspect.starter import starter
from shoal.flow.inspect.uniques import combination, counted, special_uniques
from shoal.flow.plan.promise import UNCHANGED, coded, count_unique, unique_records
from shoal.flow.stages.protect_command import command_for, with_choices
from shoal.flow.stages.read import is_textual, listed, open_source
from shoal.flow.stages.text_format import TextFormat, detect_format
from shoal.locations import Place
from shoal.parameters import unknown
from shoal.schema.guess import HOUSEHOLDS
from shoal.types import Dialect, Guess, Inspection, Kind, Role, Unchanged

STARTER_K = 5
_LOOKED_AT = 12  # columns whose pairs and triples are counted: 66 and 220


def inspect_frame(frame: Any, reviewed: Sequence[str] = ()) -> Inspection:
    """Inspect a frame of pandas, polars or pyarrow."""
    from shoal.io.sources.frame import Frame

    data, unread = Frame().read(frame)
    return _inspect(data, None, unread, {}, "table", listed("reviewed", reviewed))


def inspect_file(
    place: Place, text: Mapping[str, Any], *, recipe: Path | None, force: bool, reviewed: Sequence[str] = ()
) -> Inspection:
    """Inspect a file; the starter recipe is written whole or not at all."""
    from shoal.flow.stages.write import write_text
    from shoal.io.sinks._atomic import same_file

    if recipe is not None and isinstance(place.at, Path) and same_file(place.at, recipe):
        raise ParameterError(f"{recipe}: the recipe must not replace the input. Name another file.")
    if recipe is not None and recipe.exists() and not force:  # before the work, not after
        raise ParameterError(f"{recipe}: already exists; give --force to replace it, or another name.")
    progress.stage("Read")
    encoding = _encoding(place, text)
    given = {**encoding, **text}
    data, dialect = open_source(place, given).read(place.at)
    read = None if dialect is None else detect_format(data, dialect, given)
    name = str(getattr(place.at, "name", place))
    found = _inspect(data, read, (), given, name, listed("reviewed", reviewed))
    notes = [_ENCODED.format(one) for one in encoding.values()]
    if dialect is not None:
        notes += [*dialect.notes, *layout_notes(data, found.columns)]
    command = command_for(place, found, recipe)
    commands = tuple(with_choices(command, found.choices))
    found = replace(found, notes=(*notes, *found.notes), command=command, commands=commands)
    if recipe is not None:
        write_text(found.recipe, recipe, force=force)
    return found


_ENCODED = (
    "The file is not UTF-8; it is read as {}, a guess. Check letters such as ä, é and ß in the output; if they "
    "are wrong, inspect with --encoding, for example cp1250 or mac-roman."
)


_ALONE = "A single record cannot be protected: a class needs at least two records."


def _encoding(place: Place, text: Mapping[str, Any]) -> dict[str, str]:
    """Return the encoding of a text file as a setting, if it must be given."""
    from shoal.io.sources._encoding import guess_encoding

    if "encoding" in text or not isinstance(place.at, Path) or not place.at.is_file() or not is_textual(place):
        return {}
    found = guess_encoding(place.at)
    return {} if found is None else {"encoding": found}


def _inspect(
    data: pa.Table,
    read: TextFormat | None,
    unread: Sequence[str],
    given: Mapping[str, Any],
    name: str,
    reviewed: Sequence[str],
) -> Inspection:
    progress.stage("Look")
    names = [*data.column_names, *unread]
    raise_all(SchemaError, [unknown("Schema", "column", one, names) for one in reviewed if one not in names])
    k = max(2, min(STARTER_K, data.num_rows))
    written = read or TextFormat(Dialect())
    text = {**given, **written.settings}
    looked = look(data, None if read is None else read.dialect, written.unread, k)
    codes = looked.codes
    mixed = "holds values of mixed types, which cannot be audited"
    more = [Guess(column, Kind.NOMINAL, Role.IDENTIFIER, mixed, 0, 0) for column in unread]
    columns = settled([*looked.guesses, *more], k)
    known = [guess.name for guess in columns if guess.role in (Role.QUASI, Role.STRATA)]
    chosen = sorted(known, key=lambda one: -int(codes[one].max()))[:_LOOKED_AT]
    counts = counted({one: codes[one] for one in known if one in chosen})
    together = combination(tuple(known), [codes[one] for one in known], data.num_rows)
    unchanged = _unchanged(data, columns, reviewed)
    shared = _shared(columns, codes)
    places, coded = looked.coordinates, looked.coded
    recipe = starter(name, data.num_rows, k, columns, text, shared, unchanged, written.choices, places, coded)
    return Inspection(
        data.num_rows,
        columns,
        together,
        counts,
        len(known) - len(chosen),
        recipe,
        unchanged,
        k,
        text,
        (*written.notes, *looked.notes, *([_ALONE] if data.num_rows < k else [])),
        written.choices,
        special=special_uniques(tuple(known), [codes[one] for one in known]),
        coordinates=looked.coordinates,
        refused=looked.refused,
        kinds=dict.fromkeys(coded, Kind.NOMINAL.value),
    )


def _unchanged(data: pa.Table, columns: Sequence[Guess], reviewed: Sequence[str]) -> Unchanged:
    """Count the records that are unique on the columns that the guessed roles would release unchanged."""
    kept = [guess.name for guess in columns if guess.role in UNCHANGED]
    faults = [
        f"Inspect: reviewed must hold columns that are released unchanged; {guess.name!r} is not: its role is guessed "
        f"to be {guess.role}. Remove it from reviewed."
        for guess in columns
        if guess.name in reviewed and guess.name not in kept
    ]
    raise_all(ParameterError, faults)
    found = {name: coded(data.column(name)) for name in kept}
    alone = tuple((name, unique_records([one])) for name, one in found.items())
    return replace(count_unique(data.num_rows, found, reviewed), alone=alone)


def _shared(columns: Sequence[Guess], codes: Mapping[str, NDArray[np.int64]]) -> dict[str, list[str]]:
    """Return for each presumed household column the quasi-identifiers that are constant within households."""
    quasi = [guess.name for guess in columns if guess.role is Role.QUASI]
    found: dict[str, list[str]] = {}
    for house in (guess.name for guess in columns if guess.reason in HOUSEHOLDS):
        first = np.zeros(int(codes[house].max()) + 1, np.int64)
        for name in quasi:
            first[codes[house]] = codes[name]
            if (first[codes[house]] == codes[name]).all():
                found.setdefault(house, []).append(name)
    return found
