"""Ordered categories: one scaled coordinate of ranks; the centroid is the median."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.kernels.arithmetic.class_statistics import medians
from shoal.points._digits import no_resolution
from shoal.points._missing import with_missing
from shoal.points.codes import as_column
from shoal.points.numeric import coordinate, placed, present
from shoal.types import Attribute, Categories, Column, Kind, Placed, Resolution, Scale
from shoal.types.protocols import Encoder


@dataclass(frozen=True, eq=False)
class Ordinal(Encoder):
    """Attribute of ordered categories; distances are those of their ranks among all categories.

    >>> cells = pa.DictionaryArray.from_arrays(pa.array([0, 2, 2, 1]), ["low", "middle", "high"], ordered=True)
    >>> size = Ordinal.encode("size", pa.chunked_array([cells]))
    >>> size.values.tolist()
    [0.0, 2.0, 2.0, 1.0]
    >>> size.centroid(np.array([0, 0, 0, 0]), None, resolution=None).to_pylist()
    ['middle', 'middle', 'middle', 'middle']
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.ORDINAL,)

    name: str
    values: NDArray[np.float64] = field(repr=False)
    categories: pa.Array = field(repr=False)  #: in their order
    type: pa.DataType

    @classmethod
    def of(cls, column: Column, cells: pa.ChunkedArray, missing: str, leaves: pa.DataType | None = None) -> Attribute:
        """Encode a column that may have missing values; with an order, it is released in its own type."""
        return with_missing(column.name, cells, partial(cls.encode, leaves=leaves if column.order else None), missing)

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray, leaves: pa.DataType | None = None) -> Ordinal:
        """Encode ordered categories, or numbers that represent some; refuse missing values.

        They are released in the column's type, or in another that can hold all categories.
        """
        present(name, column)
        categories = _categories(name, column)
        ranks = _ranks(name, column, categories)
        if leaves is not None:
            categories = _leaving(name, categories, leaves.value_type if pa.types.is_dictionary(leaves) else leaves)
        return cls(name, ranks, categories, leaves or column.type)

    def place(self, scale: Scale) -> Placed:
        """Return one coordinate of ranks."""
        return placed(self.values, scale(self.values))

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinate of the ranks of another column, whose categories must be among these."""
        return coordinate(_ranks(self.name, column, self.categories), placed.footings[0])

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return None: categories are not rounded."""
        return no_resolution(self.name, declared)

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
        trim: float = 0.0,
    ) -> pa.Array:
        """Return for each record the (weighted) median of its class; the lower of two, so that it is a category."""
        return self.decode(medians(self.values, labels, weights)[labels], resolution=resolution)

    def decode(self, values: NDArray[np.float64], *, resolution: Resolution) -> pa.Array:
        """Convert ranks to the nearest categories."""
        places = np.clip(np.rint(values), 0, len(self.categories) - 1).astype(np.int64)
        return as_column(places, self.categories, self.type)


def _categories(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return all categories in their order."""
    if pa.types.is_dictionary(column.type) and column.type.ordered:
        return column.unify_dictionaries().chunk(0).dictionary if column.num_chunks else pa.array([])
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return column.unique().sort()
    raise SchemaError(
        f"Column {name!r}: the order of an ordinal column must be known, but type {column.type} has no order. Give "
        "its categories in order (orders in a recipe), an ordered categorical, or numbers."
    )


def _leaving(name: str, categories: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert the names of an order to values of the column's own type."""
    try:
        return categories.cast(kind)
    except pa.ArrowException:  # its message may contain a name
        raise SchemaError(
            f"Column {name!r}: every category of its order must be a value of type {kind}, the column's type; not "
            f"all of {len(categories):,} are. Remove the others from the order."
        ) from None


def _ranks(name: str, column: pa.ChunkedArray, categories: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type) and not pa.types.is_floating(categories.type):  # 1.5 is not one of these
        categories = categories.cast(column.type)
    places = pc.index_in(column.cast(categories.type), value_set=categories).combine_chunks()
    if places.null_count > column.null_count:
        strange = places.null_count - column.null_count
        raise DataError(
            f"Column {name!r}: every value must be one of its {len(categories):,} ordered categories; {strange:,} of "
            f"{len(column):,} records have others. Add them to the order."
        )
    return np.asarray(places.to_numpy(zero_copy_only=False), np.float64)
