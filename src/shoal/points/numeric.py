"""Numbers, continuous and integer: one scaled coordinate; the centroid is the mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError, data_rows
from shoal.kernels.class_means import class_means, class_means_of_integers
from shoal.kernels.standardise import place
from shoal.types import Categories, Footing, Kind, Placed, Scale

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Numeric:
    """A numeric attribute of the points.

    >>> import pyarrow as pa
    >>> Numeric.encode("age", pa.chunked_array([[30, 40]])).values.tolist()
    [30.0, 40.0]
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)

    name: str
    values: NDArray[np.float64] = field(repr=False)
    column: pa.ChunkedArray = field(repr=False)

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray) -> Numeric:
        """Take a column of numbers; missing values, NaN and infinities are refused with their row numbers."""
        import pyarrow as pa

        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise SchemaError(f"Column {name!r}: must be of numbers, is of {kind}. Give it another kind or role.")
        present(name, column)
        values = column.cast(pa.float64(), safe=False).combine_chunks().to_numpy(zero_copy_only=False)
        finite(name, values)
        return cls(name, values, column)

    def place(self, scale: Scale) -> Placed:
        """Return one coordinate."""
        return placed(self.values, scale(self.values))

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinate of another column of numbers."""
        return coordinate(self.encode(self.name, column).values, placed.footings[0])

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        whole: bool,
        categories: Categories = "leaf",
    ) -> pa.Array:
        """Return for each record the (weighted) mean of its class, in the column's type where that can hold it."""
        import pyarrow as pa

        kind = self.column.type
        if pa.types.is_integer(kind) and whole and kind != pa.uint64():
            integers = self.column.cast(pa.int64()).combine_chunks().to_numpy()
            return pa.array(class_means_of_integers(integers, labels, weights)[labels]).cast(kind)
        means = class_means(self.values, labels, weights)
        if pa.types.is_decimal(kind) or (pa.types.is_integer(kind) and whole):
            return self._exact(means, labels).take(pa.array(labels))
        if pa.types.is_integer(kind):
            return pa.array(means[labels])
        return pa.array(means).cast(kind, safe=False).take(pa.array(labels))

    def decode(self, values: NDArray[np.float64], *, whole: bool) -> pa.Array:
        """Return numbers in the column's type where that can hold them; what it cannot is moved to its nearest end."""
        import pyarrow as pa

        kind = self.column.type
        if pa.types.is_decimal(kind):
            step = Decimal(1).scaleb(-kind.scale)
            most = Decimal(10) ** (kind.precision - kind.scale) - step
            with localcontext(prec=400):
                exact = [Decimal(float(value)).quantize(step) for value in values]
            return pa.array([min(max(value, -most), most) for value in exact], kind)
        if pa.types.is_floating(kind):
            most = float(np.finfo(kind.to_pandas_dtype()).max)
            return pa.array(np.clip(values, -most, most)).cast(kind, safe=False)
        if not whole:
            return pa.array(values)
        ends, high = np.iinfo(kind.to_pandas_dtype()), float(np.iinfo(kind.to_pandas_dtype()).max)
        high = float(np.nextafter(high, 0)) if int(high) > ends.max else high  # 2⁶⁴ − 1 is no float, and 2⁶⁴ too much
        return pa.array(np.clip(np.rint(values), float(ends.min), high).astype(ends.dtype))

    def _exact(self, means: NDArray[np.float64], labels: NDArray[np.int64]) -> pa.Array:
        """Return means in a type that holds more digits than a float: between the least and the largest member."""
        import pyarrow as pa

        table = pa.table({"class": labels, "value": self.column})
        ends = table.group_by("class").aggregate([("value", "min"), ("value", "max")]).sort_by("class")
        step = Decimal(1).scaleb(-self.column.type.scale) if pa.types.is_decimal(self.column.type) else Decimal(1)
        found = []
        with localcontext(prec=100):
            for mean, low, high in zip(
                means, ends["value_min"].to_pylist(), ends["value_max"].to_pylist(), strict=True
            ):
                rounded = Decimal(float(mean)).quantize(step)
                found.append(type(low)(min(max(rounded, low), high)))
        return pa.array(found, self.column.type)


def coordinate(values: NDArray[np.float64], footing: Footing) -> NDArray[np.float64]:
    """Return values on a footing, as one coordinate of each record."""
    return place(values, footing.location, footing.spread, footing.exponent)[:, None]


def placed(values: NDArray[np.float64], footing: Footing) -> Placed:
    """Return values on a footing, and the footing."""
    return Placed(coordinate(values, footing), (footing,))


def finite(name: str, values: NDArray[np.float64]) -> None:
    """Refuse NaN and infinities, with their row numbers."""
    odd = np.flatnonzero(~np.isfinite(values)).tolist()
    if odd:
        raise DataError(
            f"Column {name!r}: values must be finite, {len(odd):,} of {len(values):,} are NaN or infinite, "
            f"in {data_rows(odd)}. Correct or remove these rows."
        )


def present(name: str, column: pa.ChunkedArray) -> None:
    """Refuse missing values, with their row numbers."""
    import pyarrow.compute as pc

    if column.null_count:
        flags = pc.is_null(column).combine_chunks().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(flags).tolist()
        raise DataError(
            f"Column {name!r}: values must not be missing, {len(rows):,} of {len(column):,} are, "
            f"in {data_rows(rows)}. Fill or remove these rows."
        )
