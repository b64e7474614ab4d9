"""Recoded numbers: limits, and middles of intervals, in exact arithmetic."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.errors import SchemaError
from shoal.recipe.recodes import Recode
from shoal.types import Column, Kind


def change_of_numbers(column: Column, how: Recode, kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Return the change of numbers of a type, in exact arithmetic."""
    change_one, (low, high) = change_of_number(column, how, kind), how.limits

    def one(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            ends = (low, high, how.bottom_as, how.top_as)
            return _as_type(beyond, value) if (beyond := _of_infinity(value, *ends)) is not None else value
        x = _exact(value)
        y = change_one(x)
        return value if y == x else _as_type(y, value)

    def change(distinct: pa.Array) -> pa.Array:
        try:
            return pa.array([one(value) for value in _by_digits(distinct).to_pylist()]).cast(kind)
        except pa.ArrowException:  # its message may contain a cell value
            raise SchemaError(
                f"Column {column.name!r}: a recoded value does not fit into its type {kind}. Choose other limits or "
                "intervals, or a wider type."
            ) from None

    return change


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
