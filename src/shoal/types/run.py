"""Run: the record that all stages fill in; its readings; and its plan in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.display.card import Card, Shown
from shoal.errors import EngineError, listing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.attack import Attempt
    from shoal.types.partition import Comparison, Partition
    from shoal.types.privacy_ledger import Ledger
    from shoal.types.release import Audit, Certificate, Release
    from shoal.types.sample import SampleSize
    from shoal.types.table import Schema


class NotReleased(NamedTuple):
    """Numbers of records of the input that are not released."""

    suppressed: int = 0  #: dropped because they would cost the most
    excluded: int = 0  #: a quasi-identifier is missing
    held: int = 0  #: set aside as a control


@dataclass(frozen=True, eq=False)
class Run:
    """The protection of one table.

    Attributes
    ----------
    recipe
        The recipe's fields as plain values, as in TOML.
    toml, fingerprint
        The recipe as it is saved, and its digest.
    schema
        The meaning of the input's columns.
    partition
        The classes.
    release
        The table as it is released.
    compared
        Puts the table before and after side by side; called only for measures and charts that need every record.
    readings
        Losses and risks.
    certificate
        A lower bound on the loss, if requested.
    checked
        The findings of the independent audit; None: not audited yet.
    left_out
        Number of records excluded because a quasi-identifier is missing.
    suppressed
        Number of records dropped because they would cost the most.
    held
        Number of records set aside as a control.
    ledger
        How ε was spent, if noise was added.
    versions
        Versions of shoal and its dependencies.
    source, target
        Names of input and output: the last part of their paths, without a password.
    notes
        Remarks for the user; printed only in the internal edition of a report.
    attempts
        Attacks on the release, run by the gate; printed only in the internal edition of a report.
    """

    recipe: Mapping[str, Any]
    toml: str
    fingerprint: str
    schema: Schema
    partition: Partition
    compared: Callable[[], Comparison] = field(repr=False)
    readings: Readings
    release: Release = field(repr=False)
    certificate: Certificate | None = None
    checked: Audit | None = None
    left_out: int = 0
    suppressed: int = 0
    held: int = 0
    ledger: Ledger | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    @cached_property
    def comparison(self) -> Comparison:
        """The table before and after, for measures and charts."""
        return self.compared()

    def with_comparison(self) -> Run:
        """Return the run with its comparison built now, because the memory of the original may change later."""
        return replace(self, compared=partial(_the_same, self.comparison))

    @property
    def audit(self) -> Audit:
        """The findings of the independent audit."""
        if self.checked is None:
            raise EngineError("Run: it was not audited, so it has no findings.")
        return self.checked

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records with each combination of released quasi-identifiers."""
        import numpy as np

        return np.bincount(self.comparison.classes if self.comparison.classes is not None else [])

    @property
    def not_released(self) -> NotReleased:
        """Numbers of records of the input that are not released."""
        return NotReleased(self.suppressed, self.left_out, self.held)

    @property
    def note(self) -> str:
        """Remark of the method on how classes were formed."""
        return self.partition.note

    @property
    def blocks(self) -> int:
        """Number of blocks of attributes that were partitioned separately."""
        return len(self.partition.blocks)


def _the_same(comparison: Comparison) -> Comparison:
    return comparison


DIGITS = 3  #: significant digits of published figures about the originals


def significant(value: float) -> float:
    """Round a figure to 3 significant digits; −0 becomes 0.

    >>> significant(8.78514), significant(1234567.0), significant(-0.0), significant(math.inf)
    (8.79, 1230000.0, 0.0, inf)
    """
    return float(f"{value:.{DIGITS - 1}e}") + 0.0


FEWEST = 1_000  #: records of the smallest table whose losses are published
_BLURRED = 100  # a published loss is rounded to the share of this many records


