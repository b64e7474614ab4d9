"""Cards of results: what each shows of itself in a notebook, from counts, levels and names of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from shoal.display.card import Card, Grid
from shoal.display.words import counted, figure, named, short
from shoal.types.disclosure import sentences_of

if TYPE_CHECKING:
    from shoal.types.attack import Attempts
    from shoal.types.explored import Explored, Setting
    from shoal.types.inspection import Inspection
    from shoal.types.partition import Partition
    from shoal.types.release import Audit, Finding
    from shoal.types.run import Planned, Reading, Readings
    from shoal.types.table import Schema
    from shoal.types.verification import Verification

_MEASURES = "Each measure is explained by: shoal list measures."
_READ = (
    "Loss is the share of the variation of the quasi-identifiers that is lost, risk the share of records that an "
    "attacker links correctly by distance: less is better for both."
)
_FEW = 3  # readings that a line of text holds


def audit_card(audit: Audit) -> Card:
    """Return the card of an audit: k, the verdict on requirements, and every level that was found."""
    k, classes = audit.overall.achieved, audit.overall.classes
    size = f"{counted(audit.records, 'record')} in {counted(classes, 'class', 'classes')}"
    said = requirements_in_words(audit)
    return Card(
        "Audit",
        f"{size} over {named(audit.quasi)}; the smallest class has {k:,g}. {said}".rstrip(),
        *verdict_of(audit),
        facts=(("records", f"{audit.records:,}"), ("classes", f"{classes:,}"), ("k", f"{k:,g}")),
        grids=(findings_grid(audit.findings),),
        warnings=audit.warnings,
        learns=sentences_of(audit, spell=short),
    )


def verdict_of(audit: Audit) -> tuple[str, bool | None]:
    """Return the verdict on the requirements of an audit, and whether it is good news; none without requirements."""
    if not any(one.required is not None for one in audit.findings):
        return "", None
    return ("holds", True) if audit.holds else ("does not hold", False)


def requirements_in_words(audit: Audit) -> str:
    """Return a sentence on the requirements of an audit; empty without requirements."""
    required = [one for one in audit.findings if one.required is not None]
    failed = [one for one in required if not one.holds]
    if failed:
        return f"{len(failed)} of {counted(len(required), 'requirement')} {_do(failed)} not hold."
    return "" if not required else "The requirement holds." if len(required) == 1 else "All requirements hold."


def _do(some: list[Finding]) -> str:
    return "does" if len(some) == 1 else "do"


def findings_grid(findings: Iterable[Finding]) -> Grid:
    """Return the table of an audit's findings."""
    rows = []
    for one in findings:
        over = named(one.attributes) if one.confidential is None else f"{short(one.confidential)}"
        said = "not promised" if not one.promised else "reported" if one.required is None else ""
        rows.append((one.model, over, *one.levels, said or ("holds" if one.holds else "DOES NOT HOLD")))
    return Grid("", ("Model", "Columns", "Required", "Achieved", "Verdict"), tuple(rows))


def readings_card(readings: Readings) -> Card:
    """Return the card of a comparison: each measure with its value, with 3 significant digits."""
    known = [one for one in readings.readings if not math.isnan(one.value)]
    shown = ", ".join(f"{one.name} {figure(one.value, one.unit)}" for one in known[:_FEW])
    rest = f" and {len(known) - _FEW} more" if len(known) > _FEW else ""
    sample = () if readings.sample is None else (readings.sample.sentence,)
    lead = f"{shown}{rest}." if known else "nothing was measured."
    return Card("Readings", lead, grids=(readings_grid(known),), notes=(*readings.remarks, *sample, _MEASURES))


def readings_grid(readings: Iterable[Reading]) -> Grid:
    """Return the table of readings."""
    better = {"low": "lower is better", "high": "higher is better"}
    rows = [(one.name, figure(one.value, one.unit), better.get(one.goal, "")) for one in readings]
    return Grid("", ("Measure", "Value", ""), tuple(rows))


def attempts_card(found: Attempts) -> Card:
    """Return the card of attacks: what each learns, and how many succeeded."""
    tried = sum(one.verdict != "not_run" for one in found)
    many = len(found.succeeded)
    words = {"not_run": "not run", "succeeded": "SUCCEEDED"}
    rows = [(one.attack, words.get(one.verdict, one.verdict), one.sentence) for one in found]
    return Card(
        "Attacks",
        f"{many} of {counted(tried, 'attack')} succeeded." if tried else "no attack was run.",
        verdict="succeeded" if many else "withstood" if tried else "not run",
        good=not many if tried else None,
        grids=(Grid("", ("Attack", "Verdict", "What an attacker learns"), tuple(rows)),),
        notes=() if found.sample is None else (found.sample.sentence,),
    )


def explored_card(found: Explored) -> Card:
    """Return the card of an exploration: the recommended setting, the reason, and the settings that compete."""
    best = found.recommended
    lead = f"{found.ran}. Recommended: {best.name if best else 'none'}."
    shown = [one for some in found.guarantees.values() for one in some] if found.target else _competing(found)
    facts = [] if best is None else [("k", f"{best.asked[0]:,}"), *_facts(found, best)]
    return Card(
        "Explored",
        lead,
        *((best.name, True) if best else ("no recommendation", False)),
        facts=tuple(facts),
        grids=(_settings_grid(found, shown),),
        notes=(found.reason, *found.notes, *(() if found.target or found.epsilon is not None else (_READ,))),
    )


