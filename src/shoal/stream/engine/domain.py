"""Domain of a stream: its quasi-identifiers, and the space in which its tuples are points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import ParameterError
from shoal.stream.recipe.recipe import KEEP, StreamRecipe
from shoal.types.stream import Space, StreamAttribute

#: The maximum number of coordinates: every class is searched for among all pending tuples, in all coordinates.
MOST = 2048
_LEAST = 1e-9  # a weight whose square differs from 0; any larger one preserves order too
_ABOVE = 1.0 + 2.0**-20  # "just above" a bound, and more than rounding can lose


@dataclass(frozen=True)
class Domain:
    """The quasi-identifiers of a stream, and the space in which tuples are points."""

    recipe: StreamRecipe

    @cached_property
    def attributes(self) -> tuple[StreamAttribute, ...]:
        """The quasi-identifiers."""
        return tuple(registry.for_kind("stream.points", known.kind).of(known) for known in self.recipe.known)

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """Scale factors of each attribute's coordinates."""
        return tuple(float(np.sqrt(self.recipe.weight(name))) for name in self.recipe.quasi)

    @cached_property
    def middle(self) -> NDArray[np.float64]:
        """The middle of the space."""
        return np.concatenate([a.middle * scale for a, scale in zip(self.attributes, self.scales, strict=True)])

    @cached_property
    def space(self) -> Space:
        """The space, known before the first tuple comes."""
        owners = [
            name for name, a in zip(self.recipe.quasi, self.attributes, strict=True) for _ in range(len(a.middle))
        ]
        if len(owners) > MOST:
            many = max(set(owners), key=owners.count)
            raise ParameterError(
                f"StreamRecipe: the quasi-identifiers would take {len(owners):,} coordinates, more than {MOST:,}; "
                f"most are of {many!r}, one for each category and group. Merge categories."
            )
        return Space(tuple(owners), sum(self.recipe.weight(name) for name in self.recipe.quasi))

    @property
    def order_weight(self) -> float:
        """The weight of the position; "keep": just above √(diameter / (2k − 1)), where order is preserved."""
        if self.recipe.order_weight != KEEP:
            return float(self.recipe.order_weight)
        return max(float(np.sqrt(self.space.diameter / (2 * self.recipe.k - 1)) * _ABOVE), _LEAST)

    def place(self, values: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return the coordinates of values of all attributes."""
        parts = zip(self.attributes, values, self.scales, strict=True)
        return np.concatenate([a.place(own) * scale for a, own, scale in parts], axis=1)
