"""Claims about an output that is too large for memory, each recomputed in parts that hold whole classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from shoal.errors import ParameterError, ShoalError
from shoal.flow.evidence.build import histogram
from shoal.flow.evidence.column_semantics import InParts, Left, as_left, taken_on_trust
from shoal.flow.plan.merging import is_mergeable, merged
from shoal.flow.stages.batches import Batches
from shoal.flow.stages.parts import Parts, Wanted, parts_needed, split
from shoal.flow.verify.claims import find
from shoal.report.evidence import Evidence
from shoal.scratch import scratch_folder
from shoal.types import Finding, Reference, Role

_Found = list[Finding] | Exception


def left_in_parts(
    evidence: Evidence, files: Batches, claims: Sequence[Finding], quasi: Sequence[str], memory: int
) -> Left:
    """Recompute claims about an output in parts, within a ceiling of memory.

    Raises
    ------
    ParameterError
        If a claim can only be recomputed with the whole table in memory.
    """
    whole = as_left(evidence, files.arrow.empty_table(), files.dialect)
    possible = [one for one in claims if not files.lacks(_columns(one))]
    there = [name for name in quasi if name in files.arrow.names]
    wanted = _wanted(evidence, files, possible, there)
    count = parts_needed(files, wanted, memory, people=False)
    with scratch_folder() as scratch:
        parts = split(files, wanted, parts=max(count, 2), memory=memory, scratch=scratch)
        references, faults, trusted = _references(evidence, files, parts)
        found: dict[Finding, _Found] = {claim: [] for claim in possible}
        sizes: Counter[int] = Counter()
        for table in parts.tables():
            left = as_left(evidence, table, files.dialect)
            left = Left(replace(left.release, references=references), {**left.faults, **faults})
            for claim in possible:
                found[claim] = _with(found[claim], claim, left)
            for size, classes in histogram(left.release, there):
                sizes[size] += classes
    findings: dict[Finding, Finding | Exception] = {
        claim: one if isinstance(one, Exception) else merged(one) for claim, one in found.items()
    }
    for claim in claims:
        if claim not in findings:
            findings[claim] = _lacking(claim, whole)
    return Left(
        whole.release, faults, InParts(findings, [[size, sizes[size]] for size in sorted(sizes)], tuple(trusted))
    )


def _columns(claim: Finding) -> list[str]:
    return [*claim.attributes, *([] if claim.confidential is None else [claim.confidential])]


def _wanted(evidence: Evidence, files: Batches, claims: Sequence[Finding], quasi: Sequence[str]) -> Wanted:
    """Return the columns to read: rows that agree on what all claims are over are in one part."""
    if odd := sorted({one.model for one in claims if not is_mergeable(one.model)}):
        raise ParameterError(
            f"verify: {odd[0]} must be audited with the whole table in memory, which is too small. Raise the memory."
        )
    by = tuple(name for name in quasi if all(name in one.attributes for one in claims))
    if not by and claims:
        raise ParameterError(
            "verify: blocks of quasi-identifiers must be audited with the whole table in memory, which is too small. "
            "Raise the memory."
        )
    roles = {name: one["role"] for name, one in evidence["columns"].items() if name in files.arrow.names}
    weights = [name for name, role in roles.items() if role == Role.WEIGHT]
    confidential = tuple(name for name, role in roles.items() if role == Role.CONFIDENTIAL)
    names = [*quasi, *(name for one in claims for name in _columns(one)), *weights, *confidential]
    return Wanted(by, tuple(dict.fromkeys(names)), confidential)


def _references(
    evidence: Evidence, files: Batches, parts: Parts
) -> tuple[dict[str, Reference], dict[str, str], list[str]]:
    """Return the distributions of confidential columns, those that cannot be parsed, and what is taken on trust."""
    references, faults, trusted = dict[str, Reference](), dict[str, str](), list[str]()
    for name, (cells, counts) in parts.distributions.items():
        field = files.arrow.field(name).with_type(cells.type)
        left = as_left(evidence, pa.table([cells], schema=pa.schema([field])), files.dialect)
        faults.update(left.faults)
        if name in left.release.read:
            references[name] = Reference(cells, left.release.read[name], counts)
            trusted += taken_on_trust(evidence, left, counts)
    return references, faults, trusted


def _with(found: _Found, claim: Finding, left: Left) -> _Found:
    """Add what a part shows of a claim; if that cannot be found in one part, it cannot be found at all."""
    if isinstance(found, Exception):
        return found
    try:
        return [*found, find(claim, left)]
    except (ShoalError, pa.ArrowException) as error:
        return error


def _lacking(claim: Finding, whole: Left) -> Exception:
    """Return why a claim about columns that the output lacks cannot be recomputed."""
    try:
        find(claim, whole)
    except (ShoalError, pa.ArrowException) as error:
        return error
    raise AssertionError(claim.subject)
