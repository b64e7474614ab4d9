"""The witness of a stream is told in plain values what a recipe demands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.privacy._asked import Asked
from shoal.privacy._demanded import Witness
from shoal.stream.bins import kind_of
from shoal.stream.demanding import CLOSE, asked
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
