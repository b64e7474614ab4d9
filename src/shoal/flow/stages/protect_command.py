"""The ``shoal protect`` command for an inspected file, to be copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from shoal.locations import Place
from shoal.schema.conventions import flags
from shoal.types import Inspection, Role

_OPTIONS = (Role.QUASI, Role.CONFIDENTIAL, Role.IDENTIFIER, Role.STRATA, Role.SUBJECT, Role.WEIGHT)
_WRITTEN = (".csv", ".tsv", ".txt", ".tab", ".data", ".parquet", ".pq", ".arrow", ".feather", ".ipc")
_WRITTEN_TOO = (".sav", ".zsav", ".dta", ".xlsx")


def command_for(place: Place, found: Inspection, recipe: Path | None) -> str:
    """Return the command that protects a file with the guessed roles; empty if there is nothing to protect."""
    if not isinstance(place.at, Path) or not found.named(Role.QUASI) or found.records < found.k:
        return ""
    ending = place.at.suffix if place.at.suffix.lower() in _WRITTEN + _WRITTEN_TOO else ".csv"
    name = place.at.name.split(".")[0] or "out"
    start = f"shoal protect {_typed(str(place))} -o {_typed(f'{name}-protected{ending}')}"
    if recipe is not None:
        return f"{start} --recipe {_typed(str(recipe))}"
    roles = " ".join(f"--{role.value} {_list(names)}" for role in _OPTIONS if (names := found.named(role)))
    places = " ".join(f"--coordinates {_list(pair)}" for pair in found.coordinates)
    kinds = " ".join(f"--kind {_typed(f'{name}={kind}')}" for name, kind in found.kinds.items())
    text = {key: ",".join(value) if isinstance(value, (list, tuple)) else value for key, value in found.text.items()}
    return " ".join(filter(None, [start, roles, places, kinds, f"--k {found.k}", flags(text)]))


def with_choices(command: str, choices: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield the command with each combination of the settings to choose from: a format of dates, and signs of numbers.

    >>> list(with_choices("shoal protect in.csv", [{"datetime": "%d/%m/%y"}, {"datetime": "%m/%d/%y"}]))
    ["shoal protect in.csv --datetime '%d/%m/%y'", "shoal protect in.csv --datetime '%m/%d/%y'"]
    """
    dates = [one for one in choices if "datetime" in one]
    signs = [one for one in choices if "datetime" not in one]
    for both in product(dates or [{}], signs or [{}]) if command and choices else ():
        yield " ".join([command, *(flags(one) for one in both if one)])


def _list(names: tuple[str, ...]) -> str:
    return _typed(",".join(name.replace(",", r"\,") for name in names))


def _typed(text: str) -> str:
    import shlex

    return shlex.quote(text)