def _competing(found: Explored) -> list[Setting]:
    """Return the settings of the frontier; where noise is weighed, the best of each method."""
    if found.epsilon is None:
        return [one for one in found.settings if one.frontiers] if found.attacker else list(found.frontier)
    return sorted((min(some, key=lambda s: s.loss) for some in found.ways.values()), key=lambda s: s.loss)


def _facts(found: Explored, best: Setting) -> list[tuple[str, str]]:
    if found.target:
        return [(found.score, f"{best.readings['boosting']:.3f}")]
    risk = [] if math.isnan(best.risk) else [("risk", f"{best.risk:.2f} %")]
    return [("loss", f"{best.loss:.2f} %"), *risk]


def _settings_grid(found: Explored, some: Iterable[Setting]) -> Grid:
    best = found.recommended
    if found.target:
        rows = [(one.name, one.guarantee, *one.kept, "recommended" if one is best else "") for one in some]
        heads = ("boosting", "linear", "singled out (control)", "membership", "copied", "")
        return Grid("What a model keeps", ("Setting", "Guarantee", *heads), tuple(rows))
    if found.epsilon is not None:
        rows = [(one.name, *one.figures, "recommended" if one is best else "") for one in some]
        return Grid("Best of each method, %", ("Setting", "Expected", "Microaggregation", "Noise", ""), tuple(rows))
    rows = [
        (one.name, f"{one.loss:.2f}", f"{one.risk:.2f}", f"{one.classes:,}", "recommended" if one is best else "")
        for one in some
    ]
    return Grid(
        "Frontier", ("Setting", f"Loss ({found.loss}), %", f"Risk ({found.risk}), %", "Classes", ""), tuple(rows)
    )


def inspection_card(seen: Inspection) -> Card:
    """Return the card of an inspection: the guess for each column, and the records that columns make unique."""
    unique, quasi = seen.together.unique, seen.together.attributes
    rows = [
        (short(one.name), one.role.value, one.kind.value, f"{one.distinct:,}", f"{one.missing:,}", one.reason)
        for one in seen.columns
    ]
    alone = f"{unique:,} are unique on {named(quasi)}." if quasi else "no column looks like a quasi-identifier."
    return Card(
        "Inspection",
        f"{counted(seen.records, 'record')}, {counted(len(seen.columns), 'column')}; {alone}",
        facts=(("records", f"{seen.records:,}"), ("unique", f"{unique:,}"), ("smallest class", f"{seen.together.k:,}")),
        grids=(Grid("", ("Column", "Role", "Kind", "Distinct", "Missing", "Why"), tuple(rows)),),
        notes=(
            *([seen.special.sentence] if seen.special else []),
            *seen.unchanged.figures,
            *seen.notes,
            "The starter recipe is in .recipe.",
        ),
        warnings=tuple(filter(None, (seen.unchanged.warning,))),
    )


def planned_card(planned: Planned) -> Card:
    """Return the card of a plan: its decisions, or why the run would be refused."""
    many = len(planned.refusals)
    start = f"would be refused for {counted(many, 'reason')}" if many else "would start"
    return Card(
        "Plan",
        f"a run of {counted(planned.records, 'record')} {start}.",
        *(("refused", False) if many else ("would start", True)),
        grids=(Grid("", ("Topic", "Decision"), planned.decisions),),
        notes=(*planned.refusals, "Nothing was written."),
    )


def verification_card(found: Verification) -> Card:
    """Return the card of a verification: each claim with its verdict."""
    rows = [(one.claim, one.verdict.value, one.why) for one in found.checks]
    many = len(found.failed)
    lead = f"{many} of {counted(len(found.checks), 'claim')} {'does' if many == 1 else 'do'} not hold." if many else ""
    promised = found.promise.partition(": ")[2].rstrip(".")
    held = f"everything that can be checked holds{'' if found.holds else ', but not everything is verified'}."
    return Card(
        "Verification",
        f"{short(found.output)}{f': {lead}' if many else f' promises {promised}; {held}'}",
        *(("holds", True) if found.holds else ("does not hold" if many else "not verified", False)),
        grids=(Grid("", ("Claim", "Verdict", "Why"), tuple(rows)),),
    )


def partition_card(partition: Partition) -> Card:
    """Return the card of a partition: its classes and their sizes."""
    sizes = partition.sizes
    span = f" of {sizes.min():,} to {sizes.max():,} records" if len(sizes) else ""
    several = f" in {len(partition.blocks)} blocks of attributes" if len(partition.blocks) > 1 else ""
    return Card("Partition", f"{counted(len(partition), 'class', 'classes')}{span}{several}.")


def schema_grid(schema: Schema) -> Grid:
    """Return the table of columns with their roles and kinds."""
    return Grid(
        "", ("Column", "Role", "Kind"), tuple((short(c.name), c.role.value, c.kind.value) for c in schema.columns)
    )
