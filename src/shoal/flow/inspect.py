"""Inspection of a table: guessed roles, uniqueness, and a commented recipe to start from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import progress
from shoal.errors import ParameterError, SchemaError, raise_all
from shoal.flow.plan.promise import UNCHANGED, Coded, coded, combination_sizes, count_unique
from shoal.flow.stages.protect_command import command_for
from shoal.flow.stages.read import is_textual, listed, open_source
from shoal.flow.stages.text_format import TextFormat, detect_format
from shoal.locations import Place
from shoal.parameters import unknown
from shoal.recipe.settings import VERSION
from shoal.schema.guess import A_HOUSEHOLD, AMOUNTS, Seen, role_of
from shoal.types import Combination, Dialect, Guess, Inspection, Kind, Role, Unchanged

STARTER_K = 5
_LISTS = {
    Role.QUASI: "Attributes that an attacker may know from elsewhere. Released as one value per class.",
    Role.CONFIDENTIAL: "Values to keep confidential. Released unchanged; set t or require to protect them.",
    Role.IDENTIFIER: "Direct identifiers. Removed.",
    Role.STRATA: "Classes never cross its values. Released unchanged.",
}
_NAMES = {
    Role.SUBJECT: "Column that identifies the person: k counts people. Removed.",
    Role.WEIGHT: "Sampling weights: means are weighted by them. Released as class means.",
}


def starter(
    name: str,
    records: int,
    k: int,
    columns: Sequence[Guess],
    text: Mapping[str, Any],
    shared: Mapping[str, Sequence[str]] = MappingProxyType({}),
    unchanged: Unchanged = Unchanged(),  # noqa: B008 it is frozen
    choices: Sequence[Mapping[str, str]] = (),
) -> str:
    """Return the starter recipe made from guesses.

    Parameters
    ----------
    name
        Name of the table.
    records
        Number of records.
    k
        The smallest number of records in a class.
    columns
        The guess for each column.
    text
        Settings of its text file.
    shared
        For each presumed household column, the quasi-identifiers that are constant within households.
    unchanged
        The columns that are released unchanged.
    choices
        Settings of its text file of which the user must choose one.
    """
    lines = [
        f"# A starter recipe for {_printable(name)}: {records:,} records, {len(columns):,} columns.",
        "# Roles were guessed by names and counts. Read every line: you know what others can know.",
        f"version = {VERSION}",
        "",
    ]
    for role, meaning in _LISTS.items():
        lines += _list(role, meaning, [guess for guess in columns if guess.role is role])
    for role, meaning in _NAMES.items():
        for guess in columns:
            if guess.role is role:
                lines += [f"# {meaning}", f"{role.value} = {_toml(guess.name)}  # {guess.reason}", ""]
    if rest := [guess for guess in columns if guess.role is Role.OTHER]:
        lines += ["# These are released unchanged, because nothing suggests a role. Is that right?"]
        lines += [f"#   {_toml(guess.name)}  {guess.reason}" for guess in rest] + [""]
    for guess in columns:
        if guess.reason == A_HOUSEHOLD and not any(c.role is Role.SUBJECT for c in columns):
            lines += [
                "# To keep households together, and let k count them: take the column out of identifier, and write",
                f"# together = {_toml(guess.name)}",
                *_of_household(shared.get(guess.name, ())),
                "",
            ]
    lines += _reviewed(unchanged)
    lines += ["# Smallest number of records in a class.", f"k = {k}", ""]
    lines += _text(text, choices)
    return "\n".join(lines).rstrip("\n") + "\n"


def _text(text: Mapping[str, Any], choices: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the lines on how a text file is written, with the settings to choose from as comments."""
    if not text and not choices:
        return []
    lines = ["# How the text file is written.", "[text]", *(f"{key} = {_toml(value)}" for key, value in text.items())]
    if choices:
        lines.append("# The cells do not tell which of these is right. Choose:")
    return lines + ["# " + ", ".join(f"{key} = {_toml(value)}" for key, value in one.items()) for one in choices]


def _reviewed(found: Unchanged) -> list[str]:
    """Return the lines on columns that are released unchanged, and whether they were reviewed."""
    if not found.columns:
        return []
    said = f"reviewed = {_toml(found.reviewed or found.columns)}"
    return [
        f"# {found.figures[0]}",
        "# Keep here the columns whose values no one else can know; reports do not warn about them.",
        said if found.reviewed else f"# {said}",
        "",
    ]


def _of_household(names: Sequence[str]) -> list[str]:
    """Return the lines for attributes that only partly belong to the household."""
    if not names:
        return []
    return [
        "# These are the same for all members of a household. To group only them, and protect people one by one:",
        f"# household_level = {_toml(list(names))}",
    ]


def _list(role: Role, meaning: str, guesses: Sequence[Guess]) -> list[str]:
    if not guesses and role is Role.QUASI:
        return [f"# {meaning}", "# None was found: name at least one, because a recipe needs one.", "quasi = []", ""]
    if not guesses:
        return [f"# {meaning}", f"# {role.value} = []", ""]
    inside = [f"  {_toml(guess.name)},  # {guess.reason}; {guess.distinct:,} different" for guess in guesses]
    return [f"# {meaning}", f"{role.value} = [", *inside, "]", ""]


