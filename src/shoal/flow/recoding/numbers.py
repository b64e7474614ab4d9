"""Recoded numbers: limits, and middles of intervals, in exact arithmetic."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.recipe.recodes import Recode
from shoal.types import Column, Kind

_NEAR, _TINY = 1e-9, 1e-300  # relative distance at which doubles are certainly in the right order, and of zeros


def change_of_numbers(column: Column, how: Recode, kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Return the change of numbers of a type, in exact arithmetic.

    Numbers that certainly become the same are computed once, and those that certainly stay are not computed at all.
    """
    change_one, (low, high) = change_of_number(column, how, kind), how.limits
    every = how.interval is not None or bool(how.breaks)
    limits = {_exact(one) for one in (low, high) if one is not None}

    def one(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            ends = (low, high, how.bottom_as, how.top_as)
            return _as_type(beyond, value) if (beyond := _of_infinity(value, *ends)) is not None else value
        x = _exact(value)
        y = change_one(x)
        rewritten = isinstance(value, float) and (every or y in limits)  # so that 0.0 and -0.0 become one value
        stays = y == x and not rewritten
        return value if stays else _as_type(y, value)

    def change(distinct: pa.Array) -> pa.Array:
        values = _by_digits(distinct)
        places = _same_result(np.asarray(values.cast(pa.float64(), safe=False), np.float64), how)
        chosen, place = np.unique(places, return_inverse=True)
        try:
            found = pa.array([one(value) for value in values.take(pa.array(np.maximum(chosen, 0))).to_pylist()], kind)
            return pc.if_else(pa.array(places < 0), distinct, found.take(pa.array(place)))
        except (pa.ArrowException, OverflowError):  # its message may contain a cell value
            raise SchemaError(
                f"Column {column.name!r}: a recoded value does not fit into its type {kind}. Choose other limits or "
                "intervals, or a wider type."
            ) from None

    return change


def _same_result(x: NDArray[np.float64], how: Recode) -> NDArray[np.int64]:
    """Return for each number the index of one that certainly becomes the same value; −1: it certainly stays.

    A number next to a limit, or to the end of an interval, may fall on either side of it, so it gets its own index.
    Only doubles are compared here: "next to" means within more than their rounding error.

    >>> _same_result(np.array([7.0, 1.0, 9.5, 2.0, 8.0]), Recode(top=8)).tolist()
    [-1, -1, 2, -1, 4]
    >>> _same_result(np.array([7.0, 1.0, 9.5, 2.0, 5.0]), Recode(interval=5)).tolist()
    [0, 1, 0, 1, 4]
    """
    cuts = np.array([_double(one) for one in how.breaks or how.limits if one is not None], np.float64)
    between, certain = np.searchsorted(cuts, x), np.isfinite(x)
    low, high = (-np.inf if how.limits[0] is None else cuts[0]), (np.inf if how.limits[1] is None else cuts[-1])
    inside, steps = (x > low) & (x < high), np.zeros(len(x))
    with np.errstate(all="ignore"):
        for cut in cuts:
            certain &= np.abs(x - cut) > _NEAR * (np.abs(x) + _TINY)
        if how.interval is not None:
            exact = x / _double(how.interval)
            steps = np.where(inside, np.floor(exact), 0.0)
            certain &= ~inside | (np.abs(exact - np.rint(exact)) > _NEAR * (np.abs(steps) + 1.0))
    found = np.arange(len(x))
    first, own = np.unique((steps * (len(cuts) + 1) + between)[certain], return_index=True, return_inverse=True)[1:]
    found[certain] = np.flatnonzero(certain)[first[own]]
    if how.interval is None and not how.breaks:
        found[certain & inside] = -1
    return found


def _double(number: Any) -> float:
    """Return the double that is nearest to a number; infinite if it is beyond all."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def change_of_number(column: Column, how: Recode, kind: pa.DataType) -> Callable[[Fraction], Fraction]:
    """Return the change of one number of a column, which has values of a type."""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise SchemaError(f"Column {column.name!r}: must hold numbers, got {kind}. Give it another kind.")
    unit = _unit(column, kind)
    texts = [limit for limit in (*how.limits, how.top_as, how.bottom_as, *how.breaks) if isinstance(limit, str)]
    if texts or isinstance(how.interval, str):
        raise SchemaError(
            f"Column {column.name!r}: holds numbers, so its recode must have numbers, got dates, names or units of "
            "dates."
        )
    low, high = (None if limit is None else _exact(limit) for limit in how.limits)
    ends = _Ends(low, high, *(None if at is None else _exact(at) for at in (how.bottom_as, how.top_as)))
    if unit is not None and (odd := [one for one in ends.released if one % unit]):
        raise SchemaError(
            f"Column {column.name!r}: limits must be values that the column can hold, {len(odd)} of its recode "
            f"{'is' if len(odd) == 1 else 'are'} not a multiple of {float(unit):g}. Round it."
        )
    breaks = [_exact(one) for one in how.breaks]
    width = None if how.interval is None else _exact(how.interval)

    def change(x: Fraction) -> Fraction:
        if (y := ends.beyond(x)) is not None:
            return y
        return x if width is None and not breaks else ends.cut(_Interval.around(x, width, breaks)).middle(unit)

    return change


def _of_infinity(value: float, low: Any, high: Any, low_as: Any, high_as: Any) -> Fraction | None:
    """Return the value in place of an infinity; None if it stays, because no limit lies before it."""
    limit, instead = (high, high_as) if value > 0 else (low, low_as)
    if math.isnan(value) or limit is None:
        return None
    return _exact(limit if instead is None else instead)


def _by_digits(distinct: pa.Array) -> pa.Array:
    """Return floats of fewer bits as the numbers given by their shortest digits: 0.1, not 0.10000000149."""
    short = pa.types.is_float32(distinct.type) or pa.types.is_float16(distinct.type)
    return distinct.cast(pa.float32()).cast(pa.string()).cast(pa.float64()) if short else distinct


@dataclass(frozen=True)
class _Ends:
    """Limits of values, and the values in place of those beyond."""

    low: Fraction | None
    high: Fraction | None
    low_as: Fraction | None
    high_as: Fraction | None

    @property
    def released(self) -> list[Fraction]:
        """The values that are released for those beyond a limit."""
        return [one for one in (self.below, self.above) if one is not None]

    @property
    def below(self) -> Fraction | None:
        """The value in place of those below the lower limit."""
        return self.low if self.low_as is None else self.low_as

    @property
    def above(self) -> Fraction | None:
        """The value in place of those above the upper limit."""
        return self.high if self.high_as is None else self.high_as

    def beyond(self, x: Fraction) -> Fraction | None:
        """Return the value in place of one beyond the limits; None if it is within."""
        if self.low is not None and x < self.low:
            return self.below
        return self.above if self.high is not None and x > self.high else None

    def cut(self, interval: _Interval) -> _Interval:
        """Return the part of an interval within the limits."""
        low, high, closed = interval
        low = low if self.low is None else max(low, self.low)
        return (
            _Interval(low, high, closed) if self.high is None or high <= self.high else _Interval(low, self.high, True)
        )


class _Interval(NamedTuple):
    """An interval; its lower end belongs to it."""

    low: Fraction
    high: Fraction
    closed: bool  #: whether its upper end belongs to it

    @classmethod
    def around(cls, x: Fraction, width: Fraction | None, breaks: Sequence[Fraction]) -> _Interval:
        """Return the interval of a value within the limits; the last one between breaks is closed."""
        if width is not None:
            low = math.floor(x / width) * width
            return cls(low, low + width, closed=False)
        at = min(bisect_right(breaks, x), len(breaks) - 1)
        return cls(breaks[at - 1], breaks[at], at == len(breaks) - 1)

    def middle(self, unit: Fraction | None) -> Fraction:
        """Return the middle; of multiples of a unit the lower of two."""
        if unit is None:
            return (self.low + self.high) / 2
        last = math.floor(self.high / unit) if self.closed else math.ceil(self.high / unit) - 1
        return (math.ceil(self.low / unit) + last) // 2 * unit


def _unit(column: Column, kind: pa.DataType) -> Fraction | None:
    """Return the number that all values of a column are multiples of; None: any number can be a value."""
    if column.kind is Kind.INTEGER or pa.types.is_integer(kind):
        return Fraction(1)
    return Fraction(1, 10**kind.scale) if pa.types.is_decimal(kind) else None


def _exact(number: Any) -> Fraction:
    """Return a number as its digits say: 0.1 is a tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _as_type(number: Fraction, like: Any) -> Any:
    if isinstance(like, Decimal):
        return Decimal(number.numerator) / Decimal(number.denominator)
    return float(number) if isinstance(like, float) else int(number)
