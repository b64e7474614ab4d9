"""What is wrong with what a recipe says of fields that classes of a stream must be close in, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from shoal.stream.recipe import domains
from shoal.stream.recipe.bins import kind_of, whole
from shoal.types import Kind, called

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


_OWNER = "StreamRecipe"
_LARGEST = 2**40


def faults(recipe: StreamRecipe, name: str) -> list[str]:
    """Return what is wrong with the bins of a field, or with what it must be close to."""
    said = recipe.reference.get(name, {})
    if not isinstance(said, Mapping) or (not said and name in recipe.reference):
        return [
            f"{_OWNER}: the reference of {name!r} must be a table of shares, or of cuts, got something else. "
            "Write {a = 0.3, b = 0.7}."
        ]
    kind = kind_of(recipe, name)
    if kind in (Kind.NOMINAL, Kind.ORDINAL):
        return _categories(recipe, name, kind, said)
    if "cuts" in said:
        return _cuts(name, kind, said)
    if said:
        return [f"{_OWNER}: the reference of {name!r}, which is {kind}, must have cuts. Write {{cuts = [10, 20]}}."]
    if name not in recipe.bounds:
        return [
            f"{_OWNER}: t needs to know the domain of {name!r}, got none. Give its bounds, categories or order, "
            "or a reference."
        ]
    return domains.domain(recipe, name)


def _categories(recipe: StreamRecipe, name: str, kind: Kind, said: Mapping[str, Any]) -> list[str]:
    known = recipe.orders.get(name, recipe.categories.get(name, ()))
    if not known and name not in recipe.taxonomies and not (said and kind is Kind.NOMINAL):
        where = "orders" if kind is Kind.ORDINAL else "categories"
        return [f"{_OWNER}: t needs to know the {where} of {name!r}, got none. Name them all in {where}."]
    if (known or name in recipe.taxonomies) and (found := domains.domain(recipe, name)):
        return found
    if not known and name in recipe.taxonomies:
        taxonomy = recipe.known_of(name).taxonomy
        known = tuple(taxonomy.paths) if taxonomy is not None else ()
    if known and not set(said) <= {called(one) for one in known}:
        return [f"{_OWNER}: the reference of {name!r} names a category that it does not have. Add it, or take it out."]
    return _shares(name, list(said.values()))


def _cuts(name: str, kind: Kind, said: Mapping[str, Any]) -> list[str]:
    cuts, shares = said["cuts"], said.get("shares")
    if set(said) - {"cuts", "shares"} or kind is Kind.DATETIME:
        return [f"{_OWNER}: the reference of {name!r} must have cuts and shares of numbers, and nothing else."]
    numbers = isinstance(cuts, list) and bool(cuts) and all(domains.is_real(cut) for cut in cuts)
    if not numbers or any(float(a) >= float(b) for a, b in pairwise(cuts)):
        return [f"{_OWNER}: the cuts of {name!r} must be a list of ascending numbers, got something else."]
    if shares is not None and (not isinstance(shares, list) or len(shares) != len(cuts) + 1):
        return [f"{_OWNER}: the shares of {name!r} must be {len(cuts) + 1}, one more than cuts. Correct the reference."]
    return _shares(name, shares or [])


def _shares(name: str, shares: Sequence[Any]) -> list[str]:
    bad = any(not domains.is_real(share) or share < 0 for share in shares)
    if bad or (shares and not 0 < sum(whole(shares)) <= _LARGEST):
        return [
            f"{_OWNER}: the shares of {name!r} must be numbers ≥ 0, not all 0, and of few digits, got others. "
            "Correct the reference."
        ]
    return []
