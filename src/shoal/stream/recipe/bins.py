"""The bins in which a confidential field of a stream is compared with what came so far; known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.stream.recipe import domains
from shoal.types import Kind, called
from shoal.types.stream import Known, StreamAttribute

if TYPE_CHECKING:
    from shoal.stream.recipe.recipe import StreamRecipe


BINS = 32  #: of equal width between two bounds
SINGLE = 64  #: so many integers have a bin each
_WIDE = 1e308


@dataclass(frozen=True)
class Bins:
    """Cells of a field as numbers of bins.

    Categories have a bin each. Numbers and moments have bins between edges: a value on an edge is in the upper bin.
    """

    attribute: StreamAttribute
    ordered: bool
    count: int
    edges: NDArray[Any] | None = field(default=None, repr=False)  #: None: values are numbers of bins already
    given: tuple[int, ...] = field(default=(), repr=False)  #: how often each occurs in the reference; empty: none is

    @classmethod
    def of(cls, recipe: StreamRecipe, name: str) -> Bins:
        """Take what a recipe says of a field; what it must say is checked before."""
        said: Mapping[str, Any] = recipe.reference.get(name, {})
        kind = kind_of(recipe, name)
        serves = registry.claims("stream.points", "kinds")[kind]
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
        """Return the bin of each cell, and which cells have none."""
        taken = self.attribute.take(cells)
        values = taken.values if self.edges is None else np.searchsorted(self.edges, taken.values, side="right")
        return values.astype(np.int64), taken.faults


def kind_of(recipe: StreamRecipe, name: str) -> Kind:
    """Return the kind of a confidential field; where only shares of categories are said of it, it is nominal."""
    said = any(name in getattr(recipe, table) for table in ("kinds", "bounds", "orders", "categories", "taxonomies"))
    shares = name in recipe.reference and "cuts" not in recipe.reference[name]
    return Kind.NOMINAL if shares and not said else domains.kind_of(recipe, name)


def _between(kind: Kind, low: Any, high: Any) -> list[Any]:
    """Return the edges between bounds."""
    if kind is Kind.INTEGER and high - low < SINGLE:
        return list(range(int(low) + 1, int(high) + 1))
    steps = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / BINS for i in range(1, BINS)]
    return [floor(edge) if kind is Kind.DATETIME else float(edge) for edge in steps]


def whole(shares: Sequence[Any]) -> tuple[int, ...]:
    """Return shares as counts: 0.25 and 0.75 are 1 and 3.

    >>> whole([0.25, 0.75])
    (1, 3)
    """
    exact = [Fraction(str(share)) for share in shares]
    scale = lcm(*(share.denominator for share in exact)) if exact else 1
    return tuple(int(share * scale) for share in exact)
