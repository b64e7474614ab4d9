"""HTML report of a run: one printable page that opens offline and shows no person's values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any, Literal, NamedTuple

from markupsafe import Markup

from shoal.display.words import counted, plain
from shoal.parameters import Checked, Param
from shoal.report.charts.charts import sizes_chart
from shoal.report.charts.numbers import folded, joined, number, percent, spelled
from shoal.types import CLAIMS, Finding, Run
from shoal.types.disclosure import sentences_of, smallest_classes

_SECTIONS = (
    ("learn", "What an attacker could learn"),
    ("impact", "Impact assessment"),
    ("done", "Protection"),
    ("guarantee", "Promises and limits"),
    ("audit", "Audit"),
    ("unchanged", "Unchanged columns"),
    ("budget", "Budget"),
    ("classes", "Class sizes"),
    ("attributes", "Attributes"),
    ("moments", "Means"),
    ("heats", "Correlations"),
    ("risk", "Risk"),
    ("loss", "Loss"),
    ("strata", "Strata"),
    ("certificate", "Certificate"),
    ("toml", "Recipe"),
    ("versions", "Versions"),
)
_ALWAYS = ("learn", "impact", "done", "guarantee", "audit", "classes", "risk", "loss", "versions")
_FOLDED = ("moments", "heats", "risk", "loss", "strata", "certificate", "toml", "versions")  # for statisticians
_LEAST = 3  # smallest number of records behind a bar or a mean, even if k is 2


def page(template: str, styles: Iterable[str], **said: Any) -> str:
    """Fill a template of this package with styles and contents; text is escaped, and a missing content is an error."""
    import jinja2
    from markupsafe import Markup

    home = resources.files("shoal.report")
    machine = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    css = Markup("").join(Markup(home.joinpath(name).read_text(encoding="utf-8")) for name in styles)  # our own
    whole = machine.from_string(home.joinpath(template).read_text(encoding="utf-8"))
    return whole.render(css=css, **said).lstrip() + "\n"


def least_of(account: Run) -> int:
    """Return the smallest number of records that a bar of a chart may represent: k, and never fewer than 3."""
    return max(int(account.recipe.get("k", _LEAST)), _LEAST)


@dataclass(frozen=True)
class Html(Checked):
    """A report of a run as one self-contained page: HTML, styles and charts in one text, and no script.

    The edition ``internal`` is for people who have the original table. ``external`` may accompany the protected one: it
    omits the seed, the recipe and its fingerprint, original distributions, details of classes, parts of readings,
    readings that together with the output reveal a statistic of one original attribute, readings that are not
    published, the certificate, and names of removed columns. Figures computed from original values are rounded to the
    share of 100 records, and left out below 1,000 records.

    **Guarantee.** The same run gives the same text. No bar, share, mean or correlation of the original represents fewer
    records than k, and never fewer than 3; a mean or deviation that one record dominates by more than half is not
    shown, nor how it changed. Quantiles are rounded, and shown only if that many records lie beyond them. Names of
    columns and categories are escaped.

    **Complexity.** O(n) for each attribute that is drawn, O(nd²) for the correlations of d ≤ 20 numbers.

    **Departures.** None: there is no paper.

    >>> Html("public")
    Traceback (most recent call last):
    shoal.errors.ParameterError: Html: edition must be one of 'internal', 'external', got 'public'.
    """

    edition: Annotated[Literal["internal", "external"], Param("Audience: internal, or external.")] = "internal"

    def render(self, account: Run) -> str:
        """Render the page."""
        return page("report.html.jinja", ("report.css",), **self._said(account))

    def _said(self, account: Run) -> dict[str, Any]:
        """Return the contents of the page."""
        from shoal.report.evidence import outward
        from shoal.report.sections.attackers import attackers, before_release
        from shoal.report.sections.attributes import of_attributes
        from shoal.report.sections.impact import paragraph
        from shoal.report.sections.sentences import done, limits, promises, verdict
        from shoal.report.sections.tables import Telling, audited, readings, reported, unchanged

        external = self.edition == "external"
        account = outward(account) if external else account
        least = least_of(account)
        telling = Telling.of(account, least, external=external)
        said: dict[str, Any] = {
            "external": external,
            "least": least,
            "title": "Protection report",
            "eyebrow": ["Protection report", f"{self.edition} edition", *places(account, external=external)],
            "verdict": verdict(account),
            "facts": facts(account),
            "learn": sentences_of(account.audit, where=not external, spell=spelled),
            "attackers": [] if external else attackers(account),
            "counts_people": account.comparison.people is not None,
            "knows_strata": bool(account.recipe.get("strata")),
            "before": [] if external else before_release(account),
            "impact": paragraph(
                account.audit, account.recipe, account.schema, account.ledger, account.not_released, external=external
            ),
            "done": done(account, external=external),
            "promises": promises(account),
            "limits": limits(account),
            "audited": audited(account, external=external),
            "budget": budget(account, external=external),
            "few": "" if external or account.audit.unchanged is None else account.audit.unchanged.by_few,
            "unchanged": unchanged(account) if account.audit.unchanged and account.audit.unchanged.columns else None,
            "reported": ([], []) if external else reported(account),
            "notes": [] if external else notes(account),
            "risk": readings(account, "risk", telling),
            "loss": readings(account, "utility", telling),
            "sizes": sizes(account, external=external),
            "certificate": [] if external else certificate(account),
            "toml": "" if external else account.toml,
            "versions": versions(account, external=external),
            "foot": _FOOT[self.edition].format(least=least),
            **of_attributes(account, least, external=external),
        }
        shown = [(key, head) for key, head in _SECTIONS if key not in _FOLDED and (key in _ALWAYS or said.get(key))]
        said["sections"] = [*shown, ("statisticians", "For statisticians")]
        folded_away = [head for key, head in _SECTIONS if key in _FOLDED and (key in _ALWAYS or said.get(key))]
        said["folded"] = ", ".join(folded_away).lower()
        return said


_FOOT = {
    "internal": "Internal edition: for people who may see the original. Bars, shares and means cover at least "
    "{least} records, but the page shows how the table was protected. Do not publish it; use the external edition.",
    "external": "External edition: without details that would help to undo the protection, such as the seed, the full "
    "recipe and original distributions.",
}


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
_FIRST = (
    ("il_sse", "Information loss", "of the variation of the quasi-identifiers is lost"),
    ("dld", "Linked records", "are linked by distance, on average over the sets of attributes someone may know"),
)


class Sizes(NamedTuple):
    """Class sizes in words and as a chart."""

    words: str
    chart: Markup | str


def places(account: Run, *, external: bool) -> list[str]:
    """Return the names of input and output in one text, if known; the external edition shows only the output."""
    named = [account.target] if external else [account.source, account.target]
    told = " → ".join(folded(place) for place in named if place)
    return [told] if told else []


def facts(account: Run) -> list[tuple[str, str, str]]:
    """Return the key figures: name, value, and how to read it."""
    found = [("Records", f"{account.audit.records:,}", "are released"), *_classes(account)]
    read = {r.name: r.value for r in account.readings.readings}
    return found + [
        (words, f"{number(read[name], 3)} %", how)
        for name, words, how in _FIRST
        if not math.isnan(read.get(name, math.nan))
    ]


def _classes(account: Run) -> list[tuple[str, str, str]]:
    """Return the number of classes and the smallest, as someone sees them who knows all quasi-identifiers."""
    asked, quasi, worst = _asked(account), account.audit.quasi, smallest_classes(account.audit)
    k = min((f.achieved for f in asked), default=account.audit.overall.achieved)
    if worst is None:
        classes = next(iter(asked), account.audit.overall).classes
        linked = account.audit.link is not None
        how = "of records that both tables show" if linked else "of records, which the output does not show"
        return [("Classes", f"{classes:,}", how), ("k found", number(k), "members in the smallest class")]
    known = joined(["quasi-identifiers", *(name for name in worst.attributes if name not in quasi)])
    least = f"{'members' if worst.achieved != 1 else 'member'} in the smallest class"
    if asked and not any(set(quasi) <= set(f.attributes) for f in asked):
        least = f"{least} over all blocks, {number(k)} in each alone"
        k = worst.achieved
    return [("Classes", f"{worst.classes:,}", f"of records with equal {known}"), ("k found", number(k), least)]


def _asked(account: Run) -> list[Finding]:
    """Return the required findings about class sizes, or else about noise."""
    from shoal.report.sections.sentences import about_classes

    return about_classes(f for f in account.audit.findings if f.required is not None and f.confidential is None)


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
