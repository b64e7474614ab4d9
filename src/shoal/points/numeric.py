"""Numbers, continuous and integer: one scaled coordinate; the centroid is the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, data_rows
from shoal.kernels.class_means import class_means
from shoal.types import Kind

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Numeric:
    """A numeric attribute of the points.

    >>> import pyarrow as pa
    >>> Numeric.encode("age", pa.chunked_array([[30, 40]])).values.tolist()
    [30.0, 40.0]
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)

    name: str
    values: NDArray[np.float64]
    type: pa.DataType

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray) -> Numeric:
        """Take a column of numbers; missing values, NaN and infinities are refused with their row numbers."""
        import pyarrow as pa

        present(name, column)
        values = column.cast(pa.float64(), safe=False).combine_chunks().to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(~np.isfinite(values)).tolist()
        if odd:
            raise DataError(
                f"Column {name!r}: values must be finite, {len(odd):,} of {len(column):,} are NaN or infinite, "
                f"in {data_rows(odd)}. Correct or remove these rows."
            )
        return cls(name, values, column.type)

    def like(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the values of another column of numbers."""
        return self.encode(self.name, column).values

    def centroid(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None, *, whole: bool) -> pa.Array:
        """Return for each record the (weighted) mean of its class, in the column's type where that can hold it."""
        import pyarrow as pa

        means = class_means(self.values, labels, weights)
        if pa.types.is_integer(self.type) and not whole:
            return pa.array(means[labels])
        if pa.types.is_integer(self.type):
            return _whole(means, self.type).take(pa.array(labels))
        if pa.types.is_decimal(self.type):
            exact = pa.array(means).cast(pa.decimal128(38, self.type.scale), safe=False)
            return exact.cast(self.type).take(pa.array(labels))
        return pa.array(means).cast(self.type, safe=False).take(pa.array(labels))


def _whole(means: NDArray[np.float64], kind: pa.DataType) -> pa.Array:
    """Round means to integers of a type; a mean of values of the type lies in its range, its float may not."""
    import pyarrow as pa

    info = np.iinfo(kind.to_pandas_dtype())
    return pa.array([min(max(round(mean), int(info.min)), int(info.max)) for mean in means.tolist()], kind)


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
