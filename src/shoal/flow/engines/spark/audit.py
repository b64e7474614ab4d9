"""Audit of a DataFrame as it was written: a group-by over all its rows, with the same models as a table in memory."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import GuaranteeError, ShoalError
from shoal.flow.engines.spark.frames import BLOCK, FACTS, arrow_schema, grouped, outside, quoted
from shoal.flow.evidence.build import histogram
from shoal.flow.gate.files import Audited, refuse_lacking, refuse_unaudited, unchanged_in, wanted_for
from shoal.flow.gate.gate import audit_table
from shoal.flow.plan.merging import merged_audit, references_in, release_of
from shoal.flow.plan.promise import Promise
from shoal.flow.stages.parts import Distribution, Parts
from shoal.types import Audit, Reference, Schema, Step

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROWS = 200_000  # of a part, about
_LIMIT = 1 << 31  # bytes of the distinct values of a confidential column


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
    """

    frame: DataFrame = field(repr=False)
    schema: Schema
    records: int
    hidden: tuple[str, ...] = ()
    resolutions: Mapping[str, Step | str] = field(default_factory=dict)


class _PartAudit(NamedTuple):
    """What the audit of a part found."""

    audit: Audit
    sizes: list[list[int]]


def audit_frame(written: WrittenFrame, promise: Promise) -> Audited:
    """Audit a DataFrame as it was written, and refuse it if its promise does not hold.

    Rows are grouped by their quasi-identifiers as they were written, so that each part holds whole classes.

    Raises
    ------
    GuaranteeError
        If the audit finds less than was promised, or could not look at everything.
    """
    from pyspark.sql import functions as f

    refuse_unaudited(promise)
    frame, schema = written.frame, written.schema
    arrow = arrow_schema(frame)
    refuse_lacking([name for name in arrow.names if name not in written.hidden], promise)
    wanted = wanted_for(arrow.names, schema, written.resolutions, promise)
    rows = frame.count()
    if rows != written.records:
        raise GuaranteeError(
            f"The output has {rows:,} rows, but {written.records:,} were released. Nothing was published."
        )
    distributions = {name: _distribution(frame, name) for name in promise.confidential}
    unique = {key: _unique(frame, names) for key, names in wanted.unique.items()}
    counted = Parts(rows, distributions, unique, {}, (), ())
    references = references_in(counted, schema, arrow, None)
    count = max(1, -(-rows // _ROWS))
    part = f.pmod(_hash(f, wanted.by), f.lit(count)).cast("int")
    needed = [f.col(quoted(name)) for name in (*wanted.columns, *written.hidden)]
    parts = frame.select(part.alias(outside(BLOCK)), *needed)
    job = _AuditPart(schema, promise, references, dict(written.resolutions))
    found = grouped(parts, BLOCK, count, job, pa.schema([pa.field(FACTS, pa.binary())])).toArrow()
    done = [pickle.loads(one) for one in found.column(0).to_pylist()]
    for one in done:
        if isinstance(one, ShoalError):
            raise one
    sizes: Counter[int] = Counter()
    for one in done:
        for size, classes in one.sizes:
            sizes[size] += classes
    if sum(one.audit.records for one in done) != rows:
        raise GuaranteeError("The audit did not see every row of the output. Nothing was published.")
    audit = replace(merged_audit([one.audit for one in done]), unchanged=unchanged_in(promise, wanted, counted))
    return Audited(audit, [[size, sizes[size]] for size in sorted(sizes)])


@dataclass(frozen=True)
class _AuditPart:
    """Audits the rows of a part on a worker."""

    schema: Schema
    promise: Promise
    references: Mapping[str, Reference]
    resolutions: Mapping[str, Step | str]

    def __call__(self, number: int, part: pa.Table) -> pa.Table:
        try:
            found: _PartAudit | ShoalError = self._audit(part.drop_columns([BLOCK]))
        except ShoalError as error:
            found = error
        return pa.table({FACTS: pa.array([pickle.dumps(found)], pa.binary())})

    def _audit(self, part: pa.Table) -> _PartAudit:
        release = release_of(part, self.schema, None, self.references)
        release = replace(release, subject_exact=True, resolutions=self.resolutions)
        if self.promise.counted is not None and release.subjects is None:
            raise GuaranteeError(
                f"The value of {self.promise.counted!r} is not known for every record. Nothing was written."
            )
        return _PartAudit(audit_table(release, self.promise), histogram(release, self.promise.quasi))


def _hash(f: object, names: Sequence[str]) -> Column:
    return f.xxhash64(*(f.col(quoted(name)) for name in names))  # type: ignore[attr-defined, no-any-return]


def _distribution(frame: DataFrame, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
    """Return the distinct cells of a column, and the number of records that have each."""
    found = frame.groupBy(quoted(name)).count().toArrow()
    cells = Distribution(name, _LIMIT)
    cells.add_counted(found.column(0).combine_chunks(), found.column(1).to_numpy())
    return cells.compute()


def _unique(frame: DataFrame, names: Sequence[str]) -> int:
    """Return how many rows are unique on some columns; see `row_digests` for how likely two digests are equal."""
    from pyspark.sql import functions as f

    return frame.groupBy(_hash(f, names)).count().where("count = 1").count()
