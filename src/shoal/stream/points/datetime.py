"""Dates and times: one coordinate from 0 to 1 between the bounds; the centroid is the mean."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.class_statistics import class_means_of_integers
from shoal.stream.points._cells import Between, each, listed
from shoal.types import Kind
from shoal.types.stream import Known, Taken

_EPOCH = dt.datetime(1970, 1, 1)
_TICK = dt.timedelta(microseconds=1)
_DAY, _SECOND = 86_400_000_000, 1_000_000
_UNITS = {"day": _DAY, "hour": 3600 * _SECOND, "minute": 60 * _SECOND, "second": _SECOND}
_CALENDAR = {"year": "datetime64[Y]", "month": "datetime64[M]"}


@dataclass(frozen=True)
class Datetime(Between):
    """A datetime attribute, counted in microseconds.

    The bounds determine the output format: dates if both bounds are dates; otherwise with the time, to the second
    unless a bound has fractions, and in UTC if the bounds have a zone. Values must have a zone exactly if the bounds
    have one. A resolution makes them coarser: `day`, `hour`, `minute` and `second` round to the nearest one within the
    bounds, `year` and `month` to the first day of the mean's year or month, which may be before the lower bound.

    >>> seen = Datetime.of(Known("seen", Kind.DATETIME, "2024-01-01", "2024-12-31"))
    >>> taken = seen.take(["2024-03-01", "2024-03-03", "2023-01-01", "soon"])
    >>> seen.plain(seen.centroid(taken.values[:2], np.array([2]))), taken.clamped.tolist()[2], taken.faults[0][0]
    (['2024-03-02'], True, 3)
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.DATETIME,)

    unit: int  #: rounding unit, in microseconds
    zoned: bool
    dates: bool = False  #: whether dates are released, without a time
    calendar: str = ""  #: year or month, if values are moved to its first day

    @classmethod
    def of(cls, known: Known) -> Datetime:
        """Make the attribute from its declaration; invalid bounds were refused before."""
        ends = [end for end in (moment(known.low), moment(known.high)) if end is not None]
        low, high = (_ticks(end) for end in ends)
        dates = all(is_date(end) for end in (known.low, known.high))
        unit = _DAY if dates else _SECOND if low % _SECOND == high % _SECOND == 0 else 1
        said = str(known.resolution or "")
        unit = max(unit, _UNITS.get(said, unit))
        calendar = said if said in _CALENDAR else ""
        return cls(known.name, low, high, unit, ends[0].tzinfo is not None, dates, calendar)

    @property
    def ends(self) -> tuple[int, int]:
        """The earliest and latest releasable value, before any move to the first day of a month or year."""
        return -(-self.low // self.unit) * self.unit, self.high // self.unit * self.unit

    def fits(self, cell: Any) -> bool:
        """Return False: there is no quick check for datetimes."""
        return False

    def take(self, cells: Any) -> Taken:
        """Parse datetimes: ISO 8601 text, or Python dates and times."""

        def read(cell: Any) -> int | None:
            found = moment(cell)
            try:
                return _ticks(found) if found is not None and (found.tzinfo is not None) is self.zoned else None
            except OverflowError:  # a zone that leads out of the years 1 to 9999
                return None

        zone = "with" if self.zoned else "without"
        sentence = f"must be a date or time in ISO 8601, {zone} a zone, got something else. Correct the record."
        values, faults = each(self.name, listed(cells), read, sentence)
        ticks = np.array([self.low if value is None else value for value in values], np.int64)
        return Taken(np.clip(ticks, self.low, self.high), (ticks < self.low) | (ticks > self.high), faults)

    def centroid(self, values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the mean of each class, to the nearest unit, or the first day of its month or year."""
        if not len(sizes):
            return np.empty(0, np.int64)
        found = class_means_of_integers(values, np.repeat(np.arange(len(sizes)), sizes))
        if self.calendar:
            first = found.astype("datetime64[us]").astype(_CALENDAR[self.calendar])
            return np.asarray(first.astype("datetime64[us]").astype(np.int64))
        down, rest = found // self.unit, 2 * (found % self.unit)
        up = (rest > self.unit) | ((rest == self.unit) & (down % 2 == 1))  # halves to even
        return np.asarray(np.clip((down + up) * self.unit, *self.ends))

    def plain(self, values: NDArray[Any]) -> list[Any]:
        """Return ISO 8601 text."""
        moments = [_EPOCH + value * _TICK for value in values.tolist()]
        if self.dates:
            return [found.date().isoformat() for found in moments]
        return [found.isoformat() + ("Z" if self.zoned else "") for found in moments]


def moment(cell: Any) -> dt.datetime | None:
    """Return a cell as a datetime, or None if it is not one.

    >>> moment("2024-03-01"), moment("soon")
    (datetime.datetime(2024, 3, 1, 0, 0), None)
    """
    if isinstance(cell, str):
        try:
            return dt.datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if hasattr(cell, "to_pydatetime"):  # pandas
        return cell.to_pydatetime(warn=False)  # type: ignore[no-any-return]
    if isinstance(cell, dt.datetime):
        return cell
    return dt.datetime(cell.year, cell.month, cell.day) if isinstance(cell, dt.date) else None


def is_date(cell: Any) -> bool:
    """Tell whether a cell is a date without a time."""
    if isinstance(cell, str):
        return len(cell.strip()) <= len("2024-01-01")
    return isinstance(cell, dt.date) and not isinstance(cell, dt.datetime)


def is_counted(found: dt.datetime | None) -> bool:
    """Tell whether a datetime is in the years 1 to 9999, also in UTC."""
    try:
        return found is not None and isinstance(_ticks(found), int)
    except OverflowError:
        return False


def _ticks(found: dt.datetime) -> int:
    if found.tzinfo is not None:
        found = found.astimezone(dt.UTC).replace(tzinfo=None)
    return (found - _EPOCH) // _TICK
