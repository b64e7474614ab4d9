"""Components of a run: method, release, encoding and steering, each with its declared parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from dataclasses import fields as fields_of
from numbers import Real
from typing import Any

from shoal import registry
from shoal.errors import DataError, ParameterError, raise_all
from shoal.parameters import build, declarations, shown, unknown
from shoal.recipe.fields import NOISE
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import resolve


def components(recipe: Recipe, encoding: type, sink: type | None) -> tuple[Any, Any, Any]:
    """Make method, release and encoding; each parameter of `set` goes to those that declare it."""
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
            f"{classes[0].__name__}: t must be given, got none. Set how close classes must be, for example t = 0.2."
        )
    given = {**recipe.set, "k": recipe.k, **({} if recipe.t is None else {"t": recipe.t}), **levels}
    given |= {name: getattr(recipe, name) for name in getattr(classes[1], "takes", ())}
    made = [build(c, {d.name: given[d.name] for d in declarations(c) if d.name in given}) for c in classes]
    return made[0], made[1], made[2]


def _levels_for(method: type, recipe: Recipe) -> dict[str, float]:
    """Return the levels of the models that a method promises itself, as the recipe requires them."""
    levels: dict[str, float] = {}
    for key in getattr(method, "promises", ()):
        asked = [one for one in resolve("Recipe", recipe.require) if one.key == key]
        if len(asked) != 1:
            model = registry.load("privacy", key)
            raise ParameterError(
                f"{method.__name__}: {key} must be required once, at one level, got {len(asked) or 'none'}. Write "
                f"for example --require {model.short}={model.example}."
            )
        levels |= dict(asked[0].levels)
    return levels


def _optional(cls: type, name: str) -> bool:
    return any(f.name == name and f.default is not MISSING for f in fields_of(cls))


def promises_k(method: Any) -> bool:
    """Tell whether a method promises classes of at least k records; one that does not must declare it."""
    return bool(getattr(type(method), "promises_k", True))


def refuse_without_k(method: type, fields: Sequence[str]) -> None:
    """Refuse demands on a method that does not promise classes of at least k records."""
    if fields and not getattr(method, "promises_k", True):
        raise ParameterError(
            f"{method.__name__}: {' and '.join(filter(None, (', '.join(fields[:-1]), fields[-1])))} cannot be used, "
            "because this method forms no classes of at least k records. Choose another method."
        )


def one_block(method: type, blocks: int) -> None:
    """Refuse requirements if quasi-identifiers are partitioned in blocks: joint classes are not controlled."""
    if blocks > 1:
        raise ParameterError(
            f"{method.__name__}: t and require are not possible where quasi-identifiers are partitioned in blocks, "
            f"got {blocks} of them: nothing is promised over all blocks together. Leave them out, or use one block."
        )


def enough_records(method: Any, n: int) -> None:
    """Refuse a k above n records. If k does not count records, the method must check it itself."""
    if promises_k(method) and n < method.k:
        raise DataError(
            f"{type(method).__name__}: k must be at most the number of records, got k = {method.k:,} and {n:,} in the "
            f"table. Lower k."
        )


def promises_t(method: type) -> bool:
    """Tell whether a method promises t-closeness itself; one that does must declare it."""
    return bool(getattr(method, "promises_t", False))


_HEAVIEST = 1e300  # so that no coordinate overflows


def steering_makers(tables: Sequence[Mapping[str, Any]], method: type) -> tuple[tuple[Any, float], ...]:
    """Return the maker and weight of each artificial attribute; refuse methods that cannot be steered."""
    if tables:
        _steerable(method)
    return tuple(_maker(table) for table in tables)


def _maker(table: Mapping[str, Any]) -> tuple[Any, float]:
    """Return the maker of an artificial attribute, and its weight."""
    by, weight = table.get("by"), table.get("weight", 1.0)
    if by not in registry.keys("steer"):
        raise ParameterError(unknown("steer", "steering (by)", by, registry.keys("steer")))
    if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= float(weight) <= _HEAVIEST:
        raise ParameterError(f"steer: weight must be a number ≥ 0 and ≤ {_HEAVIEST:g}, got {shown(weight)}.")
    rest = {name: value for name, value in table.items() if name not in ("by", "weight")}
    return build(registry.load("steer", str(by)), rest), float(weight)


def _steerable(method: type) -> None:
    """Refuse methods that artificial coordinates would not steer, or that have their own."""
    why = ""
    if not getattr(method, "promises_k", True):
        why = "because this method forms no classes of at least k records"
    elif getattr(method, "dimensions", None) is not None:
        why = f"because this method takes exactly {method.dimensions} coordinate"  # type: ignore[attr-defined]
    elif getattr(method, "steers", False):
        why = "because this method has an artificial attribute of its own and scales all others"
    if why:
        raise ParameterError(f"{method.__name__}: steer is not possible, {why}. Choose another method.")