def step_of(records: int) -> float:
    """Return the share of a table that published figures about its originals are rounded to: 1, 2 or 5 times 10⁻ᵐ.

    Someone who knows all cells but one could otherwise exclude values of that cell: those that lead to another loss.

    >>> step_of(1_000), step_of(1_080), step_of(5_000), step_of(1_000_000)
    (0.1, 0.1, 0.02, 0.0001)
    """
    share = _BLURRED / max(records, 1)
    power = math.floor(math.log10(share))
    return next(float(f"{head}e{power}") for head in (1, 2, 5, 10) if head * 10.0**power >= share * (1.0 - 1e-9))


def coarse(value: float, records: int, scale: float = 1.0, goal: str = "low") -> float:
    """Round a figure about the originals for publication: up if low is better, down if high is, with at most 3 digits.

    Parameters
    ----------
    value
        The figure; one that is not finite stays as it is.
    records
        Number of records of the table.
    scale
        The value that stands for the whole table: 100 for percent.
    goal
        ``low``, ``high``, or empty: to the nearest step.

    >>> coarse(39.87, 5_000, 100.0), coarse(0.004, 5_000, 100.0), coarse(0.33, 5_000)
    (40.0, 2.0, 0.34)
    >>> coarse(39.87, 10_000_000, 100.0), coarse(0.87, 5_000, goal="high")
    (39.9, 0.86)
    """
    if not math.isfinite(value):
        return value
    digit = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1) if value else 0.0
    step = max(scale * step_of(records), digit)
    count = value / step
    if goal == "low":  # no loss looks like none
        return significant(step * max(math.ceil(count - 1e-9), 1 if value >= 0 else -math.inf))
    return significant(step * (math.floor(count + 1e-9) if goal == "high" else round(count)))


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

    @property
    def attacked(self) -> str:
        """What the value of an attack on members is, in words; empty for all other readings.

        >>> Reading("inference", 5.0, "low", (0.0, 100.0), parts=(("ill: excess", 5.0),)).attacked
        'excess of successful attacks on members over those on the control'
        """
        said = {name.rpartition(": ")[2] for name, _ in self.parts}
        if "excess" in said:
            return "excess of successful attacks on members over those on the control"
        return "share of attacks on members that succeed" if "members" in said else ""


