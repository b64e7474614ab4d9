"""Values that a recoding allows: within limits, middles of intervals and periods, computed without the recoding."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from shoal.types import called

_EPOCH = datetime(1970, 1, 1)
_CYCLE = 146_097 * 86_400  # seconds of 400 years, after which the calendar repeats
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_SECONDS = dict(zip(_PARTS, (366 * 86_400, 31 * 86_400, 86_400, 3_600, 60, 1), strict=True))


def exact(number: Any) -> Fraction:
    """Return a finite number as its digits say.

    >>> exact(0.1), exact(7)
    (Fraction(1, 10), Fraction(7, 1))
    """
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def tick_of(text: Any, per_second: Fraction) -> Fraction:
    """Return a declared date or time in ticks since 1970, in UTC; of days, the day that it is in.

    >>> tick_of("1970-01-02T12:00:00", Fraction(1, 86400))
    Fraction(1, 1)
    """
    moment = datetime.fromisoformat(text if isinstance(text, str) else text.isoformat())
    moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return Fraction(math.floor(Fraction((moment - _EPOCH) // timedelta(microseconds=1), 10**6) * per_second))


def only_middles(
    values: Iterable[Fraction],
    how: Mapping[str, Any],
    unit: Fraction | None,
    per_second: Fraction | None = None,
) -> bool:
    """Tell whether a recoding can have returned each of these values.

    Parameters
    ----------
    values
        Finite numbers, or dates as ticks.
    how
        The recoding of a recipe, with limits, an interval or breaks.
    unit
        The step before recoding: all values were multiples of it; None: any number.
    per_second
        Ticks of dates in a second; None: values are numbers.

    >>> only_middles([Fraction(2), Fraction(7)], {"interval": 5}, Fraction(1))
    True
    >>> only_middles([Fraction(3)], {"interval": 5}, Fraction(1))
    False
    """
    low, high, below, above = ends_of(how, per_second)
    breaks = [_limit(one, per_second) for one in how.get("breaks", ())]
    instead = (low if below is None else below, high if above is None else above)
    spelt = {way for one in instead if one is not None for way in _spelt(one)}
    for value in values:
        if value in spelt:
            continue
        spans = _spans(value, how.get("interval"), breaks, per_second)
        if spans is None:
            if (low is not None and value < low) or (high is not None and value > high):
                return False
        elif not any(value in _spelt(one) for span in spans for one in _middle(span, low, high, unit)):
            return False
    return True


def within(
    values: Iterable[Fraction],
    how: Mapping[str, Any],
    per_second: Fraction | None = None,
    resolution: Any = None,
    bits: int = 64,
) -> bool:
    """Tell whether aggregates of recoded values lie between the limits, and the values in place of those beyond.

    Those that are rounded to a resolution may lie beyond by as much as rounding moves them. Numbers are aggregated as
    doubles, so that a limit that no double equals is the nearest one; with `bits` of 32, the nearest float of 32 bits.

    >>> within([Fraction(93)], {"top": 90}), within([Fraction(93)], {"top": 90, "top_as": 95})
    (False, True)
    >>> within([Fraction(2**53 + 4)], {"top": 2**53 + 3}), within([Fraction(2**53 + 6)], {"top": 2**53 + 3})
    (True, False)
    """
    low, high, below, above = ends_of(how, per_second)
    replaced = [one for one in (below, above) if one is not None]
    moved = _moved(resolution, per_second)

    def near(ends: Iterable[Fraction]) -> list[Fraction]:
        return list(ends) if per_second is not None else [one for end in ends for one in _nearest(end, bits)]

    least = None if low is None else min(near(one - moved for one in near((low, *replaced))))
    most = None if high is None else max(near(one + moved for one in near((high, *replaced))))
    return all((least is None or value >= least) and (most is None or value <= most) for value in values)


def _nearest(value: Fraction, bits: int) -> list[Fraction]:
    """Return a value, the nearest double, and the nearest float of 32 bits: exactly, and as their shortest digits."""
    found = list(_spelt(value))
    if len(found) == 1:
        return found
    single = Fraction(struct.unpack("f", struct.pack("f", float(value)))[0])
    return [*found[:2], Fraction(float(value)), *((found[2], single) if bits == 32 else ())]


def _moved(resolution: Any, per_second: Fraction | None) -> Fraction:
    """Return the most that rounding to a resolution moves a number or a date."""
    if resolution is None:
        return Fraction(0)
    return exact(resolution) / 2 if per_second is None else _SECONDS[resolution] * per_second


def left_of(order: Sequence[str], how: Mapping[str, Any]) -> set[str]:
    """Return the ordered categories that a recoding leaves: those within limits, and one of each group.

    >>> sorted(left_of(["a", "b", "c", "d"], {"top": "c", "bottom": "b"}))
    ['b', 'c']
    """
    bottom, top = (None if how.get(end) is None else called(how[end]) for end in ("bottom", "top"))
    first = 0 if bottom is None else order.index(bottom)
    after = len(order) if top is None else order.index(top) + 1
    replaced = {
        called(one) for name, some in how.get("groups", {}).items() for one in some if called(one) != called(name)
    }
    return set(order[first:after]) - replaced


def groups_at(paths: Mapping[str, Sequence[str]], level: int) -> tuple[set[str], set[str]]:
    """Return the groups and values that a level of a taxonomy leaves, and the groups above these.

    `paths` has for each value the groups that it is in, from the root down.

    >>> left, above = groups_at({"nurse": ("care", "ward"), "cook": ("food",)}, 1)
    >>> sorted(left), sorted(above)
    (['food', 'ward'], ['care'])
    """
    deepest: dict[tuple[str, ...], int] = {}
    for path in paths.values():
        for depth in range(1, len(path) + 1):
            group = tuple(path[:depth])
            deepest[group] = max(deepest.get(group, 0), len(path) + 1)
    low = {group for group, most in deepest.items() if most - len(group) <= level}
    values = {value for value, path in paths.items() if tuple(path) not in low}
    return values | {group[-1] for group in low if group[:-1] not in low}, {one[-1] for one in deepest.keys() - low}


def ends_of(how: Mapping[str, Any], per_second: Fraction | None) -> tuple[Fraction | None, ...]:
    """Return the lower and upper limit, and the values in place of those below and above; None: not declared."""
    breaks = how.get("breaks", ())
    limits = (breaks[0], breaks[-1]) if breaks else (how.get("bottom"), how.get("top"))
    given = (*limits, how.get("bottom_as"), how.get("top_as"))
    return tuple(None if one is None else _limit(one, per_second) for one in given)


def _limit(given: Any, per_second: Fraction | None) -> Fraction:
    return exact(given) if per_second is None else tick_of(given, per_second)


_Span = tuple[Fraction, Fraction, bool]  # first value, last value, and whether the last belongs to it


def _spans(
    value: Fraction, interval: Any, breaks: list[Fraction], per_second: Fraction | None
) -> Iterator[_Span] | None:
    """Yield the intervals that a rounded middle may come from; None: there are no intervals."""
    if breaks:
        return ((a, b, b == breaks[-1]) for a, b in pairwise(breaks))
    if isinstance(interval, str):
        assert per_second is not None
        return iter([_period(value, interval, per_second)])
    if interval is None:
        return None
    width = exact(interval)
    first = value // width
    return (((first + step) * width, (first + step + 1) * width, False) for step in (-1, 0, 1))


def _period(value: Fraction, unit: str, per_second: Fraction) -> _Span:
    """Return the year, month … that a tick is in; its end belongs to the next."""
    seconds = math.floor(value / per_second)
    moved = _CYCLE if seconds > 0 else 0  # so that the end of the year 9999 can be computed
    moment = _EPOCH + timedelta(seconds=seconds - moved)
    parts = [getattr(moment, part) for part in _PARTS[: _PARTS.index(unit) + 1]]
    begin = datetime(*(parts + [1] * (3 - len(parts))))
    if unit == "year":
        end = begin.replace(year=begin.year + 1)
    elif unit == "month":
        end = (begin + timedelta(days=31)).replace(day=1)
    else:
        end = begin + timedelta(**{f"{unit}s": 1})
    first, after = (Fraction((one - _EPOCH) // timedelta(seconds=1) + moved) * per_second for one in (begin, end))
    return first, max(after, Fraction(math.floor(first) + 1)), False  # a day has no hours


def _middle(span: _Span, low: Fraction | None, high: Fraction | None, unit: Fraction | None) -> Iterator[Fraction]:
    """Yield the middle of the part of an interval within limits; of multiples of a unit the lower of two."""
    begin, end, closed = span
    begin = begin if low is None else max(begin, low)
    if high is not None and high < end:
        end, closed = high, True
    if begin > end:
        return
    if unit is None:
        yield (begin + end) / 2
        return
    first, last = -(-begin // unit), end // unit
    last = last - 1 if last * unit == end and not closed else last
    if first <= last:
        yield (first + (last - first) // 2) * unit


def _spelt(value: Fraction) -> tuple[Fraction, ...]:
    """Return a value exactly, and as the shortest digits of doubles and of floats of 32 bits."""
    try:
        double = float(value)
        single = struct.pack("f", double)
    except OverflowError:
        return (value,)
    digits = (f"{struct.unpack('f', single)[0]:.{size}g}" for size in range(1, 10))
    short = next(one for one in digits if struct.pack("f", float(one)) == single)
    return (value, Fraction(repr(double)), Fraction(short))
