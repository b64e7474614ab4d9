"""Paragraph for a data protection impact assessment: measures taken, audit results and remaining risks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal import registry
from shoal.display.words import counted, plain
from shoal.report.charts.numbers import joined, number, spelled
from shoal.report.sections.sentences import finest, weights_released
from shoal.types import Audit, Finding, Ledger, Role, Schema
from shoal.types.disclosure import sentences_of, share
from shoal.types.run import NotReleased

_EVERYONE = NotReleased()

_REMAINS = (
    "What remains: someone who knows other members of a class, or can rule them out, learns more about the remaining "
    "ones; several releases about the same people can be combined; and whether these columns are all that others may "
    "know was decided by the controller, not by the program."
)


def paragraph(
    audit: Audit,
    recipe: Mapping[str, Any],
    schema: Schema,
    ledger: Ledger | None = None,
    without: NotReleased = _EVERYONE,
    *,
    external: bool = False,
) -> str:
    """Return a paragraph of facts that can be pasted as it is.

    Everything in it is stated by the recipe or was counted by the audit. It is the same for two tables that differ only
    in which member of a class a row belongs to. The external edition does not name removed columns.
    """
    parts = [
        *_measures(audit, recipe, schema, without, external=external),
        _found(audit),
        *sentences_of(audit, where=not external, spell=spelled),
        *([] if audit.attacker is None else [audit.attacker.sentence]),
        *_noise(ledger),
        *_unchanged(audit, recipe),
        _REMAINS,
    ]
    return " ".join(parts)


def _measures(
    audit: Audit, recipe: Mapping[str, Any], schema: Schema, without: NotReleased, *, external: bool
) -> list[str]:
    """Say which columns were removed and changed, how, and which records were left out."""
    kept = recipe.get("subject") if recipe.get("subject_out") == "pseudonym" else None
    removed = [name for name in schema.names(Role.IDENTIFIER, Role.SUBJECT) if name != kept]
    parts = [f"The table of {counted(audit.records, 'record')} was protected with shoal for this release."]
    if removed:
        named = "" if external else f" ({joined(removed)})"
        parts.append(f"Direct identifiers and columns that identify people{named} were removed.")
    if kept is not None:
        parts.append(
            "Random pseudonyms took the place of people's identifiers; k counts people with all their records."
        )
    release = str(recipe.get("release", "centroid"))
    words = registry.summary("release", release).partition(": ")[2].rstrip(".")
    if recoded := recipe.get("recode"):
        parts.append(f"{_columns(list(recoded))} {'was' if len(recoded) == 1 else 'were'} recoded first.")
    parts += _left_out(recipe, without, external=external)
    size = f" of at least {recipe.get('k')} {_unit(recipe)}" if _promises_k(audit) else ""
    known = "counts" if len(audit.quasi) == 1 else "count"
    parts.append(
        f"{_columns(audit.quasi)} {known} as known to others. Records were grouped into classes{size}, and the classes "
        f"were released as {release}: {words}."
    )
    if recipe.get("weight"):
        parts.append(weights_released(recipe))
    if audit.confidential:
        parts.append(f"{_columns(audit.confidential)} {'is' if len(audit.confidential) == 1 else 'are'} confidential.")
    return parts


def _left_out(recipe: Mapping[str, Any], without: NotReleased, *, external: bool) -> list[str]:
    """Say how many records of the input are not released; the external edition counts suppressed ones only."""
    said = []
    if without.held and not external:
        said.append(
            f"Set aside as a control: {counted(without.held, 'record')} of people drawn at random. All figures are of "
            "the others."
        )
    if share_dropped := recipe.get("suppress"):
        said.append(
            f"Up to {share(share_dropped, 1)} of the people, those who would cost the most, were left out: "
            f"{counted(without.suppressed, 'record')}."
        )
    if without.excluded and not external:
        said.append(f"Also left out: {counted(without.excluded, 'record')} without a value of a quasi-identifier.")
    return said


def _columns(names: Sequence[str]) -> str:
    """Name columns at the start of a sentence."""
    return f"The column{'s' * (len(names) > 1)} {joined(names)}"


def _promises_k(audit: Audit) -> bool:
    """Tell whether k was required over all quasi-identifiers, not only in each block."""
    whole = (f for f in audit.findings if audit.link is not None or set(audit.quasi) <= set(f.attributes))
    return any(f.required is not None and f.promised for f in whole if f.model in ("k_anonymity", "anatomy_k"))


def _unit(recipe: Mapping[str, Any]) -> str:
    if recipe.get("subject"):
        return "people"
    return "groups, such as households" if recipe.get("together") else "records"


def _found(audit: Audit) -> str:
    """Say what was required and found, each model once for each column."""
    said = dict.fromkeys(
        f"{_subject(f, audit)}: {f.levels[1]}, where {f.levels[0]} is required"
        for f in finest((f for f in audit.findings if f.required is not None and f.promised), audit.quasi)
    )
    if not said:
        return "No privacy model is promised for the released output."
    return f"An independent audit of the released output found {'; '.join(said)}."


def _subject(finding: Finding, audit: Audit) -> str:
    head = registry.summary("privacy", finding.model).partition(":")[0]
    if audit.link is None and not set(audit.quasi) <= set(finding.attributes):
        head += f" over {joined(finding.attributes)} alone"
    return head if finding.confidential is None else f"{head} of {spelled(finding.confidential)}"


def _noise(ledger: Ledger | None) -> list[str]:
    if ledger is None:
        return []
    if not ledger.private:
        return [f"Noise was added, but nothing is promised by it: {ledger.meaning}."]
    return [f"Noise was added with a privacy budget of ε = {number(ledger.total)}, claimed for {ledger.claim} records."]


def _unchanged(audit: Audit, recipe: Mapping[str, Any]) -> list[str]:
    """Say which columns are released unchanged, and how many records are unique on them."""
    found = audit.unchanged
    if found is None or not found.columns:
        return []
    how = "unchanged except for recoding" if set(found.columns) & set(recipe.get("recode", ())) else "unchanged"
    return [
        f"{_columns(found.columns)} {'is' if len(found.columns) == 1 else 'are'} released {how}.",
        *map(plain, found.figures),
    ]
