"""Audit of a DataFrame as it was written: a group-by over all its rows, with the same models as a table in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.errors import GuaranteeError
from shoal.flow.engines.spark.checks import content_of
from shoal.flow.engines.spark.frames import arrow_schema
from shoal.flow.engines.spark.parts import parts_of
from shoal.flow.gate.files import (
    Audited,
    AuditPart,
    merged_parts,
    refuse_lacking,
    refuse_unaudited,
    unchanged_in,
    wanted_for,
)
from shoal.flow.plan.merging import references_in
from shoal.flow.plan.promise import UNCHANGED, Promise
from shoal.types import Schema, Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class WrittenFrame:
    """A DataFrame as it was written, and facts for its audit that it does not show.

    Attributes
    ----------
    frame
        With the released columns, and those in `hidden`.
    schema
        Of the released columns.
    records
        The number of rows that were written.
    hidden
        Columns that are not released and that the audit needs: people, weights.
    resolutions
        For each column of rounded values the step they must be multiples of.
    content
        The digest that the columns released unchanged have in the input; None: it is not compared.
    folder
        The written files, if this process can read them.
    """

    frame: DataFrame = field(repr=False)
    schema: Schema
    records: int
    hidden: tuple[str, ...] = ()
    resolutions: Mapping[str, Step | str] = field(default_factory=dict)
    content: int | None = None
    folder: Path | None = None


def audit_written(written: WrittenFrame, promise: Promise) -> Audited:
    """Audit a DataFrame as it was written, and refuse it if its promise does not hold.

    Rows are grouped by their quasi-identifiers as they were written, so that each part holds whole classes.

    Raises
    ------
    GuaranteeError
        If the audit finds less than was promised, or could not look at everything.
    """
    refuse_unaudited(promise)
    arrow = arrow_schema(written.frame)
    there = [name for name in arrow.names if name not in written.hidden]
    refuse_lacking(there, promise)
    wanted = wanted_for(there, written.schema, written.resolutions, promise)
    unchanged = [one.name for one in written.schema.columns if one.role in UNCHANGED and one.name in there]
    wanted = replace(wanted, columns=tuple(dict.fromkeys([*wanted.columns, *unchanged])))
    parts = parts_of(written.frame, wanted, written.hidden, written.folder)
    if parts.records != written.records:
        raise GuaranteeError(
            f"The output has {parts.records:,} rows, but {written.records:,} were released. Nothing was published."
        )
    references = references_in(parts, written.schema, arrow, None)
    look = AuditPart(written.schema, None, references, dict(written.resolutions), promise)
    found = parts.map(_LookAndDigest(look, unchanged))
    if written.content is not None and sum(digest for _, digest in found) % 2**64 != written.content:
        raise GuaranteeError("Rows were lost, repeated or changed on their way to the output. Nothing was published.")
    audit, sizes = merged_parts(one for one, _ in found)
    return Audited(replace(audit, unchanged=unchanged_in(promise, wanted, parts)), sizes)


@dataclass(frozen=True)
class _LookAndDigest:
    """Audits a part, and digests the columns that are released unchanged."""

    look: AuditPart
    unchanged: list[str]

    def __call__(self, part: pa.Table) -> tuple[Audited, int]:
        return self.look(part), content_of(part, self.unchanged)
