"""Numbers, continuous and integer: one scaled coordinate; the centroid is the mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError, data_rows
from shoal.kernels.arithmetic.class_statistics import class_means, class_means_of_integers
from shoal.points._digits import decimal_counts, exact_decimal_counts, integers_to_step, own_step, step_for, to_step
from shoal.points._middle import middle_weights
from shoal.points._missing import with_missing
from shoal.points._pieces import placed_table
from shoal.types import Attribute, Categories, Column, Footing, Kind, Placed, Resolution, Scale, Step, in_one_piece
from shoal.types.protocols import Encoder


@dataclass(frozen=True, eq=False)
class Numeric(Encoder):
    """Numeric attribute of the points.

    >>> age = Numeric.encode("age", pa.chunked_array([[30, 41]]))
    >>> age.centroid(np.array([0, 0]), None, resolution=age.resolution(None)).to_pylist()
    [36, 36]
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)

    name: str
    values: NDArray[np.float64] = field(repr=False)
    column: pa.ChunkedArray = field(repr=False)
    _last: list[Any] = field(default_factory=list, init=False, repr=False)  # labels, weights, trim and class means

    @classmethod
    def of(cls, column: Column, cells: pa.ChunkedArray, missing: str, leaves: pa.DataType | None = None) -> Attribute:
        """Encode a column; the row of a number that is not finite is reported, while every row has its own number."""
        if column.kind is Kind.CONTINUOUS and cells.null_count:
            finite(column.name, pc.fill_null(cells.cast(pa.float64(), safe=False), 0.0).to_numpy())
        return with_missing(column.name, cells, cls.encode, missing)

    @classmethod
    def encode(cls, name: str, column: pa.ChunkedArray) -> Numeric:
        """Encode a column of numbers; refuse missing values, NaN and infinities, with their row numbers."""
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise SchemaError(f"Column {name!r}: must hold numbers, got {kind}. Give it another kind or role.")
        present(name, column)
        values = in_one_piece(column.cast(pa.float64(), safe=False)).to_numpy(zero_copy_only=False)
        finite(name, values)
        return cls(name, values, column)

    def place(self, scale: Scale) -> Placed:
        """Return one coordinate."""
        return placed(self.values, scale(self.values))

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinate of another column of numbers."""
        return coordinate(self.encode(self.name, column).values, placed.footings[0])

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return the declared step, or the decimals of the column's cells; integers are whole numbers."""
        return step_for(self.name, declared, self._own_step) if declared is not None else self._own_step

    @property
    def _own_step(self) -> Step | None:
        if pa.types.is_integer(self.column.type):
            return Step(1, 0)
        return self.step_of(self.decimals)

    def step_of(self, decimals: NDArray[np.int64]) -> Step | None:
        """Return the step of a column of this type, given how many values need 0, 1, … decimals."""
        return own_step(decimals, len(decimals)) if pa.types.is_decimal(self.column.type) else own_step(decimals)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """Return the number of values that need 0, 1, … decimals; those of parts of a column add up."""
        if pa.types.is_decimal(self.column.type):
            return exact_decimal_counts(self.column)
        short = pa.types.is_float32(self.column.type) or pa.types.is_float16(self.column.type)
        return decimal_counts(_shortest(self.column) if short else self.values)

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
        trim: float = 0.0,
    ) -> pa.Array:
        """Return for each record the (weighted) mean of its class: in the column's type, or exact as float64."""
        kind = self.column.type
        if not isinstance(resolution, Step):
            return pa.array(self._means(labels, weights, trim)).take(pa.array(labels))
        if pa.types.is_integer(kind) and kind != pa.uint64():
            integers = self.column.cast(pa.int64()).combine_chunks().to_numpy()
            whole = class_means_of_integers(
                integers, labels, middle_weights(integers, labels, weights, trim) if trim else weights
            )
            return pa.array(integers_to_step(whole, resolution, kind)[labels]).cast(kind)
        means = self._means(labels, weights, trim)
        if pa.types.is_floating(kind):
            return self.decode(means, resolution=resolution).take(pa.array(labels))
        return self._beyond_floats(means, labels, resolution).take(pa.array(labels))

    def exact_means(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None) -> pa.DictionaryArray:
        """Return for each record the (weighted) mean of its class, with the mean of each class in memory once."""
        return pa.DictionaryArray.from_arrays(pa.array(labels), pa.array(self._means(labels, weights, 0.0)))

    def _means(
        self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None, trim: float
    ) -> NDArray[np.float64]:
        """Return the class means; the last ones are kept, because a release needs them rounded and exact."""
        if not self._last or self._last[0] is not labels or self._last[1] is not weights or self._last[2] != trim:
            means = class_means(
                self.values, labels, middle_weights(self.values, labels, weights, trim) if trim else weights
            )
            self._last[:] = labels, weights, trim, means
        found: NDArray[np.float64] = self._last[3]
        return found

    def _beyond_floats(self, means: NDArray[np.float64], labels: NDArray[np.int64], step: Step) -> pa.Array:
        """Return means in a type with more digits than a float: between members, where these fit the step."""
        table = pa.table({"class": labels, "value": self.column})
        ends = table.group_by("class").aggregate([("value", "min"), ("value", "max")]).sort_by("class")
        lows, highs = (ends[name].to_pylist() for name in ("value_min", "value_max"))
        found = []
        with localcontext(prec=400):
            for mean, low, high in zip(means.tolist(), lows, highs, strict=True):
                near = (Decimal(mean) / step.number).quantize(Decimal(1)) * step.number
                fits = low % step.number == 0 and high % step.number == 0
                found.append(type(low)(min(max(near, low), high)) if fits else near)
        if pa.types.is_integer(self.column.type):
            return pa.array([min(max(int(value), 0), 2**64 - 1) for value in found], self.column.type)
        return pa.array([_within(value, self.column.type) for value in found], self.column.type)

    def decode(self, values: NDArray[np.float64], *, resolution: Resolution) -> pa.Array:
        """Return numbers in the column's type, clipped to its range. Exact: as float64."""
        kind = self.column.type
        if not isinstance(resolution, Step):
            return pa.array(values)
        if pa.types.is_decimal(kind):
            with localcontext(prec=400):
                near = [
                    (Decimal(v) / resolution.number).quantize(Decimal(1)) * resolution.number for v in values.tolist()
                ]
            return pa.array([_within(value, kind) for value in near], kind)
        rounded = to_step(values, resolution)
        if pa.types.is_floating(kind):
            most = float(np.finfo(kind.to_pandas_dtype()).max)
            return pa.array(np.clip(rounded, -most, most)).cast(kind, safe=False)
        ends, high = np.iinfo(kind.to_pandas_dtype()), float(np.iinfo(kind.to_pandas_dtype()).max)
        high = float(np.nextafter(high, 0)) if int(high) > ends.max else high  # no float is 2⁶⁴ − 1; 2⁶⁴ is too large
        return pa.array(np.clip(np.rint(rounded), float(ends.min), high).astype(ends.dtype))


