"""Dates and times: one scaled coordinate of elapsed time; the centroid is the mean moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.class_means import class_means_of_integers
from shoal.points.numeric import present
from shoal.types import Kind

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Datetime:
    """An attribute of moments, counted in the ticks of its type (days, seconds … nanoseconds)."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.DATETIME,)

    name: str
    ticks: NDArray[np.int64]
    type: pa.DataType

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray) -> Datetime:
        """Take a column of dates or timestamps; missing values are refused with their row numbers."""
        import pyarrow as pa

        present(name, column)
        stored = pa.int32() if column.type == pa.date32() else pa.int64()
        ticks = column.cast(stored).cast(pa.int64()).combine_chunks().to_numpy()
        return cls(name, ticks, column.type)

    @property
    def values(self) -> NDArray[np.float64]:
        """Elapsed time since the first moment of the column, in ticks."""
        return np.asarray(self.ticks - self.ticks.min(), np.float64)

    def like(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the moments of another column, in ticks since the first moment of this one."""
        other = self.encode(self.name, column.cast(self.type, safe=False))
        return np.asarray(other.ticks - self.ticks.min(), np.float64)

    def centroid(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None, *, whole: bool) -> pa.Array:
        """Return for each record the mean moment of its class, to the nearest tick."""
        import pyarrow as pa

        means = class_means_of_integers(self.ticks, labels, weights)[labels]
        stored = pa.int32() if self.type == pa.date32() else pa.int64()
        return pa.array(means).cast(stored).cast(self.type)
