"""The digits of released values of a stream, looked at as they are written."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from shoal.errors import GuaranteeError

_WHOLE = re.compile(r"-?[0-9]+")
_UNITS = ("year", "month", "day", "hour", "minute", "second")
_LEAST = {"month": 1, "day": 1}  # what the parts of a moment below its unit are; the others are 0


@dataclass(frozen=True, slots=True)
class Digits:
    """How fine the released values of one field may be: multiples of a step, or of a unit of time.

    A value is judged by its text, as JSON and CSV have it.

    >>> tenths, months = Digits(step=0.1), Digits(unit="month", dates=True)
    >>> [tenths.hold(text) for text in ("0.3", "-7.0", "0.30000000000000004", "x")]
    [True, True, False, False]
    >>> [months.hold(text) for text in ("2024-03-01", "2024-03-02", "2024-03-01T00:00:00")]
    [True, False, False]
    """

    step: float | None = None
    whole: bool = False  #: written as integers, without a point
    unit: str = ""
    dates: bool = False  #: written as dates, without a time

    def hold(self, text: str) -> bool:
        """Tell whether a value is no finer than it may be."""
        if self.step is None:
            return self._holds_moment(text)
        if self.whole and not _WHOLE.fullmatch(text):
            return False
        if self.step == 1 and self.whole:
            return True
        try:
            return Decimal(text) % Decimal(str(self.step)) == 0
        except InvalidOperation:
            return False

    def _holds_moment(self, text: str) -> bool:
        try:
            found = dt.datetime.fromisoformat(text)
        except ValueError:
            return False
        if self.dates and len(text) != len("2024-01-01"):
            return False
        below = _UNITS[_UNITS.index(self.unit) + 1 :] if self.unit else ()
        return not (self.unit and found.microsecond) and all(
            getattr(found, part) == _LEAST.get(part, 0) for part in below
        )


def refuse_finer(digits: Mapping[str, Digits], released: Mapping[str, Iterable[str]]) -> None:
    """Refuse released values that are finer than they may be; `released` holds the texts of each field.

    Raises
    ------
    GuaranteeError
        If one is; nothing of the step may be released then.
    """
    for name, one in digits.items():
        if not all(map(one.hold, released[name])):
            raise GuaranteeError(
                f"The gate: {name!r} has more digits than its resolution allows. Nothing of this step was written."
            )
