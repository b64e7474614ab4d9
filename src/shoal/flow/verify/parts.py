"""Claims about an output that is too large for memory, each recomputed in parts that hold whole classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shoal.errors import DataError, ParameterError, ShoalError
from shoal.flow.evidence.build import histogram
from shoal.flow.evidence.column_semantics import Left, Recomputed, as_left, taken_on_trust
from shoal.flow.plan.merging import is_mergeable, merged, refuse_unreadable
from shoal.flow.stages.batches import Batches
from shoal.flow.stages.parts import InParts, Wanted, parts_needed, split
from shoal.flow.verify.claims import find
from shoal.report.evidence import Evidence
from shoal.scratch import scratch_folder
from shoal.types import Dialect, Finding, Reference, Role

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
    claimed = Claimed(evidence, files.arrow, files.dialect, tuple(claims), tuple(quasi))
    wanted = claimed.wanted()
    count = parts_needed(files, wanted, memory, people=False)
    with scratch_folder() as scratch:
        return claimed.left(split(files, wanted, parts=max(count, 2), memory=memory, scratch=scratch))


@dataclass(frozen=True)
class Claimed:
    """Claims about an output in parts, wherever they are.

    Attributes
    ----------
    evidence, claims, quasi
        The evidence, its claims about what the output shows, and the quasi-identifiers.
    arrow, dialect
        The columns of the output, and how text files are written.
    """

    evidence: Evidence
    arrow: pa.Schema
    dialect: Dialect | None
    claims: tuple[Finding, ...]
    quasi: tuple[str, ...]

    @property
    def possible(self) -> list[Finding]:
        """The claims about columns that the output has."""
        return [one for one in self.claims if all(name in self.arrow.names for name in _columns(one))]

    @property
    def there(self) -> list[str]:
        """The quasi-identifiers that the output has."""
        return [name for name in self.quasi if name in self.arrow.names]

    def wanted(self) -> Wanted:
        """Return the columns to read."""
        return _wanted(self.evidence, self.arrow, self.possible, self.there)

    def left(self, parts: InParts) -> Left:
        """Recompute the claims from the parts."""
        whole = as_left(self.evidence, self.arrow.empty_table(), self.dialect)
        references, faults, trusted = _references(self.evidence, self.arrow, self.dialect, parts)
        look = _LookAtPart(self.evidence, self.dialect, references, faults, self.possible, self.there)
        found: dict[Finding, _Found] = {claim: [] for claim in self.possible}
        sizes: Counter[int] = Counter()
        for looked, classes in parts.map(look):
            for claim, one in zip(self.possible, looked, strict=True):
                found[claim] = _with(found[claim], one)
            sizes.update(dict(classes))
        findings: dict[Finding, Finding | Exception] = {
            claim: one if isinstance(one, Exception) else merged(one) for claim, one in found.items()
        }
        for claim in self.claims:
            if claim not in findings:
                findings[claim] = _lacking(claim, whole)
        recomputed = Recomputed(findings, [[size, sizes[size]] for size in sorted(sizes)], tuple(trusted))
        return Left(whole.release, faults, recomputed)


@dataclass(frozen=True)
class _LookAtPart:
    """Recomputes claims from a part of the output."""

    evidence: Evidence
    dialect: Dialect | None
    references: Mapping[str, Reference]
    faults: Mapping[str, str]
    claims: Sequence[Finding]
    quasi: Sequence[str]

    def __call__(self, part: pa.Table) -> tuple[list[Finding | Exception], list[tuple[int, int]]]:
        left = as_left(self.evidence, part, self.dialect)
        left = Left(replace(left.release, references=self.references), {**left.faults, **self.faults})
        return [_look(claim, left) for claim in self.claims], [(a, b) for a, b in histogram(left.release, self.quasi)]


def _columns(claim: Finding) -> list[str]:
    return [*claim.attributes, *([] if claim.confidential is None else [claim.confidential])]


def _wanted(evidence: Evidence, arrow: pa.Schema, claims: Sequence[Finding], quasi: Sequence[str]) -> Wanted:
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
    roles = {name: one["role"] for name, one in evidence["columns"].items() if name in arrow.names}
    weights = [name for name, role in roles.items() if role == Role.WEIGHT]
    confidential = tuple(name for name, role in roles.items() if role == Role.CONFIDENTIAL)
    names = [*quasi, *(name for one in claims for name in _columns(one)), *weights, *confidential]
    return Wanted(by, tuple(dict.fromkeys(names)), confidential)


def _references(
    evidence: Evidence, arrow: pa.Schema, dialect: Dialect | None, parts: InParts
) -> tuple[dict[str, Reference], dict[str, str], list[str]]:
    """Return the distributions of confidential columns, those that cannot be parsed, and what is taken on trust."""
    references, faults, trusted = dict[str, Reference](), dict[str, str](), list[str]()
    for name, (cells, counts) in parts.distributions.items():
        field = arrow.field(name).with_type(cells.type)
        left = as_left(evidence, pa.table([cells], schema=pa.schema([field])), dialect)
        if name in left.faults:
            faults[name] = left.faults[name]
            try:
                refuse_unreadable(left.release.schema[name], cells, counts, dialect)
            except DataError as error:  # about all cells, where the first was about distinct ones
                faults[name] = str(error)
        if name in left.release.read:
            references[name] = Reference(cells, left.release.read[name], counts)
            trusted += taken_on_trust(evidence, left, counts)
    return references, faults, trusted


def _with(found: _Found, one: Finding | Exception) -> _Found:
    """Add what a part shows of a claim; if that cannot be found in one part, it cannot be found at all."""
    if isinstance(found, Exception):
        return found
    return one if isinstance(one, Exception) else [*found, one]


def _look(claim: Finding, left: Left) -> Finding | Exception:
    """Return what a part shows of a claim, or why it cannot be found."""
    try:
        return find(claim, left)
    except (ShoalError, pa.ArrowException) as error:
        return error


def _lacking(claim: Finding, whole: Left) -> Exception:
    """Return why a claim about columns that the output lacks cannot be recomputed."""
    try:
        find(claim, whole)
    except (ShoalError, pa.ArrowException) as error:
        return error
    raise AssertionError(claim.subject)
