"""Attributes side by side: scaled to a common footing, so that none counts more for its unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardise import extent, location_and_spread, place
from shoal.parameters import Checked, Param
from shoal.types import Attribute, Comparison, Footing, Points

_Scale = Callable[[NDArray[np.float64]], tuple[float, float, int]]
_SCALES: dict[str, _Scale] = {
    "standard": location_and_spread,
    "range": extent,
    "none": lambda values: (0.0, 1.0, 0),
}


@dataclass(frozen=True)
class Encoding(Checked):
    """How attributes become coordinates.

    The literature's figures are for ``standard``: mean 0 and *population* standard deviation 1. A constant
    attribute has no spread and does not count.
    """

    scale: Annotated[
        Literal["standard", "range", "none"],
        Param("Scale of a coordinate: standard deviation 1, range 1, or the column's own unit."),
    ] = "standard"

    def encode(self, attributes: Sequence[Attribute]) -> Points:
        """Put every record at a point."""
        footings = [Footing(*_SCALES[self.scale](a.values)) for a in attributes]
        columns = [place(a.values, f.location, f.spread, f.exponent) for a, f in zip(attributes, footings, strict=True)]
        return Points(
            np.ascontiguousarray(np.column_stack(columns)),
            tuple(a.name for a in attributes),
            tuple(attributes),
            tuple(footings),
        )


def compare(attributes: Sequence[Attribute], masked: Sequence[NDArray[np.float64]]) -> Comparison:
    """Standardise the original, and the masked values by the original's mean and deviation."""
    original, other = [], []
    for attribute, values in zip(attributes, masked, strict=True):
        footing = location_and_spread(attribute.values)
        if footing[1] == 0.0:  # a constant attribute: any change counts in the column's own unit
            footing = (footing[0], np.ldexp(1.0, -footing[2]), footing[2])
        original.append(place(attribute.values, *footing))
        other.append(place(values, *footing))
    return Comparison(
        np.column_stack(original), np.column_stack(other), tuple(attribute.name for attribute in attributes)
    )
