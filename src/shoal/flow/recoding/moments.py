"""Recoded dates and times: limits, and middles of periods, in ticks of their type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError, listing
from shoal.recipe.recodes import Limit, Recode, moment_of
from shoal.types import Column

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST = 2**63 - 1
_PERIODS = {"year": "Y", "month": "M", "day": "D", "hour": "h", "minute": "m", "second": "s"}


def change_of_moments(column: Column, how: Recode, kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Return the change of dates or times of a type, in ticks of the type: days, or fractions of a second."""
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise SchemaError(f"Column {column.name!r}: must hold dates or times, got {kind}. Give it another kind.")
    low, high = (None if limit is None else _within(_tick(column, kind, limit)) for limit in how.limits)
    low_as, high_as = (
        None if value is None else _fitting(column, kind, value) for value in (how.bottom_as, how.top_as)
    )
    breaks = np.array([_fitting(column, kind, one) for one in how.breaks], np.int64)
    if how.interval is not None and not isinstance(how.interval, str):
        raise SchemaError(
            f"Column {column.name!r}: holds dates, so the interval of its recode must be one of "
            f"{listing(list(_PERIODS))}, got a number. For longer ones give breaks."
        )

    def change(distinct: pa.Array) -> pa.Array:
        ticks = _ticks(column, distinct)
        found = ticks
        if how.interval is not None or how.breaks:
            first, last = (
                _period(column, ticks, str(how.interval), kind) if how.interval is not None else _between(ticks, breaks)
            )
            first = first if low is None else np.maximum(first, low)
            last = last if high is None else np.minimum(last, high)
            found = (first & last) + ((first ^ last) >> 1)  # the lower middle, without overflow
        if low is not None:
            found = np.where(ticks < low, low if low_as is None else low_as, found)
        if high is not None:
            found = np.where(ticks > high, high if high_as is None else high_as, found)
        return _from_ticks(found, kind)

    return change


def _ticks(column: Column, moments: pa.Array) -> NDArray[np.int64]:
    if pa.types.is_date(moments.type):
        try:
            days = moments.cast(pa.date32())
        except pa.ArrowInvalid:  # its message contains a cell value
            raise DataError(
                f"Column {column.name!r}: {moments.type} must hold whole days, got others. Cast it to a timestamp."
            ) from None
        return np.asarray(days.cast(pa.int32()).cast(pa.int64()).to_numpy(), np.int64)
    return np.asarray(moments.cast(pa.int64()).to_numpy(), np.int64)


def _from_ticks(ticks: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    if pa.types.is_date(kind):
        return pa.array(ticks).cast(pa.int32()).cast(pa.date32()).cast(kind)
    return pa.array(ticks).cast(kind)


def _tick(column: Column, kind: pa.DataType, limit: Limit) -> int:
    """Return a declared date or time in ticks of a type; without a time zone it is in UTC."""
    moment = moment_of(limit) if isinstance(limit, str) else None
    if moment is None:
        raise SchemaError(f"Column {column.name!r}: holds dates, so its recode must have dates, got others.")
    moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    if pa.types.is_date(kind):
        return moment.date().toordinal() - 719_163  # days from 1 January 1970
    return int(np.datetime64(moment, "us").astype(np.int64)) * _PER_SECOND[kind.unit] // 10**6


def _within(tick: int) -> int:
    """Return a limit, or the nearest that 64 bits hold: no value is beyond either."""
    return max(-_MOST, min(_MOST, tick))


def _fitting(column: Column, kind: pa.DataType, value: Limit) -> int:
    """Return a declared date or time that may be released, in ticks of a type; refuse one that does not fit."""
    tick = _tick(column, kind, value)
    if _within(tick) != tick:
        raise SchemaError(
            f"Column {column.name!r}: a date of its recode does not fit into its type {kind}. Choose a nearer one, or "
            "a coarser type."
        )
    return tick


def _period(
    column: Column, ticks: NDArray[np.int64], unit: str, kind: pa.DataType
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last tick of the year, month … that each tick is in."""
    own = "D" if pa.types.is_date(kind) else kind.unit
    whole = ticks.astype(f"M8[{own}]").astype(f"M8[{_PERIODS[unit]}]")
    first, after = (one.astype(f"M8[{own}]").astype(np.int64) for one in (whole, whole + 1))
    if (after < first).any():
        raise SchemaError(
            f"Column {column.name!r}: a {unit} of its recode does not fit into its type {kind}. Choose a shorter "
            "interval, or a coarser type."
        )
    return first, np.maximum(after - 1, first)  # a day has no hours


def _between(ticks: NDArray[np.int64], breaks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last tick of the interval that each tick is in; the last one is closed."""
    at = np.clip(np.searchsorted(breaks, ticks, side="right"), 1, len(breaks) - 1)
    return breaks[at - 1], np.where(at == len(breaks) - 1, breaks[at], breaks[at] - 1)
