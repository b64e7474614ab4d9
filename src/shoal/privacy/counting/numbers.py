"""Numbers in audits: confidential values as integers where possible, and levels of findings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.privacy.counting.classes import Classes
from shoal.privacy.counting.values import Values, normal
from shoal.types import Column, Kind, Release

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EXACT = 2.0**61  # differences of two such integers fit 64 bits
_POWERS = (1, 10, 100, 1000, 10**4, 10**5, 10**6)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numeric value of each value, by code. Dates and times are in days.

    Attributes
    ----------
    rough
        As floats, at most one rounding off; NaN where a value is missing or not finite.
    units
        The same as exact integers over `per`; 0 for missing values. None: they are not such integers.
    cells
        The values themselves.
    """

    rough: NDArray[np.float64] = field(repr=False)
    units: NDArray[np.int64] | None = field(repr=False)
    per: int
    cells: pa.Array = field(repr=False)

    @cached_property
    def nowhere(self) -> NDArray[np.bool_]:
        """Tell which values are missing or not finite."""
        return np.isnan(self.rough)

    def exact(self, code: int) -> Fraction:
        """Return the number exactly as the value is written."""
        if self.units is not None:
            return Fraction(int(self.units[code]), self.per)
        value: Any = self.cells[code].as_py()
        if isinstance(value, float):  # the shortest text that reads back as the same float, in its own precision
            value = str(self.cells.type.to_pandas_dtype()(value))
        return Fraction(value) / self.per


def is_numeric(column: Column) -> bool:
    """Tell whether the values of a column are numbers, dates or times."""
    return column.taxonomy is None and column.kind in (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)


def numbers_of(release: Release, confidential: str, values: Values) -> Numbers | None:
    """Return the numbers of a column's values, computed once per release; None if values are not numeric."""
    if not is_numeric(release.schema[confidential]):
        return None
    reference = release.references.get(confidential)
    cache: dict[Any, Any] = release.cache if reference is None else reference.cache
    key = ("numbers", confidential)
    if key not in cache and reference is None:
        cache[key] = _numbers(release.values(confidential), values)
    elif key not in cache and reference is not None:
        cache[key] = _numbers(reference.values, cache["values"])
    found: Numbers = cache[key]
    return found


def _numbers(column: pa.ChunkedArray, values: Values) -> Numbers:
    cells, per = _of_values(column, values), 1
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.int8())
    if pa.types.is_date(cells.type):
        cells = cells.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_temporal(cells.type):
        per = 86_400 * _TICKS[cells.type.unit]
        cells = cells.cast(pa.int64() if cells.type.bit_width == 64 else pa.int32())
    rough = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    rough = rough / per if per > 1 else rough
    if not np.isfinite(rough).all():
        rough = np.where(np.isfinite(rough), rough, np.nan)
    if pa.types.is_integer(cells.type) and float(np.nanmax(np.abs(rough), initial=0.0)) * per < _EXACT:
        return Numbers(rough, cells.cast(pa.int64()).fill_null(0).to_numpy(), per, cells)
    if pa.types.is_floating(cells.type):
        units, per = _decimal(rough, _POWERS if cells.type == pa.float64() else _POWERS[:1])
        return Numbers(rough, units, per, cells)
    return Numbers(rough, None, per, cells)


def _of_values(column: pa.ChunkedArray, values: Values) -> pa.Array:
    """Return one cell for each value."""
    if values.numbers is not None and pa.types.is_floating(column.type) and len(values.numbers) == values.count:
        return pa.array(values.numbers)  # known already, and none is missing
    cells = normal(column).combine_chunks()
    rows = np.empty(values.count, np.int64)
    rows[values.codes] = np.arange(len(values.codes))
    return cells.take(pa.array(rows))


def _decimal(rough: NDArray[np.float64], powers: tuple[int, ...]) -> tuple[NDArray[np.int64] | None, int]:
    """Return numbers as integers over a power of ten, if they are written that way.

    At most one decimal of up to fifteen digits reads as a given float; if there is one, it is how the float is written.
    """
    numbers = np.nan_to_num(rough) if np.isnan(rough).any() else rough  # missing: any number
    few = numbers[:: max(len(numbers) // 100, 1)]
    for per in powers:
        if _units(few, per) is not None and (units := _units(numbers, per)) is not None:
            return units, per
    return None, 1


def _units(numbers: NDArray[np.float64], per: int) -> NDArray[np.int64] | None:
    with np.errstate(over="ignore"):
        units = np.rint(numbers * per if per > 1 else numbers)
    if len(units) and max(units.max(), -units.min()) >= 1e15:
        return None
    return units.astype(np.int64) if np.array_equal(units / per if per > 1 else units, numbers) else None


_WORST = 5


def written(level: float) -> Fraction:
    """Return a level exactly as written: 0.1 is one tenth.

    >>> written(0.1)
    Fraction(1, 10)
    """
    return Fraction(str(level))


def nearest(exact: Fraction) -> float:
    """Return the float nearest to a number ≥ 0; infinity beyond the largest float."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def rounded(exact: Fraction, required: float | None) -> float:
    """Return the float nearest to a level; if the level fails the requirement, so does the float.

    >>> rounded(Fraction(1, 10) + Fraction(1, 10**30), 0.1) > 0.1
    True
    """
    if required is None or exact == written(required):
        return nearest(exact)
    return beside(nearest(exact), exact > written(required), required)


def beside(level: float, above: bool, required: float) -> float:
    """Return a rounded level, moved by one rounding if necessary to stay above, or below, the required level."""
    if level > required if above else level < required:
        return level
    return math.nextafter(float(required), math.inf if above else -math.inf)


def worst(levels: NDArray[np.floating] | NDArray[np.int64], classes: Classes) -> tuple[tuple[int, float], ...]:
    """Return the classes with the lowest levels, by number, the lowest first."""
    numbers = classes.numbers()
    few = min(_WORST, len(levels))
    low = np.flatnonzero(levels == levels.min())
    if len(low) < few:
        low = np.flatnonzero(levels <= np.partition(levels, few - 1)[few - 1])
    elif len(low) > few:
        low = low[np.argpartition(numbers[low], few - 1)[:few]]
    order = low[np.lexsort((numbers[low], levels[low]))][:few]
    return tuple((int(numbers[i]), levels[i].item()) for i in order)


def smallest(levels: NDArray[np.int64]) -> tuple[int, tuple[tuple[int, float], ...]]:
    """Return the lowest level, 0 without classes, and the lowest few by number; classes are in order of first rows.

    >>> smallest(np.array([3, 2, 2]))
    (2, ((1, 2), (2, 2), (0, 3)))
    """
    worst = tuple((int(number), int(levels[number])) for number in np.argsort(levels, kind="stable")[:_WORST])
    return int(worst[0][1]) if worst else 0, worst


def least(rough: NDArray[np.float64], error: NDArray[np.float64] | float, exact: Callable[[int], Fraction]) -> Fraction:
    """Return the exact minimum of some numbers, computing only those exactly that may be it, given their errors.

    `exact` is called with as few positions as possible.
    """
    near = np.flatnonzero(rough - error <= (rough + error).min())
    return min(exact(i) for i in near.tolist())