@dataclass(frozen=True, repr=False)
class Readings(Shown):
    """Readings of measures, by name."""

    readings: tuple[Reading, ...]
    sample: SampleSize | None = None  #: of the records that were measured, where losses are exact; None: all

    def _card(self) -> Card:
        from shoal.types.cards import readings_card

        return readings_card(self)

    def __getitem__(self, name: str) -> float:
        return self.reading(name).value

    def reading(self, name: str) -> Reading:
        """Return a reading with all its details."""
        return {r.name: r for r in self.readings}[name]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the readings, one sentence each; measures with the same remark share it."""
        noted: dict[tuple[str, bool], list[str]] = {}
        for one in self.readings:
            if one.note:
                noted.setdefault((one.note.rstrip("."), math.isnan(one.value)), []).append(one.name)
        verbs = {True: ("was not measured, because ", "were not measured, because "), False: ("", "")}
        return tuple(
            f"{', '.join(names)}: {verbs[unread][len(names) > 1]}{note}." for (note, unread), names in noted.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, as in the JSON of ``shoal compare``, with their components under ``parts``."""
        parts = {r.name: dict(r.parts) for r in self.readings if r.parts}
        notes = {r.name: r.note for r in self.readings if r.note}
        return {
            **{r.name: None if math.isnan(r.value) else r.value for r in self.readings},
            **({"parts": parts} if parts else {}),
            **({"notes": notes} if notes else {}),
            **({} if self.sample is None else {"sample": self.sample.to_dict()}),
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
    alone
        For each column the number of records that it alone makes unique; None: not counted.
    few
        Number of records that one of these columns makes unique, further ones that two do, and so on: the special
        uniques of SUDA; None: not searched.
    people, unique_people
        Number of people, and of those who are unique on all these columns over all their records at once; None: the
        output does not show which records belong to one person.

    >>> Unchanged(100, ("pay", "town"), 40, ("town",), 6).to_dict()["unreviewed_unique_records"]
    6
    """

    records: int = 0
    columns: tuple[str, ...] = ()
    unique: int = 0
    reviewed: tuple[str, ...] = ()
    unreviewed_unique: int = 0
    in_class: tuple[tuple[str, int], ...] | None = None
    few: tuple[int, ...] | None = None
    alone: tuple[tuple[str, int], ...] | None = None
    people: int | None = None
    unique_people: int | None = None

    @property
    def by_few(self) -> str:
        """A sentence on the records that a few of these columns make unique; empty if they were not searched.

        >>> Unchanged(100, ("pay", "town", "job"), 40, few=(5, 10)).by_few
        '5 of 100 records are unique on one of these columns, and 10 more on 2 of them.'
        """
        if not self.few:
            return ""
        first, *more = self.few
        said = [f"{first:,} of {self.records:,} records are unique on one of these columns"]
        said += [f"{count:,} more on {size} of them" for size, count in enumerate(more, 2)]
        return f"{', '.join(said[:-1])}, and {said[-1]}." if more else f"{said[0]}."

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
        found = [f"{self._share(self.unique)} unique on {of} released unchanged."]
        if self.reviewed and self.unreviewed:
            found.append(f"{self._share(self.unreviewed_unique)} unique on {listing(self.unreviewed)}, not reviewed.")
        elif self.reviewed:
            found.append("All columns that are released unchanged are reviewed.")
        if self.people is not None and self.unique_people is not None:
            found.append(
                f"{self.unique_people:,} of {self.people:,} people are unique on these values over all their records, "
                "which pseudonyms link."
            )
        return tuple(found)

    @property
    def warning(self) -> str:
        """What to do about records that are unique on unreviewed columns; empty if they are few."""
        if self.unreviewed_unique <= MOST_UNREVIEWED * self.records:
            return ""
        return (
            f"{self._share(self.unreviewed_unique)} unique on columns that are released unchanged and not reviewed: "
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
            **({} if self.few is None else {"unique_by_few": list(self.few)}),
            **({} if self.alone is None else {"unique_alone": dict(self.alone)}),
            **({} if self.people is None else {"people": self.people, "unique_people": self.unique_people}),
        }


@dataclass(frozen=True, repr=False)
class Planned(Shown):
    """Result of a dry run: the planned steps, or the refusals; nothing was written.

    Attributes
    ----------
    records
        Number of records that would be released.
    left_out
        Number of records that would be excluded because a quasi-identifier is missing.
    schema
        The meaning of the columns.
    columns
        A description of each quasi-identifier: missing values, decimals, categories.
    decisions
        The decisions: pairs of a topic and a sentence.
    refusals
        Why the run would be refused, a sentence each; empty: it would start.
    seconds
        Estimated processor time of the run, in all threads; None: it would not start.
    wall_seconds
        Estimated time on this machine if nothing else runs on it.
    disk
        Estimated bytes of disk for scratch and output, if the run is on disk; otherwise 0.
    exit_code
        The exit code of the run, as far as the plan determines it.
    suppressed
        Number of records that would be dropped because they would cost the most.
    """

    records: int
    left_out: int
    schema: Schema
    columns: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[tuple[str, str], ...] = ()
    refusals: tuple[str, ...] = ()
    seconds: float | None = None
    wall_seconds: float | None = None
    disk: int = 0
    exit_code: int = 0
    suppressed: int = 0

    def _card(self) -> Card:
        from shoal.types.cards import planned_card

        return planned_card(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, as in the JSON of ``shoal protect --dry-run``."""
        return {
            "records": self.records,
            "left_out": self.left_out,
            **({"suppressed": self.suppressed} if self.suppressed else {}),
            "columns": {
                c.name: {
                    "role": c.role,
                    "kind": c.kind,
                    **({"found": self.columns[c.name]} if c.name in self.columns else {}),
                }
                for c in self.schema.columns
            },
            "decisions": [{"topic": topic, "decision": decision} for topic, decision in self.decisions],
            "refusals": list(self.refusals),
            "seconds": self.seconds,
            "wall_seconds": self.wall_seconds,
            **({"disk_bytes": self.disk} if self.disk else {}),
        }
