"""Claims of evidence, each recomputed from the released table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, ParameterError, SchemaError, listing
from shoal.flow.evidence.build import told
from shoal.flow.evidence.column_semantics import Left
from shoal.flow.plan.components import findings_of
from shoal.parameters import build, declarations
from shoal.recipe.requirements import Required, model_of, of_confidential
from shoal.report.evidence import Evidence
from shoal.types import Check, Finding, Role, Verdict

_CLOSE = 1e-9  # logarithms and sums may differ in the last digits between machines


def claims_of(evidence: Evidence) -> tuple[Finding, ...]:
    """Return the findings that an evidence claims."""
    return tuple(
        Finding(
            model=one["model"],
            attributes=tuple(map(str, one["attributes"])),
            achieved=one["achieved"] if one["achieved"] is not None else math.nan,
            required=one["required"],
            holds=one["holds"],
            classes=one["classes"],
            note=one["note"],
            promised=one["promised"],
            confidential=one["confidential"],
            short=one["short"],
            given=tuple(one["given"].items()),
            level=one["level"],
            found=tuple(one["found"].items()),
        )
        for one in evidence["findings"]
    )


def look_again(claim: Finding, left: Left, *, in_subjects: bool) -> Check:
    """Audit the subject of a claim from the table alone, and compare.

    k in subjects cannot be counted, because subjects are not released. A class has no more subjects than records, so
    the table can refute the claim but never prove it.
    """
    try:
        found = _audited(claim, left)
    except (DataError, SchemaError, ParameterError) as error:
        return Check(claim.subject, Verdict.FAILS, str(error))
    except pa.ArrowException:  # its message may contain a value
        return Check(claim.subject, Verdict.FAILS, "the output holds values that cannot be audited")
    if in_subjects:
        return _in_subjects(claim, found)
    if differing := _differing(claim, found):
        shown, said = _said(found), _said(claim)
        why = f"the output shows {shown}; the evidence says {said}"
        if shown == said:
            why = f"the evidence and the output differ in {listing(differing)}"
        return Check(claim.subject, Verdict.FAILS, why)
    if not found.holds:
        return Check(claim.subject, Verdict.FAILS, _said(found))
    return Check(claim.subject, Verdict.HOLDS, _said(found) + ("" if claim.promised else ", as claimed; not promised"))


def _in_subjects(claim: Finding, found: Finding) -> Check:
    """Compare a claim about subjects with a count of records, which can refute it but not prove it."""
    least = max(claim.achieved, claim.required or 0)
    found = found if claim.achieved > 1 else replace(found, found=())  # nothing of it is published
    other = [what for what in _differing(claim, found) if what not in ("the achieved level", "whether it holds")]
    if other or not claim.holds:
        why = f"the evidence and the output differ in {listing(other or ['whether it holds'])}"
        return Check(claim.subject, Verdict.FAILS, why)
    if not found.achieved >= least:
        why = f"a class has {found.achieved:,} records, which cannot be {least:,} subjects"
        return Check(claim.subject, Verdict.FAILS, why)
    why = f"counted in subjects, which were not released; in records the smallest class has {found.achieved:,}"
    return Check(claim.subject, Verdict.UNSEEN, why)


def look_at_persons(claim: Finding, left: Left, hidden: str) -> Check:
    """Compare a person's share with what records alone show: a lower bound on the largest share, and the classes.

    `hidden` names the unreleased data that the share depends on.
    """
    try:
        found = _audited(claim, left)
    except (DataError, SchemaError, ParameterError, pa.ArrowException):
        return Check(claim.subject, Verdict.FAILS, "the output holds values that cannot be audited")
    other = [what for what in _differing(claim, found) if what not in ("the achieved level", "whether it holds")]
    if claim.holds is not (claim.required is None or claim.achieved <= claim.required):
        other.append("whether it holds")
    if other or not claim.holds:
        why = f"the evidence and the output differ in {listing(other or ['whether it holds'])}"
        return Check(claim.subject, Verdict.FAILS, why)
    if not found.achieved * (1 - _CLOSE) <= claim.achieved <= 1:
        why = (
            f"one record of a class holds {found.achieved:.3g} of it, so the largest share of one person is at "
            "least that"
        )
        return Check(claim.subject, Verdict.FAILS, why)
    return Check(claim.subject, Verdict.UNSEEN, f"cannot be checked from the output, which has no {hidden}")


def _audited(claim: Finding, left: Left) -> Finding:
    """Audit a table by the model and levels of a claim."""
    if left.in_parts is None:
        return told(find(claim, left))
    found = left.in_parts.findings[claim]
    if isinstance(found, Exception):
        raise found
    return told(found)


def find(claim: Finding, left: Left) -> Finding:
    """Return what a table, or a part of it, shows of the subject of a claim."""
    named = [*claim.attributes, *([] if claim.confidential is None else [claim.confidential])]
    if lacking := [name for name in named if name not in left.release.data.column_names]:
        raise SchemaError(f"the output lacks {listing(lacking)}")
    weights = left.release.schema.names(Role.WEIGHT)  # weights are summed per class
    for name in (*weights, *left.release.schema.names(Role.QUASI), claim.confidential):
        if name is not None and name in left.faults:
            raise DataError(left.faults[name])
    cls = model_of(claim.model)
    levels = {**dict(claim.given), claim.level: claim.required}
    known = {declared.name for declared in declarations(cls)}
    model = build(cls, {name: level for name, level in levels.items() if name in known and level is not None})
    if of_confidential(claim.model) != (claim.confidential is not None):
        raise ParameterError("the evidence does not name the column")
    columns = () if claim.confidential is None else (claim.confidential,)
    (found,) = findings_of(left.release, claim.attributes, [Required(claim.model, model)], columns)
    return found


def _differing(claim: Finding, found: Finding) -> list[str]:
    """Return in which respects a claim differs from the finding."""
    pairs = {
        "the achieved level": (claim.achieved, found.achieved),
        "the required level": (claim.required, found.required),
        "the number of classes": (claim.classes, found.classes),
        "whether it holds": (claim.holds, found.holds),
        "the scope of the level": (dict(claim.given), dict(found.given)),
        "further achieved levels": (dict(claim.found), dict(found.found)),
        "the name of the level": ((claim.level, claim.short), (found.level, found.short)),
    }
    return [what for what, (one, other) in pairs.items() if not same(one, other)]


def same(one: Any, other: Any) -> bool:
    """Tell whether two plain values are equal up to the last digits of numbers; non-finite values equal None.

    >>> same({"t": 0.1 + 0.2}, {"t": 0.3}), same(5, 6), same(math.inf, None), same(True, 1)
    (True, False, True, False)
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    one, other = (None if isinstance(v, float) and not math.isfinite(v) else v for v in (one, other))
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    if isinstance(one, (int, float)) and isinstance(other, (int, float)) and float in (type(one), type(other)):
        return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=1e-300)
    return bool(one == other)


def _said(finding: Finding) -> str:
    required, achieved = finding.levels
    asked = "" if finding.required is None else f", of {required} required"
    return f"{finding.level} = {achieved}{asked}, in {finding.classes:,} classes"
