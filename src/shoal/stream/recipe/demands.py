"""Demands of a stream recipe on confidential fields, their bins, and checks of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import floor, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.parameters import shown
from shoal.recipe import requirements
from shoal.recipe.contents import is_real
from shoal.stream.recipe import rules
from shoal.types import Kind, called
from shoal.types.stream import Demand, Known, StreamAttribute

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


BINS = 32  #: number of bins of equal width between two bounds
SINGLE = 64  #: up to this many integers get a bin each
_WIDE = 1e308


@dataclass(frozen=True)
class Bins:
    """Cells of a field as bin numbers.

    Categories have a bin each. Numbers and datetimes have bins between edges: a value on an edge is in the upper bin.
    """

    attribute: StreamAttribute
    ordered: bool
    count: int
    edges: NDArray[Any] | None = field(default=None, repr=False)  #: None: values are bin numbers already
    given: tuple[int, ...] = field(default=(), repr=False)  #: counts in the reference; empty without a reference

    @classmethod
    def of(cls, recipe: StreamRecipe, name: str) -> Bins:
        """Make the bins that a recipe declares for a field; the declaration was checked before."""
        said: Mapping[str, Any] = recipe.reference.get(name, {})
        kind = kind_of(recipe, name)
        serves = registry.for_kind("stream.points", kind)
        if kind in (Kind.NOMINAL, Kind.ORDINAL):
            known = recipe.known_of(name)
            if kind is Kind.NOMINAL and not known.categories and known.taxonomy is None:
                known = Known(name, kind, categories=tuple(said))
            attribute = serves.of(known)
            shares = [said.get(called(category), 0) for category in attribute.categories] if said else ()
            return cls(attribute, kind is Kind.ORDINAL, len(attribute.categories), None, whole(shares))
        if "cuts" in said:
            attribute, edges = serves.of(Known(name, kind, -_WIDE, _WIDE)), np.array(said["cuts"], np.float64)
        else:
            attribute = serves.of(recipe.known_of(name))
            edges = np.array(_between(kind, attribute.low, attribute.high))
        return cls(attribute, True, len(edges) + 1, edges, whole(said.get("shares", ())))

    def take(self, cells: Any) -> tuple[NDArray[np.int64], Sequence[tuple[int, str]]]:
        """Return the bin of each cell, and which cells have no bin."""
        taken = self.attribute.take(cells)
        values = taken.values if self.edges is None else np.searchsorted(self.edges, taken.values, side="right")
        return values.astype(np.int64), taken.faults


def kind_of(recipe: StreamRecipe, name: str) -> Kind:
    """Return the kind of a confidential field; nominal if the recipe only gives shares of categories."""
    said = any(name in getattr(recipe, table) for table in ("kinds", "bounds", "orders", "categories", "taxonomies"))
    shares = name in recipe.reference and "cuts" not in recipe.reference[name]
    return Kind.NOMINAL if shares and not said else rules.kind_of(recipe, name)


def _between(kind: Kind, low: Any, high: Any) -> list[Any]:
    """Return the edges between bounds."""
    if kind is Kind.INTEGER and high - low < SINGLE:
        return list(range(int(low) + 1, int(high) + 1))
    steps = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / BINS for i in range(1, BINS)]
    return [floor(edge) if kind is Kind.DATETIME else float(edge) for edge in steps]


def whole(shares: Sequence[Any]) -> tuple[int, ...]:
    """Convert shares to counts: 0.25 and 0.75 become 1 and 3.

    >>> whole([0.25, 0.75])
    (1, 3)
    """
    exact = [Fraction(str(share)) for share in shares]
    scale = lcm(*(share.denominator for share in exact)) if exact else 1
    return tuple(int(share * scale) for share in exact)


CLOSE = "t_closeness"
MODELS = ("p_sensitivity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity", CLOSE)
_OWNER = "StreamRecipe"
_MOST = 100  # maximum number of counts in a cursor, each of up to ten digits: about a kilobyte
_MOST_SHARES = 2**40


def asked(recipe: StreamRecipe) -> tuple[Demand, ...]:
    """Return a recipe's demands on confidential fields, field by field and model by model."""
    required = requirements.resolve(_OWNER, recipe.require)
    if recipe.t is not None:
        required += requirements.resolve(_OWNER, {CLOSE: recipe.t})
    found = []
    for one in required:
        for name in one.columns or recipe.confidential:
            levels = tuple((level, value) for level, value in one.levels if value is not None)
            found.append(Demand(one.key, name, levels))
    return tuple(found)


def faults(recipe: StreamRecipe) -> list[str]:
    """Return the faults in a recipe's demands."""
    if not recipe.require and recipe.t is None:
        return [_unused(name) for name in recipe.reference]
    required = requirements.resolve(_OWNER, recipe.require)
    if found := [*_impossible(recipe, required), *requirements.misplaced("", required, recipe.confidential)]:
        return found
    close = [one.attribute for one in asked(recipe) if one.model == CLOSE]
    found = [_unused(name) for name in recipe.reference if name not in close]
    found += [fault for name in close for fault in _binned(recipe, name)]
    return found or _too_many(recipe, close)


