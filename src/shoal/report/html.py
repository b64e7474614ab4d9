"""HTML report of a run: one printable page that opens offline and shows no person's values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any, Literal

from shoal.parameters import Checked, Param
from shoal.types import Run

_SECTIONS = (
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
_ALWAYS = ("done", "guarantee", "audit", "classes", "risk", "loss", "versions")
_ANCHORS = {"heats": "correlations", "toml": "recipe"}
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


@dataclass(frozen=True)
class Html(Checked):
    """A report of a run as one self-contained page: HTML, styles and charts in one text, and no script.

    The edition ``internal`` is for people who have the original table. ``external`` may accompany the protected one: it
    omits the seed, the recipe and its fingerprint, original distributions, details of classes, parts of readings,
    readings that together with the output reveal a statistic of one original attribute, readings that are not
    published, the certificate, and names of removed columns. Figures computed from original values have 3 significant
    digits, correlations 2 decimals.

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
        from shoal.report.sections.attributes import of_attributes
        from shoal.report.sections.overview import budget, certificate, facts, notes, places, sizes, versions
        from shoal.report.sections.published import outward
        from shoal.report.sections.sentences import done, limits, promises, verdict
        from shoal.report.sections.tables import Telling, audited, readings, reported, unchanged

        external = self.edition == "external"
        account = outward(account) if external else account
        least = max(int(account.recipe.get("k", _LEAST)), _LEAST)
        telling = Telling.of(account, least, external=external)
        said: dict[str, Any] = {
            "external": external,
            "least": least,
            "title": "Protection report",
            "eyebrow": ["Protection report", f"{self.edition} edition", *places(account, external=external)],
            "verdict": verdict(account),
            "facts": facts(account),
            "done": done(account, external=external),
            "promises": promises(account),
            "limits": limits(account),
            "audited": audited(account, external=external),
            "budget": budget(account, external=external),
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
        said["sections"] = [
            (_ANCHORS.get(key, key), head) for key, head in _SECTIONS if key in _ALWAYS or said.get(key)
        ]
        return said


_FOOT = {
    "internal": "Internal edition: for people who may see the original. Bars, shares and means cover at least "
    "{least} records, but the page shows how the table was protected. Do not publish it; use the external edition.",
    "external": "External edition: without details that would help to undo the protection, such as the seed, the full "
    "recipe and original distributions.",
}
