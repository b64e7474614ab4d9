"""Encoding of attributes, and of their missing values, as coordinates on a common scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.arithmetic.class_statistics import class_sums
from shoal.kernels.arithmetic.sums import extent, location_and_spread, orderless_total
from shoal.parameters import Checked, Param
from shoal.points.nominal import Nominal
from shoal.points.numeric import present
from shoal.types import Attribute, Categories, Column, Comparison, Footing, Placed, Points, Resolution, Scale
from shoal.types.protocols import Encoder

_TIE = 1e-12  # a share above half of a class's weight by less counts as half


@dataclass(frozen=True, eq=False)
class Missing:
    """Attribute of one coordinate with some missing values.

    A missing value is put at the mean of the others. If `apart`, it is a value of its own, also at distance 1 from all
    others along a coordinate of its own.

    >>> from shoal.points.numeric import Numeric
    >>> pay = Missing.encode("pay", pa.chunked_array([[10.0, None, 30.0]]), Numeric.encode, apart=True)
    >>> pay.place(lambda values: Footing(0.0, 10.0, 0)).coordinates.tolist()
    [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> pay.centroid(np.zeros(3, np.int64), None, resolution=None).to_pylist()
    [20.0, 20.0, 20.0]
    """

    name: str
    inner: Attribute  #: the attribute of the values present
    absent: NDArray[np.bool_] = field(repr=False)
    apart: bool

    @classmethod
    def encode(
        cls, name: str, column: pa.ChunkedArray, encode: Callable[[str, pa.ChunkedArray], Attribute], *, apart: bool
    ) -> Missing:
        """Encode a column with at least one value, given the encoder of the values present."""
        absent = np.asarray(column.is_null().to_numpy())
        return cls(name, encode(name, column.drop_null()), absent, apart)

    def place(self, scale: Scale) -> Placed:
        """Return the coordinate of the values and, if `apart`, that of being missing."""
        inside = self.inner.place(scale)
        coordinates = np.empty((len(self.absent), 1 + self.apart))
        coordinates[~self.absent, :1] = inside.coordinates
        coordinates[self.absent, 0] = _mean(inside.coordinates)
        if self.apart:
            coordinates[:, 1] = self.absent
        return Placed(coordinates, (*inside.footings, Footing(0.0, 1.0, 0))[: 1 + self.apart])

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinates of another column, in which other values may be missing."""
        absent = np.asarray(column.is_null().to_numpy())
        coordinates = np.empty((len(absent), 1 + self.apart))
        there = Placed(placed.coordinates[~self.absent, :1], placed.footings[:1])
        if not absent.all():
            coordinates[~absent, :1] = self.inner.like(column.drop_null(), there)
        coordinates[absent, 0] = _mean(there.coordinates)
        if self.apart:
            coordinates[:, 1] = absent
        return coordinates

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return the resolution of the values present."""
        return self.inner.resolution(declared)

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
    ) -> pa.Array:
        """Return the centroid of the values present; missing if most are missing and apart, or if all are."""
        classes = int(labels.max()) + 1
        share = np.ones(len(labels)) if weights is None else weights
        share = np.where(class_sums(share, labels, classes)[labels] > 0, share, 1.0)  # all 0: equal weights
        lacking = class_sums(share * self.absent, labels, classes)
        there = np.bincount(labels[~self.absent], minlength=classes)
        empty = there == 0
        if self.apart:
            empty |= lacking > class_sums(share, labels, classes) * (0.5 + _TIE)
        known, compact = np.unique(labels[~self.absent], return_inverse=True)
        known_weights = None if weights is None else weights[~self.absent]
        inside = self.inner.centroid(compact, known_weights, resolution=resolution, categories=categories)
        first = np.zeros(classes, np.int64)
        first[known] = np.unique(compact, return_index=True)[1]  # one record of each class
        return inside.take(pa.array(first[labels], mask=empty[labels]))


def with_missing(
    name: str, cells: pa.ChunkedArray, encode: Callable[[str, pa.ChunkedArray], Attribute], missing: str
) -> Attribute:
    """Encode cells of which some may be missing, given the encoder of the values present."""
    return Missing.encode(name, cells, encode, apart=missing == "category") if cells.null_count else encode(name, cells)


def _mean(coordinates: NDArray[np.float64]) -> float:
    return orderless_total(coordinates[:, 0]) / len(coordinates)


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
        placed = [_weighted(a.place(_SCALES[self.scale]), (weights or {}).get(a.name, 1.0)) for a in attributes]
        return Points(
            np.ascontiguousarray(np.column_stack([one.coordinates for one in placed])),
            tuple(a.name for a, one in zip(attributes, placed, strict=True) for _ in one.footings),
            tuple(attributes),
            tuple(footing for one in placed for footing in one.footings),
        )


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
