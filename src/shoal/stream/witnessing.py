"""The witness of a stream is told in plain values what a recipe demands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.privacy._asked import Asked
from shoal.privacy._demanded import Witness
from shoal.privacy._stream_digits import Digits
from shoal.stream._demands_said import CLOSE, asked
from shoal.stream.bins import kind_of
from shoal.stream_points.datetime import is_date, moment
from shoal.types import Kind, called

if TYPE_CHECKING:
    from shoal.stream.recipe import StreamRecipe


def witness_of(recipe: StreamRecipe, memory: Mapping[str, Any] | None = None) -> Witness | None:
    """Return the witness of a lane; None if a recipe demands nothing but k. `memory` is that of its cursor.

    >>> from shoal.stream.recipe import StreamRecipe
    >>> recipe = StreamRecipe(quasi=["a"], bounds={"a": (0, 1)}, k=2, delay=9, confidential=["ill"], require={"p": 2})
    >>> witness_of(recipe).look(9, {"ill": ["flu", "gout"]})
    """
    if not recipe.require and recipe.t is None:
        return None
    told = [
        _told(recipe, one.attribute) if one.model == CLOSE else Asked("", one.attribute, {}) for one in asked(recipe)
    ]
    known = [
        Asked(one.model, one.attribute, dict(one.levels), *(getattr(own, name) for name in _DOMAIN))
        for one, own in zip(asked(recipe), told, strict=True)
    ]
    return Witness(known, dict((memory or {}).get("so_far", {})))


def digits_of(recipe: StreamRecipe) -> dict[str, Digits]:
    """Return how fine the released values of each quasi-identifier may be, if they have a resolution.

    >>> from shoal.stream.recipe import StreamRecipe
    >>> digits_of(StreamRecipe(quasi=["a"], bounds={"a": (0, 9)}, kinds={"a": "integer"}, k=2, delay=9))["a"].whole
    True
    """
    found = {}
    for name in recipe.quasi:
        kind, said = kind_of(recipe, name), recipe.resolution.get(name)
        if kind is Kind.DATETIME:
            found[name] = _moments(recipe.bounds[name], str(said or ""))
        elif kind is Kind.INTEGER and not recipe.exact_means:
            found[name] = Digits(step=1 if said is None else float(said), whole=True)
        elif said is not None:
            found[name] = Digits(step=float(said))
    return found


def _moments(bounds: tuple[Any, Any], unit: str) -> Digits:
    """Return how fine moments may be: as a unit says, and no finer than their bounds."""
    dates = is_date(bounds[0])
    if dates and unit not in ("year", "month"):
        unit = "day"
    elif not unit and not any(end is not None and end.microsecond for end in map(moment, bounds)):
        unit = "second"
    return Digits(unit=unit, dates=dates)


_DOMAIN = ("categories", "ordered", "cuts", "bounds", "whole", "shares")


def _told(recipe: StreamRecipe, name: str) -> Asked:
    """Return what a recipe says of the domain of a field, and of what classes must be close to."""
    kind, said = kind_of(recipe, name), recipe.reference.get(name, {})
    if kind in (Kind.NOMINAL, Kind.ORDINAL):
        taxonomy = recipe.known_of(name).taxonomy
        given = recipe.orders.get(name) or recipe.categories.get(name) or (taxonomy.paths if taxonomy else said)
        names = tuple(called(category) for category in given)
        names = names if kind is Kind.ORDINAL else tuple(sorted(names))
        shares = tuple(said.get(category, 0) for category in names) if said else ()
        return Asked(CLOSE, name, {}, names, kind is Kind.ORDINAL, shares=shares)
    cuts, shares, bounds = tuple(said.get("cuts", ())), tuple(said.get("shares", ())), recipe.bounds.get(name)
    return Asked(CLOSE, name, {}, (), True, cuts, None if cuts else bounds, kind is Kind.INTEGER, shares)
