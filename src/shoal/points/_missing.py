"""Missing values of an attribute, encoded next to the attribute itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.kernels.arithmetic.class_statistics import class_sums
from shoal.kernels.arithmetic.sums import orderless_total
from shoal.types import Categories, Footing, Placed, PlacedAttribute, Resolution, Scale

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
    inner: PlacedAttribute  #: the attribute of the values present
    absent: NDArray[np.bool_] = field(repr=False)
    apart: bool

    @classmethod
    def encode(
        cls,
        name: str,
        column: pa.ChunkedArray,
        encode: Callable[[str, pa.ChunkedArray], PlacedAttribute],
        *,
        apart: bool,
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
        trim: float = 0.0,
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
        inside = self.inner.centroid(compact, known_weights, resolution=resolution, categories=categories, trim=trim)
        first = np.zeros(classes, np.int64)
        first[known] = np.unique(compact, return_index=True)[1]  # one record of each class
        return inside.take(pa.array(first[labels], mask=empty[labels]))


def with_missing(
    name: str, cells: pa.ChunkedArray, encode: Callable[[str, pa.ChunkedArray], PlacedAttribute], missing: str
) -> PlacedAttribute:
    """Encode cells, some of them possibly missing, with the given encoder for the values that are present."""
    return Missing.encode(name, cells, encode, apart=missing == "category") if cells.null_count else encode(name, cells)


def _mean(coordinates: NDArray[np.float64]) -> float:
    return orderless_total(coordinates[:, 0]) / len(coordinates)
