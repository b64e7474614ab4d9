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
from shoal.points.nominal import Nominal
from shoal.points.numeric import present
from shoal.types import (
    Attribute,
    CodedAttribute,
    CodedColumn,
    Column,
    Comparison,
    Footing,
    Placed,
    Points,
    Scale,
    coded,
)
from shoal.types.protocols import Encoder

_SCALES: dict[str, Scale] = {
    "standard": lambda values: Footing(*location_and_spread(values)),
    "range": lambda values: Footing(*extent(values)),
    "none": lambda values: Footing(0.0, 1.0, 0),
}


@dataclass(frozen=True)
class Encoding(Checked):
    """Encoding of attributes as coordinates.

    The literature's figures are for ``standard``: mean 0 and *population* standard deviation 1. A constant attribute
    has no spread and does not count. Attributes without a unit, such as categories, are not scaled.
    """

    scale: Annotated[
        Literal["standard", "range", "none"],
        Param("Scale of a coordinate: standard deviation 1, range 1, or the column's own unit."),
    ] = "standard"

    def encode(self, attributes: Sequence[Attribute], weights: Mapping[str, float] | None = None) -> Points:
        """Put every record at a point; squared distances in an attribute are multiplied by its weight."""
        parts: list[NDArray[np.float64] | tuple[CodedColumn, float]] = []
        owners: list[str] = []
        footings: list[Footing] = []
        for attribute in attributes:
            weight = (weights or {}).get(attribute.name, 1.0)
            if isinstance(attribute, CodedAttribute):
                column = attribute.coded()
                parts.append((column, weight))
                new = [Footing(0.0, 1.0 / float(np.sqrt(weight)) if weight else 0.0, 0)] * column.edges
            else:
                placed = _weighted(attribute.place(_SCALES[self.scale]), weight)
                parts.append(placed.coordinates)
                new = list(placed.footings)
            owners += [attribute.name] * len(new)
            footings += new
        numbers = [part for part in parts if not isinstance(part, tuple)]
        plain = len(numbers) == len(parts)
        x = np.ascontiguousarray(np.column_stack(numbers)) if plain else coded(parts)
        return Points(x, tuple(owners), tuple(attributes), tuple(footings))


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
    original: list[NDArray[np.float64]] = []
    other: list[NDArray[np.float64]] = []
    unrounded: list[NDArray[np.float64]] = []
    for before, column in zip(attributes, masked, strict=True):
        attribute = _with_room(before, column)
        placed = attribute.place(standard_or_unit)
        original.append(placed.coordinates)
        other.append(attribute.like(column, placed))
        given = None if exact is None else exact.get(attribute.name)
        unrounded.append(other[-1] if given is None else attribute.like(given, placed))
    owners = (a.name for a, x in zip(attributes, original, strict=True) for _ in range(x.shape[1]))
    means = None if exact is None else np.column_stack(unrounded)
    return Comparison(np.column_stack(original), np.column_stack(other), tuple(owners), exact=means)


def _with_room(attribute: Attribute, masked: pa.ChunkedArray) -> Attribute:
    """Return an attribute with room for values found only in the masked column: missing values, other categories."""
    if isinstance(attribute, Nominal):
        return attribute.with_room(masked)
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