def _unused(name: str) -> str:
    return f"reference names {name!r}, for which t is not required. Require t of it, or remove it."


def _impossible(recipe: StreamRecipe, required: Sequence[requirements.Required]) -> list[str]:
    found = []
    if registry.says("stream.partition", recipe.method, "only_k") is not False:
        what = "require" if recipe.require else "t"
        found.append(
            f"{what} cannot be met by the method {recipe.method}, which promises only k. Use nearest or look_ahead, "
            f"or leave out {what}."
        )
    found += [
        f"classes of a stream support {', '.join(MODELS)}, got {one.key}. Leave it out."
        for one in required
        if one.key not in MODELS
    ]
    if recipe.t is not None and any(one.key == CLOSE for one in required):
        found.append("t is set and also required. Set it once.")
    most = recipe.delay + 1  # maximum number pending at once
    found += [
        f"{name} must be at most delay + 1 = {most:,}, because no class holds more tuples of different values, got "
        f"{shown(level)}. Lower {name}, or raise delay."
        for one in required
        for name, level in one.levels
        if name in ("p", "l") and level > most
    ]
    return found


def _too_many(recipe: StreamRecipe, close: Sequence[str]) -> list[str]:
    counted = [one for one in (Bins.of(recipe, name) for name in close) if not one.given]
    many = sum(one.count for one in counted)
    if many <= _MOST:
        return []
    return [
        f"t counts {many} categories and bins of the stream so far, but at most {_MOST} can be stored. Give some "
        "fields a reference with shares, or fewer cuts."
    ]


def _binned(recipe: StreamRecipe, name: str) -> list[str]:
    """Return the faults in the bins of a field, or in its reference."""
    said = recipe.reference.get(name, {})
    if not isinstance(said, Mapping) or (not said and name in recipe.reference):
        return [
            f"the reference of {name!r} must be a table of shares, or of cuts, got something else. "
            "Write {a = 0.3, b = 0.7}."
        ]
    kind = kind_of(recipe, name)
    if kind in (Kind.NOMINAL, Kind.ORDINAL):
        return _categories(recipe, name, kind, said)
    if "cuts" in said:
        return _cuts(name, kind, said)
    if said:
        return [f"the reference of {name!r}, which is {kind}, must have cuts. Write {{cuts = [10, 20]}}."]
    if name not in recipe.bounds:
        return [
            f"t needs to know the domain of {name!r}, got none. Give its bounds, categories or order, or a reference."
        ]
    return rules.domain(recipe, name)


def _categories(recipe: StreamRecipe, name: str, kind: Kind, said: Mapping[str, Any]) -> list[str]:
    known = recipe.orders.get(name, recipe.categories.get(name, ()))
    if not known and name not in recipe.taxonomies and not (said and kind is Kind.NOMINAL):
        where = "orders" if kind is Kind.ORDINAL else "categories"
        return [f"t needs to know the {where} of {name!r}, got none. Name them all in {where}."]
    if (known or name in recipe.taxonomies) and (found := rules.domain(recipe, name)):
        return found
    if not known and name in recipe.taxonomies:
        taxonomy = recipe.known_of(name).taxonomy
        known = tuple(taxonomy.paths) if taxonomy is not None else ()
    if known and not set(said) <= {called(one) for one in known}:
        return [f"the reference of {name!r} names an unknown category. Add it to the field's categories, or remove it."]
    return _shares(name, list(said.values()))


def _cuts(name: str, kind: Kind, said: Mapping[str, Any]) -> list[str]:
    cuts, shares = said["cuts"], said.get("shares")
    if set(said) - {"cuts", "shares"} or kind is Kind.DATETIME:
        return [f"the reference of {name!r} must have cuts and shares of numbers, and nothing else."]
    numbers = isinstance(cuts, list) and bool(cuts) and all(is_real(cut) for cut in cuts)
    if not numbers or any(float(a) >= float(b) for a, b in pairwise(cuts)):
        return [f"the cuts of {name!r} must be a list of ascending numbers, got something else."]
    if shares is not None and (not isinstance(shares, list) or len(shares) != len(cuts) + 1):
        return [f"the shares of {name!r} must be {len(cuts) + 1}, one more than cuts. Correct the reference."]
    return _shares(name, shares or [])


def _shares(name: str, shares: Sequence[Any]) -> list[str]:
    bad = any(not is_real(share) or share < 0 for share in shares)
    if bad or (shares and not 0 < sum(whole(shares)) <= _MOST_SHARES):
        return [
            f"the shares of {name!r} must be numbers ≥ 0, not all 0, and of few digits, got others. "
            "Correct the reference."
        ]
    return []
