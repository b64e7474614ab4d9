"""What several commands take, and how it is read: lists, settings, text formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe

Delimiter = Annotated[
    str | None, typer.Option(help="Text files: what separates the cells. Found by looking if not given.")
]
Encoding = Annotated[str | None, typer.Option(help="Text files: the encoding, if it is not UTF-8.")]
Decimal = Annotated[str | None, typer.Option(help="Text files: the decimal sign, if it is not a point.")]
Missing = Annotated[
    str | None,
    typer.Option(metavar="A,B,…", help="Text files: cells that mean “no value”, besides the empty one."),
]
Quote = Annotated[str | None, typer.Option(help='Text files: what stands around cells, if it is not ".')]
Datetime = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="Text files: how dates are written, e.g. %d.%m.%Y. ISO 8601 if not given."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=KIND", help="The kind of a column, if the inferred is wrong."),
]
Orders = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=A,B,…", help="Categories of a column from the lowest to the highest."),
]
Taxonomies = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=FILE", help="Groups of a column's categories: CSV, TOML, JSON or OWL."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Confidential = Annotated[
    str | None,
    typer.Option(metavar="A,B,…", help="Columns nobody may learn about somebody; they stay as they are."),
]
Subject = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Whom a record is about: k counts subjects, not rows.")
]
SubjectExact = Annotated[
    bool, typer.Option("--subject-exact", help="Every spelling is another subject; else Ann and ANN are one.")
]
Quasi = Annotated[str | None, typer.Option(metavar="A,B,…", help="Quasi-identifiers: what an intruder may know.")]
Identifier = Annotated[str | None, typer.Option(metavar="A,B,…", help="Columns that name somebody; they do not leave.")]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Sampling weights; means are weighted.")]
Strata = Annotated[str | None, typer.Option(metavar="A,B,…", help="Columns whose values classes never cross.")]
Release = Annotated[str | None, typer.Option(help="See shoal list releases.", show_default="centroid")]
WhenMissing = Annotated[
    str | None,
    typer.Option(
        help="A missing quasi-identifier: a category, exclude the record, or fill by the class.",
        show_default="category",
    ),
]
ReleaseWeight = Annotated[
    str | None,
    typer.Option(help="Weights: mean of the class, of the record as is, or none.", show_default="class"),
]
Resolution = Annotated[
    str | None,
    typer.Option(metavar="A=STEP,…", help="Step of released values, e.g. income=100,birth=month."),
]
RowOrder = Annotated[
    str | None,
    typer.Option(help="Rows: keep, shuffle, or auto (shuffle sorted files).", show_default="auto"),
]
Reviewed = Annotated[
    str | None,
    typer.Option(metavar="A,B,…", help="Columns released unchanged that you have looked at."),
]
Seed = Annotated[int | None, typer.Option(help="Where randomness starts.", show_default="0")]


_JOINED = (
    "set",
    "kinds",
    "text",
    "require",
    "orders",
    "taxonomies",
    "attribute_weights",
    "resolution",
)  # said besides a recipe's


def names(given: str | None) -> tuple[str, ...]:
    """Read a list of names; a comma inside a name is written as ``\\,``.

    >>> names("age, income")
    ('age', 'income')
    """
    if not given:
        return ()
    parts = given.replace(r"\,", "\0").split(",")
    return tuple(part.strip().replace("\0", ",") for part in parts if part.strip())


def pairs(option: str, given: list[str] | None, *, last: bool = False) -> dict[str, str]:
    """Read ``name=value`` pairs, each name once; cut at the last sign where names may hold one."""
    found: dict[str, str] = {}
    for text in given or ():
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f"{option}: must be name=value, got {text!r}. Say which and what.")
        if name.strip() in found:
            raise ParameterError(f"{option}: {name.strip()!r} is given twice. Give it once.")
        found[name.strip()] = value.strip()
    return found


def orders(given: list[str] | None) -> dict[str, list[str]]:
    """Read orders of categories, each ``column=lowest,…,highest``.

    >>> orders(["size=S,M,L"])
    {'size': ['S', 'M', 'L']}
    """
    return {name: list(names(text)) for name, text in pairs("--order", given).items()}


def steerings(given: list[str] | None) -> list[dict[str, Any]]:
    """Read artificial attributes, each ``by:name=value,…``, a weight among the values.

    >>> steerings(["region:column=county,weight=2", "position"])
    [{'by': 'region', 'column': 'county', 'weight': 2}, {'by': 'position'}]
    """
    found = []
    for text in given or ():
        by, _, rest = text.partition(":")
        values = pairs("--steer", list(names(rest)))
        column = {name: value for name, value in values.items() if name == "column"}  # which may be called 7
        found.append({"by": by.strip(), **typed_settings(values), **column})
    return found


def requirements(given: str | None) -> dict[str, Any]:
    """Read what must hold: ``model=level,…``, or ``model:column=level`` for one column; a level may be several numbers.

    >>> requirements("k=5,l_recursive=2:3,e:pay=900")
    {'k': 5, 'l_recursive': [2, 3], 'e': {'pay': 900}}
    """
    found: dict[str, Any] = {}
    for name, text in pairs("--require", list(names(given)), last=True).items():
        model, sign, column = name.partition(":")
        level = _level(text)
        if (model in found) != (isinstance(found.get(model), dict) and bool(sign)):
            raise ParameterError(f"--require: {model} is required of all columns and of one. Say it one way.")
        if sign:
            found.setdefault(model, {})[column] = level
        else:
            found[model] = level
    if given is not None and not found:
        raise ParameterError("--require: must be model=level, got nothing. Write for example --require k=5.")
    return found


def budget(given: str | None) -> Any:
    """Read ε: a number, or ``column=number,…``.

    >>> budget("1"), budget("age=0.5,pay=1")
    (1, {'age': 0.5, 'pay': 1})
    """
    if given is None:
        return None
    if "=" not in given:
        return _number(given.strip())
    return {name: _number(text) for name, text in pairs("--epsilon", list(names(given)), last=True).items()}


def resolution(given: str | None) -> dict[str, Any]:
    """Read steps of released values, ``column=step,…``; a step is a number, or a unit of dates.

    >>> resolution("income=100,birth=month")
    {'income': 100, 'birth': 'month'}
    """
    return typed_settings(pairs("--resolution", list(names(given)), last=True))


def bounds(given: str | None) -> Any:
    """Read the ends of domains, ``column=low:high,…``; text that names no column stays text.

    >>> bounds("age=0:120,pay=-1e3:1e6")
    {'age': [0, 120], 'pay': [-1000, 1000000]}
    """
    if given is None:
        return None
    if "=" not in given:
        return given.strip()
    return {name: _level(text) for name, text in pairs("--bounds", list(names(given)), last=True).items()}


def _level(text: str) -> Any:
    """Read a level: a number, or several with colons between them; what is no number is text."""
    parts = [_number(part.strip()) for part in text.split(":")]
    return parts[0] if len(parts) == 1 else parts


def _number(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def numbers(option: str, given: str | None, kind: type[int] | type[float]) -> tuple[float, ...] | None:
    """Read a list of numbers; None if nothing is given.

    >>> numbers("--k", "3, 5", int)
    (3, 5)
    """
    if given is None:
        return None
    try:
        return tuple(kind(part) for part in names(given))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ParameterError(f"{option}: must be {what} with commas between them, got {given!r}. Correct it.") from None


def text_format(**said: str | None) -> dict[str, Any]:
    """Return what was said about how a text file is written.

    >>> text_format(delimiter="tab", decimal=None)
    {'delimiter': '\\t'}
    """
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if "delimiter" in given:
        given["delimiter"] = {"\\t": "\t", "tab": "\t"}.get(given["delimiter"], given["delimiter"])
    if "missing" in given:
        given["missing"] = list(names(given["missing"]))
    return given


def recipe_from(path: Path | None, given: dict[str, Any], command: str = "protect") -> Recipe:
    """Make the recipe from a file, from options, or from a file with options that say otherwise."""
    from shoal.recipe.recipe import Recipe

    said = {name: value for name, value in given.items() if value not in (None, (), {}, [])}
    if "set" in said:
        said["set"] = typed_settings(said["set"])
    if path is not None:
        said = merged(Recipe.values_in(path), said, _JOINED)
    if "quasi" not in said:
        raise ParameterError(
            f"{command}: --quasi must name at least one column, got none. Name what an intruder may know, "
            "or give --recipe."
        )
    return Recipe.from_dict(said) if path is None else Recipe.from_file(said)


def merged(base: dict[str, Any], said: dict[str, Any], joined: Sequence[str]) -> dict[str, Any]:
    """Merge options into the values of a recipe file, before defaults are resolved; the options win.

    Tables that are `joined` are merged name by name.

    >>> merged({"k": 5, "set": {"gamma": 1}}, {"k": 3, "set": {"by": "mdav"}}, ["set"])
    {'k': 3, 'set': {'gamma': 1, 'by': 'mdav'}}
    """
    from shoal.recipe.requirements import overridden

    found = {**base, **said}
    for name in joined:
        if name in base and name in said:
            if not isinstance(base[name], dict):
                found[name] = base[name]  # the recipe refuses it
            else:
                found[name] = overridden(base[name], said[name]) if name == "require" else {**base[name], **said[name]}
    return found


def typed_settings(texts: dict[str, str]) -> dict[str, Any]:
    """Read the values of ``--set`` as TOML values; what is not one is text."""
    import tomllib

    found: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = text
    return found
