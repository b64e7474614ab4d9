"""What measures read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

DIGITS = 3  #: significant digits of published figures about the originals


def significant(value: float) -> float:
    """Round a figure to 3 significant digits; −0 becomes 0.

    >>> significant(8.78514), significant(1234567.0), significant(-0.0), significant(math.inf)
    (8.79, 1230000.0, 0.0, inf)
    """
    return float(f"{value:.{DIGITS - 1}e}") + 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a measure read: the value, which way is better, and the range it can take.

    Attributes
    ----------
    measure
        Registry key of the measure.
    value
        What was read; NaN where the measure has nothing to look at, and `note` says why.
    goal
        ``low`` or ``high``: which way is better; empty where neither is.
    range
        The least and the largest value there can be.
    attributes
        The columns that were looked at.
    unit
        ``%``, or empty.
    parts
        What the value is made of: (name, value), such as one for each attribute.
    note
        What the reader must know to read it rightly.
    short
        The name in JSON, where it is not the key.

    >>> Reading("mae", 0.5, "low", (0.0, math.inf)).name
    'mae'
    """

    measure: str
    value: float
    goal: str
    range: tuple[float, float]
    attributes: tuple[str, ...] = ()
    unit: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    note: str = ""
    short: str = ""

    @property
    def name(self) -> str:
        """What it is called in JSON and in :class:`Readings`."""
        return self.short or self.measure


@dataclass(frozen=True)
class Readings:
    """What the measures read, by name."""

    readings: tuple[Reading, ...]

    def __getitem__(self, name: str) -> float:
        return self.reading(name).value

    def reading(self, name: str) -> Reading:
        """Return a reading with all that is known of it."""
        return {r.name: r for r in self.readings}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, as in the JSON of ``shoal compare``; what they are made of under ``parts``."""
        parts = {r.name: dict(r.parts) for r in self.readings if r.parts}
        notes = {r.name: r.note for r in self.readings if r.note}
        return {
            **{r.name: None if math.isnan(r.value) else r.value for r in self.readings},
            **({"parts": parts} if parts else {}),
            **({"notes": notes} if notes else {}),
        }
