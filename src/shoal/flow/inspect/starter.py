"""Starter recipe of a table: TOML with the guesses and their reasons as comments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from shoal.recipe.settings import VERSION
from shoal.schema.guess import HOUSEHOLDS
from shoal.types import Guess, Role, Unchanged

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
    coordinates: Sequence[tuple[str, str]] = (),
    coded: Sequence[str] = (),
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
        Alternative settings of its text file; the user must choose one.
    coordinates
        Pairs of quasi-identifiers that are latitude and longitude of one place.
    coded
        Columns of codes written as numbers.
    """
    lines = [
        f"# A starter recipe for {_printable(name)}: {records:,} records, {len(columns):,} columns.",
        "# Roles were guessed by names and counts. Read every line: you know what others can know.",
        f"version = {VERSION}",
        "",
    ]
    for role, meaning in _LISTS.items():
        lines += _list(role, meaning, [guess for guess in columns if guess.role is role])
    if coordinates:
        lines += [
            "# Latitude and longitude of one place: one attribute, with distances in the same unit both ways.",
            f"coordinates = {_toml(list(map(list, coordinates)))}",
            "",
        ]
    for role, meaning in _NAMES.items():
        for guess in columns:
            if guess.role is role:
                lines += [f"# {meaning}", f"{role.value} = {_toml(guess.name)}  # {_why(guess)}", ""]
    if rest := [guess for guess in columns if guess.role is Role.OTHER]:
        lines += ["# These are released unchanged, because nothing suggests a role. Is that right?"]
        lines += [f"#   {_toml(guess.name)}  {_why(guess)}" for guess in rest] + [""]
    for guess in columns:
        if guess.reason in HOUSEHOLDS and not any(c.role is Role.SUBJECT for c in columns):
            lines += [
                "# To keep households together, and let k count them: take the column out of identifier, and write",
                f"# together = {_toml(guess.name)}",
                *_of_household(shared.get(guess.name, ())),
                "",
            ]
    lines += _reviewed(unchanged)
    lines += ["# Smallest number of records in a class.", f"k = {k}", ""]
    if coded:
        lines += ["# Codes written as numbers: a mean of them says nothing.", "[kinds]"]
        lines += [f'{_toml_key(name)} = "nominal"' for name in coded] + [""]
    lines += _text(text, choices)
    return "\n".join(lines).rstrip("\n") + "\n"


def _why(guess: Guess) -> str:
    """Return the reason of a guess, after the label that the file gives the column."""
    return f"{guess.label}: {guess.reason}" if guess.label else guess.reason


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
    inside = [f"  {_toml(guess.name)},  # {_why(guess)}; {guess.distinct:,} different" for guess in guesses]
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


def _toml_key(name: str) -> str:
    """Format a name as a key of TOML.

    >>> _toml_key("Ge burt")
    '"Ge burt"'
    """
    import tomli_w

    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def _printable(name: str) -> str:
    """Return a name without characters that a comment cannot hold."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", name)
