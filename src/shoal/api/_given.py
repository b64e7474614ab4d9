"""Arguments that several verbs take: a recipe or its fields by name, a path or a frame."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any, TypeGuard

from shoal.errors import DataError, ParameterError, listing
from shoal.locations import Place, place
from shoal.parameters import declarations, shown, unknown
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import into_fields

AnyRecipe = Recipe | Mapping[str, Any] | str | Path
_LEVELS = frozenset({"k", "t", "n"})  # that `require` may state as well


def is_place(given: Any) -> TypeGuard[str | Path | Place]:
    """Tell whether data are given by path or URL; otherwise they are a frame."""
    return isinstance(given, (str, Path, Place))


def input_place(given: str | Path | Place) -> Place:
    """Return the place of an input; refuse one that does not exist, before any error about outputs."""
    found = place(given)
    if isinstance(found.at, Path) and not found.at.exists():
        from shoal.io.sources._file import unreadable

        raise DataError(unreadable(found.at, FileNotFoundError()))
    return found


def recipe_of(given: AnyRecipe | None, fields: Mapping[str, Any], verb: Callable[..., Any]) -> Recipe:
    """Make the recipe from what a verb was given: a recipe in any form, fields by name, or both.

    Fields override the recipe, and defaults are resolved afterwards.

    >>> from shoal.api.protect import protect
    >>> recipe_of({"quasi": ["age"], "require": {"k": 3}}, {"k": 5}, protect).k
    5
    """
    _refuse_misspelt(fields, verb)
    if isinstance(given, Recipe):
        return given.override(**fields) if fields else given
    if given is None:
        return Recipe.from_dict(fields)
    if isinstance(given, Mapping):
        return Recipe.from_dict(_overridden(given, fields))
    if isinstance(given, (str, Path)):
        return Recipe.from_file(_overridden(Recipe.values_in(given), fields))
    raise ParameterError(
        f"{verb.__name__}: recipe must be a Recipe, a mapping or a path, got a {type(given).__name__}."
    )


def _overridden(values: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a recipe with some replaced, also where `require` states them."""
    require = values.get("require")
    if not _LEVELS.isdisjoint(fields) and isinstance(require, Mapping):
        own = {name: values[name] for name in _LEVELS if values.get(name) is not None}
        rest, levels = into_fields(require, own)
        values = {**values, **levels, "require": rest}
    return {**values, **fields}


def _refuse_misspelt(fields: Mapping[str, Any], verb: Callable[..., Any]) -> None:
    """Refuse a name that resembles an argument of the verb; names like fields are the recipe's to refuse."""
    known = [one.name for one in declarations(Recipe)]
    parameters = signature(verb).parameters.values()
    arguments = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
    for name in fields:
        near = [] if name in known else difflib.get_close_matches(name, [*known, *arguments], n=1)
        if near and near[0] in arguments:
            raise ParameterError(unknown(verb.__name__, "argument", name, arguments))


def table_of(verb: str, field: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a table of names and values, empty if none is given; refuse anything else."""
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"{verb}: {field} must be a table of names and values, got {shown(given)}. Give a dict.")
    return given or {}


def refuse_with_frame(verb: str, remedy: str, **given: Any) -> None:
    """Refuse arguments that only a file can have; those that say nothing are None or False."""
    names = [name for name, value in given.items() if value is not None and value is not False]
    if names:
        raise ParameterError(f"{verb}: {listing(names)} cannot be given with a frame. {remedy}")
