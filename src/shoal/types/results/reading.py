"""Readings of measures, and uniqueness on unchanged columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shoal.errors import listing

DIGITS = 3  #: significant digits of published figures about the originals


def significant(value: float) -> float:
    """Round a figure to 3 significant digits; −0 becomes 0.

    >>> significant(8.78514), significant(1234567.0), significant(-0.0), significant(math.inf)
    (8.79, 1230000.0, 0.0, inf)
    """
    return float(f"{value:.{DIGITS - 1}e}") + 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a measure: the value, which way is better, and the possible range.

    Attributes
    ----------
    measure
        Registry key of the measure.
    value
        The value; NaN if the measure is undefined here, with the reason in `note`.
    goal
        ``low`` or ``high``: which way is better; empty if neither is.
    range
        The smallest and largest possible value.
    attributes
        The columns measured.
    unit
        ``%``, or empty.
    parts
        The components of the value: (name, value), such as one per attribute.
    note
        What the reader must know to interpret it.
    short
        The name in JSON, if it is not the key.

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
        """The name in JSON and in :class:`Readings`."""
        return self.short or self.measure


@dataclass(frozen=True)
class Readings:
    """Readings of measures, by name."""

    readings: tuple[Reading, ...]

    def __getitem__(self, name: str) -> float:
        return self.reading(name).value

    def reading(self, name: str) -> Reading:
        """Return a reading with all its details."""
        return {r.name: r for r in self.readings}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, as in the JSON of ``shoal compare``, with their components under ``parts``."""
        parts = {r.name: dict(r.parts) for r in self.readings if r.parts}
        notes = {r.name: r.note for r in self.readings if r.note}
        return {
            **{r.name: None if math.isnan(r.value) else r.value for r in self.readings},
            **({"parts": parts} if parts else {}),
            **({"notes": notes} if notes else {}),
        }


#: The share of records unique on unreviewed unchanged columns above which a report warns.
MOST_UNREVIEWED = 0.05


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Columns that are released unchanged, and the records that are unique on them; a missing value is a value.

    Attributes
    ----------
    records
        Number of records.
    columns
        The columns that are released unchanged.
    unique
        Number of records that are unique on all of these columns.
    reviewed
        The columns among them that the data steward has reviewed.
    unreviewed_unique
        Number of records that are unique on the columns that are not reviewed.
    in_class
        For each column the number of records that it makes unique within their class; None where a record has no
        class, or more than one.

    >>> Unchanged(100, ("pay", "town"), 40, ("town",), 6).to_dict()["unreviewed_unique_records"]
    6
    """

    records: int = 0
    columns: tuple[str, ...] = ()
    unique: int = 0
    reviewed: tuple[str, ...] = ()
    unreviewed_unique: int = 0
    in_class: tuple[tuple[str, int], ...] | None = None

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """The columns that are not reviewed."""
        return tuple(name for name in self.columns if name not in self.reviewed)

    @property
    def figures(self) -> tuple[str, ...]:
        """Sentences on the records that are unique on all columns, and on those not reviewed."""
        if not self.columns:
            return ()
        many = len(self.columns)
        of = "the column that is" if many == 1 else f"the {many:,} columns that are"
        found = [f"{self._share(self.unique)} unique by {of} released unchanged."]
        if self.reviewed and self.unreviewed:
            found.append(f"{self._share(self.unreviewed_unique)} unique by {listing(self.unreviewed)}, not reviewed.")
        elif self.reviewed:
            found.append("All columns that are released unchanged are reviewed.")
        return tuple(found)

    @property
    def warning(self) -> str:
        """What to do about records that are unique on unreviewed columns; empty if they are few."""
        if self.unreviewed_unique <= MOST_UNREVIEWED * self.records:
            return ""
        return (
            f"{self._share(self.unreviewed_unique)} unique by columns that are released unchanged and not reviewed: "
            f"{listing(self.unreviewed)}. Anyone who knows these values can identify them. Make such columns "
            f"quasi-identifiers or identifiers, or list those that no one else can know in the recipe's reviewed."
        )

    def _share(self, count: int) -> str:
        return f"{count:,} of {self.records:,} records ({100 * count / max(self.records, 1):.1f} %) are"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in the JSON of ``shoal protect``."""
        return {
            "columns": list(self.columns),
            "unique_records": self.unique,
            "reviewed": list(self.reviewed),
            "unreviewed_unique_records": self.unreviewed_unique,
            "unique_in_class": None if self.in_class is None else dict(self.in_class),
        }
