"""Python values from drivers and workbooks → Arrow columns, each with values of one kind."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import types

from shoal import progress
from shoal.errors import DataError, data_rows, listing

_WORDS: dict[type, str] = {
    bool: "truth values",
    int: "integers",
    float: "numbers",
    Decimal: "decimals",
    str: "texts",
    dt.date: "dates",
    dt.datetime: "times",
    dt.time: "times of day",
    dt.timedelta: "durations",
    bytes: "bytes",
}


def column(owner: object, name: str, values: Sequence[Any], declared: pa.DataType | None = None) -> pa.Array:
    """Return values in the declared type, or in their own type if they do not fit it.

    Raises
    ------
    DataError
        If values are of several kinds: names the column, the kinds and the rows of the rarest, never a value.

    >>> column("people.xlsx", "age", [31, None, 44.5]).to_pylist()
    [31.0, None, 44.5]
    """
    kinds = Counter(map(type, values))
    kinds.pop(type(None), None)
    if not kinds:
        return pa.nulls(len(values), declared or pa.string())
    if declared is not None:
        found = _as_declared(values, set(kinds), declared)
        if found is not None:
            return found
    return _as_found(owner, name, values, kinds)


def _as_declared(values: Sequence[Any], kinds: set[type], declared: pa.DataType) -> pa.Array | None:
    """Return the values in a declared type, if all fit it without loss."""
    read: Any = None  # converts a value that is stored in another type
    if types.is_boolean(declared) and kinds == {int}:
        read = {0: False, 1: True}.__getitem__
    elif types.is_date(declared) and kinds == {str}:
        read = _date
    elif types.is_timestamp(declared) and kinds == {str}:
        read = partial(_moment, zoned=declared.tz is not None)
    elif types.is_time(declared) and kinds == {str}:
        read = dt.time.fromisoformat
    elif types.is_decimal(declared) and kinds <= {int, float, str}:
        read = Decimal if kinds == {str} else lambda value: _quantised(value, declared.scale)
    elif types.is_temporal(declared) and int in kinds:
        return None  # seconds with a custom meaning, which Arrow would take for days
    elif kinds == {dt.datetime} and not _all_zoned(values, bool(getattr(declared, "tz", None))):
        return None
    try:
        return pa.array(values if read is None else [None if v is None else read(v) for v in values], declared)
    except (pa.ArrowException, ValueError, KeyError, TypeError, OverflowError, InvalidOperation):
        return None


def _date(text: str) -> dt.date:
    if len(text) != 10:
        raise ValueError("more than a date")
    return dt.date.fromisoformat(text)


def _moment(text: str, *, zoned: bool) -> dt.datetime:
    """Parse a timestamp; refuse more than six decimals, which Python would cut off."""
    found = dt.datetime.fromisoformat(text)
    if (found.tzinfo is not None) != zoned or len(text.partition(".")[2].partition("+")[0].rstrip("Z")) > 6:
        raise ValueError("another kind of date or time")
    return found


def _quantised(value: float | str, scale: int) -> Decimal:
    """Return the decimal that a number was written as: the shortest digits that parse to it."""
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-scale))


def _all_zoned(values: Sequence[Any], zoned: bool) -> bool:
    return all((value.tzinfo is not None) == zoned for value in values if value is not None)


def _as_found(owner: object, name: str, values: Sequence[Any], kinds: Counter[type]) -> pa.Array:
    """Return the values in their own type."""
    held = set(kinds)
    if held == {int, float}:
        if all(value is None or float(value) == value for value in values):  # Arrow does not check beyond 2⁵³
            values = [value if value is None else float(value) for value in values]
        return pa.array(values, pa.float64())
    if held == {Decimal, int} or (held == {int} and any(not -(2**63) <= (v or 0) < 2**63 for v in values)):
        return _decimals(owner, name, [None if v is None else Decimal(v) for v in values])
    if held == {Decimal}:
        return _decimals(owner, name, values)
    if held == {dt.datetime}:
        zoned = next(v.tzinfo is not None for v in values if v is not None)
        if not _all_zoned(values, zoned):
            raise DataError(
                f"{owner}: column {name!r} mixes times with and without a time zone. Write all of them one way."
            )
        return pa.array(values, pa.timestamp("us", "UTC" if zoned else None))
    if len(held) == 1 and held <= set(_WORDS):
        return pa.array(values)
    if not held & set(_WORDS):  # lists, records, addresses, …
        kind = ", ".join(sorted(kind.__name__ for kind in held))
        progress.say(f"Column {name!r} holds values of the type {kind}, which are read as text.")
        return pa.array([None if v is None else _as_text(v) for v in values], pa.string())
    raise DataError(_mixed(owner, name, values, kinds))


def _decimals(owner: object, name: str, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except pa.ArrowException:
        raise DataError(
            f"{owner}: column {name!r} holds numbers that are not finite, or of more than 76 digits. Remove them, or "
            "cast the column in a query."
        ) from None


def _as_text(value: Any) -> str:
    return json.dumps(value, default=str) if isinstance(value, (dict, list, tuple)) else str(value)


def _mixed(owner: object, name: str, values: Sequence[Any], kinds: Counter[type]) -> str:
    words = [f"{_WORDS.get(kind, 'others')} ({count:,})" for kind, count in kinds.most_common()]
    rarest = min(kinds, key=lambda kind: kinds[kind])
    rows = [row for row, value in enumerate(values) if type(value) is rarest]
    return (
        f"{owner}: column {name!r} must hold values of one kind, got {listing(words)}; the last in {data_rows(rows)}. "
        "Make them one kind."
    )
