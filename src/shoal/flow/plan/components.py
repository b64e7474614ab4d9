"""Recipe → method, release and encoding, each with the parameters that it declares."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from shoal import registry
from shoal.errors import DataError, ParameterError, raise_all
from shoal.parameters import build, declarations, unknown
from shoal.recipe.fields import NOISE
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve


def components(recipe: Recipe, encoding: type, sink: type | None) -> tuple[Any, Any, Any]:
    """Make method, release and encoding; each parameter of `set` belongs to those that declare it."""
    classes = (registry.load("partition", recipe.method), registry.load("release", recipe.release), encoding)
    levels = _levels_for(classes[0], recipe)
    fields_taken = {"k", "t", *levels, *NOISE, *getattr(classes[1], "takes", ())}
    known = {d.name for cls in (*classes, sink) if cls for d in declarations(cls)} - fields_taken
    raise_all(
        ParameterError,
        [unknown("Recipe", "parameter (in set)", n, known) for n in recipe.set if n not in known],
    )
    if recipe.t is None and promises_t(classes[0]) and not _optional(classes[0], "t"):
        raise ParameterError(
            f"{classes[0].__name__}: t must be given, got none. Say how close classes must be: t = 0.2."
        )
    given = {**recipe.set, "k": recipe.k, **({} if recipe.t is None else {"t": recipe.t}), **levels}
    given |= {name: getattr(recipe, name) for name in getattr(classes[1], "takes", ())}
    made = [build(c, {d.name: given[d.name] for d in declarations(c) if d.name in given}) for c in classes]
    return made[0], made[1], made[2]


def _levels_for(method: type, recipe: Recipe) -> dict[str, float]:
    """Return the levels of the models that a method promises itself: they are required in the recipe."""
    levels: dict[str, float] = {}
    for key in getattr(method, "promises", ()):
        asked = [one for one in resolve("Recipe", recipe.require) if one.key == key]
        if len(asked) != 1:
            model = registry.load("privacy", key)
            raise ParameterError(
                f"{method.__name__}: {key} must be required once, at one level, got {len(asked) or 'none'}. Say for "
                f"example --require {model.short}={model.example}."
            )
        levels |= dict(asked[0].levels)
    return levels


def _optional(cls: type, name: str) -> bool:
    return any(f.name == name and f.default is not MISSING for f in fields(cls))


def promises_k(method: Any) -> bool:
    """Tell whether a method promises classes of at least k records; one that does not must say so."""
    return bool(getattr(type(method), "promises_k", True))


def enough_records(method: Any, n: int) -> None:
    """Refuse a k that no class of n records can have. Where k is not about records, the method must look itself."""
    if promises_k(method) and n < method.k:
        raise DataError(
            f"{type(method).__name__}: k must be at most the number of records, got k = {method.k:,} and {n:,} in the "
            f"table. Lower k."
        )


def promises_t(method: type) -> bool:
    """Tell whether a method promises t-closeness itself; one that does must say so."""
    return bool(getattr(method, "promises_t", False))
