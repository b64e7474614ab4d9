"""Gate of written files that do not fit into memory: the same audit as in memory, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.errors import GuaranteeError, listing
from shoal.flow.evidence.build import histogram
from shoal.flow.gate.gate import audit_table, refuse_columns
from shoal.flow.plan.merging import merged_audit, references_in, refuse_unmergeable, release_of
from shoal.flow.plan.promise import UNCHANGED, Promise
from shoal.flow.stages.batches import Batches, open_files
from shoal.flow.stages.parts import SUBJECT, InParts, Wanted, parts_needed, split
from shoal.types import Audit, Dialect, Reference, Role, Schema, Step, Unchanged


@dataclass(frozen=True)
class Written:
    """A table as it was written, and facts for its audit that the files do not show.

    Attributes
    ----------
    paths
        The files, in the order of the table's rows; all have the same columns.
    schema
        Of the released columns. An ordinal column of text needs its order here.
    records
        The number of rows that were written.
    dialect
        How text files are written; None: they are not text.
    hidden
        A Parquet file with one row for each row of the table and the columns ``subject``, ``weight`` or both, which are
        not released; None: k counts records, and means are not weighted.
    resolutions
        For each column of rounded values the step they must be multiples of.
    """

    paths: tuple[Path, ...]
    schema: Schema
    records: int
    dialect: Dialect | None = None
    hidden: Path | None = None
    resolutions: Mapping[str, Step | str] = field(default_factory=dict)

    @property
    def text(self) -> dict[str, Any]:
        """The settings of the source that reads the files."""
        names = ("delimiter", "quote", "encoding", "decimal", "missing", "datetime", "thousands")
        return {} if self.dialect is None else {"trim": False, **{name: getattr(self.dialect, name) for name in names}}


class Audited(NamedTuple):
    """The audit of written files, and the number of classes of each size in records, smallest first."""

    audit: Audit
    class_sizes: list[list[int]]


def refuse_unaudited(promise: Promise) -> None:
    """Refuse a promise that cannot be audited in parts; for the plan, before any class is formed."""
    refuse_unmergeable(promise.required, "Recipe")
    refuse_unmergeable(promise.persons, "Recipe")
    if not promise.visible_classes or promise.two_tables or promise.epsilon is not None:
        raise GuaranteeError("Only classes with common values can be audited in parts. Nothing was written.")


def audit_files(written: Written, promise: Promise, *, memory: int, scratch: Path) -> Audited:
    """Audit files as they were written, within a ceiling of memory, and refuse them if their promise does not hold.

    The rows are sent to parts on disk by their quasi-identifiers, so that each part holds whole classes. Each part is
    audited by the same models as a table in memory; those that compare classes with the table use the distribution of
    the whole table. Which records are unique on columns released unchanged is counted as well, but not within classes.

    Parameters
    ----------
    written
        The files.
    promise
        What must be found.
    memory
        Bytes that this process may use in all.
    scratch
        An existing folder for the parts, which are removed afterwards.

    Raises
    ------
    GuaranteeError
        If the audit finds less than was promised, or could not look at everything.
    """
    refuse_unaudited(promise)
    files = open_files(written.paths, written.text)
    refuse_lacking(files.arrow.names, promise)
    wanted = wanted_for(files.arrow.names, written.schema, written.resolutions, promise)
    count = parts_needed(files, wanted, memory, people=written.hidden is not None)
    parts = split(files, wanted, parts=count, memory=memory, scratch=scratch, hidden=written.hidden)
    if parts.records != written.records:
        raise GuaranteeError(
            f"The files have {parts.records:,} rows, but {written.records:,} were written. Nothing was published."
        )
    references = references_in(parts, written.schema, files.arrow, written.dialect)
    look = AuditPart(written.schema, written.dialect, references, written.resolutions, promise)
    audits, sizes = merged_parts(parts.map(look))
    if promise.together is not None and count > 1:
        _refuse_split(files, written, promise, count, memory, scratch)
    return Audited(replace(audits, unchanged=unchanged_in(promise, wanted, parts)), sizes)


@dataclass(frozen=True)
class AuditPart:
    """Audits a part of a written table, which holds whole classes."""

    schema: Schema
    dialect: Dialect | None
    references: Mapping[str, Reference] = field(repr=False)
    resolutions: Mapping[str, Step | str]
    promise: Promise

    def __call__(self, part: pa.Table) -> Audited:
        """Return the audit of the part, and the sizes of its classes."""
        release = release_of(part, self.schema, self.dialect, self.references)
        release = replace(release, subject_exact=True, resolutions=self.resolutions)
        if self.promise.counted is not None and release.subjects is None:
            raise GuaranteeError(
                f"The value of {self.promise.counted!r} is not known for every record. Nothing was written."
            )
        return Audited(audit_table(release, self.promise), histogram(release, self.promise.quasi))


def merged_parts(parts: Iterable[Audited]) -> Audited:
    """Return the audit of a table, and the sizes of its classes, from those of its parts."""
    audits: list[Audit] = []
    sizes: Counter[int] = Counter()
    for audit, found in parts:
        audits.append(audit)
        for size, classes in found:
            sizes[size] += classes
    return Audited(merged_audit(audits), [[size, sizes[size]] for size in sorted(sizes)])


def _over(promise: Promise) -> list[tuple[str, ...]]:
    """Return the sets of columns whose classes are audited."""
    return [promise.quasi, *(block.attributes for block in promise.blocks)]


def refuse_lacking(there: Sequence[str], promise: Promise) -> None:
    """Refuse an output that lacks columns that it must have, or has columns that it must not."""
    refuse_columns(there, promise)
    weight = (promise.weight,) if promise.weights_of_classes and promise.weight else ()
    if lacking := [name for name in (*promise.quasi, *promise.strata, *weight) if name not in there]:
        raise GuaranteeError(f"Columns are not in the output: {listing(lacking)}. Nothing was written.")


def wanted_for(there: Sequence[str], schema: Schema, resolutions: Iterable[str], promise: Promise) -> Wanted:
    """Return the columns to read: rows of one class, over any of the audited sets of columns, are in one part."""
    over = _over(promise)
    by = tuple(name for name in promise.quasi if all(name in names for names in over))
    if not by:
        raise GuaranteeError(
            "Blocks of quasi-identifiers with nothing in common cannot be audited in parts. Nothing was written."
        )
    weights = [name for name in schema.names(Role.WEIGHT) if name in there]
    columns = dict.fromkeys([*promise.quasi, *promise.strata, *weights, *promise.confidential, *resolutions])
    roles = (*UNCHANGED, *(() if promise.weights_of_classes else (Role.WEIGHT,)))
    kept = tuple(name for name in schema.names(*roles) if name in there)
    rest = tuple(name for name in kept if name not in promise.reviewed)
    unique = {"all": kept, **({"rest": rest} if rest and rest != kept else {})} if kept else {}
    return Wanted(by, tuple(columns), promise.confidential, unique)


def unchanged_in(promise: Promise, wanted: Wanted, parts: InParts) -> Unchanged:
    """Return the counts of records that are unique on columns released unchanged."""
    kept = wanted.unique.get("all", ())
    looked_at = tuple(name for name in kept if name in promise.reviewed)
    unique = parts.unique.get("all", 0)
    rest = parts.unique.get("rest", 0) if looked_at else unique
    return Unchanged(parts.records, kept, unique, looked_at, rest)


def _refuse_split(files: Batches, written: Written, promise: Promise, count: int, memory: int, scratch: Path) -> None:
    """Refuse groups whose records are in several classes: they are sent to parts by group, because classes hide it."""
    from shoal.privacy.k_anonymity import split_subjects

    sets = [block.attributes for block in promise.blocks if promise.whole.issuperset(block.attributes)]
    columns = tuple(dict.fromkeys(name for names in sets for name in names))
    wanted = Wanted((SUBJECT,), columns)
    parts = split(files, wanted, parts=count, memory=memory, scratch=scratch, hidden=written.hidden)
    apart: Counter[tuple[str, ...]] = Counter()
    for table in parts.tables():
        release = replace(release_of(table, written.schema, written.dialect, {}), subject_exact=True)
        apart.update({names: split_subjects(release, names) for names in sets})
    for names, groups in apart.items():
        if groups:
            raise GuaranteeError(
                f"Records of {groups:,} groups of {promise.together!r} must stay together and are in several classes "
                f"over {listing(names)}. Nothing was written."
            )
