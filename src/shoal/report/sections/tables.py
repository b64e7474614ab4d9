"""Findings and readings as table rows.

A reader of the report may also have the output. Together with it, a change of a statistic reveals the original
statistic, and for a few records that is a person's value: a quantile always is, and a range consists of two. The
normalised SSE of an attribute reveals its range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from shoal import registry
from shoal.display.words import plain
from shoal.report.charts.charts import scale_chart
from shoal.report.charts.numbers import folded, joined, number, percent
from shoal.report.sections.attributes import moments
from shoal.types import Finding, Reading, Run

_STRATUM = re.compile(r" in (a stratum|stratum \d+)$| a stratum$")  # the section on strata shows these
_RAW = "raw"  # a sum in the attributes' own units, which one record may dominate
_TAIL = 0.05  # share of the records beyond the outermost quantiles
_DECIMALS = 2  # of a quantile, in deviations: coarse enough not to be a value
#: Per attribute: with the output they reveal an original mean, deviation, quantile, coefficient or range.
_INSIDE = ("means", "quantiles", "regression", "sse_normalised", "variances")


#: Changes of single attributes, which with the output reveal what the table of means hides.
_CHANGES = ("means", "variances")


@dataclass(frozen=True)
class Telling:
    """The reader, and what must be hidden: figures about fewer than `least` of the `records` records.

    `hidden` are the attributes whose mean or deviation a single record dominates.
    """

    records: int
    least: int
    hidden: frozenset[str] = frozenset()
    external: bool = False

    @classmethod
    def of(cls, account: Run, least: int, *, external: bool) -> Telling:
        """Determine what a report may show of a run."""
        found = account.comparison
        pairs = {name: found.numbers[name] for name in found.numeric}
        shown = {name: moments(pair, least) for name, pair in pairs.items()}
        few = [name for name, one in shown.items() if np.isnan([one.means[0], one.deviations[0]]).any()]
        return cls(account.audit.records, least, frozenset(few), external)

    def told(self, reading: Reading) -> Reading | None:
        """Return the part of a reading that may be shown; None if nothing may be.

        >>> found = Reading("quantiles", 0.1234, "low", (0.0, math.inf), parts=(("pay, 5 %", -0.1234),))
        >>> Telling(100, 5).told(found).parts, Telling(100, 5, external=True).told(found) is None
        ((('pay, 5 %', -0.12),), True)
        >>> Telling(99, 5).told(found).note
        "fewer than 5 records lie beyond a quantile, so it would be one person's value"
        """
        if self.external and reading.measure in _INSIDE:
            return None
        listed = tuple(part for part in reading.parts if not _STRATUM.search(part[0]) and part[0] != _RAW)
        whole = replace(reading, parts=() if reading.measure == "sse_normalised" else listed)
        if math.isnan(whole.value):
            return whole
        if whole.measure in _CHANGES:
            return self._of_many(whole)
        return self._rounded(whole) if whole.measure == "quantiles" else whole

    def _of_many(self, reading: Reading) -> Reading:
        """Return changes without the attributes that a single record dominates."""
        kept = tuple(part for part in reading.parts if part[0] not in self.hidden)
        if len(kept) == len(reading.parts):
            return reading
        few = f"attributes that one record dominates are omitted: {len(reading.parts) - len(kept):,}"
        return replace(reading, value=max((abs(v) for _, v in kept), default=math.nan), parts=kept, note=few)

    def _rounded(self, reading: Reading) -> Reading:
        """Round quantiles so that none is a value; hide them if few records lie beyond them."""
        if _TAIL * self.records < self.least:
            why = f"fewer than {self.least} records lie beyond a quantile, so it would be one person's value"
            return replace(reading, value=math.nan, parts=(), note=why)
        parts = tuple((name, round(value, _DECIMALS)) for name, value in reading.parts)
        return replace(reading, value=round(reading.value, _DECIMALS), parts=parts)


_PARTS = 40  # maximum number of shown parts of a reading
_HALF = 0.5  # of the weight of a class: beyond that its mean is mostly one person's value


class Audited(NamedTuple):
    """A finding as a row."""

    model: str
    over: str
    required: str
    achieved: str
    classes: str
    verdict: str
    tone: str


class Read(NamedTuple):
    """A reading as a row: its value, its position on a scale, and its meaning."""

    name: str
    title: str
    value: str
    words: str
    scale: Markup | str
    ends: str
    note: str
    parts: tuple[tuple[str, str], ...]
    more: int  #: parts that are not shown


def audited(account: Run, *, external: bool) -> list[Audited]:
    """Return required findings, and in the internal edition also those that are not promised."""
    asked = [
        f
        for f in account.audit.findings
        if f.required is not None or (not external and (f.confidential is None or not f.promised))
    ]
    return [_audited(finding, account.audit.quasi) for finding in asked]


def _audited(finding: Finding, quasi: tuple[str, ...]) -> Audited:
    over = _over(finding.attributes, quasi)
    if finding.confidential is not None:
        over = f"{folded(finding.confidential)}, given {over}"
    if given := ", ".join(f"{name} = {number(value)}" for name, value in finding.given):
        over = f"{over} ({given})"
    verdict, tone = ("holds", "good") if finding.holds else ("does not hold", "bad")
    if not finding.promised:
        verdict, tone = "not promised", "faint"
    elif finding.required is None:
        verdict, tone = "reported", "faint"
    if dominated(finding) and finding.holds:
        tone = "warn"
    return Audited(finding.model, over, *finding.levels, f"{finding.classes:,}", verdict, tone)


class Singled(NamedTuple):
    """A column that is released unchanged, as a row."""

    column: str
    role: str
    reviewed: str
    unique: str
    share: str


def unchanged(account: Run) -> tuple[tuple[str, ...], list[Singled]]:
    """Return the records made unique by unchanged columns: as sentences, and a row per column."""
    found = account.audit.unchanged
    if found is None or not found.columns:
        return (), []
    rows = [
        Singled(
            folded(name),
            account.schema[name].role.value,
            "yes" if name in found.reviewed else "no",
            f"{unique:,}",
            percent(100 * unique / found.records),
        )
        for name, unique in found.in_class or ()
    ]
    return tuple(map(plain, found.figures)), rows


def dominated(finding: Finding) -> bool:
    """Tell whether one person holds more than half of the weight of a class."""
    return finding.model == "dominance" and finding.achieved > _HALF


def _over(attributes: Sequence[str], quasi: tuple[str, ...]) -> str:
    if len(quasi) > 3 and tuple(attributes[: len(quasi)]) == quasi:
        return joined([f"all {len(quasi)} quasi-identifiers", *attributes[len(quasi) :]])
    return joined(attributes, 6)


def reported(account: Run) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the levels of confidential columns without requirements: the models, and a row per column."""
    found = account.audit.reported
    shorts = list(dict.fromkeys(f.short for f in found))
    rows = []
    for name in dict.fromkeys(str(f.confidential) for f in found):
        levels = {f.short: f.levels[1] for f in found if f.confidential == name}
        rows.append((folded(name), [levels.get(short, "") for short in shorts]))
    return shorts, rows


