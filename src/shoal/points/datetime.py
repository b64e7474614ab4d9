"""Dates and times: one scaled coordinate of elapsed time; the centroid is the mean moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.kernels.arithmetic.class_statistics import class_means_of_integers
from shoal.points._digits import own_unit_of, to_unit, unit_counts, unit_for
from shoal.points._middle import middle_weights
from shoal.points._missing import with_missing
from shoal.points.numeric import coordinate, placed, present
from shoal.types import Attribute, Categories, Column, Kind, Placed, Resolution, Scale
from shoal.types.protocols import Encoder

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, eq=False)
class Datetime(Encoder):
    """Attribute of dates or times, counted in days, or in the ticks of its type."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.DATETIME,)

    name: str
    ticks: NDArray[np.int64] = field(repr=False)
    type: pa.DataType

    @classmethod
    def of(cls, column: Column, cells: pa.ChunkedArray, missing: str, leaves: pa.DataType | None = None) -> Attribute:
        """Encode a column that may have missing values."""
        return with_missing(column.name, cells, cls.encode, missing)

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray) -> Datetime:
        """Encode a column of dates or timestamps; refuse missing values, with their row numbers."""
        _of_moments(name, column.type)
        present(name, column)
        if pa.types.is_date(column.type):
            ticks = column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        else:
            ticks = column.cast(pa.int64())
        return cls(name, ticks.combine_chunks().to_numpy(), column.type)

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the time elapsed since the first moment of the column, in ticks."""
        return self._elapsed(self.ticks)

    def place(self, scale: Scale) -> Placed:
        """Return one coordinate of elapsed time."""
        return placed(self.values, scale(self.values))

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinate of the dates or times of another column."""
        _of_moments(self.name, column.type)
        elapsed = self._elapsed(self.encode(self.name, column.cast(self.type, safe=False)).ticks)
        return coordinate(elapsed, placed.footings[0])

    def _elapsed(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        if not len(ticks):  # a control without records
            return np.empty(0)
        origin = int(self.ticks.min())
        if max(abs(int(ticks.max()) - origin), abs(int(ticks.min()) - origin)) < 2**63:
            return np.asarray(ticks - origin, np.float64)
        return ticks.astype(np.float64) - float(origin)  # centuries of nanoseconds: exact to the microsecond

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return the declared unit, or the coarsest, from days to ticks, that nearly all values are multiples of."""
        counts = unit_counts(self.ticks, self.per_second)
        return unit_for(self.name, declared, own_unit_of(counts, len(self.ticks)))

    @property
    def per_second(self) -> int | None:
        """Return the number of ticks per second; None: a tick is a day."""
        return _TICKS[self.type.unit] if hasattr(self.type, "unit") and not _dated(self.type) else None

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
        trim: float = 0.0,
    ) -> pa.Array:
        """Return for each record the mean date or time of its class, to the nearest tick or in whole units."""
        means = class_means_of_integers(
            self.ticks, labels, middle_weights(self.ticks, labels, weights, trim) if trim else weights
        )
        return self._column(self._rounded(means, resolution)[labels])

    def _rounded(self, ticks: NDArray[np.int64], resolution: Resolution) -> NDArray[np.int64]:
        return ticks if resolution is None else to_unit(ticks, str(resolution), self.per_second)

    def decode(self, values: NDArray[np.float64], *, resolution: Resolution) -> pa.Array:
        """Convert ticks since the first moment of the column to dates or times, to the nearest tick.

        Values before the year 1 or after 9999, which files cannot hold, are moved to these years unless the column
        itself goes beyond them.
        """
        origin, last = int(self.ticks.min()), int(self.ticks.max())
        low, high = min(self._tick("0001-01-01"), origin), max(self._tick("9999-12-31"), last)
        moments = [min(max(origin + int(elapsed), low), high) for elapsed in np.rint(values)]  # may exceed 64 bits
        return self._column(self._rounded(np.array(moments, np.int64), resolution))

    def _tick(self, day: str) -> int:
        """Return the first tick of a day, or the end of the 64-bit range."""
        days, per_second = int(np.datetime64(day, "D").astype(np.int64)), self.per_second
        tick = days if per_second is None else days * 86_400 * per_second
        return min(max(tick, -(2**63) + 1), 2**63 - 1)

    def _column(self, ticks: NDArray[np.int64]) -> pa.Array:
        moments = pa.array(ticks)
        if pa.types.is_date(self.type):
            return moments.cast(pa.int32()).cast(pa.date32()).cast(self.type)
        return moments.cast(self.type)


def _of_moments(name: str, kind: pa.DataType) -> None:
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise SchemaError(f"Column {name!r}: must hold dates or times, got {kind}. Give it another kind or role.")


def _dated(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind))
