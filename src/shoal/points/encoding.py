"""Attributes side by side: scaled to a common footing, so that none counts more for its unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.arithmetic.class_means import class_sums
from shoal.kernels.arithmetic.standardise import extent, location_and_spread
from shoal.kernels.arithmetic.total import orderless_total
from shoal.parameters import Checked, Param
from shoal.points.nominal import Nominal
from shoal.points.numeric import finite, present
from shoal.types import Attribute, Categories, Column, Comparison, Footing, Kind, Placed, Points, Resolution, Scale

_TIE = 1e-12  # what is above half of a class's weight by less is half of it


@dataclass(frozen=True, eq=False)
class Missing:
    """An attribute of one coordinate, some of whose values are missing.

    A missing value is put at the mean of the others. If it is `apart`, a value of its own, it is also 1 away from all
    of them, along a coordinate of its own.

    >>> from shoal.points.numeric import Numeric
    >>> pay = Missing.encode("pay", pa.chunked_array([[10.0, None, 30.0]]), Numeric.encode, apart=True)
    >>> pay.place(lambda values: Footing(0.0, 10.0, 0)).coordinates.tolist()
    [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> pay.centroid(np.zeros(3, np.int64), None, resolution=None).to_pylist()
    [20.0, 20.0, 20.0]
    """

    name: str
    inner: Any  #: the attribute of the values that are there
    absent: NDArray[np.bool_] = field(repr=False)
    apart: bool

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray, encode: Callable[..., Any], *, apart: bool) -> Missing:
        """Take a column of which at least one value is there, and what encodes those that are."""
        absent = np.asarray(column.is_null().to_numpy())
        return cls(name, encode(name, column.drop_null()), absent, apart)

    def place(self, scale: Scale) -> Placed:
        """Return the coordinate of the values, and where they are apart, of being missing."""
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
        """Return that of the values that are there."""
        found: Resolution = self.inner.resolution(declared)
        return found

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
    ) -> pa.Array:
        """Return the centroid of the values that are there; none where most are missing and apart, or all are."""
        classes = int(labels.max()) + 1
        share = np.ones(len(labels)) if weights is None else weights
        share = np.where(class_sums(share, labels, classes)[labels] > 0, share, 1.0)  # all 0: they count the same
        lacking = class_sums(share * self.absent, labels, classes)
        there = np.bincount(labels[~self.absent], minlength=classes)
        empty = there == 0
        if self.apart:
            empty |= lacking > class_sums(share, labels, classes) * (0.5 + _TIE)
        known, compact = np.unique(labels[~self.absent], return_inverse=True)
        known_weights = None if weights is None else weights[~self.absent]
        inside = self.inner.centroid(compact, known_weights, resolution=resolution, categories=categories)
        first = np.zeros(classes, np.int64)
        first[known] = np.unique(compact, return_index=True)[1]  # a record of each class
        return inside.take(pa.array(first[labels], mask=empty[labels]))


def _mean(coordinates: NDArray[np.float64]) -> float:
    return orderless_total(coordinates[:, 0]) / len(coordinates)


_SCALES: dict[str, Scale] = {
    "standard": lambda values: Footing(*location_and_spread(values)),
    "range": lambda values: Footing(*extent(values)),
    "none": lambda values: Footing(0.0, 1.0, 0),
}


@dataclass(frozen=True)
class Encoding(Checked):
    """How attributes become coordinates.

    The literature's figures are for ``standard``: mean 0 and *population* standard deviation 1. A constant
    attribute has no spread and does not count. What has no unit, such as categories, is not scaled.
    """

    scale: Annotated[
        Literal["standard", "range", "none"],
        Param("Scale of a coordinate: standard deviation 1, range 1, or the column's own unit."),
    ] = "standard"

    def encode(self, attributes: Sequence[Attribute], weights: Mapping[str, float] | None = None) -> Points:
        """Put every record at a point; squared distances in an attribute count as many times as its weight says."""
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
    """Standardise the original, and the masked columns by the original's mean and deviation.

    `exact` are the columns that rounding changed, as they were before it.
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
    """Return an attribute that has a place for what only the masked column holds: missing values, other categories."""
    if isinstance(attribute, Nominal):
        return attribute.with_room(masked)
    if not masked.null_count or isinstance(attribute, Missing):
        return attribute
    return Missing(attribute.name, attribute, np.zeros(len(masked), np.bool_), apart=True)


def standard_or_unit(values: NDArray[np.float64]) -> Footing:
    """Return the footing on which tables are compared: standard deviation 1, or the column's unit if it is constant."""
    location, spread, exponent = location_and_spread(values)
    if spread == 0.0:  # a constant attribute: any change counts in the column's own unit
        spread = float(np.ldexp(1.0, -exponent))
    return Footing(location, spread, exponent)


def attribute_of(
    column: Column, cells: pa.ChunkedArray, encoder: Any, missing: str, leaves: pa.DataType | None = None
) -> Attribute:
    """Return the attribute of a column by the encoder that claims its kind.

    Parameters
    ----------
    column
        What the column means.
    cells
        Its values.
    encoder
        A class of `points/`.
    missing
        What a missing value is: ``category``, a value of its own; ``fill``, whatever its class has; ``refuse``.
    leaves
        The type that the column leaves in, if `cells` were put in the order of the column.
    """
    if missing == "refuse":
        present(column.name, cells)
    if len(cells) and cells.null_count == len(cells):
        raise DataError(f"Column {column.name!r}: every value is missing. Give it another role, or leave it out.")
    if getattr(encoder, "tells_apart", False):
        return encoder.encode(column, cells, missing)  # type: ignore[no-any-return]
    encode = partial(encoder.encode, leaves=leaves) if column.order else encoder.encode
    if not cells.null_count:
        return encode(column.name, cells)  # type: ignore[no-any-return]
    if column.kind is Kind.CONTINUOUS:  # while rows have their own numbers
        finite(column.name, pc.fill_null(cells.cast(pa.float64(), safe=False), 0.0).to_numpy())
    return Missing.encode(column.name, cells, encode, apart=missing == "category")