def _shortest(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return floats of fewer bits as the numbers given by their shortest digits: 0.1, not 0.10000000149."""
    return np.asarray(column.cast(pa.float32()).cast(pa.string()).cast(pa.float64()).to_numpy())


def _within(value: Decimal, kind: pa.DataType) -> Decimal:
    """Return the number of a decimal type that is nearest to a value."""
    least = Decimal(1).scaleb(-kind.scale)
    with localcontext(prec=400):
        most = Decimal(10) ** (kind.precision - kind.scale) - least
        found: Decimal = min(max(value.quantize(least), -most), most)
    return found


def coordinate(values: NDArray[np.float64], footing: Footing) -> NDArray[np.float64]:
    """Scale values to one coordinate of each record."""
    return placed_table([values], [footing])


def placed(values: NDArray[np.float64], footing: Footing) -> Placed:
    """Scale values, and return the scaling with them."""
    return Placed(coordinate(values, footing), (footing,))


def finite(name: str, values: NDArray[np.float64]) -> None:
    """Refuse NaN and infinities, with their row numbers."""
    odd = np.flatnonzero(~np.isfinite(values)).tolist()
    if odd:
        raise DataError(
            f"Column {name!r}: values must be finite; {len(odd):,} of {len(values):,} are NaN or infinite, "
            f"in {data_rows(odd)}. Correct or remove these rows."
        )


def present(name: str, column: pa.ChunkedArray) -> None:
    """Refuse missing values, with their row numbers."""
    if column.null_count:
        flags = pc.is_null(column).combine_chunks().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(flags).tolist()
        raise DataError(
            f"Column {name!r}: values must not be missing; {len(rows):,} of {len(column):,} are, "
            f"in {data_rows(rows)}. Fill or remove these rows."
        )