def readings(account: Run, room: str, telling: Telling) -> tuple[list[Read], list[tuple[str, str]]]:
    """Return the readings of a family that may be shown, and undefined ones with the reason."""
    external, keys = telling.external, registry.keys(room)
    shown = (telling.told(reading) for reading in account.readings.readings if reading.measure in keys)
    mine = [reading for reading in shown if reading is not None]
    rows = [_read(reading, room, external=external) for reading in mine if not math.isnan(reading.value)]
    return rows, [] if external else [(r.name, plain(r.note)) for r in mine if math.isnan(r.value)]


def _read(reading: Reading, room: str, *, external: bool) -> Read:
    unit = f" {reading.unit}" if reading.unit else ""
    ends = _ends(reading)
    title, _, words = registry.summary(room, reading.measure).partition(": ")
    low_is_better = {"low": True, "high": False}.get(reading.goal)
    scale = "" if ends is None else scale_chart(reading.name, reading.value, ends, low_is_better=low_is_better)
    parts = () if external else tuple((plain(name), number(value)) for name, value in reading.parts)
    return Read(
        reading.name,
        title,
        f"{number(reading.value)}{unit}",
        f"{words[:1].upper()}{words[1:]}",
        scale,
        _in_words(reading, ends, unit),
        "" if external or not reading.note else f"{plain(reading.note).rstrip('.')}.",
        parts[:_PARTS],
        len(parts[_PARTS:]),
    )


def _ends(reading: Reading) -> tuple[float, float] | None:
    """Return the ends of a scale; None if it has no natural end."""
    low, high = reading.range
    if math.isinf(high) and reading.unit == "%" and 0 <= reading.value <= 100:
        high = 100.0
    return (low, high) if math.isfinite(low) and math.isfinite(high) and high > low else None


def _in_words(reading: Reading, ends: tuple[float, float] | None, unit: str) -> str:
    """Describe the smallest and largest value, and which is better."""
    low, high = (f"{number(end)}{unit}" for end in (ends or reading.range))
    if reading.goal == "low":
        return f"{low} is best, {high} is worst" if ends else f"{low} is best, without an upper limit"
    if reading.goal == "high":
        return f"{high} is best, {low} is worst" if ends else f"higher is better, from {low}"
    return f"from {low} to {high}, neither is better" if ends else f"{low} or more, neither is better"
