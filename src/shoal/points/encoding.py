"""Encoding of attributes as coordinates on a common scale, so that no attribute dominates by its unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.arithmetic.sums import extent
from shoal.kernels.runtime.jit import each
from shoal.parameters import Checked, Param
from shoal.points._degrees import pair_footings
from shoal.points._pieces import placed_table, standard
from shoal.points.numeric import Numeric, present
from shoal.types import (
    Attribute,
    CodedAttribute,
    CodedColumn,
    Column,
    Footing,
    Placed,
    PlacedAttribute,
    Points,
    Scale,
    stacked,
)
from shoal.types.protocols import Encoder

Part = NDArray[np.float64] | tuple[CodedColumn, float]  #: coordinates of an attribute, or its codes and weight

_SCALES: dict[str, Scale] = {
    "standard": standard,
    "range": lambda values: Footing(*extent(values)),
    "none": lambda values: Footing(0.0, 1.0, 0),
}


@dataclass(frozen=True)
class Encoding(Checked):
    """Encoding of attributes as coordinates.

    The literature's figures are for ``standard``: mean 0 and *population* standard deviation 1. A constant attribute
    has no spread and does not count. Categories without an order have no unit and are not scaled: they are 0 to 1
    apart. Beside them, numbers of deviation 1 weigh so much that categories are lost; ``auto`` therefore scales to
    range 1 where a table has both, and to deviation 1 where it has no such categories (docs/scaling.md).
    """

    scale: Annotated[
        Literal["auto", "standard", "range", "none"],
        Param("Scale of numbers: deviation 1, range 1, or own unit; auto: range with nominal columns, else deviation."),
    ] = "auto"

    def scale_for(self, attributes: Sequence[Attribute]) -> str:
        """Return the scale of these attributes: it follows from their kinds, never from their values."""
        if self.scale != "auto":
            return self.scale
        return "range" if any(isinstance(attribute, CodedAttribute) for attribute in attributes) else "standard"

    def encode(
        self,
        attributes: Sequence[Attribute],
        weights: Mapping[str, float] | None = None,
        pairs: Sequence[tuple[str, ...]] = (),
    ) -> Points:
        """Put every record at a point; squared distances in an attribute are multiplied by its weight.

        Each of `pairs`, latitude and longitude, is one attribute of two dimensions on one scale.
        """
        if not weights and not pairs and all(isinstance(one, Numeric) for one in attributes):
            return self._of_numbers([one for one in attributes if isinstance(one, Numeric)])
        parts: list[Part] = []
        owners: list[str] = []
        footings: list[Footing] = []
        scale = _SCALES[self.scale_for(attributes)]
        degrees = pair_footings(attributes, pairs, self.scale_for(attributes)) if pairs else {}
        for attribute in attributes:
            weight = (weights or {}).get(attribute.name, 1.0)
            if isinstance(attribute, CodedAttribute):
                column = attribute.coded()
                parts.append((column, weight))
                new = [Footing(0.0, 1.0 / float(np.sqrt(weight)) if weight else 0.0, 0)] * column.edges
            else:
                own = degrees.get(attribute.name)
                placed = _weighted(placing(attribute).place(scale if own is None else partial(_fixed, own)), weight)
                parts.append(placed.coordinates)
                new = list(placed.footings)
            owners += [attribute.name] * len(new)
            footings += new
        return Points(stacked(parts), tuple(owners), tuple(attributes), tuple(footings))

    def _of_numbers(self, attributes: Sequence[Numeric]) -> Points:
        """Put records of numbers at points, as `encode` does, without memory for each column on its own."""
        columns = [one.values for one in attributes]
        footings = each(_SCALES[self.scale_for(attributes)], columns)
        names = tuple(one.name for one in attributes)
        return Points(placed_table(columns, footings), names, tuple(attributes), tuple(footings))


def placing(attribute: Attribute) -> PlacedAttribute:
    """Return an attribute that is not coded."""
    assert isinstance(attribute, PlacedAttribute)  # it is not coded
    return attribute


def _fixed(footing: Footing, values: NDArray[np.float64]) -> Footing:
    """Return a scaling that was found from several columns."""
    return footing


def _weighted(placed: Placed, weight: float) -> Placed:
    if weight == 1.0:
        return placed
    root = float(np.sqrt(weight))
    footings = (Footing(f.location, f.spread / root if root else 0.0, f.exponent) for f in placed.footings)
    return Placed(placed.coordinates * root, tuple(footings))


def attribute_of(
    column: Column, cells: pa.ChunkedArray, encoder: type[Encoder], missing: str, leaves: pa.DataType | None = None
) -> Attribute:
    """Return the attribute of a column by the encoder that claims its kind.

    Parameters
    ----------
    column
        Name, role and kind of the column.
    cells
        Its values.
    encoder
        A class of `points/`.
    missing
        How to treat missing values: ``category``, a value of their own; ``fill``, the value of their class; ``refuse``.
    leaves
        The type in which the column is released, if `cells` were put in the order of the column.
    """
    if missing == "refuse":
        present(column.name, cells)
    if len(cells) and cells.null_count == len(cells):
        raise DataError(f"Column {column.name!r}: every value is missing. Give it another role, or leave it out.")
    return encoder.of(column, cells, missing, leaves)
