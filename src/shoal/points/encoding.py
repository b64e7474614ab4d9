"""Encoding of attributes as coordinates on a common scale, so that no attribute dominates by its unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.arithmetic.sums import extent, location_and_spread
from shoal.parameters import Checked, Param
from shoal.points._missing import Missing
from shoal.points.numeric import present
from shoal.types import (
    Attribute,
    CodedAttribute,
    CodedColumn,
    Column,
    Comparison,
    Footing,
    Placed,
    PlacedAttribute,
    Points,
    Scale,
    stacked,
)
from shoal.types.protocols import Encoder

_Part = NDArray[np.float64] | tuple[CodedColumn, float]  # coordinates of an attribute, or its codes and weight

_SCALES: dict[str, Scale] = {
    "standard": lambda values: Footing(*location_and_spread(values)),
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
        Param("Scale of numbers: deviation 1, range 1, own unit; auto: range beside categories, else deviation."),
    ] = "auto"

    def scale_for(self, attributes: Sequence[Attribute]) -> str:
        """Return the scale of these attributes: it follows from their kinds, never from their values."""
        if self.scale != "auto":
            return self.scale
        return "range" if any(isinstance(attribute, CodedAttribute) for attribute in attributes) else "standard"

    def encode(self, attributes: Sequence[Attribute], weights: Mapping[str, float] | None = None) -> Points:
        """Put every record at a point; squared distances in an attribute are multiplied by its weight."""
        parts: list[_Part] = []
        owners: list[str] = []
        footings: list[Footing] = []
        scale = _SCALES[self.scale_for(attributes)]
        for attribute in attributes:
            weight = (weights or {}).get(attribute.name, 1.0)
            if isinstance(attribute, CodedAttribute):
                column = attribute.coded()
                parts.append((column, weight))
                new = [Footing(0.0, 1.0 / float(np.sqrt(weight)) if weight else 0.0, 0)] * column.edges
            else:
                placed = _weighted(_placing(attribute).place(scale), weight)
                parts.append(placed.coordinates)
                new = list(placed.footings)
            owners += [attribute.name] * len(new)
            footings += new
        return Points(stacked(parts), tuple(owners), tuple(attributes), tuple(footings))


def _placing(attribute: Attribute) -> PlacedAttribute:
    assert isinstance(attribute, PlacedAttribute)  # it is not coded
    return attribute


def _weighted(placed: Placed, weight: float) -> Placed:
    if weight == 1.0:
        return placed
    root = float(np.sqrt(weight))
    footings = (Footing(f.location, f.spread / root if root else 0.0, f.exponent) for f in placed.footings)
    return Placed(placed.coordinates * root, tuple(footings))


def compare(
    attributes: Sequence[Attribute],
    masked: Sequence[pa.ChunkedArray],
    exact: Mapping[str, pa.ChunkedArray] | None = None,
) -> Comparison:
    """Standardise the original columns, and the masked ones by the original's mean and deviation.

    `exact` are the columns that rounding changed, before rounding.
    """
    before: list[_Part] = []
    after: list[_Part] = []
    unrounded: list[_Part] = []
    owners: list[str] = []
    for attribute, column in zip(attributes, masked, strict=True):
        own = column if exact is None else exact.get(attribute.name, column)
        columns = [column] if own is column else [column, own]
        if isinstance(attribute, CodedAttribute):
            one, codes = attribute.beside(columns)
            before.append((one, 1.0))
            others: list[_Part] = [(one._replace(codes=its), 1.0) for its in codes]
            owners.append(attribute.name)
        else:
            with_room = _with_room(_placing(attribute), column)
            placed = with_room.place(standard_or_unit)
            before.append(placed.coordinates)
            others = [with_room.like(one, placed) for one in columns]
            owners += [attribute.name] * placed.coordinates.shape[1]
        after.append(others[0])
        unrounded.append(others[-1])
    means = None if exact is None else stacked(unrounded)
    return Comparison(stacked(before), stacked(after), tuple(owners), exact=means)


def _with_room(attribute: PlacedAttribute, masked: pa.ChunkedArray) -> PlacedAttribute:
    """Return an attribute with room for missing values, if only the masked column has some."""
    if not masked.null_count or isinstance(attribute, Missing):
        return attribute
    return Missing(attribute.name, attribute, np.zeros(len(masked), np.bool_), apart=True)


def standard_or_unit(values: NDArray[np.float64]) -> Footing:
    """Return the scaling for comparing tables: standard deviation 1, or the column's unit if it is constant."""
    location, spread, exponent = location_and_spread(values)
    if spread == 0.0:  # a constant attribute: any change counts in the column's own unit
        spread = float(np.ldexp(1.0, -exponent))
    return Footing(location, spread, exponent)


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
