"""Command options, generated from the declarations of settings, and parsers of their values."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin

import typer

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import UNSET, Declared, alternatives, declarations, fits
from shoal.recipe.fields import BLOCKINGS, OUTPUT, RecipeFields, TextFormat
from shoal.threads import checked_count, thread_count, using_threads

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.recipe.settings import Settings

MACHINE, OTHERS = "Machine", "Options"
_MACHINE = ("engine", "spark_master")
_OUTPUT = (
    "output", "save_recipe", "report", "edition", "evidence", "receipt", "certify", "keep_metadata", "force", "json",
)  # fmt: skip
_KEYS = {"method": "partition", "release": "release"}  # settings whose values are names of components
F = TypeVar("F", bound=Callable[..., None])
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _use_threads(context: typer.Context, typed: str | None) -> None:
    """Let the command compute with this number of threads, Arrow's included; Arrow knows nothing of quotas."""
    if typed is not None:
        context.with_resource(using_threads(checked_count("--threads", typed)))
    if (count := thread_count()) != os.cpu_count():
        import pyarrow as pa

        context.call_on_close(partial(pa.set_cpu_count, pa.cpu_count()))
        pa.set_cpu_count(count)


Threads = Annotated[
    str | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="Number of threads; the result is the same with any number.",
        show_default="the available cores",
        rich_help_panel=MACHINE,
        callback=_use_threads,
    ),
]

PopulationFile = Annotated[
    str | None,
    typer.Option("--population", metavar="FILE", help="People that the table was drawn from; reports k_map and delta."),
]

Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory limit, e.g. 2GB; larger files are read in parts.",
        show_default="the available memory",
        rich_help_panel=MACHINE,
    ),
]


def option(
    metavar: str,
    text: str,
    *names: str,
    usual: str = "",
    group: str | None = None,
    complete: Callable[[str], list[str]] | None = None,
) -> Any:
    """Declare an option of a single command: the form of its value, its help, its names, and its group in the help."""
    return typer.Option(
        *names,
        metavar=metavar or None,
        help=text,
        show_default=usual or True,
        rich_help_panel=group,
        autocompletion=complete,
    )


def settings(
    *names: str,
    of: type = RecipeFields,
    needed: Sequence[str] = (),
    text: bool = True,
    helps: Mapping[str, str] | None = None,
) -> Callable[[F], F]:
    """Add an option for each named setting to a command, which receives the typed ones as ``**given``.

    Without names: for every setting that has a group. With `text`, also options for the format of text files. `helps`
    are help texts of settings with another meaning in this command.
    """
    chosen = [one for one in declarations(of) if (one.name in names if names else one.param.group or one.param.option)]
    chosen += declarations(TextFormat) if text else ()

    def decorate(command: F) -> F:
        own = inspect.signature(command, eval_str=True).parameters.values()
        kept = [one.replace(kind=one.KEYWORD_ONLY) for one in own if one.kind is not one.VAR_KEYWORD]
        for one in kept:
            info = one.annotation.__metadata__[0]
            if info.rich_help_panel:
                continue
            if one.name in _OUTPUT:
                info.rich_help_panel = OUTPUT
            elif one.name in _MACHINE:
                info.rich_help_panel = MACHINE
        said = helps or {}
        made = [_parameter(one, said.get(one.name), needed=one.name in needed) for one in chosen]
        first = [one for one in kept if one.default is one.empty]
        command.__signature__ = inspect.Signature([*first, *made, *(one for one in kept if one not in first)])  # type: ignore[attr-defined]
        return command

    return decorate


