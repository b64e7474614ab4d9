"""Overview section: key figures, class sizes, certificate, versions."""

from __future__ import annotations

import math
from typing import NamedTuple

from markupsafe import Markup

from shoal.report.charts.charts import sizes_chart
from shoal.report.charts.numbers import counted, folded, number, percent, plain
from shoal.types import CLAIMS, Finding, Run

_HEADS = ("ε", "Sensitivity", "Scale of noise", "Classes")


class Row(NamedTuple):
    """A line of the ledger as a row."""

    block: str
    attribute: str
    cells: tuple[str, ...]
    total: bool


class Budget(NamedTuple):
    """The ledger as a table, with its meaning."""

    words: str
    blocks: bool  #: whether block numbers are shown
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    meaning: str


def budget(account: Run, *, external: bool) -> Budget | None:
    """Return the table of the ledger; None without noise. The external edition omits blocks and classes."""
    ledger = account.ledger
    if ledger is None:
        return None
    total = f"ε = {ledger.total:.4g}" if ledger.private else f"NOT PRIVATE: ε would be {ledger.total:.4g}"
    shown = 1 if external else len(_HEADS)
    rows = tuple(
        Row(line.cells[0], folded(line.cells[1]), line.cells[2 : 2 + shown], line.entry is None)
        for line in ledger.lines
        if not external or line.entry is not None or line.block is None
    )
    words = f"Privacy budget: {total}, claimed for {ledger.claim} records. Noise from {ledger.noise}."
    meaning = CLAIMS[ledger.claim] if external else "; ".join((ledger.meaning, *ledger.beyond))
    return Budget(words, not external, _HEADS[:shown], rows, f"{meaning}. Composition: {ledger.composition}.")


#: Readings among the key figures, if they were taken.
_FIRST = (("il_sse", "Information loss"), ("dld", "Linked records"))


class Sizes(NamedTuple):
    """Class sizes in words and as a chart."""

    words: str
    chart: Markup | str


def places(account: Run, *, external: bool) -> list[str]:
    """Return the names of input and output in one text, if known; the external edition shows only the output."""
    named = [account.target] if external else [account.source, account.target]
    told = " → ".join(folded(place) for place in named if place)
    return [told] if told else []


def facts(account: Run) -> list[tuple[str, str]]:
    """Return the key figures."""
    asked = _asked(account)
    k = min((f.achieved for f in asked), default=account.audit.overall.achieved)
    found = [
        ("Records", f"{account.audit.records:,}"),
        ("Classes", f"{_over_all(account, asked).classes:,}"),
        ("k found", number(k)),
    ]
    read = {r.name: r.value for r in account.readings.readings}
    return found + [
        (words, f"{number(read[name], 3)} %") for name, words in _FIRST if not math.isnan(read.get(name, math.nan))
    ]


def _over_all(account: Run, asked: list[Finding]) -> Finding:
    """Return the finding over all quasi-identifiers if it was required, else the first required one."""
    whole = [finding for finding in asked if finding.attributes == account.audit.quasi]
    return next(iter([*whole, *asked]), account.audit.overall)


def _asked(account: Run) -> list[Finding]:
    asked = [f for f in account.audit.findings if f.required is not None and f.confidential is None]
    return [f for f in asked if f.model != "dominance"]


def notes(account: Run) -> list[str]:
    """Return the notes of the audit, each once."""
    told = dict.fromkeys(f"{f.model}: {f.note}." for f in account.audit.findings if f.note)
    weights = dict(account.audit.overall.found)
    if "weighted_k" in weights:
        told[f"By sampling weights, the smallest class stands for {number(weights['weighted_k'])}."] = None
    return [plain(note) for note in told]


def sizes(account: Run, *, external: bool) -> Sizes:
    """Describe class sizes; the external edition omits the number of classes of each size."""
    many = account.sizes
    if not len(many):
        return Sizes("There are no classes, because there are no records.", "")
    smallest, average, largest = int(many.min()), float(many.mean()), int(many.max())
    grouped = account.recipe.get("release") not in ("swap", "anatomy")
    what = "classes" if grouped else "released combinations of quasi-identifiers, whose size is not promised"
    if external:
        words = f"{len(many):,} {what}: at least {counted(smallest, 'record')}, on average {number(average, 3)}."
        return Sizes(words, "")
    words = (
        f"{len(many):,} {what}: the smallest has {counted(smallest, 'record')}, the average {number(average, 3)}, the "
        f"largest {largest:,}. The size is below each bar, the number of classes above it."
    )
    return Sizes(words, sizes_chart(many, int(account.recipe.get("k", 0))))


def certificate(account: Run) -> list[tuple[str, str]]:
    """Return the bound on the distance of the classes from the optimum, if requested."""
    found = account.certificate
    if found is None:
        return []
    rows = [("No partition is below", f"{percent(found.il_bound)} of the variation, by {' and '.join(found.how)}.")]
    if found.il is not None and found.gap is not None:
        rows.append(("Reached", f"{percent(found.il)} of the variation."))
        rows.append(("Could be saved", f"At most {percent(found.gap)} of the loss, whatever the method."))
    return rows


def versions(account: Run, *, external: bool) -> list[tuple[str, str]]:
    """Return the versions of dependencies; the external edition omits the seed and anything that could confirm it."""
    shown = {"shoal": account.versions["shoal"]} if external and "shoal" in account.versions else {}
    rows = [(name, version) for name, version in (shown if external else account.versions).items()]
    if external:
        return rows or [("shoal", "not said")]
    return [*rows, ("Seed", str(account.recipe.get("seed", 0))), ("Fingerprint of the recipe", account.fingerprint)]