def _toml(value: Any) -> str:
    """Format a value as one line of TOML.

    >>> _toml('a "b"')
    '"a \\\\"b\\\\""'
    """
    import tomli_w

    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()


def _printable(name: str) -> str:
    """Return a name without characters that a comment cannot hold."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", name)


_LOOKED_AT = 12  # columns whose pairs and triples are counted: 66 and 220
_LONG = 100_000  # from here on, numbers of equal length are unlikely to be amounts
_OTHER_DATES = "dates in a second format, which cannot be read with the first; convert them to release them"
_SAFE = "no column seems to be known from elsewhere, so this one is included to be safe"
_ONCE = (Role.WEIGHT, Role.SUBJECT, Role.STRATA)
_INSTEAD = {Role.WEIGHT: Role.OTHER, Role.SUBJECT: Role.IDENTIFIER, Role.STRATA: Role.QUASI}
_SPOKEN = {Role.WEIGHT: "weights", Role.SUBJECT: "subjects", Role.STRATA: "strata"}


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
        raise ParameterError(f"{recipe}: exists already; give --force to replace it, or another name.")
    progress.stage("Read")
    encoding = _encoding(place, text)
    given = {**encoding, **text}
    data, dialect = open_source(place, given).read(place.at)
    read = None if dialect is None else detect_format(data, dialect, given)
    name = str(getattr(place.at, "name", place))
    found = _inspect(data, read, (), given, name, listed("reviewed", reviewed))
    notes = (*(_ENCODED.format(one) for one in encoding.values()), *(() if dialect is None else dialect.notes))
    found = replace(found, notes=(*notes, *found.notes), command=command_for(place, found, recipe))
    if recipe is not None:
        write_text(found.recipe, recipe, force=force)
    return found


_ENCODED = "The file is not UTF-8; it is read as {}, a guess. Check letters such as ä, é and ß in the output."


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
    guesses: list[Guess] = []
    codes: dict[str, NDArray[np.int64]] = {}
    for at, column in enumerate(data.column_names):
        progress.report(at, data.num_columns)
        seen, found = _look(data, column, None if read is None else read.dialect)
        role, reason = (Role.IDENTIFIER, _OTHER_DATES) if column in written.unread else role_of(seen, k)
        guesses.append(Guess(column, seen.kind, role, reason, seen.missing, seen.distinct))
        if found is not None and (role in (Role.QUASI, Role.STRATA, Role.OTHER) or reason == A_HOUSEHOLD):
            codes[column] = found
    mixed = "holds values of mixed types, which cannot be audited"
    guesses += [Guess(column, Kind.NOMINAL, Role.IDENTIFIER, mixed, 0, 0) for column in unread]
    columns = _settled(guesses, k)
    known = [guess.name for guess in columns if guess.role in (Role.QUASI, Role.STRATA)]
    chosen = sorted(known, key=lambda one: -int(codes[one].max()))[:_LOOKED_AT]
    counted = _counted({one: codes[one] for one in known if one in chosen})
    together = _combination(tuple(known), [codes[one] for one in known], data.num_rows)
    unchanged = _unchanged(data, columns, reviewed)
    recipe = starter(name, data.num_rows, k, columns, text, _shared(columns, codes), unchanged, written.choices)
    left_out = len(known) - len(chosen)
    return Inspection(
        data.num_rows, columns, together, counted, left_out, recipe, unchanged, k, text, written.notes, written.choices
    )


def _unchanged(data: pa.Table, columns: Sequence[Guess], reviewed: Sequence[str]) -> Unchanged:
    """Count the records that are unique on the columns that the guessed roles would release unchanged."""
    kept = [guess.name for guess in columns if guess.role in UNCHANGED]
    faults = [
        f"Inspect: reviewed must hold columns that are released unchanged, {guess.name!r} is not: its role is guessed "
        f"to be {guess.role}. Remove it from reviewed."
        for guess in columns
        if guess.name in reviewed and guess.name not in kept
    ]
    raise_all(ParameterError, faults)
    return count_unique(data.num_rows, {name: coded(data.column(name)) for name in kept}, reviewed)


def _shared(columns: Sequence[Guess], codes: Mapping[str, NDArray[np.int64]]) -> dict[str, list[str]]:
    """Return for each presumed household column the quasi-identifiers that are constant within households."""
    quasi = [guess.name for guess in columns if guess.role is Role.QUASI]
    found: dict[str, list[str]] = {}
    for house in (guess.name for guess in columns if guess.reason == A_HOUSEHOLD):
        first = np.zeros(int(codes[house].max()) + 1, np.int64)
        for name in quasi:
            first[codes[house]] = codes[name]
            if (first[codes[house]] == codes[name]).all():
                found.setdefault(house, []).append(name)
    return found


def _look(data: pa.Table, name: str, dialect: Dialect | None) -> tuple[Seen, NDArray[np.int64] | None]:
    """Count missing and distinct values of a column, and number its values if they can be compared."""
    from shoal.schema.cells import is_text, tidy, without_nan
    from shoal.schema.kinds import kind_of
    from shoal.schema.roles import without_user_missing

    field, n = data.schema.field(name), data.num_rows
    column = without_nan(without_user_missing(field, data.column(name)))
    kind = kind_of(data.column(name), dialect, field)
    if is_text(column):
        column = tidy(column, dialect or Dialect())
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode(null_encoding="mask")
        distinct = len(encoded.dictionary.drop_null())
        codes = encoded.indices.fill_null(distinct).to_numpy().astype(np.int64)
    except pa.ArrowException:
        return Seen(name, kind, n, column.null_count, 0, 0, comparable=False), None
    sizes = np.bincount(codes, minlength=1)
    numbers = _numbers(encoded.dictionary, kind, dialect)
    weights = numbers is not None and not column.null_count and _may_be_weights(numbers)
    given_out = numbers is not None and kind is Kind.INTEGER and _given_out(numbers)
    smallest = int(sizes[sizes > 0].min())
    return Seen(name, kind, n, column.null_count, distinct, smallest, weights, given_out), codes


def _numbers(values: pa.Array, kind: Kind, dialect: Dialect | None) -> NDArray[np.float64] | None:
    """Return distinct values as numbers; None if they are not numeric."""
    from shoal.schema.cells import is_text, readable
    from shoal.schema.cells import values as read

    if kind not in (Kind.CONTINUOUS, Kind.INTEGER) or not len(values):
        return None
    numbers = pa.chunked_array([values])
    if is_text(numbers):
        if not readable(numbers, kind, dialect or Dialect()):
            return None
        numbers = read(numbers, "", kind, dialect or Dialect())
    return np.asarray(numbers.cast(pa.float64(), safe=False).to_numpy())


def _may_be_weights(numbers: NDArray[np.float64]) -> bool:
    """Tell whether all of some distinct numbers may be sampling weights."""
    return bool(numbers.min() >= 0 and 0 < numbers.max() < np.inf)


def _given_out(numbers: NDArray[np.float64]) -> bool:
    """Tell whether distinct whole numbers look assigned one by one rather than measured."""
    low, high = float(numbers.min()), float(numbers.max())
    same_length = low >= _LONG and len(f"{low:.0f}") == len(f"{high:.0f}")
    return bool(high - low < 2 * len(numbers) or same_length)


def _settled(guesses: Sequence[Guess], k: int) -> tuple[Guess, ...]:
    """Give each unique role to one column only, and make sure that there are quasi-identifiers."""
    taken: set[Role] = set()
    found = []
    several = any(guess.role is Role.SUBJECT and guess.distinct >= k for guess in guesses)
    for guess in guesses:
        found.append(_only_once(guess, taken, several, k))
        taken.add(found[-1].role)
    if any(guess.role is Role.QUASI and guess.reason != AMOUNTS for guess in found):
        return tuple(found)
    return tuple(_cautious(guess) for guess in found)


def _only_once(guess: Guess, taken: set[Role], several: bool, k: int) -> Guess:
    """Return a guess with another role if its own is taken or not possible."""
    instead = _INSTEAD.get(guess.role, Role.OTHER)
    if guess.role is Role.SUBJECT and guess.distinct < k:
        return replace(guess, role=instead, reason="named like a person, but there are too few")
    if guess.role is Role.STRATA and several:  # each stratum would need k subjects
        return replace(guess, role=instead)
    if guess.role in _ONCE and guess.role in taken:
        return replace(guess, role=instead, reason=f"{guess.reason}; another column has the {_SPOKEN[guess.role]}")
    return guess


def _cautious(guess: Guess) -> Guess:
    """Treat columns without a clue as quasi-identifiers if there are no others."""
    if guess.role in (Role.OTHER, Role.STRATA) and guess.distinct > 0:
        return replace(guess, role=Role.QUASI, reason=_SAFE)
    return guess


def _counted(codes: Mapping[str, NDArray[np.int64]]) -> tuple[Combination, ...]:
    """Count the records that each column, pair and triple singles out, in descending order."""
    groups = [names for size in (1, 2, 3) for names in combinations(codes, size)]
    found = []
    for at, names in enumerate(groups):
        progress.report(at, len(groups))
        found.append(_combination(names, [codes[name] for name in names], 0))
    return tuple(sorted(found, key=lambda one: (len(one.attributes), -one.unique)))


def _combination(names: tuple[str, ...], codes: Sequence[NDArray[np.int64]], n: int) -> Combination:
    """Count the unique records of a combination of columns, and the size of its smallest group."""
    if not codes:
        return Combination((), int(n == 1), n, 1)
    sizes = combination_sizes([Coded(one, int(one.max()) + 1) for one in codes])
    return Combination(names, int((sizes == 1).sum()), int(sizes.min()), len(sizes))