def keys_of(*families: str) -> Callable[[str], list[str]]:
    """Return a function that completes the names of components, for shells."""

    def complete(incomplete: str) -> list[str]:  # looks the names up only when asked
        return one_of([key for family in families for key in registry.keys(family)])(incomplete)

    return complete


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of these words, or the last of a list of them, for shells.

    >>> one_of(["fast", "best"])("f"), one_of(["il_sse", "dld"])("dld,i")
    (['fast'], ['dld,il_sse'])
    """

    def complete(incomplete: str) -> list[str]:
        given, comma, last = incomplete.rpartition(",")
        return [f"{given}{comma}{word}" for word in words if word.startswith(last)]

    return complete


def _parameter(declared: Declared, said: str | None, *, needed: bool) -> inspect.Parameter:
    """Return the command parameter for a setting: a flag, a number, or text for a parser."""
    param, usual = declared.param, declared.default
    shown = param.usual or ("" if usual in (None, UNSET, (), {}) or declared.required else str(usual))
    kinds = [kind for kind in alternatives(declared.kind) if kind is not type(None)]
    kind: Any = _READERS[declared.name][0] if declared.name in _READERS else str
    number = _number_of(declared)
    choices = () if callable(param.choices) else param.choices
    complete = keys_of(_KEYS[declared.name]) if declared.name in _KEYS else one_of(choices) if choices else None
    option = typer.Option(
        _option(declared),
        help=said or f"{param.description}.",
        metavar=param.metavar or "|".join(choices) or ("NAME" if param.choices else _NUMBERS[number][0]),
        show_default=shown if shown and kinds != [bool] else False,
        rich_help_panel=param.group,
        hidden=not param.group,
        autocompletion=complete,
    )
    default: Any = inspect.Parameter.empty if needed else None
    if kinds == [bool]:
        kind, default = bool, False
    else:
        kind = kind if needed else kind | None
    return inspect.Parameter(
        declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def read(given: Mapping[str, Any], of: type = RecipeFields) -> dict[str, Any]:
    """Parse the typed settings by their declarations; those of a text file are under ``text``."""
    declared = {one.name: one for one in (*declarations(of), *declarations(TextFormat))}
    found: dict[str, Any] = {}
    for name, typed in given.items():
        if typed is None or typed is False or typed == []:
            continue
        one = declared[name]
        if name in _READERS:
            value = _READERS[name][1](_option(one), typed)
        elif (number := _number_of(one)) is not None:
            value = _one_number(_option(one), typed, number)
        else:
            value = names(typed) if fits((), one.kind) else typed
        if value not in ((), {}, []) or one.default is None:  # an empty list may differ from None
            found[name] = value
    text = {one.name: found.pop(one.name) for one in declarations(TextFormat) if one.name in found}
    return {**found, **({"text": text} if text else {})}


#: Forms and words of options that are one number.
_NUMBERS: dict[Any, tuple[str | None, str]] = {
    int: ("N", "an integer"),
    float: ("NUMBER", "a number"),
    None: (None, ""),
}


def _number_of(declared: Declared) -> type[int] | type[float] | None:
    """Return the type of a setting that is one number; None: another setting."""
    kinds = [kind for kind in alternatives(declared.kind) if kind is not type(None)]
    return kinds[0] if kinds in ([int], [float]) and declared.name not in _READERS else None


def _one_number(option: str, typed: str, kind: type[int] | type[float]) -> float:
    """Parse a number.

    >>> _one_number("--k", "5", int), _one_number("--k", "5.0", int), _one_number("--t", "0.2", float)
    (5, 5, 0.2)
    """
    try:
        return kind(typed)
    except ValueError:
        with suppress(ValueError):
            if float(typed).is_integer():
                return int(float(typed))
        raise ParameterError(f"{option}: must be {_NUMBERS[kind][1]}, got {typed!r}. Correct it.") from None


def _option(declared: Declared) -> str:
    return declared.param.option or f"--{declared.name.replace('_', '-')}"


def names(given: str | None) -> tuple[str, ...]:
    """Parse a list of names; a comma inside a name is written as ``\\,``.

    >>> names("age, income")
    ('age', 'income')
    """
    if not given:
        return ()
    parts = given.replace(r"\,", "\0").split(",")
    return tuple(part.strip().replace("\0", ",") for part in parts if part.strip())


def pairs(option: str, given: Iterable[str], *, last: bool = False) -> dict[str, str]:
    """Parse ``name=value`` pairs, each name once; split at the last sign if names may contain one."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f"{option}: must be name=value, got {text!r}. Give both a name and a value.")
        if name.strip() in found:
            raise ParameterError(f"{option}: {name.strip()!r} is given twice. Give it once.")
        found[name.strip()] = value.strip()
    return found


