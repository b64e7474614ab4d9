"""Digits of a column: how many its cells have, and means rounded to as many."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.kernels.arithmetic.decimals import count_decimals
from shoal.types import UNITS, Resolution, Step

_FIT = 0.99  # share of the non-zero cells: a few noisy floats, such as 0.30000000000000004, do not count
_MOST = 17  # decimals: more than any float has, except tiny ones
_EXACT = 2.0**53  # beyond this all floats are integers
_DAY = 86_400


def own_step(counts: NDArray[np.int64], most: int = _MOST) -> Step | None:
    """Return the fewest decimals that fit 99 % of the non-zero values; None if `most` do not, as for tiny floats.

    `counts` is the result of :func:`decimal_counts` or :func:`exact_decimal_counts`; those of parts add up.

    >>> own_step(decimal_counts(np.array([12.5, 0.25, 0.0]))), own_step(decimal_counts(np.zeros(3)))
    (Step(multiple=1, decimals=2), Step(multiple=1, decimals=0))
    """
    fit = np.cumsum(counts[: most + 1]) >= _FIT * counts.sum()
    return Step(1, int(fit.argmax())) if fit.any() else None


def decimal_counts(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the values that need 0, 1, … 17 decimals, and last those that need more; zeros do not count.

    Where the precision of a float ends before the decimals, fewer are enough.

    >>> decimal_counts(np.array([12.5, 0.25, 0.0, 3.0]))[:4].tolist()
    [1, 1, 1, 0]
    """
    return count_decimals(values, _MOST)


def exact_decimal_counts(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Count the values of a decimal type that need 0, 1, … decimals, up to its scale; zeros do not count.

    >>> exact_decimal_counts(pa.chunked_array([[Decimal("12.50"), Decimal("0.25"), Decimal("0.00")]])).tolist()
    [0, 1, 1]
    """
    there = column.filter(pc.not_equal(column, pa.scalar(Decimal(0), column.type)))
    fitting = [0]
    for decimals in range(max(column.type.scale, 0)):
        all_fit = fitting[-1] == len(there)
        fitting.append(fitting[-1] if all_fit else pc.sum(pc.equal(pc.round(there, decimals), there)).as_py())
    return np.diff([*fitting, len(there)])


def to_step(values: NDArray[np.float64], step: Step) -> NDArray[np.float64]:
    """Return the multiples of a step nearest to the values, halves to even.

    >>> to_step(np.array([0.1 + 0.2, 2.449]), Step(1, 1)).tolist(), to_step(np.array([149.0]), Step(100, 0)).tolist()
    ([0.3, 2.4], [100.0])
    """
    power = 10.0**step.decimals
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * power
        nearest = np.rint(scaled / step.multiple) * step.multiple / power
    fits = np.isfinite(nearest) & (np.abs(scaled) < _EXACT)  # beyond, a float has no digits to drop
    return np.asarray(np.where(fits, nearest, values) + 0.0)


def integers_to_step(values: NDArray[np.int64], step: Step, kind: pa.DataType) -> NDArray[np.int64]:
    """Return the multiples of a step nearest to integers, halves to even, within the range of their type.

    >>> integers_to_step(np.array([149, 150, 250]), Step(100, 0), pa.int64()).tolist()
    [100, 200, 200]
    """
    if step.decimals or step.multiple == 1:  # integers are no finer
        return values
    ends, p = np.iinfo(kind.to_pandas_dtype()), step.multiple
    if p > int(ends.max):
        return np.zeros_like(values)
    quotient = np.floor_divide(values, p)
    over = values - quotient * p
    up = (over > p - over) | ((over == p - over) & (quotient % 2 == 1))
    return np.asarray(np.clip(quotient + up, -(-int(ends.min) // p), int(ends.max) // p) * p)


def step_for(name: str, declared: float | str | None, own: Step | None) -> Step | None:
    """Return the step of a column of numbers: the declared one, or that of its cells."""
    if declared is None:
        return own
    if isinstance(declared, str):
        raise SchemaError(
            f"Column {name!r}: its resolution must be a number, such as 100, got a unit of dates. It is a column of "
            f"numbers: change the resolution, or its kind."
        )
    return Step.of(declared)


def own_unit(ticks: NDArray[np.int64], per_second: int) -> str:
    """Return the coarsest unit, from days to nanoseconds, that nearly all dates or times are multiples of.

    >>> own_unit(np.array([0, 86_400, 2 * 86_400]), 1), own_unit(np.array([60, 7200]), 1)
    ('day', 'minute')
    """
    return own_unit_of(unit_counts(ticks, per_second), len(ticks))


def unit_counts(ticks: NDArray[np.int64], per_second: int | None) -> dict[str, int]:
    """Return how many dates or times are multiples of each unit, the coarsest first; those of parts add up."""
    if per_second is None:  # a tick is a day
        return {"day": len(ticks)}
    return {unit: int(np.count_nonzero(ticks % length == 0)) for unit, length in _lengths(per_second).items()}


def own_unit_of(counts: Mapping[str, int], count: int) -> str:
    """Return the coarsest unit that nearly all of `count` dates or times are multiples of."""
    return next((unit for unit, fitting in counts.items() if fitting >= _FIT * count), next(reversed(dict(counts))))


def to_unit(ticks: NDArray[np.int64], unit: str, per_second: int | None) -> NDArray[np.int64]:
    """Round dates or times to units: the first day of their month or year, or the nearest multiple of the unit.

    `per_second` is the number of ticks per second; None: a tick is a day.
    """
    if unit in ("year", "month"):
        days = np.floor_divide(ticks, _DAY * per_second) if per_second else ticks
        first = days.astype("datetime64[D]").astype(f"datetime64[{unit[0].upper()}]").astype("datetime64[D]")
        return np.asarray(first.astype(np.int64) * (_DAY * per_second if per_second else 1))
    length = _lengths(per_second).get(unit, 1) if per_second else 1
    down = np.floor_divide(ticks, length) * length
    up = (ticks - down >= length - (ticks - down)) & (down <= np.iinfo(np.int64).max - length)
    return np.asarray(down + np.where(up, length, 0) if length > 1 else ticks)


def _lengths(per_second: int) -> dict[str, int]:
    """Return the number of ticks of each unit that is a whole number of ticks."""
    seconds = {"day": _DAY, "hour": 3_600, "minute": 60, "second": 1}
    parts = {"millisecond": 1_000, "microsecond": 1_000_000, "nanosecond": 1_000_000_000}
    found = {unit: length * per_second for unit, length in seconds.items()}
    return found | {unit: per_second // part for unit, part in parts.items() if per_second >= part}


def unit_for(name: str, declared: float | str | None, own: str) -> str:
    """Return the unit of a column of dates or times: the declared one, or that of its cells."""
    if declared is None:
        return own
    if declared not in UNITS:
        raise SchemaError(
            f"Column {name!r}: its resolution must be a unit such as 'month' or 'day', got a number. It is a column of "
            f"dates: change the resolution, or its kind."
        )
    return str(declared)


def no_resolution(name: str, declared: float | str | None) -> Resolution:
    """Refuse a resolution declared for categories."""
    if declared is not None:
        raise SchemaError(
            f"Column {name!r}: a resolution is for numbers and dates, this is a column of categories. Remove it from "
            f"resolution."
        )
    return None