def values(option: str, given: Iterable[str], *, last: bool = False) -> dict[str, Any]:
    """Parse pairs whose values are written as in TOML; anything else is text.

    >>> values("--set", ["gamma=0.2", "by=mdav"])
    {'gamma': 0.2, 'by': 'mdav'}
    """
    import tomllib

    found: dict[str, Any] = pairs(option, given, last=last)
    for name, text in found.items():
        with suppress(tomllib.TOMLDecodeError):
            found[name] = tomllib.loads(f"value = {text}")["value"]
    return found


def orders(option: str, given: Iterable[str]) -> dict[str, list[str]]:
    """Parse orders of categories, each ``column=lowest,…,highest``.

    >>> orders("--order", ["size=S,M,L"])
    {'size': ['S', 'M', 'L']}
    """
    return {name: list(names(text)) for name, text in pairs(option, given).items()}


def recodes(option: str, given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parse recodings, each ``column=name:value,…``; breaks are separated by colons.

    >>> recodes("--recode", ["age=top:90,bottom:15", "pay=breaks:0:1000:5000"])
    {'age': {'top': 90, 'bottom': 15}, 'pay': {'breaks': [0, 1000, 5000]}}
    """
    found: dict[str, dict[str, Any]] = {}
    for name, text in pairs(option, given, last=True).items():
        parts = [part.partition(":") for part in names(text)]
        found[name] = {
            how.strip(): [_number(end.strip()) for end in value.split(":")]
            if how.strip() == "breaks"
            else _number(value)
            for how, _, value in parts
        }
    return found


def order_weight(option: str, given: str) -> float | str:
    """Parse the weight of the position in a stream: a number, or ``keep``."""
    try:
        return given if given == "keep" else float(given)
    except ValueError:
        raise ParameterError(f"{option}: must be a number or keep, got {given!r}. Correct it.") from None


def coordinates(_: str, given: Sequence[str]) -> list[tuple[str, ...]]:
    """Parse pairs of columns, each ``a,b``.

    >>> coordinates("--coordinates", ["lat,lon"])
    [('lat', 'lon')]
    """
    return [names(pair) for pair in given]


def attribute_blocks(_: str, given: Sequence[str]) -> list[tuple[str, ...]] | str:
    """Parse blocks of attributes, each ``a,b``, or the word by which they are formed.

    >>> attribute_blocks("--block", ["age,pay", "job"]), attribute_blocks("--block", ["correlated"])
    ([('age', 'pay'), ('job',)], 'correlated')
    """
    return given[0] if len(given) == 1 and given[0] in BLOCKINGS else [names(block) for block in given]


def steerings(option: str, given: Iterable[str]) -> list[dict[str, Any]]:
    """Parse artificial attributes, each ``by:name=value,…``, a weight among the values.

    >>> steerings("--steer", ["region:column=county,weight=2", "position"])
    [{'by': 'region', 'column': 'county', 'weight': 2}, {'by': 'position'}]
    """
    found = []
    for text in given:
        by, _, rest = text.partition(":")
        column = {name: value for name, value in pairs(option, names(rest)).items() if name == "column"}
        found.append({"by": by.strip(), **values(option, names(rest)), **column})  # a column may be called 7
    return found


def requirements(option: str, given: str | None) -> dict[str, Any]:
    """Parse requirements: ``model=level,…``, or ``model:column=level`` for one column; a level may be several numbers.

    >>> requirements("--require", "k=5,l_recursive=2:3,e:pay=900")
    {'k': 5, 'l_recursive': [2, 3], 'e': {'pay': 900}}
    """
    found: dict[str, Any] = {}
    for name, text in pairs(option, names(given), last=True).items():
        model, sign, column = name.partition(":")
        level = _level(text)
        if (model in found) != (isinstance(found.get(model), dict) and bool(sign)):
            raise ParameterError(
                f"{option}: {model} is required of all columns and of a single one. Choose one of the two."
            )
        if sign:
            found.setdefault(model, {})[column] = level
        else:
            found[model] = level
    if given is not None and not found:
        raise ParameterError(f"{option}: must be model=level, got nothing. Write for example {option} k=5.")
    return found


def budget(option: str, given: str) -> Any:
    """Parse ε: a number, or ``column=number,…``.

    >>> budget("--epsilon", "1"), budget("--epsilon", "age=0.5,pay=1")
    (1, {'age': 0.5, 'pay': 1})
    """
    if "=" not in given:
        return _number(given.strip())
    return {name: _number(text) for name, text in pairs(option, names(given), last=True).items()}


def bounds(option: str, given: str) -> Any:
    """Parse bounds, ``column=low:high,…``; text that names no column stays text.

    >>> bounds("--bounds", "age=0:120,pay=-1e3:1e6")
    {'age': [0, 120], 'pay': [-1000, 1000000]}
    """
    if "=" not in given:
        return given.strip()
    return {name: _level(text) for name, text in pairs(option, names(given), last=True).items()}


def _level(text: str) -> Any:
    """Parse a level: a number, or several separated by colons; anything else is text."""
    parts = [_number(part.strip()) for part in text.split(":")]
    return parts[0] if len(parts) == 1 else parts


def _number(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def numbers(option: str, given: str | None, kind: type[int] | type[float]) -> tuple[float, ...] | None:
    """Parse a list of numbers; None if nothing is given.

    >>> numbers("--k", "3, 5", int)
    (3, 5)
    """
    if given is None:
        return None
    try:
        return tuple(kind(part) for part in names(given))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ParameterError(f"{option}: must be {what}, separated by commas, got {given!r}. Correct it.") from None


def recipe_from(path: Path | None, given: Mapping[str, Any], command: str = "protect") -> Recipe:
    """Make the recipe from a file, from options, or from a file with overriding options."""
    from shoal.recipe.recipe import Recipe

    said = both(Recipe, path, given)
    if path is None and "quasi" not in said:  # a recipe file without it may have a misspelt field, which is reported
        raise ParameterError(
            f"{command}: --quasi must name at least one column, got none. Name the columns that an attacker may "
            "know, or give --recipe."
        )
    return Recipe.from_dict(said) if path is None else Recipe.from_file(said)


def both(of: type[Settings], path: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Combine a recipe file and options; tables are merged name by name."""
    tables = [one.name for one in declarations(of) if get_origin(one.kind) is Mapping]
    return dict(given) if path is None else merged(of.values_in(path), given, tables)


def merged(base: Mapping[str, Any], said: Mapping[str, Any], joined: Sequence[str]) -> dict[str, Any]:
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


#: Names of thousands separators that are awkward to type.
_BLANKS = {"space": " ", "\u00a0": " ", "\u202f": " ", "apostrophe": "'", "\u2019": "'"}

#: How an option is typed and parsed, for settings other than names, numbers and plain text.
_READERS: dict[str, tuple[Any, Callable[[str, Any], Any]]] = {
    "require": (str, requirements),
    "epsilon": (str, budget),
    "bounds": (str, bounds),
    "resolution": (str, lambda option, typed: values(option, names(typed), last=True)),
    "set": (list[str], values),
    "kinds": (list[str], partial(pairs, last=True)),
    "taxonomies": (list[str], pairs),
    "orders": (list[str], orders),
    "recode": (list[str], recodes),
    "categories": (list[str], orders),
    "order_weight": (str, order_weight),
    "attribute_weights": (list[str], partial(values, last=True)),
    "coordinates": (list[str], coordinates),
    "attribute_blocks": (list[str], attribute_blocks),
    "steer": (list[str], steerings),
    "delimiter": (str, lambda _, typed: {"\\t": "\t", "tab": "\t"}.get(typed, typed)),
    "thousands": (str, lambda _, typed: _BLANKS.get(typed, typed)),
    "missing": (str, lambda _, typed: list(names(typed))),
}
